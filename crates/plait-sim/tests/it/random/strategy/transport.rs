//! Random options of the protocols.

use super::{log, sometimes};
use plait_transport::congestion::{Algorithm, Family};
use proptest::prelude::*;

/// MPTCP with any of its options.
pub(super) fn mptcp() -> impl Strategy<Value = String> {
    let packet = prop_oneof![3 => Just(1500_u64), 1 => 80_u64..9_000];
    let buffers = (
        packet,
        prop_oneof![1_u64..4, log(1, 1_000)],
        sometimes(log(1, 500).prop_map(|packets| packets.to_string())),
    );
    let control = prop::sample::select(Algorithm::names(Some(Family::Tcp)));
    let windows = (control, any::<bool>(), prop_oneof![Just(10_u64), log(1, 100)], any::<bool>());
    let acknowledgements = (prop_oneof![3 => Just(1_u32), 3 => Just(2), 1 => 1_u32..20], log(1, 500));
    let timers = (log(1, 1_000), log(1, 8), prop_oneof![log(1, 8_000), log(2_000, 8_000)]);
    let failures = (0_u32..6, prop_oneof![Just(10_u32), 0_u32..20, Just(100_000)], any::<bool>());
    let clocks = (any::<bool>(), log(1, 1_000_000), -1_000_000_i64..1_000_000, any::<bool>());
    (buffers, windows, acknowledgements, timers, failures, clocks).prop_map(
        |(
            (packet, receive, send),
            (control, hystart, initial_window, grow),
            (ack_every, ack_delay),
            (rto_min, initial_factor, rto_max),
            (path_max, association_max, suspect),
            (handshake, tick, offset, ecn),
        )| {
            let receive = packet * receive;
            let send = match send.parse::<u64>() {
                Ok(packets) => format!("send_buffer = \"{}B\"\n", packet * packets),
                Err(_) => String::new(),
            };
            let max = rto_max.max(rto_min);
            let initial = (rto_min * initial_factor).min(max);
            format!(
                "protocol = \"mptcp\"\nprofile = \"standard\"\npacket = \"{packet}B\"\nreceive_buffer = \"{receive}B\"\n{send}\
                 congestion_control = \"{control}\"\nhystart = {hystart}\n\
                 initial_window = \"{initial_window}p\"\ngrow_in_recovery = {grow}\nack_every = {ack_every}\n\
                 ack_delay = \"{ack_delay}ms\"\nrto_min = \"{rto_min}ms\"\nrto_initial = \"{initial}ms\"\n\
                 rto_max = \"{max}ms\"\npath_max_retransmissions = {path_max}\n\
                 association_max_retransmissions = {association_max}\npotentially_failed = {suspect}\n\
                 handshake = {handshake}\ntimestamp_granularity = \"{tick}us\"\nclock_offset = \"{offset}us\"\n\
                 ecn = {ecn}\n"
            )
        },
    )
}

/// Multipath QUIC with any of the options that it shares with MPTCP.
pub(super) fn mpquic() -> impl Strategy<Value = String> {
    const OTHERS: [&str; 3] = ["rto_min", "timestamp_granularity", "clock_offset"];
    mptcp().prop_map(|text| {
        let shared = text.lines().filter(|line| !OTHERS.iter().any(|key| line.starts_with(key)));
        let text: String = shared.map(|line| format!("{line}\n")).collect();
        text.replacen("protocol = \"mptcp\"\nprofile = \"standard\"", "protocol = \"mpquic\"", 1)
    })
}

pub(super) fn cmt_sctp() -> impl Strategy<Value = String> {
    let packet = prop_oneof![3 => Just(1500_u64), 1 => 60_u64..9_000];
    let buffers = (
        packet.clone(),
        prop_oneof![1_u64..4, log(1, 1_000)],
        sometimes(log(1, 500).prop_map(|packets| packets.to_string())),
    );
    let windows = (
        any::<bool>(),
        prop_oneof![Just(4_380_u64), log(1, 100_000)],
        sometimes(log(1, 100_000).prop_map(|bytes| format!("initial_ssthresh = \"{bytes}B\"\n"))),
        prop_oneof![4 => Just(0_u64), 1 => 1_u64..8],
        any::<bool>(),
    );
    let acknowledgements =
        (prop_oneof![3 => Just(1_u32), 3 => Just(2), 1 => 1_u32..20], log(1, 500), any::<bool>());
    let policy = prop::sample::select(vec!["same", "ssthresh", "cwnd", "loss-rate", "asap"]);
    let losses = (policy, prop_oneof![3 => Just(3_u32), 1 => 1_u32..6]);
    let timers = (log(1, 1_000), log(1, 8), prop_oneof![log(1, 8_000), log(2_000, 8_000)]);
    let failures = (0_u32..6, prop_oneof![Just(10_u32), 0_u32..20, Just(100_000)], any::<bool>());
    let heartbeats = log(100, 5_000);
    (buffers, windows, acknowledgements, losses, timers, failures, heartbeats).prop_map(
        |(
            (packet, receive, send),
            (outstanding, initial_window, ssthresh, max_burst, grow),
            (ack_every, ack_delay, cmt),
            (policy, threshold),
            (rto_min, initial_factor, rto_max),
            (path_max, association_max, suspect),
            heartbeat,
        )| {
            let receive = packet * receive;
            let send = match send.parse::<u64>() {
                Ok(packets) => format!("send_buffer = \"{}B\"\n", packet * packets),
                Err(_) => String::new(),
            };
            let accounting = if outstanding { "outstanding" } else { "buffer" };
            let initial = rto_min * initial_factor;
            // Never more than 8 s, so that the time after the last outage is many timeouts long.
            let max = rto_max.max(rto_min);
            let initial = initial.min(max);
            format!(
                "protocol = \"cmt-sctp\"\npacket = \"{packet}B\"\nreceive_buffer = \"{receive}B\"\n{send}\
                 receive_window_accounting = \"{accounting}\"\ninitial_window = \"{initial_window}B\"\n{ssthresh}\
                 max_burst = {max_burst}\ngrow_in_recovery = {grow}\nack_every = {ack_every}\n\
                 ack_delay = \"{ack_delay}ms\"\ndelayed_ack_for_cmt = {cmt}\nretransmission_policy = \"{policy}\"\n\
                 fast_retransmit_threshold = {threshold}\nrto_min = \"{rto_min}ms\"\nrto_initial = \"{initial}ms\"\n\
                 rto_max = \"{max}ms\"\npath_max_retransmissions = {path_max}\n\
                 association_max_retransmissions = {association_max}\npotentially_failed = {suspect}\n\
                 heartbeat_interval = \"{heartbeat}ms\"\n"
            )
        },
    )
}
