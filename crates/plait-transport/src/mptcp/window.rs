//! The receiver's window as the sender knows it.

use super::Grant;
use super::grant::first_window;
use super::sender::Sender;
use crate::packet::Ack;
use plait_sched::Scheduler;

/// What came back on a subflow last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// An acknowledgement came after the SYN's answer: the first one is later than that by its own number, so its window counts,
    /// whatever it is (`tcp_may_update_window`).
    acknowledged: bool,
    /// The timestamp to echo.
    pub(super) echo: u32,
}

impl<S: Scheduler> Sender<S> {
    /// The window that the handshake tells.
    pub(super) fn begin_window(&mut self) {
        if self.config.rules.grant == Grant::Free {
            let window = self.config.connection.receive_window;
            let first = first_window(window, self.config.segment_bytes(), self.config.packet_bytes());
            (0..self.core.paths().len()).for_each(|index| self.core.path_mut(index).own_window = first);
            self.core.window_mut().set(first);
        }
    }

    /// The answer to a SYN, or to what confirms a join, tells a window.
    pub(super) fn note_opening(&mut self, index: usize, window: u64, timestamp: u32) {
        if let Some(seen) = self.seen.get_mut(index) {
            seen.echo = timestamp;
            // Where paths have no window of their own, it is endless.
            let path = self.core.path_mut(index);
            path.own_window = path.own_window.max(window);
        }
    }

    /// An acknowledgement tells where the window ends.
    ///
    /// By Linux' rules a subflow remembers the size of its window (`snd_wnd`), which only acknowledgements
    /// that advance on the subflow make smaller (`tcp_may_update_window` in net/ipv4/tcp_input.c). The
    /// connection's ends at that size beyond the data acknowledgement (`ack_update_msk` in
    /// net/mptcp/options.c), which may be further than the receiver granted.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_window(&mut self, index: usize, ack: &Ack) {
        let first = self.core.path(index).flight.first();
        if ack.cumulative >= first {
            self.seen[index].echo = ack.timestamp;
        }
        if self.config.rules.grant != Grant::Free {
            self.core.window_mut().extend(ack.window_end);
            return;
        }
        let path = self.core.path_mut(index);
        let newer = !core::mem::replace(&mut self.seen[index].acknowledged, true);
        if newer
            || ack.cumulative > first
            || ack.cumulative == first && (ack.window > path.own_window || ack.window == 0)
        {
            path.own_window = ack.window;
        }
        let data = ack.window_end.saturating_sub(ack.window);
        let end = data.saturating_add(path.own_window);
        self.core.window_mut().extend(end);
    }

    /// The segment that begins at `offset` of the stream is given to a subflow: what others granted counts on it, too
    /// (`mptcp_check_allowed_size` in net/mptcp/protocol.c).
    pub(super) fn share_window(&mut self, index: usize, offset: u64) {
        let left = self.core.window().end().saturating_sub(offset);
        let path = self.core.path_mut(index);
        path.own_window = path.own_window.max(left);
    }
}
