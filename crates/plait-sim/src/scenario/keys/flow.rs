//! Keys of the traffic that competes with the connection.

use super::Preset::{Otherwise, Required, Text};
use super::{DURATION, KeyInfo, RATE, SIZE, TableInfo, key};
use crate::application::times::{DISTRIBUTION, OFF, ON, SHAPE};

const FLOW_NAME: KeyInfo =
    key("name", "a string", Otherwise("flow1, flow2, …"), "Its name; no two flows have the same name.");
const FLOW_KIND: KeyInfo =
    key("kind", "\"tcp\", \"multipath\", \"cbr\" or \"on-off\"", Required, "The kind of traffic.");
const FLOW_PATH: KeyInfo =
    key("path", "a path's name", Otherwise("links"), "The path whose route the flow's packets take.");
const FLOW_LINKS: KeyInfo = key(
    "links",
    "a list of links' names",
    Otherwise("path"),
    "The shared links that its packets pass, in the order of the forward direction.",
);
const FLOW_DIRECTION: KeyInfo = key(
    "direction",
    "\"forward\" or \"backward\"",
    Text("forward"),
    "The direction of the flow's data: forward like the connection's data, or backward like its \
     acknowledgements.",
);
const FLOW_START: KeyInfo = key("start", DURATION, Text("0s"), "The beginning.");
const FLOW_STOP: KeyInfo = key(
    "stop",
    DURATION,
    Otherwise("the end of the run"),
    "The end of its transmissions; after it, lost data is not retransmitted.",
);
const FLOW_SIZE: KeyInfo = key("size", SIZE, Otherwise("no end"), "The size of its data, in payload bytes.");
const FLOW_CONTROL: KeyInfo = key(
    "congestion_control",
    "a controller's name, such as \"cubic\"",
    Otherwise("the transport's; newreno if that couples paths"),
    "Its congestion controller: one of the transport's that does not couple paths, or a class of your own.",
);
const FLOW_PACKET: KeyInfo = key(
    "packet",
    SIZE,
    Otherwise("the transport's packet"),
    "The size of a datagram on the wire, headers included; less than 16 MiB.",
);

/// `[[flow]]` of kind `tcp`.
pub const FLOW_TCP: TableInfo = TableInfo {
    name: "[[flow]] kind = \"tcp\"",
    doc: "A reliable stream over one path, as fast as its congestion window allows.",
    keys: &[
        FLOW_NAME,
        FLOW_KIND,
        FLOW_PATH,
        FLOW_LINKS,
        FLOW_DIRECTION,
        FLOW_START,
        FLOW_STOP,
        FLOW_SIZE,
        FLOW_CONTROL,
    ],
    later: &[],
};

/// `[[flow]]` of kind `multipath`.
pub const FLOW_MULTIPATH: TableInfo = TableInfo {
    name: "[[flow]] kind = \"multipath\"",
    doc: "A second connection with the scenario's transport. It sends as much data as its size, or \
        without a size always has data to send. A run that ends with its workload also waits for \
        every such flow with a size and without a stop.",
    keys: &[
        FLOW_NAME,
        FLOW_KIND,
        key("paths", "a list of paths' names", Otherwise("all paths"), "The paths that it uses."),
        key(
            "scheduler",
            "a scheduler's name, or a table with name and parameters",
            Otherwise("the scenario's scheduler"),
            "Its scheduler. Without one, the flow follows the run's built-in scheduler, also if \
             that is not the scenario's (compare).",
        ),
        FLOW_DIRECTION,
        FLOW_START,
        FLOW_STOP,
        FLOW_SIZE,
        key(
            "congestion_control",
            "a controller's name, such as \"olia\"",
            Otherwise("the transport's"),
            "Its congestion controller: one of the transport's, or a class of your own.",
        ),
    ],
    later: &[],
};

/// `[[flow]]` of kind `cbr`.
pub const FLOW_CBR: TableInfo = TableInfo {
    name: "[[flow]] kind = \"cbr\"",
    doc: "Datagrams at equal intervals of packet · 8 / rate.",
    keys: &[
        FLOW_NAME,
        FLOW_KIND,
        FLOW_PATH,
        FLOW_LINKS,
        FLOW_DIRECTION,
        FLOW_START,
        FLOW_STOP,
        key("rate", RATE, Required, "The rate, in bits per second on the wire."),
        FLOW_PACKET,
    ],
    later: &[],
};

/// `[[flow]]` of kind `on-off`.
pub const FLOW_ON_OFF: TableInfo = TableInfo {
    name: "[[flow]] kind = \"on-off\"",
    doc: "Datagrams at equal intervals during random on times. The mean rate is rate · on / (on + off).",
    keys: &[
        FLOW_NAME,
        FLOW_KIND,
        FLOW_PATH,
        FLOW_LINKS,
        FLOW_DIRECTION,
        FLOW_START,
        FLOW_STOP,
        key("rate", RATE, Required, "The rate during on times, in bits per second on the wire."),
        FLOW_PACKET,
        ON,
        OFF,
        DISTRIBUTION,
        SHAPE,
    ],
    later: &[],
};
