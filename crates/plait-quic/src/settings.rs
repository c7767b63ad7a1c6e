//! What can be set, what cannot, and the bounds that a peer meets.

use crate::error::Error;
use crate::unlimited::Unlimited;
use noq_proto::{AckFrequencyConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
use plait_sched::{Duration, PathId};
use plait_transport::congestion::{Algorithm, CongestionConfig};
use plait_transport::packet::Overhead;
use plait_transport::rtt::{RtoConfig, RtoRule};
use plait_transport::{ConnectionConfig, endpoint, mpquic};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Paths of a transfer at most.
pub const MAX_LINKS: usize = 8;

/// Payload bytes of a full segment at least: how much a receiver has to remember of each is bounded by that.
pub const LEAST_SEGMENT: u16 = 500;

/// Receivers' windows in bytes.
pub const WINDOWS: RangeInclusive<u64> = 64 << 10..=1 << 30;

/// noq keeps what waits for something that is missing packet by packet, and ends the connection with 2,049 of them (`connection/assembler.rs`): as many bytes as fewer packets of the
/// smallest size have.
const STREAMED_WINDOW: u64 = 1_900_000;

/// Bytes of a UDP datagram's payload: from what QUIC needs to the largest there is with room for GSO.
pub const MTUS: RangeInclusive<u16> = 1200..=16_000;

/// Bytes of a UDP datagram's payload that a path is taken to carry without a probe: IPv6 requires them of every link
/// (RFC 8200 §5).
pub(crate) const BASE_MTU: u16 = 1232;

/// After the beginning of a search for a path's MTU the next one begins so much later: RFC 8899 §5.1.1 has 600 s for this.
pub(crate) const NEXT_SEARCH: std::time::Duration = std::time::Duration::from_secs(10);

/// What noq puts around a datagram: a short header with a connection ID of 8 bytes and a number of 4, the tag of 16; a DATAGRAM
/// frame's type and length.
const NOQ: u16 = 1 + 8 + 4 + 16 + 1 + 8;

/// What the transport puts around payload: a short header with a connection ID of 8 bytes and a number of 4, a STREAM frame with an offset of 8 bytes.
const OWN: u16 = 1 + 8 + 4 + 1 + 1 + 8 + 2;

/// Room for an acknowledgement that rides on data: of a verdict, where data goes one way; of whatever there is, where it goes
/// both ways. That has a first range of up to 2³⁰ packets, the further ones, and the receiver's limit.
const RIDER: u16 = 16;
const LONG_RIDER: u16 = 4 + 1 + 8 + 4 + 1 + 4 + mpquic::Image::FURTHER_RANGES as u16 + 9;

/// Bytes of a UDP datagram's payload that carries so many of a segment.
#[cfg(feature = "simulation")]
pub(crate) fn mtu_of(segment: u32) -> u32 {
    segment + u32::from(NOQ + OWN + RIDER)
}

/// Bytes of the IPv4 packet that carries so many of a segment, without an acknowledgement that rides on it.
#[cfg(feature = "simulation")]
pub(crate) fn wire_of(segment: u16) -> u64 {
    u64::from(segment + NOQ + OWN) + u64::from(UDP)
}

/// What the headers of UDP and IPv4 take.
pub(crate) const UDP: u32 = 28;

/// What counts in congestion windows beside payload.
const COUNTED_OVERHEAD: u32 = Overhead::MPQUIC.of_data() - UDP;

/// A path that is dead to noq for so long is opened anew.
const IDLE_MILLIS: u32 = 10_000;

/// Paths that nothing is sent on are kept open, also in the tables of network address translators, by a packet now and then.
const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(3);

/// Noq's round-trip time before the first sample (RFC 9002 §6.2.2).
pub(crate) const INITIAL_RTT: std::time::Duration = std::time::Duration::from_millis(333);

/// The scheduler where none is named. In mode interop nothing that waits on a slow path is sent again on another
/// one, so the scheduler keeps packets from such a path.
#[must_use]
pub const fn scheduler(interop: bool) -> &'static str {
    if interop { "ecf" } else { "lowest-rtt" }
}

/// Everything that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of a UDP datagram's payload at most. A path that does not carry them gets no data. Default 1232, which IPv6
    /// requires of every link (RFC 8200 §5: 1280 with its headers).
    pub mtu: u16,
    /// The receiver's window: bytes that may be on their way, or wait for what is missing. Default 16 MiB.
    pub window: u64,
    /// Congestion control of each path. Default CUBIC.
    pub congestion: Algorithm,
    /// An end that hears nothing on any path for so long gives up. Default 30 s.
    pub patience: std::time::Duration,
    /// Where noq's random numbers begin, so that runs can be repeated; `None` takes the system's.
    pub seed: Option<[u8; 32]>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mtu: 1232,
            window: 16 << 20,
            congestion: Algorithm::Cubic,
            patience: std::time::Duration::from_secs(30),
            seed: None,
        }
    }
}

impl Settings {
    /// # Errors
    /// [`Error::Setting`] names what is out of its bounds.
    pub fn check(&self) -> Result<(), Error> {
        if !MTUS.contains(&self.mtu) {
            let (least, most) = (MTUS.start(), MTUS.end());
            return Err(Error::Setting(format!("mtu {}: choose {least} to {most} bytes", self.mtu)));
        }
        if !WINDOWS.contains(&self.window) {
            let (least, most) = (WINDOWS.start(), WINDOWS.end());
            return Err(Error::Setting(format!("window {}: choose {least} to {most} bytes", self.window)));
        }
        Ok(())
    }

    /// Payload bytes of a full segment of a file.
    pub(crate) const fn segment(&self) -> u16 {
        self.mtu - NOQ - OWN - RIDER
    }

    /// Likewise, where data goes both ways.
    pub(crate) const fn shared_segment(&self) -> u16 {
        self.mtu - NOQ - OWN - LONG_RIDER
    }

    /// Datagrams that leave at once (GSO): as many as the system takes in one call.
    pub(crate) fn burst(&self) -> usize {
        (60_000 / usize::from(self.mtu)).min(32)
    }

    /// noq's part at the end that opens paths: a protected way for datagrams, and one small stream. A full datagram is sent
    /// without a probe: see [`Settings::probing`].
    pub(crate) fn tunnel(&self) -> Arc<TransportConfig> {
        let mut config = self.transport();
        config.initial_mtu(self.mtu).min_mtu(self.mtu);
        Arc::new(config)
    }

    /// noq's part at the end that is connected to: its datagrams are as large as the peer's limit.
    pub(crate) fn far_tunnel(&self) -> Arc<TransportConfig> {
        // A search that has nothing to probe. Without one noq forgets the peer's limit at another address.
        let mut search = MtuDiscoveryConfig::default();
        search.upper_bound(*MTUS.end());
        let mut config = self.transport();
        config.initial_mtu(*MTUS.end()).min_mtu(*MTUS.end()).mtu_discovery_config(Some(search));
        Arc::new(config)
    }

    /// noq's part of a connection that searches a path's MTU and carries nothing. The full size is probed first.
    pub(crate) fn probing(&self) -> Arc<TransportConfig> {
        let base = *MTUS.start();
        let mut search = MtuDiscoveryConfig::default();
        // With more than half of the range, noq tries its upper bound at once, and the middle after that.
        search.upper_bound(self.mtu).minimum_change((self.mtu - base) / 2 + 1);
        let mut config = self.transport();
        config.initial_mtu(base).min_mtu(base).mtu_discovery_config(Some(search));
        Arc::new(config)
    }

    /// Likewise, to be changed.
    pub(crate) fn transport(&self) -> TransportConfig {
        let mut config = TransportConfig::default();
        let mut acknowledgements = AckFrequencyConfig::default();
        // Nothing depends on noq's own acknowledgements but the handshake, so there are few; none for what is out of order.
        acknowledgements
            .ack_eliciting_threshold(VarInt::from_u32(100))
            .reordering_threshold(VarInt::from_u32(0));
        config
            .congestion_controller_factory(Arc::new(Unlimited))
            .ack_frequency_config(Some(acknowledgements))
            .max_concurrent_bidi_streams(VarInt::from_u32(1))
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .stream_receive_window(VarInt::from_u32(4_096))
            .receive_window(VarInt::from_u32(4_096))
            .send_window(4_096)
            .datagram_receive_buffer_size(Some(4 << 20))
            .datagram_send_buffer_size(4 << 20)
            .mtu_discovery_config(None)
            .initial_rtt(INITIAL_RTT)
            .max_idle_timeout(Some(VarInt::from_u32(IDLE_MILLIS).into()))
            .keep_alive_interval(Some(KEEP_ALIVE));
        config
    }

    /// The window where a file comes on a stream.
    pub(crate) fn streamed_window(&self) -> u64 {
        self.window.min(STREAMED_WINDOW)
    }

    /// noq's part where a file comes on a stream, over as many paths as there may be. Until the secret was said, no more is taken than a greeting needs.
    pub(crate) fn streamed(&self) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        let idle = u32::try_from(self.patience.as_millis()).unwrap_or(u32::MAX);
        config
            .congestion_controller_factory(Arc::new(Unlimited))
            .max_concurrent_bidi_streams(VarInt::from_u32(1))
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .stream_receive_window(VarInt::from_u64(self.streamed_window()).unwrap_or(VarInt::MAX))
            .receive_window(VarInt::from_u32(4_096))
            .send_window(64 << 10)
            .datagram_receive_buffer_size(None)
            .max_concurrent_multipath_paths(MAX_LINKS as u32 + 1)
            .initial_mtu(self.mtu)
            .min_mtu(self.mtu)
            .mtu_discovery_config(None)
            .max_idle_timeout(Some(VarInt::from_u32(idle).into()));
        Arc::new(config)
    }

    /// What a full segment counts in congestion windows.
    pub(crate) fn counted(&self, segment: u16) -> u64 {
        u64::from(segment) + u64::from(COUNTED_OVERHEAD)
    }

    /// The transport's part.
    pub(crate) fn protocol(&self, segment: u16, window: u64, initial_path: usize) -> endpoint::Config {
        let counted = self.counted(segment);
        let ack_delay = Duration::from_millis(25);
        let connection = ConnectionConfig {
            segment_bytes: segment.into(),
            counted_overhead: COUNTED_OVERHEAD,
            receive_window: window,
            send_buffer: u64::MAX,
            congestion: CongestionConfig {
                algorithm: self.congestion,
                // RFC 9002 §7.2.
                initial_window: 10 * counted,
                initial_threshold: u64::MAX,
                segment: counted,
                hystart: true,
            },
            rto: RtoConfig {
                // Shorter than RFC 9002's: what is asked first is whether a path works, and asking again costs a packet.
                initial: Duration::from_millis(300),
                min: Duration::from_millis(1),
                // A path that comes back is noticed within that time.
                max: Duration::from_secs(1),
                rule: RtoRule::Probe { ack_delay },
            },
            path_max_retransmissions: 2,
            // `patience` decides.
            association_max_retransmissions: u32::MAX,
            // One probe timeout sets a path aside while another one works: a dead link costs one of them.
            potentially_failed: true,
            grow_in_recovery: false,
            max_burst: 0,
            window_in_packets: false,
            restarts_by_packet: false,
            joined_writes: false,
        };
        let initial_path = PathId(initial_path as u8);
        mpquic::Config {
            connection,
            ack_every: 2,
            ack_delay,
            handshake: true,
            initial_path,
            watchful: true,
            ecn: false,
        }
        .into()
    }
}
