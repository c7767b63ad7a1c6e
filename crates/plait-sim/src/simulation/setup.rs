//! From a scenario to the pieces that are simulated.

use crate::application::Place;
use crate::scenario::{
    CongestionControl, FlowRoute, MptcpOptions, OwnOptions, Profile, Protocol, Scenario, TransportOptions,
};
use plait_sched::{Builtin, PathId};
use plait_transport::congestion::{Algorithm, CongestionConfig, Family};
use plait_transport::rtt::{RtoConfig, RtoRule};
use plait_transport::{ConnectionConfig, PathConfig, WindowRule, cmt_sctp, endpoint, mpquic, mptcp};

/// The transport's configuration, for both ends.
pub(super) fn transport(scenario: &Scenario) -> endpoint::Config {
    let two_way = scenario.workload.client() == Place::Far;
    endpoint_config(&scenario.transport, initial_path(scenario), two_way)
}

/// Which subflow is opened first.
fn initial_path(scenario: &Scenario) -> PathId {
    let Some(name) = scenario.transport.initial_path() else { return PathId(0) };
    let place = scenario.paths.iter().position(|path| path.name == name);
    PathId(place.unwrap_or(0) as u8)
}

fn endpoint_config(options: &TransportOptions, initial_path: PathId, two_way: bool) -> endpoint::Config {
    let ack_every = u8::try_from(options.ack_every).unwrap_or(u8::MAX);
    match &options.own {
        OwnOptions::CmtSctp(own) => endpoint::Config::CmtSctp(cmt_sctp::Config {
            connection: ConnectionConfig {
                heartbeat_interval: own.heartbeat_interval,
                ..connection(options, false)
            },
            accounting: own.receive_window_accounting,
            retransmission_policy: own.retransmission_policy,
            fast_retransmit_threshold: u8::try_from(own.fast_retransmit_threshold).unwrap_or(u8::MAX),
            ack_every,
            ack_delay: options.ack_delay,
            delayed_ack_for_cmt: own.delayed_ack_for_cmt,
        }),
        OwnOptions::Mptcp(own) => endpoint::Config::Mptcp(mptcp::Config {
            connection: connection(options, own.hystart),
            ack_every,
            ack_delay: options.ack_delay,
            handshake: own.handshake,
            initial_path,
            clock: mptcp::ClockConfig {
                granularity: own.timestamp_granularity,
                sender_offset: 0,
                receiver_offset: own.clock_offset,
            },
            multipath: options.protocol == Protocol::Mptcp,
            two_way,
            ecn: own.ecn,
            rules: match own.profile {
                Profile::Standard => mptcp::Rules::STANDARD,
                Profile::Linux => mptcp::Rules::LINUX,
            },
        }),
        OwnOptions::Mpquic(own) => endpoint::Config::Mpquic(mpquic::Config {
            connection: connection(options, own.hystart),
            ack_every,
            ack_delay: options.ack_delay,
            handshake: own.handshake,
            initial_path,
            ecn: own.ecn,
        }),
    }
}

/// What the protocols have in common.
fn connection(options: &TransportOptions, hystart: bool) -> ConnectionConfig {
    let overhead = options.overhead();
    let (window_rule, lost_keep_numbers) = match options.protocol {
        Protocol::CmtSctp => (WindowRule::Credit, false),
        Protocol::Mptcp | Protocol::Tcp => (WindowRule::Offset, true),
        Protocol::Mpquic => (WindowRule::Limit, false),
    };
    let counted_overhead = options.counted_overhead();
    let segment_bytes = options.packet - overhead.of_data();
    let linux = options.profile() == Profile::Linux;
    ConnectionConfig {
        segment_bytes,
        counted_overhead,
        window_rule,
        lost_keep_numbers,
        receive_window: options.receive_buffer,
        send_buffer: options.send_buffer.unwrap_or(u64::MAX),
        congestion: CongestionConfig {
            algorithm: (options.congestion_control.algorithm(options.controllers()))
                .unwrap_or(Algorithm::Reno),
            hystart,
            initial_window: options.initial_window,
            initial_threshold: options.initial_ssthresh.unwrap_or(u64::MAX),
            segment: u64::from(segment_bytes + counted_overhead),
        },
        rto: RtoConfig {
            initial: options.rto_initial,
            min: options.rto_min,
            max: options.rto_max,
            rule: match options.protocol {
                Protocol::Mpquic => RtoRule::Probe { ack_delay: options.ack_delay },
                _ if linux => RtoRule::Linux,
                _ => RtoRule::Rfc6298,
            },
        },
        path_max_retransmissions: options.path_max_retransmissions,
        association_max_retransmissions: options.association_max_retransmissions,
        heartbeat_interval: plait_sched::Duration::ZERO,
        potentially_failed: options.potentially_failed,
        grow_in_recovery: options.grow_in_recovery,
        max_burst: options.max_burst.unwrap_or(0),
        window_in_packets: linux,
        restarts_by_packet: linux && options.protocol == Protocol::Mptcp,
        joined_writes: linux,
    }
}

/// What the sender is told about the paths.
pub(super) fn paths(scenario: &Scenario) -> Vec<PathConfig> {
    scenario.paths.iter().map(|path| PathConfig { backup: path.backup, cost: path.cost }).collect()
}

/// The transport of a competing TCP flow, for both ends: as the scenario's, but never held up by its receiver. Coupled
/// congestion control has nothing to couple on one path.
pub(super) fn tcp(scenario: &Scenario) -> endpoint::Config {
    let own = match &scenario.transport.own {
        OwnOptions::CmtSctp(_) => OwnOptions::Mptcp(MptcpOptions::DEFAULT),
        OwnOptions::Mpquic(own) => OwnOptions::Mptcp(MptcpOptions { ecn: own.ecn, ..MptcpOptions::DEFAULT }),
        mptcp @ OwnOptions::Mptcp(_) => mptcp.clone(),
    };
    let control = scenario.transport.congestion_control;
    let options = TransportOptions {
        protocol: Protocol::Tcp,
        own,
        congestion_control: match control.algorithm(Family::Tcp) {
            Some(algorithm) if !algorithm.is_coupled() => control,
            _ => CongestionControl::NEWRENO,
        },
        receive_buffer: match scenario.transport.profile() {
            Profile::Standard => UNBOUNDED_BUFFER,
            Profile::Linux => LARGE_BUFFER,
        },
        send_buffer: None,
        ..scenario.transport.clone()
    };
    endpoint_config(&options, PathId(0), false)
}

/// More than any link holds.
const UNBOUNDED_BUFFER: u64 = 1 << 40;

/// Likewise, where acknowledgements depend on how far the window is from the buffer.
const LARGE_BUFFER: u64 = 1 << 24;

/// The transport of a second connection like the scenario's own, over `route`.
pub(super) fn multipath(scenario: &Scenario, route: &FlowRoute) -> endpoint::Config {
    let first = initial_path(scenario);
    let place = match route {
        FlowRoute::Paths(paths) => paths.iter().position(|&path| path == first.index()).unwrap_or(0),
        FlowRoute::Links(_) => 0,
    };
    endpoint_config(&scenario.transport, PathId(place as u8), false)
}

/// The scheduler of a connection that has nothing to choose.
pub(super) fn only_path() -> Builtin {
    #[expect(clippy::expect_used, reason = "a name of the registry and no parameters")]
    Builtin::new("lowest-rtt", &[]).expect("a built-in scheduler")
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
