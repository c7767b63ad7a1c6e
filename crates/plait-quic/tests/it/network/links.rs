//! A network in memory and in virtual time. Links between several addresses and one server have
//! rates, delays, queues, random losses and reordering.

use plait_quic::connection::DatagramBatch;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// A path with the same properties in both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) megabits: f64,
    pub(crate) delay: Duration,
    /// Random losses, per 1000 packets.
    pub(crate) lost: u32,
    /// Largest random extra delay, which reorders packets.
    pub(crate) jitter: Duration,
    /// Size of the queue in bytes.
    pub(crate) queue: u64,
    /// Period in which nothing is delivered.
    pub(crate) outage: Option<[Duration; 2]>,
    /// Period in which datagrams of more than this many bytes are lost.
    pub(crate) narrow: Option<([Duration; 2], usize)>,
}

pub(crate) const FAST: Path = Path {
    megabits: 20.0,
    delay: Duration::from_millis(10),
    lost: 0,
    jitter: Duration::ZERO,
    queue: 60_000,
    outage: None,
    narrow: None,
};

pub(crate) const SLOW: Path = Path { megabits: 10.0, delay: Duration::from_millis(40), ..FAST };

struct Direction {
    free_at: Instant,
    random: Xoshiro256PlusPlus,
}

/// Returns the local address of a path.
pub(crate) fn address(path: usize) -> SocketAddr {
    (Ipv4Addr::new(10, 0, path as u8, 1), 40_000).into()
}

/// The server's address on all paths.
pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9));

/// Returns the path with this local address.
pub(crate) fn path_to(remote: SocketAddr) -> usize {
    match remote.ip() {
        IpAddr::V4(ip) => ip.octets()[2].into(),
        IpAddr::V6(_) => unreachable!("all addresses have 4 bytes"),
    }
}

pub(crate) enum To {
    Server(DatagramBatch),
    Client(DatagramBatch),
}

pub(crate) struct Network<'a> {
    start: Instant,
    paths: &'a [Path],
    directions: Vec<Direction>,
    pub(crate) in_flight: BTreeMap<(Instant, u64), To>,
    /// First byte of the client addresses that the server sees. It changes with the public address
    /// of a translator.
    pub(crate) public: u8,
    count: u64,
    pub(crate) trace: Sha256,
}

impl<'a> Network<'a> {
    pub(crate) fn new(start: Instant, paths: &'a [Path], seed: u64) -> Self {
        let direction = |direction| Direction {
            free_at: start,
            random: Xoshiro256PlusPlus::seed_from_u64(seed * 1_000 + direction as u64),
        };
        let directions = (0..2 * paths.len()).map(direction).collect();
        Self {
            start,
            paths,
            directions,
            in_flight: BTreeMap::new(),
            public: 10,
            count: 0,
            trace: Sha256::new(),
        }
    }

    /// Returns the client address of a path that the server sees.
    pub(crate) fn seen(&self, path: usize) -> SocketAddr {
        (Ipv4Addr::new(self.public, 0, path as u8, 1), 40_000).into()
    }

    /// Sends on a lane: lane `2 * path` leads to the server, lane `2 * path + 1` back.
    pub(crate) fn send(&mut self, now: Instant, direction: usize, batch: &DatagramBatch) {
        let path = self.paths[direction / 2];
        let step = batch.segment.unwrap_or(batch.bytes.len()).max(1);
        for piece in batch.bytes.chunks(step) {
            let nanos = now.duration_since(self.start).as_nanos() as u64;
            self.trace.update([nanos, direction as u64, piece.len() as u64].map(u64::to_be_bytes).concat());
            let Direction { free_at, random } = &mut self.directions[direction];
            let [lost, jitter] = [random.next_u32() % 1_000 < path.lost, true];
            let spread = path.jitter.as_nanos() as u64;
            let extra = if jitter && spread > 0 { random.next_u64() % spread } else { 0 };
            let elapsed = now.duration_since(self.start);
            let dark = path.outage.is_some_and(|[from, to]| (from..to).contains(&elapsed));
            let large = path
                .narrow
                .is_some_and(|([from, to], bytes)| (from..to).contains(&elapsed) && piece.len() > bytes);
            let begins = (*free_at).max(now);
            let waiting = begins.duration_since(now).as_secs_f64() * path.megabits * 125_000.0;
            if lost || dark || large || waiting > path.queue as f64 {
                continue;
            }
            *free_at =
                begins + Duration::from_secs_f64((piece.len() + 28) as f64 / (path.megabits * 125_000.0));
            let arrives = *free_at + path.delay + Duration::from_nanos(extra);
            let piece = DatagramBatch { bytes: piece.to_vec(), segment: None, ..batch.clone() };
            let to = if direction.is_multiple_of(2) { To::Server(piece) } else { To::Client(piece) };
            self.count += 1;
            self.in_flight.insert((arrives, self.count), to);
        }
    }
}

/// Returns a moment. Only differences to it matter.
#[expect(clippy::disallowed_methods, reason = "there is no other way to some moment")]
pub(crate) fn some_moment() -> Instant {
    Instant::now()
}
