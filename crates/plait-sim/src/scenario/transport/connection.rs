//! The configuration of the connection core that is common to all protocols.

use plait_transport::ConnectionConfig;
use plait_transport::congestion::{Algorithm, CongestionConfig};
use plait_transport::rtt::{RtoConfig, RtoRule};

use super::TransportOptions;

impl TransportOptions {
    /// The core's configuration. A protocol changes it where it differs.
    pub(super) fn connection(&self) -> ConnectionConfig {
        let counted_overhead = self.counted_overhead();
        let segment_bytes = self.packet - self.overhead().of_data();
        ConnectionConfig {
            segment_bytes,
            counted_overhead,
            receive_window: self.receive_buffer,
            send_buffer: self.send_buffer.unwrap_or(u64::MAX),
            congestion: CongestionConfig {
                algorithm: (self.congestion_control.algorithm(self.controllers())).unwrap_or(Algorithm::Reno),
                own: self.congestion_control.own().cloned(),
                hystart: false,
                seed: 0,
                initial_window: self.initial_window.max(u64::from(segment_bytes + counted_overhead)),
                initial_threshold: self.initial_ssthresh.unwrap_or(u64::MAX),
                segment: u64::from(segment_bytes + counted_overhead),
                paced_options: 0,
            },
            rto: RtoConfig {
                initial: self.rto_initial,
                min: self.rto_min,
                max: self.rto_max,
                rule: RtoRule::Rfc6298,
            },
            path_max_retransmissions: self.path_max_retransmissions,
            association_max_retransmissions: self.association_max_retransmissions,
            potentially_failed: self.potentially_failed,
            grow_in_recovery: self.grow_in_recovery,
            max_burst: self.max_burst.unwrap_or(0),
            window_in_packets: false,
            restarts_by_packet: false,
            joined_writes: true,
        }
    }

    /// Packets per acknowledgement, in the type of the ends.
    pub(super) fn ack_every(&self) -> u8 {
        u8::try_from(self.ack_every).unwrap_or(u8::MAX)
    }
}
