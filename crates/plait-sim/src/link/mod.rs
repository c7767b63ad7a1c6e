//! One direction of one wire: a queue, a capacity, a delay, and the failures on the wire.
//!
//! ```text
//!            ┌───────┐   ┌──────────┐   ┌──────────────┐   ┌────────────────┐
//!  send ───► │ limit │──►│ capacity │──►│ loss, outage │──►│ delay + jitter │───► pop
//!            └───┬───┘   └──────────┘   └──────────────┘   └────────────────┘
//!             DroppedFull
//! ```
//! A link knows nothing of paths or connections: it carries payloads of any small type. It has no
//! internal events either. A packet's whole fate is computed when the packet is sent. A link is
//! therefore one event source (the next exit, [`Link::head`]) and costs O(1) per packet.
//!
//! This holds for drop-tail queues. A link with an active [`discipline`] decides later, but it is
//! also one event source (`active`).
//!
//! The packets of a *steady* link depart in turn and arrive, or are lost, a constant delay later.
//! Everything else about a wire, also its changes during the run, is in `special`. The delay
//! and the losses are those at the time when a packet's last bit leaves; the limit is that at the
//! packet's arrival. Packets keep their order when the delay falls, unless the link permits
//! reordering.
//!
//! A lost packet still takes its place in the queue, its time on the wire and its draw from the
//! random streams. It leaves the link as [`Exit::Lost`] at the time at which it would have arrived.
//!
//! A copy has the payload of its packet. The first of the two leaves as [`Exit::Copied`], so the
//! owner of the payload copies it too.
//!
//! There is no list of loss models. A new one changes `link/loss.rs`, `scenario/keys.rs`,
//! `scenario/link.rs`, `scenario/write.rs`, the random scenarios of the tests, and
//! `python/plait/linux/wire.py`.

mod active;
mod config;
pub mod discipline;
pub mod distribution;
pub mod duplicate;
mod flight;
pub mod jitter;
pub mod loss;
pub mod outage;
pub mod queue;
pub mod service;
mod special;
pub mod steps;
pub mod trace;

#[cfg(test)]
mod tests;

use plait_sched::{Duration, Time};

use crate::agenda::{EventKey, MAX_ORDER};
use flight::{Flight, Inside};

pub use active::QueueReport;
pub use config::LinkConfig;
pub use discipline::Payload;
pub use distribution::JitterDistribution;
pub use duplicate::Duplicate;
pub use jitter::Jitter;
pub use loss::Loss;
pub use outage::{Outage, Outages};
pub use queue::QueueLimit;
pub use service::Capacity;
pub use steps::{Step, Steps, Varying};
pub use trace::Trace;

/// The largest packet of a link, in bytes (a byte less than 16 MiB). It is far larger than any real
/// packet, and small enough for exact serialization times in 64 bits.
pub const MAX_PACKET_BYTES: u32 = (1 << 24) - 1;

/// The fate of a packet that was given to [`Link::send`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Admission {
    /// Accepted: the packet will leave through [`Link::pop`].
    Queued,
    /// Accepted, and ahead of all other packets inside: [`Link::head`] has changed.
    First,
    /// The queue was full, and the packet was dropped.
    DroppedFull,
}

/// A packet that leaves the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit<P> {
    /// It arrived.
    Delivered(P),
    /// It arrived, and its copy with the same payload follows.
    Copied(P),
    /// It was lost on the wire. Without the loss it would have arrived now.
    Lost(P),
    /// The link's discipline dropped it.
    Dropped(P),
    /// No packet left: the transmitter asked the queue for the next packet.
    Nothing,
}

impl<P> Exit<P> {
    /// Returns the packet that left, of any kind.
    pub fn payload(self) -> Option<P> {
        match self {
            Self::Delivered(payload) | Self::Copied(payload) => Some(payload),
            Self::Lost(payload) | Self::Dropped(payload) => Some(payload),
            Self::Nothing => None,
        }
    }
}

/// Counters of a link. `accepted + duplicated` equals the sum of `delivered`, `lost`, `discarded`
/// and the packets [inside](Link::inside).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets that found room in the queue; with a discipline, all packets.
    pub accepted: u64,
    /// Packets that found the queue full.
    pub dropped: u64,
    /// Packets that the discipline dropped.
    pub discarded: u64,
    /// Packets that left the link as lost.
    pub lost: u64,
    /// Packets that left the link as delivered.
    pub delivered: u64,
    /// Copies that the wire made.
    pub duplicated: u64,
}

/// One direction of a wire, carrying packets with payloads of type `P`.
///
/// ```
/// use plait_sched::{Duration, Time};
/// use plait_sim::link::{Exit, Link, LinkConfig, Admission};
///
/// let config = LinkConfig::new(1_000_000, Duration::from_millis(10));
/// let mut link = Link::new(&config, 1, "fast/forward");
/// assert_eq!(link.send(Time::ZERO, 1500, 0, "hello"), Admission::First);
/// let exit = link.head().expect("a packet is under way").time;
/// assert_eq!(exit, Time::ZERO + Duration::from_millis(12 + 10)); // 12 ms to serialize 1500 bytes
/// assert_eq!(link.pop(), Exit::Delivered("hello"));
/// ```
#[derive(Clone, Debug)]
pub struct Link<P> {
    service: service::Service,
    delay: Duration,
    limit: QueueLimit,
    backlog: queue::Backlog,
    /// The shortest time from sending to exit, if a packet's fate is known when it is sent.
    lookahead: Option<Duration>,
    flight: Flight<P>,
    counters: Counters,
    /// See [`Link::is_steady`].
    steady: bool,
    keeps_order: bool,
    /// Failures and changes of the wire, if there are any.
    special: Option<Box<special::Special>>,
    /// The queue, if it is not drop-tail.
    active: Option<Box<active::Active<P>>>,
}

impl<P: Payload> Link<P> {
    /// Creates an idle link. Its random streams are those of `seed` and `name`: every link of a run
    /// needs its own name.
    ///
    /// # Panics
    /// If the configuration has a rate of zero or an invalid probability; a scenario never does.
    pub fn new(config: &LinkConfig, seed: u64, name: &str) -> Self {
        // All packets have the same delay, and so arrive in the order of their departure.
        let steady = config.jitter.is_none()
            && config.discipline.is_none()
            && config.duplicate.is_none()
            && config.delay.steps().is_none()
            && config.queue.steps().is_none();
        let sorted = config.reorders() && !steady;
        let special = special::Special::new(config, seed, name);
        let copies = special.as_ref().is_some_and(|special| special.makes_copies());
        Self {
            service: service::Service::new(&config.capacity),
            delay: config.delay.first(),
            limit: config.queue.first(),
            backlog: queue::Backlog::new(steady.then_some(config.delay.first())),
            lookahead: config.discipline.is_none().then(|| config.delays().0),
            flight: if sorted { Flight::sorted() } else { Flight::fifo() },
            counters: Counters::default(),
            steady,
            keeps_order: config.discipline.is_none() && !sorted && !copies,
            special,
            active: config.discipline.as_ref().map(|discipline| {
                Box::new(active::Active::new(discipline, config.queue.first(), seed, name))
            }),
        }
    }

    /// Puts a packet of `bytes` into the queue. `order` orders its exit among events at the same
    /// time. `now` never decreases.
    ///
    /// # Panics
    /// If the packet is larger than [`MAX_PACKET_BYTES`], or the order not below [`MAX_ORDER`].
    pub fn send(&mut self, now: Time, bytes: u32, order: u64, payload: P) -> Admission {
        if self.steady {
            return self.send_steadily(now, bytes, order, || payload);
        }
        if self.active.is_some() {
            return self.enqueue(now, bytes, order, payload);
        }
        self.renew_limit(now);
        match self.admit(now, bytes, order) {
            Some(departure) => self.put_on_wire(departure, bytes, (now, order), payload),
            None => Admission::DroppedFull,
        }
    }

    /// [`Link::send`] for a steady link. `payload` builds the payload in its final place, unless the
    /// packet is dropped. The copy of a payload would wait for its words, which were just written.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn send_steadily(
        &mut self,
        now: Time,
        bytes: u32,
        order: u64,
        payload: impl FnOnce() -> P,
    ) -> Admission {
        let Some(departure) = self.admit(now, bytes, order) else { return Admission::DroppedFull };
        let lost = self.special.is_some() && self.loses(departure);
        let key = EventKey { time: departure.saturating_add(self.delay), since: now, order };
        let first = self.flight.push(Inside::new(key, bytes, lost, payload()));
        if first { Admission::First } else { Admission::Queued }
    }

    /// True if limit and delay are constant, and the link has neither copies nor a discipline.
    /// Packets then keep their order.
    #[inline]
    pub(crate) const fn is_steady(&self) -> bool {
        self.steady
    }

    /// True if packets can be read in their place, by [`Link::pass`].
    #[inline]
    pub(crate) const fn keeps_order(&self) -> bool {
        self.keeps_order
    }

    /// The departure of a packet's last bit; `None` if the queue is full.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn admit(&mut self, now: Time, bytes: u32, order: u64) -> Option<Time> {
        if bytes > MAX_PACKET_BYTES || order >= MAX_ORDER {
            too_much(order, bytes);
        }
        let start = self.service.start(now);
        if !self.limit.admits(&self.backlog, bytes, now, start) {
            self.backlog.advance(now, &self.flight);
            if !self.limit.admits(&self.backlog, bytes, now, start) {
                self.counters.dropped += 1;
                return None;
            }
        }
        let departure = self.service.serve(bytes);
        self.backlog.push(departure, bytes);
        self.counters.accepted += 1;
        Some(departure)
    }

    /// Computes the fate of a packet whose last bit leaves at `departure`. It was sent at `since`
    /// with this order.
    fn put_on_wire(&mut self, departure: Time, bytes: u32, sent: (Time, u64), payload: P) -> Admission {
        if self.special.is_some() {
            return self.put_specially(departure, bytes, sent, payload);
        }
        let (since, order) = sent;
        let key = EventKey { time: departure.saturating_add(self.delay), since, order };
        let first = self.flight.push(Inside::new(key, bytes, false, payload));
        if first { Admission::First } else { Admission::Queued }
    }

    /// The time of the next exit, or of the transmitter's next turn with a discipline; `None` while
    /// the link is empty.
    #[inline]
    pub fn head(&self) -> Option<EventKey> {
        match &self.active {
            None => self.flight.head(),
            Some(active) => active.head(self.flight.head()),
        }
    }

    /// The packet that leaves next, if it is already known.
    #[inline]
    pub(crate) fn next(&self) -> Option<&P> {
        self.flight.next()
    }

    /// Removes the packet that leaves next. To be called at the time of [`Link::head`].
    ///
    /// # Panics
    /// If the link is empty.
    #[inline]
    pub fn pop(&mut self) -> Exit<P> {
        self.pop_sized().0
    }

    /// [`Link::pop`], with the size of a delivered packet in bytes.
    #[inline]
    pub(crate) fn pop_sized(&mut self) -> (Exit<P>, u32) {
        if self.active.is_some()
            && let Some(exit) = self.work()
        {
            return (exit, 0);
        }
        let packet = self.flight.pop().expect("a packet is taken only from a link that has one");
        self.backlog.arrived(packet.bytes(), self.flight.len());
        if packet.is_lost() {
            self.counters.lost += 1;
            return (Exit::Lost(packet.payload), 0);
        }
        self.counters.delivered += 1;
        if let Some(special) = &mut self.special
            && special.leaves_a_copy(packet.key().order)
        {
            return (Exit::Copied(packet.payload), packet.bytes());
        }
        (Exit::Delivered(packet.payload), packet.bytes())
    }

    /// The packet after the one that leaves next from a link that keeps their order, and its exit.
    #[inline(always)]
    pub(crate) fn second(&self) -> Option<(EventKey, &P)> {
        let packet = self.flight.numbered(self.flight.first() + 1)?;
        Some((packet.key(), &packet.payload))
    }

    /// [`Link::pop`] of a link that keeps the order of its packets, which borrows the packet in its
    /// place. True if it arrived, and was not lost.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn pass(&mut self) -> (bool, &P) {
        let inside = self.flight.len() - 1;
        let packet = self.flight.pass().expect("a packet is taken only from a link that has one");
        self.backlog.arrived(packet.bytes(), inside);
        let arrived = !packet.is_lost();
        if arrived {
            self.counters.delivered += 1;
        } else {
            self.counters.lost += 1;
        }
        (arrived, &packet.payload)
    }

    /// Waiting packets at `now`, without the one in transmission. `now` never decreases.
    pub fn queue_packets(&mut self, now: Time) -> u64 {
        if let Some(active) = &self.active {
            return active.waiting().0;
        }
        self.backlog.advance(now, &self.flight);
        self.backlog.waiting_packets()
    }

    /// Waiting bytes at `now`, without the packet in transmission. `now` never decreases.
    pub fn queue_bytes(&mut self, now: Time) -> u64 {
        if let Some(active) = &self.active {
            return active.waiting().1;
        }
        self.backlog.advance(now, &self.flight);
        self.backlog.waiting_bytes(&self.flight)
    }

    /// Packets that were accepted and have not left: waiting, in transmission and on the wire.
    pub fn inside(&self) -> usize {
        self.flight.len() + self.active.as_ref().map_or(0, |active| active.inside())
    }

    /// The shortest time from sending to exit; `None` if a discipline decides later.
    pub(crate) const fn lookahead(&self) -> Option<Duration> {
        self.lookahead
    }

    /// Number of packets whose original and copy are both still inside.
    pub(crate) fn copies_to_come(&self) -> u64 {
        self.special.as_ref().map_or(0, |special| special.pairs())
    }

    /// The counters so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Not in place, where the message would keep its numbers in memory for every packet.
#[cold]
#[inline(never)]
fn too_much(order: u64, bytes: u32) -> ! {
    panic!("packet {order}, of {bytes} bytes")
}
