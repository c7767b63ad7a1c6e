//! A segment of the stream, from its assignment to its cumulative acknowledgement.

use super::transmission::TransmissionId;
use plait_sched::{PathId, PathSet};

/// Where a segment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum SegmentState {
    /// Taken back from a path queue; will be assigned again.
    #[default]
    Recalled,
    /// In the queue of a path, not sent yet.
    Queued,
    /// Sent; see [`StreamSegment::newest`].
    InFlight,
    /// Considered lost; waits to be sent again.
    Lost,
    /// The receiver has it.
    Acknowledged,
}

/// A segment from its assignment to its cumulative acknowledgement. There is one for each packet in flight, so it is small.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamSegment {
    /// The newest transmission; before the first one only its path says something, in whose queue the segment is.
    pub(crate) newest: TransmissionId,
    /// Payload bytes of the stream before it.
    pub(crate) offset: u64,
    /// From the highest bit: payload bytes (16); one more than the path that it [waits on](StreamSegment::waits_on), or 0 (8); marks (5);
    /// its state (3).
    rest: u32,
}

const _: () = assert!(size_of::<StreamSegment>() <= 24, "packets in flight are many");

const BYTES: u32 = 16;
const WAITS_ON: u32 = 8;

impl StreamSegment {
    const STATE: u32 = 7;
    const EVER_SENT: u32 = 8;
    const FAST_RETRANSMITTED: u32 = 16;
    /// The path of the newest transmission carries it.
    const CARRIED: u32 = 32;
    /// Other paths have to do with it, too: which ones is known elsewhere.
    const SPREAD: u32 = 64;
    /// Copied by hand: see [`crate::endpoint::Endpoint::copy`].
    const COPIED: u32 = 128;

    /// One of so many bytes, where `offset` bytes are before it, of a path that sends it at once or has it in its queue.
    #[inline]
    pub(super) fn new(newest: TransmissionId, offset: u64, bytes: u32, sent: bool) -> Self {
        debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
        let marks = if sent {
            SegmentState::InFlight as u32 | Self::EVER_SENT | Self::CARRIED
        } else {
            SegmentState::Queued as u32
        };
        Self { newest, offset, rest: bytes << BYTES | marks }
    }

    #[inline]
    pub(crate) fn state(&self) -> SegmentState {
        const STATES: [SegmentState; 8] = {
            use SegmentState::{Acknowledged, InFlight, Lost, Queued, Recalled};
            [Recalled, Queued, InFlight, Lost, Acknowledged, Recalled, Recalled, Recalled]
        };
        STATES[(self.rest & Self::STATE) as usize]
    }

    #[inline]
    pub(crate) fn set_state(&mut self, state: SegmentState) {
        self.rest = self.rest & !Self::STATE | state as u32;
    }

    /// Payload bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.rest >> BYTES
    }

    /// It has so many bytes more.
    pub(super) fn add(&mut self, bytes: u32) {
        debug_assert!(self.bytes() + bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes more");
        self.rest += bytes << BYTES;
    }

    #[inline]
    pub(crate) fn ever_sent(&self) -> bool {
        self.rest & Self::EVER_SENT != 0
    }

    #[inline]
    pub(super) fn mark_sent(&mut self) {
        self.rest |= Self::EVER_SENT | Self::CARRIED;
    }

    /// The paths that have to do with it, if that is the one of its newest transmission at most.
    #[inline]
    pub(super) fn lone(&self) -> Option<Spread> {
        if self.rest & Self::SPREAD != 0 {
            return None;
        }
        let only = |mark| {
            let mut paths = PathSet::EMPTY;
            if self.rest & mark != 0 {
                paths.insert(PathId(self.newest.path()));
            }
            paths
        };
        Some(Spread {
            carried: only(Self::CARRIED),
            tried: only(Self::EVER_SENT),
            copies: PathSet::EMPTY,
            fast_retransmitted: only(Self::FAST_RETRANSMITTED),
        })
    }

    /// True if only this path has to do with it once it is sent there.
    #[inline]
    pub(super) fn stays_alone(&self, path: PathId) -> bool {
        self.rest & Self::SPREAD == 0 && (!self.ever_sent() || self.newest.path() == path.0)
    }

    /// What has to do with it is known elsewhere from now on.
    pub(super) fn mark_spread(&mut self) {
        self.rest |= Self::SPREAD;
    }

    /// This path carries it no more. False if that is to be noted elsewhere.
    #[inline]
    pub(super) fn leave(&mut self, path: PathId) -> bool {
        let alone = self.rest & Self::SPREAD == 0;
        if alone && self.newest.path() == path.0 {
            self.rest &= !Self::CARRIED;
        }
        alone
    }

    /// True if any path has fast retransmitted it.
    #[inline]
    pub(super) fn fast_retransmitted(&self) -> bool {
        self.rest & Self::FAST_RETRANSMITTED != 0
    }

    pub(super) fn mark_fast_retransmitted(&mut self) {
        self.rest |= Self::FAST_RETRANSMITTED;
    }

    /// True if it was ever copied by hand.
    #[inline]
    pub(super) fn is_copied(&self) -> bool {
        self.rest & Self::COPIED != 0
    }

    pub(super) fn mark_copied(&mut self) {
        self.rest |= Self::COPIED;
    }

    /// While it is lost: the path in whose queue it waits to be sent again, if only that one may.
    #[inline]
    pub(crate) fn waits_on(&self) -> Option<PathId> {
        ((self.rest >> WAITS_ON) as u8).checked_sub(1).map(PathId)
    }

    pub(crate) fn wait_on(&mut self, path: Option<PathId>) {
        let waits_on = path.map_or(0, |path| u32::from(path.0) + 1);
        self.rest = self.rest & !(0xff << WAITS_ON) | waits_on << WAITS_ON;
    }
}

/// The paths that have to do with a segment: most are sent once, and there is nothing to be known of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    /// Those on which it is in flight.
    pub(crate) carried: PathSet,
    /// Those on which it was ever sent.
    pub(crate) tried: PathSet,
    /// Those in whose queue a copy of it waits.
    pub(crate) copies: PathSet,
    /// Those that fast retransmitted it.
    pub(crate) fast_retransmitted: PathSet,
}
