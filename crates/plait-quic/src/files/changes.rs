//! Paths that appear, disappear or move, according to the present state of the interfaces.

use super::Local;
use super::aims::Aims;
use crate::settings::MAX_LINKS;
use std::time::Instant;

/// A path and its state at the last scan of the interfaces.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) aims: Aims,
    /// Index of its interface; 0 for a path that is not bound to one.
    pub(super) number: u32,
    /// True if the system refused packets since the path opened.
    pub(super) troubled: bool,
    /// Time since which its address or interface is missing.
    pub(super) gone_at: Option<Instant>,
    /// Whether the routing table has a route to the peer from this path.
    pub(super) routed: bool,
    /// True if the path has a budget. Its count must last, so no other path takes this place.
    pub(super) metered: bool,
}

impl Place {
    /// Returns the local end of the path.
    pub(super) fn local(&self) -> &Local {
        &self.aims.now().local
    }
}

/// A change of a path, which is given by its number.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// The path has another local address, or its interface is a new one of the same name, for
    /// example after an adapter was unplugged and plugged in again.
    Moved(usize, Aims, u32),
    /// The address or interface of the path is missing.
    Gone(usize),
    /// The path is there again with the same address. It continues without another handshake.
    Back(usize),
}

/// Returns the changes of all paths. `find` returns the present addresses of a path and the index
/// of its interface.
pub(super) fn changes(places: &[Place], find: impl Fn(&Place) -> Option<(Aims, u32)>) -> Vec<Change> {
    let change = |(path, place): (usize, &Place)| match find(place) {
        None => place.gone_at.is_none().then_some(Change::Gone(path)),
        Some((aims, number)) => {
            let moved = aims.now().local.address != place.local().address;
            let other = place.troubled && number != place.number || moved;
            let back = place.gone_at.is_some().then_some(Change::Back(path));
            if other { Some(Change::Moved(path, aims, number)) } else { back }
        }
    };
    places.iter().enumerate().filter_map(change).collect()
}

/// Whether a path with this local end exists already.
pub(super) fn is_taken(places: &[Place], local: &Local) -> bool {
    let same = |place: &Place| match (&place.local().interface, &local.interface) {
        (Some(one), Some(other)) => one == other,
        _ => place.gone_at.is_none() && place.local().address == local.address,
    };
    places.iter().any(same)
}

/// Returns the place for another path: a new one, or that of the path that is gone for longest.
/// Returns `None` if all [`MAX_LINKS`] places are in use.
pub(super) fn place_for_another(places: &[Place]) -> Option<usize> {
    if places.len() < MAX_LINKS {
        return Some(places.len());
    }
    let gone = places.iter().enumerate().filter(|(_, place)| !place.metered);
    let gone = gone.filter_map(|(path, place)| Some((place.gone_at?, path)));
    gone.min().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::super::aims::Aim;
    use super::*;
    use crate::files::now;
    use std::time::Duration;

    fn aims(local: &str) -> Aims {
        let remote = "192.0.2.1:9".parse().expect("an address");
        Aims::new(vec![Aim { local: local.parse().expect("it is one"), remote }]).expect("there is one")
    }

    fn place(local: &str) -> Place {
        Place { aims: aims(local), number: 5, troubled: false, gone_at: None, routed: true, metered: false }
    }

    /// Formats the changes as words.
    fn words(changes: Vec<Change>) -> Vec<String> {
        let word = |change| match change {
            Change::Moved(path, aims, number) => format!("{path} moved to {} {number}", aims.now().local),
            other => format!("{other:?}"),
        };
        changes.into_iter().map(word).collect()
    }

    #[test]
    fn only_who_has_another_address_or_is_another_interface_needs_another_socket() {
        let look = |troubled: bool, gone: bool, found: Option<(&str, u32)>| {
            let place = Place { troubled, gone_at: gone.then(now), ..place("10.0.0.1%wwan0") };
            let wwan0 = |address: &str| aims(&format!("{address}%wwan0"));
            words(changes(&[place], |_| found.map(|(address, number)| (wwan0(address), number))))
        };
        let moved = |address: &str, number| vec![format!("0 moved to {address}%wwan0 {number}")];
        let nothing: Vec<String> = Vec::new();
        assert_eq!(look(false, false, Some(("10.0.0.1", 5))), nothing);
        assert_eq!(look(true, false, Some(("10.0.0.1", 5))), nothing, "it takes packets again");
        assert_eq!(look(true, true, Some(("10.0.0.1", 5))), ["Back(0)"], "it was down, and is up again");
        assert_eq!(look(true, false, None), ["Gone(0)"]);
        assert_eq!(look(true, true, None), nothing, "that is known");
        assert_eq!(look(true, true, Some(("10.0.0.1", 6))), moved("10.0.0.1", 6));
        assert_eq!(look(false, false, Some(("10.0.0.9", 5))), moved("10.0.0.9", 5));
    }

    #[test]
    fn an_interface_is_one_path_and_an_address_is_one_path() {
        let places = [place("10.0.0.1%wwan0"), place("10.0.0.2")];
        let taken = |local: &str| is_taken(&places, &local.parse().expect("it is one"));
        assert!(taken("10.0.0.9%wwan0") && taken("10.0.0.2%eth0") && !taken("10.0.0.3%eth0"));
        let gone = [Place { gone_at: Some(now()), ..place("10.0.0.2") }];
        assert!(!is_taken(&gone, &"10.0.0.2%eth0".parse().expect("it is one")), "nobody has it any more");
    }

    #[test]
    fn there_are_so_many_places_and_the_one_that_is_gone_for_longest_is_given_away() {
        let mut places = vec![place("10.0.0.1%eth0"); MAX_LINKS];
        assert_eq!(place_for_another(&places[1..]), Some(MAX_LINKS - 1));
        assert_eq!(place_for_another(&places), None);
        let long_ago = now();
        places[2].gone_at = Some(long_ago + Duration::from_secs(2));
        places[5].gone_at = Some(long_ago + Duration::from_secs(1));
        places[7] = Place { gone_at: Some(long_ago), metered: true, ..places[7].clone() };
        assert_eq!(place_for_another(&places), Some(5));
    }
}
