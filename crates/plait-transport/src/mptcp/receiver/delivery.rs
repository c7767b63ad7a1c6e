//! Delivery: passes the data of a subflow to the connection, and to the application that reads it.

use super::Receiver;
use crate::mptcp::grant::Grants;
use crate::mptcp::merging::Queued;
use crate::mptcp::reinjection::pages;
use crate::observer::Observer;
use crate::packet::Data;
use crate::packet::tcp::TcpSegment;
use plait_sched::{PathId, Time};

impl Receiver {
    /// Passes the next segment of a subflow, and those that waited for it, to the connection.
    /// Returns the memory of the data that the application can now read.
    pub(super) fn hand_up_all(
        &mut self,
        now: Time,
        path: PathId,
        segment: &TcpSegment,
        observer: &mut impl Observer,
    ) -> u64 {
        // Newly readable data, in the memory of a queue that merges each packet with its
        // predecessor.
        let mut readable = Queued::default();
        let mut next_up = Some((segment.data, segment.offset));
        while let Some((data, offset)) = next_up {
            let before = self.reassembly.next_expected();
            self.hand_up(now, path, &data, offset, observer);
            let next = self.reassembly.next_expected();
            // Plain TCP keeps its own queue in `waiting`, except for the segment that has just
            // arrived.
            if next > before && (readable.memory == 0 || self.config.multipath) {
                readable.push(u64::from(data.bytes), pages(offset, data.bytes));
            }
            readable.memory += self.waiting.advance(next);
            next_up = self.subflows[path.index()].released();
        }
        self.announced.advance(self.reassembly.next_expected());
        readable.memory
    }

    /// Passes a segment to the connection. Data beyond the edge is dropped, although its subflow
    /// has acknowledged it (mptcp_data_queue_ofo in net/mptcp/protocol.c).
    fn hand_up(&mut self, now: Time, path: PathId, data: &Data, offset: u64, observer: &mut impl Observer) {
        let edge = self.grants.as_ref().map_or(0, Grants::edge);
        let end = offset.saturating_add(u64::from(data.bytes));
        let waits = data.segment > self.reassembly.next_expected();
        if self.config.multipath && waits && end > edge {
            observer.refused(now, path, data.segment);
            return;
        }
        if waits && self.config.multipath {
            self.waiting.insert(data.segment, u64::from(data.bytes), pages(offset, data.bytes));
        }
        self.reassembly.accept(now, path, data, &mut Deliveries(observer));
    }

    /// The application reads all available data. Subflows that can grant much more than before send
    /// an acknowledgement (mptcp_cleanup_rbuf, tcp_cleanup_rbuf).
    pub(super) fn read(&mut self, now: Time) {
        let used = self.used();
        let Some(grants) = &mut self.grants else { return };
        grants.note_read(now);
        let reopens = grants.reopens(used);
        let all_read = used == 0 && self.config.rules.pushes;
        for index in 0..self.subflows.len() {
            let (Some(grants), subflow) = (&self.grants, &self.subflows[index]) else { return };
            let owes = subflow.unacknowledged > 0
                && (grants.owes(index, subflow.bytes) || all_read && subflow.pushed);
            if owes || reopens && grants.would_double(index, subflow.bytes, used) {
                self.acknowledge(now, index, 0);
            }
        }
    }
}

/// Passes deliveries on to the observer. Arrivals and duplicates were reported when they happened.
struct Deliveries<'a, O>(&'a mut O);

impl<O: Observer> Observer for Deliveries<'_, O> {
    fn delivered(&mut self, now: Time, segment: u64, bytes: u32) {
        self.0.delivered(now, segment, bytes);
    }
}
