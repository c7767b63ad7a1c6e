//! From a scenario to the pieces that are simulated.

use crate::scenario::{self, FlowRoute, Scenario};
use plait_sched::Builtin;
use plait_transport::congestion::{Algorithm, CongestionConfig};
use plait_transport::packet::Overhead;
use plait_transport::rtt::RtoConfig;
use plait_transport::{ConnectionConfig, PathConfig};
use plait_transport::{cmt_sctp, endpoint};

/// The transport's configuration, for both ends.
pub(super) fn transport(scenario: &Scenario) -> endpoint::Config {
    let options = &scenario.transport;
    let overhead = Overhead::SCTP;
    let segment_bytes = options.packet - overhead.packet - overhead.data;
    let connection = ConnectionConfig {
        segment_bytes,
        counted_overhead: overhead.data,
        receive_window: options.receive_buffer,
        send_buffer: options.send_buffer.unwrap_or(u64::MAX),
        congestion: CongestionConfig {
            algorithm: match options.congestion_control {
                scenario::CongestionControl::NewReno => Algorithm::NewReno,
            },
            initial_window: options.initial_window,
            initial_threshold: options.initial_ssthresh.unwrap_or(u64::MAX),
            segment: u64::from(segment_bytes + overhead.data),
        },
        rto: RtoConfig { initial: options.rto_initial, min: options.rto_min, max: options.rto_max },
        path_max_retransmissions: options.path_max_retransmissions,
        association_max_retransmissions: options.association_max_retransmissions,
        heartbeat_interval: options.heartbeat_interval,
        potentially_failed: options.potentially_failed,
        grow_in_recovery: options.grow_in_recovery,
        max_burst: options.max_burst.unwrap_or(0),
    };
    endpoint::Config::CmtSctp(cmt_sctp::Config {
        connection,
        accounting: options.receive_window_accounting,
        retransmission_policy: options.retransmission_policy,
        fast_retransmit_threshold: u8::try_from(options.fast_retransmit_threshold).unwrap_or(u8::MAX),
        ack_every: u8::try_from(options.ack_every).unwrap_or(u8::MAX),
        ack_delay: options.ack_delay,
        delayed_ack_for_cmt: options.delayed_ack_for_cmt,
    })
}

/// What the sender is told about the paths.
pub(super) fn paths(scenario: &Scenario) -> Vec<PathConfig> {
    scenario.paths.iter().map(|path| PathConfig { backup: path.backup, cost: path.cost }).collect()
}

/// The transport of a competing TCP flow, for both ends: one path of the scenario's own transport stands for it.
pub(super) fn tcp(scenario: &Scenario) -> endpoint::Config {
    transport(scenario)
}

/// The scheduler of a connection that has nothing to choose.
pub(super) fn only_path() -> Builtin {
    #[expect(clippy::expect_used, reason = "a name of the registry and no parameters")]
    Builtin::new("lowest-rtt", &[]).expect("a built-in scheduler")
}

/// The headers of a transport's packets.
pub(super) const fn overhead(config: &endpoint::Config) -> Overhead {
    match config {
        endpoint::Config::CmtSctp(_) => Overhead::SCTP,
    }
}

/// What a flow's sender is told about its paths. A path that is a backup to the scenario's connection is one like any
/// other to a flow that has nothing else.
pub(super) fn flow_paths(scenario: &Scenario, route: &FlowRoute) -> Vec<PathConfig> {
    match route {
        FlowRoute::Paths(paths) => {
            let only = paths.len() == 1;
            let config = |&path: &usize| {
                let path = &scenario.paths[path];
                PathConfig { backup: path.backup && !only, cost: path.cost }
            };
            paths.iter().map(config).collect()
        }
        FlowRoute::Links(_) => vec![PathConfig { backup: false, cost: 0 }],
    }
}
