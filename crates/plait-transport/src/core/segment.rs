//! A segment of the stream, from its assignment to its cumulative acknowledgement.

use super::transmission::TransmissionId;
use plait_sched::{PathId, PathSet};

/// State of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum SegmentState {
    /// Taken back from a path queue. Will be assigned again.
    #[default]
    Recalled,
    /// In the queue of a path, not sent yet.
    Queued,
    /// Sent; see [`StreamSegment::newest`].
    InFlight,
    /// Considered lost. Waits for its retransmission.
    Lost,
    /// Received by the peer.
    Acknowledged,
}

/// A segment from its assignment to its cumulative acknowledgement. There is one for each packet in
/// flight, so it is small.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamSegment {
    /// The newest transmission. Before the first one, only its path is valid: the path whose queue
    /// holds the segment.
    pub(crate) newest: TransmissionId,
    /// Offset of the segment in the stream, in payload bytes.
    pub(crate) offset: u64,
    /// From the highest bit: payload bytes (16); the number plus one of the path that the segment
    /// [waits on](StreamSegment::waits_on), or 0 (8); flags (5); its state (3).
    rest: u32,
}

const _: () = assert!(size_of::<StreamSegment>() <= 24, "packets in flight are many");

const BYTES: u32 = 16;
const WAITS_ON: u32 = 8;

impl StreamSegment {
    const STATE: u32 = 7;
    const EVER_SENT: u32 = 8;
    const FAST_RETRANSMITTED: u32 = 16;
    /// In flight on the path of the newest transmission.
    const CARRIED: u32 = 32;
    /// Several paths are involved. The stream keeps these in [`Spread`].
    const SPREAD: u32 = 64;
    /// Copied by a call of [`crate::endpoint::Endpoint::copy`].
    const COPIED: u32 = 128;

    /// Creates a segment of `bytes` bytes at `offset` of the stream. The path sends it at once, or
    /// has it in its queue.
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

    /// Returns the payload bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.rest >> BYTES
    }

    /// Adds payload bytes.
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

    /// Returns the paths involved, if these are at most the path of the newest transmission.
    #[cfg_attr(not(debug_assertions), inline(always))]
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

    /// True if `path` is the only path involved once the segment is sent there.
    #[inline]
    pub(super) fn stays_alone(&self, path: PathId) -> bool {
        self.rest & Self::SPREAD == 0 && (!self.ever_sent() || self.newest.path() == path.0)
    }

    /// Records that several paths are involved, which the stream's [`Spread`] lists.
    pub(super) fn mark_spread(&mut self) {
        self.rest |= Self::SPREAD;
    }

    /// Records that the segment is no longer in flight on `path`. Returns false if the stream's
    /// [`Spread`] must record it.
    #[inline]
    pub(super) fn leave(&mut self, path: PathId) -> bool {
        let alone = self.rest & Self::SPREAD == 0;
        if alone && self.newest.path() == path.0 {
            self.rest &= !Self::CARRIED;
        }
        alone
    }

    /// True if any path has fast retransmitted the segment.
    #[inline]
    pub(super) fn fast_retransmitted(&self) -> bool {
        self.rest & Self::FAST_RETRANSMITTED != 0
    }

    pub(super) fn mark_fast_retransmitted(&mut self) {
        self.rest |= Self::FAST_RETRANSMITTED;
    }

    /// True if the segment was ever copied by a call.
    #[inline]
    pub(super) fn is_copied(&self) -> bool {
        self.rest & Self::COPIED != 0
    }

    pub(super) fn mark_copied(&mut self) {
        self.rest |= Self::COPIED;
    }

    /// For a lost segment: the only path that may retransmit it, if there is such a restriction.
    #[inline]
    pub(crate) fn waits_on(&self) -> Option<PathId> {
        ((self.rest >> WAITS_ON) as u8).checked_sub(1).map(PathId)
    }

    pub(crate) fn wait_on(&mut self, path: Option<PathId>) {
        let waits_on = path.map_or(0, |path| u32::from(path.0) + 1);
        self.rest = self.rest & !(0xff << WAITS_ON) | waits_on << WAITS_ON;
    }
}

/// The paths involved with a segment. Most segments are sent once and need no such entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    /// Paths on which the segment is in flight.
    pub(crate) carried: PathSet,
    /// Paths on which the segment was ever sent.
    pub(crate) tried: PathSet,
    /// Paths with a waiting copy of the segment in their queue.
    pub(crate) copies: PathSet,
    /// Paths that fast retransmitted the segment.
    pub(crate) fast_retransmitted: PathSet,
}
