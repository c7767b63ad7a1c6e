//! From a scenario to the pieces that are simulated.

use crate::scenario::{CongestionControl, OwnOptions, Protocol, Scenario, TransportOptions};
use plait_sched::PathId;
use plait_transport::congestion::{Algorithm, CongestionConfig};
use plait_transport::packet::Overhead;
use plait_transport::rtt::RtoConfig;
use plait_transport::{ConnectionConfig, PathConfig, WindowRule, cmt_sctp, endpoint, mptcp};

/// The transport's configuration, for both ends.
pub(super) fn transport(scenario: &Scenario) -> endpoint::Config {
    let options = &scenario.transport;
    let ack_every = u8::try_from(options.ack_every).unwrap_or(u8::MAX);
    match &options.own {
        OwnOptions::CmtSctp {
            delayed_ack_for_cmt,
            receive_window_accounting,
            retransmission_policy,
            fast_retransmit_threshold,
            heartbeat_interval,
        } => endpoint::Config::CmtSctp(cmt_sctp::Config {
            connection: ConnectionConfig {
                heartbeat_interval: *heartbeat_interval,
                ..connection(options, false)
            },
            accounting: *receive_window_accounting,
            retransmission_policy: *retransmission_policy,
            fast_retransmit_threshold: u8::try_from(*fast_retransmit_threshold).unwrap_or(u8::MAX),
            ack_every,
            ack_delay: options.ack_delay,
            delayed_ack_for_cmt: *delayed_ack_for_cmt,
        }),
        OwnOptions::Mptcp { hystart, handshake, initial_path, timestamp_granularity, clock_offset } => {
            let initial_path = initial_path
                .as_ref()
                .and_then(|name| scenario.paths.iter().position(|path| path.name == *name))
                .map_or(PathId(0), |index| PathId(index as u8));
            endpoint::Config::Mptcp(mptcp::Config {
                connection: connection(options, *hystart),
                ack_every,
                ack_delay: options.ack_delay,
                loss_threshold: 3,
                handshake: *handshake,
                initial_path,
                clock: mptcp::ClockConfig {
                    granularity: *timestamp_granularity,
                    receiver_offset: *clock_offset,
                },
                // Of TCP's 40 bytes of options, timestamps take 12 and a data ACK 8.
                ack_blocks: if options.protocol == Protocol::Tcp { 3 } else { 2 },
            })
        }
    }
}

/// What the protocols have in common.
fn connection(options: &TransportOptions, hystart: bool) -> ConnectionConfig {
    let overhead = options.protocol.overhead();
    // SCTP counts DATA chunk headers in its windows, TCP counts payload.
    let (window_rule, counted_overhead) = match options.protocol {
        Protocol::CmtSctp => (WindowRule::Credit, Overhead::SCTP.data),
        Protocol::Mptcp | Protocol::Tcp => (WindowRule::Offset, 0),
    };
    let segment_bytes = options.packet - overhead.of_data();
    ConnectionConfig {
        segment_bytes,
        counted_overhead,
        window_rule,
        receive_window: options.receive_buffer,
        send_buffer: options.send_buffer.unwrap_or(u64::MAX),
        congestion: CongestionConfig {
            algorithm: match (options.protocol, options.congestion_control) {
                (Protocol::CmtSctp, _) => Algorithm::NewReno,
                (_, CongestionControl::NewReno) => Algorithm::Reno,
                (_, CongestionControl::Cubic) => Algorithm::Cubic,
                (_, CongestionControl::Lia) => Algorithm::Lia,
                (_, CongestionControl::Olia) => Algorithm::Olia,
                (_, CongestionControl::Balia) => Algorithm::Balia,
            },
            hystart,
            initial_window: options.initial_window,
            initial_threshold: options.initial_ssthresh.unwrap_or(u64::MAX),
            segment: u64::from(segment_bytes + counted_overhead),
        },
        rto: RtoConfig { initial: options.rto_initial, min: options.rto_min, max: options.rto_max },
        path_max_retransmissions: options.path_max_retransmissions,
        association_max_retransmissions: options.association_max_retransmissions,
        heartbeat_interval: plait_sched::Duration::ZERO,
        potentially_failed: options.potentially_failed,
        grow_in_recovery: options.grow_in_recovery,
        max_burst: options.max_burst.unwrap_or(0),
    }
}

/// What the sender is told about the paths.
pub(super) fn paths(scenario: &Scenario) -> Vec<PathConfig> {
    scenario.paths.iter().map(|path| PathConfig { backup: path.backup, cost: path.cost }).collect()
}
