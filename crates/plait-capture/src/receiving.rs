//! A model of the receiver: the data that its subflows deliver to the connection, each in its own
//! order.

use std::collections::BTreeMap;

/// Largest difference by which a timestamp may be older than the newest one, in milliseconds
/// (Linux' TCP_PAWS_WINDOW).
const TOLERANCE: i32 = 1;

/// Data received on a subflow. TCP delivers data in the subflow's order, so a gap in the subflow
/// holds back the data behind it, even if the connection could accept that data.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubflowReceiver {
    /// The first byte that was not delivered to the connection.
    next: u64,
    /// First byte on the subflow → first byte in the stream, length.
    waiting: BTreeMap<u64, (u64, u64)>,
    /// The newest timestamp of a segment that arrived in order.
    recent: Option<u32>,
}

impl SubflowReceiver {
    /// True if the receiver rejects `length` bytes from `start` on although they reached its host.
    /// Their timestamp is older than that of a segment that arrived in order (PAWS, RFC 7323 §5;
    /// tcp_paws_discard). Data that a retransmission overtakes therefore has to be retransmitted.
    pub(crate) fn rejects(&mut self, start: u64, length: u64, timestamp: Option<u32>) -> bool {
        let Some(timestamp) = timestamp else { return false };
        let age = self.recent.map_or(0, |recent| recent.wrapping_sub(timestamp) as i32);
        // tcp_replace_ts_recent. Segments before the window are dropped earlier (tcp_sequence).
        // Captures may lack the acknowledgements. After a gap, everything in order is acknowledged;
        // without a gap, nothing is older.
        if age <= 0 && (start..=start + length).contains(&self.next) {
            self.recent = Some(timestamp);
        }
        age > TOLERANCE
    }

    /// Accepts `length` bytes from `start` on in the subflow, which begin at `offset` in the
    /// stream. Calls `deliver` for each range of the stream that can now be delivered to the
    /// connection.
    pub(crate) fn accept(&mut self, start: u64, offset: u64, length: u64, mut deliver: impl FnMut(u64, u64)) {
        let end = start + length;
        if end <= self.next {
            return;
        }
        if start > self.next {
            let longest = self.waiting.get(&start).is_none_or(|&(_, other)| other < length);
            if longest {
                self.waiting.insert(start, (offset, length));
            }
            return;
        }
        let known = self.next - start;
        deliver(offset + known, offset + length);
        self.next = end;
        while let Some((&start, &(offset, length))) = self.waiting.first_key_value() {
            if start > self.next {
                return;
            }
            self.waiting.pop_first();
            let known = self.next - start;
            if known < length {
                deliver(offset + known, offset + length);
                self.next = start + length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SubflowReceiver;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_hole_holds_back_what_follows() {
        let mut subflow = SubflowReceiver::default();
        let mut up = Vec::new();
        subflow.accept(10, 110, 5, |from, to| up.push((from, to)));
        subflow.accept(0, 50, 8, |from, to| up.push((from, to)));
        assert_eq!(up, [(50, 58)]);
        subflow.accept(6, 56, 4, |from, to| up.push((from, to)));
        assert_eq!(up, [(50, 58), (58, 60), (110, 115)]);
    }

    #[test]
    fn what_is_older_than_what_came_in_order_is_rejected() {
        let mut subflow = SubflowReceiver::default();
        let mut rejects = |start, timestamp| {
            let rejects = subflow.rejects(start, 10, Some(timestamp));
            if !rejects {
                subflow.accept(start, start, 10, |_, _| {});
            }
            rejects
        };
        assert!(!rejects(0, 100));
        assert!(!rejects(40, 140), "what lies beyond a gap does not count");
        assert!(!rejects(30, 130));
        assert!(!rejects(10, 150), "a retransmission");
        assert!(rejects(20, 120), "it overtook this");
        assert!(!rejects(20, 149), "within the tolerance");
        assert!(!rejects(0, 170), "what lies before the window does not count");
        assert!(!rejects(50, 160));
        assert!(rejects(60, 158));
        assert!(!subflow.rejects(60, 10, None));
    }

    proptest! {
        #[test]
        fn hands_up_every_byte_once_and_in_order(pieces in prop::collection::vec((0u64..50, 1u64..12), 1..60)) {
            let (mut subflow, mut arrived, mut next) = (SubflowReceiver::default(), BTreeSet::new(), 0);
            // Offset in the stream of a number on the subflow.
            let stream = |start: u64| 1_000 + start;
            for (start, length) in pieces {
                let mut up = Vec::new();
                subflow.accept(start, stream(start), length, |from, to| up.extend(from..to));
                arrived.extend(start..start + length);
                let end = (next..).find(|number| !arrived.contains(number)).unwrap();
                prop_assert_eq!(up, (next..end).map(stream).collect::<Vec<u64>>());
                next = end;
            }
        }
    }
}
