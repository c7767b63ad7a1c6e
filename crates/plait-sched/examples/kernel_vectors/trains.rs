//! Packet trains: segments sent at once, whose acknowledgements come at a few moments. The other
//! records seldom have enough acknowledgements of a train at so few moments.

use plait_sched::conformance::{Call, Record};
use plait_sched::{Connection, Duration, Event, Path, PathId, Scheduler, Time};

const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Trains: the moments of acknowledgements after the first one, and the segments of each moment.
pub(crate) const TRAINS: [(u64, u32); 8] = [(1, 3), (1, 4), (2, 1), (2, 2), (2, 4), (3, 1), (3, 2), (4, 1)];

/// Drives a scheduler through a train, and shows every call.
pub(crate) fn record_train(
    scheduler: &mut dyn Scheduler,
    (moments, each): (u64, u32),
    observer: &mut dyn FnMut(&Record<'_>),
) {
    let connection = Connection { unassigned: 1_000, window_left: 1_000, ..Connection::default() };
    let mut path = Path {
        srtt: ROUND_TRIP,
        min_rtt: ROUND_TRIP,
        latest_rtt: ROUND_TRIP,
        cwnd: 100,
        ssthresh: 50,
        ..Path::new(PathId(0), 1_000)
    };
    let mut call = |now: Time, event: Option<Event>, path: &Path| {
        let paths = core::slice::from_ref(path);
        let call = if let Some(event) = event {
            scheduler.on_event(&event, &connection, paths);
            Call::Event(event)
        } else {
            Call::Decide { now, decision: scheduler.decide(now, &connection, paths) }
        };
        observer(&Record { call, connection: &connection, paths });
    };
    let mut now = Time::ZERO + ROUND_TRIP;
    call(now, None, &path);
    for segment in 0..=moments * u64::from(each) {
        path.in_flight += 1;
        call(now, Some(Event::Sent { path: path.id, segment, retransmission: false }), &path);
    }
    now += ROUND_TRIP;
    for segments in core::iter::once(1).chain((0..moments).map(|_| each)) {
        path.in_flight -= segments;
        call(now, Some(Event::Acked { path: path.id, segments, rtt: Some(ROUND_TRIP) }), &path);
        call(now, None, &path);
        now += Duration::from_millis(5);
    }
    call(now, None, &path);
}
