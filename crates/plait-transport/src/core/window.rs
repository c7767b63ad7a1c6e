//! The receiver's window at the sender.

use super::{Core, stream::Stream};
use plait_sched::Scheduler;

/// Rule by which a protocol counts the receiver's window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WindowRule {
    /// SCTP: the advertised bytes are a credit for all outstanding data, at any place in the
    /// stream; buffered data may shrink the credit.
    Credit,
    /// TCP: the window is relative to the cumulative (data) acknowledgement, so it ends at a stream
    /// offset.
    Offset,
    /// QUIC: the window ends at a stream offset and never shrinks. No data may be sent beyond it,
    /// not even as a window probe (RFC 9000 §4.1).
    Limit,
}

/// The receiver's window as the sender knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendWindow {
    pub(super) rule: WindowRule,
    /// Credit: the last advertised window. Offset: the stream offset of the window's end.
    advertised: u64,
    /// Counted bytes sent and not acknowledged (Offset: not cumulatively acknowledged).
    outstanding: u64,
}

impl SendWindow {
    pub(crate) fn new(rule: WindowRule, advertised: u64) -> Self {
        Self { rule, advertised, outstanding: 0 }
    }

    /// Adds counted bytes that were sent for the first time.
    pub(crate) fn sent(&mut self, counted: u64) {
        self.outstanding += counted;
    }

    /// Removes counted bytes that are no longer outstanding.
    pub(crate) fn acknowledged(&mut self, counted: u64) {
        self.outstanding -= counted;
    }

    /// True if the window admits unsent data: `bytes` bytes at stream offset `offset`, which count
    /// as `counted`.
    #[inline]
    pub(super) fn admits(&self, offset: u64, bytes: u32, counted: u64) -> bool {
        match self.rule {
            WindowRule::Credit => self.outstanding + counted <= self.advertised,
            WindowRule::Offset | WindowRule::Limit => offset + u64::from(bytes) <= self.advertised,
        }
    }

    /// True if a segment may leave regardless of the window, because otherwise the sender would not
    /// learn that it has opened: a window probe (RFC 9260 §6.1 A).
    #[inline]
    pub(super) fn is_probed(&self) -> bool {
        self.is_idle() && self.rule != WindowRule::Limit
    }

    /// Returns the last advertised window: a credit, or the offset of its end.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.advertised
    }

    /// Sets the advertised window.
    #[inline]
    pub(crate) fn set(&mut self, advertised: u64) {
        self.advertised = advertised;
    }

    /// True if nothing is outstanding.
    pub(crate) fn is_idle(&self) -> bool {
        self.outstanding == 0
    }

    /// Moves the end of the window to `offset`, unless it already ends further on: it never
    /// shrinks. Returns true if it moved.
    pub(crate) fn extend(&mut self, offset: u64) -> bool {
        let moves = self.advertised < offset;
        self.advertised = self.advertised.max(offset);
        moves
    }
}

impl<S: Scheduler, R> Core<S, R> {
    /// True if the window admits `segment`, which was not sent yet.
    pub(crate) fn admits(&self, segment: u64) -> bool {
        let Some(entry) = self.stream.get(segment) else { return false };
        self.window.admits(entry.offset, entry.bytes(), self.counted(entry.bytes()))
    }

    /// Returns the end of the window if only the window blocks the sender: all sent data is
    /// acknowledged, and the next segment lies beyond the window.
    pub(crate) fn blocked_at(&self) -> Option<u64> {
        if !self.window.is_idle() {
            return None;
        }
        (!self.admits_unsent(self.stream.first())?).then_some(self.window.advertised)
    }

    /// Returns whether the window admits an unsent segment, which may still be uncut. Returns
    /// `None` if there is no such segment.
    pub(super) fn admits_unsent(&self, segment: u64) -> Option<bool> {
        let cut = self.stream.get(segment).map(|entry| (entry.offset, entry.bytes()));
        let (offset, bytes) =
            cut.or_else(|| Some((self.stream.frontier_offset(), self.stream.next_bytes()?)))?;
        Some(self.window.admits(offset, bytes, self.counted(bytes)))
    }

    /// True if the window that was advertised on this path admits `segment`. Windows of other paths
    /// also count, from the segment's offset on (`mptcp_check_allowed_size` in
    /// net/mptcp/protocol.c).
    pub(crate) fn admits_on(&self, index: usize, segment: u64) -> bool {
        let path = &self.paths[index];
        let span = path.flight.span_bytes();
        if path.own_window == u64::MAX || span == 0 {
            return true;
        }
        let Some(entry) = self.stream.get(segment) else { return false };
        let left = self.window.advertised.saturating_sub(entry.offset);
        span + u64::from(entry.bytes()) <= path.own_window.max(left)
    }

    /// True if a short segment may fill the rest of the receiver's window. Probes of a closed
    /// window are full segments, as is data beyond the window.
    pub(super) fn fills_window(&self) -> bool {
        let is_closed = || self.window.end() <= self.stream.frontier_offset();
        self.fills_window && !(self.window.is_probed() && is_closed())
    }

    /// Returns the number of segments that the window still admits, less those in path queues. All
    /// are full, except one that [fills](Core::fills_window) the window.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn window_segments(&self) -> u64 {
        let window = &self.window;
        match window.rule {
            WindowRule::Credit => (window.advertised.saturating_sub(window.outstanding)
                / self.config.counted_segment())
            .saturating_sub(self.queued_segments),
            // Queued segments lie below the unassigned data, so they are not counted twice.
            WindowRule::Offset | WindowRule::Limit => {
                left_to(&self.stream, window.advertised, self.config.segment_bytes, self.fills_window())
            }
        }
    }
}

/// Returns the number of unassigned segments up to `offset`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn left_to(stream: &Stream, offset: u64, segment_bytes: u32, fills: bool) -> u64 {
    let (left, full) = (offset.saturating_sub(stream.frontier_offset()), u64::from(segment_bytes));
    let fresh = if fills { left.div_ceil(full) } else { left / full };
    stream.recalled_up_to(offset) + fresh
}
