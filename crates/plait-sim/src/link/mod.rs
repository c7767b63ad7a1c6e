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
//! The wire may change during the run (`special`). The delay and the losses are those at the time
//! when a packet's last bit leaves; the limit is that at the packet's arrival. Packets keep their
//! order when the delay falls, unless the link permits reordering.
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

/// The properties of one direction of a wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// The rate at which bytes leave.
    pub capacity: Capacity,
    /// The time from the last bit's departure to its arrival.
    pub delay: Varying<Duration>,
    /// The rule by which an arriving packet is dropped.
    pub queue: Varying<QueueLimit>,
    /// The discipline that selects the next packet to send and the packets to drop; `None` is
    /// drop-tail.
    pub discipline: Option<discipline::Settings>,
    /// The losses on the wire.
    pub loss: Varying<Loss>,
    /// The packets that the wire delivers twice, if any.
    pub duplicate: Option<Duplicate>,
    /// Random extra delay, if any.
    pub jitter: Option<Jitter>,
    /// Whether packets may overtake each other also when the delay falls.
    pub reorder: bool,
    /// The times at which the wire is cut.
    pub outages: Outages,
}

impl LinkConfig {
    /// A wire of `rate` bits per second and `delay`, with an infinite queue and without failures.
    pub const fn new(rate: u64, delay: Duration) -> Self {
        Self {
            capacity: Capacity::Rate(rate),
            delay: Varying::Constant(delay),
            queue: Varying::Constant(QueueLimit::Infinite),
            discipline: None,
            loss: Varying::Constant(Loss::None),
            duplicate: None,
            jitter: None,
            reorder: false,
            outages: Outages::List(Vec::new()),
        }
    }

    /// Whether packets may overtake each other. Otherwise a packet never arrives before its
    /// predecessor.
    pub fn reorders(&self) -> bool {
        self.reorder || self.jitter.is_some_and(|jitter| jitter.reorder)
    }

    /// The shortest and the longest delay of a packet, without serialization.
    pub fn delays(&self) -> (Duration, Duration) {
        let (least, most) = self.jitter.map_or((0, 0), |jitter| jitter.range());
        let first = self.delay.first();
        let (shortest, longest) =
            (self.delay.values().fold(first, Duration::min), self.delay.values().fold(first, Duration::max));
        let after = |delay, extra| special::later(Time::ZERO, delay, extra).since(Time::ZERO);
        (after(shortest, least), after(longest, most))
    }
}

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
    /// Bytes of the accepted packets.
    pub accepted_bytes: u64,
    /// Bytes of the delivered packets.
    pub delivered_bytes: u64,
    /// Largest number of packets that waited at once, without the one in transmission.
    pub max_queue_packets: u64,
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
    losses: loss::Losses,
    jitter: Option<jitter::Delays>,
    outages: outage::Cuts,
    /// The shortest time from sending to exit, if a packet's fate is known when it is sent.
    lookahead: Option<Duration>,
    flight: Flight<P>,
    last_arrival: Time,
    counters: Counters,
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
        let special = special::Special::new(config, seed, name);
        let simple = config.jitter.is_none() && config.discipline.is_none() && special.is_none();
        Self {
            service: service::Service::new(&config.capacity),
            delay: config.delay.first(),
            limit: config.queue.first(),
            backlog: queue::Backlog::new(simple.then_some(config.delay.first())),
            losses: loss::Losses::new(config.loss.first(), seed, name),
            jitter: config.jitter.map(|jitter| jitter::Delays::new(jitter, seed, name)),
            outages: outage::Cuts::new(&config.outages),
            lookahead: config.discipline.is_none().then(|| config.delays().0),
            flight: if config.reorders() && !simple { Flight::sorted() } else { Flight::fifo() },
            last_arrival: Time::ZERO,
            counters: Counters::default(),
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
    #[inline]
    pub fn send(&mut self, now: Time, bytes: u32, order: u64, payload: P) -> Admission {
        assert!(bytes <= MAX_PACKET_BYTES && order < MAX_ORDER, "packet {order}, of {bytes} bytes");
        if self.active.is_some() {
            return self.enqueue(now, bytes, order, payload);
        }
        if self.special.is_some() {
            self.renew_limit(now);
        }
        self.backlog.advance(now, &self.flight);
        let start = self.service.start(now);
        if !self.limit.admits(&self.backlog, bytes, start.since(now)) {
            self.counters.dropped += 1;
            return Admission::DroppedFull;
        }
        let departure = self.service.serve(bytes);
        self.backlog.push(departure, bytes);
        self.counters.accepted += 1;
        self.counters.accepted_bytes += u64::from(bytes);
        self.counters.max_queue_packets = self.counters.max_queue_packets.max(self.backlog.waiting_packets());
        self.put_on_wire(departure, bytes, (now, order), payload)
    }

    /// Computes the fate of a packet whose last bit leaves at `departure`. It was sent at `since`
    /// with this order.
    #[inline(always)]
    fn put_on_wire(
        &mut self,
        departure: Time,
        bytes: u32,
        (since, order): (Time, u64),
        payload: P,
    ) -> Admission {
        if self.special.is_some() {
            return self.put_specially(departure, bytes, (since, order), payload);
        }
        // Both draw for every accepted packet, so that an outage does not shift the random losses.
        let lost = self.losses.next() | self.outages.covers(departure);
        let mut arrival = departure.saturating_add(self.delay);
        if let Some(delays) = &mut self.jitter {
            arrival = special::later(departure, self.delay, delays.next());
            if matches!(self.flight, Flight::Fifo(_)) {
                arrival = arrival.max(self.last_arrival);
                self.last_arrival = arrival;
            }
        }
        let first =
            self.flight.push(Inside::new(EventKey { time: arrival, since, order }, bytes, lost, payload));
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
        let number = self.flight.first();
        let packet = self.flight.pop().expect("a packet is taken only from a link that has one");
        let bytes = packet.bytes();
        self.backlog.arrives(number, bytes);
        if packet.is_lost() {
            self.counters.lost += 1;
            (Exit::Lost(packet.payload), 0)
        } else {
            self.counters.delivered += 1;
            self.counters.delivered_bytes += u64::from(bytes);
            if let Some(special) = &mut self.special
                && special.leaves_a_copy(packet.key().order)
            {
                return (Exit::Copied(packet.payload), bytes);
            }
            (Exit::Delivered(packet.payload), bytes)
        }
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
