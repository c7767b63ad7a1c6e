//! Two sessions with streams in virtual time, over paths with rates, delays, losses, reordering and
//! outages. No TLS: module `transfer` tests that.

use plait_quic::session::{Agreed, Delivery, Session};
use plait_quic::streams::Streams;
use plait_quic::{Error, Settings, Terms};
use plait_sched::{Builtin, PathId, Time};
use plait_transport::endpoint::Side;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MILLISECOND;

/// A path with the same properties in both directions.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub(crate) kilobits: u64,
    /// One-way delay in milliseconds.
    pub(crate) delay: u64,
    /// Random losses, per 1000 packets.
    pub(crate) lost: u32,
    /// Largest random extra delay in milliseconds.
    pub(crate) jitter: u64,
    /// Period in which nothing is delivered, in nanoseconds.
    pub(crate) outage: [u64; 2],
}

pub(crate) const FAST: Path = Path { kilobits: 20_000, delay: 10, lost: 0, jitter: 0, outage: [0; 2] };
pub(crate) const SLOW: Path = Path { kilobits: 10_000, delay: 40, ..FAST };

/// Size of a path's queue in bytes.
const QUEUE: u64 = 60_000;

pub(crate) struct End {
    pub(crate) session: Session,
    pub(crate) streams: Streams,
    pub(crate) failed: Option<Error>,
}

/// Both ends, and the packets in flight between them.
pub(crate) struct Net<'a> {
    pub(crate) now: u64,
    pub(crate) ends: [End; 2],
    paths: &'a [Path],
    free_at: Vec<[u64; 2]>,
    random: Xoshiro256PlusPlus,
    in_flight: BTreeMap<(u64, u64), (usize, PathId, Vec<u8>)>,
    count: u64,
    /// Hash of every packet's time, path, direction and bytes.
    pub(crate) trace: u64,
    pub(crate) most_memory: u64,
}

impl<'a> Net<'a> {
    pub(crate) fn new(scheduler: &str, paths: &'a [Path], seed: u64) -> Self {
        Self::over(scheduler, paths, &vec![Terms::default(); paths.len()], seed)
    }

    /// Makes two ends over paths with these terms, which apply at both ends.
    pub(crate) fn over(scheduler: &str, paths: &'a [Path], terms: &[Terms], seed: u64) -> Self {
        let agreed = Agreed {
            paths: paths.len(),
            initial: 0,
            segment: 1_100,
            window: 4 << 20,
            delivery: Delivery::Unordered,
        };
        let end = |side: Side| {
            let scheduler = Builtin::new(scheduler, &[]).expect("it is built in");
            let session =
                Session::with_terms(side, &Settings::default(), agreed, terms, scheduler).expect("a session");
            End { session, streams: Streams::new(side == Side::Client, agreed.segment), failed: None }
        };
        Self {
            now: 0,
            ends: [end(Side::Client), end(Side::Server)],
            paths,
            free_at: vec![[0; 2]; paths.len()],
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            in_flight: BTreeMap::new(),
            count: 0,
            trace: 0,
            most_memory: 0,
        }
    }

    fn send(&mut self, from: usize, path: PathId, packet: Vec<u8>) {
        for part in [self.now, from as u64, packet.len() as u64]
            .iter()
            .chain(&packet.iter().map(|byte| u64::from(*byte)).collect::<Vec<_>>())
        {
            self.trace = (self.trace ^ part).wrapping_mul(0x0100_0000_01b3);
        }
        let Path { kilobits, delay, lost, jitter, outage } = self.paths[path.index()];
        let is_lost = self.random.next_u32() % 1_000 < lost;
        let extra = self.random.next_u64() % (jitter * MILLISECOND + 1);
        let free_at = &mut self.free_at[path.index()][from];
        let begins = self.now.max(*free_at);
        let waiting = (begins - self.now) * kilobits / 8_000_000;
        if is_lost || waiting > QUEUE || (outage[0]..outage[1]).contains(&self.now) {
            return;
        }
        *free_at = begins + (packet.len() as u64 + 60) * 8_000_000 / kilobits;
        self.count += 1;
        self.in_flight.insert((*free_at + delay * MILLISECOND + extra, self.count), (1 - from, path, packet));
    }

    /// Handles all events of this moment and moves on to the next event. Returns false if there is
    /// none.
    pub(crate) fn step(&mut self) -> bool {
        let time = Time::from_nanos(self.now);
        while let Some((&key, _)) = self.in_flight.first_key_value().filter(|(key, _)| key.0 <= self.now) {
            let (to, path, packet) = self.in_flight.remove(&key).expect("it is there");
            let End { session, streams, failed } = &mut self.ends[to];
            session.handle(time, path, &packet);
            *failed = failed.take().or(streams.take(session).err());
        }
        let mut packets = Vec::new();
        for from in 0..2 {
            let End { session, streams, .. } = &mut self.ends[from];
            if session.next_wakeup().is_some_and(|due| due <= time) {
                session.handle_timeout(time).expect("the peer is there");
            }
            streams.transmit(time, session, &mut packets).expect("segments are there");
            self.most_memory = self.most_memory.max(streams.memory() + session.buffered());
            for (path, packet) in packets.drain(..) {
                self.send(from, path, packet.to_vec());
            }
        }
        let arrival = self.in_flight.first_key_value().map(|(key, _)| key.0);
        let wakeups = self.ends.iter().filter_map(|end| end.session.next_wakeup()).map(Time::as_nanos);
        let Some(next) = wakeups.chain(arrival).min() else { return false };
        self.now = next.max(self.now);
        true
    }
}

pub(crate) fn content(bytes: usize, seed: u64) -> Vec<u8> {
    let mut content = vec![0; bytes];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut content);
    content
}
