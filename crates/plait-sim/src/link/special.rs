//! Failures of wires, copies of packets, and changes during the run. Links without any
//! do not pay for them.

use std::collections::BTreeSet;

use plait_sched::{Duration, Time};

use super::discipline::Payload;
use super::duplicate::Copies;
use super::flight::{Flight, Inside};
use super::jitter::Delays;
use super::loss::{Loss, Losses};
use super::outage::Cuts;
use super::queue::QueueLimit;
use super::steps::{Position, Varying};
use super::{Admission, Link, LinkConfig, Outages};
use crate::agenda::EventKey;

/// The state of the failures and changes of a link.
#[derive(Clone, Debug)]
pub(super) struct Special {
    losses: Losses,
    jitter: Option<Delays>,
    outages: Cuts,
    last_arrival: Time,
    delays: Option<Position<Duration>>,
    loss: Option<Position<Loss>>,
    limit: Option<Position<QueueLimit>>,
    copies: Option<Copies>,
    /// The orders of packets that are inside twice.
    twice: BTreeSet<u64>,
}

impl Special {
    /// Returns `None` for a link without failures and changes.
    pub(super) fn new(config: &LinkConfig, seed: u64, name: &str) -> Option<Box<Self>> {
        fn position<T: Copy>(varying: &Varying<T>) -> Option<Position<T>> {
            varying.steps().map(|steps| Position::new(std::sync::Arc::clone(steps)))
        }
        let special = Self {
            losses: Losses::new(config.loss.first(), seed, name),
            jitter: config.jitter.map(|jitter| Delays::new(jitter, seed, name)),
            outages: Cuts::new(&config.outages),
            last_arrival: Time::ZERO,
            delays: position(&config.delay),
            loss: position(&config.loss),
            limit: position(&config.queue),
            copies: config.duplicate.map(|duplicate| Copies::new(duplicate, seed, name)),
            twice: BTreeSet::new(),
        };
        let changes = special.delays.is_some() || special.loss.is_some() || special.limit.is_some();
        let fails = config.loss.first() != Loss::None
            || config.outages != Outages::List(Vec::new())
            || special.jitter.is_some()
            || special.copies.is_some();
        (changes || fails).then(|| Box::new(special))
    }

    /// True if the wire copies packets.
    pub(super) fn makes_copies(&self) -> bool {
        self.copies.is_some()
    }

    /// Number of packets that are inside twice.
    pub(super) fn pairs(&self) -> u64 {
        self.twice.len() as u64
    }

    /// Whether the packet with this order leaves a copy inside.
    pub(super) fn leaves_a_copy(&mut self, order: u64) -> bool {
        self.twice.remove(&order)
    }

    /// Updates the losses for a packet whose last bit leaves at `departure`.
    fn renew_losses(&mut self, departure: Time) {
        if let Some(position) = &mut self.loss {
            self.losses.become_those_of(position.at(departure));
        }
    }

    /// Whether the next packet, whose last bit leaves at `departure`, is lost. A number is drawn for
    /// every accepted packet, so that an outage does not shift the random losses.
    fn loses(&mut self, departure: Time) -> bool {
        self.renew_losses(departure);
        self.losses.next() | self.outages.covers(departure)
    }

    /// The arrival of a packet whose last bit leaves at `departure`. It is never before
    /// `departure`, even with negative jitter, and never before its predecessor's if packets keep
    /// their order.
    fn arrival(&mut self, departure: Time, delay: Duration, in_order: bool) -> Time {
        let extra = self.jitter.as_mut().map_or(0, Delays::next);
        let mut arrival = later(departure, delay, extra);
        if in_order {
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        arrival
    }
}

impl<P: Payload> Link<P> {
    /// Whether the wire of a steady link loses the next packet, whose last bit leaves at
    /// `departure`.
    #[inline(never)]
    pub(super) fn loses(&mut self, departure: Time) -> bool {
        self.special.as_mut().is_some_and(|special| special.loses(departure))
    }

    /// Updates the limit for a packet that arrives now.
    #[inline(never)]
    pub(super) fn renew_limit(&mut self, now: Time) {
        if let Some(position) = self.special.as_mut().and_then(|special| special.limit.as_mut()) {
            self.limit = position.at(now);
        }
    }

    /// [`Link::put_on_wire`] for a wire with failures or changes. As in `netem` (`netem_enqueue`), the draw
    /// for a copy comes before the draw for a loss. A loss removes one of packet and copy. If there
    /// is no loss, the copy has a loss draw of its own.
    #[inline(never)]
    pub(super) fn put_specially(
        &mut self,
        departure: Time,
        bytes: u32,
        (since, order): (Time, u64),
        payload: P,
    ) -> Admission {
        let Some(special) = &mut self.special else { return Admission::Queued };
        if let Some(position) = &mut special.delays {
            self.delay = position.at(departure);
        }
        special.renew_losses(departure);
        let copied = special.copies.as_mut().is_some_and(Copies::next);
        // Drawn for every accepted packet, so that an outage does not shift the random losses.
        let lost = special.losses.next();
        let twice = copied && !lost && !special.losses.next();
        let cut = special.outages.covers(departure);
        let in_order = matches!(self.flight, Flight::Fifo(_));
        let mut inside = |lost| {
            let time = special.arrival(departure, self.delay, in_order);
            Inside::new(EventKey { time, since, order }, bytes, lost, payload)
        };
        let mut first = self.flight.push(inside(cut || lost && !copied));
        // The copy's delay is drawn also in an outage, so that outages do not shift the random
        // numbers.
        if twice {
            let copy = inside(false);
            if !cut {
                special.twice.insert(order);
                self.counters.duplicated += 1;
                first |= self.flight.push(copy);
            }
        }
        if first { Admission::First } else { Admission::Queued }
    }
}

/// Adds a delay and an extra delay to `departure`. The extra delay may be negative, but the sum of
/// both delays is at least zero.
#[inline]
pub(super) fn later(departure: Time, delay: Duration, extra: i64) -> Time {
    let arrival = departure.saturating_add(delay);
    if extra >= 0 {
        return arrival.saturating_add(Duration::from_nanos(extra.unsigned_abs()));
    }
    let delay = delay.as_nanos().saturating_sub(extra.unsigned_abs());
    departure.saturating_add(Duration::from_nanos(delay))
}
