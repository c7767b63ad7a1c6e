//! Which ways there are from here: the interfaces that are up, and the address that each sends from.

use super::Local;
use crate::error::Error;
use crate::settings::MAX_LINKS;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Up, with a carrier.
const WORKS: InterfaceFlags = InterfaceFlags::IFF_UP.union(InterfaceFlags::IFF_RUNNING);

/// An address of this machine.
struct Own {
    interface: String,
    flags: InterfaceFlags,
    address: IpAddr,
}

fn own() -> io::Result<Vec<Own>> {
    let found = getifaddrs()?.filter_map(|one| {
        let storage = one.address?;
        let v4 = storage.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let v6 = || storage.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()));
        Some(Own { interface: one.interface_name, flags: one.flags, address: v4.or_else(v6)? })
    });
    Ok(found.collect())
}

/// The addresses of this machine.
pub(crate) fn own_addresses() -> Vec<IpAddr> {
    own().unwrap_or_default().into_iter().map(|one| one.address).collect()
}

/// The paths to `remote`: one from every interface that is up, has a carrier and an address of the same family that is good for more than its link,
/// in the system's order, [`MAX_LINKS`] at most. Where `remote` is this machine, or no interface is found, the system's choice.
///
/// Whether `remote` can be reached through an interface is not known before it is tried; one that cannot is a path that carries nothing.
///
/// # Errors
/// [`Error::Setting`] if the system knows no way, with the interfaces that there are.
pub fn usable(remote: SocketAddr) -> Result<Vec<Local>, Error> {
    let found = Snapshot::take(remote);
    let usable = found.usable();
    if !usable.is_empty() {
        return Ok(usable);
    }
    let refused =
        |error| Error::Setting(format!("no interface leads to {remote} ({error}): {}", found.choices()));
    Ok(vec![Local { address: chosen(remote, None).map_err(refused)?, interface: None }])
}

/// The addresses of this machine at a moment, as far as they may lead to somewhere.
pub(super) struct Snapshot {
    own: Vec<Own>,
    remote: SocketAddr,
}

impl Snapshot {
    /// Where the system lists none, it still knows a way.
    pub(super) fn take(remote: SocketAddr) -> Self {
        Self { own: own().unwrap_or_default(), remote }
    }

    /// Nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Packets never leave this machine.
    pub(super) fn is_here(&self) -> bool {
        self.remote.ip().is_loopback() || self.own.iter().any(|one| one.address == self.remote.ip())
    }

    /// A path from every interface that serves; none to this machine.
    pub(super) fn usable(&self) -> Vec<Local> {
        let here = self.is_here();
        let mut found: Vec<Local> = Vec::new();
        for one in self.own.iter().filter(|one| !here && one.serves(self.remote)) {
            let seen = found.iter().any(|local| local.interface.as_ref() == Some(&one.interface));
            if !seen && found.len() < MAX_LINKS {
                found.extend(self.named(&one.interface));
            }
        }
        found
    }

    /// The path through an interface, if it leads to somewhere.
    pub(super) fn named(&self, name: &str) -> Option<Local> {
        through(name, &self.own, self.remote)
    }

    /// Likewise, of one that is up and has a carrier.
    pub(super) fn working(&self, name: &str) -> Option<Local> {
        let up = |one: &Own| one.interface == name && one.flags.contains(WORKS);
        self.named(name).filter(|_| self.own.iter().any(up))
    }

    /// Whether an address is one of an interface that is up.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        self.own.iter().any(|one| one.address == address && one.flags.contains(InterfaceFlags::IFF_UP))
    }

    /// The interfaces that there are, in words.
    pub(super) fn choices(&self) -> String {
        let mut known: Vec<&str> = self.own.iter().map(|one| one.interface.as_str()).collect();
        known.dedup();
        if known.is_empty() { "there are none".to_owned() } else { format!("choose {}", known.join(", ")) }
    }

    /// Why a path through an interface is not to be had.
    pub(super) fn missing(&self, name: &str) -> String {
        let (family, remote) = (if self.remote.is_ipv4() { "IPv4" } else { "IPv6" }, self.remote);
        format!("interface {name}: no {family} address that leads to {remote}")
    }
}

/// The number that the system gave to an interface; 0 if there is none. One that comes anew has another, whatever its name.
pub(super) fn number(name: &str) -> u32 {
    if_nametoindex(name).unwrap_or(0)
}

/// The path through an interface, with the address that the system takes there.
fn through(name: &str, own: &[Own], remote: SocketAddr) -> Option<Local> {
    let belongs = |address: &IpAddr| own.iter().any(|one| one.interface == name && one.address == *address);
    // Systems that bind no socket to an interface leave the way to the routes.
    let bound = chosen(remote, Some(name)).ok().filter(belongs);
    let first = || {
        own.iter()
            .find(|one| one.interface == name && one.address.is_ipv4() == remote.is_ipv4())
            .map(|one| one.address)
    };
    match bound {
        Some(address) => Some(Local { address, interface: Some(name.to_owned()) }),
        None if cfg!(any(target_os = "linux", target_os = "android")) => None,
        None => first().map(|address| Local { address, interface: None }),
    }
}

impl Own {
    fn serves(&self, remote: SocketAddr) -> bool {
        self.flags.contains(WORKS)
            && !self.flags.contains(InterfaceFlags::IFF_LOOPBACK)
            && self.address.is_ipv4() == remote.is_ipv4()
            && is_global(self.address)
    }
}

/// Whether an address is good for more than its link; private ones are.
fn is_global(address: IpAddr) -> bool {
    let local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(local || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

/// The local address that the system would take, through an interface if one is named.
fn chosen(remote: SocketAddr, interface: Option<&str>) -> io::Result<IpAddr> {
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let domain = socket2::Domain::for_address(remote);
    let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, Some(socket2::Protocol::UDP))?;
    super::sockets::bind_interface(&socket, interface)?;
    socket.bind(&SocketAddr::new(any, 0).into())?;
    let socket: UdpSocket = socket.into();
    // Nothing is sent by that.
    socket.connect(remote)?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_reached_by_one_path_that_names_no_interface() {
        for remote in ["127.0.0.1:9", "127.0.0.7:9"] {
            let found = usable(remote.parse().expect("an address")).expect("there is a way");
            let expected = Local { address: Ipv4Addr::LOCALHOST.into(), interface: None };
            assert_eq!(found, [expected], "{remote}");
        }
    }

    #[test]
    fn an_interface_serves_that_is_up_and_has_an_address_for_more_than_its_link() {
        let remote = "192.0.2.1:9".parse().expect("an address");
        let up = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        let serves = |address: &str, flags| {
            let address = address.parse().expect("an address");
            Own { interface: "eth0".to_owned(), flags, address }.serves(remote)
        };
        assert!(serves("10.0.0.1", up) && serves("198.51.100.7", up));
        assert!(!serves("169.254.3.4", up), "its link only");
        assert!(!serves("2001:db8::1", up), "another family");
        assert!(!serves("10.0.0.1", InterfaceFlags::IFF_UP), "no carrier");
        assert!(!serves("10.0.0.1", up | InterfaceFlags::IFF_LOOPBACK));
    }
}
