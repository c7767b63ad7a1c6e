//! A link whose queue decides when a packet leaves it.
//!
//! ```text
//!            ┌────────────┐   ┌─────────────┐   ┌──────────────┐   ┌────────────────┐
//!  send ───► │ discipline │──►│ transmitter │──►│ loss, outage │──►│ delay + jitter │───► pop
//!            └─────┬──────┘   └─────────────┘   └──────────────┘   └────────────────┘
//!               Dropped
//! ```
//! The transmitter asks for a packet when it becomes free, and works out the rest of its fate then. So beside arrivals there is one more
//! moment, that of the next question; the link is due at the earlier one. What a discipline dropped leaves, one packet at a time, at the
//! moment of the drop.

use plait_sched::Time;

use super::discipline::{Counts, Discipline, Ledger, Parts, Payload, Queue, Settings, Waiting};
use super::{Admission, Exit, Link, QueueLimit};
use crate::agenda::Key;
use crate::random::Stream;
use crate::statistics::Spans;

/// What waits before the transmitter of a link, and when it is looked at.
#[derive(Clone, Debug)]
pub(super) struct Active<P> {
    queue: Queue<P>,
    ledger: Ledger<P>,
    /// When the transmitter is free, as long as it is not.
    free: Option<Key>,
    /// When packets last entered or left the queue.
    now: Time,
    report: QueueReport,
}

/// What a link's discipline did since the last restart.
#[derive(Clone, Debug, Default)]
pub struct QueueReport {
    /// From arrival in the queue to the start of transmission, per packet that was transmitted.
    pub sojourn: Spans,
    /// What it marked and dropped.
    pub counts: Counts,
}

impl<P: Payload> Active<P> {
    pub(super) fn new(settings: &Settings, limit: QueueLimit, seed: u64, name: &str) -> Self {
        let perturbation = Stream::new(seed, &format!("{name}/flows")).bits();
        Self {
            queue: Queue::new(&Parts { settings, limit, perturbation }),
            ledger: Ledger::new(),
            free: None,
            now: Time::ZERO,
            report: QueueReport::default(),
        }
    }

    /// The next moment, where the next arrival is at `arrival`.
    pub(super) fn head(&self, arrival: Option<Key>) -> Option<Key> {
        if let Some(gone) = self.ledger.gone.front() {
            return Some(Key { time: self.now, order: gone.order });
        }
        match (self.free, arrival) {
            (Some(free), Some(arrival)) => Some(free.min(arrival)),
            (free, arrival) => free.or(arrival),
        }
    }

    /// Packets and bytes that wait.
    pub(super) fn waiting(&self) -> (u64, u64) {
        (self.queue.packets(), self.queue.bytes())
    }

    /// Packets here that are not on the wire.
    pub(super) fn inside(&self) -> usize {
        (self.queue.packets() + self.ledger.gone.len()) as usize
    }
}

impl<P: Payload> Link<P> {
    /// [`Link::send`] where there is a discipline.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue(&mut self, now: Time, bytes: u32, order: u64, payload: P) -> Admission {
        // As with drop-tail: what arrives at the very moment finds that the packet before it has left, and the next one chosen.
        while let Some(free) = self.active.as_ref().and_then(|active| active.free)
            && free.time <= now
        {
            self.transmit(free);
        }
        let Some(active) = &mut self.active else { return Admission::DroppedFull };
        active.now = now;
        active.queue.enqueue(Waiting { payload, bytes, order, since: now }, &mut active.ledger);
        self.counters.accepted += 1;
        self.counters.accepted_bytes += u64::from(bytes);
        if active.free.is_none() {
            self.transmit(Key { time: now, order });
        }
        if let Some(active) = &self.active {
            self.counters.max_queue_packets = self.counters.max_queue_packets.max(active.queue.packets());
        }
        // A drop, or the packet itself: what comes next is seldom what it was.
        Admission::First
    }

    /// The transmitter is free: the next packet, if there is one.
    fn transmit(&mut self, moment: Key) {
        let Some(active) = &mut self.active else { return };
        active.free = None;
        let now = moment.time;
        // Where capacity is a recording the transmitter is free only when the next opportunity comes.
        let start = self.service.start(now);
        if start > now && active.queue.packets() > 0 {
            active.free = Some(Key { time: start, ..moment });
            return;
        }
        let Some(packet) = active.queue.dequeue(now, &mut active.ledger) else { return };
        active.report.sojourn.add(now.since(packet.since));
        let departure = self.service.serve(packet.bytes);
        active.free = Some(Key { time: departure, order: packet.order });
        let _ = self.put_on_wire(departure, packet.bytes, packet.order, packet.payload);
    }

    /// What is to be done before the next arrival, if anything.
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

    /// What the link's discipline did; `None` if it is drop-tail.
    pub fn report(&self) -> Option<QueueReport> {
        let active = self.active.as_ref()?;
        Some(QueueReport { counts: active.ledger.counts, ..active.report.clone() })
    }

    /// Forgets what the discipline did so far; the queue stays.
    pub fn restart_report(&mut self) {
        if let Some(active) = &mut self.active {
            active.report = QueueReport::default();
            active.ledger.counts = Counts::default();
        }
    }
}
