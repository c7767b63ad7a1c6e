//! Memory of both ends of a session while links fail repeatedly. It must not grow with every byte
//! sent.

use bytes::Bytes;
use plait_quic::Settings;
use plait_quic::session::{Agreed, Delivery, Session};
use plait_quic::source::Source;
use plait_sched::{Builtin, Duration, PathId, Time};
use plait_transport::endpoint::Side;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

/// Counts the bytes that each thread has allocated and not freed. The count wraps if one thread
/// frees another's memory; the measured session has a single thread.
/// another's memory; the session measured here has one thread.
struct Counting;

#[expect(unsafe_code, reason = "a global allocator is the only way to see allocations")]
// SAFETY: the system's allocator does all the work; counting does not affect it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.with(|live| live.set(live.get().wrapping_add(layout.size())));
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.with(|live| live.set(live.get().wrapping_sub(layout.size())));
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A file of zeros.
struct Zeros;

impl Source for Zeros {
    fn read_at(&mut self, _place: u64, bytes: &mut [u8]) -> io::Result<()> {
        bytes.fill(0);
        Ok(())
    }
}

/// One direction of a path: a queue, a rate, a delay, and outages.
struct Direction {
    bytes_per_second: u64,
    delay: Duration,
    free_at: Time,
    /// Time of the next change between working and failed.
    turns_at: Time,
    dark: bool,
}

impl Direction {
    /// Returns the arrival time of a packet, or `None` if it is lost.
    fn pass(&mut self, now: Time, bytes: usize, chance: &mut Xoshiro256PlusPlus) -> Option<Time> {
        while self.turns_at <= now {
            self.dark = !self.dark;
            let most = if self.dark { 1_500 } else { 6_000 };
            self.turns_at =
                self.turns_at.saturating_add(Duration::from_millis(100 + chance.next_u64() % most));
        }
        let begins = self.free_at.max(now);
        if self.dark || begins.since(now) > Duration::from_millis(100) || chance.next_u32() % 1_000 < 3 {
            return None;
        }
        let takes = Duration::from_nanos(bytes as u64 * 1_000_000_000 / self.bytes_per_second);
        self.free_at = begins.saturating_add(takes);
        Some(self.free_at.saturating_add(self.delay))
    }
}

/// Two sessions over two paths of such lanes.
struct Pair {
    ends: [Session; 2],
    directions: [[Direction; 2]; 2],
    in_flight: BTreeMap<(Time, u64), (usize, PathId, Bytes)>,
    count: u64,
    chance: Xoshiro256PlusPlus,
    received: u64,
}

impl Pair {
    fn new(sends: u64, scheduler: &str) -> Self {
        let settings = Settings::default();
        let end = |side, sends: u64| {
            let delivery = Delivery::Ordered;
            let agreed = Agreed { paths: 2, initial: 0, segment: 1_152, window: 1 << 20, delivery };
            let scheduler = Builtin::new(scheduler, &[]).expect("it is built in");
            let mut session =
                Session::new(side, &settings, agreed, scheduler).expect("everything is offered");
            session.extend(sends);
            session
        };
        let direction = |megabits: u64, millis| Direction {
            bytes_per_second: megabits * 125_000,
            delay: Duration::from_millis(millis),
            free_at: Time::ZERO,
            turns_at: Time::from_nanos(1_000_000_000 * millis),
            dark: false,
        };
        Self {
            ends: [end(Side::Client, sends), end(Side::Server, 0)],
            directions: [[direction(40, 12), direction(40, 12)], [direction(20, 30), direction(20, 30)]],
            in_flight: BTreeMap::new(),
            count: 0,
            chance: Xoshiro256PlusPlus::seed_from_u64(7),
            received: 0,
        }
    }

    /// Handles all events of a moment. Returns the time of the next event, if there is one.
    fn step(&mut self, now: Time) -> Option<Time> {
        while self.in_flight.first_key_value().is_some_and(|((at, _), _)| *at <= now) {
            let (_, (to, path, packet)) = self.in_flight.pop_first().expect("it is there");
            self.ends[to].handle(now, path, &packet);
        }
        let mut packets = Vec::new();
        for from in 0..2 {
            self.ends[from].handle_timeout(now).expect("it goes on");
            self.ends[from].transmit(now, &mut Zeros, &mut packets).expect("zeros can be read");
            for (path, packet) in packets.drain(..) {
                let direction = &mut self.directions[path.index()][from];
                if let Some(at) = direction.pass(now, packet.len() + 60, &mut self.chance) {
                    self.count += 1;
                    self.in_flight.insert((at, self.count), (1 - from, path, packet));
                }
            }
        }
        while let Some(piece) = self.ends[1].read() {
            self.received += piece.len() as u64;
        }
        let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
        self.ends.iter().map(Session::next_wakeup).chain([arrival]).flatten().min()
    }
}

#[test]
fn what_is_kept_does_not_grow_with_what_was_sent() {
    for scheduler in ["lowest-rtt", "blest", "redundant"] {
        let sends = 1_152 * 78_125;
        let mut pair = Pair::new(sends, scheduler);
        let (mut now, mut most) = (Time::ZERO, [0; 3]);
        while pair.received < sends {
            now = pair.step(now).expect("something happens").max(now);
            let third = (3 * pair.received / sends).min(2) as usize;
            most[third] = most[third].max(LIVE.with(Cell::get));
        }
        let [first, second, last] = most.map(|bytes| bytes / 1_000);
        println!("{scheduler}: {first}, {second}, {last} kB after {} s", now.as_nanos() / 1_000_000_000);
        // Memory varies with windows and outages. A record of every sent segment would take 16
        // bytes for each of 78,000 segments: 800 kB more in the last third than in the first.
        assert!(last < first.max(second) + 300, "{scheduler}: {first}, {second}, {last} kB");
    }
}
