//! Streams between two ends with real TLS, in virtual time.

mod fixture;
mod translators;

use crate::network::links::{FAST, Path, SERVER, SLOW, address, some_moment};
use crate::network::tape::Tape;
use fixture::{Fixture, ID, near, settings};
use plait_quic::connection::ReceivedBatch;
use plait_quic::recording::result::{Recorded, result};
use plait_quic::recording::{ENDLESS, Recording, Subject};
use plait_quic::sender::AddressChange;
use plait_quic::streams::far::PeerEvent;
use plait_quic::streams::{Class, Reason, StreamEvent};
use plait_quic::{Error, Identity, OpeningEnd, Receiver, Secret, Settings, Terms};
use plait_sim::scenario::Scenario;
use std::time::Duration;

const DARK: Option<[Duration; 2]> = Some([Duration::from_millis(700), Duration::from_secs(1_000)]);

#[test]
fn streams_cross_both_paths_both_ways() {
    let mut fixture = Fixture::new(&[FAST, SLOW], "told", &[]);
    let took = fixture.exchange(20, 600_000);
    let alone = Fixture::new(&[FAST], "told", &[]).exchange(20, 600_000);
    eprintln!("{took:?} {alone:?}");
    assert!(took < alone.mul_f64(0.9), "{took:?} {alone:?}");
    let sent: Vec<u64> = fixture.near.progress().iter().map(|path| path.sent).collect();
    assert!(sent.iter().all(|bytes| *bytes > 2_000_000), "{sent:?}");
    assert!(matches!(fixture.events[..], [PeerEvent::Connected { id: ID, .. }]), "{:?}", fixture.events);
}

/// The far end takes the first round-trip sample of a new path from its handshake. Without a
/// sample, the scheduler would measure the path with the next replies.
#[test]
fn a_slow_path_that_joins_delays_no_reply() {
    const OFTEN: Duration = Duration::from_millis(50);
    for (megabits, delay) in [(0.024, 300), (1.0, 150), (5.0, 40)] {
        let slow = Path { megabits, delay: Duration::from_millis(delay), ..FAST };
        for paths in [[FAST, slow], [slow, FAST]] {
            let mut fixture = Fixture::new(&paths, "told", &[]);
            assert!(fixture.run_until(5, |fixture| fixture.far.streams(&ID).is_some()), "it is open");
            let stream = fixture.near.streams().open("host:1", Class::Interactive).expect("there is room");
            let (mut said, mut waits) = (Vec::new(), Vec::new());
            fixture.run_until(8, |fixture| {
                fixture.echo();
                let now = fixture.now;
                let streams = fixture.near.streams();
                if said.last().is_none_or(|last| now.duration_since(*last) >= OFTEN) {
                    assert_eq!(streams.write(stream, &[7; 100]), 100, "there is room");
                    said.push(now);
                }
                while streams.peek(stream).len() >= 100 {
                    streams.consume(stream, 100);
                    waits.push(now.duration_since(said[waits.len()]));
                }
                false
            });
            let longest = waits.iter().max().expect("there are replies");
            println!("{megabits} Mbit/s, {delay} ms: {} replies, the longest {longest:?}", waits.len());
            // A round trip of the fast path. Both ends wait for the next event before they read.
            assert!(*longest < Duration::from_millis(20) + 2 * OFTEN, "{megabits} Mbit/s: {longest:?}");
        }
    }
}

#[test]
fn lossy_paths_lose_no_byte() {
    let paths = [
        Path { lost: 20, jitter: Duration::from_millis(5), ..FAST },
        Path { lost: 50, jitter: Duration::from_millis(20), ..SLOW },
    ];
    Fixture::new(&paths, "told", &[]).exchange(20, 50_000);
}

#[test]
fn a_path_that_is_cut_breaks_no_stream() {
    for path in [0, 1] {
        let mut paths = [FAST, SLOW];
        paths[path].outage = DARK;
        Fixture::new(&paths, "told", &[]).exchange(20, 150_000);
    }
}

#[test]
fn a_path_that_appears_carries_streams_both_ways() {
    let mut fixture = Fixture::with(&[FAST, SLOW], 1, "told", &[], settings());
    let alone = fixture.exchange(3, 2_000_000);
    fixture.near.handle_address_change(fixture.now, &AddressChange::Added(address(1).ip(), Terms::default()));
    assert_eq!(fixture.near.progress()[1].sent, 0, "it is told of before it has joined");
    let both = fixture.exchange(3, 2_000_000);
    assert!(both < alone, "{both:?} and {alone:?}");
    let progress = fixture.near.progress();
    assert_eq!((progress.len(), progress[1].opened), (2, 1));
    let (back, there) = fixture.far.carried(&ID).expect("it is there");
    assert!(back[1] > 1_000_000 && there[1] > 1_000_000, "{back:?} {there:?}");
}

/// Paths stay open without traffic, and later data is answered at once.
#[test]
fn a_connection_without_streams_stays() {
    let mut fixture = Fixture::new(&[FAST, SLOW], "told", &[]);
    fixture.exchange(1, 1_000);
    assert!(!fixture.run_until(200, |_| false));
    assert!(fixture.error().is_none(), "{:?}", fixture.error());
    let took = fixture.exchange(1, 1_000);
    assert!(took < Duration::from_millis(200), "{took:?}");
    assert!(fixture.near.progress().iter().all(|path| path.opened == 1));
}

#[test]
fn a_peer_that_is_gone_is_given_up_by_both() {
    let mut paths = [FAST, SLOW];
    paths.iter_mut().for_each(|path| path.outage = DARK);
    let mut fixture = Fixture::new(&paths, "told", &[]);
    fixture.exchange(1, 1_000);
    fixture.run_until(100, |_| false);
    assert!(matches!(fixture.error(), Some(Error::Silent(30))), "{:?}", fixture.error());
    // The paths' own connections end later, ten seconds after their last packet.
    let longest = DARK.expect("it is set")[0] + Duration::from_millis(30_100);
    assert!(fixture.elapsed() < longest, "{:?}", fixture.elapsed());
    let until = fixture.start + longest;
    while fixture.now < until && fixture.events.len() < 2 {
        fixture.step();
    }
    assert!(
        matches!(fixture.events[1], PeerEvent::Disconnected { error: Error::Silent(30), .. }),
        "{:?}",
        fixture.events
    );
}

/// The far end gives up first. When the paths recover, the near end's connection is over, and its
/// program makes a new one.
#[test]
fn who_was_given_up_gives_up_too_and_is_not_refused() {
    let outage = Some([Duration::from_millis(700), Duration::from_secs(26)]);
    let paths = [FAST, SLOW].map(|path| Path { outage, ..path });
    let patience = Duration::from_secs(20);
    let mut fixture = Fixture::with(&paths, paths.len(), "told", &[], Settings { patience, ..settings() });
    fixture.exchange(1, 1_000);
    fixture.run_until(100, |_| false);
    let [PeerEvent::Connected { .. }, PeerEvent::Disconnected { error: Error::Silent(20), .. }] =
        &fixture.events[..]
    else {
        panic!("{:?}", fixture.events)
    };
    let Some(Error::Unavailable(received)) = fixture.error() else { panic!("{:?}", fixture.error()) };
    assert!(received.contains("nothing was heard"), "{received}");
}

/// Both ends survive an outage of all paths, and their streams continue.
#[test]
fn streams_outlive_a_darkness_of_all_paths() {
    let outage = Some([Duration::from_millis(300), Duration::from_secs(15)]);
    let paths = [Path { outage, ..FAST }, Path { outage, ..SLOW }];
    let mut fixture = Fixture::new(&paths, "told", &[]);
    let took = fixture.exchange(5, 500_000);
    assert!(took > Duration::from_secs(15) && took < Duration::from_secs(25), "{took:?}");
}

#[test]
fn who_does_not_know_the_secret_is_refused() {
    let mut fixture = Fixture::new(&[FAST], "guessed", &[]);
    fixture.run_until(5, |_| false);
    let text = fixture.error().map(ToString::to_string).expect("it has ended");
    assert!(text.contains("secret") && matches!(fixture.events[..], [PeerEvent::Rejected { .. }]), "{text}");
}

#[test]
fn what_a_stream_is_refused_for_is_told() {
    let mut fixture = Fixture::new(&[FAST], "told", &[]);
    let stream = fixture.near.streams().open("host:1", Class::Bulk).expect("there is room");
    let told = fixture.run_until(5, |fixture| {
        let streams = fixture.far.streams(&ID);
        if let Some(streams) = streams
            && streams.poll().is_some()
        {
            streams.reset(stream, Reason::Denied);
        }
        fixture.near.streams().poll() == Some(StreamEvent::Reset { stream, reason: Reason::Denied })
    });
    assert!(told && fixture.near.streams().is_empty());
}

#[test]
fn each_end_tells_the_other_that_it_stops() {
    let mut fixture = Fixture::new(&[FAST, SLOW], "told", &[]);
    fixture.exchange(1, 1_000);
    fixture.near.stop();
    let until = fixture.now + Duration::from_secs(1);
    while fixture.now < until {
        fixture.step();
    }
    assert!(
        matches!(fixture.events[1], PeerEvent::Disconnected { error: Error::Stopped, .. }),
        "{:?}",
        fixture.events
    );
    let mut fixture = Fixture::new(&[FAST, SLOW], "told", &[]);
    fixture.exchange(1, 1_000);
    fixture.far.stop(fixture.now);
    fixture.run_until(3, |_| false);
    let text = fixture.error().map(ToString::to_string).expect("it has ended");
    assert!(text.contains("the far end has ended"), "{text}");
}

/// The second path greets after the near end has ended the connection over the first one.
#[test]
fn a_path_that_comes_when_all_is_over_is_nobody_new() {
    let mut fixture = Fixture::new(&[FAST, SLOW], "told", &[]);
    assert!(fixture.run_until(1, |fixture| fixture.near.is_open()));
    assert_eq!(fixture.near.progress()[1].opened, 0, "the second path is late");
    fixture.near.stop();
    let until = fixture.now + Duration::from_secs(1);
    while fixture.now < until {
        fixture.step();
    }
    let [PeerEvent::Connected { .. }, PeerEvent::Disconnected { error: Error::Stopped, .. }] =
        &fixture.events[..]
    else {
        panic!("{:?}", fixture.events)
    };
}

#[test]
fn a_budget_that_is_spent_ends_it() {
    let mut fixture = Fixture::new(&[FAST], "told", &[Terms { budget: Some(100_000), ..Terms::default() }]);
    let stream = fixture.near.streams().open("host:1", Class::Bulk).expect("there is room");
    fixture.run_until(10, |fixture| {
        fixture.echo();
        fixture.near.streams().write(stream, &[1; 10_000]);
        false
    });
    assert!(matches!(fixture.error(), Some(Error::Spent)), "{:?}", fixture.error());
    let both = fixture.near.progress()[0].sent + fixture.far.carried(&ID).map_or(0, |(back, _)| back[0]);
    // In flight when the budget was spent: 20 ms at 20 Mbit/s, and all data acknowledged meanwhile.
    assert!((100_000..200_000).contains(&both), "{both}");
}

/// A receiver of files refuses streams and names the program that accepts them.
#[test]
fn a_receiver_of_files_refuses_streams_by_name() {
    let (start, identity) = (some_moment(), Identity::generate().expect("a key"));
    let mut receiver = Receiver::new(settings(), &identity, Secret::new("told")).expect("a receiver");
    let mut near = near(start, &identity, 1, "told", &[]);
    let mut out = Vec::new();
    for _ in 0..100 {
        near.handle_timeout(start);
        near.transmit(start, &mut out);
        for outgoing in out.drain(..) {
            for piece in outgoing.bytes.chunks(outgoing.segment.unwrap_or(outgoing.bytes.len())) {
                receiver.handle_datagrams(start, &ReceivedBatch::single(address(0), Some(SERVER), piece));
            }
        }
        receiver.handle_timeout(start);
        receiver.transmit(start, &mut out);
        for outgoing in out.drain(..) {
            for piece in outgoing.bytes.chunks(outgoing.segment.unwrap_or(outgoing.bytes.len())) {
                near.handle_datagrams(start, 0, &ReceivedBatch::single((SERVER, 4433).into(), None, piece));
            }
        }
    }
    let text = near.into_outcome().and_then(Result::err).expect("it has ended").to_string();
    assert!(text.contains("plait proxy --serve") && receiver.poll().is_none(), "{text}");
}

/// Each end records the packets that it sends. The recording does not affect the run.
#[test]
fn what_each_end_sends_is_recorded() {
    let plain = Fixture::new(&[FAST, SLOW], "told", &[]).exchange(4, 300_000);
    let mut fixture = Fixture::new(&[FAST, SLOW], "told", &[]);
    let tapes = [Tape::default(), Tape::default()];
    let [near, far] = tapes.clone();
    let subject = Subject { paths: vec!["fast".to_owned(), "slow".to_owned()], ..Subject::default() };
    fixture.near.record(Recording::new(near, subject));
    fixture.far.record(Recording::new(far, Subject::default()));
    assert_eq!(fixture.exchange(4, 300_000), plain);
    let sent = |carried: &[u64]| carried.iter().sum::<u64>();
    let carried = [
        fixture.near.progress().iter().map(|path| path.sent).sum(),
        sent(fixture.far.carried(&ID).expect("a peer").0),
    ];
    fixture.run_until(1, |_| false);
    fixture.near.end_recording(fixture.now).expect("it is written");
    fixture.far.stop(fixture.now);
    for (end, (tape, carried)) in tapes.iter().zip(carried).enumerate() {
        let bytes = tape.0.lock().expect("nobody panicked").clone();
        let recorded = Recorded::read(&bytes).expect("it is one");
        let of_all = recorded.transmissions.iter().map(|sent| u64::from(sent.bytes)).sum::<u64>();
        assert_eq!(of_all, carried, "end {end}");
        assert!(of_all > 1_200_000, "end {end}: {of_all} bytes");
        assert_eq!((recorded.start.sends, recorded.full, recorded.whole), (ENDLESS, false, false));
        let settled = recorded.transmissions.iter().all(|sent| sent.acknowledged.is_some() || sent.lost);
        assert!(settled, "end {end}: it is known what became of everything");
        let text = "[transport]\nprotocol = \"mpquic\"\npacket = \"1220B\"\n[workload]\nkind = \"file\"\nsize = \"1200000B\"\n".to_owned()
            + &"[[path]]\nrate = \"1Mbit\"\nrtt = \"1ms\"\n".repeat(2);
        let scenario =
            Scenario::from_toml(&text, "links.toml", std::path::Path::new("")).expect("it is valid");
        let result = result(&scenario, &bytes).expect("it is a recording");
        assert!(result.metrics.delivered_bytes >= 1_200_000, "end {end}");
        assert!(result.decisions.is_some_and(|decisions| decisions.len() > 100), "end {end}");
    }
    let recorded = Recorded::read(&tapes[1].0.lock().expect("nobody panicked")).expect("it is one");
    assert_eq!(recorded.start.subject.paths, ["path1", "path2"], "addresses may change at the other end");
}

/// The terms of a path also apply to the return direction: the other end is told.
#[test]
fn a_backup_path_stands_by_at_both_ends() {
    let terms = [Terms::default(), Terms { backup: true, ..Terms::default() }];
    let mut fixture = Fixture::new(&[FAST, SLOW], "told", &terms);
    fixture.exchange(3, 500_000);
    let far = fixture.far.carried(&ID).expect("a peer").0.to_vec();
    assert!(far[0] >= 1_500_000 && far[1] == 0, "{far:?}");
    assert_eq!(fixture.near.progress()[1].sent, 0);
    // While no other path works, it is used in both directions.
    let paths =
        [Path { outage: Some([Duration::from_millis(300), Duration::from_secs(1_000)]), ..FAST }, SLOW];
    let mut fixture = Fixture::new(&paths, "told", &terms);
    fixture.exchange(3, 1_000_000);
    let far = fixture.far.carried(&ID).expect("a peer").0.to_vec();
    assert!(far[1] > 1_000_000, "{far:?}");
}

/// Received bytes count, and the other end stops when the budget is spent. The path and its queue
/// may still hold data then.
#[test]
fn a_budget_is_of_both_ways() {
    let terms = [Terms::default(), Terms { budget: Some(400_000), ..Terms::default() }];
    let mut fixture = Fixture::new(&[FAST, SLOW], "told", &terms);
    fixture.exchange(1, 4_000_000);
    let there = fixture.near.progress()[1].sent;
    let back = fixture.far.carried(&ID).expect("a peer").0[1];
    println!("{there} bytes there, {back} back");
    // In flight are 60 kB in the queue and 50 kB on the link. More leaves until the other end
    // knows: a round trip over both paths with their queues.
    assert!((400_000..650_000).contains(&(there + back)), "{there} and {back} bytes");
    assert!(there > 50_000 && back > 50_000, "{there} and {back} bytes");
}
