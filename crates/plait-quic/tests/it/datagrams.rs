//! Flows of datagrams in virtual time: losses, duplicates and delays.

use crate::sessions::{FAST, MILLISECOND, Net, Path, SECOND, SLOW, content};
use plait_quic::streams::flows::{MAX_DATAGRAM, MAX_FLOWS};
use plait_quic::streams::{Class, Reason, StreamEvent};
use plait_sched::Time;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A flow with a datagram every `every` nanoseconds.
#[derive(Clone, Copy)]
struct Sending {
    class: Class,
    bytes: usize,
    every: u64,
    until: u64,
}

const CALL: Sending =
    Sending { class: Class::Interactive, bytes: 160, every: 20 * MILLISECOND, until: 5 * SECOND };

/// The outcome of one flow.
#[derive(Default)]
struct Delivered {
    sent: usize,
    /// Delays of the received datagrams in nanoseconds, ascending.
    waits: Vec<u64>,
    /// Numbers by order of arrival.
    order: Vec<u64>,
    uploaded: u64,
}

impl Delivered {
    fn at(&self, percent: usize) -> f64 {
        self.waits[(self.waits.len() - 1) * percent / 100] as f64 / MILLISECOND as f64
    }

    fn lost(&self) -> f64 {
        1.0 - self.waits.len() as f64 / self.sent as f64
    }
}

/// Sends datagrams that contain their numbers. Checks that each received one is complete and
/// arrives once.
fn run(net: &mut Net<'_>, sending: Sending, upload: bool) -> Delivered {
    let flow = net.ends[0].streams.open_flow("echo:1", sending.class).expect("there is room");
    let bulk = upload.then(|| net.ends[0].streams.open("bulk:1", Class::Bulk).expect("there is room"));
    let mut delivered = Delivered::default();
    let mut in_flight = BTreeMap::new();
    while net.now < sending.until + SECOND {
        while net.ends[1].streams.poll().is_some() {}
        let due = sending.every * delivered.sent as u64;
        if net.now >= due && due < sending.until {
            let number = delivered.sent as u64;
            let mut bytes = content(sending.bytes, number);
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            let now = Time::from_nanos(net.now);
            net.ends[0].streams.send_datagram(now, flow, &bytes);
            in_flight.insert(number, (net.now, bytes));
            delivered.sent += 1;
        }
        let far = &mut net.ends[1].streams;
        while let Some((of, bytes)) = far.receive_datagram() {
            let number = u64::from_be_bytes(bytes[..8].try_into().expect("they are there"));
            let (at, sent) = in_flight.remove(&number).expect("it comes once");
            assert!(of == flow && sent == bytes, "it comes whole");
            delivered.waits.push(net.now - at);
            delivered.order.push(number);
        }
        if let Some(bulk) = bulk {
            let count = far.peek(bulk).len();
            far.consume(bulk, count);
            delivered.uploaded += count as u64;
            net.ends[0].streams.write(bulk, &[7; 20_000]);
        }
        let due = sending.every * delivered.sent as u64;
        let next = [due, sending.until + SECOND].into_iter().filter(|next| *next > net.now).min();
        let goes_on = net.step();
        net.now = next.map_or(net.now, |next| if goes_on { net.now.min(next) } else { next });
    }
    assert!(net.ends.iter().all(|end| end.failed.is_none()));
    delivered.waits.sort_unstable();
    delivered
}

#[test]
fn datagrams_come_over_all_paths_whatever_the_scheduler() {
    for scheduler in ["lowest-rtt", "blest", "ecf", "round-robin", "redundant"] {
        // 20 and 28 Mbit/s over two paths of 20 Mbit/s; less if each datagram is sent on both
        // paths.
        let every = if scheduler == "redundant" { 1_100_000 } else { 400_000 };
        for bytes in [1_000, 1_420] {
            let paths = [FAST, FAST];
            let mut net = Net::new(scheduler, &paths, 1);
            let delivered = run(&mut net, Sending { bytes, every, until: 3 * SECOND, ..CALL }, false);
            let carried = net.ends[0].session.carried().0.to_vec();
            println!(
                "{scheduler}, {bytes}: {:.4} lost, {carried:?}, p99 {:.0} ms",
                delivered.lost(),
                delivered.at(99)
            );
            assert!(carried.iter().all(|bytes| *bytes > 1_000_000), "{scheduler}: {carried:?}");
            // The initial windows are small, so some datagrams wait for more than 100 ms.
            assert!(delivered.lost() < 0.05, "{scheduler}: {}", delivered.lost());
        }
    }
}

#[test]
fn datagrams_of_every_size_come_whole_both_ways() {
    let paths = [FAST, SLOW];
    let mut net = Net::new("round-robin", &paths, 1);
    let flow = net.ends[0].streams.open_flow("echo:1", Class::Bulk).expect("there is room");
    let (mut sent, mut delivered) = (0, [0; 2]);
    while delivered[0] < 1_500 && net.now < 20 * SECOND {
        while net.ends[1].streams.poll().is_some() {}
        // Several datagrams at once, so that they share segments.
        while sent < 1_500 && net.now >= (sent / 5) as u64 * 5 * MILLISECOND {
            sent += 1;
            net.ends[0].streams.send_datagram(Time::from_nanos(net.now), flow, &content(sent, sent as u64));
        }
        for end in [1, 0] {
            while let Some((_, bytes)) = net.ends[end].streams.receive_datagram() {
                assert!(bytes[..] == content(bytes.len(), bytes.len() as u64), "{} bytes", bytes.len());
                delivered[end] += 1;
                if end == 1 {
                    net.ends[1].streams.send_datagram(Time::from_nanos(net.now), flow, &bytes);
                }
            }
        }
        let next = (net.now / MILLISECOND + 1) * MILLISECOND;
        let goes_on = net.step();
        net.now = if goes_on { net.now.min(next) } else { next };
    }
    assert_eq!(delivered, [1_500; 2]);
}

#[test]
fn what_is_lost_is_not_sent_again() {
    let paths = [FAST, SLOW].map(|path| Path { lost: 50, ..path });
    let mut net = Net::new("round-robin", &paths, 3);
    let delivered = run(&mut net, CALL, false);
    assert!((0.02..0.09).contains(&delivered.lost()), "{}", delivered.lost());
    // 40 ms of delay on the slow path, and 100 ms of waiting for room.
    assert!(delivered.at(100) < 145.0, "{}", delivered.at(100));
    assert!(
        delivered.order.iter().zip(&delivered.order[1..]).any(|(one, other)| one > other),
        "none waits for another"
    );
    // Losses cost few bytes.
    let left = net.ends[0].session.carried().0.iter().sum::<u64>();
    let least = (delivered.sent * (160 + 7) + 8 + "echo:1".len()) as u64;
    assert!((least..least + 200).contains(&left), "{left} bytes");
    assert!(net.ends[0].session.counters().retransmissions > 0);
    assert!(net.ends[0].session.is_drained() && net.ends[0].streams.memory() == 0, "nothing is kept");
}

/// The sender declares a reordered segment lost and signals on the other path that it is over. The
/// segment arrives later, and its datagrams are still read.
#[test]
fn late_datagrams_are_read() {
    let paths = [Path { jitter: 90, ..FAST }, FAST];
    let mut net = Net::new("round-robin", &paths, 3);
    let delivered = run(&mut net, Sending { every: 4 * MILLISECOND, ..CALL }, false);
    let sent = net.ends[0].streams.datagrams().sent;
    let again = net.ends[0].session.counters().retransmissions;
    println!("{} of {sent} come, {again} were thought lost", delivered.waits.len());
    assert!(again > 50);
    assert_eq!(delivered.waits.len() as u64, sent);
}

#[test]
fn a_redundant_flow_loses_what_all_paths_lose() {
    let paths = [FAST, SLOW].map(|path| Path { lost: 100, ..path });
    let long = Sending { until: 60 * SECOND, ..CALL };
    let [once, twice] = [Class::Interactive, Class::Redundant]
        .map(|class| run(&mut Net::new("lowest-rtt", &paths, 5), Sending { class, ..long }, false).lost());
    println!("{once:.4} of a flow is lost, and {twice:.4} of a redundant one");
    assert!((0.07..0.13).contains(&once), "{once}");
    assert!(twice < 0.02, "{twice}");
}

#[test]
fn a_redundant_flow_does_not_notice_that_a_path_goes_dark() {
    for dark in [0, 1] {
        let mut paths = [FAST, SLOW];
        paths[dark].outage = [2 * SECOND, 4 * SECOND];
        let redundant = Sending { class: Class::Redundant, ..CALL };
        let twice = run(&mut Net::new("round-robin", &paths, 1), redundant, false);
        let once = run(&mut Net::new("round-robin", &paths, 1), CALL, false);
        println!("path {dark} dark: {:.4} lost, redundant {:.4}", once.lost(), twice.lost());
        assert_eq!(twice.waits.len(), twice.sent, "nothing is lost");
        assert!(twice.at(100) < 100.0, "{}", twice.at(100));
        assert!(once.lost() > 0.0);
    }
}

#[test]
fn a_call_goes_before_an_upload() {
    let paths = [FAST, SLOW];
    let alone = run(&mut Net::new("lowest-rtt", &paths, 1), CALL, false);
    for class in [Class::Interactive, Class::Redundant] {
        let beside = run(&mut Net::new("lowest-rtt", &paths, 1), Sending { class, ..CALL }, true);
        println!("{class:?}: p99 {:.0} ms alone, {:.0} beside", alone.at(99), beside.at(99));
        // The upload keeps the paths' queues full: 60 kB are 24 and 48 ms.
        assert!(beside.lost() < 0.02 && beside.at(99) < 110.0, "{} {}", beside.lost(), beside.at(99));
        assert!(beside.uploaded > 8_000_000, "{}", beside.uploaded);
    }
}

#[test]
fn what_no_path_carries_in_time_is_dropped_here_the_oldest_first() {
    let paths = [Path { kilobits: 1_000, ..FAST }];
    let mut net = Net::new("lowest-rtt", &paths, 1);
    // 4 Mbit/s over a path of 1 Mbit/s.
    let delivered = run(&mut net, Sending { bytes: 1_000, every: 2 * MILLISECOND, ..CALL }, false);
    let counts = net.ends[0].streams.datagrams();
    println!("{counts:?}, p99 {} ms", delivered.at(99));
    assert_eq!(counts.sent + counts.late, delivered.sent as u64);
    // Reservations of dropped datagrams leave as empty segments, and are few.
    let left = net.ends[0].session.totals(plait_sched::PathId(0)).sent;
    let again = net.ends[0].session.counters().retransmissions;
    assert!(left < counts.sent + again + 100, "{left} packets");
    assert!((0.6..0.8).contains(&delivered.lost()), "{}", delivered.lost());
    // 100 ms of waiting in the flow, and 480 ms in the path's queue.
    assert!(delivered.at(100) < 700.0, "{}", delivered.at(100));
    let last = *delivered.order.last().expect("some came");
    assert!(last as usize > delivered.sent - 100, "the newest came");
}

#[test]
fn flows_are_bounded_and_end() {
    let paths = [FAST];
    let mut net = Net::new("lowest-rtt", &paths, 1);
    let near = &mut net.ends[0].streams;
    let flows: Vec<u32> =
        (0..MAX_FLOWS).map(|_| near.open_flow("a:1", Class::Bulk).expect("there is room")).collect();
    assert_eq!(near.open_flow("a:1", Class::Bulk), Err(Reason::Busy));
    near.send_datagram(Time::ZERO, flows[0], &[0; MAX_DATAGRAM + 1]);
    assert_eq!(near.datagrams().large, 1);
    let settle = |net: &mut Net<'_>| {
        let until = net.now + SECOND;
        while net.step() && net.now < until {}
    };
    settle(&mut net);
    let far = &mut net.ends[1].streams;
    let mut opened = 0;
    while let Some(event) = far.poll() {
        assert!(matches!(event, StreamEvent::Flow { .. }), "{event:?}");
        opened += 1;
    }
    assert_eq!((opened, far.flows()), (MAX_FLOWS, MAX_FLOWS));
    far.reset(flows[1], Reason::Denied);
    net.ends[0].streams.reset(flows[0], Reason::Broken);
    net.ends[0].streams.send_datagram(Time::ZERO, flows[0], b"to nobody");
    settle(&mut net);
    let [near, far] = &mut net.ends;
    assert_eq!(near.streams.poll(), Some(StreamEvent::Reset { stream: flows[1], reason: Reason::Denied }));
    assert_eq!(far.streams.poll(), Some(StreamEvent::Reset { stream: flows[0], reason: Reason::Broken }));
    assert_eq!((near.streams.flows(), far.streams.flows()), (MAX_FLOWS - 2, MAX_FLOWS - 2));
    assert_eq!(far.streams.receive_datagram(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_the_paths_a_datagram_comes_once_and_whole(
        seed in any::<u64>(),
        lost in 0..200u32,
        jitter in 0..80u64,
        bytes in prop_oneof![8..1_100usize, 8..MAX_DATAGRAM],
        redundant in any::<bool>(),
        upload in any::<bool>(),
        scheduler in prop::sample::select(vec!["lowest-rtt", "round-robin", "redundant", "otias"]),
    ) {
        let paths = [Path { lost, jitter, ..FAST }, Path { lost, ..SLOW }];
        let class = if redundant { Class::Redundant } else { Class::Bulk };
        let sending = Sending { class, bytes, every: 7 * MILLISECOND, until: SECOND };
        let delivered = run(&mut Net::new(scheduler, &paths, seed), sending, upload);
        prop_assert!(lost > 0 || upload || bytes > 1_000 || delivered.waits.len() == delivered.sent);
    }
}
