//! A preview: the packets before the end of a run, which goes on as if nobody had looked.

use crate::common::{ALL, scenario, try_run};
use plait_sched::Time;
use plait_sim::recorder::frames::{NEVER, PacketFrame};
use plait_sim::simulation::{self, Control, Preview};

/// Two plain links, whose ends meet by packets alone: each end handles several moments in a row.
const TWO_PATHS: &str = r#"
    duration = "4s"
    warmup = "1s"
    [[path]]
    rate = "20Mbit"
    rtt = "30ms"
    queue = "50p"
    [[path]]
    rate = "5Mbit"
    rtt = "80ms"
"#;

const LOSSES: &str = "loss = \"1%\"\njitter = \"3ms\"";
const COMPETITION: &str = "[[flow]]\nkind = \"tcp\"\npath = \"path2\"";
/// Complete after some 1.3 s.
const FILE: &str = "[workload]\nkind = \"file\"\nsize = \"3MB\"";

/// The packets that a run shows at this time. Its result must be that of the run without preview.
fn shown(text: &str, nanoseconds: u64) -> Option<PacketFrame> {
    let scenario = scenario(text);
    let mut shown = None;
    let look = &mut |packets: &PacketFrame| shown = Some(packets.clone());
    let preview = Preview { at: Time::from_nanos(nanoseconds), look };
    let control = &mut |_share| Control::Continue;
    let result = simulation::run_with_preview(&scenario, scenario.scheduler.build(), &ALL, preview, control);
    let (result, plain) = (result.expect("the run ends"), try_run(&scenario, &ALL).expect("the run ends"));
    assert!(result == plain, "metrics and frames are equal\n{text}");
    assert_eq!(result.to_json(&scenario, "same"), plain.to_json(&scenario, "same"), "{text}");
    shown
}

/// The events of the whole run before this time.
fn expected(text: &str, before: i64) -> PacketFrame {
    let mut packets = try_run(&scenario(text), &ALL).expect("the run ends").packets.expect("recorded");
    let count = packets.sent.partition_point(|&at| at < before);
    packets.sequence.truncate(count);
    packets.path.truncate(count);
    packets.bytes.truncate(count);
    packets.sent.truncate(count);
    packets.retransmission.truncate(count);
    packets.reinjection.truncate(count);
    for column in [&mut packets.arrived, &mut packets.duplicate, &mut packets.delivered] {
        column.truncate(count);
        column.iter_mut().filter(|at| **at >= before).for_each(|at| *at = NEVER);
    }
    packets
}

#[test]
fn a_preview_has_all_events_before_it_and_changes_nothing() {
    for transport in ["mptcp", "cmt-sctp", "mpquic"] {
        for more in ["", LOSSES, COMPETITION, FILE] {
            let text = format!("transport = {{ protocol = \"{transport}\" }}\n{TWO_PATHS}\n{more}");
            for before in [1, 517_000_003, 1_200_000_000] {
                let packets = shown(&text, before).expect("the run goes on");
                assert!(packets == expected(&text, before as i64), "at {before}\n{text}");
            }
        }
    }
}

#[test]
fn a_run_that_ends_before_has_no_preview() {
    for (text, at) in [(TWO_PATHS.to_owned(), 4_000_000_000), (format!("{TWO_PATHS}{FILE}"), 3_900_000_000)] {
        assert_eq!(shown(&text, at), None, "{text}");
        assert!(shown(&text, 1_000_000_000).is_some(), "{text}");
    }
}
