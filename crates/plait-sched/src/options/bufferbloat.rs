//! Bufferbloat mitigation (BM): limits the data in flight on a path whose round-trip time has grown
//! because of a queue.
//!
//! # Source
//! Ferlin-Oliveira et al., *Tackling the Challenge of Bufferbloat in Multi-Path Transport over
//! Heterogeneous Wireless Networks* (IEEE IWQoS 2014), as evaluated by Paasch et al., *Experimental
//! Evaluation of Multipath TCP Schedulers* (ACM CSWS 2014). The data in flight on path i is limited
//! to λ · (smallest srtt_i so far / srtt_i) · cwnd_i, if that is less than cwnd_i; λ = 3.
//!
//! # Readings
//! The formula of the evaluation, λ · (min srtt_i / srtt_i) · cwnd_i, does not name the set of the
//! minimum. Here it is the smallest value that path i itself has had so far. A minimum over all
//! paths would cap a path for its length, not for its queue: a path with more than λ times the
//! round-trip time of the shortest path would lose a part of its window even without a queue.
//!
//! # Departures
//! * The limit is at least one segment.
//! * The congestion control keeps its window. The cap is a separate limit ([`Decision::Limit`]):
//!   the smaller of the cap and of the scheduler's own limit. The scheduler sees the capped window
//!   as the path's window; otherwise it would give a path segments that then wait in its queue.
//! * The smallest value never expires: after a change to a longer route the cap is too small.

use crate::decision::{Decision, Event};
use crate::view::{MAX_PATHS, Path, PathId};

/// λ is kept in millionths: integers give the same caps on every machine.
const UNIT: f64 = 1_000_000.0;

/// The state of bufferbloat mitigation.
#[derive(Clone, Debug)]
pub struct Mitigation {
    /// λ in millionths.
    lambda: u64,
    /// The smallest smoothed round-trip time of each path, in nanoseconds; `u64::MAX` before the
    /// first.
    smallest: [u64; MAX_PATHS],
    /// The limit that the scheduler itself set for each path.
    limits: [u32; MAX_PATHS],
}

impl Mitigation {
    /// Creates the mitigation with the given λ, clamped to the range from 1 to 1000.
    pub const fn new(lambda: f64) -> Self {
        let lambda = (lambda.clamp(1.0, 1_000.0) * UNIT + 0.5) as u64;
        Self { lambda, smallest: [u64::MAX; MAX_PATHS], limits: [u32::MAX; MAX_PATHS] }
    }

    fn note(&mut self, path: &Path) {
        if path.has_rtt() {
            let smallest = &mut self.smallest[path.id.index()];
            *smallest = path.srtt.as_nanos().min(*smallest);
        }
    }

    pub(super) fn on_event(&mut self, event: &Event, paths: &[Path]) {
        if let Event::Acked { path, .. } = event
            && let Some(path) = paths.get(path.index())
        {
            self.note(path);
        }
    }

    /// Largest number of segments in flight on the path; `u32::MAX` if its window is not capped.
    fn cap(&self, path: &Path) -> u32 {
        let (srtt, smallest) = (path.srtt.as_nanos(), self.smallest[path.id.index()]);
        // The round-trip time has not grown, or is not measured. This check spares most paths the
        // division.
        if smallest >= srtt {
            return u32::MAX;
        }
        let product = u128::from(self.lambda) * u128::from(smallest) * u128::from(path.cwnd);
        let cap = (product / (u128::from(srtt) * UNIT as u128)).max(1);
        if cap < u128::from(path.cwnd) { cap as u32 } else { u32::MAX }
    }

    /// True if the path's window is capped.
    pub(super) fn caps(&self, path: &Path) -> bool {
        self.cap(path) < u32::MAX
    }

    /// Returns the limit that must hold: the smaller of the cap and of the scheduler's limit.
    pub(super) fn limit(&self, path: &Path) -> u32 {
        self.cap(path).min(self.limits[path.id.index()])
    }

    /// Returns the first limit that has to change, and notes the round-trip times of all paths.
    pub(super) fn decide(&mut self, paths: &[Path]) -> Option<Decision> {
        let mut wrong = None;
        for path in paths.iter().take(MAX_PATHS) {
            self.note(path);
            let in_flight = self.limit(path);
            if wrong.is_none() && in_flight != path.limit {
                wrong = Some(Decision::Limit { path: path.id, in_flight });
            }
        }
        wrong
    }

    /// Records a limit that the scheduler sets.
    pub(super) fn limited(&mut self, path: PathId, in_flight: u32) {
        if let Some(limit) = self.limits.get_mut(path.index()) {
            *limit = in_flight;
        }
    }

    /// Returns the path as the scheduler sees it.
    pub(super) fn shown(&self, path: &Path) -> Path {
        Path { cwnd: self.cap(path).min(path.cwnd), limit: self.limits[path.id.index()], ..path.clone() }
    }
}
