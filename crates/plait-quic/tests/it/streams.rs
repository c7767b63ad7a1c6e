//! Streams between two sessions in virtual time.

use crate::sessions::{FAST, MILLISECOND, Net, Path, SECOND, SLOW, content};
use plait_quic::streams::{BACKLOG, Class, MAX_CREDIT, Reason, StreamEvent, Streams};
use plait_sched::SCHEDULERS;
use std::collections::BTreeSet;

const LOSSY: [Path; 2] = [Path { lost: 20, jitter: 5, ..FAST }, Path { lost: 50, jitter: 20, ..SLOW }];

/// Data to send on one side of a stream, and the data received there.
#[derive(Default)]
struct Talk {
    payload: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
    ended_at: Option<u64>,
    first_at: Option<u64>,
}

impl Talk {
    fn pump(&mut self, now: u64, streams: &mut Streams, stream: u32) {
        self.sent += streams.write(stream, &self.payload[self.sent..]);
        if self.sent == self.payload.len() {
            streams.finish(stream);
        }
        let delivered = streams.peek(stream);
        self.received.extend_from_slice(delivered);
        let count = delivered.len();
        if count > 0 {
            self.first_at.get_or_insert(now);
        }
        streams.consume(stream, count);
        if streams.is_ended(stream) {
            self.ended_at.get_or_insert(now);
        }
    }
}

/// Opens streams at these milliseconds. Each carries this many bytes in each direction and ends.
fn exchange(net: &mut Net<'_>, sizes: &[(u64, Class, usize, usize)]) -> Vec<[Talk; 2]> {
    let talk = |bytes, seed| Talk { payload: content(bytes, seed), ..Talk::default() };
    let mut talks: Vec<[Talk; 2]> = sizes
        .iter()
        .enumerate()
        .map(|(at, (_, _, up, down))| [talk(*up, at as u64), talk(*down, 1_000 + at as u64)])
        .collect();
    let (mut opened, mut accepted) = (0, BTreeSet::new());
    while net.now < 200 * SECOND {
        while let Some((at, class, ..)) = sizes.get(opened).filter(|size| size.0 * MILLISECOND <= net.now) {
            let stream = net.ends[0].streams.open(&format!("target:{at}"), *class).expect("there is room");
            assert_eq!(stream, opened as u32);
            opened += 1;
        }
        while let Some(event) = net.ends[1].streams.poll() {
            let StreamEvent::Opened { stream, target, class } = event else { panic!("{event:?}") };
            assert_eq!(
                (target, class),
                (format!("target:{}", sizes[stream as usize].0), sizes[stream as usize].1)
            );
            net.ends[1].streams.accept(stream);
            accepted.insert(stream);
        }
        for (stream, [near, far]) in talks.iter_mut().enumerate().take(opened) {
            near.pump(net.now, &mut net.ends[0].streams, stream as u32);
            if accepted.contains(&(stream as u32)) {
                far.pump(net.now, &mut net.ends[1].streams, stream as u32);
            }
        }
        let over = net.ends.iter().all(|end| end.streams.is_empty() && end.session.is_drained());
        // A stream that is not open yet causes no event.
        let next_open = sizes.get(opened).map(|size| size.0 * MILLISECOND);
        let before = net.now;
        if over && next_open.is_none() || !net.step() && next_open.is_none() {
            break;
        }
        if let Some(next) = next_open.filter(|next| *next > before) {
            net.now = net.now.min(next);
        }
    }
    for end in &net.ends {
        assert!(end.failed.is_none(), "{:?}", end.failed);
    }
    for (stream, [near, far]) in talks.iter().enumerate() {
        assert!(
            near.received == far.payload && far.received == near.payload,
            "stream {stream}: {} of {} and {} of {}",
            near.received.len(),
            far.payload.len(),
            far.received.len(),
            near.payload.len()
        );
        assert!(near.ended_at.is_some() && far.ended_at.is_some(), "stream {stream}: both ends are heard");
    }
    talks
}

fn many(count: usize, bytes: usize) -> Vec<(u64, Class, usize, usize)> {
    (0..count).map(|at| (10 * at as u64, Class::Bulk, bytes / (1 + at % 3), bytes / (1 + at % 4))).collect()
}

#[test]
fn every_scheduler_carries_all_streams_over_lossy_paths() {
    for scheduler in SCHEDULERS {
        let mut net = Net::new(scheduler.name, &LOSSY, 1);
        exchange(&mut net, &many(6, 100_000));
        assert!(net.now < 60 * SECOND, "{}: {} ns", scheduler.name, net.now);
    }
}

#[test]
fn a_run_is_the_same_each_time() {
    let run = |seed| {
        let mut net = Net::new("lowest-rtt", &LOSSY, seed);
        exchange(&mut net, &many(8, 200_000));
        (net.trace, net.now)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn both_paths_carry_one_stream() {
    let took = |paths: &[Path]| {
        let mut net = Net::new("lowest-rtt", paths, 1);
        let talks = exchange(&mut net, &[(0, Class::Bulk, 8_000_000, 0)]);
        talks[0][1].ended_at.expect("it has ended") as f64 / SECOND as f64
    };
    let rates = [&[FAST, SLOW][..], &[FAST]].map(|paths| 64.0 / took(paths));
    // 30 and 20 Mbit/s, of which headers take a twelfth.
    assert!(rates[0] > 22.0 && rates[0] < 30.0 && rates[1] > 15.0 && rates[1] < 20.0, "{rates:?} Mbit/s");
}

#[test]
fn an_outage_of_a_path_breaks_no_stream() {
    for path in [0, 1] {
        let mut paths = [FAST, SLOW];
        paths[path].outage = [500 * MILLISECOND, 100 * SECOND];
        let mut net = Net::new("lowest-rtt", &paths, 1);
        exchange(&mut net, &many(10, 600_000));
        assert!(net.now < 20 * SECOND, "{} ns", net.now);
    }
}

/// A new stream does not wait for the backlog of others. Its round trip has the delay of the paths,
/// their queues, and one turn of each stream.
#[test]
fn a_new_stream_does_not_wait_behind_others() {
    let mut sizes = vec![(0, Class::Bulk, 6_000_000, 0), (0, Class::Bulk, 6_000_000, 0)];
    sizes.push((1_500, Class::Bulk, 100, 100));
    sizes.push((1_700, Class::Interactive, 100, 100));
    let mut net = Net::new("lowest-rtt", &[FAST, SLOW], 1);
    let talks = exchange(&mut net, &sizes);
    let bulk = talks[0][1].ended_at.expect("it has ended");
    for (at, stream) in [(1_500, 2), (1_700, 3)] {
        let round_trip = talks[stream][0].first_at.expect("it was answered") - at * MILLISECOND;
        // The queue of each path holds 60 kB, which take 24 and 48 ms. The longer round trip is 80
        // ms.
        assert!(round_trip < 180 * MILLISECOND, "stream {stream}: {round_trip} ns");
        assert!(at * MILLISECOND + round_trip < bulk, "the others are under way");
    }
}

#[test]
fn streams_share_what_there_is() {
    let mut net = Net::new("lowest-rtt", &[FAST, SLOW], 1);
    let talks = exchange(&mut net, &[(0, Class::Bulk, 3_000_000, 0); 4]);
    let ends: Vec<u64> = talks.iter().map(|talk| talk[1].ended_at.expect("it has ended")).collect();
    let (first, last) = (ends.iter().min().expect("four"), ends.iter().max().expect("four"));
    assert!(*first as f64 > 0.9 * *last as f64, "{ends:?}");
}

#[test]
fn interactive_streams_go_before_bulk() {
    let mut net = Net::new("lowest-rtt", &[FAST], 1);
    let talks = exchange(
        &mut net,
        &[
            (0, Class::Bulk, 4_000_000, 0),
            (300, Class::Interactive, 2_000_000, 0),
            (300, Class::Bulk, 2_000_000, 0),
        ],
    );
    let ended = |stream: usize| talks[stream][1].ended_at.expect("it has ended");
    // Alone it would take 0.9 s.
    assert!(ended(1) < 1_400 * MILLISECOND && ended(1) < ended(2) / 2, "{} {}", ended(1), ended(2));
}

/// A stream without a reader gets no more data than its credit, and blocks no other stream.
#[test]
fn a_reader_that_stops_stops_its_stream_only() {
    let mut net = Net::new("lowest-rtt", &[FAST, SLOW], 1);
    let [stuck, other] = ["stuck:1", "other:1"]
        .map(|target| net.ends[0].streams.open(target, Class::Bulk).expect("there is room"));
    let payload = content(2_000_000, 5);
    let mut talks = [Talk { payload: payload.clone(), ..Talk::default() }, Talk::default()];
    while net.now < 20 * SECOND && talks[1].received.len() < payload.len() {
        net.ends[0].streams.write(stuck, &payload);
        talks[0].pump(net.now, &mut net.ends[0].streams, other);
        talks[1].pump(net.now, &mut net.ends[1].streams, other);
        net.step();
    }
    assert!(talks[1].received == payload, "{} bytes", talks[1].received.len());
    let waits = net.ends[1].streams.peek(stuck).len();
    assert_eq!(waits, 64 << 10);
    assert!(net.most_memory < MAX_CREDIT + 3 * BACKLOG as u64, "{}", net.most_memory);
}

#[test]
fn a_stream_that_is_reset_is_forgotten_by_both_and_the_others_go_on() {
    let mut net = Net::new("lowest-rtt", &LOSSY, 3);
    let [one, other] = ["one:1", "other:1"]
        .map(|target| net.ends[0].streams.open(target, Class::Bulk).expect("there is room"));
    let payload = content(500_000, 5);
    let mut talks =
        [Talk { payload: payload.clone(), ..Talk::default() }, Talk { payload, ..Talk::default() }];
    let mut told = None;
    while net.now < 20 * SECOND && !net.ends.iter().all(|end| end.streams.is_empty()) {
        net.ends[0].streams.write(one, &[7; 10_000]);
        while let Some(StreamEvent::Opened { stream, .. }) = net.ends[1].streams.poll() {
            net.ends[1].streams.accept(stream);
        }
        if net.ends[1].streams.peek(one).len() > 30_000 {
            net.ends[1].streams.reset(one, Reason::Broken);
        }
        while let Some(event) = net.ends[0].streams.poll() {
            told = Some(event).filter(|event| !matches!(event, StreamEvent::Accepted { .. })).or(told);
        }
        talks[0].pump(net.now, &mut net.ends[0].streams, other);
        talks[1].pump(net.now, &mut net.ends[1].streams, other);
        net.step();
    }
    assert_eq!(told, Some(StreamEvent::Reset { stream: one, reason: Reason::Broken }));
    assert!(net.ends.iter().all(|end| end.failed.is_none() && end.streams.is_empty()));
    assert!(talks[0].received == talks[1].payload && talks[1].received == talks[0].payload);
}

/// A loss in an upload delays the upload alone. Small exchanges beside it wait only for their own
/// packets.
#[test]
fn losses_of_one_stream_hold_up_no_other() {
    let paths = [FAST, SLOW].map(|path| Path { lost: 10, ..path });
    let mut sizes = vec![(0, Class::Bulk, 8_000_000, 0)];
    sizes.extend((0..80).map(|at| (500 + 25 * at, Class::Interactive, 100, 100)));
    let mut net = Net::new("lowest-rtt", &paths, 1);
    let talks = exchange(&mut net, &sizes);
    let answered = |stream: usize| talks[stream][0].first_at.expect("it was answered");
    let mut waits: Vec<u64> =
        (1..sizes.len()).map(|at| (answered(at) - sizes[at].0 * MILLISECOND) / MILLISECOND).collect();
    waits.sort_unstable();
    let [median, late] = [waits.len() / 2, waits.len() * 95 / 100].map(|at| waits[at]);
    println!("{median} ms, {late} ms at p95");
    assert!(talks[0][1].ended_at.expect("it has ended") > sizes[80].0 * MILLISECOND, "the upload goes on");
    assert!(late < 160, "{waits:?} ms");
}
