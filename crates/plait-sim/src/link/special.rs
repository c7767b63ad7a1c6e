//! Rare features of links: changes during the run, and copies of packets. Other links do not pay
//! for them.

use std::collections::BTreeSet;

use plait_sched::{Duration, Time};

use super::discipline::Payload;
use super::duplicate::Copies;
use super::flight::{Flight, Inside};
use super::jitter::Delays;
use super::loss::Loss;
use super::queue::QueueLimit;
use super::steps::{Position, Varying};
use super::{Admission, Link, LinkConfig};
use crate::agenda::EventKey;

/// The rare features of a link.
#[derive(Clone, Debug)]
pub(super) struct Special {
    delay: Option<Position<Duration>>,
    loss: Option<Position<Loss>>,
    limit: Option<Position<QueueLimit>>,
    copies: Option<Copies>,
    /// The orders of packets that are inside twice.
    twice: BTreeSet<u64>,
}

impl Special {
    /// Returns `None` for a link without these features.
    pub(super) fn new(config: &LinkConfig, seed: u64, name: &str) -> Option<Box<Self>> {
        fn position<T: Copy>(varying: &Varying<T>) -> Option<Position<T>> {
            varying.steps().map(|steps| Position::new(std::sync::Arc::clone(steps)))
        }
        let special = Self {
            delay: position(&config.delay),
            loss: position(&config.loss),
            limit: position(&config.queue),
            copies: config.duplicate.map(|duplicate| Copies::new(duplicate, seed, name)),
            twice: BTreeSet::new(),
        };
        let has = special.delay.is_some() || special.loss.is_some() || special.limit.is_some();
        (has || special.copies.is_some()).then(|| Box::new(special))
    }

    /// Number of packets that are inside twice.
    pub(super) fn pairs(&self) -> u64 {
        self.twice.len() as u64
    }

    /// Whether the packet with this order leaves a copy inside.
    pub(super) fn leaves_a_copy(&mut self, order: u64) -> bool {
        self.twice.remove(&order)
    }
}

impl<P: Payload> Link<P> {
    /// Updates the limit for a packet that arrives now.
    #[cold]
    #[inline(never)]
    pub(super) fn renew_limit(&mut self, now: Time) {
        if let Some(position) = self.special.as_mut().and_then(|special| special.limit.as_mut()) {
            self.limit = position.at(now);
        }
    }

    /// [`Link::put_on_wire`] for a wire that changes or copies packets. As in `netem`
    /// (`netem_enqueue`), the draw for a copy comes before the draw for a loss. A loss removes one
    /// of packet and copy. If there is no loss, the copy has a loss draw of its own.
    #[cold]
    #[inline(never)]
    pub(super) fn put_specially(
        &mut self,
        departure: Time,
        bytes: u32,
        (since, order): (Time, u64),
        payload: P,
    ) -> Admission {
        let Some(special) = &mut self.special else { return Admission::Queued };
        if let Some(position) = &mut special.delay {
            self.delay = position.at(departure);
        }
        if let Some(position) = &mut special.loss {
            self.losses.become_those_of(position.at(departure));
        }
        let copied = special.copies.as_mut().is_some_and(Copies::next);
        let lost = self.losses.next();
        let twice = copied && !lost && !self.losses.next();
        let cut = self.outages.covers(departure);
        let arrival = self.arrival(departure);
        let whole =
            Inside::new(EventKey { time: arrival, since, order }, bytes, cut || lost && !copied, payload);
        let mut first = self.flight.push(whole);
        // The copy's delay is drawn also in an outage, so that outages do not shift the random
        // numbers.
        if twice {
            let arrival = self.arrival(departure);
            if !cut && let Some(special) = &mut self.special {
                special.twice.insert(order);
                self.counters.duplicated += 1;
                first |= self.flight.push(Inside::new(
                    EventKey { time: arrival, since, order },
                    bytes,
                    false,
                    payload,
                ));
            }
        }
        if first { Admission::First } else { Admission::Queued }
    }

    /// The arrival of a packet whose last bit leaves at `departure`. It is never before
    /// `departure`, even with negative jitter.
    fn arrival(&mut self, departure: Time) -> Time {
        let extra = self.jitter.as_mut().map_or(0, Delays::next);
        let mut arrival = later(departure, self.delay, extra);
        if matches!(self.flight, Flight::Fifo(_)) {
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        arrival
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
