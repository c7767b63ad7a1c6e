//! Notices of the system that interfaces, addresses or routes have changed (Linux: rtnetlink(7)).
//!
//! A notice only triggers an early scan of the interfaces. Its content is not read, because the
//! scan finds the change. Scans also happen periodically without notices.

use mio::{Registry, Token};
use std::io;

#[cfg(target_os = "linux")]
pub(super) use linux::Notices;

#[cfg(not(target_os = "linux"))]
pub(super) use nothing::Notices;

#[cfg(target_os = "linux")]
mod linux {
    use super::{Registry, Token, io};
    use mio::Interest;
    use mio::unix::SourceFd;
    use nix::libc;
    use nix::sys::socket::{
        AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
    };
    use std::os::fd::{AsRawFd, OwnedFd};

    const GROUPS: i32 = libc::RTMGRP_LINK
        | libc::RTMGRP_IPV4_IFADDR
        | libc::RTMGRP_IPV6_IFADDR
        | libc::RTMGRP_IPV4_ROUTE
        | libc::RTMGRP_IPV6_ROUTE;

    /// A netlink socket that becomes readable after a change.
    pub(crate) struct Notices(OwnedFd);

    impl Notices {
        /// Opens the socket and registers it with the poll.
        pub(crate) fn open(registry: &Registry, token: Token) -> io::Result<Self> {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
            bind(fd.as_raw_fd(), &NetlinkAddr::new(0, GROUPS as u32))?;
            registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self(fd))
        }

        /// Discards all pending notices, so that the next one is signalled again.
        pub(crate) fn clear(&mut self) {
            let mut buffer = [0; 4_096];
            // An overflow of the socket's buffer is an error here; the next `recv` gets the
            // remaining notices.
            while !matches!(
                recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT),
                Ok(0) | Err(nix::Error::EAGAIN)
            ) {}
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nothing {
    use super::{Registry, Token, io};

    /// A substitute for systems without notices: nothing is ever signalled.
    pub(crate) struct Notices;

    impl Notices {
        pub(crate) fn open(_registry: &Registry, _token: Token) -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) fn clear(&mut self) {}
    }
}
