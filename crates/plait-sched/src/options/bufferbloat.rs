//! Bufferbloat mitigation (BM): a path whose round-trip time has grown, because a queue has, is given less.
//!
//! # Source
//! Ferlin-Oliveira et al., *Tackling the Challenge of Bufferbloat in Multi-Path Transport over Heterogeneous Wireless
//! Networks* (IEEE IWQoS 2014), as evaluated by Paasch et al., *Experimental Evaluation of Multipath TCP Schedulers*
//! (ACM CSWS 2014): what may be in flight on path i is
//! λ · (smallest srtt_i so far / srtt_i) · cwnd_i, if that is less than cwnd_i; λ = 3.
//!
//! # Readings
//! The formula of the evaluation, λ · (min srtt_i / srtt_i) · cwnd_i, does not say over what the minimum is taken. It is
//! read as the smallest that path i itself has had so far. Over the paths it would cap a path for being long, not for
//! having a queue: one with more than λ times the round trip of the shortest would lose a part of its window at rest.
//!
//! # Departures
//! * At least one segment.
//! * The congestion control keeps its window; the cap is a limit beside it ([`Decision::Limit`]), the smaller of it and
//!   of what the scheduler itself sets. The scheduler sees the capped window as the path's window: else it would give a
//!   path segments that then wait in its queue.
//! * The smallest value is kept for ever: after a change of route to a longer one the cap is too small.

use crate::decision::{Decision, Event};
use crate::view::{MAX_PATHS, Path, PathId};

/// λ is kept in millionths: integers give the same caps on every machine.
const UNIT: f64 = 1_000_000.0;

/// The state of bufferbloat mitigation.
#[derive(Clone, Debug)]
pub struct Mitigation {
    /// λ in millionths.
    lambda: u64,
    /// The smallest smoothed round-trip time of each path, in nanoseconds; `u64::MAX` before the first.
    smallest: [u64; MAX_PATHS],
    /// What the scheduler itself limits each path to.
    limits: [u32; MAX_PATHS],
}

impl Mitigation {
    /// With the given λ; less than 1 counts as 1, more than a thousand as a thousand.
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

    /// What may be in flight on the path; `u32::MAX` if its window is not capped.
    fn cap(&self, path: &Path) -> u32 {
        let (srtt, smallest) = (path.srtt.as_nanos(), self.smallest[path.id.index()]);
        // Not grown, or not measured. This spares most paths the division.
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

    /// The limit that is to hold: the smaller of the cap and of what the scheduler set.
    pub(super) fn limit(&self, path: &Path) -> u32 {
        self.cap(path).min(self.limits[path.id.index()])
    }

    /// The next limit that is not as it should be.
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

    /// The scheduler sets a limit.
    pub(super) fn limited(&mut self, path: PathId, in_flight: u32) {
        if let Some(limit) = self.limits.get_mut(path.index()) {
            *limit = in_flight;
        }
    }

    /// The path as the scheduler is to see it.
    pub(super) fn shown(&self, path: &Path) -> Path {
        Path { cwnd: self.cap(path).min(path.cwnd), limit: self.limits[path.id.index()], ..path.clone() }
    }
}
