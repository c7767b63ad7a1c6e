//! The path of a retransmission (Iyengar, Amer, Stewart 2004: RTX-SAME, -SSTHRESH, -CWND,
//! -LOSSRATE, -ASAP).

use plait_sched::{Path, PathId, usable};

/// The path that a retransmission takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RetransmissionPolicy {
    /// The path that lost it.
    Same,
    /// The path with the largest slow-start threshold.
    Ssthresh,
    /// The path with the largest congestion window.
    #[default]
    Cwnd,
    /// The path with the lowest loss rate.
    LossRate,
    /// Whichever path has room first.
    Asap,
}

impl RetransmissionPolicy {
    /// Returns the path for a segment lost on `origin`; `None` for "any with room". Among equals
    /// `origin` wins, then the lowest number.
    pub(crate) fn choose(self, origin: PathId, paths: &[Path]) -> Option<PathId> {
        let best = |key: &dyn Fn(&Path) -> u64| {
            usable(paths).max_by_key(|p| (key(p), p.id == origin, u8::MAX - p.id.0)).map(|p| p.id)
        };
        match self {
            Self::Same => usable(paths).find(|p| p.id == origin).map(|p| p.id),
            Self::Ssthresh => best(&|p| u64::from(p.ssthresh)),
            Self::Cwnd => best(&|p| u64::from(p.cwnd)),
            Self::LossRate => best(&|p| u64::from(u32::MAX - p.loss_ppm)),
            Self::Asap => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sched::PathState;

    fn paths() -> Vec<Path> {
        let mut paths: Vec<Path> = (0..3).map(|i| Path::new(PathId(i), 1452)).collect();
        (paths[0].cwnd, paths[0].ssthresh, paths[0].loss_ppm) = (10, 5, 100);
        (paths[1].cwnd, paths[1].ssthresh, paths[1].loss_ppm) = (4, 20, 100);
        (paths[2].cwnd, paths[2].ssthresh, paths[2].loss_ppm) = (10, 1, 10);
        paths
    }

    #[test]
    fn each_policy_takes_its_own_path() {
        let paths = paths();
        let choose = |policy: RetransmissionPolicy| policy.choose(PathId(2), &paths);
        assert_eq!(choose(RetransmissionPolicy::Same), Some(PathId(2)));
        assert_eq!(choose(RetransmissionPolicy::Ssthresh), Some(PathId(1)));
        assert_eq!(choose(RetransmissionPolicy::Cwnd), Some(PathId(2)), "a tie goes to the origin");
        assert_eq!(choose(RetransmissionPolicy::LossRate), Some(PathId(2)));
        assert_eq!(choose(RetransmissionPolicy::Asap), None);
        assert_eq!(RetransmissionPolicy::Cwnd.choose(PathId(1), &paths), Some(PathId(0)));
    }

    #[test]
    fn a_failed_origin_is_not_used() {
        let mut paths = paths();
        paths[2].state = PathState::Failed;
        assert_eq!(RetransmissionPolicy::Same.choose(PathId(2), &paths), None);
        assert_eq!(RetransmissionPolicy::Cwnd.choose(PathId(2), &paths), Some(PathId(0)));
    }
}
