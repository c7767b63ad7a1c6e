//! A simulated run that is written as captures and observed again has the metrics of the simulator.

use crate::common::{PACKETS, comparable, complete, read, scenario, simulate};
use plait_capture::write::{Capture, Role};
use plait_sim::recorder::RecordOptions;
use plait_sim::recorder::frames::PacketFrame;
use plait_sim::scenario::Direction;
use plait_sim::simulation::{self, Control, Origin, PacketId, Sighting, Tap};
use std::collections::BTreeSet;

/// Runs, writes, observes and compares all results, to the last bit.
fn check(text: &str) {
    let scenario = scenario(text);
    let (simulated, folder) = simulate(&scenario, &PACKETS);
    complete(&folder, &scenario, &simulated);
    let observed = read(&scenario, &folder).unwrap_or_else(|error| panic!("{error}"));
    let (found, expected) = (comparable(&scenario, &observed), comparable(&scenario, &simulated));
    assert!(found == expected, "read: {found:#}\nsimulated: {expected:#}");
    assert!(observed.packets == simulated.packets.map(renumbered), "the tables of packets differ");
}

/// Renumbers the segments. Those that never left before the end of the run are known only to the
/// simulator.
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
        transport = { protocol = "mptcp", profile = "standard", receive_buffer = "200kB" }
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
        transport = { protocol = "mptcp", profile = "standard", receive_buffer = "100kB" }
        [[path]]
        rate = "1Mbit"
        rtt = "20ms"
        queue = "50p"
        [[path]]
        rate = "2Mbit"
        rtt = "100ms"
        queue = "50p"
        "#,
    );
}

/// Data that leaves between the fall-back and the time at which the sender learns of it has
/// mappings; later data has none.
#[test]
fn a_connection_that_falls_back() {
    let text = r#"
        seed = 5
        duration = "4s"
        warmup = "1s"
        scheduler = "lowest-rtt"
        transport = { protocol = "mptcp", profile = "linux", receive_buffer = "6MB", congestion_control = "newreno" }
        [[path]]
        rate = "26.6Mbit"
        queue = "100p"
        delay = "18.9ms"
        forward = { jitter = { amount = "3.8ms", reorder = true } }
        [[path]]
        rate = "3.3Mbit"
        queue = "30p"
        delay = "98.7ms"
        loss = "0.1%"
        "#;
    let scenario = scenario(text);
    let (simulated, folder) = simulate(&scenario, &PACKETS);
    assert!(simulated.fallback.is_some());
    complete(&folder, &scenario, &simulated);
    let observed = read(&scenario, &folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(observed.fallback, simulated.fallback);
    assert_eq!(observed.metrics.delivered_bytes, simulated.metrics.delivered_bytes);
    assert_eq!(observed.metrics.goodput_bps.to_bits(), simulated.metrics.goodput_bps.to_bits());
}

#[test]
fn losses_and_blocks() {
    check(
        r#"
        duration = "30s"
        warmup = "3s"
        scheduler = "round-robin"
        transport = { protocol = "mptcp", profile = "standard", ack_every = 2 }
        workload = { kind = "cbr", rate = "3Mbit", block = "8KiB" }
        [[path]]
        rate = "4Mbit"
        rtt = "30ms"
        queue = "50p"
        loss = "0.5%"
        [[path]]
        rate = "4Mbit"
        rtt = "60ms"
        queue = "50p"
        loss = "0.2%"
        "#,
    );
}

#[test]
fn a_file_over_tcp() {
    check(
        r#"
        duration = "60s"
        transport = { protocol = "tcp", profile = "standard", congestion_control = "cubic" }
        workload = { kind = "file", size = "10MB" }
        [[path]]
        rate = "10Mbit"
        rtt = "40ms"
        queue = "40p"
        loss = "0.1%"
        "#,
    );
}

#[test]
fn as_linux_does_it() {
    check(
        r#"
        duration = "20s"
        scheduler = "lowest-rtt"
        transport = { protocol = "mptcp", profile = "linux", receive_buffer = "4MB", initial_path = "lte" }
        [[path]]
        name = "wifi"
        rate = "8Mbit"
        rtt = "20ms"
        queue = "40p"
        loss = "0.1%"
        [[path]]
        name = "lte"
        rate = "4Mbit"
        rtt = "70ms"
        queue = "60p"
        "#,
    );
}

/// The receiver rejects data that a retransmission overtakes, by its timestamp. The reader of
/// captures must know this.
#[test]
fn overtaken_by_retransmissions() {
    check(
        r#"
        duration = "20s"
        scheduler = "lowest-rtt"
        transport = { protocol = "mptcp", profile = "linux", receive_buffer = "4MB" }
        [[path]]
        rate = "8Mbit"
        rtt = "60ms"
        queue = "100p"
        loss = "0.5%"
        jitter = { amount = "20ms", reorder = true }
        [[path]]
        rate = "4Mbit"
        rtt = "30ms"
        queue = "30p"
        jitter = { amount = "5ms", reorder = true }
        "#,
    );
}

#[test]
fn reordered_on_the_way_and_open_from_the_start() {
    check(
        r#"
        duration = "10s"
        scheduler = "round-robin"
        transport = { protocol = "mptcp", profile = "standard", handshake = false, receive_buffer = "4MB" }
        [[path]]
        rate = "8Mbit"
        rtt = "20ms"
        queue = "4000p"
        # Nothing is lost here, so that no retransmission makes the receiver reject what is older: the reader does as Linux does.
        jitter = { amount = "6ms", reorder = true }
        [[path]]
        rate = "4Mbit"
        rtt = "30ms"
        queue = "60p"
        loss = "0.5%"
        "#,
    );
}

/// A scenario with every event that a tap can see: losses and full queues in both directions, and
/// reordering.
fn busy(transport: &str) -> String {
    format!(
        r#"
        duration = "10s"
        scheduler = "round-robin"
        transport = {{ {transport}, receive_buffer = "300kB" }}
        [[path]]
        rate = "8Mbit"
        rtt = "20ms"
        queue = "20p"
        jitter = {{ amount = "6ms", reorder = true }}
        [path.backward]
        rate = "300kbit"
        queue = "5p"
        loss = "1%"
        [[path]]
        rate = "4Mbit"
        rtt = "30ms"
        queue = "20p"
        loss = "1%"
        "#
    )
}

/// Counts the packets that it sees.
#[derive(Default)]
struct Count {
    sent: u64,
    arrived: u64,
    gone: u64,
    open: BTreeSet<(u8, bool, bool, u64)>,
}

impl Count {
    fn key(id: PacketId) -> (u8, bool, bool, u64) {
        (id.path.0, id.direction == Direction::Forward, id.data, id.number)
    }
}

impl Tap for Count {
    fn sent(&mut self, seen: &Sighting<'_>, _origin: Origin<'_>) {
        self.sent += 1;
        assert!(self.open.insert(Self::key(seen.id)), "{:?} was sent twice", seen.id);
    }

    fn arrived(&mut self, seen: &Sighting<'_>) {
        self.arrived += 1;
        assert!(self.open.remove(&Self::key(seen.id)), "{:?} was not under way", seen.id);
    }

    fn gone(&mut self, id: PacketId) {
        self.gone += 1;
        assert!(self.open.remove(&Self::key(id)), "{id:?} was not under way");
    }
}

#[test]
fn a_tap_sees_each_packet_once_at_each_end_and_changes_nothing() {
    for transport in ["protocol = \"mptcp\", profile = \"standard\"", "protocol = \"cmt-sctp\""] {
        let scenario = scenario(&busy(transport));
        let mut count = Count::default();
        let control = &mut |_share| Control::Continue;
        let options = RecordOptions::default();
        let scheduler = || scenario.scheduler.build();
        let tapped = simulation::run_tapped(&scenario, scheduler(), &options, &mut count, control).unwrap();
        let plain = simulation::run(&scenario, scheduler(), &options, control).unwrap();
        assert_eq!(tapped.to_json(&scenario, "test"), plain.to_json(&scenario, "test"));
        let forward: u64 =
            plain.paths.iter().map(|path| path.packets_lost + path.packets_dropped.unwrap_or(0)).sum();
        assert!(forward > 20 && count.gone > forward, "{} gone, {forward} of them forward", count.gone);
        assert_eq!(count.sent, count.arrived + count.gone + count.open.len() as u64);
        assert!(count.open.len() < 200, "{} are under way at the end", count.open.len());
    }
}

#[test]
fn the_same_run_leaves_the_same_bytes() {
    for transport in ["protocol = \"mptcp\", profile = \"standard\"", "protocol = \"cmt-sctp\""] {
        let scenario = scenario(&busy(transport));
        let files = || {
            let (_, folder) = simulate(&scenario, &PACKETS);
            ["sender.pcap", "receiver.pcap"].map(|name| std::fs::read(folder.path().join(name)).unwrap())
        };
        let first = files();
        assert!(first.iter().all(|file| file.len() > 100_000) && first == files());
    }
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenario(&busy("protocol = \"mptcp\", profile = \"standard\""));
    let missing = folder.path().join("missing");
    let error = Capture::create(&scenario, "test", &|_, role: Role| missing.join(role.name())).unwrap_err();
    let expected =
        format!("{}: cannot be written: No such file or directory", missing.join("sender").display());
    assert_eq!(error.to_string(), expected);
    // Files without a `finish` leave nothing behind.
    let file_of = |path, role: Role| folder.path().join(format!("{path}-{}", role.name()));
    drop(Capture::create(&scenario, "test", &file_of).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
