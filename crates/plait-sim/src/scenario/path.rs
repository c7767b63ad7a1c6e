//! `[[path]]`: one path, both directions.

use plait_sched::Duration;

use super::keys::{FORWARD_OR_BACKWARD, PATH};
use super::link::{Given, QueueGiven, bandwidth_delay_product};
use super::reader::{Item, MAX_DURATION, Source};
use crate::error::ScenarioError;
use crate::link::{Capacity, LinkConfig, Loss, Outages, QueueLimit};

/// One path, checked, with defaults filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathConfig {
    /// What it is called; no two paths have the same name.
    pub name: String,
    /// From the sender of the data to its receiver.
    pub forward: LinkConfig,
    /// From the receiver of the data to its sender.
    pub backward: LinkConfig,
    /// Whether it is used only while no other path is usable.
    pub backup: bool,
    /// What using it costs, in units of the user's choice.
    pub cost: u32,
}

impl PathConfig {
    /// The round-trip time of the empty path, serialization not included.
    pub fn rtt(&self) -> Duration {
        self.forward.delay + self.backward.delay
    }

    /// Reads path `number`, from 1; `packet` is the size of the largest packet.
    pub(super) fn read(item: Item<'_>, number: usize, packet: u32) -> Result<Self, ScenarioError> {
        let mut reader = item.reader(&PATH)?;
        let name = match reader.take("name") {
            Some(item) => item.name()?,
            None => format!("path{number}"),
        };
        let rtt_item = reader.take("rtt");
        let rtt = rtt_item.as_ref().map(|item| item.duration(Duration::ZERO..=MAX_DURATION)).transpose()?;
        let backup = reader.need("backup")?.boolean()?;
        let cost = reader.need("cost")?.integer(0..=u32::MAX)?;
        let shared = Given::path(&mut reader, packet)?;
        let mut direction = |key| match reader.take(key) {
            Some(item) => Given::direction(item.reader(&FORWARD_OR_BACKWARD)?, packet).map(Some),
            None => Ok(None),
        };
        let forward = direction("forward")?;
        let backward = direction("backward")?;

        let (source, place) = (reader.source, reader.place.clone());
        if let Some(item) = &rtt_item {
            let own = |given: &Option<Given>| given.as_ref().is_some_and(|given| given.delay.is_some());
            let other = match () {
                () if shared.delay.is_some() => Some("delay"),
                () if own(&forward) => Some("forward.delay"),
                () if own(&backward) => Some("backward.delay"),
                () => None,
            };
            if let Some(other) = other {
                return Err(item.wrong(format!("rtt and {other} exclude each other: give one of them")));
            }
        }
        let places = (reader.place_of("forward"), reader.place_of("backward"));
        reader.finish();

        // An odd nanosecond goes to the backward direction.
        let half = |rtt: Duration| (rtt / 2, rtt - rtt / 2);
        let delays = rtt.map(half).or(shared.delay.map(|delay| (delay, delay))).unzip();
        let no_delay = rtt.is_none() && shared.delay.is_none();
        if no_delay && forward.is_none() && backward.is_none() {
            return Err(source.missing(place, "rtt or delay"));
        }
        let mut forward = Direction::new(forward, &shared, Way::Forward, delays.0, source, &places.0)?;
        let mut backward = Direction::new(backward, &shared, Way::Backward, delays.1, source, &places.1)?;
        let rtt = forward.link.delay + backward.link.delay;
        if rtt.is_zero() {
            return Err(source.rule(place, "the delays of both directions are zero; one must be more"));
        }
        forward.size_queue(rtt, packet);
        backward.size_queue(rtt, packet);
        Ok(Self { name, forward: forward.link, backward: backward.link, backup, cost })
    }
}

/// Which direction: what the path says about loss, jitter and trace concerns the forward one only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Forward,
    Backward,
}

/// A direction whose queue may still wait for the round-trip time.
struct Direction {
    link: LinkConfig,
    queue: QueueGiven,
}

impl Direction {
    /// What the direction's own table says, else what the path says.
    fn new(
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
            (Some(rate), _) => Some(Capacity::Rate(rate)),
            (None, Some(trace)) => Some(Capacity::Trace(trace)),
            (None, None) => shared_trace.map(Capacity::Trace).or(shared.rate.map(Capacity::Rate)),
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
        let link = LinkConfig {
            capacity,
            delay,
            queue: QueueLimit::Infinite,
            loss: own.loss.or(shared.loss.filter(|_| forward)).unwrap_or(Loss::None),
            jitter: own.jitter.or(shared.jitter.filter(|_| forward)).flatten(),
            outages: own.outages.or(shared.outages.clone()).unwrap_or(Outages::Windows(Vec::new())),
        };
        let queue = own.queue.or(shared.queue).unwrap_or(QueueGiven::Limit(QueueLimit::Infinite));
        Ok(Self { link, queue })
    }

    fn size_queue(&mut self, rtt: Duration, packet: u32) {
        self.link.queue = match self.queue {
            QueueGiven::Limit(limit) => limit,
            QueueGiven::BandwidthDelayProduct => {
                QueueLimit::Packets(bandwidth_delay_product(self.link.capacity.mean_rate(), rtt, packet))
            }
        };
    }
}
