//! Tests of the relay in virtual time, against arithmetic and against the simulator's links.

use plait_link::relay::{PathCounters, Relay};
use plait_sched::{Duration, Time};
use plait_sim::link::{Exit, Link};
use plait_sim::scenario::{Direction, Scenario};
use std::path::Path;

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "test.toml", Path::new(".")).expect("a valid scenario")
}

fn at(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// Runs the relay at its own times until no packet is in flight. Returns the arrived packets with
/// their times.
fn drain(relay: &mut Relay) -> Vec<(Time, usize, Direction, Vec<u8>)> {
    let mut arrivals = Vec::new();
    while let Some(now) = relay.next() {
        while let Some(one) = relay.poll(now) {
            arrivals.push((now, one.path, one.direction, one.content.to_vec()));
        }
    }
    arrivals
}

#[test]
fn packets_arrive_after_serialization_and_delay() {
    let mut relay = Relay::new(&scenario(
        "[[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"\n[[path]]\nrate = \"10Mbit\"\nrtt = \"4ms\"",
    ));
    relay.send(at(0), 0, Direction::Forward, 1500, b"one");
    relay.send(at(0), 0, Direction::Forward, 1500, b"two");
    relay.send(at(0), 1, Direction::Backward, 500, b"back");
    let times: Vec<_> =
        drain(&mut relay).into_iter().map(|(time, path, direction, _)| (time, path, direction)).collect();
    let expected = [
        (at(400 + 2_000), 1, Direction::Backward),
        (at(12_000 + 10_000), 0, Direction::Forward),
        (at(24_000 + 10_000), 0, Direction::Forward),
    ];
    assert_eq!(times, expected);
}

#[test]
fn contents_come_out_as_they_went_in_however_often_places_are_used_again() {
    let mut relay = Relay::new(&scenario("[[path]]\nrate = \"8Mbit\"\nrtt = \"2ms\"\nqueue = \"infinite\""));
    for round in 0..5_u64 {
        let sent: Vec<_> =
            (0..20_u8).map(|number| vec![number; usize::from(number) + round as usize]).collect();
        for content in &sent {
            relay.send(at(round * 1_000_000), 0, Direction::Forward, 1000, content);
        }
        let got: Vec<_> = drain(&mut relay).into_iter().map(|(.., content)| content).collect();
        assert_eq!(got, sent);
    }
}

#[test]
fn a_late_driver_is_late_once_and_rates_hold() {
    let mut relay = Relay::new(&scenario(
        "[[path]]\nlinks = [\"a\", \"b\"]\n\
         [[link]]\nname = \"a\"\nrate = \"1Mbit\"\ndelay = \"1ms\"\nqueue = \"infinite\"\n\
         [[link]]\nname = \"b\"\nrate = \"1Mbit\"\ndelay = \"1ms\"\nqueue = \"infinite\"",
    ));
    for _ in 0..3 {
        relay.send(at(0), 0, Direction::Forward, 1250, b"");
    }
    // Two links of 10 ms and 1 ms each. The driver does not poll until the second packet is due at
    // the end. Both packets are there then, and the third is due at its regular time.
    let late = at(32_500);
    assert!(relay.poll(late).is_some());
    assert!(relay.poll(late).is_some());
    assert!(relay.poll(late).is_none());
    assert_eq!(relay.next(), Some(at(42_000)));
}

#[test]
fn losses_are_those_of_the_simulators_link() {
    let scenario = scenario(
        "seed = 7\n[[path]]\nrate = \"100Mbit\"\nrtt = \"2ms\"\nloss = \"10%\"\njitter = \"1ms\"\nqueue = \"infinite\"",
    );
    let mut relay = Relay::new(&scenario);
    let wire = scenario.paths[0].wire.as_ref().expect("it has a wire");
    let mut link = Link::new(&wire.forward, 7, "path 0 forward");
    for number in 0..1000_u64 {
        relay.send(at(number * 200), 0, Direction::Forward, 1500, &number.to_be_bytes());
        let _ = link.send(at(number * 200), 1500, number, number);
    }
    let mut expected = Vec::new();
    while link.head().is_some() {
        if let Exit::Delivered(number) = link.pop() {
            expected.push(number.to_be_bytes().to_vec());
        }
    }
    let mut got = Vec::new();
    while let Some(one) = relay.poll(at(10_000_000)) {
        got.push(one.content.to_vec());
    }
    assert_eq!(got, expected);
    let lost = relay.counters(0, Direction::Forward).lost;
    assert_eq!(lost, 1000 - expected.len() as u64);
    assert!((60..140).contains(&lost), "{lost} of 1000 at 10 %");
}

#[test]
fn full_queues_drop_and_everything_is_accounted_for() {
    let mut relay = Relay::new(&scenario("[[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"\nqueue = \"2p\""));
    for _ in 0..10 {
        relay.send(at(0), 0, Direction::Forward, 1500, b"x");
    }
    assert_eq!(drain(&mut relay).len(), 2); // one of these in transmission
    let counters = relay.counters(0, Direction::Forward);
    assert_eq!(
        counters,
        PathCounters { sent: 10, arrived: 2, arrived_bytes: 3000, dropped: 8, ..PathCounters::default() }
    );
    assert_eq!(relay.counters(0, Direction::Backward), PathCounters::default());
}

#[test]
fn paths_share_a_link() {
    let mut relay = Relay::new(&scenario(
        "[[path]]\nname = \"x\"\nlinks = [\"common\"]\n[[path]]\nname = \"y\"\nlinks = [\"common\"]\n\
         [[link]]\nname = \"common\"\nrate = \"1Mbit\"\ndelay = \"1ms\"\nqueue = \"infinite\"",
    ));
    relay.send(at(0), 0, Direction::Forward, 1250, b"");
    relay.send(at(0), 1, Direction::Forward, 1250, b"");
    let times: Vec<_> = drain(&mut relay).into_iter().map(|(time, path, ..)| (time, path)).collect();
    assert_eq!(times, [(at(11_000), 0), (at(21_000), 1)]);
}

#[test]
fn codel_marks_who_understands_it_and_drops_the_others() {
    let text = "[[path]]\nrate = \"1Mbit\"\nrtt = \"2ms\"\nqueue = \"infinite\"\n\
                discipline = { name = \"codel\", ecn = true }";
    let header = |class: u8| {
        let mut packet = vec![0; 1250];
        packet[..10].copy_from_slice(&[0x45, class, 4, 226, 0, 0, 0, 0, 64, 17]);
        packet
    };
    for (class, understands) in [(0b10, true), (0, false)] {
        let mut relay = Relay::new(&scenario(text));
        // 2 Mbit/s into 1 Mbit/s for 5 s.
        for number in 0..1000 {
            relay.send(at(number * 5_000), 0, Direction::Forward, 1250, &header(class));
        }
        let arrivals = drain(&mut relay);
        let marked = arrivals.iter().filter(|(.., content)| content[1] & 3 == 3).count() as u64;
        let counters = relay.counters(0, Direction::Forward);
        assert_eq!(counters.marked, marked);
        assert_eq!((counters.marked > 0, counters.dropped > 0), (understands, !understands), "{counters:?}");
    }
}

#[test]
fn copies_arrive_beside_their_packets_with_the_same_content() {
    let mut relay = Relay::new(&scenario(
        "[[path]]\nlinks = [\"a\", \"b\"]\n\
         [[link]]\nname = \"a\"\nrate = \"1Mbit\"\ndelay = \"1ms\"\nduplicate = \"100%\"\n\
         [[link]]\nname = \"b\"\nrate = \"1Mbit\"\ndelay = \"1ms\"\nduplicate = \"100%\"",
    ));
    for content in ["one", "two"] {
        relay.send(at(0), 0, Direction::Forward, 1250, content.as_bytes());
    }
    let got: Vec<_> = drain(&mut relay).into_iter().map(|(time, .., content)| (time, content)).collect();
    // The copies of the first link take 10 ms each on the second, where every packet is copied once
    // more.
    let expected = [
        (22, "one"),
        (22, "one"),
        (32, "one"),
        (32, "one"),
        (42, "two"),
        (42, "two"),
        (52, "two"),
        (52, "two"),
    ];
    assert_eq!(got, expected.map(|(millis, content)| (at(millis * 1_000), content.as_bytes().to_vec())));
    let counters = relay.counters(0, Direction::Forward);
    assert_eq!((counters.sent, counters.copied, counters.arrived), (2, 6, 8));
}
