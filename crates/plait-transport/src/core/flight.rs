//! The transmissions of one path, in the order in which they were sent.

use crate::effort::Effort;
use crate::ring::Ring;
use core::num::NonZeroU64;
use plait_sched::Time;

/// A transmission of any path, in eight bytes, none of them included: the path plus one, and 56 bits of its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TransmissionId(NonZeroU64);

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

/// One sending of one segment on one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transmission {
    pub(crate) segment: u64,
    pub(crate) sent_at: Time,
    /// Its place in the order of sending on its path.
    pub(crate) order: u64,
    /// Bytes that count against the congestion window.
    pub(crate) bytes: u32,
    pub(crate) state: TransmissionState,
    /// How many acknowledgements reported it missing.
    pub(crate) missing: u8,
    /// Nothing that was sent before can be taken for it: its acknowledgement tells a round trip (Karn).
    pub(crate) first_time: bool,
    /// It counts as lost, whether or not it was sent again since (Linux' scoreboard).
    pub(crate) marked_lost: bool,
    /// It was sent again and that is in flight (Linux' scoreboard).
    pub(crate) resent: bool,
    /// The same segment, in flight elsewhere (only after a reinjection).
    pub(crate) earlier: Option<TransmissionId>,
}

impl Transmission {
    pub(crate) fn is_in_flight(&self) -> bool {
        self.state == TransmissionState::InFlight
    }
}

/// A path's transmissions from the oldest that is still in flight on; numbered per path from 0.
///
/// The order of sending, not of sequence numbers, is what acknowledgements and losses are judged by: a path delivers in
/// order, whatever a scheduler put on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    ring: Ring<Transmission>,
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

impl Flight {
    pub(crate) fn new(keeps_lost: bool) -> Self {
        Self { keeps_lost, ..Self::default() }
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
        self.ring.first()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Transmission> {
        self.effort.look();
        self.ring.get(number)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Transmission> {
        self.effort.look();
        self.ring.get_mut(number)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn push(&mut self, transmission: Transmission) -> u64 {
        self.segments += 1;
        self.bytes += u64::from(transmission.bytes);
        self.span += u64::from(transmission.bytes);
        self.ring.push(transmission)
    }

    /// A number is used for something that is not kept track of.
    pub(crate) fn skip(&mut self) -> u64 {
        let number = self.ring.push(Transmission {
            segment: 0,
            sent_at: Time::ZERO,
            order: 0,
            bytes: 0,
            state: TransmissionState::Acknowledged,
            missing: 0,
            first_time: false,
            marked_lost: false,
            resent: false,
            earlier: None,
        });
        self.forget_settled(number);
        number
    }

    /// Takes a transmission out of the flight. Returns it as it was, and whether it was the oldest in flight; `None`
    /// if it had left before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn leave(&mut self, number: u64, state: TransmissionState) -> Option<(Transmission, bool)> {
        let entry = self.get_mut(number)?;
        if entry.state != TransmissionState::InFlight {
            return None;
        }
        let before = *entry;
        entry.state = state;
        self.segments -= 1;
        self.bytes -= u64::from(before.bytes);
        self.lost += u32::from(self.keeps_lost && state == TransmissionState::Lost);
        Some((before, self.forget_settled(number)))
    }

    /// A transmission that was considered lost is acknowledged after all: returns it as it was.
    pub(crate) fn revive(&mut self, number: u64) -> Option<Transmission> {
        let entry = self.get_mut(number).filter(|entry| entry.state == TransmissionState::Lost)?;
        let before = *entry;
        entry.state = TransmissionState::Acknowledged;
        self.lost = self.lost.saturating_sub(1);
        self.forget_settled(number);
        Some(before)
    }

    /// A lost transmission is sent again under the same number.
    pub(crate) fn resend(&mut self, now: Time, order: u64, number: u64) -> Option<Transmission> {
        let entry = self.get_mut(number).filter(|entry| entry.state == TransmissionState::Lost)?;
        entry.state = TransmissionState::InFlight;
        entry.sent_at = now;
        entry.order = order;
        entry.first_time = false;
        let sent = *entry;
        self.segments += 1;
        self.lost = self.lost.saturating_sub(1);
        self.bytes += u64::from(sent.bytes);
        Some(sent)
    }

    /// A transmission that was considered lost is in flight after all.
    pub(crate) fn restore(&mut self, number: u64) {
        let Some(entry) = self.get_mut(number).filter(|entry| entry.state == TransmissionState::Lost) else {
            return;
        };
        entry.state = TransmissionState::InFlight;
        let bytes = u64::from(entry.bytes);
        self.segments += 1;
        self.bytes += bytes;
        self.lost = self.lost.saturating_sub(1);
    }

    /// A transmission in flight is sent once more, and in flight once.
    pub(crate) fn repeat(&mut self, now: Time, order: u64, number: u64) -> Option<Transmission> {
        let entry = self.get_mut(number).filter(|entry| entry.state == TransmissionState::InFlight)?;
        (entry.sent_at, entry.order, entry.first_time) = (now, order, false);
        Some(*entry)
    }

    /// Drops what is settled from the head; true if `number` was the oldest.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn forget_settled(&mut self, number: u64) -> bool {
        let was_oldest = number == self.ring.first();
        let keeps_lost = self.keeps_lost;
        let settled = |state| match state {
            TransmissionState::InFlight => false,
            TransmissionState::Lost => !keeps_lost,
            TransmissionState::Acknowledged => true,
        };
        while let Some(front) = self.ring.front().filter(|transmission| settled(transmission.state)) {
            self.span -= u64::from(front.bytes);
            self.ring.pop_front();
        }
        was_oldest
    }
}
