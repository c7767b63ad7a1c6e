//! The properties of a link, as a scenario states them.

use plait_sched::{Duration, Time};

use super::{Capacity, Duplicate, Jitter, Loss, Outages, QueueLimit, Varying, discipline, special};

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
