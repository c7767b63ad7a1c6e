//! Configurations with the numbers of RFC 9260, and windows in segments.

use plait_sched::{Duration, PathId};
use plait_transport::cmt_sctp::{Config, RetransmissionPolicy, WindowAccounting};
use plait_transport::congestion::{Algorithm, CongestionConfig};
use plait_transport::rtt::{RtoConfig, RtoRule};
use plait_transport::{ConnectionConfig, mpquic, mptcp};

/// Payload bytes of a full segment: 1500 − 48.
const PAYLOAD: u64 = 1452;

/// Bytes that a full segment counts in windows: its DATA chunk.
pub(crate) const COUNTED: u64 = 1468;

/// Returns the counted bytes of `count` full segments.
pub(crate) const fn segments(count: u64) -> u64 {
    count * COUNTED
}

/// CMT-SCTP with an initial window of three segments, a large receive buffer, and an
/// acknowledgement for each packet.
pub(crate) fn config() -> Config {
    Config {
        connection: ConnectionConfig {
            segment_bytes: PAYLOAD as u32,
            counted_overhead: (COUNTED - PAYLOAD) as u32,
            receive_window: segments(10_000),
            send_buffer: u64::MAX,
            congestion: CongestionConfig {
                algorithm: Algorithm::NewReno,
                own: None,
                initial_window: segments(3),
                initial_threshold: u64::MAX,
                segment: COUNTED,
                paced_options: 0,
                hystart: false,
                seed: 0,
            },
            rto: RtoConfig::default(),
            path_max_retransmissions: 5,
            association_max_retransmissions: 10,
            potentially_failed: false,
            grow_in_recovery: false,
            max_burst: 0,
            window_in_packets: false,
            restarts_by_packet: false,
            joined_writes: false,
        },
        accounting: WindowAccounting::Buffer,
        retransmission_policy: RetransmissionPolicy::Cwnd,
        fast_retransmit_threshold: 3,
        ack_every: 1,
        ack_delay: Duration::from_millis(200),
        delayed_ack_for_cmt: true,
        heartbeat_interval: Duration::from_secs(30),
    }
}

/// MPTCP over subflows that are open from the start. Segments have 1452 bytes, the initial window
/// is ten segments, and the receive window 200.
pub(crate) fn mptcp_config() -> mptcp::Config {
    let connection = config().connection;
    mptcp::Config {
        connection: ConnectionConfig {
            counted_overhead: 0,
            receive_window: 200 * PAYLOAD,
            congestion: CongestionConfig {
                algorithm: Algorithm::Reno,
                own: None,
                initial_window: 10 * PAYLOAD,
                segment: PAYLOAD,
                ..connection.congestion
            },
            ..connection
        },
        ack_every: 1,
        ack_delay: Duration::from_millis(200),
        handshake: false,
        initial_path: PathId(0),
        clock: mptcp::ClockConfig {
            granularity: Duration::from_millis(1),
            sender_offset: 0,
            receiver_offset: 0,
        },
        multipath: true,
        two_way: false,
        ecn: false,
        rules: mptcp::Rules::STANDARD,
    }
}

/// Multipath QUIC over paths that are open from the start, with the same windows. Every packet is
/// acknowledged.
pub(crate) fn mpquic_config() -> mpquic::Config {
    let connection = mptcp_config().connection;
    mpquic::Config {
        watchful: false,
        pacing: false,
        connection: ConnectionConfig {
            counted_overhead: 39,
            congestion: CongestionConfig {
                initial_window: 10 * (PAYLOAD + 39),
                segment: PAYLOAD + 39,
                ..connection.congestion
            },
            rto: RtoConfig {
                rule: RtoRule::Probe { ack_delay: Duration::from_millis(25) },
                ..connection.rto
            },
            path_max_retransmissions: 2,
            ..connection
        },
        ack_every: 1,
        ack_delay: Duration::from_millis(25),
        handshake: false,
        initial_path: PathId(0),
        ecn: false,
    }
}
