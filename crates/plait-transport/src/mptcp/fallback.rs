//! Going on as TCP, where the handshake does not prove that both ends speak MPTCP.
//!
//! The client proves it by MP_CAPABLE with its key, which the packet that ends the handshake carries, and the first segment, whenever it
//! is sent, until it is acknowledged (`mptcp_established_options_mp` in net/mptcp/options.c). The server believes the first packet that
//! comes after its SYN/ACK: one without that option, because it overtook those that have it or they got lost (a probe of the tail repeats
//! the last segment), makes its end a plain TCP socket (`subflow_syn_recv_sock` in net/mptcp/subflow.c). It acknowledges without MPTCP's
//! options, and by the first acknowledgement the client learns of it (`check_fully_established` in net/mptcp/options.c).
//!
//! From then on the client opens no further subflows, asks no scheduler, and gives its only subflow what it takes
//! (`mptcp_sched_get_send` in net/mptcp/sched.c); what was given is out of the connection's send buffer and the connection's own timer
//! repeats nothing (`__mptcp_clean_una`, `__mptcp_retrans` in net/mptcp/protocol.c).
//!
//! Not modelled: segments without MPTCP's option are larger by its size. The scheduler is asked, and has one usable path.

use super::Config;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::packet::TcpSegment;
use plait_sched::{PathId, Scheduler, Time};

impl Receiver {
    /// A segment comes, and nothing has proved yet that its sender speaks MPTCP.
    #[cold]
    pub(super) fn look_for_proof(&mut self, now: Time, path: PathId, segment: &TcpSegment) {
        if path != self.config.initial_path {
            return;
        }
        self.unproved = false;
        if segment.number == 0 {
            return;
        }
        // Nothing has arrived: the receiver begins anew, with the buffer that it was made with.
        let config = Config { multipath: false, ..self.config };
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
    /// True if the connection was one of MPTCP and goes on as TCP, over its first path alone.
    pub(super) fn fell_back(&self) -> bool {
        self.fallen_back
    }

    /// It is one of MPTCP, and both ends know.
    pub(super) fn is_multipath(&self) -> bool {
        self.config.multipath && !self.fallen_back
    }

    /// An acknowledgement came without MPTCP's options.
    #[cold]
    pub(super) fn fall_back(&mut self) {
        self.fallen_back = true;
        self.repeats.stop();
        self.core.hand_down();
        // Data need not wait until losses are repaired: there is no other subflow for it.
        let path = self.core.path_mut(self.config.initial_path.index());
        path.recovery.multipath = false;
        path.recovering = false;
        path.touch_amounts();
    }
}
