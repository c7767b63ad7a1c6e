//! The facts of the connection that schedulers see.

use super::{Core, SegmentState, WindowRule};
use plait_sched::{Connection, Outstanding, PathId, Scheduler};

impl<S: Scheduler, R> Core<S, R> {
    /// The facts of the connection as the scheduler sees them.
    #[inline(never)]
    pub(crate) fn connection_facts(&self) -> Connection {
        let mut connection = self.look_at_connection();
        self.look_at_messages(&mut connection);
        connection
    }

    /// Inlined [`Core::connection_facts`] without messages, for the most frequent caller.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn look_at_connection(&self) -> Connection {
        let segment_bytes = u64::from(self.config.segment_bytes);
        let send_buffer_left = self.buffer.segments_left(self.stream.frontier_offset(), segment_bytes);
        let recalled = self.stream.recalled();
        // The last segment may be short.
        let written = match self.buffer.has_all() {
            true => self.stream.uncut(),
            false => self.stream.uncut().min(send_buffer_left),
        };
        let unassigned = recalled.saturating_add(written);
        let mut window_left = self.window_segments();
        let assigned = self.stream.frontier() - self.stream.first() - recalled;
        let window = window_left.saturating_add(assigned);
        // One segment may always be in flight, so that the sender notices when a closed window
        // opens (RFC 9260 §6.1 A). The same holds for the segment that all delivery waits for, if
        // it was recalled: see [`Core::next_new`].
        let all_wait_for_next = recalled > 0 && self.stream.next_segment() == self.stream.first();
        let one_more = match self.window.rule {
            WindowRule::Credit | WindowRule::Offset => {
                all_wait_for_next || (self.window.is_probed() && self.queued_segments == 0)
            }
            // One that is shorter than others may have room where a full one has none.
            WindowRule::Limit => {
                window_left == 0 && self.admits_unsent(self.stream.next_segment()) == Some(true)
            }
        };
        window_left = window_left.max(u64::from(one_more));
        Connection {
            unassigned,
            next_segment: self.stream.next_segment(),
            fragment_left: self.fragment_left(),
            window_left,
            window,
            send_buffer_left,
            oldest_unacked: self.oldest_unacked(),
            finished: self.stream.is_finished(),
            message: None,
            streams: 0,
            due: None,
            writer_waits: self.writer_waits(),
        }
    }

    /// Bytes of the fragment that the next segment begins in, from there on.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fragment_left(&self) -> Option<u64> {
        let fragments = self.buffer.fragments()?;
        let offset = self.stream.next_offset();
        fragments.end_behind(offset).map(|end| end - offset)
    }

    /// Adds the facts of messages, if the scheduler knows them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn look_at_messages(&self, connection: &mut Connection) {
        if self.needs.messages {
            self.show_messages(connection);
        }
    }

    /// Adds the message that is next, the number of competing ones, and the earliest deadline of
    /// messages that are not wholly acknowledged.
    #[inline(never)]
    fn show_messages(&self, connection: &mut Connection) {
        connection.message = self.stream.next_message();
        connection.streams = self.stream.rivals() as u32;
        connection.due = self.stream.due();
    }

    /// True if the data queue holds something.
    #[inline]
    pub(crate) fn has_unassigned(&self) -> bool {
        let send_buffer_left =
            || self.buffer.segments_left(self.stream.frontier_offset(), u64::from(self.config.segment_bytes));
        self.stream.recalled() > 0
            || self.stream.uncut() > 0 && (self.buffer.has_all() || send_buffer_left() > 0)
    }

    /// The oldest unacknowledged segment, if it is in flight. All segments below the first are
    /// acknowledged, so only the first can be it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn oldest_unacked(&self) -> Option<Outstanding> {
        let segment = self.stream.first();
        let entry = self.stream.get(segment)?;
        let outstanding = || {
            let spread = entry.lone().unwrap_or_else(|| self.stream.spread(segment));
            Outstanding::new(segment, PathId(entry.newest.path()), spread.carried)
        };
        (entry.state() == SegmentState::InFlight).then(outstanding)
    }
}
