//! PSH marks of plain TCP's segments where the application writes faster than data leaves, as in
//! Linux.

use super::sender::Sender;
use crate::core::WRITE;
use plait_sched::Scheduler;

/// Progress of the marks in the written data.
///
/// Every write marks the last packet of the queue (`tcp_push` in net/ipv4/tcp.c). The next write
/// removes the mark if it fills that packet (`tcp_sendmsg_locked`). Within a write, a full packet
/// is marked if the data written since the last mark exceeds half the peer's largest window
/// (`forced_push`). Data written before the first acknowledgement is measured by the window of the
/// SYN's answer, which is not scaled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Bytes that the application wrote in one go before any data left, in calls of `WRITE` bytes.
    /// Later writes are separate calls.
    at_once: u64,
    /// Bytes of these that went into the send buffer before any data left.
    buffered: u64,
    /// The window in the answer to the SYN.
    opening: u64,
    /// The largest window so far (`max_window`).
    largest: u64,
    /// End of the data at the last mark (`pushed_seq`).
    marked: u64,
    /// End of the write that contains the last segment.
    write_end: u64,
}

impl Marks {
    /// True if the segment from `start` to `end` is marked, while the peer's window is `window`.
    fn take(&mut self, start: u64, end: u64, window: u64) -> bool {
        self.largest = self.largest.max(window);
        if end > self.write_end {
            self.marked = self.write_end;
            self.write_end += WRITE;
        }
        if start >= self.at_once {
            return false;
        }
        let known = if start < self.buffered { self.opening } else { self.largest };
        let marks = end == self.write_end || end > self.marked + known / 2;
        if marks {
            self.marked = end;
        }
        marks
    }
}

impl<S: Scheduler> Sender<S> {
    /// True if the segment of plain TCP, which leaves for the first time, is marked.
    pub(super) fn marks(&mut self, start: u64, bytes: u32) -> bool {
        let (end, written) = (start + u64::from(bytes), self.core.stream.end());
        let window = self.core.paths[0].own_window;
        if self.marks.write_end == 0 {
            let (at_once, buffered) = (written, self.core.buffer.first_filling(self.config.segment_bytes()));
            self.marks = Marks { at_once, buffered, opening: window, write_end: WRITE, ..Marks::default() };
        }
        // No data was written behind a segment that ends with all written data.
        self.marks.take(start, end, window) || end == written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of the marked segments of 1448 bytes, up to `count`.
    fn marked(mut marks: Marks, window: u64, count: u64) -> Vec<u64> {
        (0..count).filter(|number| marks.take(number * 1448, (number + 1) * 1448, window)).collect()
    }

    const ENDLESS: Marks = Marks {
        at_once: u64::MAX,
        buffered: u64::MAX,
        opening: 65_535,
        largest: 0,
        marked: 0,
        write_end: WRITE,
    };

    #[test]
    fn what_was_written_before_any_acknowledgement_is_marked_in_the_midst_of_every_write() {
        assert_eq!(marked(ENDLESS, 700_000, 300), [22, 67, 113, 158, 203, 248, 294]);
        // A window of a quarter of a write: every half of the window.
        let small = Marks { opening: 16_384, ..ENDLESS };
        assert_eq!(marked(small, 16_384, 60), [5, 11, 17, 23, 29, 35, 41, 50, 56]);
    }

    #[test]
    fn what_was_written_later_knows_the_largest_window() {
        let later = Marks { buffered: 100 * 1448, ..ENDLESS };
        assert_eq!(marked(later, 700_000, 300), [22, 67]);
        assert_eq!(marked(later, 65_535, 300), [22, 67, 113, 158, 203, 248, 294]);
    }

    #[test]
    fn writes_of_their_own_are_not_marked_in_their_midst() {
        let blocks = Marks { at_once: 10_000, ..ENDLESS };
        assert!(marked(blocks, 65_535, 300).is_empty());
    }

    #[test]
    fn a_packet_that_ends_with_a_write_keeps_its_mark() {
        let mut marks = Marks { opening: 1 << 30, ..ENDLESS };
        let found: Vec<u64> =
            (0..200).filter(|number| marks.take(number * 1024, (number + 1) * 1024, 0)).collect();
        assert_eq!(found, [63, 127, 191]);
    }
}
