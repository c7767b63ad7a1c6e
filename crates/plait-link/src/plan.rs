//! Names and addresses of both ends of every path.
//!
//! Path i has 10.77.i.1 at the near end, where the command runs, and 10.77.i.2 at the far end. The
//! far end has a further address, [`PEER`], which is reachable over every path: a server there
//! behaves as on a host with one address.

use std::net::Ipv4Addr;

use plait_sim::scenario::Scenario;

/// The far end's address that is reachable over every path.
pub const PEER: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 1);

/// Bits of a path's subnet.
pub const PREFIX: u8 = 24;

/// The longest name of an interface: `IFNAMSIZ` includes the terminating zero.
const LONGEST: usize = 15;

/// Both ends of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathAddresses {
    /// The path's name in the scenario.
    pub path: String,
    /// Name of the path's interface, at both ends.
    pub interface: String,
    /// Address at the command's end.
    pub near: Ipv4Addr,
    /// Address at the server's end.
    pub far: Ipv4Addr,
}

/// Returns the ends of a scenario's paths, in its order. Interfaces have the paths' names if all of
/// these are valid, else p0, p1, ….
pub fn path_addresses(scenario: &Scenario) -> Vec<PathAddresses> {
    let names: Vec<_> = scenario.paths.iter().map(|path| path.name.clone()).collect();
    let usable = names.iter().all(|name| is_interface(name));
    let ends = names.into_iter().enumerate().map(|(index, path)| {
        let number = index as u8;
        let interface = if usable { path.clone() } else { format!("p{index}") };
        PathAddresses {
            path,
            interface,
            near: Ipv4Addr::new(10, 77, number, 1),
            far: Ipv4Addr::new(10, 77, number, 2),
        }
    });
    ends.collect()
}

/// Whether `name` is a valid interface name for Linux and a single word for a shell.
fn is_interface(name: &str) -> bool {
    let fits = (1..=LONGEST).contains(&name.len()) && !["lo", ".", "..", "all", "default"].contains(&name);
    fits && name.chars().all(|one| one.is_ascii_alphanumeric() || "-_.".contains(one))
        && !name.starts_with('-')
}

/// Returns the environment variables of programs on the links. `peer` is the far end's address over
/// every path.
pub fn environment(ends: &[PathAddresses], peer: Ipv4Addr) -> Vec<(String, String)> {
    let mut variables =
        vec![("PLAIT_PEER".to_owned(), peer.to_string()), ("PLAIT_PATHS".to_owned(), ends.len().to_string())];
    for (index, one) in ends.iter().enumerate() {
        variables.push((format!("PLAIT_INTERFACE_{index}"), one.interface.clone()));
        variables.push((format!("PLAIT_ADDRESS_{index}"), one.near.to_string()));
        variables.push((format!("PLAIT_PEER_{index}"), one.far.to_string()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn interfaces(names: &[&str]) -> Vec<String> {
        let paths =
            names.iter().map(|name| format!("[[path]]\nname = {name:?}\nrate = \"1Mbit\"\nrtt = \"1ms\"\n"));
        let scenario = Scenario::from_toml(&paths.collect::<String>(), "x.toml", Path::new(".")).unwrap();
        path_addresses(&scenario).into_iter().map(|one| one.interface).collect()
    }

    #[test]
    fn interfaces_have_the_paths_names_if_all_can() {
        assert_eq!(interfaces(&["dsl", "lte-1"]), ["dsl", "lte-1"]);
        for name in ["lo", "sixteen-letters-", "a b", "a/b", "-x", "löwe"] {
            assert_eq!(interfaces(&["dsl", name]), ["p0", "p1"], "{name}");
        }
    }
}
