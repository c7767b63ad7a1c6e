//! Small instances with their exact optimum, by dynamic programs over all schedules. Times are in
//! milliseconds; a packet of the fastest path takes one.

use crate::common;
use plait_sim::bound::{Bound, bounds};
use std::collections::BTreeMap;

/// Payload of a full packet of MPTCP.
pub(crate) const PAYLOAD: u64 = 1428;

/// The serialization time of a packet, and the delay after it.
pub(crate) type Path = (u64, u64);

/// Paths without losses, whose acknowledgements take `back` in all.
pub(crate) fn network(paths: &[Path], back: u64) -> String {
    let path = |&(packet, delay): &Path| {
        let rate = 12_000 / packet;
        format!(
            "[[path]]\nqueue = \"infinite\"\nforward = {{ rate = \"{rate}kbit\", delay = \"{delay}ms\" }}\n\
             backward = {{ rate = \"1000Gbit\", delay = \"{back}ms\" }}\n"
        )
    };
    paths.iter().map(path).collect()
}

fn found(text: &str) -> Vec<Bound> {
    bounds(&common::scenario(text))
}

fn value(bounds: &[Bound], name: &str) -> Option<f64> {
    bounds.iter().find(|bound| bound.name == name).map(|bound| bound.value)
}

/// The least sum of the delays of the first 1, 2, … blocks. Every `interval` a block of `packets`
/// packets is written.
///
/// On each path an optimal schedule sends in the order of the stream, and never waits: packets in
/// another order can change places, and a packet can leave earlier, without later deliveries. So a
/// schedule is a path per packet. A state is when each path is free, and the last arrival so far.
pub(crate) fn least_delays(paths: &[Path], (interval, packets): (u64, u64), blocks: u64) -> Vec<u64> {
    let mut states: BTreeMap<(Vec<u64>, u64), u64> = BTreeMap::new();
    states.insert((vec![0; paths.len()], 0), 0);
    let mut least = Vec::new();
    for block in 0..blocks {
        let written = block * interval;
        for packet in 1..=packets {
            let mut next: BTreeMap<(Vec<u64>, u64), u64> = BTreeMap::new();
            for ((free, newest), cost) in &states {
                for (path, (time, delay)) in paths.iter().enumerate() {
                    // A path that became free earlier is free now.
                    let mut free: Vec<u64> = free.iter().map(|&free| free.max(written)).collect();
                    free[path] += time;
                    let newest = (*newest).max(written).max(free[path] + delay);
                    let cost = cost + if packet == packets { newest - written } else { 0 };
                    let place = next.entry((free, newest)).or_insert(u64::MAX);
                    *place = cost.min(*place);
                }
            }
            states = without_worse(next);
        }
        least.push(*states.values().min().expect("a state"));
    }
    least
}

/// Removes each state that another one passes in every respect.
fn without_worse(states: BTreeMap<(Vec<u64>, u64), u64>) -> BTreeMap<(Vec<u64>, u64), u64> {
    let passes = |one: &((Vec<u64>, u64), u64), other: &((Vec<u64>, u64), u64)| {
        let (((free, newest), cost), ((later, last), dearer)) = (one, other);
        cost <= dearer && newest <= last && free.iter().zip(later).all(|(free, later)| free <= later)
    };
    let mut kept: Vec<((Vec<u64>, u64), u64)> = Vec::new();
    let mut all: Vec<_> = states.into_iter().collect();
    all.sort_by_key(|((free, newest), cost)| (*cost, *newest, free.iter().sum::<u64>()));
    for state in all {
        if !kept.iter().any(|other| passes(other, &state)) {
            kept.push(state);
        }
    }
    kept.into_iter().collect()
}

/// The least mean delay of the first `from` blocks or more.
pub(crate) fn least_mean(sums: &[u64], from: usize) -> f64 {
    let means = sums.iter().enumerate().skip(from - 1).map(|(last, &sum)| sum as f64 / (last + 1) as f64);
    means.fold(f64::INFINITY, f64::min)
}

fn median(mut shares: Vec<f64>) -> f64 {
    shares.sort_by(f64::total_cmp);
    shares[shares.len() / 2]
}

#[test]
fn bounds_of_blocks_never_pass_the_optimum() {
    let networks: [&[Path]; 5] = [
        &[(1, 3), (1, 9)],
        &[(2, 4), (1, 12)],
        &[(1, 2), (3, 5)],
        &[(2, 1), (2, 3)],
        &[(2, 2), (3, 6), (2, 11)],
    ];
    let loads = [(1, 1), (2, 1), (3, 1), (3, 2), (4, 3), (2, 2), (5, 4)];
    let mut looseness = Vec::new();
    for paths in networks {
        let rate: f64 = paths.iter().map(|path| 1.0 / path.0 as f64).sum();
        for (interval, packets) in
            loads.into_iter().filter(|load| load.1 as f64 / load.0 as f64 <= 0.95 * rate)
        {
            let count = if paths.len() > 2 { 100 } else { 400 };
            let sums = least_delays(paths, (interval, packets), count);
            let bounds = found(&format!(
                "duration = \"{}ms\"\n[transport]\nprofile = \"standard\"\n[workload]\nkind = \"cbr\"\nblock = \"{}B\"\n\
                 rate = \"{}bit\"\n{}",
                count * interval,
                packets * PAYLOAD,
                packets * PAYLOAD * 8_000 / interval,
                network(paths, 1)
            ));
            let any = value(&bounds, "L0").expect("L0");
            let best = least_mean(&sums, 1);
            assert!(any <= best, "{paths:?}, {interval}, {packets}: {any} beyond {best}");
            let delivered = least_mean(&sums, (count * 99 / 100) as usize);
            let bound = value(&bounds, "L0-joint").unwrap_or(any);
            assert!(bound <= delivered, "{paths:?}, {interval}, {packets}: {bound} beyond {delivered}");
            println!("{paths:?}, {packets} packets per {interval} ms: {bound:.3} of {delivered:.3} ms");
            looseness.push(1.0 - bound / delivered);
        }
    }
    let median = median(looseness);
    println!("blocks: median looseness {median:.4}");
    assert!(median <= 0.05, "{median}");
}

#[test]
fn bounds_of_files_equal_the_optimum() {
    let networks: [&[Path]; 4] =
        [&[(1, 3), (1, 9)], &[(2, 4), (1, 12)], &[(2, 2), (3, 6), (2, 11)], &[(4, 0)]];
    for paths in networks {
        for packets in [1, 2, 5, 9, 14] {
            let best = least_delays(paths, (1, packets), 1)[0] as f64 / 1e3;
            let size = packets * PAYLOAD;
            let bounds = found(&format!(
                "duration = \"1s\"\n[transport]\nprofile = \"standard\"\n[workload]\nkind = \"file\"\nsize = \"{size}B\"\n{}",
                network(paths, 1)
            ));
            let bound = value(&bounds, "L0").expect("L0");
            assert!(bound <= best && bound > best - 1e-8, "{paths:?}, {packets}: {bound}, optimum {best}");
        }
    }
}

/// A bulk transfer with a window, relative to the first missing packet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    /// Packets that were sent, as bits.
    sent: u32,
    arrived: u32,
    /// Per path, the packets on their way, the next one to arrive first; `u8::MAX` is none.
    ways: Vec<Vec<u8>>,
    /// How far the first missing packet moved in each of the last milliseconds, the newest last.
    moved: Vec<u8>,
}

/// The most packets that are delivered within `time`. A packet may leave if the acknowledgement
/// that opened the window for it has come, `back` after the delivery.
fn most_delivered(paths: &[Path], window: u32, back: usize, time: u64) -> u32 {
    let ways = paths.iter().map(|path| vec![u8::MAX; (path.0 + path.1 - 1) as usize]).collect();
    let start = Flight { sent: 0, arrived: 0, ways, moved: vec![0; back] };
    let mut states = BTreeMap::from([(start, 0)]);
    for _ in 0..time {
        let mut next = BTreeMap::new();
        for (flight, &delivered) in &states {
            let edge = window - flight.moved.iter().map(|&moved| u32::from(moved)).sum::<u32>();
            choose(flight, edge, delivered, &mut next);
        }
        states = next;
    }
    states.values().copied().max().unwrap_or(0)
}

/// Adds the states after a millisecond with each choice of packets.
fn choose(flight: &Flight, edge: u32, delivered: u32, next: &mut BTreeMap<Flight, u32>) {
    let mut choices = vec![flight.clone()];
    for path in 0..flight.ways.len() {
        let mut more = Vec::new();
        for choice in &choices {
            // A path sends in the order of the stream: other packets can change places.
            let newest = choice.ways[path].iter().filter(|packet| **packet != u8::MAX).max();
            let first = newest.map_or(0, |newest| u32::from(*newest) + 1);
            for packet in (first..edge).filter(|packet| choice.sent & 1 << packet == 0) {
                let mut with = choice.clone();
                with.sent |= 1 << packet;
                with.ways[path].push(packet as u8);
                more.push(with);
            }
        }
        for choice in &mut choices {
            choice.ways[path].push(u8::MAX);
        }
        choices.extend(more);
    }
    for mut choice in choices {
        for way in &mut choice.ways {
            let packet = way.remove(0);
            if packet != u8::MAX {
                choice.arrived |= 1 << packet;
            }
        }
        let moved = choice.arrived.trailing_ones();
        (choice.sent, choice.arrived) = (choice.sent >> moved, choice.arrived >> moved);
        for packet in choice.ways.iter_mut().flatten().filter(|packet| **packet != u8::MAX) {
            *packet -= moved as u8;
        }
        choice.moved.push(moved as u8);
        choice.moved.remove(0);
        let place = next.entry(choice).or_insert(0);
        *place = (delivered + moved).max(*place);
    }
}

#[test]
fn bounds_of_windows_never_pass_the_optimum() {
    // Every path sends a packet per millisecond.
    let instances: [(&[Path], u32); 9] = [
        (&[(1, 0), (1, 2)], 2),
        (&[(1, 0), (1, 2)], 3),
        (&[(1, 0), (1, 3)], 3),
        (&[(1, 0), (1, 4)], 4),
        (&[(1, 1), (1, 3)], 4),
        (&[(1, 1), (1, 4)], 3),
        (&[(1, 0), (1, 5)], 4),
        (&[(1, 2)], 2),
        (&[(1, 2)], 5),
    ];
    let mut looseness = Vec::new();
    for (paths, window) in instances {
        let time = 400;
        let best = most_delivered(paths, window, 1, time);
        let bounds = found(&format!(
            "duration = \"{time}ms\"\n[transport]\nprofile = \"standard\"\nhandshake = false\nreceive_buffer = \"{}B\"\n{}",
            u64::from(window) * PAYLOAD,
            network(paths, 1)
        ));
        let packets = |name| value(&bounds, name).expect("a bound") / 8e3 * time as f64 / PAYLOAD as f64;
        let bound = packets("L1").min(packets("L0"));
        assert!(bound >= f64::from(best) - 1e-6, "{paths:?}, {window}: {bound} below {best}");
        println!("{paths:?}, window {window}: {best} of {bound:.1} packets");
        looseness.push(bound / f64::from(best) - 1.0);
    }
    let median = median(looseness);
    println!("windows: median looseness {median:.4}");
    // Looser than for blocks: the bound lets every interval use both of its windows.
    assert!(median <= 0.1, "{median}");
}
