//! Packet trains: segments sent at once, whose acknowledgements come at a few moments. The other
//! records seldom have enough acknowledgements of a train at so few moments. Nor do they lose
//! several segments of a measured path, as a queue that overflows does, or write so regularly that a
//! queue lasts.

use plait_sched::conformance::{Call, Record};
use plait_sched::{Connection, Decision, Duration, Event, Path, PathId, Scheduler, Time};

const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Trains: the moments of acknowledgements after the first one, and the segments of each moment.
pub(crate) const TRAINS: [(u64, u32); 8] = [(1, 3), (1, 4), (2, 1), (2, 2), (2, 4), (3, 1), (3, 2), (4, 1)];

/// Bursts that follow a train: the milliseconds since the burst before, the segments sent, those lost,
/// and the newest round trip in milliseconds. Waits are near one and two round trips.
pub(crate) const OVERFLOWS: [&[(u64, u32, u32, u64)]; 14] = [
    &[(200, 40, 1, 100)],
    &[(200, 40, 2, 100)],
    &[(200, 40, 20, 100)],
    &[(200, 5, 2, 100)],
    &[(200, 6, 2, 100)],
    &[(200, 13, 2, 100)],
    &[(200, 15, 2, 100)],
    &[(200, 40, 2, 290)],
    &[(200, 40, 2, 350)],
    &[(200, 40, 0, 100), (100, 20, 2, 100)],
    &[(200, 40, 0, 100), (150, 20, 2, 100)],
    &[(200, 40, 0, 100), (200, 20, 2, 100)],
    &[(200, 40, 0, 100), (250, 20, 2, 100)],
    &[(200, 40, 2, 100), (250, 20, 2, 100), (250, 30, 2, 100), (6_000, 60, 2, 100), (6_000, 50, 2, 100)],
];

/// Segments that wait during bursts, near four congestion windows beyond the receiver's window.
pub(crate) const WAITING: [u64; 3] = [1_000, 1_800, 1_801];

/// Writes on two paths of 1 ms a segment, each 10 ms: the round trip of the slow path in
/// milliseconds, the segments of the first write, and those of each later one.
pub(crate) const WRITES: [(u64, u64, u64); 6] =
    [(60, 15, 10), (60, 12, 10), (60, 11, 10), (40, 15, 10), (60, 20, 9), (100, 30, 11)];

/// A scheduler whose every call is shown. Only the first path has events of its own.
struct Recorder<'a> {
    scheduler: &'a mut dyn Scheduler,
    observer: &'a mut dyn FnMut(&Record<'_>),
    connection: Connection,
    paths: Vec<Path>,
    now: Time,
    /// The next segment.
    segment: u64,
}

impl<'a> Recorder<'a> {
    fn new(
        scheduler: &'a mut dyn Scheduler,
        waiting: u64,
        paths: Vec<Path>,
        observer: &'a mut dyn FnMut(&Record<'_>),
    ) -> Self {
        let connection = Connection { unassigned: waiting, window_left: 1_000, ..Connection::default() };
        Self { scheduler, observer, connection, paths, now: Time::ZERO + ROUND_TRIP, segment: 0 }
    }

    fn show(&mut self, call: Call) {
        (self.observer)(&Record { call, connection: &self.connection, paths: &self.paths });
    }

    /// Asks for a decision, and sets the limits before it.
    fn decide(&mut self) -> Decision {
        loop {
            let decision = self.scheduler.decide(self.now, &self.connection, &self.paths);
            self.show(Call::Decide { now: self.now, decision });
            match decision {
                Decision::Limit { path, in_flight } => self.paths[path.index()].limit = in_flight,
                _ => return decision,
            }
        }
    }

    fn tell(&mut self, event: Event) {
        self.scheduler.on_event(&event, &self.connection, &self.paths);
        self.show(Call::Event(event));
    }

    fn sent(&mut self, path: PathId) {
        self.tell(Event::Sent { path, segment: self.segment, retransmission: false });
        self.segment += 1;
    }

    fn send(&mut self, segments: u32) {
        self.decide();
        for _ in 0..segments {
            self.paths[0].in_flight += 1;
            self.sent(PathId(0));
        }
    }

    fn acknowledge(&mut self, segments: u32) {
        self.paths[0].in_flight -= segments;
        self.tell(Event::Acked { path: PathId(0), segments, rtt: Some(ROUND_TRIP) });
        self.decide();
    }

    /// Writes segments, which leave at once; at most a hundred assignments.
    fn write(&mut self, segments: u64) {
        self.connection.unassigned = segments;
        for _ in 0..100 {
            let Decision::Assign { path, segments } = self.decide() else { break };
            self.connection.unassigned -= u64::from(segments);
            for _ in 0..segments {
                self.sent(path);
            }
        }
    }

    fn train(&mut self, moments: u64, each: u32) {
        self.send(1 + moments as u32 * each);
        self.now += ROUND_TRIP;
        for segments in core::iter::once(1).chain((0..moments).map(|_| each)) {
            self.acknowledge(segments);
            self.now += Duration::from_millis(5);
        }
        self.decide();
    }

    /// A burst; a round trip later, some of its segments are lost and the others acknowledged.
    fn burst(&mut self, segments: u32, lost: u32, rtt: u64) {
        self.send(segments);
        self.now += ROUND_TRIP;
        self.paths[0].latest_rtt = Duration::from_millis(rtt);
        if lost > 0 {
            self.paths[0].in_flight -= lost;
            self.tell(Event::Lost { path: PathId(0), segments: lost });
            self.decide();
        }
        self.acknowledge(segments - lost);
    }
}

fn path(id: u8, srtt: Duration, cwnd: u32) -> Path {
    Path { srtt, min_rtt: srtt, latest_rtt: srtt, cwnd, ssthresh: 50, ..Path::new(PathId(id), 1_000) }
}

/// Drives a scheduler through a train, and shows every call.
pub(crate) fn record_train(
    scheduler: &mut dyn Scheduler,
    (moments, each): (u64, u32),
    observer: &mut dyn FnMut(&Record<'_>),
) {
    Recorder::new(scheduler, 1_000, vec![path(0, ROUND_TRIP, 100)], observer).train(moments, each);
}

/// Drives a scheduler through a train and bursts on one of two paths, and shows every call.
pub(crate) fn record_overflow(
    scheduler: &mut dyn Scheduler,
    bursts: &[(u64, u32, u32, u64)],
    waiting: u64,
    observer: &mut dyn FnMut(&Record<'_>),
) {
    let paths = vec![path(0, ROUND_TRIP, 100), path(1, ROUND_TRIP * 10, 100)];
    let mut recorder = Recorder::new(scheduler, waiting, paths, observer);
    recorder.train(4, 1);
    let mut begun = recorder.now;
    for &(wait, segments, lost, rtt) in bursts {
        begun += Duration::from_millis(wait);
        recorder.now = begun;
        recorder.burst(segments, lost, rtt);
    }
}

/// Drives a scheduler through regular writes and three others, and shows every call.
pub(crate) fn record_writes(
    scheduler: &mut dyn Scheduler,
    (slow, first, later): (u64, u64, u64),
    observer: &mut dyn FnMut(&Record<'_>),
) {
    let paths =
        vec![path(0, Duration::from_millis(20), 20), path(1, Duration::from_millis(slow), slow as u32)];
    let mut recorder = Recorder::new(scheduler, 0, paths, observer);
    for segments in core::iter::once(first).chain([later; 20]).chain([60, 5, 60]) {
        recorder.write(segments);
        recorder.now += Duration::from_millis(10);
    }
}
