extern crate std;

use std::collections::VecDeque;
use std::vec::Vec;

use super::*;
use crate::view::{Message, PathId};
use crate::{Duration, Event};

/// A decision: the path that took a segment of a stream.
type Step = (u8, u32);

/// Streams with these numbers of segments, over paths given as (srtt, window, in flight).
struct Streams {
    scheduler: SaEcf,
    paths: Vec<Path>,
    /// Stream numbers and remaining segments, in their order.
    waiting: VecDeque<(u32, u64)>,
}

impl Streams {
    fn new(paths: [(u64, u32, u32); 2], segments: &[u64]) -> Self {
        let paths = paths.iter().zip(0..).map(|(&(srtt, cwnd, in_flight), id)| {
            let srtt = Duration::from_millis(srtt);
            Path { srtt, cwnd, in_flight, ssthresh: 1, ..Path::new(PathId(id), 1000) }
        });
        let waiting = segments.iter().zip(0..).map(|(&left, stream)| (stream, left)).collect();
        Self { scheduler: SaEcf::default(), paths: paths.collect(), waiting }
    }

    fn opportunity(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..1_000 {
            let Some(&(stream, segments_left)) = self.waiting.front() else { return steps };
            let connection = Connection {
                unassigned: self.waiting.iter().map(|(_, left)| left).sum(),
                window_left: 1_000,
                message: Some(Message { stream, segments_left, ..Message::default() }),
                streams: self.waiting.len() as u32,
                ..Connection::default()
            };
            match self.scheduler.decide(Time::ZERO, &connection, &self.paths) {
                Decision::Assign { path, segments } => {
                    steps.extend((0..segments).map(|_| (path.0, stream)));
                    self.paths[path.index()].in_flight += segments;
                    self.waiting[0].1 -= u64::from(segments);
                    self.waiting.retain(|(_, left)| *left > 0);
                }
                Decision::Defer => self.waiting.rotate_left(1),
                Decision::Wait { .. } => return steps,
                other => panic!("{other:?}"),
            }
        }
        panic!("it never waits");
    }

    fn order(&self) -> Vec<u32> {
        self.waiting.iter().map(|(stream, _)| *stream).collect()
    }
}

/// The vectors of ECF: round trips of 50 and 130 ms, windows of 20 and 30, the fast path full. A
/// stream of k segments waits if 50 (1 + k/20) < 130, which means up to k = 31, and if 130 · max(k,
/// 30) > 100 · 30, which is always true.
const FULL: [(u64, u32, u32); 2] = [(50, 20, 20), (130, 30, 0)];

#[test]
fn one_stream_waits_by_the_papers_first_and_the_codes_second_inequality() {
    for left in [1, 20, 31] {
        assert_eq!(Streams::new(FULL, &[left]).opportunity(), [], "{left}");
    }
    assert_eq!(Streams::new(FULL, &[32]).opportunity().first(), Some(&(1, 0)));
}

#[test]
fn a_path_that_one_stream_leaves_alone_serves_the_next_that_does_not() {
    let mut streams = Streams::new(FULL, &[5, 100, 7, 200]);
    let steps = streams.opportunity();
    assert_eq!(steps, [(1, 1); 30], "streams 0 and 2 wait for the fast path, and 3 is behind 1");
    assert_eq!(streams.order(), [0, 1, 2, 3], "nobody has lost a turn");
}

#[test]
fn when_all_streams_wait_the_path_is_left_alone_and_their_order_kept() {
    let mut streams = Streams::new(FULL, &[5, 6, 7]);
    assert_eq!(streams.opportunity(), []);
    assert_eq!(streams.order(), [0, 1, 2]);
}

#[test]
fn patience_is_the_streams_own() {
    // With 40 segments a stream does not begin to wait. A stream that waited with 31 goes on to,
    // until 50 (1 + k/20) >= 162.5, k = 45.
    let mut streams = Streams::new(FULL, &[31, 40]);
    assert_eq!(streams.opportunity().first(), Some(&(1, 1)));
    let waiting = |streams: &mut Streams, left| {
        streams.waiting = VecDeque::from([(0, left)]);
        // Room for one segment.
        streams.paths[1].in_flight = 29;
        streams.opportunity().is_empty()
    };
    assert!(waiting(&mut streams, 44));
    assert!(!waiting(&mut streams, 45));
    assert!(!waiting(&mut streams, 44), "it has been cleared");
}

#[test]
fn the_fast_path_serves_streams_in_turn() {
    let mut streams = Streams::new([(50, 20, 13), (130, 30, 30)], &[2, 9, 3]);
    let turns: Vec<u32> = streams.opportunity().into_iter().map(|(_, stream)| stream).collect();
    assert_eq!(turns, [0, 1, 2, 0, 1, 2, 1]);
    assert_eq!(streams.order(), [2, 1]);
}

#[test]
fn a_message_that_ends_on_the_slow_path_leaves_the_others_in_order() {
    // No stream has a reason to wait: the slow path is hardly slower.
    let mut streams = Streams::new([(50, 20, 20), (60, 30, 29)], &[1, 5, 5]);
    assert_eq!(streams.opportunity(), [(1, 0)]);
    assert_eq!(streams.order(), [1, 2]);
    // The first stream waits; the second ends.
    let mut streams = Streams::new([(50, 20, 20), (130, 30, 29)], &[5, 40, 5]);
    streams.scheduler.waiting.set(0, true);
    streams.waiting[1].1 = 46;
    assert_eq!(streams.opportunity(), [(1, 1)]);
    assert_eq!(streams.order(), [0, 1, 2]);
}

#[test]
fn nobody_waits_for_a_path_that_timed_out() {
    let mut streams = Streams::new(FULL, &[5]);
    let connection = Connection::default();
    streams.scheduler.on_event(&Event::Timeout { path: PathId(0) }, &connection, &[]);
    assert_eq!(streams.opportunity(), [(1, 0); 5]);
}
