//! Whether the routing table has a route to the peer through an interface.
//!
//! In IPv4, binding a socket to the interface is no test: Linux assumes that a peer without a route
//! is on the link. So this module queries the routing table itself (rtnetlink(7): `RTM_GETROUTE`
//! with `RTM_F_FIB_MATCH`). In IPv6, and on other systems, connecting a socket is a test.

use std::net::{IpAddr, SocketAddr};

/// Whether a route leads to `remote` from this address through the interface of this index. Returns
/// true if the system gives no answer.
pub(super) fn has_route(local: IpAddr, interface: u32, remote: SocketAddr) -> bool {
    match (local, remote) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        (IpAddr::V4(local), SocketAddr::V4(remote)) => {
            linux::query(local.octets(), interface, remote.ip().octets()).unwrap_or(true)
        }
        _ => true,
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use nix::errno::Errno;
    use nix::libc;
    use nix::sys::socket::{
        AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
    };
    use std::os::fd::AsRawFd;

    /// Asks for the route in the table, without the kernel's substitute for a missing one
    /// (linux/rtnetlink.h).
    const RTM_F_FIB_MATCH: u32 = 0x2000;

    /// Length of the message and of its header, in bytes.
    const LENGTH: usize = HEADER + 12 + 3 * 8;
    const HEADER: usize = 16;

    /// Encodes the query (linux/netlink.h, linux/rtnetlink.h): header, rtmsg, three attributes of
    /// four bytes.
    fn request(local: [u8; 4], interface: u32, remote: [u8; 4]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.extend((LENGTH as u32).to_ne_bytes());
        bytes.extend(libc::RTM_GETROUTE.to_ne_bytes());
        bytes.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
        bytes.extend([0; 8]);
        // Family, prefix lengths of destination and source. Type of service, table, protocol, scope
        // and type are unspecified.
        bytes.extend([libc::AF_INET as u8, 32, 32, 0, 0, 0, 0, 0]);
        bytes.extend(RTM_F_FIB_MATCH.to_ne_bytes());
        let attributes =
            [(libc::RTA_DST, remote), (libc::RTA_SRC, local), (libc::RTA_OIF, interface.to_ne_bytes())];
        for (kind, value) in attributes {
            bytes.extend(8_u16.to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
        }
        bytes
    }

    /// Returns `None` if there is no answer.
    pub(super) fn query(local: [u8; 4], interface: u32, remote: [u8; 4]) -> Option<bool> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute).ok()?;
        let request = request(local, interface, remote);
        sendto(fd.as_raw_fd(), &request, &NetlinkAddr::new(0, 0), MsgFlags::empty()).ok()?;
        let mut answer = [0; 1_024];
        // The kernel answers before `sendto` returns.
        let length = recv(fd.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT).ok()?;
        let answer = answer.get(..length)?;
        let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
        if i32::from(kind) != libc::NLMSG_ERROR {
            return Some(true);
        }
        let error = i32::from_ne_bytes(answer.get(HEADER..HEADER + 4)?.try_into().ok()?);
        let none = [Errno::ENETUNREACH, Errno::EHOSTUNREACH, Errno::EACCES];
        Some(!none.contains(&Errno::from_raw(-error)))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_leads_to_this_machine_and_nowhere_else() {
        let lo = nix::net::if_::if_nametoindex("lo").expect("it is there");
        let has_route =
            |remote: &str| has_route([127, 0, 0, 1].into(), lo, remote.parse().expect("an address"));
        assert!(has_route("127.0.0.1:9"));
        assert!(!has_route("192.0.2.1:9"), "TEST-NET-1 (RFC 5737) is not on this machine");
    }
}
