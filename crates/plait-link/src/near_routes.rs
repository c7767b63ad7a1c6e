//! The routes of the near end. Linux deletes them with a link that is set down; they return with it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, RawFd};

use crate::netlink::{Netlink, Route};
use crate::system;

/// Routes over the paths, and the notices of changed links.
#[derive(Debug)]
pub struct NearRoutes {
    netlink: Netlink,
    notices: File,
    routes: Vec<Route>,
}

impl NearRoutes {
    /// Keeps these routes, which exist, in this thread's network namespace.
    ///
    /// # Errors
    /// If the system forbids netlink sockets.
    pub fn new(routes: Vec<Route>) -> io::Result<Self> {
        Ok(Self { netlink: Netlink::open()?, notices: File::from(system::link_notices()?), routes })
    }

    /// Returns the descriptor that becomes readable when a link has changed.
    pub fn descriptor(&self) -> RawFd {
        self.notices.as_raw_fd()
    }

    /// Reads the notices, and adds all missing routes.
    pub fn restore(&mut self) {
        // The content does not matter. An error is an empty queue, or notices that were lost.
        let mut notice = [0; 8_192];
        while self.notices.read(&mut notice).is_ok_and(|length| length > 0) {}
        for route in &self.routes {
            // The error of a present route, or of a link that is down, is expected.
            let _ = self.netlink.add_route(route);
        }
    }
}
