//! The receiver's window as the sender knows it.

use super::Grant;
use super::grant::first_window;
use super::sender::Sender;
use crate::packet::tcp::Ack;
use plait_sched::Scheduler;

/// Last information from the peer on a subflow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// True if an acknowledgement came after the SYN's answer. The number of the first
    /// acknowledgement is newer than that of the answer, so its window counts, even a smaller one
    /// (`tcp_may_update_window`).
    acknowledged: bool,
    /// The timestamp to echo.
    pub(super) echo: u32,
}

impl<S: Scheduler> Sender<S> {
    /// Sets the window of the handshake.
    pub(super) fn begin_window(&mut self) {
        if self.config.rules.grant == Grant::Free {
            let window = self.config.connection.receive_window;
            let first = first_window(window, self.config.segment_bytes(), self.config.packet_bytes());
            (0..self.core.paths.len()).for_each(|index| self.core.paths[index].own_window = first);
            self.core.window.set(first);
        }
    }

    /// Records the window in the answer to a SYN, or to the packet that confirms a join.
    pub(super) fn note_opening(&mut self, index: usize, window: u64, timestamp: u32) {
        if let Some(seen) = self.seen.get_mut(index) {
            seen.echo = timestamp;
            // Where paths have no window of their own, `own_window` is unlimited.
            let path = &mut self.core.paths[index];
            path.own_window = path.own_window.max(window);
        }
    }

    /// Records the end of the window in an acknowledgement.
    ///
    /// By Linux' rules a subflow remembers the size of its window (`snd_wnd`). Only
    /// acknowledgements that advance on the subflow make it smaller (`tcp_may_update_window` in
    /// net/ipv4/tcp_input.c). The connection's window ends at that size beyond the data
    /// acknowledgement (`ack_update_msk` in net/mptcp/options.c), which may be further than the
    /// receiver granted.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_window(&mut self, index: usize, ack: &Ack) {
        let first = self.core.paths[index].flight.first();
        if ack.cumulative >= first {
            self.seen[index].echo = ack.timestamp;
        }
        if self.config.rules.grant != Grant::Free {
            self.core.window.extend(ack.window_end);
            return;
        }
        let path = &mut self.core.paths[index];
        let newer = !core::mem::replace(&mut self.seen[index].acknowledged, true);
        if newer
            || ack.cumulative > first
            || ack.cumulative == first && (ack.window > path.own_window || ack.window == 0)
        {
            path.own_window = ack.window;
        }
        let data = ack.window_end.saturating_sub(ack.window);
        let end = data.saturating_add(path.own_window);
        self.core.window.extend(end);
    }

    /// Extends a subflow's own window by the connection's window. It is called for a segment at
    /// `offset` of the stream that is given to the subflow, and it includes windows granted on
    /// other subflows (`mptcp_check_allowed_size` in net/mptcp/protocol.c).
    pub(super) fn share_window(&mut self, index: usize, offset: u64) {
        let left = self.core.window.end().saturating_sub(offset);
        let path = &mut self.core.paths[index];
        path.own_window = path.own_window.max(left);
    }
}
