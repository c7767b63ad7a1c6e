//! Black holes: paths that lose full segments while smaller packets arrive (RFC 8899 §4.3).

use plait_sched::Time;
use plait_transport::Sent;
use std::collections::BTreeSet;

/// Successive flights of full segments that must be lost whole, with answers to smaller packets
/// between them.
const FLIGHTS: u32 = 3;

/// State of the full segments of one path.
#[derive(Debug, Default)]
pub(super) struct Hole {
    /// Number of the newest packet.
    newest: u64,
    /// Packets up to this number count as one flight.
    flight: u64,
    /// Flights without an acknowledgement.
    lost: u32,
    /// Time since which no full segment was acknowledged.
    waits: Option<Time>,
    /// Packets in flight that are not full.
    short: BTreeSet<u64>,
}

impl Hole {
    pub(super) fn sent(&mut self, now: Time, sent: &Sent, full: u32) {
        self.newest = sent.number;
        if sent.bytes < full {
            self.short.insert(sent.number);
        } else {
            self.waits.get_or_insert(now);
        }
    }

    pub(super) fn acknowledged(&mut self, number: u64) {
        if !self.short.remove(&number) {
            (self.lost, self.waits) = (0, None);
        }
    }

    pub(super) fn lost(&mut self, number: u64) {
        if !self.short.remove(&number) {
            // The data is retransmitted elsewhere.
            self.waits = None;
            if number > self.flight {
                self.lost += 1;
                self.flight = self.newest;
            }
        }
    }

    /// True if the path is a black hole.
    pub(super) fn is_one(&self) -> bool {
        self.lost >= FLIGHTS
    }

    /// Time since which full segments wait for an acknowledgement.
    pub(super) fn waits(&self) -> Option<Time> {
        self.waits
    }

    /// Resets the state, because the path is opened anew.
    pub(super) fn forget(&mut self) {
        (self.lost, self.waits, self.flight) = (0, None, self.newest);
    }
}
