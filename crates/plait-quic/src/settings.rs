//! Settings, fixed parameters, and bounds for peers.

use crate::error::Error;
use crate::unlimited::Unlimited;
use noq_proto::{AckFrequencyConfig, EndpointConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
use plait_sched::{Duration, PathId};
use plait_transport::congestion::{Algorithm, CongestionConfig};
use plait_transport::packet::Overhead;
use plait_transport::rtt::{RtoConfig, RtoRule};
use plait_transport::{ConnectionConfig, endpoint, mpquic};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Most paths of a transfer.
pub const MAX_PATHS: usize = 8;

/// Fewest payload bytes of a full segment. This value bounds the number of segments that a receiver
/// has to remember.
pub const MIN_SEGMENT: u16 = 500;

/// Bounds of a receiver's window in bytes.
pub const WINDOWS: RangeInclusive<u64> = 64 << 10..=1 << 30;

/// Most bytes of a window for a file on a stream. noq stores data that waits for missing data
/// packet by packet, and ends the connection at 2,049 packets (`connection/assembler.rs`). So many
/// bytes take fewer packets, even of the smallest size.
const STREAM_WINDOW: u64 = 1_900_000;

/// Bounds of a UDP payload in bytes: from QUIC's minimum to the largest with room for GSO.
pub const MTUS: RangeInclusive<u16> = 1200..=16_000;

/// Bytes of UDP payload that a path is assumed to carry without a probe. IPv6 requires this size of
/// every link (RFC 8200 §5).
pub(crate) const BASE_MTU: u16 = 1232;

/// Time between the beginnings of two searches for a path's MTU. RFC 8899 §5.1.1 has 600 s.
pub(crate) const NEXT_SEARCH: std::time::Duration = std::time::Duration::from_secs(10);

/// Overhead of noq around a datagram: a short header with a connection ID of 8 bytes and a number
/// of 4, the tag of 16, and a DATAGRAM frame's type and length.
const NOQ: u16 = 1 + 8 + 4 + 16 + 1 + 8;

/// Overhead of the transport around payload: a short header with a connection ID of 8 bytes and a
/// number of 4, and a STREAM frame with an offset of 8 bytes.
const OWN: u16 = 1 + 8 + 4 + 1 + 1 + 8 + 2;

/// Room for an acknowledgement in a data packet. Where data goes one way, it acknowledges only the
/// receiver's verdict. Where data goes both ways, it may be any acknowledgement: a first range of
/// up to 2³⁰ packets, further ranges, and the receiver's limit.
const RIDER: u16 = 16;
const LONG_RIDER: u16 = 4 + 1 + 8 + 4 + 1 + 4 + mpquic::Image::FURTHER_RANGES as u16 + 9;

/// Bytes of UDP payload that carry a segment of this size.
#[cfg(feature = "simulation")]
pub(crate) fn mtu_of(segment: u32) -> u32 {
    segment + u32::from(NOQ + OWN + RIDER)
}

/// Bytes of the IPv4 packet that carries a segment of this size, without an acknowledgement.
#[cfg(feature = "simulation")]
pub(crate) fn wire_of(segment: u16) -> u64 {
    u64::from(segment + NOQ + OWN) + u64::from(UDP)
}

/// Bytes of the headers of UDP and IPv4.
pub(crate) const UDP: u32 = 28;

/// Bytes beside payload that count in congestion windows.
const COUNTED_OVERHEAD: u32 = Overhead::MPQUIC.of_data() - UDP;

/// Time after which a path that is dead to noq is opened anew.
const IDLE_MILLIS: u32 = 10_000;

/// Interval of packets that keep unused paths open, also in the tables of network address
/// translators.
pub(crate) const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(3);

/// Noq's round-trip time before the first sample (RFC 9002 §6.2.2).
pub(crate) const INITIAL_RTT: std::time::Duration = std::time::Duration::from_millis(333);

/// Default scheduler. In mode interop, no retransmission moves data from a slow path to another
/// one, so the scheduler keeps packets away from slow paths.
#[must_use]
pub const fn scheduler(interop: bool) -> &'static str {
    if interop { "ecf" } else { "lowest-rtt" }
}

/// All settings.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Most bytes of a UDP payload. A path that does not carry them gets no data. Default 1232,
    /// which IPv6 requires of every link (RFC 8200 §5: 1280 with its headers).
    pub mtu: u16,
    /// The receiver's window: bytes in flight, or received bytes that wait for missing data.
    /// Default 16 MiB.
    pub window: u64,
    /// Congestion control of each path. Default CUBIC.
    pub congestion: Algorithm,
    /// Time without received packets on all paths after which an end gives up. Default 30 s.
    pub patience: std::time::Duration,
    /// Seed of noq's random numbers, for repeatable runs; `None` takes the system's.
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
    /// Checks that all settings are within their bounds.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first that is not.
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

    /// Payload bytes of a full segment where data goes both ways.
    pub(crate) const fn shared_segment(&self) -> u16 {
        self.mtu - NOQ - OWN - LONG_RIDER
    }

    /// Number of datagrams that leave at once (GSO): as many as the system takes in one call.
    pub(crate) fn burst(&self) -> usize {
        (60_000 / usize::from(self.mtu)).min(32)
    }

    /// noq's configuration of an endpoint; `which` separates the endpoints of one seed.
    pub(crate) fn endpoint(&self, which: u8) -> EndpointConfig {
        let mut config = EndpointConfig::default();
        // Larger than any setting of a peer: our own setting limits our datagrams.
        let _ = config.max_udp_payload_size(*MTUS.end());
        config.rng_seed(self.seed.map(|mut seed| {
            seed[0] ^= which;
            seed
        }));
        config
    }

    /// noq's configuration at the opening end: protected datagrams, and one small stream. A full
    /// datagram is sent without a probe: see [`Settings::probe_transport`].
    pub(crate) fn connector_transport(&self) -> Arc<TransportConfig> {
        let mut config = self.transport();
        config.initial_mtu(self.mtu).min_mtu(self.mtu);
        Arc::new(config)
    }

    /// noq's configuration at the accepting end: its datagrams are as large as the peer's limit.
    pub(crate) fn acceptor_transport(&self) -> Arc<TransportConfig> {
        // A search that has nothing to probe. Without it, noq forgets the peer's limit when the
        // address changes.
        let mut search = MtuDiscoveryConfig::default();
        search.upper_bound(*MTUS.end());
        let mut config = self.transport();
        config.initial_mtu(*MTUS.end()).min_mtu(*MTUS.end()).mtu_discovery_config(Some(search));
        Arc::new(config)
    }

    /// noq's configuration of a connection that searches a path's MTU and carries no data. The full
    /// size is probed first.
    pub(crate) fn probe_transport(&self) -> Arc<TransportConfig> {
        let base = *MTUS.start();
        let mut search = MtuDiscoveryConfig::default();
        // With a minimum change above half of the range, noq tries its upper bound first and then
        // the middle.
        search.upper_bound(self.mtu).minimum_change((self.mtu - base) / 2 + 1);
        let mut config = self.transport();
        config.initial_mtu(base).min_mtu(base).mtu_discovery_config(Some(search));
        Arc::new(config)
    }

    /// noq's basic configuration, for further changes.
    pub(crate) fn transport(&self) -> TransportConfig {
        let mut config = TransportConfig::default();
        let mut acknowledgements = AckFrequencyConfig::default();
        // Only the handshake depends on noq's own acknowledgements, so there are few. Reordering
        // causes none.
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

    /// Window for a file on a stream.
    pub(crate) fn stream_window(&self) -> u64 {
        self.window.min(STREAM_WINDOW)
    }

    /// noq's configuration for a file on a stream, over all allowed paths. Until the secret is
    /// presented, the window is only as large as a greeting.
    pub(crate) fn stream_transport(&self) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        let idle = u32::try_from(self.patience.as_millis()).unwrap_or(u32::MAX);
        config
            .congestion_controller_factory(Arc::new(Unlimited))
            .max_concurrent_bidi_streams(VarInt::from_u32(1))
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .stream_receive_window(VarInt::from_u64(self.stream_window()).unwrap_or(VarInt::MAX))
            .receive_window(VarInt::from_u32(4_096))
            .send_window(64 << 10)
            .datagram_receive_buffer_size(None)
            .max_concurrent_multipath_paths(MAX_PATHS as u32 + 1)
            .initial_mtu(self.mtu)
            .min_mtu(self.mtu)
            .mtu_discovery_config(None)
            .max_idle_timeout(Some(VarInt::from_u32(idle).into()));
        Arc::new(config)
    }

    /// Bytes of a full segment as congestion windows count it.
    pub(crate) fn counted(&self, segment: u16) -> u64 {
        u64::from(segment) + u64::from(COUNTED_OVERHEAD)
    }

    /// Configuration of the transport.
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
                own: None,
                // RFC 9002 §7.2.
                initial_window: 10 * counted,
                initial_threshold: u64::MAX,
                segment: counted,
                paced_options: 0,
                hystart: true,
                seed: 0,
            },
            rto: RtoConfig {
                // Shorter than RFC 9002's: the first packets test a path, and a repetition costs
                // one packet.
                initial: Duration::from_millis(300),
                min: Duration::from_millis(1),
                // A path that works again is noticed within that time.
                max: Duration::from_secs(1),
                rule: RtoRule::Probe { ack_delay },
            },
            path_max_retransmissions: 2,
            // `patience` decides instead.
            association_max_retransmissions: u32::MAX,
            // One probe timeout sets a path aside while another path works, so a dead link costs
            // one timeout.
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
            pacing: false,
            watchful: true,
            ecn: false,
        }
        .into()
    }
}
