//! Random extra delay, drawn once per accepted packet, in order, from the link's own stream.

use plait_sched::Duration;

use crate::random::Stream;

/// Random extra delay, uniform from zero to `amount`, both included: the mean delay grows by half the amount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jitter {
    /// The largest extra delay.
    pub amount: Duration,
    /// Whether packets may overtake each other. If not, a packet arrives no earlier than the one before it.
    pub reorder: bool,
}

/// The extra delays of one link, packet after packet.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    amount: u64,
    stream: Stream,
}

impl Delays {
    pub(super) fn new(jitter: Jitter, seed: u64, link: &str) -> Self {
        Self { amount: jitter.amount.as_nanos(), stream: Stream::new(seed, &format!("{link}/jitter")) }
    }

    pub(super) fn next(&mut self) -> Duration {
        Duration::from_nanos(self.stream.between(0, self.amount))
    }
}
