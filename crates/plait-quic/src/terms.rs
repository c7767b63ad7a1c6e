//! What a path is for: what it costs, how much it may carry, whether it only stands in for others.
//!
//! A path that has carried its budget is a failed one to schedulers, and the transport sends nothing there again
//! ([`Session`](crate::session::Session), [`PathChange::Spent`](plait_transport::endpoint::PathChange::Spent)).

use plait_transport::PathConfig;

/// The terms of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// What using it costs, in units of the user's choice: schedulers see it (`cheapest-first`).
    pub cost: u32,
    /// Payload bytes that it may carry, both ways, copies included; `None` is without end. What leaves exceeds it by a packet at most; what comes, by what was on its way
    /// when the peer heard that it is spent.
    pub budget: Option<u64>,
    /// To be used only while no other path works.
    pub backup: bool,
}

/// What the end that opens paths tells the other one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathTerms {
    /// See [`Terms::cost`].
    pub cost: u32,
    /// See [`Terms::backup`].
    pub backup: bool,
    /// It has carried all that it may.
    pub spent: bool,
}

impl Terms {
    /// What the other end is told, of a path that has carried all that it may or not.
    pub(crate) fn told(self, spent: bool) -> PathTerms {
        PathTerms { cost: self.cost, backup: self.backup, spent }
    }

    pub(crate) fn path(self) -> PathConfig {
        PathConfig { cost: self.cost, backup: self.backup, ..PathConfig::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Agreed, Extent, Session};
    use crate::settings::Settings;
    use plait_sched::Builtin;
    use plait_transport::endpoint::Side;

    #[test]
    fn schedulers_see_what_paths_cost_and_which_stand_by() {
        let terms = [Terms { cost: 5, ..Terms::default() }, Terms { backup: true, ..Terms::default() }];
        let extent = Extent::Ordered;
        let agreed = Agreed { paths: 2, initial: 0, segment: 1_000, window: 1 << 20, extent };
        let scheduler = Builtin::new("cheapest-first", &[]).expect("it is built in");
        let session = Session::over(Side::Client, &Settings::default(), agreed, &terms, scheduler);
        let paths = session.expect("it needs nothing special").paths();
        assert_eq!(paths.iter().map(|path| path.cost).collect::<Vec<_>>(), [5, 0]);
    }
}
