//! Interfaces of this machine that may reach the peer, and the local address of each.

use super::Local;
use super::address_pairs::{AddressPair, AddressPairs, display, interface_of, is_link_local};
use super::route_lookup::has_route;
use crate::settings::MAX_PATHS;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The interface is up and has a carrier.
const WORKS: InterfaceFlags = InterfaceFlags::IFF_UP.union(InterfaceFlags::IFF_RUNNING);

/// A local address of this machine.
struct OwnAddress {
    interface: String,
    flags: InterfaceFlags,
    address: IpAddr,
}

fn own() -> io::Result<Vec<OwnAddress>> {
    let found = getifaddrs()?.filter_map(|one| {
        let storage = one.address?;
        let v4 = storage.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let v6 = || storage.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()));
        Some(OwnAddress { interface: one.interface_name, flags: one.flags, address: v4.or_else(v6)? })
    });
    Ok(found.collect())
}

/// Returns the addresses of this machine.
pub(crate) fn own_addresses() -> Vec<IpAddr> {
    own().unwrap_or_default().into_iter().map(|one| one.address).collect()
}

/// The addresses of this machine at one moment, and the addresses of a peer.
pub(super) struct Snapshot {
    own: Vec<OwnAddress>,
    /// The peer's addresses.
    remotes: Vec<SocketAddr>,
}

impl Snapshot {
    /// Reads the addresses of this machine. The list is empty if the system gives none.
    pub(super) fn take(remotes: &[SocketAddr]) -> Self {
        Self { own: own().unwrap_or_default(), remotes: remotes.to_vec() }
    }

    /// True if the system listed no address.
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// True if the peer is on this machine, so that packets never leave it.
    pub(super) fn is_here(&self) -> bool {
        let is_own = |remote: &SocketAddr| self.own.iter().any(|one| one.address == remote.ip());
        self.remotes.iter().all(|remote| remote.ip().is_loopback() || is_own(remote))
    }

    /// Returns a path from each interface that is up and has a carrier and a route to the peer, but
    /// none if the peer is on this machine. The local address has the peer's family and is not
    /// link-local, unless the peer's is too. Returns at most [`MAX_PATHS`] paths, in the system's
    /// order.
    pub(super) fn usable(&self) -> Vec<AddressPairs> {
        let here = self.is_here();
        let mut found: Vec<AddressPairs> = Vec::new();
        for one in self.own.iter().filter(|_| !here) {
            let seen =
                found.iter().any(|pairs| pairs.current().local.interface.as_ref() == Some(&one.interface));
            if !seen && found.len() < MAX_PATHS {
                let serves =
                    |pair: &AddressPair| self.serves(&one.interface, pair.remote) && self.has_route(pair);
                found.extend(AddressPairs::new(self.through(&one.interface).filter(serves).collect()));
            }
        }
        found
    }

    /// Whether an interface has an address that may reach the peer.
    fn serves(&self, name: &str, remote: SocketAddr) -> bool {
        self.own.iter().any(|one| one.interface == name && one.serves(remote))
    }

    /// Whether a route leads through the interface of this pair.
    fn has_route(&self, pair: &AddressPair) -> bool {
        let name = pair.local.interface.as_deref();
        name.is_none_or(|name| has_route(pair.local.address, number(name), pair.remote))
    }

    /// Returns the address pairs through an interface.
    fn through(&self, name: &str) -> impl Iterator<Item = AddressPair> {
        let pair = |remote: &SocketAddr| {
            Some(AddressPair { local: through(name, &self.own, *remote)?, remote: *remote })
        };
        self.remotes.iter().filter_map(pair)
    }

    /// Returns the path through an interface that the user named. It is returned even without a
    /// route.
    pub(super) fn named(&self, name: &str) -> Option<AddressPairs> {
        let all: Vec<AddressPair> = self.through(name).collect();
        let routed: Vec<AddressPair> = all.iter().filter(|pair| self.has_route(pair)).cloned().collect();
        AddressPairs::new(if routed.is_empty() { all } else { routed })
    }

    /// Returns the path through a named interface that is up and has a carrier.
    pub(super) fn working(&self, name: &str) -> Option<AddressPairs> {
        let up = |one: &OwnAddress| one.interface == name && one.flags.contains(WORKS);
        self.named(name).filter(|_| self.own.iter().any(up))
    }

    /// Returns the path from a local address that the user named.
    pub(super) fn from(&self, local: &Local) -> Option<AddressPairs> {
        let suits = |remote: &&SocketAddr| remote.is_ipv4() == local.address.is_ipv4();
        let pair = |remote: &SocketAddr| AddressPair { local: local.clone(), remote: *remote };
        AddressPairs::new(self.remotes.iter().filter(suits).map(pair).collect())
    }

    /// Returns the path that the system chooses.
    ///
    /// # Errors
    /// Returns a text with the reason, and the names of the interfaces.
    pub(super) fn chosen(&self) -> Result<AddressPairs, String> {
        let (mut all, mut refused) = (Vec::new(), String::new());
        for remote in &self.remotes {
            match chosen(*remote, None) {
                Ok(address) => {
                    all.push(AddressPair { local: Local { address, interface: None }, remote: *remote });
                }
                Err(error) => refused = self.refusal(*remote, &error),
            }
        }
        AddressPairs::new(all).ok_or(refused)
    }

    /// Explains why the system chooses no path to an address of the peer. A link-local address
    /// names its interface.
    fn refusal(&self, remote: SocketAddr, error: &io::Error) -> String {
        let display = display(remote);
        let Some(name) = interface_of(remote) else {
            return format!("no interface leads to {display} ({error}); {}", self.states());
        };
        let suits = |one: &&OwnAddress| one.interface == name && one.address.is_ipv4() == remote.is_ipv4();
        match self.own.iter().find(suits) {
            // An address is tentative until duplicate address detection has finished (RFC 4862
            // §5.4).
            Some(one) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                format!("{display}: the address {} of {name} is not ready yet: try again", one.address)
            }
            Some(_) => format!("{display}: {name} does not lead there ({error})"),
            None => format!("{display}: {name} has no IPv6 address"),
        }
    }

    /// Whether a route leads through the interface of the path's current pair.
    pub(super) fn is_routed(&self, pairs: &AddressPairs) -> bool {
        self.has_route(pairs.current())
    }

    /// Whether an address belongs to an interface that is up.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        self.own.iter().any(|one| one.address == address && one.flags.contains(InterfaceFlags::IFF_UP))
    }

    /// Formats the names of the interfaces with an address for an error message. Those that are
    /// down or have no carrier are marked.
    pub(super) fn states(&self) -> String {
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        for one in &self.own {
            *known.entry(&one.interface).or_default() |= one.flags.contains(WORKS);
        }
        let named = known.iter().map(|(name, works)| match works {
            true => (*name).to_owned(),
            false => format!("{name} (down)"),
        });
        let named = named.collect::<Vec<_>>().join(", ");
        format!("interfaces with an address: {}", if named.is_empty() { "none" } else { &named })
    }

    /// Explains why an interface gives no path.
    pub(super) fn missing(&self, name: &str) -> String {
        let remotes: Vec<String> = self.remotes.iter().copied().map(display).collect();
        format!("interface {name}: no address that leads to {}", remotes.join(" or "))
    }
}

/// Returns the index of an interface, or 0 if it does not exist. An interface that is removed and
/// added again gets a new index, even under the same name.
pub(super) fn number(name: &str) -> u32 {
    if_nametoindex(name).unwrap_or(0)
}

/// Returns the local end through an interface, with the address that the system chooses for it.
fn through(name: &str, own: &[OwnAddress], remote: SocketAddr) -> Option<Local> {
    let belongs = |address: &IpAddr| own.iter().any(|one| one.interface == name && one.address == *address);
    // Systems that cannot bind a socket to an interface choose it by the routing table.
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

impl OwnAddress {
    fn serves(&self, remote: SocketAddr) -> bool {
        self.flags.contains(WORKS)
            && !self.flags.contains(InterfaceFlags::IFF_LOOPBACK)
            && self.address.is_ipv4() == remote.is_ipv4()
            && (is_global(self.address) || is_link_local(self.address) && is_link_local(remote.ip()))
    }
}

/// Whether an address is valid beyond its link. Private addresses are.
fn is_global(address: IpAddr) -> bool {
    !(is_link_local(address) || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

/// Returns the local address that the system would choose, through an interface if one is given.
fn chosen(remote: SocketAddr, interface: Option<&str>) -> io::Result<IpAddr> {
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let domain = socket2::Domain::for_address(remote);
    let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, Some(socket2::Protocol::UDP))?;
    super::sockets::bind_interface(&socket, interface)?;
    socket.bind(&SocketAddr::new(any, 0).into())?;
    let socket: UdpSocket = socket.into();
    // Connecting a UDP socket sends nothing.
    socket.connect(remote)?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_reached_by_one_path_that_names_no_interface() {
        for remote in ["127.0.0.1:9", "127.0.0.7:9"] {
            let found = Snapshot::take(&[remote.parse().expect("an address")]);
            assert!(found.is_here() && found.usable().is_empty());
            let expected = Local { address: Ipv4Addr::LOCALHOST.into(), interface: None };
            assert_eq!(found.chosen().expect("there is a way").current().local, expected, "{remote}");
        }
    }

    #[test]
    fn an_interface_serves_that_is_up_and_has_an_address_for_more_than_its_link() {
        let remote = "192.0.2.1:9".parse().expect("an address");
        let up = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        let serves = |address: &str, flags| {
            let address = address.parse().expect("an address");
            OwnAddress { interface: "eth0".to_owned(), flags, address }.serves(remote)
        };
        assert!(serves("10.0.0.1", up) && serves("198.51.100.7", up));
        assert!(!serves("169.254.3.4", up), "its link only");
        let neighbour = "169.254.9.9:9".parse().expect("an address");
        let own = OwnAddress { interface: "eth0".to_owned(), flags: up, address: [169, 254, 3, 4].into() };
        assert!(own.serves(neighbour), "that is on its link");
        assert!(!serves("2001:db8::1", up), "another family");
        assert!(!serves("10.0.0.1", InterfaceFlags::IFF_UP), "no carrier");
        assert!(!serves("10.0.0.1", up | InterfaceFlags::IFF_LOOPBACK));
    }
}
