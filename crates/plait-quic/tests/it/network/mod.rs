//! A transfer between a sender's addresses and one receiver, over a network in virtual time.

mod end;
pub(crate) mod links;
pub(crate) mod tape;

use bytes::BytesMut;
use end::End;
pub(crate) use links::address;
pub(crate) use links::{FAST, Path, SLOW};
use links::{Network, SERVER, To, path_to};
use plait_quic::auto::{self, Auto, InLine};
use plait_quic::pilot::Change;
use plait_quic::receiver::{Event, Id, Prefix, Summary};
use plait_quic::recording::{Recording, Subject};
use plait_quic::sender::{Order, Reroute};
use plait_quic::{Error, Fingerprint, Identity, Offer, Receiver, Secret, Settings, Terms};
use plait_sched::Builtin;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
pub(crate) use tape::Tape;

/// What a run leaves.
pub(crate) struct Run {
    pub(crate) outcome: Result<(), Error>,
    pub(crate) received: Option<(Vec<u8>, Result<Summary, Error>)>,
    pub(crate) duration: Duration,
    /// SHA-256 of every datagram's time, path, direction and size.
    pub(crate) trace: [u8; 32],
    /// Payload bytes that left on each path.
    pub(crate) sent: Vec<u64>,
    pub(crate) opened: Vec<u32>,
    pub(crate) oversized: u64,
    /// Schedulers that were put in the place of others.
    pub(crate) changes: Vec<Change>,
}

/// A transfer.
pub(crate) struct Case<'a> {
    /// By its name; `auto` is found out in line.
    pub(crate) scheduler: &'a str,
    pub(crate) paths: &'a [Path],
    pub(crate) bytes: usize,
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    /// What the sender believes, where that is not the receiver's.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) secret: &'a str,
    /// Whether the receiver is only asked if it would take a file.
    pub(crate) asks: bool,
    /// When a translator on the first path forgets its table: packets come from another port, and what is sent to the old one is lost.
    pub(crate) rebound: Option<Duration>,
    /// When the first path's interface gets another address.
    pub(crate) moved: Option<Duration>,
    /// The first path's place is another's from then on: see [`Reroute::Replaced`].
    pub(crate) replaced: bool,
    /// How many of the paths there are at the beginning, where that is not all.
    pub(crate) begins_with: Option<usize>,
    /// What the machine finds out of its addresses, and when.
    pub(crate) reroutes: &'a [(Duration, Reroute)],
    /// What the paths are for.
    pub(crate) terms: &'a [Terms],
    /// What the receiver has of the file.
    pub(crate) there: &'a [u8],
    /// Where a byte is changed in what is sent, after it was hashed.
    pub(crate) damaged: Option<usize>,
    /// What a recording is written to.
    pub(crate) tape: Option<Tape>,
    /// Mode interop.
    pub(crate) interop: bool,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Self {
            scheduler: "lowest-rtt",
            paths: &[FAST, SLOW],
            bytes: 2_000_000,
            seed: 1,
            settings: Settings::default(),
            fingerprint: None,
            secret: "told",
            asks: false,
            rebound: None,
            moved: None,
            replaced: false,
            begins_with: None,
            reroutes: &[],
            terms: &[],
            there: &[],
            damaged: None,
            tape: None,
            interop: false,
        }
    }
}

pub(crate) fn content(bytes: usize, seed: u64) -> Vec<u8> {
    let mut content = vec![0; bytes];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut content);
    content
}

const MOVED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1)), 40_000);

/// Runs a transfer to its end; five minutes of virtual time at most.
pub(crate) fn run(case: &Case<'_>) -> Run {
    #[expect(
        clippy::disallowed_methods,
        reason = "there is no other way to some moment; only differences to it are looked at"
    )]
    let start = Instant::now();
    let mut content = content(case.bytes, case.seed);
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&case.seed.to_be_bytes());
    let settings = Settings { seed: Some(seed), ..case.settings };
    let identity = Identity::generate().expect("a key");
    let mut receiver = Receiver::new(settings, &identity, Secret::new("told")).expect("a receiver");
    let digest = Sha256::digest(&content).into();
    if let Some(at) = case.damaged {
        content[at] ^= 1;
    }
    let order = Order {
        remote: (SERVER, 4433).into(),
        locals: (0..case.begins_with.unwrap_or(case.paths.len())).map(|path| address(path).ip()).collect(),
        terms: case.terms.to_vec(),
        fingerprint: case.fingerprint.unwrap_or(identity.fingerprint()),
        secret: Secret::new(case.secret),
        session: [7; 16],
        offer: if case.asks {
            Offer::QUESTION
        } else {
            Offer { name: "file".to_owned(), size: case.bytes as u64, digest }
        },
    };
    let scheduler = match case.scheduler {
        "auto" => auto::first(),
        name => Builtin::new(name, &[]).expect("a scheduler"),
    };
    let sender = End::new(start, case.interop, settings, order, scheduler, content);
    let mut sender = sender.expect("a sender");
    if case.scheduler == "auto" {
        sender.set_pilot(Box::new(Auto::new(settings, InLine::default())));
    }
    if let Some(tape) = &case.tape {
        let paths = (0..case.paths.len()).map(|path| address(path).ip().to_string()).collect();
        let [file, scheduler, congestion] = ["file", case.scheduler, "cubic"].map(str::to_owned);
        sender.record(Recording::new(tape.clone(), Subject { file, scheduler, congestion, paths }));
    }
    let mut network = Network::new(start, case.paths, case.seed);
    let (mut now, mut out) = (start, Vec::new());
    let (mut got, mut ended): (Vec<u8>, Option<Result<Summary, Error>>) = (Vec::new(), None);
    let (mut sent_at_end, mut has_moved, mut begun, mut rerouted) = (None, false, false, 0);
    loop {
        let rebound = case.rebound.is_some_and(|at| now.duration_since(start) >= at);
        let moved = case.moved.is_some_and(|at| now.duration_since(start) >= at);
        if moved && !std::mem::replace(&mut has_moved, true) {
            sender.reroute(
                now,
                &match case.replaced {
                    true => Reroute::Replaced(0, MOVED.ip(), Terms::default()),
                    false => Reroute::Moved(0, MOVED.ip()),
                },
            );
        }
        while let Some((at, reroute)) = case.reroutes.get(rerouted)
            && now.duration_since(start) >= *at
        {
            sender.reroute(now, reroute);
            rerouted += 1;
        }
        let seen = |path: usize| match address(path) {
            _ if path == 0 && moved => MOVED,
            old if path == 0 && rebound => SocketAddr::new(old.ip(), 50_000),
            old => old,
        };
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        while network.under_way.first_key_value().is_some_and(|(key, _)| key.0 <= now) {
            match network.under_way.pop_first().expect("it is there").1 {
                To::Server(piece) => {
                    receiver.handle_datagram(
                        now,
                        seen(piece.path),
                        Some(SERVER),
                        BytesMut::from(&piece.bytes[..]),
                    );
                }
                To::Client(piece) => {
                    sender.handle_datagram(now, piece.path, (SERVER, 4433).into(), &piece.bytes);
                }
            }
        }
        while let Some(event) = receiver.poll() {
            let id: Id = [7; 16];
            match event {
                Event::Rejected { remote } => assert_ne!(case.secret, "told", "{remote} knows the secret"),
                Event::Begun { id, .. } => {
                    assert!(!std::mem::replace(&mut begun, true), "a transfer begins once");
                    got.extend_from_slice(case.there);
                    let hash = Sha256::new_with_prefix(case.there);
                    receiver.accept(now, &id, Prefix { bytes: case.there.len() as u64, hash });
                }
                Event::Data { bytes, .. } => got.extend_from_slice(&bytes),
                Event::Whole { .. } => receiver.conclude(&id, true),
                Event::Ended { outcome, .. } => {
                    assert!(ended.replace(outcome).is_none(), "a transfer ends once");
                }
            }
        }
        if sent_at_end.is_none() {
            sender.transmit(now, &mut out);
            for outgoing in out.drain(..) {
                network.send(now, 2 * outgoing.path, &outgoing);
            }
            sent_at_end = sender.is_over().then_some(now);
            if sent_at_end.is_some() {
                sender.end_recording(now).expect("memory can be written");
            }
        }
        receiver.transmit(now, &mut out);
        for mut outgoing in out.drain(..) {
            let path = path_to(outgoing.remote);
            outgoing.path = path;
            if outgoing.remote != seen(path) {
                continue;
            }
            network.send(now, 2 * path + 1, &outgoing);
        }
        let quiet = network.under_way.is_empty() && receiver.transfers() == 0;
        if sent_at_end.is_some() && quiet || now.duration_since(start) > Duration::from_secs(300) {
            break;
        }
        let arrival = network.under_way.first_key_value().map(|(key, _)| key.0);
        let sender_due = sender.next_wakeup().filter(|_| sent_at_end.is_none());
        let next = [arrival, sender_due, receiver.next_wakeup()].into_iter().flatten().min();
        now = next.expect("something happens").max(now);
    }
    let progress = sender.progress();
    let oversized = sender.oversized();
    let changes = sender.changes().to_vec();
    Run {
        outcome: sender.into_outcome().expect("within five minutes"),
        received: ended.map(|outcome| (got, outcome)),
        duration: sent_at_end.unwrap_or(now).duration_since(start),
        trace: network.trace.finalize().into(),
        sent: progress.iter().map(|path| path.sent).collect(),
        opened: progress.iter().map(|path| path.opened).collect(),
        oversized,
        changes,
    }
}
