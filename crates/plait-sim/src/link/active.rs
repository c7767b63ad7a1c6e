//! A link whose queue decides about a packet when the packet leaves the queue.
//!
//! ```text
//!            ┌────────────┐   ┌─────────────┐   ┌──────────────┐   ┌────────────────┐
//!  send ───► │ discipline │──►│ transmitter │──►│ loss, outage │──►│ delay + jitter │───► pop
//!            └─────┬──────┘   └─────────────┘   └──────────────┘   └────────────────┘
//!               Dropped
//! ```
//! The transmitter asks the queue for a packet when it becomes free, and then computes the rest of
//! the packet's fate. Beside the next arrival, the link therefore has the transmitter's next turn
//! as a second moment. The link is due at the earlier one. Packets that a discipline drops leave
//! one at a time, at the time of the drop.

use plait_sched::Time;

use super::discipline::{Counts, Discipline, Ledger, Parts, Payload, Queue, Settings, Waiting};
use super::{Admission, Exit, Link, QueueLimit};
use crate::agenda::EventKey;
use crate::random::RandomStream;
use crate::statistics::Spans;

/// The queue before the transmitter of a link, and the transmitter's next turn.
#[derive(Clone, Debug)]
pub(super) struct Active<P> {
    queue: Queue<P>,
    ledger: Ledger<P>,
    /// The time at which the transmitter becomes free, while it is busy.
    free: Option<EventKey>,
    /// The time at which a packet last entered or left the queue.
    now: Time,
    report: QueueReport,
}

/// The work of a link's discipline since the last restart.
#[derive(Clone, Debug, Default)]
pub struct QueueReport {
    /// The time from arrival in the queue to the start of transmission, per transmitted packet.
    pub sojourn: Spans,
    /// Packets that it marked and dropped.
    pub counts: Counts,
}

impl<P: Payload> Active<P> {
    pub(super) fn new(settings: &Settings, limit: QueueLimit, seed: u64, name: &str) -> Self {
        let perturbation = RandomStream::new(seed, &format!("{name}/flows")).bits();
        Self {
            queue: Queue::new(&Parts { settings, limit, perturbation }),
            ledger: Ledger::new(),
            free: None,
            now: Time::ZERO,
            report: QueueReport::default(),
        }
    }

    /// The link's next moment, given the next `arrival`.
    #[inline(never)]
    pub(super) fn head(&self, arrival: Option<EventKey>) -> Option<EventKey> {
        if let Some(gone) = self.ledger.gone.front() {
            return Some(EventKey { time: self.now, since: gone.since, order: gone.order });
        }
        match (self.free, arrival) {
            (Some(free), Some(arrival)) => Some(free.min(arrival)),
            (free, arrival) => free.or(arrival),
        }
    }

    /// Waiting packets and bytes.
    pub(super) fn waiting(&self) -> (u64, u64) {
        (self.queue.packets(), self.queue.bytes())
    }

    /// Packets that are not on the wire: waiting, or dropped and still to leave.
    pub(super) fn inside(&self) -> usize {
        (self.queue.packets() + self.ledger.gone.len()) as usize
    }
}

impl<P: Payload> Link<P> {
    /// [`Link::send`] for a link with a discipline.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue(&mut self, now: Time, bytes: u32, order: u64, payload: P) -> Admission {
        // As with drop-tail, a packet that arrives at the time of a departure comes after it: the
        // next packet has already been chosen.
        while let Some(free) = self.active.as_ref().and_then(|active| active.free)
            && free.time <= now
        {
            self.transmit(free);
        }
        let Some(active) = &mut self.active else { return Admission::DroppedFull };
        active.now = now;
        active.queue.enqueue(Waiting { payload, bytes, order, since: now }, &mut active.ledger);
        self.counters.accepted += 1;
        if active.free.is_none() {
            self.transmit(EventKey { time: now, since: now, order });
        }
        // A drop or the packet itself usually changes the head of the link.
        Admission::First
    }

    /// Starts the transmission of the next packet, if there is one. The transmitter is free.
    fn transmit(&mut self, moment: EventKey) {
        let Some(active) = &mut self.active else { return };
        active.free = None;
        let now = moment.time;
        // With a trace, the transmitter is free only at the next delivery opportunity.
        let start = self.service.start(now);
        if start > now && active.queue.packets() > 0 {
            active.free = Some(EventKey { time: start, ..moment });
            return;
        }
        let Some(packet) = active.queue.dequeue(now, &mut active.ledger) else { return };
        active.report.sojourn.add(now.since(packet.since));
        let departure = self.service.serve(packet.bytes);
        let (since, order) = (packet.since, packet.order);
        active.free = Some(EventKey { time: departure, since, order });
        let _ = self.put_on_wire(departure, packet.bytes, (since, order), packet.payload);
    }

    /// Does the work that is due before the next arrival, if there is any.
    #[cold]
    #[inline(never)]
    pub(super) fn work(&mut self) -> Option<Exit<P>> {
        let arrival = self.flight.head();
        let active = self.active.as_mut()?;
        if let Some(gone) = active.ledger.gone.pop_front() {
            self.counters.discarded += 1;
            return Some(Exit::Dropped(gone.payload));
        }
        let free = active.free?;
        if arrival.is_some_and(|arrival| arrival < free) {
            return None;
        }
        active.now = free.time;
        self.transmit(free);
        Some(Exit::Nothing)
    }

    /// The work of the link's discipline; `None` for drop-tail.
    pub fn report(&self) -> Option<QueueReport> {
        let active = self.active.as_ref()?;
        Some(QueueReport { counts: active.ledger.counts, ..active.report.clone() })
    }

    /// Resets the discipline's report. The queue stays.
    pub fn restart_report(&mut self) {
        if let Some(active) = &mut self.active {
            active.report = QueueReport::default();
            active.ledger.counts = Counts::default();
        }
    }
}
