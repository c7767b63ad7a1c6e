//! The transmissions of one path, in the order in which they were sent.

use super::CoreRules;
use super::rate::DeliverySampler;
use super::transmission::{Transmission, TransmissionId, TransmissionState};
use crate::congestion::RateSample;
use crate::effort::Effort;
use crate::ring::{Ring, fetch_beyond};
use plait_sched::Time;
use std::collections::VecDeque;

/// Transmissions of a path, from the oldest in flight on, numbered per path from 0.
///
/// Acknowledgements and losses are judged by the order of sending, not of sequence numbers: a path
/// delivers in order under any scheduler.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    /// From the oldest that is needed on.
    ring: Ring<Transmission>,
    /// Number of the oldest transmission in flight; earlier ones are only remembered.
    first: u64,
    /// True if settled transmissions stay in the ring until [`Flight::forget_below`].
    remembers: bool,
    /// For transmissions that are copies, by ascending number: the earlier copy in flight
    /// elsewhere.
    earlier: VecDeque<(u64, Option<TransmissionId>)>,
    segments: u32,
    bytes: u64,
    /// Bytes of all transmissions from the oldest in flight on, in any state.
    span: u64,
    /// Lost ones that are kept.
    lost: u32,
    effort: Effort,
    /// Samples of the delivery rate, if congestion control asks for them.
    sampler: Option<Box<DeliverySampler>>,
    /// True if a lost transmission keeps its number until it is acknowledged: a subflow's sequence
    /// space has no holes.
    keeps_lost: bool,
}

impl Flight {
    pub(crate) fn new(rules: &CoreRules) -> Self {
        let (keeps_lost, remembers) = (rules.lost_keep_numbers, rules.settled_are_remembered);
        Self { keeps_lost, remembers, ..Self::default() }
    }

    /// Whether settled transmissions are remembered until the protocol releases them.
    pub(super) fn remembers_settled(&self) -> bool {
        self.remembers
    }

    /// Starts sampling the delivery rate. Each packet counts `packet` bytes, or its own size if
    /// that is 0.
    pub(super) fn sample_rates(&mut self, packet: u64) {
        self.sampler = Some(Box::new(DeliverySampler::new(packet)));
    }

    /// The sample of the delivery rate of the acknowledgement that was read.
    pub(super) fn take_sample(&mut self, now: Time) -> RateSample {
        let first = self.first;
        self.sampler.as_mut().map_or_else(RateSample::default, |sampler| {
            sampler.forget_below(first);
            sampler.take(now)
        })
    }

    /// The sender, and not the path, limits the flight: `counted` bytes are in flight.
    pub(super) fn mark_limited(&mut self, counted: u64) {
        if let Some(sampler) = &mut self.sampler {
            sampler.mark_limited(counted);
        }
    }

    /// A needless retransmission was delivered, as Linux counts it.
    pub(crate) fn note_duplicate(&mut self, bytes: u32) {
        if let Some(sampler) = &mut self.sampler {
            sampler.note_duplicate(bytes);
        }
    }

    /// True if samples are limited by the sender now.
    pub(super) fn is_limited(&self) -> bool {
        self.sampler.as_ref().is_some_and(|sampler| sampler.is_limited())
    }

    /// Segments in flight.
    pub(crate) fn segments(&self) -> u32 {
        self.segments
    }

    /// Bytes in flight.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes from the first transmission in the flight to the last, in any state.
    pub(crate) fn span_bytes(&self) -> u64 {
        self.span
    }

    /// Number of lost transmissions that keep their number and wait for retransmission.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Number of accesses to transmissions, see [`Effort`].
    pub(crate) fn looks(&self) -> u64 {
        self.effort.looks()
    }

    /// The number that the next transmission will get.
    pub(crate) fn next(&self) -> u64 {
        self.ring.next()
    }

    /// The number of the oldest transmission in flight, or if lost ones are kept, not acknowledged.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<&Transmission> {
        self.effort.look();
        if number < self.first { None } else { self.ring.get(number) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Transmission> {
        self.effort.look();
        if number < self.first { None } else { self.ring.get_mut(number) }
    }

    /// The transmission, whether or not it has left the flight, if it is remembered.
    #[inline]
    pub(crate) fn remembered(&self, number: u64) -> Option<&Transmission> {
        self.ring.get(number)
    }

    /// Forgets settled transmissions that were sent before this number.
    #[inline]
    pub(crate) fn forget_below(&mut self, number: u64) {
        self.ring.forget_below(self.first.min(number));
    }

    #[inline(never)]
    fn forget_copies(&mut self) {
        while self.earlier.front().is_some_and(|&(copy, _)| copy < self.first) {
            self.earlier.pop_front();
        }
    }

    /// The segment of this transmission is sent another time, on whichever path.
    pub(crate) fn doubt(&mut self, number: u64) {
        if let Some(entry) = self.ring.get_mut(number) {
            entry.doubt();
        }
    }

    /// Adds a transmission with its place in the order of sending, and the transmission of which it
    /// is a copy.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn push(
        &mut self,
        mut transmission: Transmission,
        order: u64,
        earlier: Option<TransmissionId>,
    ) -> u64 {
        self.segments += 1;
        self.bytes += u64::from(transmission.bytes());
        self.span += u64::from(transmission.bytes());
        transmission.set_order(order, self.ring.next());
        if let Some(sampler) = &mut self.sampler {
            sampler.note_sent(transmission.sent_at, self.ring.next(), self.ring.next() == self.first);
        }
        let number = self.ring.push(transmission);
        if earlier.is_some() {
            self.earlier.push_back((number, earlier));
        }
        number
    }

    /// The earlier copy of the segment that is in flight elsewhere (only after a reinjection).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn earlier(&self, number: u64) -> Option<TransmissionId> {
        if self.earlier.is_empty() { None } else { self.find_earlier(number) }
    }

    #[inline(never)]
    fn find_earlier(&self, number: u64) -> Option<TransmissionId> {
        let place = self.earlier.binary_search_by_key(&number, |&(copy, _)| copy).ok()?;
        self.earlier.get(place)?.1
    }

    /// Links this reinjection to the earlier copy that is still in flight, or unlinks it.
    pub(crate) fn set_earlier(&mut self, number: u64, earlier: Option<TransmissionId>) {
        let place = self.earlier.binary_search_by_key(&number, |&(copy, _)| copy);
        if let Some(entry) = place.ok().and_then(|place| self.earlier.get_mut(place)) {
            entry.1 = earlier;
        }
    }

    /// A number is used, at this moment, for something that is not kept track of.
    pub(crate) fn skip(&mut self, now: Time) -> u64 {
        let mut nothing = Transmission::default();
        nothing.sent_at = now;
        nothing.set_state(TransmissionState::Acknowledged);
        let number = self.ring.push(nothing);
        self.forget_settled(number);
        number
    }

    /// Takes a transmission out of the flight. Returns its record before the change, and whether it
    /// was the oldest in flight. Returns `None` if it had left before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn leave(&mut self, number: u64, state: TransmissionState) -> Option<(Transmission, bool)> {
        let entry = self.get_mut(number)?;
        if !entry.is_in_flight() {
            return None;
        }
        let before = *entry;
        entry.set_state(state);
        if state == TransmissionState::Acknowledged
            && let Some(sampler) = &mut self.sampler
        {
            sampler.note_delivered(number, before.bytes());
        }
        self.segments -= 1;
        self.bytes -= u64::from(before.bytes());
        self.lost += u32::from(self.keeps_lost && state == TransmissionState::Lost);
        Some((before, self.forget_settled(number)))
    }

    /// A transmission that was considered lost is acknowledged after all: returns it as it was.
    pub(crate) fn revive(&mut self, number: u64) -> Option<Transmission> {
        let entry = self.get_mut(number).filter(|entry| entry.state() == TransmissionState::Lost)?;
        let before = *entry;
        entry.set_state(TransmissionState::Acknowledged);
        if let Some(sampler) = &mut self.sampler {
            sampler.note_delivered(number, before.bytes());
        }
        self.lost = self.lost.saturating_sub(1);
        self.forget_settled(number);
        Some(before)
    }

    /// Puts a lost transmission back in flight under the same number, for its retransmission.
    pub(crate) fn resend(&mut self, now: Time, order: u64, number: u64) -> Option<Transmission> {
        let entry = self.get_mut(number).filter(|entry| entry.state() == TransmissionState::Lost)?;
        entry.set_state(TransmissionState::InFlight);
        entry.repeat(now, order, number);
        let sent = *entry;
        self.note_repeated(now, number);
        self.segments += 1;
        self.lost = self.lost.saturating_sub(1);
        self.bytes += u64::from(sent.bytes());
        Some(sent)
    }

    /// Reports a retransmission to the sampler of the delivery rate.
    #[inline]
    fn note_repeated(&mut self, now: Time, number: u64) {
        if let Some(sampler) = &mut self.sampler {
            sampler.note_sent(now, number, false);
        }
    }

    /// A transmission that was considered lost is in flight after all.
    pub(crate) fn restore(&mut self, number: u64) {
        let Some(entry) = self.get_mut(number).filter(|entry| entry.state() == TransmissionState::Lost)
        else {
            return;
        };
        entry.set_state(TransmissionState::InFlight);
        let bytes = u64::from(entry.bytes());
        self.segments += 1;
        self.bytes += bytes;
        self.lost = self.lost.saturating_sub(1);
    }

    /// A transmission in flight is sent once more, and in flight once.
    pub(crate) fn repeat(&mut self, now: Time, order: u64, number: u64) -> Option<Transmission> {
        let entry = self.get_mut(number).filter(|entry| entry.state() == TransmissionState::InFlight)?;
        entry.repeat(now, order, number);
        let sent = *entry;
        self.note_repeated(now, number);
        Some(sent)
    }

    /// Drops settled transmissions from the head; true if `number` was the oldest.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn forget_settled(&mut self, number: u64) -> bool {
        // The oldest one is never settled.
        if number != self.first {
            return false;
        }
        let keeps_lost = self.keeps_lost;
        let settled = |state| match state {
            TransmissionState::InFlight => false,
            TransmissionState::Lost => !keeps_lost,
            TransmissionState::Acknowledged => true,
        };
        while let Some(oldest) = self.ring.get(self.first)
            && settled(oldest.state())
        {
            self.span -= u64::from(oldest.bytes());
            fetch_beyond(oldest);
            self.first += 1;
            if !self.remembers {
                self.ring.drop_front();
            }
        }
        if !self.earlier.is_empty() {
            self.forget_copies();
        }
        true
    }
}
