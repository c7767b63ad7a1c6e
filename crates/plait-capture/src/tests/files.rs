//! Formats of files: captures, decisions.

use super::hosts::{ALL, Hosts, SCENARIO, scenario};
use crate::decisions;
use crate::records::Records;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use plait_sched::Time;
use std::path::Path;

/// Rewrites the capture as pcapng with this resolution of times, or the format's default without
/// one.
fn as_pcapng(folder: &Path, name: &str, resolution: Option<u8>) {
    let file = std::fs::read(folder.join(name)).unwrap();
    let mut reader = PcapReader::new(&file[..]).unwrap();
    let mut writer = PcapNgWriter::new(std::fs::File::create(folder.join(name)).unwrap()).unwrap();
    let options = resolution.map(InterfaceDescriptionOption::IfTsResol).into_iter().collect();
    let linktype = reader.header().datalink;
    let block = InterfaceDescriptionBlock { linktype, snaplen: 0, options };
    writer.write_pcapng_block(block).unwrap();
    let unit = if resolution == Some(9) { 1 } else { 1_000 };
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: packet.timestamp / unit,
            original_len: packet.orig_len,
            data: packet.data,
            options: Vec::new(),
        };
        writer.write_pcapng_block(block).unwrap();
    }
}

#[test]
fn pcapng_is_read_like_pcap() {
    let mut hosts = Hosts::new();
    hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
    hosts.write(|_| {});
    let folder = hosts.folder.path();
    for resolution in [None, Some(6), Some(9)] {
        hosts.write_captures();
        as_pcapng(folder, "sender.pcap", resolution);
        as_pcapng(folder, "receiver.pcap", Some(9));
        let result = crate::observe(&scenario(SCENARIO), folder, &ALL).unwrap();
        assert_eq!(result.metrics.app_delay_ms.unwrap().max, 10.0, "{resolution:?}");
    }
    hosts.write_captures();
    as_pcapng(folder, "sender.pcap", Some(3));
    let error = crate::observe(&scenario(SCENARIO), folder, &ALL).unwrap_err().to_string();
    let expected = "the resolution of times is 3 (valid: 6 and 9, powers of ten)";
    assert_eq!(error, format!("sender.pcap: record 1: {expected}"));
}

#[test]
fn files_that_are_no_captures_are_refused() {
    let mut hosts = Hosts::new();
    hosts.mapped((10, Some(20)), 0, (0, 1_000), 0);
    hosts.write(|_| {});
    let whole = std::fs::read(hosts.folder.path().join("sender.pcap")).unwrap();
    let with = |hosts: &Hosts, bytes: &[u8]| {
        hosts.file("sender.pcap", bytes);
        crate::observe(&scenario(SCENARIO), hosts.folder.path(), &ALL).unwrap_err().to_string()
    };
    let truncated = "sender.pcap: record 4: the file ends in the middle of it";
    assert_eq!(with(&hosts, &whole[..whole.len() - 1]), truncated);
    let unknown = "sender.pcap: it is no capture in the formats pcap and pcapng";
    assert_eq!(with(&hosts, &whole[..10]), unknown);
    assert_eq!(with(&hosts, b""), unknown);
    assert_eq!(with(&hosts, &[&[0x0a, 0x0d, 0x0d, 0x0a][..], &[0; 40]].concat()), unknown);
    let mut raw = whole.clone();
    raw[20..24].copy_from_slice(&105u32.to_be_bytes());
    let link =
        "sender.pcap: link type 105 is not known (valid: 276 LINUX_SLL2, 113 LINUX_SLL, 1 EN10MB, 101 RAW)";
    assert_eq!(with(&hosts, &raw), link);
    std::fs::remove_file(hosts.folder.path().join("sender.pcap")).unwrap();
    let missing = crate::observe(&scenario(SCENARIO), hosts.folder.path(), &ALL).unwrap_err().to_string();
    assert!(missing.starts_with("sender.pcap: cannot be read: No such file"), "{missing}");
}

#[test]
fn a_decision_has_the_pacing_rates_of_its_paths() {
    let hosts = Hosts::new();
    let read = |rate: u8| {
        let mut log = [0; decisions::HEADER + decisions::PATH];
        (log[8], log[10]) = (1, 1);
        (log[decisions::HEADER + 40], log[decisions::HEADER + 96]) = (20, rate);
        hosts.file("decisions.bin", log);
        let mut records = Records::open(hosts.folder.path(), "decisions.bin").unwrap().unwrap();
        let decision = decisions::next(&mut records, |_| Time::ZERO).unwrap().unwrap();
        (decision.paths[0].own_rtt.as_nanos(), decision.paths[0].pacing_rate)
    };
    assert_eq!([read(30), read(0)], [(20, Some(30)), (20, None)]);
}
