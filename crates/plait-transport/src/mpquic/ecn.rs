//! Explicit congestion notification (RFC 9000 §13.4, RFC 9002 §7.1): queues mark packets instead of
//! dropping them. Acknowledgements count the marks of their path, and an increase of CE is
//! congestion.
//!
//! All packets with data are sent as capable (ECT(0)), also retransmissions, since they leave in
//! new packets. If a path's acknowledgements do not account for that, it stops using ECN
//! (§13.4.2.1). Not modelled: giving up marks if all marked packets get lost.

use super::space::Space;
use crate::congestion::{CongestionController, CongestionEvent};
use crate::core::PathSender;
use crate::packet::SegmentEcn;
use crate::packet::quic::{EcnCounts, PathAck};
use plait_sched::Time;

/// The sender's ECN state of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marking {
    /// Packets are sent as capable.
    capable: bool,
    /// Packets with data that were acknowledged.
    acknowledged: u64,
    /// CE, as the newest acknowledgement counts it.
    congested: u64,
}

impl Marking {
    pub(super) fn new(capable: bool) -> Self {
        Self { capable, acknowledged: 0, congested: 0 }
    }

    /// ECN marking of a new packet with data.
    pub(super) fn of_new(&self) -> SegmentEcn {
        SegmentEcn { capable: self.capable, ..SegmentEcn::default() }
    }
}

impl PathSender<Space> {
    /// Reads the mark counts of an acknowledgement that newly acknowledges `newly` packets with
    /// data. `advances` is its largest number, if that is new. Overtaken acknowledgements count
    /// less and are ignored (RFC 9000 §13.4.2.1).
    pub(super) fn read_marks(&mut self, now: Time, ack: &PathAck, newly: u64, advances: Option<u64>) {
        let marking = &mut self.recovery.marking;
        marking.acknowledged += newly;
        let (true, Some(largest)) = (marking.capable, advances) else { return };
        let EcnCounts { capable, congested } = ack.marks.unwrap_or_default();
        // §13.4.2.1 compares with the packets of one acknowledgement. Here totals are compared, so
        // that ranges that one leaves out cannot mislead.
        if capable.saturating_add(congested) < marking.acknowledged {
            marking.capable = false;
            return;
        }
        if congested <= marking.congested {
            return;
        }
        marking.congested = congested;
        // RFC 9002 §7.3.2: packets sent before the last reduction are part of its congestion event;
        // one reduction per round trip, by marks or losses.
        if self.begins_recovery(largest) {
            let window = self.control.window();
            self.note_congestion(now, CongestionEvent::Mark { outstanding: window });
        }
    }
}
