//! Paths that come, go and move, by the present state of the interfaces.

use super::Local;
use super::aims::Aims;
use crate::settings::MAX_LINKS;
use std::time::Instant;

/// A path's place: where it begins, and how that was when it was looked at last.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) aims: Aims,
    /// The number of its interface; 0 for a path that is bound to none.
    pub(super) number: u32,
    /// Packets were refused since.
    pub(super) troubled: bool,
    /// Since when its address, or its interface, is not there.
    pub(super) gone_at: Option<Instant>,
    /// Whether the routing table leads to the peer from here.
    pub(super) routed: bool,
    /// It has a budget, whose count lasts, so no other path gets its place.
    pub(super) metered: bool,
}

impl Place {
    /// Where the path begins.
    pub(super) fn local(&self) -> &Local {
        &self.aims.now().local
    }
}

/// The change of a path.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// It begins elsewhere, or its interface is another one of the same name, as an adapter is that was pulled out and put in again.
    Moved(usize, Aims, u32),
    Gone(usize),
    /// It is there again, with the same address: it goes on without another handshake.
    Back(usize),
}

/// The changes of all paths. `find` gives their present addresses, and the numbers of their interfaces.
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

/// Whether a path begins there already.
pub(super) fn is_taken(places: &[Place], local: &Local) -> bool {
    let same = |place: &Place| match (&place.local().interface, &local.interface) {
        (Some(one), Some(other)) => one == other,
        _ => place.gone_at.is_none() && place.local().address == local.address,
    };
    places.iter().any(same)
}

/// Where another path goes: behind the others, or in the place of the one that is gone for longest; nowhere while all that there may be are there.
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

    /// The changes in words.
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
