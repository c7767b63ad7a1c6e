//! The system's word that interfaces, addresses or routes have changed (Linux: rtnetlink(7)): a reason to look at once. The change itself is not read: the next
//! look at the interfaces shows it, and there is one now and then anyway.

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

    /// A socket that has something to read when something has changed.
    pub(crate) struct Notices(OwnedFd);

    impl Notices {
        /// Registers it.
        pub(crate) fn open(registry: &Registry, token: Token) -> io::Result<Self> {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
            bind(fd.as_raw_fd(), &NetlinkAddr::new(0, GROUPS as u32))?;
            registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self(fd))
        }

        /// Takes all present notices, so that the next one is told.
        pub(crate) fn clear(&mut self) {
            let mut buffer = [0; 4_096];
            // More than the socket keeps is an error, too, and the next one has the rest.
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

    /// Nobody says anything.
    pub(crate) struct Notices;

    impl Notices {
        pub(crate) fn open(_registry: &Registry, _token: Token) -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) fn clear(&mut self) {}
    }
}
