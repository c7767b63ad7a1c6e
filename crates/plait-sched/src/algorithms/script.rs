//! Tests as scripts: a table of paths, opportunities, and the decisions at each opportunity.

extern crate std;

use std::string::String;
use std::vec::Vec;

use crate::{Connection, Decision, Duration, Event, Path, PathId, Scheduler, Time};

/// The path that took segments, and their number; a recall is written as 0 segments.
pub(super) type Step = (u8, u32);

/// A sender without a network: sent segments stay in flight until the script acknowledges them.
pub(super) struct Script<S> {
    pub(super) scheduler: S,
    pub(super) connection: Connection,
    pub(super) paths: Vec<Path>,
    pub(super) now: Time,
}

impl<S: Scheduler> Script<S> {
    /// Creates paths from (srtt in milliseconds, cwnd), with an endless stream and an endless
    /// window.
    pub(super) fn new(scheduler: S, paths: &[(u64, u32)]) -> Self {
        let paths = paths.iter().zip(0..).map(|(&(srtt, cwnd), id)| {
            let srtt = Duration::from_millis(srtt);
            Path { srtt, cwnd, ssthresh: 1, ..Path::new(PathId(id), 1000) }
        });
        let connection =
            Connection { unassigned: 1_000_000, window_left: 1_000_000, ..Connection::default() };
        Self { scheduler, connection, paths: paths.collect(), now: Time::ZERO }
    }

    pub(super) fn in_flight(mut self, path: usize, segments: u32) -> Self {
        self.paths[path].in_flight = segments;
        self
    }

    /// Acknowledges segments of a path, which also leave the receiver's window.
    pub(super) fn acked(&mut self, path: usize, segments: u32) {
        self.paths[path].in_flight -= segments;
        self.connection.window_left += u64::from(segments);
        self.transmit();
        self.tell(&Event::Acked { path: PathId(path as u8), segments, rtt: None });
    }

    pub(super) fn tell(&mut self, event: &Event) {
        self.scheduler.on_event(event, &self.connection, &self.paths);
    }

    /// One decision, with its reason.
    pub(super) fn explained(&mut self) -> (Decision, String) {
        let mut reason = String::new();
        let (connection, paths) = (&self.connection, &self.paths);
        (self.scheduler.decide_with_reason(self.now, connection, paths, &mut reason), reason)
    }

    /// All decisions of one opportunity, a millisecond after the last one.
    pub(super) fn opportunity(&mut self) -> Vec<Step> {
        self.now += Duration::from_millis(1);
        let mut steps = Vec::new();
        loop {
            match self.scheduler.decide(self.now, &self.connection, &self.paths) {
                Decision::Assign { path, segments } => {
                    steps.push((path.0, segments));
                    self.connection.unassigned -= u64::from(segments);
                    self.connection.next_segment += u64::from(segments);
                    self.paths[path.index()].queued += segments;
                    self.transmit();
                }
                Decision::Recall { path } => {
                    steps.push((path.0, 0));
                    let recalled = core::mem::take(&mut self.paths[path.index()].queued);
                    self.connection.unassigned += u64::from(recalled);
                }
                Decision::Limit { path, in_flight } => self.paths[path.index()].limit = in_flight,
                Decision::Wait { .. } => return steps,
                Decision::Reinject { .. } | Decision::Penalize { .. } | Decision::Defer => {
                    panic!("no script has copies, penalties or streams")
                }
            }
        }
    }

    fn transmit(&mut self) {
        for path in &mut self.paths {
            let window = path.cwnd.min(path.limit);
            let segments = path.queued.min(window.saturating_sub(path.in_flight));
            let segments = super::clip(segments, self.connection.window_left);
            path.queued -= segments;
            path.in_flight += segments;
            self.connection.window_left -= u64::from(segments);
        }
    }
}
