//! Options of the transport: reading, writing, errors.

use super::*;

#[test]
fn each_protocol_has_options_of_its_own() {
    let with = |transport: &str| read(&format!("[transport]\n{transport}\n{SMALL}"));
    let scenario = with(
        "protocol = \"mptcp\"\nprofile = \"standard\"\nclock_offset = \"-20ms\"\ninitial_path = \"path1\"",
    )
    .expect("valid");
    let OwnOptions::Mptcp(MptcpOptions { clock_offset, handshake: true, initial_path, .. }) =
        &scenario.transport.own
    else {
        panic!("MPTCP's options")
    };
    assert_eq!((*clock_offset, initial_path.as_deref()), (-20_000_000, Some("path1")));
    // Ten packets' payload: 1500 - 52 - 20 bytes each.
    assert_eq!(scenario.transport.initial_window, 14_280);
    assert_eq!(
        with("protocol = \"tcp\"\nprofile = \"standard\"").expect("valid").transport.initial_window,
        14_480
    );
    assert_eq!(
        with("protocol = \"cmt-sctp\"\ninitial_window = \"3p\"").expect("valid").transport.initial_window,
        3 * 1468
    );
    let again =
        Scenario::from_json(&scenario.to_json().to_string(), "s.json", Path::new(".")).expect("valid");
    assert_eq!(again, Scenario { name: again.name.clone(), ..scenario });

    for (transport, expected) in [
        (
            "protocol = \"mptcp\"\nretransmission_policy = \"same\"",
            "transport.retransmission_policy: mptcp has no such key; protocol = \"cmt-sctp\" has it",
        ),
        (
            "retransmission_policy = \"same\"",
            "transport.retransmission_policy: mptcp, the default protocol, has no such key; \
             protocol = \"cmt-sctp\" has it",
        ),
        (
            "protocol = \"cmt-sctp\"\nhandshake = true",
            "transport.handshake: cmt-sctp has no such key; protocol = \"mptcp\", \"tcp\" or \"mpquic\" has it",
        ),
        ("protocol = \"cmt-sctp\"\nhandshakes = true", "transport.handshakes: unknown key"),
        ("protocol = \"mptcp\"\ninitial_path = \"x\"", "no path is called \"x\" (valid: path1)"),
        ("protocol = \"mptcp\"\nclock_offset = \"-1y\"", "transport.clock_offset = \"-1y\""),
        ("protocol = \"tcp\"\ninitial_window = \"0p\"", "must be from 1p to 1000000p"),
    ] {
        let error = with(transport).expect_err(transport).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let two = format!("[transport]\nprotocol = \"tcp\"\n{SMALL}{SMALL}");
    assert!(refused(&two).contains("tcp has one path, not 2; mptcp has several"));
}
