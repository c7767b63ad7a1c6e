//! One sending of one segment on one path.

use core::num::NonZeroU64;
use plait_sched::Time;

/// A transmission of any path, in eight bytes: the path plus one, and 56 bits of its number. An
/// `Option` of it has the same size.
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
    /// From the highest bit: order of sending on its path minus number, 32 bits, which is the
    /// number of retransmissions there meanwhile; bytes (16); number of acknowledgements that
    /// reported it missing (8); marks (8). It is one word, because reading a word just after
    /// writing a part of it stalls.
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

    /// Creates a transmission in flight of `bytes`. With `first_time`, no earlier transmission can
    /// be confused with it.
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
    pub(super) fn set_state(&mut self, state: TransmissionState) {
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

    /// True if it is in flight, was sent once, and left behind the one at `place` in the order of
    /// sending.
    #[inline]
    pub(crate) fn is_after(&self, place: u64, number: u64) -> bool {
        self.is_in_flight() && self.first_time() && self.order(number) >= place
    }

    /// True if no earlier transmission can be confused with it, so its acknowledgement gives a
    /// round-trip sample (Karn).
    #[inline]
    pub(crate) fn first_time(&self) -> bool {
        self.has(Self::FIRST_TIME)
    }

    /// True if it counts as lost, even if retransmitted since (Linux' scoreboard).
    #[inline]
    pub(crate) fn marked_lost(&self) -> bool {
        self.has(Self::MARKED_LOST)
    }

    pub(crate) fn mark_lost(&mut self, lost: bool) {
        self.set(Self::MARKED_LOST, lost);
    }

    /// True if its retransmission is in flight (Linux' scoreboard).
    #[inline]
    pub(crate) fn resent(&self) -> bool {
        self.has(Self::RESENT)
    }

    pub(crate) fn mark_resent(&mut self, resent: bool) {
        self.set(Self::RESENT, resent);
    }

    pub(super) fn doubt(&mut self) {
        self.set(Self::DOUBTFUL, true);
    }

    /// Notes that its segment was also sent another time, so it gives no round-trip sample on its
    /// path.
    #[inline]
    pub(crate) fn is_doubtful(&self) -> bool {
        self.has(Self::DOUBTFUL)
    }

    /// It is sent once more, as the one of that place in the order of sending.
    pub(super) fn repeat(&mut self, now: Time, order: u64, number: u64) {
        self.sent_at = now;
        self.set_order(order, number);
        self.set(Self::FIRST_TIME, false);
    }

    #[inline]
    pub(super) fn set_order(&mut self, order: u64, number: u64) {
        self.rest = self.rest & u64::from(u32::MAX) | order.wrapping_sub(number) << SHIFT;
        debug_assert_eq!(self.order(number), order, "too many were sent again");
    }
}
