//! Explicit congestion notification (RFC 9000 §13.4, RFC 9002 §7.1): queues mark packets instead of dropping them, acknowledgements count the
//! marks of their path, and more CE than before is congestion.
//!
//! All packets with data are sent as capable (ECT(0)), also what is sent again: it leaves in a new packet. A path whose acknowledgements do not
//! account for that does without from then on (§13.4.2.1). Not modelled: that marks are given up where all marked packets get lost.

use super::space::Space;
use crate::congestion::{CongestionController, CongestionEvent};
use crate::core::PathSender;
use crate::packet::{EcnCounts, PathAck, SegmentEcn};
use plait_sched::Time;

/// What the sender knows of a path's marks.
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

    /// What a packet with data says when it leaves.
    pub(super) fn of_new(&self) -> SegmentEcn {
        SegmentEcn { capable: self.capable, ..SegmentEcn::default() }
    }
}

impl PathSender<Space> {
    /// Reads the marks that an acknowledgement counts, of which `newly` packets with data are news. `advances`: its largest number is; those
    /// that others overtook count less and say nothing (RFC 9000 §13.4.2.1).
    pub(super) fn read_marks(&mut self, now: Time, ack: &PathAck, newly: u64, advances: Option<u64>) {
        let marking = &mut self.recovery.marking;
        marking.acknowledged += newly;
        let (true, Some(largest)) = (marking.capable, advances) else { return };
        let EcnCounts { capable, congested } = ack.marks.unwrap_or_default();
        // §13.4.2.1 compares with what one acknowledgement settles; in all, so that ranges that one leaves out cannot mislead.
        if capable.saturating_add(congested) < marking.acknowledged {
            marking.capable = false;
            return;
        }
        if congested <= marking.congested {
            return;
        }
        marking.congested = congested;
        // RFC 9002 §7.3.2: what left before the last reduction is part of what that answered; once per round trip, be it by marks or losses.
        if self.begins_recovery(largest) {
            let window = self.control.window();
            self.control.on_event(now, CongestionEvent::Mark { outstanding: window });
        }
    }
}
