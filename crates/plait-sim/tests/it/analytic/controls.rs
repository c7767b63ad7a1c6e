//! A competing flow with its own congestion control is identical to a flow that takes this control
//! from the transport.

use crate::common::run;
use plait_sim::result::FlowMetrics;

/// The metrics of a flow that is alone on its path: the connection begins after its end.
/// `transport` is the transport's control, `own` the flow's.
fn alone(protocol: &str, kind: &str, transport: &str, own: Option<&str>) -> FlowMetrics {
    let own = own.map_or(String::new(), |own| format!("congestion_control = \"{own}\"\n"));
    let mut result = run(&format!(
        "duration = \"60s\"\nscheduler = \"lowest-rtt\"\n\
         transport = {{ protocol = \"{protocol}\", congestion_control = \"{transport}\", initial_ssthresh = \"60kB\" }}\n\
         workload = {{ kind = \"file\", size = \"1kB\", start = \"50s\" }}\n\
         [[path]]\nrate = \"20Mbit\"\nrtt = \"80ms\"\nqueue = \"40p\"\n[[path]]\nrate = \"9Mbit\"\nrtt = \"50ms\"\nqueue = \"20p\"\n\
         [[flow]]\nkind = \"{kind}\"\nsize = \"20MB\"\n{}{own}",
        if kind == "tcp" { "path = \"path1\"\n" } else { "" }
    ));
    result.flows.remove(0)
}

#[test]
fn a_flow_with_its_own_control_is_as_if_the_transport_had_it() {
    let cases = [
        ("tcp", "mptcp", ["newreno", "cubic", "newreno"]),
        ("tcp", "mpquic", ["newreno", "cubic", "newreno"]),
        ("multipath", "mptcp", ["cubic", "lia", "olia"]),
        ("multipath", "mpquic", ["newreno", "cubic", "lia"]),
    ];
    for (kind, protocol, controls) in cases {
        for pair in controls.windows(2) {
            let [transport, own] = [pair[0], pair[1]];
            let as_transport = alone(protocol, kind, own, None);
            let as_own = alone(protocol, kind, transport, Some(own));
            assert_eq!(as_own, as_transport, "{kind} beside {protocol}, {own} instead of {transport}");
            assert_ne!(
                as_own,
                alone(protocol, kind, transport, None),
                "{kind} beside {protocol}: {own} differs"
            );
            assert!(
                as_own.completion_time_s.is_some(),
                "it has ended before the connection begins: {as_own:?}"
            );
        }
    }
}

/// Coupled congestion control has no use on one path: the flow has `newreno`.
#[test]
fn a_flow_of_one_path_beside_coupled_paths_is_newreno() {
    assert_eq!(alone("mptcp", "tcp", "olia", None), alone("mptcp", "tcp", "newreno", None));
}
