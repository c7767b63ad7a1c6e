//! A transfer between a sender's addresses and one receiver, over a network in virtual time.

pub(crate) mod end;
pub(crate) mod links;
pub(crate) mod tape;

use end::End;
pub(crate) use links::address;
pub(crate) use links::{FAST, Path, SLOW};
use links::{Network, SERVER, To, path_to, some_moment};
use plait_quic::auto::{self, Auto, InLine};
use plait_quic::connection::ReceivedBatch;
use plait_quic::files::records::{Entry, Kind};
use plait_quic::files::{Download, EntryContent, Upload};
use plait_quic::pilot::SchedulerChange;
use plait_quic::receiver::{Summary, TransferEvent};
use plait_quic::recording::{Recording, Subject};
use plait_quic::sender::{AddressChange, SessionConfig};
use plait_quic::source::Application;
use plait_quic::{Error, Fingerprint, Identity, Offer, Receiver, Secret, Settings, Terms};
use plait_sched::Builtin;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
pub(crate) use tape::Tape;

/// Results of a run.
pub(crate) struct Run {
    pub(crate) outcome: Result<(), Error>,
    pub(crate) received: Option<(Vec<u8>, Result<Summary, Error>)>,
    pub(crate) duration: Duration,
    /// SHA-256 of every datagram's time, path, direction and size.
    pub(crate) trace: [u8; 32],
    /// Payload bytes sent on each path.
    pub(crate) sent: Vec<u64>,
    pub(crate) opened: Vec<u32>,
    pub(crate) oversized: u64,
    /// Bytes that the receiver had before.
    pub(crate) resumed: u64,
    /// Changes of the scheduler.
    pub(crate) changes: Vec<SchedulerChange>,
}

/// A transfer.
pub(crate) struct Case<'a> {
    /// Name of the scheduler. `auto` simulates on the same thread.
    pub(crate) scheduler: &'a str,
    pub(crate) paths: &'a [Path],
    pub(crate) bytes: usize,
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    /// Fingerprint that the sender expects, if it differs from the receiver's.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) secret: &'a str,
    /// Whether the sender only asks if the receiver would accept a file.
    pub(crate) asks: bool,
    /// Time at which a translator on the first path forgets its table. Packets then come from
    /// another port, and packets to the old port are lost.
    pub(crate) rebound: Option<Duration>,
    /// Time at which the first path's interface gets another address.
    pub(crate) moved: Option<Duration>,
    /// Whether another path takes the first path's place at that time; see
    /// [`AddressChange::Replaced`].
    pub(crate) replaced: bool,
    /// Number of paths at the beginning, if not all.
    pub(crate) begins_with: Option<usize>,
    /// Changes of addresses that the machine notices, with their times.
    pub(crate) address_changes: &'a [(Duration, AddressChange)],
    /// Terms of the paths.
    pub(crate) terms: &'a [Terms],
    /// First bytes of the file that the receiver already has.
    pub(crate) there: &'a [u8],
    /// Position of a stream byte that is changed on the way.
    pub(crate) damaged: Option<usize>,
    /// Destination of a recording.
    pub(crate) tape: Option<Tape>,
    /// Whether to use the mode interop.
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
            address_changes: &[],
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const MOVED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1)), 40_000);

/// Runs a transfer to its end, for at most five minutes of virtual time.
pub(crate) fn run(case: &Case<'_>) -> Run {
    let start = some_moment();
    let content = content(case.bytes, case.seed);
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&case.seed.to_be_bytes());
    let settings = Settings { seed: Some(seed), ..case.settings };
    let identity = Identity::generate().expect("a key");
    let mut receiver = Receiver::new(settings, &identity, Secret::new("told")).expect("a receiver");
    let folder = tempfile::tempdir().expect("a folder");
    let mut download = Download::into_folder(folder.path().to_owned()).expect("it is there");
    // The part of an interrupted transfer of this file.
    let part = hex(&Sha256::digest(b"file")[..16]);
    let part = folder.path().join(format!(".plait-{part}.part"));
    if !case.there.is_empty() {
        std::fs::write(&part, case.there).expect("there is room");
    }
    let config = SessionConfig {
        remote: (SERVER, 4433).into(),
        locals: (0..case.begins_with.unwrap_or(case.paths.len())).map(|path| address(path).ip()).collect(),
        terms: case.terms.to_vec(),
        fingerprint: case.fingerprint.unwrap_or(identity.fingerprint()),
        secret: Secret::new(case.secret),
        session: [7; 16],
        offer: if case.asks {
            Offer::QUESTION
        } else {
            Offer { name: "file".to_owned(), size: case.bytes as u64, identity: [7; 32] }
        },
    };
    let entry = Entry {
        kind: Kind::File,
        mode: 0o100_644,
        modified: (1_000_000_000, 0),
        size: case.bytes as u64,
        path: b"file".to_vec(),
    };
    let items = (!case.asks).then_some((entry, EntryContent::Memory(content)));
    let upload = Upload::new(items.into_iter().collect());
    let scheduler = match case.scheduler {
        "auto" => auto::first(),
        name => Builtin::new(name, &[]).expect("a scheduler"),
    };
    let sender = End::new(start, case.interop, settings, config, scheduler, upload);
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
    let (mut heard, mut ended): (usize, Option<Result<Summary, Error>>) = (0, None);
    let (mut sent_at_end, mut has_moved, mut begun, mut rerouted) = (None, false, false, 0);
    loop {
        let rebound = case.rebound.is_some_and(|at| now.duration_since(start) >= at);
        let moved = case.moved.is_some_and(|at| now.duration_since(start) >= at);
        if moved && !std::mem::replace(&mut has_moved, true) {
            sender.handle_address_change(
                now,
                &match case.replaced {
                    true => AddressChange::Replaced(0, MOVED.ip(), Terms::default()),
                    false => AddressChange::Moved(0, MOVED.ip()),
                },
            );
        }
        while let Some((at, address_change)) = case.address_changes.get(rerouted)
            && now.duration_since(start) >= *at
        {
            sender.handle_address_change(now, address_change);
            rerouted += 1;
        }
        let seen = |path: usize| match address(path) {
            _ if path == 0 && moved => MOVED,
            old if path == 0 && rebound => SocketAddr::new(old.ip(), 50_000),
            old => old,
        };
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        while network.in_flight.first_key_value().is_some_and(|(key, _)| key.0 <= now) {
            match network.in_flight.pop_first().expect("it is there").1 {
                To::Server(piece) => {
                    let batch = ReceivedBatch::single(seen(piece.path), Some(SERVER), &piece.bytes);
                    receiver.handle_datagrams(now, &batch);
                }
                To::Client(piece) => {
                    sender.handle_datagram(now, piece.path, (SERVER, 4433).into(), &piece.bytes);
                }
            }
        }
        while let Some(event) = receiver.poll() {
            match event {
                TransferEvent::Rejected { remote } => {
                    assert_ne!(case.secret, "told", "{remote} knows the secret");
                }
                TransferEvent::Begun { id, .. } => {
                    assert!(!std::mem::replace(&mut begun, true), "a transfer begins once");
                    receiver.accept(now, &id);
                }
                TransferEvent::Data { id, bytes } => {
                    let mut bytes = bytes.to_vec();
                    let damaged = case.damaged.and_then(|at| bytes.get_mut(at.checked_sub(heard)?));
                    if let Some(byte) = damaged {
                        *byte ^= 1;
                    }
                    heard += bytes.len();
                    download.take(now, &bytes).expect("the sender keeps to the protocol");
                    download.advance(now).expect("there is room");
                    receiver.write(&id, &download.answers());
                    if let Some(outcome) = download.outcome() {
                        receiver.conclude(now, &id, outcome);
                    }
                }
                TransferEvent::Ended { outcome, .. } => {
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
        let quiet = network.in_flight.is_empty() && receiver.transfers() == 0;
        if sent_at_end.is_some() && quiet || now.duration_since(start) > Duration::from_secs(300) {
            break;
        }
        let arrival = network.in_flight.first_key_value().map(|(key, _)| key.0);
        let sender_due = sender.next_wakeup().filter(|_| sent_at_end.is_none());
        let next = [arrival, sender_due, receiver.next_wakeup()].into_iter().flatten().min();
        now = next.expect("something happens").max(now);
    }
    let progress = sender.progress();
    let oversized = sender.oversized();
    let changes = sender.changes().to_vec();
    let resumed = sender.upload().resumed();
    let got = std::fs::read(folder.path().join("file")).or_else(|_| std::fs::read(&part)).unwrap_or_default();
    Run {
        outcome: sender.into_outcome().expect("within five minutes"),
        received: ended.map(|outcome| (got, outcome)),
        duration: sent_at_end.unwrap_or(now).duration_since(start),
        trace: network.trace.finalize().into(),
        sent: progress.iter().map(|path| path.sent).collect(),
        opened: progress.iter().map(|path| path.opened).collect(),
        oversized,
        resumed,
        changes,
    }
}
