//! Random traffic that competes with the connection.

use super::workload::on_off;
use super::{log, scheduler};
use proptest::prelude::*;

/// Up to two competing flows, usually none.
pub(super) fn flows() -> impl Strategy<Value = Vec<String>> {
    let direction = prop::sample::select(vec!["forward", "backward"]);
    let own = prop::sample::select(vec![
        "",
        "congestion_control = \"newreno\"\n",
        "congestion_control = \"cubic\"\n",
    ]);
    let tcp = (log(1, 300_000), own).prop_map(|(size, control)| {
        format!("kind = \"tcp\"\npath = \"path1\"\nsize = \"{size}B\"\n{control}")
    });
    let constant = (log(10, 3_000), log(20, 9_000)).prop_map(|(rate, packet)| {
        format!("kind = \"cbr\"\npath = \"path1\"\nrate = \"{rate}kbit\"\npacket = \"{packet}B\"\n")
    });
    let on_off = (log(10, 3_000), on_off()).prop_map(|(rate, times)| {
        format!("kind = \"on-off\"\npath = \"path1\"\nrate = \"{rate}kbit\"\n{times}")
    });
    let size = prop::option::of(log(1, 300_000));
    let multipath = (scheduler(), size).prop_map(|(scheduler, size)| {
        let end = size.map_or_else(|| "stop = \"$stopms\"".to_owned(), |size| format!("size = \"{size}B\""));
        format!("kind = \"multipath\"\nscheduler = {scheduler}\ncongestion_control = \"newreno\"\n{end}\n")
    });
    let flow = (direction, prop_oneof![tcp, constant, on_off, multipath])
        .prop_map(|(direction, text)| format!("[[flow]]\ndirection = \"{direction}\"\n{text}"));
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(flow, 1..=2)]
}
