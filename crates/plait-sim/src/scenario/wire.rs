//! The wire of a path, or a link that paths share: its two directions.

use plait_sched::Duration;

use super::keys::FORWARD_OR_BACKWARD;
use super::link::{Given, QueueGiven, bandwidth_delay_product};
use super::reader::{Reader, Source, Word as _};
use crate::error::ScenarioError;
use crate::link::{Capacity, LinkConfig, Loss, Outages, QueueLimit};

/// A direction of a path, as the scenario's own data sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the sender of the data to its receiver.
    Forward,
    /// From the receiver of the data to its sender.
    Backward,
}

impl Way {
    /// As scenarios and results name it.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// The other one.
    pub const fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// Both directions of a path's own wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wire {
    /// From the sender of the data to its receiver.
    pub forward: LinkConfig,
    /// From the receiver of the data to its sender.
    pub backward: LinkConfig,
}

impl Wire {
    /// The one direction or the other.
    pub const fn way(&self, way: Way) -> &LinkConfig {
        match way {
            Way::Forward => &self.forward,
            Way::Backward => &self.backward,
        }
    }
}

/// The keys that describe a wire. A path that has none of them, but links, has no wire of its own.
pub(super) const WIRE_KEYS: &[&str] = &[
    "rate",
    "rate_steps",
    "repeat",
    "rtt",
    "delay",
    "queue",
    "discipline",
    "loss",
    "jitter",
    "outages",
    "trace",
    "forward",
    "backward",
];

/// What the tables `forward` and `backward` say, where they are given.
pub(super) struct Directions {
    pub(super) forward: Option<Given>,
    pub(super) backward: Option<Given>,
}

impl Directions {
    pub(super) fn read(reader: &mut Reader<'_>, packet: u32) -> Result<Self, ScenarioError> {
        let mut direction = |key| match reader.take(key) {
            Some(item) => Given::direction(item.reader(&FORWARD_OR_BACKWARD)?, packet).map(Some),
            None => Ok(None),
        };
        Ok(Self { forward: direction("forward")?, backward: direction("backward")? })
    }
}

/// A direction whose queue may still wait for the round-trip time.
pub(super) struct Draft {
    link: LinkConfig,
    queue: QueueGiven,
}

impl Draft {
    /// What the direction's own table says, else what the table around it says. Of that, loss, jitter and trace concern
    /// the forward direction only.
    pub(super) fn new(
        own: Option<Given>,
        shared: &Given,
        way: Way,
        delay: Option<Duration>,
        source: Source<'_>,
        place: &str,
    ) -> Result<Self, ScenarioError> {
        let own = own.unwrap_or_default();
        let forward = way == Way::Forward;
        let shared_trace = shared.trace.clone().filter(|_| forward);
        let capacity = match (own.rate, own.trace) {
            (Some(capacity), _) => Some(capacity),
            (None, Some(trace)) => Some(Capacity::Trace(trace)),
            (None, None) => shared_trace.map(Capacity::Trace).or(shared.rate.clone()),
        };
        let capacity = capacity.ok_or_else(|| {
            let hint = if shared.trace.is_some() {
                " (the path's trace is that of the forward direction)"
            } else {
                ""
            };
            source.missing(place, format!("rate or trace{hint}"))
        })?;
        let delay = own.delay.or(delay).ok_or_else(|| source.missing(place, "delay"))?;
        let discipline = own.discipline.or(shared.discipline).flatten();
        let link = LinkConfig {
            capacity,
            delay,
            queue: QueueLimit::Infinite,
            discipline,
            loss: own.loss.or(shared.loss.filter(|_| forward)).unwrap_or(Loss::None),
            jitter: own.jitter.or(shared.jitter.filter(|_| forward)).flatten(),
            outages: own.outages.or(shared.outages.clone()).unwrap_or(Outages::Windows(Vec::new())),
        };
        // A discipline has a limit of its own, unless somebody gives another.
        let own_limit =
            discipline.map(|discipline| QueueGiven::Limit(QueueLimit::Packets(discipline.info().limit)));
        let around = if shared.queue_is_preset { own_limit.or(shared.queue) } else { shared.queue };
        let queue = own.queue.or(around).unwrap_or(QueueGiven::Limit(QueueLimit::Infinite));
        if let (Some(discipline), QueueGiven::Limit(QueueLimit::Wait(_))) = (discipline, queue) {
            let reason =
                format!("a longest wait limits no {}: give packets or a size", discipline.info().name);
            return Err(source.rule(format!("{place}.queue"), reason));
        }
        Ok(Self { link, queue })
    }

    pub(super) const fn delay(&self) -> Duration {
        self.link.delay
    }

    /// The direction of a route whose empty round trip takes `rtt`.
    pub(super) fn finish(mut self, rtt: Duration, packet: u32) -> LinkConfig {
        self.link.queue = match self.queue {
            QueueGiven::Limit(limit) => limit,
            QueueGiven::BandwidthDelayProduct => {
                let rate = self.link.capacity.nominal_rate();
                QueueLimit::Packets(bandwidth_delay_product(rate, rtt, packet))
            }
        };
        self.link
    }
}
