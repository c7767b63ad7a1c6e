//! The defaults of missing keys.

use super::*;

#[test]
fn what_is_not_said_has_the_documented_default() {
    let scenario = Scenario::from_toml(SMALL, "folder/small.toml", Path::new(".")).expect("a valid scenario");
    assert_eq!((scenario.name.as_str(), scenario.seed), ("small", 1));
    assert_eq!((scenario.duration, scenario.warmup), (Duration::from_secs(60), Duration::ZERO));
    assert_eq!((scenario.scheduler.name(), &scenario.workload), ("lowest-rtt", &Workload::DEFAULT));
    let transport = &scenario.transport;
    assert_eq!((transport.protocol, transport.profile()), (Protocol::Mptcp, Profile::Linux));
    assert_eq!((transport.congestion_control.name(), transport.receive_buffer), ("cubic", 6 << 20));
    assert_eq!((transport.send_buffer, transport.initial_ssthresh, transport.max_burst), (None, None, None));
    assert_eq!(scenario.paths[0].name, "path1");
    let said = format!("[transport]\nprotocol = \"mptcp\"\nprofile = \"linux\"\n{SMALL}queue = \"bdp\"\n");
    let said = Scenario::from_toml(&said, "small.toml", Path::new(".")).expect("a valid scenario");
    assert_eq!(said, scenario);
    let empty = Scenario::from_toml(SMALL, "", Path::new("")).expect("a valid scenario");
    assert_eq!(empty.name, "unnamed");
}

#[test]
fn a_queue_of_one_bandwidth_delay_product_holds_an_initial_window_at_least() {
    let queue = |rate: &str, rtt: &str| {
        let text = format!("[[path]]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nqueue = \"bdp\"\n");
        wire(&read(&text).expect("a valid scenario"), 0).forward.queue.first()
    };
    assert_eq!(queue("1Mbit", "20ms"), QueueLimit::Packets(10)); // 1.67
    assert_eq!(queue("1kbit", "1ms"), QueueLimit::Packets(10));
    assert_eq!(queue("12Mbit", "10ms"), QueueLimit::Packets(10)); // exactly
    assert_eq!(queue("12001kbit", "10ms"), QueueLimit::Packets(11));
    assert_eq!(queue("1Tbit", "1000000s"), QueueLimit::Packets(1_000_000_000_000)); // as many as can be written
}

/// One product of the direction's own rate and the empty path's round trip, for every kind of path.
#[test]
fn a_queue_that_nobody_gave_holds_one_bandwidth_delay_product() {
    let packets = |text: &str| {
        let scenario = read(text).expect(text);
        let limits = scenario.directions().map(|(_, _, config)| match config.queue.first() {
            QueueLimit::Packets(packets) => packets,
            other => panic!("{other:?}"),
        });
        limits.collect::<Vec<_>>()
    };
    let path = |rest: &str| format!("[[path]]\nrate = \"12Mbit\"\n{rest}\n");
    // 1000 packets of 1500 bytes per second.
    assert_eq!(packets(&path("rtt = \"20ms\"")), [20, 20]);
    assert_eq!(packets(&path("rtt = \"20ms\"\nbackward = { rate = \"3Mbit\" }")), [20, 10]);
    assert_eq!(packets(&path("forward = { delay = \"1ms\" }\nbackward = { delay = \"39ms\" }")), [40, 40]);
    assert_eq!(
        packets(&path("rtt = \"20ms\"\nrate_steps = [{ at = \"1s\", rate = \"1Mbit\" }]\nrepeat = \"2s\"")),
        [20, 20]
    );
    assert_eq!(
        packets(&format!("transport = {{ packet = \"500B\" }}\n{}", path("rtt = \"20ms\""))),
        [60, 60]
    );
    // A wire before a link. The wire's queue holds the whole round trip of 20 + 2 · 5 ms, the
    // link's queue that of the longer path.
    let shared = "links = [\"core\"]\n";
    let both = format!(
        "{}{}[[link]]\nname = \"core\"\nrate = \"6Mbit\"\ndelay = \"5ms\"\n",
        path(&format!("rtt = \"20ms\"\n{shared}")),
        path(&format!("rtt = \"90ms\"\n{shared}"))
    );
    assert_eq!(packets(&both), [30, 30, 100, 100, 50, 50]);
    // A discipline has its own limit.
    assert_eq!(packets(&path("rtt = \"20ms\"\ndiscipline = \"codel\"")), [1000, 1000]);
}

#[test]
fn a_profile_changes_defaults_and_nothing_that_was_given() {
    let with = |text: &str| {
        read(&format!("[transport]\nprotocol = \"mptcp\"\n{text}\n{SMALL}")).map(|s| s.transport)
    };
    let standard = with("profile = \"standard\"").expect("valid");
    assert_eq!((standard.congestion_control.name(), standard.ack_every), ("newreno", 1));
    assert_eq!((standard.receive_buffer, standard.rto_min), (500_000, Duration::from_secs(1)));
    assert!(matches!(standard.own, OwnOptions::Mptcp(MptcpOptions { hystart: false, .. })));
    let linux = with("").expect("valid");
    assert_eq!(with("profile = \"linux\"").as_ref(), Ok(&linux));
    assert_eq!((linux.congestion_control.name(), linux.ack_every), ("cubic", 2));
    assert_eq!((linux.ack_delay, linux.rto_min), (Duration::from_millis(40), Duration::from_millis(200)));
    assert!(matches!(linux.own, OwnOptions::Mptcp(MptcpOptions { hystart: true, .. })));
    let given = with("profile = \"linux\"\nack_every = 1\nhystart = false\nrto_min = \"1s\"").expect("valid");
    assert_eq!((given.ack_every, given.rto_min), (1, Duration::from_secs(1)));
    assert!(matches!(given.own, OwnOptions::Mptcp(MptcpOptions { hystart: false, .. })));
    let error = with("profile = \"linus\"").expect_err("misspelt").to_string();
    assert!(error.contains("did you mean linux?"), "{error}");
    let other = read(&format!("[transport]\nprotocol = \"cmt-sctp\"\nprofile = \"linux\"\n{SMALL}"));
    let other = other.expect_err("CMT-SCTP").to_string();
    assert!(other.contains("transport.profile: cmt-sctp has no such key"), "{other}");
}
