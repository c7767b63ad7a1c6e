//! Streams between two ends with real TLS, in virtual time.

mod translators;

use crate::network::links::{FAST, Network, Path, SERVER, SLOW, To, address, path_to};
use crate::network::tape::Tape;
use bytes::BytesMut;
use plait_quic::recording::result::{Recorded, result};
use plait_quic::recording::{ENDLESS, Recording, Subject};
use plait_quic::sender::{AddressChange, SessionConfig};
use plait_quic::streams::far::{Id, PeerEvent};
use plait_quic::streams::{Class, Event, Far, Near, Reason};
use plait_quic::{Error, Identity, Offer, Receiver, Secret, Settings, Terms};
use plait_sched::Builtin;
use plait_sim::scenario::Scenario;
use std::time::{Duration, Instant};

const ID: Id = [7; 16];

struct Fixture<'a> {
    start: Instant,
    now: Instant,
    near: Near,
    far: Far,
    network: Network<'a>,
    events: Vec<PeerEvent>,
}

fn settings() -> Settings {
    Settings { seed: Some([3; 32]), ..Settings::default() }
}

fn scheduler() -> Result<Builtin, Error> {
    Builtin::new("lowest-rtt", &[]).map_err(|error| Error::Setting(error.to_string()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no other way to some moment; only differences to it are looked at"
)]
fn start() -> Instant {
    Instant::now()
}

/// Data that is sent on a stream and echoed.
struct Talk {
    stream: u32,
    payload: Vec<u8>,
    said: usize,
    received: Vec<u8>,
}

impl<'a> Fixture<'a> {
    fn new(paths: &'a [Path], secret: &str, terms: &[Terms]) -> Self {
        Self::with(paths, paths.len(), secret, terms, settings())
    }

    /// Makes a world that begins with `locals` of the paths. The far end has its own settings.
    fn with(paths: &'a [Path], locals: usize, secret: &str, terms: &[Terms], far: Settings) -> Self {
        let (start, identity) = (start(), Identity::generate().expect("a key"));
        let config = SessionConfig {
            remote: (SERVER, 4433).into(),
            locals: (0..locals).map(|path| address(path).ip()).collect(),
            terms: terms.to_vec(),
            fingerprint: identity.fingerprint(),
            secret: Secret::new(secret),
            session: ID,
            offer: Offer::STREAMS,
        };
        Self {
            start,
            now: start,
            near: Near::new(start, settings(), config, scheduler().expect("it is built in")).expect("an end"),
            far: Far::new(far, &identity, Secret::new("told"), scheduler).expect("an end"),
            network: Network::new(start, paths, 1),
            events: Vec::new(),
        }
    }

    fn elapsed(&self) -> Duration {
        self.now.duration_since(self.start)
    }

    /// Handles all events of this moment and moves on to the next event.
    fn step(&mut self) {
        let Self { now, near, far, network, .. } = self;
        near.handle_timeout(*now);
        far.handle_timeout(*now);
        while network.in_flight.first_key_value().is_some_and(|(key, _)| key.0 <= *now) {
            match network.in_flight.pop_first().expect("it is there").1 {
                To::Server(piece) => {
                    let (from, bytes) = (network.seen(piece.path), BytesMut::from(&piece.bytes[..]));
                    far.handle_datagram(*now, from, Some(SERVER), bytes);
                }
                To::Client(piece) => {
                    near.handle_datagram(
                        *now,
                        piece.path,
                        (SERVER, 4433).into(),
                        BytesMut::from(&piece.bytes[..]),
                    );
                }
            }
        }
        while let Some(event) = far.poll() {
            self.events.push(event);
        }
        let mut out = Vec::new();
        near.transmit(*now, &mut out);
        for outgoing in out.drain(..) {
            network.send(*now, 2 * outgoing.path, &outgoing);
        }
        far.transmit(*now, &mut out);
        for mut outgoing in out.drain(..) {
            outgoing.path = path_to(outgoing.remote);
            network.send(*now, 2 * outgoing.path + 1, &outgoing);
        }
        let arrival = network.in_flight.first_key_value().map(|(key, _)| key.0);
        // A near end with an outcome has stopped.
        let due = near.next_wakeup().filter(|_| near.outcome().is_none());
        let next = [arrival, due, far.next_wakeup()].into_iter().flatten().min();
        *now = next.unwrap_or(*now + Duration::from_secs(1)).max(*now);
    }

    /// Runs until `holds` is true or `seconds` have passed. Returns whether it became true.
    fn run_until(&mut self, seconds: u64, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        let until = self.now + Duration::from_secs(seconds);
        while self.now < until && self.near.outcome().is_none() {
            self.step();
            if holds(self) {
                return true;
            }
        }
        false
    }

    /// Makes the far end echo the data of every stream to its end.
    fn echo(&mut self) {
        let Some(streams) = self.far.streams(&ID) else { return };
        while let Some(event) = streams.poll() {
            if let Event::Opened { stream, .. } = event {
                streams.accept(stream);
            }
        }
        for stream in 0..streams.opened() {
            let delivered = streams.peek(stream).to_vec();
            let count = streams.write(stream, &delivered);
            streams.consume(stream, count);
            if streams.is_ended(stream) {
                streams.finish(stream);
            }
        }
    }

    /// Sends data on several streams at once and waits for its echo. Returns the duration.
    fn exchange(&mut self, streams: usize, bytes: usize) -> Duration {
        let begun = self.now;
        let content = |stream: u32| -> Vec<u8> {
            (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 ^ stream as u8).collect()
        };
        let open = |_| self.near.streams().open("host:1", Class::Bulk).expect("there is room");
        let opened: Vec<u32> = (0..streams).map(open).collect();
        let mut talks: Vec<Talk> = (opened.into_iter())
            .map(|stream| Talk { stream, payload: content(stream), said: 0, received: Vec::new() })
            .collect();
        let done = self.run_until(120, |fixture| {
            fixture.echo();
            let streams = fixture.near.streams();
            for Talk { stream, payload, said, received } in &mut talks {
                *said += streams.write(*stream, &payload[*said..]);
                if *said == payload.len() {
                    streams.finish(*stream);
                }
                received.extend_from_slice(streams.peek(*stream));
                let count = streams.peek(*stream).len();
                streams.consume(*stream, count);
            }
            streams.is_empty()
        });
        assert!(done, "{:?} after {:?}", self.near.outcome(), self.elapsed());
        for Talk { stream, payload, received, .. } in &talks {
            assert!(received == payload, "stream {stream}: {} of {bytes} bytes", received.len());
        }
        assert_eq!(self.near.oversized(), 0, "every packet fits");
        self.now.duration_since(begun)
    }
}

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
    assert!(fixture.near.outcome().is_none(), "{:?}", fixture.near.outcome());
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
    assert!(matches!(fixture.near.outcome(), Some(Error::Silent(30))), "{:?}", fixture.near.outcome());
    let until = fixture.now + Duration::from_secs(30);
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
    let outage = Some([Duration::from_millis(700), Duration::from_secs(36)]);
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
    let Some(Error::Unavailable(received)) = fixture.near.outcome() else {
        panic!("{:?}", fixture.near.outcome())
    };
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
    let text = fixture.near.outcome().map(ToString::to_string).expect("it has ended");
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
        fixture.near.streams().poll() == Some(Event::Reset { stream, reason: Reason::Denied })
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
    let text = fixture.near.outcome().map(ToString::to_string).expect("it has ended");
    assert!(text.contains("the proxy was ended"), "{text}");
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
    assert!(matches!(fixture.near.outcome(), Some(Error::Spent)), "{:?}", fixture.near.outcome());
    let both = fixture.near.progress()[0].sent + fixture.far.carried(&ID).map_or(0, |(back, _)| back[0]);
    // In flight when the budget was spent: 20 ms at 20 Mbit/s, and all data acknowledged meanwhile.
    assert!((100_000..200_000).contains(&both), "{both}");
}

/// A receiver of files refuses streams and names the program that accepts them.
#[test]
fn a_receiver_of_files_refuses_streams_by_name() {
    let (start, identity) = (start(), Identity::generate().expect("a key"));
    let mut receiver = Receiver::new(settings(), &identity, Secret::new("told")).expect("a receiver");
    let config = SessionConfig {
        remote: (SERVER, 4433).into(),
        locals: vec![address(0).ip()],
        terms: Vec::new(),
        fingerprint: identity.fingerprint(),
        secret: Secret::new("told"),
        session: ID,
        offer: Offer::STREAMS,
    };
    let mut near =
        Near::new(start, settings(), config, scheduler().expect("it is built in")).expect("an end");
    let mut out = Vec::new();
    for _ in 0..100 {
        near.handle_timeout(start);
        near.transmit(start, &mut out);
        for outgoing in out.drain(..) {
            for piece in outgoing.bytes.chunks(outgoing.segment.unwrap_or(outgoing.bytes.len())) {
                receiver.handle_datagram(start, address(0), Some(SERVER), BytesMut::from(piece));
            }
        }
        receiver.handle_timeout(start);
        receiver.transmit(start, &mut out);
        for outgoing in out.drain(..) {
            for piece in outgoing.bytes.chunks(outgoing.segment.unwrap_or(outgoing.bytes.len())) {
                near.handle_datagram(start, 0, (SERVER, 4433).into(), BytesMut::from(piece));
            }
        }
    }
    let text = near.outcome().map(ToString::to_string).expect("it has ended");
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
