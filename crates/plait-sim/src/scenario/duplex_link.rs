//! The own link of a path, or a link that paths share: its two directions.

use plait_sched::Duration;

use super::keys::FORWARD_OR_BACKWARD;
use super::link::LinkKeys;
use super::link_values::{QueueChoice, bandwidth_delay_product};
use super::reader::{Reader, Source, Word as _};
use super::steps::varying;
use super::text;
use crate::error::ScenarioError;
use crate::link::{Capacity, LinkConfig, Loss, Outages, QueueLimit, Varying};

/// A direction of a path, relative to the scenario's own data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the sender of the data to its receiver.
    Forward,
    /// From the receiver of the data to its sender.
    Backward,
}

impl Direction {
    /// The direction's name in scenarios and results.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// The opposite direction.
    pub const fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// Both directions of a path's own link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DuplexLink {
    /// From the sender of the data to its receiver.
    pub forward: LinkConfig,
    /// From the receiver of the data to its sender.
    pub backward: LinkConfig,
}

impl DuplexLink {
    /// One of its directions.
    pub const fn direction(&self, direction: Direction) -> &LinkConfig {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }
}

/// The keys of a wire. A path with links and without any of these keys has no wire of its own.
pub(super) const WIRE_KEYS: &[&str] = &[
    "rate",
    "rate_steps",
    "delay_steps",
    "loss_steps",
    "queue_steps",
    "repeat",
    "rtt",
    "delay",
    "queue",
    "discipline",
    "loss",
    "duplicate",
    "jitter",
    "reorder",
    "outages",
    "trace",
    "forward",
    "backward",
];

/// The tables `forward` and `backward`, if given.
pub(super) struct DirectionKeys {
    pub(super) forward: Option<LinkKeys>,
    pub(super) backward: Option<LinkKeys>,
}

impl DirectionKeys {
    pub(super) fn read(reader: &mut Reader<'_>, packet: u32) -> Result<Self, ScenarioError> {
        let mut direction = |key| match reader.take(key) {
            Some(item) => LinkKeys::direction(item.reader(&FORWARD_OR_BACKWARD)?, packet).map(Some),
            None => Ok(None),
        };
        Ok(Self { forward: direction("forward")?, backward: direction("backward")? })
    }
}

/// A direction whose queue may still depend on the round-trip time.
pub(super) struct DirectionDraft {
    link: LinkConfig,
    queue: Varying<QueueChoice>,
}

impl DirectionDraft {
    /// Builds a direction from its own table and, for missing keys, from the table around it. Loss,
    /// copies, jitter and trace of the table around it apply to the forward direction only.
    pub(super) fn new(
        own: Option<LinkKeys>,
        shared: &LinkKeys,
        direction: Direction,
        delay: Option<Varying<Duration>>,
        source: Source<'_>,
        place: &str,
    ) -> Result<Self, ScenarioError> {
        let own = own.unwrap_or_default();
        let forward = direction == Direction::Forward;
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
        let own_delay = own.delay.map(|first| varying(first, own.delay_steps));
        let delay = own_delay.or(delay).ok_or_else(|| source.missing(place, "delay"))?;
        let discipline = own.discipline.or(shared.discipline).flatten();
        let link = LinkConfig {
            capacity,
            delay,
            queue: QueueLimit::Infinite.into(),
            discipline,
            loss: own.loss.or(shared.loss.clone().filter(|_| forward)).unwrap_or(Loss::None.into()),
            duplicate: own.duplicate.or(shared.duplicate.filter(|_| forward)).flatten(),
            jitter: own.jitter.or(shared.jitter.filter(|_| forward)).flatten(),
            reorder: own.reorder.or(shared.reorder).unwrap_or(false),
            outages: own.outages.or(shared.outages.clone()).unwrap_or(Outages::List(Vec::new())),
        };
        // A discipline has its own default limit.
        let own_limit =
            discipline.map(|discipline| QueueChoice::Limit(QueueLimit::Packets(discipline.info().limit)));
        let own_limit = own_limit.map(Varying::Constant).filter(|_| shared.queue_is_preset);
        let around = own_limit.or(shared.queue.clone());
        let queue = own.queue.or(around).unwrap_or(QueueChoice::Limit(QueueLimit::Infinite).into());
        if let (Some(discipline), Varying::Steps(_)) = (discipline, &queue) {
            let reason = format!("{} has one limit: leave queue_steps out", discipline.info().name);
            return Err(source.rule(format!("{place}.queue"), reason));
        }
        if let (Some(discipline), QueueChoice::Limit(QueueLimit::Wait(_))) = (discipline, queue.first()) {
            let reason =
                format!("a longest wait limits no {}: give packets or a size", discipline.info().name);
            return Err(source.rule(format!("{place}.queue"), reason));
        }
        let draft = Self { link, queue };
        draft.check_repeats(source, place)?;
        Ok(draft)
    }

    /// Checks that all steps of a direction have the same `repeat`, or none: its table has one key
    /// for it.
    fn check_repeats(&self, source: Source<'_>, place: &str) -> Result<(), ScenarioError> {
        let rate = match &self.link.capacity {
            Capacity::Steps(steps) => Some(steps.repeat()),
            Capacity::Rate(_) | Capacity::Trace(_) => None,
        };
        let delay = self.link.delay.steps().map(|steps| steps.repeat());
        let loss = self.link.loss.steps().map(|steps| steps.repeat());
        let queue = self.queue.steps().map(|steps| steps.repeat());
        let mut repeats = [rate, delay, loss, queue].into_iter().flatten();
        let Some(first) = repeats.next() else { return Ok(()) };
        let Some(other) = repeats.find(|other| *other != first) else { return Ok(()) };
        let said = |repeat: Option<Duration>| {
            repeat.map_or("never".to_owned(), |span| format!("after {}", text::duration(span)))
        };
        let reason = format!(
            "some of its steps begin anew {}, some {}: give all of them, and one repeat, in one table",
            said(first),
            said(other)
        );
        Err(source.rule(place, reason))
    }

    pub(super) fn delay(&self) -> Duration {
        self.link.delay.first()
    }

    /// Completes the direction, on a route whose round trip takes `rtt` without queues.
    pub(super) fn finish(mut self, rtt: Duration, packet: u32) -> LinkConfig {
        let rate = self.link.capacity.nominal_rate();
        self.link.queue = self.queue.map(|given| match given {
            QueueChoice::Limit(limit) => limit,
            QueueChoice::BandwidthDelayProduct => {
                QueueLimit::Packets(bandwidth_delay_product(rate, rtt, packet))
            }
        });
        self.link
    }
}
