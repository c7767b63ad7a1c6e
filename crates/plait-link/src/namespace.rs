//! The two network namespaces, with their interfaces, addresses, routes and rules.
//!
//! The namespaces belong to this process and have no names in the file system. They disappear with
//! all their contents when the process ends for any reason.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};

use crate::error::Error;
use crate::near_routes::NearRoutes;
use crate::netlink::{MAIN, Netlink, Route};
use crate::plan::{PEER, PREFIX, PathAddresses};
use crate::system;
use crate::tunnel::{Tunnel, Tunnels};

/// Length of an interface's queue to this process. It far exceeds any backlog of the process, so
/// queues build up only in the links.
const QUEUE_LENGTH: u32 = 10_000;

/// The first routing table for a source address.
const FIRST_TABLE: u8 = 100;

const USERS: &str = "user namespaces, which plait link needs without the rights of root";
const USERS_HELP: &str = "run it as root, or let root allow them (Ubuntu: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; \
     Debian: sysctl -w kernel.unprivileged_userns_clone=1; user.max_user_namespaces above 0; containers: --privileged), or use --udp";
const NETWORKS: &str = "network namespaces";
const NETWORKS_HELP: &str = "a container needs --privileged, or --cap-add SYS_ADMIN and a seccomp profile that allows unshare; or use --udp";

/// The namespace of the server. This thread has entered the near one.
#[derive(Debug)]
pub struct Namespaces {
    far: File,
}

/// One of the two ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Near,
    Far,
}

impl Namespaces {
    /// Creates both namespaces, with an interface for each path in each. Leaves this thread in the
    /// near one.
    ///
    /// # Errors
    /// If the system forbids a namespace. The error names a remedy.
    pub fn new(ends: &[PathAddresses], mtu: u32) -> Result<(Self, Tunnels), Error> {
        let user = system::user();
        // Root of a container may lack the right to one kind of namespace and have it for the
        // other.
        if user.0 != 0 || system::unshare(libc::CLONE_NEWNET).is_err() {
            unshare_user(user)?;
        }
        let (far_tunnels, _) = set_up_end(ends, End::Far, mtu)?;
        let name = "/proc/thread-self/ns/net";
        let far = File::open(name).map_err(|error| Error::system(name, error))?;
        let what = NETWORKS;
        let second = system::unshare(libc::CLONE_NEWNET);
        second.map_err(|reason| Error::Forbidden { what, reason, help: NETWORKS_HELP })?;
        let (near_tunnels, routes) = set_up_end(ends, End::Near, mtu)?;
        let near_routes =
            NearRoutes::new(routes).map_err(|error| Error::system("a netlink socket", error))?;
        Ok((Self { far }, Tunnels::new(near_tunnels, far_tunnels, near_routes)))
    }

    /// Returns the descriptor of the far namespace, for entering it.
    pub fn far(&self) -> RawFd {
        self.far.as_raw_fd()
    }
}

/// Enters a user namespace in which this user is root, like `unshare --map-root-user`. Files keep
/// this user as owner.
fn unshare_user((user, group): (u32, u32)) -> Result<(), Error> {
    let forbidden = |reason| Error::Forbidden { what: USERS, reason, help: USERS_HELP };
    system::unshare(libc::CLONE_NEWUSER).map_err(forbidden)?;
    // The system may grant a namespace without the rights in it. Then these writes fail.
    fs::write("/proc/self/setgroups", "deny").map_err(forbidden)?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1")).map_err(forbidden)?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1")).map_err(forbidden)?;
    system::unshare(libc::CLONE_NEWNET).map_err(forbidden)
}

/// Sets up one end in this thread's namespace. Returns its interfaces and its routes.
fn set_up_end(ends: &[PathAddresses], end: End, mtu: u32) -> Result<(Vec<Tunnel>, Vec<Route>), Error> {
    // Disables IPv6, so that the links carry only packets of programs, no router discovery. If the
    // system denies access to these files, router discovery stays.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    // Packets of one address may come over any interface.
    for group in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv4/conf/{group}/rp_filter"), "0");
    }
    let _ = fs::write("/proc/sys/net/ipv4/ping_group_range", "0 0");
    let mut netlink = Netlink::open().map_err(|error| Error::system("a netlink socket", error))?;
    let failed = |name: &str| {
        let what = format!("setting up the interface {name:?}");
        move |error: io::Error| Error::system(what.clone(), error)
    };
    let loopback = system::interface_index("lo").map_err(failed("lo"))?;
    netlink.set_up(loopback, None).map_err(failed("lo"))?;
    if end == End::Far {
        netlink.add_address(loopback, PEER, 32).map_err(failed("lo"))?;
    }
    let (mut tunnels, mut routes) = (Vec::new(), Vec::new());
    for (index, one) in ends.iter().enumerate() {
        let name = one.interface.as_str();
        tunnels.push(Tunnel::new(name)?);
        let interface = system::interface_index(name).map_err(failed(name))?;
        let address = if end == End::Near { one.near } else { one.far };
        netlink.set_up(interface, Some((mtu, QUEUE_LENGTH))).map_err(failed(name))?;
        netlink.add_address(interface, address, PREFIX).map_err(failed(name))?;
        let first = routes.len();
        match end {
            // Packets with a chosen source address leave over the address's interface, others over
            // the first.
            End::Near => {
                let (table, metric) = (FIRST_TABLE + index as u8, index as u32 + 1);
                routes.push(Route { to: Some(PEER), interface, source: address, metric, table: MAIN });
                routes.push(Route { to: None, interface, source: address, metric: 1, table });
                netlink.add_rule(address, table).map_err(failed(name))?;
            }
            // The far end routes by destination. A UDP server that has chosen no address answers
            // from its well-known address.
            End::Far => {
                let to = Some(one.near);
                routes.push(Route { to, interface, source: PEER, metric: 1, table: MAIN });
            }
        }
        for route in &routes[first..] {
            netlink.add_route(route).map_err(failed(name))?;
        }
    }
    Ok((tunnels, routes))
}
