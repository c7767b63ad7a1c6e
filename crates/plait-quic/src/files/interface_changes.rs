//! Paths that appear, disappear or move, according to the present state of the interfaces.

use super::Local;
use super::address_pairs::AddressPairs;
use crate::settings::MAX_PATHS;
use std::time::Instant;

/// A path and its state at the last scan of the interfaces.
#[derive(Clone, Debug)]
pub(super) struct ScannedPath {
    pub(super) pairs: AddressPairs,
    /// Index of its interface; 0 for a path that is not bound to one.
    pub(super) number: u32,
    /// True if the system refused packets since the path opened.
    pub(super) send_failed: bool,
    /// Time since which its address or interface is missing.
    pub(super) gone_at: Option<Instant>,
    /// Whether the routing table has a route to the peer from this path.
    pub(super) has_route: bool,
    /// True if the path has a budget. Its count must last, so no other path replaces it.
    pub(super) has_budget: bool,
}

impl ScannedPath {
    /// Returns the local end of the path.
    pub(super) fn local(&self) -> &Local {
        &self.pairs.current().local
    }
}

/// A change of a path, which is given by its number.
#[derive(Clone, Debug)]
pub(super) enum InterfaceChange {
    /// The path has another local address, or its interface is a new one of the same name, for
    /// example after an adapter was unplugged and plugged in again.
    Moved(usize, AddressPairs, u32),
    /// The address or interface of the path is missing.
    Removed(usize),
    /// The path is there again with the same address. It continues without another handshake.
    Restored(usize),
}

/// Returns the changes of all paths. `find` returns the present addresses of a path and the index
/// of its interface.
pub(super) fn interface_changes(
    scanned_paths: &[ScannedPath],
    find: impl Fn(&ScannedPath) -> Option<(AddressPairs, u32)>,
) -> Vec<InterfaceChange> {
    let change = |(path, scanned): (usize, &ScannedPath)| match find(scanned) {
        None => scanned.gone_at.is_none().then_some(InterfaceChange::Removed(path)),
        Some((pairs, number)) => {
            let moved = pairs.current().local.address != scanned.local().address;
            let other = scanned.send_failed && number != scanned.number || moved;
            let back = scanned.gone_at.is_some().then_some(InterfaceChange::Restored(path));
            if other { Some(InterfaceChange::Moved(path, pairs, number)) } else { back }
        }
    };
    scanned_paths.iter().enumerate().filter_map(change).collect()
}

/// Whether a path with this local end exists already.
pub(super) fn is_taken(scanned_paths: &[ScannedPath], local: &Local) -> bool {
    let same = |scanned: &ScannedPath| match (&scanned.local().interface, &local.interface) {
        (Some(one), Some(other)) => one == other,
        _ => scanned.gone_at.is_none() && scanned.local().address == local.address,
    };
    scanned_paths.iter().any(same)
}

/// Returns the index for another path: a new one, or that of the path that is removed for longest.
/// Returns `None` if all [`MAX_PATHS`] are in use.
pub(super) fn index_for_new_path(scanned_paths: &[ScannedPath]) -> Option<usize> {
    if scanned_paths.len() < MAX_PATHS {
        return Some(scanned_paths.len());
    }
    let gone = scanned_paths.iter().enumerate().filter(|(_, scanned)| !scanned.has_budget);
    let gone = gone.filter_map(|(path, scanned)| Some((scanned.gone_at?, path)));
    gone.min().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::super::address_pairs::AddressPair;
    use super::*;
    use crate::files::now;
    use std::time::Duration;

    fn pairs(local: &str) -> AddressPairs {
        let remote = "192.0.2.1:9".parse().expect("an address");
        AddressPairs::new(vec![AddressPair { local: local.parse().expect("it is one"), remote }])
            .expect("there is one")
    }

    fn scanned(local: &str) -> ScannedPath {
        ScannedPath {
            pairs: pairs(local),
            number: 5,
            send_failed: false,
            gone_at: None,
            has_route: true,
            has_budget: false,
        }
    }

    /// Formats the changes as words.
    fn words(interface_changes: Vec<InterfaceChange>) -> Vec<String> {
        let word = |change| match change {
            InterfaceChange::Moved(path, pairs, number) => {
                format!("{path} moved to {} {number}", pairs.current().local)
            }
            other => format!("{other:?}"),
        };
        interface_changes.into_iter().map(word).collect()
    }

    #[test]
    fn only_who_has_another_address_or_is_another_interface_needs_another_socket() {
        let look = |send_failed: bool, gone: bool, found: Option<(&str, u32)>| {
            let scanned = ScannedPath { send_failed, gone_at: gone.then(now), ..scanned("10.0.0.1%wwan0") };
            let wwan0 = |address: &str| pairs(&format!("{address}%wwan0"));
            words(interface_changes(&[scanned], |_| found.map(|(address, number)| (wwan0(address), number))))
        };
        let moved = |address: &str, number| vec![format!("0 moved to {address}%wwan0 {number}")];
        let nothing: Vec<String> = Vec::new();
        assert_eq!(look(false, false, Some(("10.0.0.1", 5))), nothing);
        assert_eq!(look(true, false, Some(("10.0.0.1", 5))), nothing, "it takes packets again");
        assert_eq!(look(true, true, Some(("10.0.0.1", 5))), ["Restored(0)"], "it was down, and is up again");
        assert_eq!(look(true, false, None), ["Removed(0)"]);
        assert_eq!(look(true, true, None), nothing, "that is known");
        assert_eq!(look(true, true, Some(("10.0.0.1", 6))), moved("10.0.0.1", 6));
        assert_eq!(look(false, false, Some(("10.0.0.9", 5))), moved("10.0.0.9", 5));
    }

    #[test]
    fn an_interface_is_one_path_and_an_address_is_one_path() {
        let scanned_paths = [scanned("10.0.0.1%wwan0"), scanned("10.0.0.2")];
        let taken = |local: &str| is_taken(&scanned_paths, &local.parse().expect("it is one"));
        assert!(taken("10.0.0.9%wwan0") && taken("10.0.0.2%eth0") && !taken("10.0.0.3%eth0"));
        let gone = [ScannedPath { gone_at: Some(now()), ..scanned("10.0.0.2") }];
        assert!(!is_taken(&gone, &"10.0.0.2%eth0".parse().expect("it is one")), "nobody has it any more");
    }

    #[test]
    fn there_are_so_many_paths_and_the_one_that_is_removed_for_longest_is_replaced() {
        let mut scanned_paths = vec![scanned("10.0.0.1%eth0"); MAX_PATHS];
        assert_eq!(index_for_new_path(&scanned_paths[1..]), Some(MAX_PATHS - 1));
        assert_eq!(index_for_new_path(&scanned_paths), None);
        let long_ago = now();
        scanned_paths[2].gone_at = Some(long_ago + Duration::from_secs(2));
        scanned_paths[5].gone_at = Some(long_ago + Duration::from_secs(1));
        scanned_paths[7] =
            ScannedPath { gone_at: Some(long_ago), has_budget: true, ..scanned_paths[7].clone() };
        assert_eq!(index_for_new_path(&scanned_paths), Some(5));
    }
}
