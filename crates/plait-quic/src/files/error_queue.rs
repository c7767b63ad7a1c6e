//! Errors about sent packets: ICMP errors from the network, and packets that the system itself
//! refused (Linux: ip(7), `IP_RECVERR`).

use mio::net::UdpSocket;
use std::net::SocketAddr;

/// Why a packet was not delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueuedError {
    /// No socket listens on this port of the host.
    Refused(SocketAddr),
    /// The IP packet is larger than the limit in `bytes`. `own` is true if this machine reports it,
    /// not a router.
    TooLarge { bytes: u32, own: bool },
    /// There is no route to the host.
    NoRoute,
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn enable(_socket: &UdpSocket) {}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn take(_socket: &UdpSocket) -> Option<Option<QueuedError>> {
    None
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use linux::{enable, take};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use super::{QueuedError, SocketAddr, UdpSocket};
    use nix::errno::Errno;
    use nix::libc::{SO_EE_ORIGIN_LOCAL, sock_extended_err, sockaddr_in6};
    use nix::sys::socket::sockopt::{Ipv4RecvErr, Ipv6RecvErr};
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use std::io::IoSliceMut;
    use std::net::{SocketAddrV4, SocketAddrV6};
    use std::os::fd::AsRawFd;

    /// Makes the system queue errors on the socket until [`take`] reads them.
    pub(in crate::files) fn enable(socket: &UdpSocket) {
        // If this fails, fewer errors are reported.
        let _ = match socket.local_addr() {
            Ok(SocketAddr::V4(_)) => setsockopt(socket, Ipv4RecvErr, &true),
            _ => setsockopt(socket, Ipv6RecvErr, &true),
        };
    }

    /// Takes the next queued error. Returns `None` if the queue is empty, and `Some(None)` for an
    /// error without a meaning here.
    pub(in crate::files) fn take(socket: &UdpSocket) -> Option<Option<QueuedError>> {
        let mut quoted = [0; 64];
        let mut slices = [IoSliceMut::new(&mut quoted)];
        let mut space = nix::cmsg_space!(sock_extended_err, sockaddr_in6, [u8; 128]);
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut space), flags).ok()?;
        let destination = message.address.as_ref().and_then(address);
        let errors = message.cmsgs().ok()?.filter_map(|one| match one {
            ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                Some(error)
            }
            _ => None,
        });
        Some(errors.filter_map(|error| meaning(&error, destination)).next())
    }

    fn address(found: &SockaddrStorage) -> Option<SocketAddr> {
        let v4 = found.as_sockaddr_in().map(|found| SocketAddrV4::from(*found).into());
        v4.or_else(|| found.as_sockaddr_in6().map(|found| SocketAddrV6::from(*found).into()))
    }

    fn meaning(error: &sock_extended_err, destination: Option<SocketAddr>) -> Option<QueuedError> {
        match Errno::from_raw(error.ee_errno as i32) {
            Errno::ECONNREFUSED => destination.map(QueuedError::Refused),
            Errno::EMSGSIZE => Some(QueuedError::TooLarge {
                bytes: error.ee_info,
                own: error.ee_origin == SO_EE_ORIGIN_LOCAL,
            }),
            Errno::EHOSTUNREACH | Errno::ENETUNREACH => Some(QueuedError::NoRoute),
            _ => None,
        }
    }
}
