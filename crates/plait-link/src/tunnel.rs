//! TUN interfaces whose other side is this process: two per path, one in each namespace.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;

use plait_sim::scenario::Direction;

use crate::driver::{Ports, Received};
use crate::error::Error;
use crate::near_routes::NearRoutes;
use crate::relay::Arrival;
use crate::system;

const DEVICE: &str = "/dev/net/tun";

/// The largest IP packet.
const LARGEST: usize = 65_535;

/// One TUN interface.
#[derive(Debug)]
pub struct Tunnel(File);

impl Tunnel {
    /// Creates the interface `name` in this thread's network namespace.
    ///
    /// # Errors
    /// If the device is missing or not accessible to this user, or the name is taken.
    pub fn new(name: &str) -> Result<Self, Error> {
        let open = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
        let device = open.map_err(|reason| Error::Forbidden {
            what: "/dev/net/tun, of which plait link makes its interfaces",
            reason,
            help: "as root, modprobe tun and chmod 666 /dev/net/tun; a container needs --device /dev/net/tun; or use --udp",
        })?;
        let made = system::make_tunnel(device.as_fd(), name);
        made.map_err(|error| Error::system(format!("making the interface {name:?}"), error))?;
        Ok(Self(device))
    }
}

/// Both ends of every path.
#[derive(Debug)]
pub struct Tunnels {
    /// Path by path, the near end first.
    ends: Vec<Tunnel>,
    near_routes: NearRoutes,
    buffer: Vec<u8>,
}

impl Tunnels {
    /// Joins the interfaces of the two namespaces, in the order of the paths.
    pub fn new(near: Vec<Tunnel>, far: Vec<Tunnel>, near_routes: NearRoutes) -> Self {
        let ends = near.into_iter().zip(far).flat_map(|(near, far)| [near, far]).collect();
        Self { ends, near_routes, buffer: vec![0; LARGEST] }
    }
}

impl Ports for Tunnels {
    fn descriptors(&self) -> Vec<RawFd> {
        let ends = self.ends.iter().map(|end| end.0.as_raw_fd());
        ends.chain([self.near_routes.descriptor()]).collect()
    }

    fn len(&self) -> usize {
        self.ends.len() + 1
    }

    fn receive(&mut self, index: usize) -> io::Result<Option<Received<'_>>> {
        let Some(end) = self.ends.get_mut(index) else {
            self.near_routes.restore();
            return Ok(None);
        };
        let length = match end.0.read(&mut self.buffer) {
            Ok(length) => length,
            // The interface was set down, like an unplugged cable, and may come up again.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let direction = if index.is_multiple_of(2) { Direction::Forward } else { Direction::Backward };
        Ok(Some(Received {
            path: index / 2,
            direction,
            bytes: length as u32,
            content: &self.buffer[..length],
        }))
    }

    fn deliver(&mut self, arrival: &Arrival<'_>) {
        let end = arrival.path * 2 + usize::from(arrival.direction == Direction::Forward);
        // An interface that is down accepts nothing.
        let _ = self.ends[end].0.write(arrival.content);
    }
}
