//! CoDel against hand-worked tables, FQ-CoDel's turns by hand, and the conservation of packets.

mod kernel;

use proptest::prelude::*;

use super::*;
use crate::link::{Capacity, Exit, Link, LinkConfig, Outage, Outages, Trace};

/// A packet with a number and a flow, and with the state of its mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Numbered {
    number: u64,
    flow: u64,
    capable: bool,
    marked: bool,
}

impl Payload for Numbered {
    fn flow(&self) -> u64 {
        self.flow
    }

    fn mark(&mut self) -> bool {
        self.marked |= self.capable;
        self.capable
    }
}

fn packet(number: u64, flow: u64) -> Numbered {
    Numbered { number, flow, capable: false, marked: false }
}

fn config(name: &str, given: &[(&str, u64)]) -> LinkConfig {
    let info = info(name).expect("a discipline");
    let given = |parameter: &Parameter| {
        let found = given.iter().find(|(key, _)| *key == parameter.key);
        Ok::<_, std::convert::Infallible>(found.map(|(_, value)| *value))
    };
    let Ok(settings) = Settings::new(info, 1500, given);
    LinkConfig {
        discipline: Some(settings),
        queue: QueueLimit::Packets(info.limit).into(),
        ..LinkConfig::new(10_000_000, Duration::from_millis(10))
    }
}

fn link(config: &LinkConfig) -> Link<Numbered> {
    Link::new(config, 1, "test")
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// Runs the link up to and including `until`.
fn run_until(link: &mut Link<Numbered>, until: Time, mut see: impl FnMut(Time, Exit<Numbered>)) {
    while let Some(key) = link.head()
        && key.time <= until
    {
        let exit = link.pop();
        see(key.time, exit);
    }
}

/// The queue never drains, and a packet takes 1 ms. The first drop comes an interval after the
/// first packet that waited for the target. The n-th drop is due interval / √(n − 1) after the one
/// before (RFC 8289 section 5.5). Linux approximates the root by one step of Newton's method per
/// drop, x ← x/2 · (3 − n · x²) from 1: 1, 1/2, 9/16, 0.488, 0.442 …
#[test]
fn drops_come_as_the_square_root_says() {
    let config = LinkConfig { queue: QueueLimit::Infinite.into(), ..config("codel", &[]) };
    let mut link = link(&config);
    // 1,250 bytes take 1 ms; 2,000 packets wait from the start.
    for number in 0..2_000 {
        let _ = link.send(Time::ZERO, 1_250, number, packet(number, 0));
    }
    let mut drops = Vec::new();
    run_until(&mut link, millis(900), |time, exit| {
        if matches!(exit, Exit::Dropped(_)) {
            drops.push(time.as_nanos() / 1_000_000);
        }
    });
    // The packet sent at 5 ms is the first that waited for 5 ms. The first drop after 105 ms is at
    // 106 ms; the next ones are due at 206, 256, 312.25 and 361.03 ms.
    assert_eq!(drops[..5], [106, 206, 256, 313, 362]);
    let (mut due, mut root) = (106.0, 1.0_f64);
    for (n, drop) in (0_u32..).zip(&drops) {
        let count = f64::from(n);
        if n > 1 {
            root *= (3.0 - count * root * root) / 2.0;
        }
        due += if n > 0 { 100.0 * root } else { 0.0 };
        assert!((*drop as f64 - due - 0.5).abs() < 0.6, "drop {n} at {drop} ms, not {due:.3} ms");
        assert!(n < 8 || (root * count.sqrt() - 1.0).abs() < 0.07, "1/√{n} is not {root}");
    }
    assert!(drops.len() > 20, "{drops:?}");
}

#[test]
fn a_queue_that_drains_now_and_then_is_left_alone() {
    let mut link = link(&config("codel", &[]));
    let mut dropped = 0;
    for burst in 0..50_u64 {
        let now = millis(burst * 60);
        run_until(&mut link, now, |_, exit| dropped += u64::from(matches!(exit, Exit::Dropped(_))));
        // 50 ms of packets: most wait longer than 5 ms, but never for 100 ms without a break.
        for number in 0..50 {
            let _ = link.send(now, 1_250, burst * 50 + number, packet(number, 0));
        }
    }
    assert_eq!(dropped, 0);
    assert!(link.report().expect("active").sojourn.summary().expect("some").max > 40.0);
}

#[test]
fn one_packet_is_no_queue_however_long_it_waits() {
    // At 100 kbit/s a packet takes 120 ms: the packet behind it waits longer than any target, but
    // alone.
    let config = LinkConfig { capacity: Capacity::Rate(100_000), ..config("codel", &[]) };
    let mut link = link(&config);
    let mut dropped = 0;
    for number in 0..100 {
        run_until(&mut link, millis(number * 120), |_, exit| {
            dropped += u64::from(matches!(exit, Exit::Dropped(_)));
        });
        let _ = link.send(millis(number * 120), 1_500, number, packet(number, 0));
        if number == 0 {
            let _ = link.send(Time::ZERO, 1_500, 1_000, packet(1_000, 0));
        }
    }
    assert_eq!(dropped, 0);
}

#[test]
fn codel_refuses_what_arrives_at_a_full_queue() {
    let config = LinkConfig { queue: QueueLimit::Packets(3).into(), ..config("codel", &[]) };
    let mut link = link(&config);
    for number in 0..6 {
        let _ = link.send(Time::ZERO, 1_500, number, packet(number, 0));
    }
    // One packet is in transmission, three wait, and two are dropped at once.
    let mut out = Vec::new();
    run_until(&mut link, Time::ZERO, |_, exit| out.push(exit));
    assert_eq!(out, [Exit::Dropped(packet(4, 0)), Exit::Dropped(packet(5, 0))]);
    assert_eq!(link.queue_packets(Time::ZERO), 3);
    assert_eq!(link.report().expect("active").counts, Counts { marked: 0, dropped: 0, over_limit: 2 });
    let counters = *link.counters();
    assert_eq!((counters.accepted, counters.discarded, link.inside()), (6, 2, 4));
}

/// With acknowledgement clocking, packets arrive exactly when others leave. Drop-tail's rule holds
/// here, too.
#[test]
fn what_arrives_as_a_packet_leaves_comes_after_it() {
    let mut link = link(&config("codel", &[]));
    let moment = |number: u64| Time::ZERO + Duration::from_micros(1_200) * number;
    let _ = link.send(Time::ZERO, 1_500, 0, packet(0, 0));
    for number in 0..10 {
        // The new packet has an older order than the packet in transmission, and comes first at
        // this time.
        let _ = link.send(moment(number), 1_500, number + 1, packet(number + 1, 0));
        assert_eq!(link.queue_packets(moment(number)), 1, "packet {number}");
    }
}

/// The numbers of the packets in the order of their arrival.
fn order(link: &mut Link<Numbered>) -> Vec<u64> {
    let mut seen = Vec::new();
    run_until(link, Time::MAX, |_, exit| {
        if let Exit::Delivered(packet) = exit {
            seen.push(packet.number);
        }
    });
    seen
}

#[test]
fn flows_take_turns_of_a_quantum() {
    let mut link = link(&config("fq-codel", &[]));
    // Numbers encode flow and position. Packet 100 is sent at once. Flow 1 has 1,514 bytes in its
    // turn: 100 and, with a deficit of 14, one more packet.
    for number in 0..4 {
        let _ = link.send(Time::ZERO, 1_500, number, packet(100 + number, 1));
    }
    for number in 0..4 {
        let _ = link.send(Time::ZERO, 1_500, 10 + number, packet(200 + number, 2));
    }
    assert_eq!(order(&mut link), [100, 101, 200, 201, 102, 202, 103, 203]);
}

#[test]
fn a_flow_that_sends_little_goes_before_the_others() {
    let mut link = link(&config("fq-codel", &[]));
    for number in 0..20 {
        let _ = link.send(Time::ZERO, 1_500, number, packet(number, 1));
    }
    // 1.2 ms per packet. At 6 ms flow 1 is an old flow: the new flow is next.
    let mut first = Vec::new();
    run_until(&mut link, millis(6), |_, exit| first.push(exit));
    let _ = link.send(millis(6), 100, 50, packet(999, 2));
    let seen = order(&mut link);
    let place = seen.iter().position(|&number| number == 999);
    // Five packets have left the queue before it, and number 5 is in transmission from 6 ms on.
    assert_eq!((seen[0], place), (0, Some(6)));
}

#[test]
fn a_full_queue_loses_half_of_its_longest_flow() {
    let config =
        LinkConfig { queue: QueueLimit::Packets(30).into(), ..config("fq-codel", &[("drop_batch", 8)]) };
    let mut link = link(&config);
    for number in 0..21 {
        let _ = link.send(Time::ZERO, 1_500, number, packet(number, 1));
    }
    for number in 0..10 {
        let _ = link.send(Time::ZERO, 1_500, 100 + number, packet(100 + number, 2));
    }
    assert_eq!(link.head().expect("busy").time, Time::ZERO + Duration::from_micros(1_200));
    // Twenty packets of flow 1 wait and ten of flow 2. One more arrives, and eight of flow 1 are
    // dropped, the oldest first.
    let _ = link.send(Time::ZERO, 1_500, 200, packet(200, 3));
    let mut out = Vec::new();
    run_until(&mut link, Time::ZERO, |_, exit| out.push(exit));
    let oldest: Vec<_> = (1..9).map(|number| Exit::Dropped(packet(number, 1))).collect();
    assert_eq!(out, oldest);
    assert_eq!(link.queue_packets(Time::ZERO), 23);
}

#[test]
fn memory_is_a_limit_too() {
    let mut link = link(&config("fq-codel", &[("memory_limit", 3_000)]));
    for number in 0..4 {
        let _ = link.send(Time::ZERO, 1_500, number, packet(number, 1));
    }
    assert_eq!(link.head().expect("a drop").time, Time::ZERO);
    assert_eq!(link.pop(), Exit::Dropped(packet(1, 1)));
}

#[test]
fn seeds_put_flows_into_different_queues() {
    let shared = |seed| {
        let config = config("fq-codel", &[("flows", 8)]);
        let mut link: Link<Numbered> = Link::new(&config, seed, "test");
        for flow in 0..8 {
            for number in 0..3 {
                let _ = link.send(Time::ZERO, 1_500, flow * 10 + number, packet(flow * 10 + number, flow));
            }
        }
        order(&mut link)
    };
    let orders: std::collections::BTreeSet<_> = (0..20).map(shared).collect();
    assert!(orders.len() > 10, "{} orders of 20", orders.len());
    assert_eq!(shared(3), shared(3));
}

#[test]
fn a_recording_is_asked_at_its_opportunities() {
    let trace = Trace::parse("trace", b"10\n20\n30\n").expect("a valid trace");
    let config = LinkConfig {
        capacity: Capacity::Trace(std::sync::Arc::new(trace)),
        delay: Duration::ZERO.into(),
        ..config("codel", &[])
    };
    let mut link = link(&config);
    for number in 0..3 {
        let _ = link.send(millis(1), 1_500, number, packet(number, 0));
    }
    let mut arrivals = Vec::new();
    run_until(&mut link, Time::MAX, |time, exit| {
        if matches!(exit, Exit::Delivered(_)) {
            arrivals.push(time);
        }
    });
    assert_eq!(arrivals, [millis(10), millis(20), millis(30)]);
    // Each packet waited for its own opportunity.
    let sojourn = link.report().expect("active").sojourn.summary().expect("some");
    assert_eq!((sojourn.mean, sojourn.max), (19.0, 29.0));
}

proptest! {
    /// For any arrivals, each packet leaves once, flows keep their order, and the wire never
    /// exceeds its rate.
    #[test]
    fn every_packet_is_accounted_for(
        fair in any::<bool>(),
        ecn in any::<bool>(),
        limit in prop_oneof![Just(QueueLimit::Infinite), (1_u64..80).prop_map(QueueLimit::Packets), (1_500_u64..90_000).prop_map(QueueLimit::Bytes)],
        flows in 1_u64..6,
        target in prop_oneof![Just(0_u64), 100_000_u64..20_000_000],
        cut in any::<bool>(),
        arrivals in prop::collection::vec((0_u64..2_500_000, 40_u32..1_501, any::<u8>()), 1..600),
    ) {
        let given = [("target", target), ("interval", 10_000_000), ("ecn", u64::from(ecn)), ("flows", flows)];
        let given = if fair { &given[..] } else { &given[..3] };
        let mut config = config(if fair { "fq-codel" } else { "codel" }, given);
        config.queue = limit.into();
        if cut {
            config.outages = Outages::List(vec![Outage { from: millis(100), to: millis(200) }]);
        }
        let mut link = link(&config);
        let (mut now, mut out, mut next) = (Time::ZERO, vec![0_u32; arrivals.len()], vec![0; 6]);
        let mut busy = 0;
        let mut see = |out: &mut Vec<u32>, time: Time, exit| match exit {
            Exit::Delivered(packet) => {
                let Numbered { number, flow, .. } = packet;
                out[number as usize] += 1;
                busy += u64::from(arrivals[number as usize].1) * 800;
                assert!(time.as_nanos() >= busy + 10_000_000 && next[flow as usize] <= number);
                next[flow as usize] = number;
            }
            Exit::Copied(packet) | Exit::Lost(packet) | Exit::Dropped(packet) => out[packet.number as usize] += 1,
            Exit::Nothing => {}
        };
        for (number, &(pause, bytes, kind)) in arrivals.iter().enumerate() {
            now += Duration::from_nanos(pause);
            run_until(&mut link, now, |time, exit| see(&mut out, time, exit));
            let capable = kind % 2 == 0;
            let packet = Numbered { capable, ..packet(number as u64, u64::from(kind) % 6) };
            let _ = link.send(now, bytes, number as u64, packet);
            let counters = link.counters();
            let left = counters.delivered + counters.lost + counters.discarded;
            prop_assert_eq!(counters.accepted, left + link.inside() as u64);
        }
        run_until(&mut link, Time::MAX, |time, exit| see(&mut out, time, exit));
        prop_assert!(out.iter().all(|&times| times == 1), "{:?}", out);
        prop_assert_eq!((link.inside(), link.queue_packets(Time::MAX), link.queue_bytes(Time::MAX)), (0, 0, 0));
        let (counts, counters) = (link.report().expect("active").counts, link.counters());
        prop_assert_eq!(counts.dropped + counts.over_limit, counters.discarded);
    }
}
