//! Packet trains: segments sent at once, whose acknowledgements come at a few moments. The other
//! records seldom have enough acknowledgements of a train at so few moments. Nor do they lose
//! several segments of a measured path, as a queue that overflows does.

use plait_sched::conformance::{Call, Record};
use plait_sched::{Connection, Duration, Event, Path, PathId, Scheduler, Time};

const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Trains: the moments of acknowledgements after the first one, and the segments of each moment.
pub(crate) const TRAINS: [(u64, u32); 8] = [(1, 3), (1, 4), (2, 1), (2, 2), (2, 4), (3, 1), (3, 2), (4, 1)];

/// Bursts that follow a train: the milliseconds since the burst before, the segments sent, and the
/// segments lost. Waits are near one and two round trips.
pub(crate) const OVERFLOWS: [&[(u64, u32, u32)]; 12] = [
    &[(200, 40, 1)],
    &[(200, 40, 2)],
    &[(200, 40, 20)],
    &[(200, 5, 2)],
    &[(200, 6, 2)],
    &[(200, 13, 2)],
    &[(200, 15, 2)],
    &[(200, 40, 0), (100, 20, 2)],
    &[(200, 40, 0), (150, 20, 2)],
    &[(200, 40, 0), (200, 20, 2)],
    &[(200, 40, 0), (250, 20, 2)],
    &[(200, 40, 2), (250, 20, 2), (250, 30, 2), (6_000, 60, 2), (6_000, 50, 2)],
];

/// A scheduler with one path, whose every call is shown.
struct Recorder<'a> {
    scheduler: &'a mut dyn Scheduler,
    observer: &'a mut dyn FnMut(&Record<'_>),
    connection: Connection,
    path: Path,
    now: Time,
    /// The next segment.
    segment: u64,
}

impl<'a> Recorder<'a> {
    fn new(scheduler: &'a mut dyn Scheduler, observer: &'a mut dyn FnMut(&Record<'_>)) -> Self {
        let path = Path {
            srtt: ROUND_TRIP,
            min_rtt: ROUND_TRIP,
            latest_rtt: ROUND_TRIP,
            cwnd: 100,
            ssthresh: 50,
            ..Path::new(PathId(0), 1_000)
        };
        let connection = Connection { unassigned: 1_000, window_left: 1_000, ..Connection::default() };
        Self { scheduler, observer, connection, path, now: Time::ZERO + ROUND_TRIP, segment: 0 }
    }

    fn show(&mut self, call: Call) {
        let paths = core::slice::from_ref(&self.path);
        (self.observer)(&Record { call, connection: &self.connection, paths });
    }

    fn decide(&mut self) {
        let paths = core::slice::from_ref(&self.path);
        let decision = self.scheduler.decide(self.now, &self.connection, paths);
        self.show(Call::Decide { now: self.now, decision });
    }

    fn tell(&mut self, event: Event) {
        self.scheduler.on_event(&event, &self.connection, core::slice::from_ref(&self.path));
        self.show(Call::Event(event));
    }

    fn send(&mut self, segments: u32) {
        self.decide();
        for _ in 0..segments {
            self.path.in_flight += 1;
            self.tell(Event::Sent { path: self.path.id, segment: self.segment, retransmission: false });
            self.segment += 1;
        }
    }

    fn acknowledge(&mut self, segments: u32) {
        self.path.in_flight -= segments;
        self.tell(Event::Acked { path: self.path.id, segments, rtt: Some(ROUND_TRIP) });
        self.decide();
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
    fn burst(&mut self, segments: u32, lost: u32) {
        self.send(segments);
        self.now += ROUND_TRIP;
        if lost > 0 {
            self.path.in_flight -= lost;
            self.tell(Event::Lost { path: self.path.id, segments: lost });
            self.decide();
        }
        self.acknowledge(segments - lost);
    }
}

/// Drives a scheduler through a train, and shows every call.
pub(crate) fn record_train(
    scheduler: &mut dyn Scheduler,
    (moments, each): (u64, u32),
    observer: &mut dyn FnMut(&Record<'_>),
) {
    Recorder::new(scheduler, observer).train(moments, each);
}

/// Drives a scheduler through a train and bursts, and shows every call.
pub(crate) fn record_overflow(
    scheduler: &mut dyn Scheduler,
    bursts: &[(u64, u32, u32)],
    observer: &mut dyn FnMut(&Record<'_>),
) {
    let mut recorder = Recorder::new(scheduler, observer);
    recorder.train(4, 1);
    let mut begun = recorder.now;
    for &(wait, segments, lost) in bursts {
        begun += Duration::from_millis(wait);
        recorder.now = begun;
        recorder.burst(segments, lost);
    }
}
