//! Terms of a path: its cost, its budget, and whether it is a backup.
//!
//! A path that has used up its budget appears as failed to schedulers, and the transport sends
//! nothing there again ([`Session`](crate::session::Session),
//! [`PathChange::Spent`](plait_transport::endpoint::PathChange::Spent)).

use plait_transport::PathConfig;

/// The terms of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// Cost of the path, in units of the user's choice. Schedulers see it (`cheapest-first`).
    pub cost: u32,
    /// Payload bytes that the path may carry in both directions, duplicates included; `None`: no
    /// limit. Sent data exceeds it by at most one packet. Received data exceeds it by the data in
    /// flight when the peer learns that the path is spent.
    pub budget: Option<u64>,
    /// True if the path is used only while no other path works.
    pub backup: bool,
}

/// Terms of a path as the opening end reports them to the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathTerms {
    /// See [`Terms::cost`].
    pub cost: u32,
    /// See [`Terms::backup`].
    pub backup: bool,
    /// True if the path has used up its budget.
    pub spent: bool,
}

impl Terms {
    /// Returns the terms for the other end; `spent` if the path has used up its budget.
    pub(crate) fn for_peer(self, spent: bool) -> PathTerms {
        PathTerms { cost: self.cost, backup: self.backup, spent }
    }

    pub(crate) fn path(self) -> PathConfig {
        PathConfig { cost: self.cost, backup: self.backup, ..PathConfig::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Agreed, Delivery, Session};
    use crate::settings::Settings;
    use plait_sched::Builtin;
    use plait_transport::endpoint::Side;

    #[test]
    fn schedulers_see_what_paths_cost_and_which_stand_by() {
        let terms = [Terms { cost: 5, ..Terms::default() }, Terms { backup: true, ..Terms::default() }];
        let delivery = Delivery::Ordered;
        let agreed = Agreed { paths: 2, initial: 0, segment: 1_000, window: 1 << 20, delivery };
        let scheduler = Builtin::new("cheapest-first", &[]).expect("it is built in");
        let session = Session::with_terms(Side::Client, &Settings::default(), agreed, &terms, scheduler);
        let paths = session.expect("it needs nothing special").paths();
        assert_eq!(paths.iter().map(|path| path.cost).collect::<Vec<_>>(), [5, 0]);
    }
}
