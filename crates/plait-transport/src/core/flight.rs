//! The transmissions of one path, in the order in which they were sent.

use super::CoreRules;
use crate::effort::Effort;
use crate::ring::{Ring, fetch_beyond};
use core::num::NonZeroU64;
use plait_sched::Time;
use std::collections::VecDeque;

/// A transmission of any path, in eight bytes, none of them included: the path plus one, and 56 bits of its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TransmissionId(NonZeroU64);

impl Default for TransmissionId {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl TransmissionId {
    const BITS: u32 = 56;

    #[inline]
    pub(crate) fn new(path: u8, number: u64) -> Self {
        debug_assert!(number >> Self::BITS == 0, "transmission {number}");
        let packed = (u64::from(path) + 1) << Self::BITS | number;
        Self(NonZeroU64::new(packed).unwrap_or(NonZeroU64::MIN))
    }

    #[inline]
    pub(crate) fn path(self) -> u8 {
        (self.0.get() >> Self::BITS) as u8 - 1
    }

    #[inline]
    pub(crate) fn number(self) -> u64 {
        self.0.get() & ((1 << Self::BITS) - 1)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TransmissionState {
    #[default]
    InFlight,
    Acknowledged,
    Lost,
}

/// One sending of one segment on one path. There is one for each packet in flight, so it is small.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transmission {
    pub(crate) segment: u64,
    pub(crate) sent_at: Time,
    /// From the highest bit: its place in the order of sending on its path less its number (32 bits), which is how much was sent again
    /// there meanwhile; bytes (16); how many acknowledgements reported it missing (8); marks (8). One word, since a part of one that
    /// was just written is read late.
    rest: u64,
}

const _: () = assert!(size_of::<Transmission>() <= 24, "packets in flight are many");

const SHIFT: u32 = 32;
const BYTES: u32 = 16;
const MISSING: u32 = 8;

impl Transmission {
    const ACKNOWLEDGED: u64 = 1;
    const LOST: u64 = 2;
    const FIRST_TIME: u64 = 4;
    const MARKED_LOST: u64 = 8;
    const RESENT: u64 = 16;
    const DOUBTFUL: u64 = 32;

    /// One of so many bytes, which is in flight. `first_time`: nothing that was sent before can be taken for it.
    #[inline]
    pub(crate) fn new(now: Time, segment: u64, bytes: u32, first_time: bool) -> Self {
        debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
        let marks = if first_time { Self::FIRST_TIME } else { 0 };
        Self { segment, sent_at: now, rest: u64::from(bytes) << BYTES | marks }
    }

    #[inline]
    fn has(&self, mark: u64) -> bool {
        self.rest & mark != 0
    }

    #[inline]
    fn set(&mut self, mark: u64, on: bool) {
        self.rest = if on { self.rest | mark } else { self.rest & !mark };
    }

    #[inline]
    pub(crate) fn state(&self) -> TransmissionState {
        match self.rest & (Self::ACKNOWLEDGED | Self::LOST) {
            0 => TransmissionState::InFlight,
            Self::LOST => TransmissionState::Lost,
            _ => TransmissionState::Acknowledged,
        }
    }

    #[inline]
    fn set_state(&mut self, state: TransmissionState) {
        let mark = match state {
            TransmissionState::InFlight => 0,
            TransmissionState::Acknowledged => Self::ACKNOWLEDGED,
            TransmissionState::Lost => Self::LOST,
        };
        self.rest = self.rest & !(Self::ACKNOWLEDGED | Self::LOST) | mark;
    }

    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.rest & (Self::ACKNOWLEDGED | Self::LOST) == 0
    }

    /// Bytes that count against the congestion window.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        u32::from((self.rest >> BYTES) as u16)
    }

    /// How many acknowledgements reported it missing, up to 255.
    #[inline]
    pub(crate) fn missing(&self) -> u8 {
        (self.rest >> MISSING) as u8
    }

    /// So many more acknowledgements report it missing.
    pub(crate) fn report_missing(&mut self, reports: u8) {
        let missing = u64::from(self.missing().saturating_add(reports));
        self.rest = self.rest & !(0xff << MISSING) | missing << MISSING;
    }

    /// Its place in the order of sending on its path, where `number` is its number.
    #[inline]
    pub(crate) fn order(&self, number: u64) -> u64 {
        number.wrapping_add_signed(self.rest as i64 >> SHIFT)
    }

    /// Nothing that was sent before can be taken for it: its acknowledgement tells a round trip (Karn).
    #[inline]
    pub(crate) fn first_time(&self) -> bool {
        self.has(Self::FIRST_TIME)
    }

    /// It counts as lost, whether or not it was sent again since (Linux' scoreboard).
    #[inline]
    pub(crate) fn marked_lost(&self) -> bool {
        self.has(Self::MARKED_LOST)
    }

    pub(crate) fn mark_lost(&mut self, lost: bool) {
        self.set(Self::MARKED_LOST, lost);
    }

    /// It was sent again and that is in flight (Linux' scoreboard).
    #[inline]
    pub(crate) fn resent(&self) -> bool {
        self.has(Self::RESENT)
    }

    pub(crate) fn mark_resent(&mut self, resent: bool) {
        self.set(Self::RESENT, resent);
    }

    /// Its segment was sent another time, too: it tells no round trip there and back on its path.
    #[inline]
    pub(crate) fn is_doubtful(&self) -> bool {
        self.has(Self::DOUBTFUL)
    }

    /// It is sent once more, as the one of that place in the order of sending.
    fn repeat(&mut self, now: Time, order: u64, number: u64) {
        self.sent_at = now;
        self.set_order(order, number);
        self.set(Self::FIRST_TIME, false);
    }

    #[inline]
    fn set_order(&mut self, order: u64, number: u64) {
        self.rest = self.rest & u64::from(u32::MAX) | order.wrapping_sub(number) << SHIFT;
        debug_assert_eq!(self.order(number), order, "too many were sent again");
    }
}

/// A path's transmissions from the oldest that is still in flight on; numbered per path from 0.
///
/// The order of sending, not of sequence numbers, is what acknowledgements and losses are judged by: a path delivers in
/// order, whatever a scheduler put on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    /// From the oldest that is needed on.
    ring: Ring<Transmission>,
    /// The number of the oldest in flight; what is before it is remembered.
    first: u64,
    /// What is remembered begins here, or with the oldest in flight.
    needed: u64,
    /// Of those that are copies, in the order of their numbers: the same segment, in flight elsewhere before.
    earlier: VecDeque<(u64, TransmissionId)>,
    segments: u32,
    bytes: u64,
    /// Bytes of all in the ring.
    span: u64,
    /// Lost ones that are kept.
    lost: u32,
    effort: Effort,
    /// A lost transmission keeps its number until it is acknowledged: a subflow's sequence space has no holes.
    keeps_lost: bool,
}

/// Nothing is remembered of what has left the flight.
const NOTHING: u64 = u64::MAX;

impl Flight {
    pub(crate) fn new(rules: &CoreRules) -> Self {
        let needed = if rules.settled_are_remembered { 0 } else { NOTHING };
        Self { keeps_lost: rules.lost_keep_numbers, needed, ..Self::default() }
    }

    /// Segments in flight.
    pub(crate) fn segments(&self) -> u32 {
        self.segments
    }

    /// Bytes in flight.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes from the first transmission that is here to the last, whatever became of them.
    pub(crate) fn span_bytes(&self) -> u64 {
        self.span
    }

    /// Lost transmissions that keep their number and wait to be sent again.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// How often a transmission was looked at, see [`Effort`].
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

    /// What has left the flight and was sent before this one is not needed any more.
    #[inline]
    pub(crate) fn forget_below(&mut self, number: u64) {
        self.needed = number;
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
            entry.set(Transmission::DOUBTFUL, true);
        }
    }

    /// Adds the one with this place in the order of sending, and the transmission of which it is a copy.
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
        let number = self.ring.push(transmission);
        if let Some(earlier) = earlier {
            self.earlier.push_back((number, earlier));
        }
        number
    }

    /// The same segment, in flight elsewhere before (only after a reinjection).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn earlier(&self, number: u64) -> Option<TransmissionId> {
        if self.earlier.is_empty() { None } else { self.find_earlier(number) }
    }

    #[inline(never)]
    fn find_earlier(&self, number: u64) -> Option<TransmissionId> {
        let place = self.earlier.binary_search_by_key(&number, |&(copy, _)| copy).ok()?;
        self.earlier.get(place).map(|&(_, earlier)| earlier)
    }

    /// The transmission, a copy, is one of another transmission from now on, or of none.
    pub(crate) fn set_earlier(&mut self, number: u64, earlier: Option<TransmissionId>) {
        let Ok(place) = self.earlier.binary_search_by_key(&number, |&(copy, _)| copy) else { return };
        match (self.earlier.get_mut(place), earlier) {
            (Some(entry), Some(earlier)) => entry.1 = earlier,
            _ => drop(self.earlier.remove(place)),
        }
    }

    /// A number is used for something that is not kept track of.
    pub(crate) fn skip(&mut self) -> u64 {
        let mut nothing = Transmission::default();
        nothing.set_state(TransmissionState::Acknowledged);
        let number = self.ring.push(nothing);
        self.forget_settled(number);
        number
    }

    /// Takes a transmission out of the flight. Returns it as it was, and whether it was the oldest in flight; `None`
    /// if it had left before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn leave(&mut self, number: u64, state: TransmissionState) -> Option<(Transmission, bool)> {
        let entry = self.get_mut(number)?;
        if !entry.is_in_flight() {
            return None;
        }
        let before = *entry;
        entry.set_state(state);
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
        self.lost = self.lost.saturating_sub(1);
        self.forget_settled(number);
        Some(before)
    }

    /// A lost transmission is sent again under the same number.
    pub(crate) fn resend(&mut self, now: Time, order: u64, number: u64) -> Option<Transmission> {
        let entry = self.get_mut(number).filter(|entry| entry.state() == TransmissionState::Lost)?;
        entry.set_state(TransmissionState::InFlight);
        entry.repeat(now, order, number);
        let sent = *entry;
        self.segments += 1;
        self.lost = self.lost.saturating_sub(1);
        self.bytes += u64::from(sent.bytes());
        Some(sent)
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
        Some(*entry)
    }

    /// Drops what is settled from the head; true if `number` was the oldest.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn forget_settled(&mut self, number: u64) -> bool {
        let was_oldest = number == self.first;
        let keeps_lost = self.keeps_lost;
        let settled = |state| match state {
            TransmissionState::InFlight => false,
            TransmissionState::Lost => !keeps_lost,
            TransmissionState::Acknowledged => true,
        };
        while let Some(oldest) = self.ring.get(self.first).filter(|oldest| settled(oldest.state())) {
            self.span -= u64::from(oldest.bytes());
            fetch_beyond(oldest);
            self.first += 1;
            if self.needed == NOTHING {
                self.ring.drop_front();
            }
        }
        if !self.earlier.is_empty() {
            self.forget_copies();
        }
        was_oldest
    }
}
