//! Fallback to TCP, if the handshake does not prove that both ends support MPTCP.
//!
//! The client proves it by MP_CAPABLE with its key. The packet that ends the handshake carries this
//! option. So does the first segment, in every transmission until it is acknowledged
//! (`mptcp_established_options_mp` in net/mptcp/options.c). The server judges by the first packet
//! after its SYN/ACK. If that packet lacks the option, the server's end becomes a plain TCP socket
//! (`subflow_syn_recv_sock` in net/mptcp/subflow.c). This happens if the packet overtook the
//! packets with the option, or if those were lost (a tail probe repeats the last segment). The
//! server then acknowledges without MPTCP's options, and the first acknowledgement informs the
//! client (`check_fully_established` in net/mptcp/options.c).
//!
//! From then on the client opens no further subflows, asks no scheduler, and gives its only subflow
//! all data that it accepts (`mptcp_sched_get_send` in net/mptcp/sched.c). Data given to the
//! subflow leaves the connection's send buffer, and the connection's own timer retransmits nothing
//! (`__mptcp_clean_una`, `__mptcp_retrans` in net/mptcp/protocol.c).
//!
//! Not modelled: segments without MPTCP's option are larger by its size. The scheduler is asked,
//! and has one usable path.

use super::Config;
use super::receiver::Receiver;
use super::sender::Sender;
use super::subflow::Subflow;
use crate::core::PathSender;
use crate::packet::tcp::TcpSegment;
use plait_sched::{PathId, Scheduler, Time};

impl Receiver {
    /// Checks the first packet after the SYN/ACK, if it is a segment. Any segment but number 0
    /// lacks the proof that its sender supports MPTCP, so this end falls back to TCP.
    #[cold]
    pub(super) fn look_for_proof(&mut self, now: Time, path: PathId, segment: &TcpSegment) {
        if path != self.config.initial_path {
            return;
        }
        self.unproved = false;
        if segment.number == 0 {
            return;
        }
        // No segment has arrived: the receiver starts again with its original buffer.
        let config = Config { multipath: false, ..self.config.clone() };
        let packet = self.config.packet_bytes();
        let outgoing = core::mem::take(&mut self.outgoing);
        *self = Self::with_packets(&config, self.subflows.len(), packet);
        self.heard = true;
        self.outgoing = outgoing;
        if let Some(grants) = &mut self.grants {
            grants.open(path.index());
            grants.note_confirmed(now);
        }
    }
}

impl<S: Scheduler> Sender<S> {
    /// True if an MPTCP connection fell back to TCP, over its first path alone.
    pub(super) fn fell_back(&self) -> bool {
        self.fallen_back
    }

    /// True if the connection uses MPTCP and has not fallen back to TCP.
    pub(super) fn is_multipath(&self) -> bool {
        self.config.multipath && !self.fallen_back
    }

    /// Falls back to TCP after an acknowledgement without MPTCP's options.
    #[cold]
    pub(super) fn fall_back(&mut self) {
        self.fallen_back = true;
        self.repeats.stop();
        self.core.hand_down();
        self.core.paths[self.config.initial_path.index()].continue_alone();
    }
}

impl PathSender<Subflow> {
    /// Makes the subflow a TCP connection. Data need not wait for loss recovery: there is no other
    /// subflow for it.
    fn continue_alone(&mut self) {
        self.recovery.multipath = false;
        self.recovering = false;
        self.touch_amounts();
    }
}
