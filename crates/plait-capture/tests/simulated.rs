//! A simulated run that is written as captures and read again has the metrics that the simulator gave.

mod common;

use common::{PACKETS, comparable, complete, read, scenario, simulate};
use plait_sim::recorder::frames::PacketFrame;

/// Runs, writes, reads and compares everything, to the last bit.
fn check(text: &str) {
    let scenario = scenario(text);
    let (simulated, folder) = simulate(&scenario, &PACKETS);
    complete(&folder, &scenario, &simulated);
    let observed = read(&scenario, &folder).unwrap_or_else(|error| panic!("{error}"));
    let (found, expected) = (comparable(&scenario, &observed), comparable(&scenario, &simulated));
    assert!(found == expected, "read: {found:#}\nsimulated: {expected:#}");
    assert!(observed.packets == simulated.packets.map(renumbered), "the tables of packets differ");
}

/// Segments that never left, because the run ended, are known to the simulator only.
fn renumbered(mut packets: PacketFrame) -> PacketFrame {
    let mut sent = packets.sequence.clone();
    sent.sort_unstable();
    sent.dedup();
    for sequence in &mut packets.sequence {
        *sequence = sent.partition_point(|other| other < sequence) as u64;
    }
    packets
}

#[test]
fn two_paths_with_full_queues() {
    check(
        r#"
        duration = "30s"
        warmup = "5s"
        scheduler = "lowest-rtt"
        transport = { protocol = "mptcp", receive_buffer = "200kB" }
        [[path]]
        rate = "10Mbit"
        rtt = "20ms"
        queue = "50p"
        [[path]]
        rate = "5Mbit"
        rtt = "100ms"
        queue = "30p"
        "#,
    );
}

#[test]
fn assigned_ahead_of_the_windows() {
    check(
        r#"
        duration = "20s"
        warmup = "2s"
        scheduler = "daps"
        transport = { protocol = "mptcp", receive_buffer = "100kB" }
        [[path]]
        rate = "1Mbit"
        rtt = "20ms"
        [[path]]
        rate = "2Mbit"
        rtt = "100ms"
        "#,
    );
}

#[test]
fn losses_and_blocks() {
    check(
        r#"
        duration = "30s"
        warmup = "3s"
        scheduler = "round-robin"
        transport = { protocol = "mptcp", ack_every = 2 }
        workload = { kind = "cbr", rate = "3Mbit", block = "8KiB" }
        [[path]]
        rate = "4Mbit"
        rtt = "30ms"
        loss = "0.5%"
        [[path]]
        rate = "4Mbit"
        rtt = "60ms"
        loss = "0.2%"
        "#,
    );
}

#[test]
fn a_file_over_tcp() {
    check(
        r#"
        duration = "60s"
        transport = { protocol = "tcp", congestion_control = "cubic" }
        workload = { kind = "file", size = "10MB" }
        [[path]]
        rate = "10Mbit"
        rtt = "40ms"
        queue = "40p"
        loss = "0.1%"
        "#,
    );
}
