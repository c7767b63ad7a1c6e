//! Black holes: paths that lose full segments while smaller packets arrive (RFC 8899 §4.3).

use plait_sched::Time;
use plait_transport::Sent;
use std::collections::BTreeSet;

/// Successive flights of full segments that must be lost whole, with answers to smaller packets
/// between them.
const FLIGHTS: u32 = 3;

/// State of the full segments of one path.
#[derive(Debug, Default)]
pub(super) struct BlackHoleDetector {
    /// Number of the newest packet.
    newest: u64,
    /// Packets up to this number count as one flight.
    flight: u64,
    /// Flights without an acknowledgement.
    lost: u32,
    /// Time since which no full segment was acknowledged.
    waiting_since: Option<Time>,
    /// Packets in flight that are not full.
    short: BTreeSet<u64>,
}

impl BlackHoleDetector {
    pub(super) fn sent(&mut self, now: Time, sent: &Sent, full: u32) {
        self.newest = sent.number;
        if sent.bytes < full {
            self.short.insert(sent.number);
        } else {
            self.waiting_since.get_or_insert(now);
        }
    }

    pub(super) fn acknowledged(&mut self, number: u64) {
        if !self.short.remove(&number) {
            (self.lost, self.waiting_since) = (0, None);
        }
    }

    pub(super) fn lost(&mut self, number: u64) {
        if !self.short.remove(&number) {
            // The data is retransmitted elsewhere.
            self.waiting_since = None;
            if number > self.flight {
                self.lost += 1;
                self.flight = self.newest;
            }
        }
    }

    /// True if the path is a black hole.
    pub(super) fn is_black_hole(&self) -> bool {
        self.lost >= FLIGHTS
    }

    /// Time since which full segments wait for an acknowledgement.
    pub(super) fn waiting_since(&self) -> Option<Time> {
        self.waiting_since
    }

    /// Resets the state, because the path is opened anew.
    pub(super) fn forget(&mut self) {
        (self.lost, self.waiting_since, self.flight) = (0, None, self.newest);
    }
}
