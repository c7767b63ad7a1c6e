//! Captures built by hand: observed results, and refused inputs.

mod files;
mod hosts;

use crate::packet;
use hosts::{ALL, FLOW_PORT, Hosts, KEY, SCENARIO, clock, scenario, short_mapping};
use pcap_file::DataLink;
use plait_sim::recorder::frames::NEVER;
use plait_transport::wire::mptcp::key::initial_data_number;
use proptest::prelude::*;
use serde_json::json;

const MILLI: i64 = 1_000_000;

#[test]
fn the_initial_number_is_the_one_that_linux_takes() {
    // From a connection of Linux 6.12: its key, and the data sequence number of byte 1424 of its
    // stream.
    assert_eq!(initial_data_number(0x4371_18e4_f6a4_0e49) + 1 + 1424, 14_514_879_944_227_150_455);
}

#[test]
fn short_numbers_wrap() {
    assert_eq!((initial_data_number(KEY) as u32).wrapping_add(1), u32::MAX - 1444);
    for link in [DataLink::LINUX_SLL2, DataLink::LINUX_SLL, DataLink::ETHERNET] {
        let mut hosts = Hosts::new();
        hosts.link = link;
        for piece in 0..4u32 {
            let at = 10 + u64::from(piece);
            let options = short_mapping(u64::from(piece) * 1_000, piece * 1_000, 1_000);
            hosts.data((at, Some(at + 20)), 0, (piece * 1_000, 1_000), &options);
        }
        let result = hosts.observe().unwrap();
        assert_eq!(result.metrics.delivered_bytes, 4_000);
        assert_eq!(result.metrics.app_delay_ms.unwrap().max, 20.0);
        assert_eq!(result.packets.unwrap().sequence, [0, 1, 2, 3]);
    }
}

#[test]
fn a_mapping_holds_for_packets_without_one() {
    let mut hosts = Hosts::new();
    hosts.data((10, Some(20)), 0, (0, 1_000), &short_mapping(0, 0, 3_000));
    hosts.data((11, Some(21)), 0, (1_000, 1_000), &[]);
    // The other path's packet with the mapping is lost, and retransmitted later.
    hosts.data((12, None), 1, (0, 500), &short_mapping(3_000, 0, 1_000));
    hosts.data((13, Some(23)), 1, (500, 500), &[]);
    hosts.data((14, Some(24)), 0, (2_000, 1_000), &[]);
    hosts.data((40, Some(50)), 1, (0, 500), &short_mapping(3_000, 0, 1_000));
    let result = hosts.observe().unwrap();
    assert_eq!(result.metrics.delivered_bytes, 4_000);
    let packets = result.packets.unwrap();
    assert_eq!(packets.sequence, [0, 1, 3, 4, 2, 3]);
    assert_eq!(
        packets.delivered,
        [20, 21, NEVER, 50, 24, 50].map(|at| if at == NEVER { at } else { at * MILLI })
    );
    assert_eq!(packets.retransmission, [false, false, false, false, false, true]);
}

#[test]
fn a_hole_in_a_subflow_holds_back_what_the_connection_could_take() {
    let mut hosts = Hosts::new();
    hosts.mapped((10, None), 0, (0, 1_000), 0);
    hosts.mapped((11, Some(21)), 0, (1_000, 1_000), 1_000);
    hosts.mapped((20, Some(30)), 1, (0, 1_000), 0);
    hosts.mapped((40, Some(50)), 0, (0, 1_000), 0);
    let result = hosts.observe().unwrap();
    let metrics = &result.metrics;
    assert_eq!((metrics.retransmissions, metrics.reinjections, metrics.spurious_retransmissions), (1, 1, 1));
    let packets = result.packets.unwrap();
    assert_eq!(packets.arrived, [NEVER, 21 * MILLI, 30 * MILLI, NEVER]);
    assert_eq!(packets.retransmission, [false, false, true, true]);
    assert_eq!(packets.reinjection, [false, false, true, false]);
    assert_eq!(packets.delivered, [NEVER, 50 * MILLI, 30 * MILLI, NEVER]);
    // 1000 bytes wait from 21 to 50 ms of 100 ms.
    assert_eq!(metrics.receive_buffer_bytes.mean, 290.0);
    assert_eq!(metrics.app_delay_ms.unwrap().max, 39.0);
}

#[test]
fn what_a_retransmission_overtakes_is_rejected() {
    let mut hosts = Hosts::new();
    let at = |time: u32| [&[8, 10][..], &time.to_be_bytes(), &[0; 4]].concat();
    let mut send = |times, start: u32, time| {
        hosts.data(times, 0, (start, 1_000), &[short_mapping(start.into(), start, 1_000), at(time)].concat());
    };
    send((10, None), 0, 10);
    send((11, Some(45)), 1_000, 11);
    send((30, Some(40)), 0, 30);
    send((60, Some(70)), 1_000, 60);
    let result = hosts.observe().unwrap();
    let packets = result.packets.unwrap();
    assert_eq!(packets.arrived, [NEVER, NEVER, 40 * MILLI, 70 * MILLI]);
    assert_eq!(packets.delivered, [NEVER, NEVER, 40 * MILLI, 70 * MILLI]);
    assert_eq!((result.metrics.retransmissions, result.metrics.spurious_retransmissions), (2, 0));
    assert_eq!(result.paths[0].packets_lost, 0, "the network lost the first, which nothing else tells");
}

#[test]
fn what_the_connection_drops_is_delivered_when_it_comes_again() {
    let mut hosts = Hosts::new();
    hosts.mapped((10, None), 0, (0, 1_000), 0);
    hosts.mapped((11, Some(21)), 1, (0, 1_000), 1_000);
    hosts.mapped((12, Some(22)), 1, (1_000, 1_000), 2_000);
    hosts.mapped((30, Some(40)), 0, (0, 1_000), 0);
    hosts.mapped((50, Some(60)), 0, (1_000, 1_000), 2_000);
    let origin = initial_data_number(KEY).wrapping_add(1);
    let numbers =
        |start: u64| [clock(22) as u64, origin.wrapping_add(start), origin.wrapping_add(start + 1_000)];
    // Drops of another connection have no effect.
    let records = [numbers(2_000), numbers(1 << 60)].concat();
    hosts.file("drops.bin", records.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>());
    let packets = hosts.observe().unwrap().packets.unwrap();
    assert_eq!(packets.delivered[1..4], [40 * MILLI, 60 * MILLI, 40 * MILLI]);
    hosts.file("drops.bin", [0; 23]);
    assert_eq!(hosts.refused(), "drops.bin: record 1: the file ends in the middle of it");
}

#[test]
fn pieces_of_other_boundaries_count_by_their_bytes() {
    let mut hosts = Hosts::new();
    hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
    hosts.mapped((11, None), 0, (1_000, 1_000), 1_000);
    hosts.mapped((12, Some(22)), 0, (2_000, 1_000), 2_000);
    // The lost packet is sent again in two pieces. The first is lost too, the second overlaps data
    // that has arrived.
    hosts.mapped((30, None), 0, (1_000, 400), 1_000);
    hosts.mapped((31, Some(41)), 0, (1_400, 900), 1_400);
    // New data and old in one packet.
    hosts.mapped((50, Some(60)), 0, (1_000, 400), 1_000);
    hosts.mapped((51, Some(61)), 0, (2_500, 1_000), 2_500);
    let result = hosts.observe().unwrap();
    assert_eq!(result.metrics.delivered_bytes, 3_500);
    assert_eq!(result.metrics.packets_delivered, 4);
    assert_eq!(result.metrics.retransmissions, 3);
    assert_eq!(result.metrics.spurious_retransmissions, 0);
    assert_eq!(result.paths[0].throughput_bps, 3_500.0 * 8.0 / 0.1);
    let packets = result.packets.unwrap();
    assert_eq!(packets.sequence, [0, 1, 2, 1, 1, 1, 3]);
    assert_eq!(packets.arrived[4..], [NEVER, 60 * MILLI, 61 * MILLI], "whole with its last byte");
    // 1000 bytes wait from 22 ms on, 600 more from 41 to 60 ms.
    assert_eq!(result.metrics.receive_buffer_bytes.mean, (1_000.0 * 38.0 + 600.0 * 19.0) / 100.0);
}

#[test]
fn reads_say_what_was_delivered() {
    let reads = |records: &[(i64, u64)]| -> Vec<u8> {
        let record = |&(at, bytes): &(i64, u64)| [clock(at).to_le_bytes(), bytes.to_le_bytes()].concat();
        records.iter().flat_map(record).collect()
    };
    let mut hosts = Hosts::new();
    hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
    hosts.mapped((11, Some(21)), 0, (1_000, 1_000), 1_000);
    hosts.file("reads.bin", reads(&[(20, 600), (25, 2_000)]));
    let packets = hosts.observe().unwrap().packets.unwrap();
    assert_eq!(packets.delivered, [25 * MILLI, 25 * MILLI]);
    hosts.file("reads.bin", reads(&[(20, 600), (20, 1_001)]));
    assert_eq!(
        hosts.refused(),
        "reads.bin: record 2: 1001 bytes were read at 0.020000000 s, when 1000 had arrived in order by the captures"
    );
    hosts.file("reads.bin", [0; 20]);
    assert_eq!(hosts.refused(), "reads.bin: record 2: the file ends in the middle of it");
}

#[test]
fn what_contradicts_itself_or_the_scenario_is_refused() {
    let uncovered = |hosts: &mut Hosts| {
        hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
        hosts.data((11, Some(21)), 0, (1_000, 1_000), &[]);
    };
    let malformed = |hosts: &mut Hosts| hosts.data((10, Some(20)), 0, (0, 1_000), &[30, 9]);
    let cut = |hosts: &mut Hosts| hosts.data((10, Some(20)), 0, (0, 1_000), &[30, 4, 0x20, 4]);
    type Case = (fn(&mut Hosts), &'static str);
    let cases: [Case; 3] = [
        (uncovered, "sender.pcap: record 5: no mapping of its subflow covers its payload"),
        (
            malformed,
            "sender.pcap: record 4: its TCP header is malformed: TCP option at byte 22: 5 bytes are missing",
        ),
        (
            cut,
            "sender.pcap: record 4: its TCP header is malformed: DSS option at byte 24: 4 bytes are missing",
        ),
    ];
    for (make, expected) in cases {
        let mut hosts = Hosts::new();
        make(&mut hosts);
        assert_eq!(hosts.refused(), expected);
    }
    let mut hosts = Hosts::silent();
    hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
    let expected = "sender.pcap: record 1: the SYN of its subflow, from port 40000, was not captured";
    assert_eq!(hosts.refused(), expected);
    let mut hosts = Hosts::new();
    hosts.mapped((10, Some(5)), 0, (0, 1_000), 0);
    let expected = "receiver.pcap: record 4: the sender's capture has no such packet (identification 3, sequence number 1)";
    assert_eq!(hosts.refused(), expected);
    let mut hosts = Hosts::new();
    hosts.write(|observed| observed["paths"][1]["name"] = json!("lte"));
    let refused = crate::observe(&scenario(SCENARIO), hosts.folder.path(), &ALL).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "observed.json: the paths are path1, lte; the scenario's are path1, path2"
    );
    hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
    hosts.write(|observed| {
        observed["paths"][0]["receiver"] = json!("10.0.1.2");
        observed["paths"][1]["receiver"] = json!("10.0.0.2");
    });
    let refused = crate::observe(&scenario(SCENARIO), hosts.folder.path(), &ALL).unwrap_err();
    let expected = "sender.pcap: record 4: a subflow from 10.0.0.1 to 10.0.0.2 is no path of the scenario";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn subflows_behind_a_translator_are_found_by_key_and_token() {
    let send = |mut hosts: Hosts| {
        hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
        hosts.mapped((11, Some(22)), 1, (0, 1_000), 1_000);
        hosts.observe().unwrap()
    };
    let (result, mut plain) = (send(Hosts::translated()), send(Hosts::new()));
    // The first SYN, as it arrives, has neither key nor token.
    plain.metrics.events -= 1;
    assert_eq!(result, plain);
    assert_eq!(result.packets.unwrap().arrived, [20 * MILLI, 22 * MILLI]);
}

#[test]
fn a_connection_that_falls_back_is_a_result_with_its_reason() {
    let delivered = |hosts: &mut Hosts, reason: Option<&str>| {
        hosts.write(|observed| observed["fallback"] = json!(reason));
        let result = crate::observe(&scenario(SCENARIO), hosts.folder.path(), &ALL).unwrap();
        assert_eq!(result.packets.unwrap().arrived, [20 * MILLI, 21 * MILLI, 22 * MILLI]);
        assert_eq!(result.metrics.app_delay_ms.unwrap().max, 10.0, "in order, without a hole");
        (result.metrics.delivered_bytes, result.fallback)
    };
    // Falls back by an infinite mapping, by a missing mapping after data with mappings, and by a
    // lack of MPTCP from the first data on.
    let mut infinite = Hosts::new();
    infinite.mapped((10, Some(20)), 0, (0, 1_000), 0);
    infinite.data((11, Some(21)), 0, (1_000, 1_000), &short_mapping(1_000, 1_000, 0));
    infinite.data((12, Some(22)), 0, (2_000, 1_000), &[]);
    let said = Some("sender: data came without a mapping");
    assert_eq!(delivered(&mut infinite, said), (3_000, said.map(str::to_owned)));
    assert!(delivered(&mut infinite, None).1.is_some(), "the captures alone tell it");
    let mut silent = Hosts::new();
    silent.mapped((10, Some(20)), 0, (0, 1_000), 0);
    silent.data((11, Some(21)), 0, (1_000, 1_000), &[]);
    silent.data((12, Some(22)), 0, (2_000, 1_000), &[]);
    assert_eq!(delivered(&mut silent, said), (3_000, said.map(str::to_owned)));
    let expected = "sender.pcap: record 5: no mapping of its subflow covers its payload";
    assert_eq!(silent.refused(), expected, "nobody said that it fell back");
    let mut plain = Hosts::new();
    for packet in 0..3 {
        plain.data((10 + u64::from(packet), Some(20 + u64::from(packet))), 0, (packet * 1_000, 1_000), &[]);
    }
    assert_eq!(delivered(&mut plain, said), (3_000, said.map(str::to_owned)));
    let mut joined = Hosts::new();
    joined.mapped((10, Some(20)), 0, (0, 1_000), 0);
    joined.mapped((11, Some(21)), 0, (1_000, 1_000), 1_000);
    joined.mapped((12, Some(22)), 1, (0, 1_000), 2_000);
    assert_eq!(delivered(&mut joined, None), (3_000, None), "it is one of MPTCP");
}

#[test]
fn competing_flows_are_told_from_the_captures() {
    let text = format!(
        "{SCENARIO}
        [[flow]]
        kind = \"tcp\"
        path = \"path1\"
        direction = \"backward\"
        size = \"2500B\"
        [[flow]]
        kind = \"cbr\"
        path = \"path1\"
        rate = \"1Mbit\"
        packet = \"100B\""
    );
    let mut hosts = Hosts::new();
    let backward = [1, 0];
    hosts.flow((5, Some(15)), backward, 0, 0);
    hosts.flow((20, Some(30)), backward, 0, 1_000);
    hosts.flow((21, None), backward, 1_000, 1_000);
    hosts.flow((22, Some(32)), backward, 2_000, 500);
    hosts.flow((50, Some(60)), backward, 1_000, 1_000);
    hosts.datagram((10, Some(20)), 0);
    hosts.datagram((11, None), 1);
    hosts.datagram((12, Some(23)), 2);
    hosts.datagram((95, None), 3);
    hosts.write(|observed| {
        observed["flows"] = json!([
            { "name": "flow1", "sender": "10.0.0.2", "receiver": "10.0.0.1", "port": FLOW_PORT },
            { "name": "flow2", "sender": "10.0.0.1", "receiver": "10.0.0.2", "port": FLOW_PORT },
        ]);
    });
    let result = crate::observe(&scenario(&text), hosts.folder.path(), &ALL).unwrap();
    let [tcp, cbr] = &result.flows[..] else { panic!("two flows") };
    assert_eq!(
        (tcp.packets_sent, tcp.retransmissions, tcp.packets_delivered, tcp.packets_lost),
        (4, 1, 3, 1)
    );
    assert_eq!((tcp.goodput_bps, tcp.completion_time_s), (2_500.0 * 8.0 / 0.1, Some(0.060)));
    assert_eq!((cbr.packets_sent, cbr.packets_delivered, cbr.packets_lost), (4, 2, 1));
    assert_eq!((cbr.goodput_bps, cbr.packets_dropped), (200.0 * 8.0 / 0.1, None));
    assert_eq!(cbr.delay_ms.unwrap().mean, 10.5);
}

#[test]
fn samples_and_decisions_become_tables() {
    let mut hosts = Hosts::new();
    hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
    hosts.acknowledge((20, 30), 0, 1_000, 5_712);
    let mut sample = clock(50).to_le_bytes().to_vec();
    for field in [1u32, 12, i32::MAX as u32, 21_500, 3, 1_429, 7, 0] {
        sample.extend_from_slice(&field.to_le_bytes());
    }
    hosts.file("series.bin", sample);
    let mut log = clock(5).to_le_bytes().to_vec();
    log.extend_from_slice(&[1, 0, 1, 0, 0, 0, 0, 0]);
    // struct plait_decision: wait until 9 ms.
    log.extend_from_slice(&clock(9).to_le_bytes());
    log.extend_from_slice(&[0; 8]);
    // struct plait_connection
    for field in [100u64, 7, 40, 45, 50, 3] {
        log.extend_from_slice(&field.to_le_bytes());
    }
    log.extend_from_slice(&[1, 0, 0, 0, 0, 1, 0, 0]);
    // struct plait_path
    log.extend_from_slice(&[0, 1, 0, 1]);
    for field in [1_428u32, 10, u32::MAX, 4, 2, u32::MAX, 100, 5, 0] {
        log.extend_from_slice(&field.to_le_bytes());
    }
    for field in [20u64, 5, 21, 19, i64::MIN as u64, 200, 1_000, 20, i64::MIN as u64] {
        log.extend_from_slice(&field.to_le_bytes());
    }
    hosts.file("decisions.bin", &log);
    let result = hosts.observe().unwrap();
    assert_eq!((result.metrics.counters.decisions, result.metrics.counters.waits), (Some(0), Some(1)));
    let (decisions, paths) = (result.decisions.unwrap(), result.decision_paths.unwrap());
    assert_eq!((decisions.time, decisions.wait_until), (vec![5 * MILLI], vec![Some(9 * MILLI)]));
    assert_eq!((decisions.unassigned, decisions.oldest_unacked), (vec![100], vec![Some(3)]));
    assert_eq!((decisions.window_left, decisions.window), (vec![40], vec![45]));
    assert_eq!((paths.cwnd, paths.cwnd_left, paths.loss_ppm), (vec![10], vec![4], vec![100]));
    assert_eq!((paths.srtt, paths.rto, paths.forward_delay), (vec![20], vec![200], vec![None]));
    let series = result.path_series.unwrap();
    assert_eq!((series.path, series.cwnd, series.srtt), (vec![1], vec![12.0], vec![21_500_000]));
    assert_eq!((series.ssthresh, series.queued, series.link_queue), (vec![f64::INFINITY], vec![2], vec![7]));
    let series = result.connection_series.unwrap();
    assert_eq!(series.time, [0, 40 * MILLI, 80 * MILLI]);
    assert_eq!(series.delivered_bytes, [0, 1_000, 1_000]);
    assert_eq!(series.window_left, [0, 4, 4], "5712 bytes of 1428 each");

    let mut unknown = log.clone();
    unknown[24] = 9;
    hosts.file("decisions.bin", unknown);
    assert_eq!(hosts.refused(), "decisions.bin: record 1: decision 9 is not known (valid: 0 to 5)");
    let mut unknown = log.clone();
    unknown[10] = 0;
    hosts.file("decisions.bin", unknown);
    assert_eq!(hosts.refused(), "decisions.bin: record 1: format 0 is not known (valid: 1)");
    hosts.file("decisions.bin", &log[..100]);
    assert_eq!(hosts.refused(), "decisions.bin: record 1: the file ends in the middle of it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn arbitrary_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = packet::parse(&bytes);
        let tcp = [&[0x45, 0, 0, 120, 0, 0, 0, 0, 64, 6][..], &bytes].concat();
        let _ = packet::parse(&tcp);
    }

    #[test]
    fn damaged_captures_are_read_or_refused(
        damages in prop::collection::vec((0usize..2, any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut hosts = Hosts::new();
        for piece in 0..6u32 {
            let at = 10 + u64::from(piece);
            let times = (at, Some(at + 10));
            hosts.mapped(times, (piece % 2) as u8, (piece / 2 * 1_000, 1_000), u64::from(piece) * 1_000);
        }
        hosts.write(|_| {});
        for (side, place, byte) in damages {
            let name = ["sender.pcap", "receiver.pcap"][side];
            let mut bytes = std::fs::read(hosts.folder.path().join(name)).unwrap();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            hosts.file(name, bytes);
        }
        let _ = crate::observe(&scenario(SCENARIO), hosts.folder.path(), &ALL);
    }
}
