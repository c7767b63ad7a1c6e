//! Captures of simulated runs, byte for byte. A changed hash means that packets on the wire or the
//! simulation have changed; the commit must say which.

use crate::common::{PACKETS, scenario, simulate};
use sha2::{Digest as _, Sha256};

/// Returns eight bytes of the hash of both hosts' captures of a run.
fn captured(text: &str) -> u64 {
    let (_, folder) = simulate(&scenario(text), &PACKETS);
    let mut hash = Sha256::new();
    for name in ["sender.pcap", "receiver.pcap"] {
        hash.update(std::fs::read(folder.path().join(name)).expect("a capture"));
    }
    hash.finalize()[..8].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Paths with losses in both directions and with reordering.
fn paths(count: usize) -> &'static str {
    const BOTH: &str = r#"
        [[path]]
        rate = "8Mbit"
        rtt = "20ms"
        queue = "20p"
        jitter = { amount = "6ms", reorder = true }
        backward = { loss = "1%" }
        [[path]]
        rate = "4Mbit"
        rtt = "30ms"
        queue = "20p"
        loss = "1%"
        "#;
    if count == 2 { BOTH } else { BOTH.rsplit_once("[[path]]").map_or(BOTH, |(first, _)| first) }
}

#[test]
fn captures_are_the_same_to_the_byte() {
    let cases = [
        (0x71e2_5827_2b9f_a35b, 1, r#"protocol = "tcp", profile = "standard""#),
        (0x2e99_0f63_ddc3_a099, 1, r#"protocol = "tcp", profile = "linux""#),
        (0x303a_47c2_79df_9fe6, 2, r#"protocol = "mptcp", profile = "standard""#),
        (
            0x755f_a3db_55c9_3579,
            2,
            r#"protocol = "mptcp", profile = "standard", handshake = false, ack_every = 2"#,
        ),
        (0xef2e_2cb2_3bc8_46b9, 2, r#"protocol = "mptcp", profile = "linux""#),
        (0x4f74_1896_7f58_145e, 2, r#"protocol = "cmt-sctp""#),
        (
            0x28bc_08ec_f471_038c,
            2,
            r#"protocol = "cmt-sctp", ack_every = 2, delayed_ack_for_cmt = true, packet = "600B""#,
        ),
    ];
    let wrong: Vec<_> = cases
        .into_iter()
        .filter_map(|(hash, count, transport)| {
            let found = captured(&format!(
                r#"
                seed = 3
                duration = "4s"
                scheduler = "round-robin"
                transport = {{ {transport}, receive_buffer = "300kB" }}
                {}"#,
                paths(count)
            ));
            (found != hash).then(|| format!("{transport}: {found:#x}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A path that is idle for long is probed by heartbeats.
#[test]
fn heartbeats_are_the_same_to_the_byte() {
    let found = captured(
        r#"
        duration = "40s"
        transport = { protocol = "cmt-sctp", receive_buffer = "100kB" }
        [[path]]
        rate = "1Mbit"
        rtt = "20ms"
        queue = "50p"
        [[path]]
        rate = "1Mbit"
        rtt = "30ms"
        queue = "50p"
        outages = [{ from = "3s", to = "20s" }]
        "#,
    );
    assert_eq!(found, 0x697a_de20_7c18_297c, "{found:#x}");
}
