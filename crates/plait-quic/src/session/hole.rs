//! Paths on which full segments get lost while smaller packets arrive (RFC 8899 §4.3): black holes.

use plait_sched::Time;
use plait_transport::Sent;
use std::collections::BTreeSet;

/// Flights of full segments that got lost whole, one after the other, with answers to smaller packets between them.
const FLIGHTS: u32 = 3;

/// The full segments of one path.
#[derive(Debug, Default)]
pub(super) struct Hole {
    /// The number of the newest packet.
    newest: u64,
    /// Packets up to this number count as one flight.
    flight: u64,
    /// Flights without an acknowledgement.
    lost: u32,
    /// Since when none was acknowledged that is full.
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
            // Its data is sent elsewhere.
            self.waits = None;
            if number > self.flight {
                self.lost += 1;
                self.flight = self.newest;
            }
        }
    }

    /// Whether it is one.
    pub(super) fn is_one(&self) -> bool {
        self.lost >= FLIGHTS
    }

    /// Since when full segments wait for an acknowledgement.
    pub(super) fn waits(&self) -> Option<Time> {
        self.waits
    }

    /// The path is opened anew.
    pub(super) fn forget(&mut self) {
        (self.lost, self.waits, self.flight) = (0, None, self.newest);
    }
}
