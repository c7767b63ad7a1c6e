//! All keys of a scenario file: name, expected value, default and meaning. The reader takes keys
//! and defaults only from here. The keys of `[workload]` are with the
//! [applications](crate::application). The keys of `[transport]` and of disciplines follow from the
//! descriptions of options and disciplines.

mod effects;
mod flow;
mod steps;

pub use effects::{
    DUPLICATE_TABLE, JITTER_TABLE, LOSS_BERNOULLI, LOSS_GILBERT_ELLIOTT, OUTAGE, OUTAGES_PERIODIC,
};
pub use flow::{FLOW_CBR, FLOW_MULTIPATH, FLOW_ON_OFF, FLOW_TCP};
pub use steps::{DELAY_STEP, LOSS_STEP, QUEUE_STEP, RATE_STEP};

use crate::application;

pub(crate) use crate::format::keys::{DURATION, RATE, SIZE, SIZE_OR_UNLIMITED, TRUTH, WHOLE, key};
pub use crate::format::keys::{KeyInfo, Preset, TableInfo};
use Preset::{Boolean, Integer, Otherwise, Required, Text};
use steps::{DELAY_STEPS, LOSS_STEPS, QUEUE_STEPS, RATE_STEPS, REPEAT};

const SHARE: &str = "a share such as \"0.2%\"";
const QUEUE: &str = "packets such as \"50p\", a size such as \"64kB\", a longest wait such as \
    \"100ms\", \"bdp\" or \"infinite\"";
const DISCIPLINE: &str = "a discipline's name such as \"codel\", or a table with name and parameters";
const LOSS: &str = "a share such as \"0.2%\", or a table with a model";
const JITTER: &str = "a duration such as \"5ms\", or a table with an amount";
const OUTAGES: &str = "a list such as [{ from = \"10s\", to = \"12s\" }], or a table with every \
    and length";
const DIRECTION: &str = "a table such as { delay = \"40ms\" }";

/// All tables, in the order of the reference. The tables of queueing disciplines come last. They
/// follow from the disciplines' descriptions, and the tables of workloads follow from the
/// applications'.
pub fn tables() -> impl Iterator<Item = &'static TableInfo> {
    let behind = application::TABLES.iter().chain(BEHIND).chain(super::discipline::tables());
    [TOP].iter().chain(super::transport::tables()).chain(behind)
}

const BEHIND: &[TableInfo] = &[
    PATH,
    LINK,
    FORWARD_OR_BACKWARD,
    RATE_STEP,
    DELAY_STEP,
    LOSS_STEP,
    QUEUE_STEP,
    FLOW_TCP,
    FLOW_MULTIPATH,
    FLOW_CBR,
    FLOW_ON_OFF,
    LOSS_BERNOULLI,
    LOSS_GILBERT_ELLIOTT,
    DUPLICATE_TABLE,
    JITTER_TABLE,
    OUTAGE,
    OUTAGES_PERIODIC,
];

/// The scenario itself.
pub const TOP: TableInfo = TableInfo {
    name: "(top)",
    doc: "The scenario itself.",
    keys: &[
        key("name", "a string", Otherwise("the file's name without its ending"), "The scenario's name."),
        key(
            "seed",
            WHOLE,
            Integer(1),
            "The seed of the random numbers. With equal seeds, all schedulers meet the same losses.",
        ),
        key("duration", DURATION, Text("60s"), "The duration of the run; for a file workload, its limit."),
        key(
            "warmup",
            DURATION,
            Text("0s"),
            "The time at the beginning that metrics leave out; less than the duration.",
        ),
        key(
            "scheduler",
            "a scheduler's name, or a table with name and parameters",
            Text("lowest-rtt"),
            "The scheduler, which chooses a path for each packet; +rp and +bm behind the name are \
             options.",
        ),
        key(
            "transport",
            "a table",
            Otherwise("the defaults of [transport]"),
            "The protocol and its options.",
        ),
        key("workload", "a table", Otherwise("kind = \"bulk\""), "The traffic of the application."),
        key(
            "path",
            "a list of tables, [[path]]",
            Required,
            "The paths, at least one; the order numbers them.",
        ),
        key("link", "a list of tables, [[link]]", Otherwise("none"), "Links that paths and flows share."),
        key(
            "flow",
            "a list of tables, [[flow]]",
            Otherwise("none"),
            "Traffic that competes with the connection.",
        ),
    ],
    later: &[],
};

/// `[[path]]`.
pub const PATH: TableInfo = TableInfo {
    name: "[[path]]",
    doc: "One path. Keys of the wire (rate, delay, queue, outages) hold for both directions. Keys \
        of packets (loss, duplicate, jitter) and a trace hold only for the forward direction, the \
        direction of the data. The tables forward and backward override them for their direction. \
        A path of links alone has none of these keys.",
    keys: &[
        key("name", "a string", Otherwise("path1, path2, …"), "Its name; no two paths have the same name."),
        key(
            "rate",
            RATE,
            Otherwise("each direction needs a rate or a trace"),
            "The rate of both directions, in bits per second on the wire; at most 1Tbit.",
        ),
        RATE_STEPS,
        DELAY_STEPS,
        LOSS_STEPS,
        QUEUE_STEPS,
        REPEAT,
        key(
            "rtt",
            DURATION,
            Otherwise("delay, or the delay of each direction"),
            "The round-trip time of the empty path, half of it each way, serialization not included.",
        ),
        key(
            "delay",
            DURATION,
            Otherwise("rtt, or the delay of each direction"),
            "The one-way delay of both directions.",
        ),
        key("queue", QUEUE, Text(ONE_BDP), QUEUE_DOC),
        key("discipline", DISCIPLINE, Text("drop-tail"), DISCIPLINE_DOC),
        key("loss", LOSS, Text("0%"), "Losses of data packets on the wire (forward only)."),
        key("duplicate", DUPLICATE, Text("0%"), "Duplicates of data packets on the wire (forward only)."),
        key(
            "jitter",
            JITTER,
            Text("0ms"),
            "Random extra delay of data packets, uniform from 0 unless the table says otherwise \
             (forward only).",
        ),
        REORDER,
        key("outages", OUTAGES, Otherwise("none"), "Outages of both directions."),
        key(
            "trace",
            TRACE,
            Otherwise("rate"),
            "Recorded capacity in Mahimahi's format (forward only; rate then holds backward only).",
        ),
        key("forward", DIRECTION, Otherwise("as the path says"), "The direction of the data."),
        key("backward", DIRECTION, Otherwise("as the path says"), "The direction of the acknowledgements."),
        key(
            "links",
            "a list of links' names",
            Otherwise("none"),
            "The shared links that packets pass, in this order, after the path's own wire. \
             Backward the order is the reverse: the path's own wire is last.",
        ),
        key("backup", TRUTH, Boolean(false), "True: the path is used only while no other path is usable."),
        key(
            "cost",
            WHOLE,
            Integer(0),
            "The cost of the path, in units of your choice, for schedulers that use costs.",
        ),
        key(
            "weight",
            WHOLE,
            Integer(1),
            "The path's share of the data, relative to the weights of the other paths, for \
             schedulers that use weights: 1 to 65535.",
        ),
    ],
    later: &[],
};
const DUPLICATE: &str = "a share such as \"1%\", or a table with a share";
const REORDER_DOC: &str = "Whether packets may overtake each other, by jitter or when the delay \
    falls. False: a packet arrives no earlier than the one before it.";
const REORDER: KeyInfo = key("reorder", TRUTH, Otherwise("false"), REORDER_DOC);

/// `[[link]]`.
pub const LINK: TableInfo = TableInfo {
    name: "[[link]]",
    doc: "A link that paths and flows share: they meet in its queue and divide its capacity. Its \
        keys are the same as for a path's wire. Without a rate of its own it has only the \
        directions that have a table; in the other direction packets pass it without delay. Every \
        link has to be used.",
    keys: &[
        key("name", "a string", Required, "Its name; no two links have the same name."),
        key(
            "rate",
            RATE,
            Otherwise("each direction that has a table needs a rate or a trace"),
            "The rate of both directions, in bits per second on the wire; at most 1Tbit.",
        ),
        RATE_STEPS,
        DELAY_STEPS,
        LOSS_STEPS,
        QUEUE_STEPS,
        REPEAT,
        key("delay", DURATION, Text("0s"), "The one-way delay of both directions."),
        key(
            "queue",
            QUEUE,
            Text(ONE_BDP),
            "As for a path; bdp takes the longest round trip of all paths and flows through the link.",
        ),
        key("discipline", DISCIPLINE, Text("drop-tail"), DISCIPLINE_DOC),
        key("loss", LOSS, Text("0%"), "Losses of packets on the wire (forward only)."),
        key("duplicate", DUPLICATE, Text("0%"), "Duplicates of packets on the wire (forward only)."),
        key(
            "jitter",
            JITTER,
            Text("0ms"),
            "Random extra delay, uniform from 0 unless the table says otherwise (forward only).",
        ),
        REORDER,
        key("outages", OUTAGES, Otherwise("none"), "Outages of both directions."),
        key("trace", TRACE, Otherwise("rate"), "Recorded capacity in Mahimahi's format (forward only)."),
        key("forward", DIRECTION, Otherwise("as the link says"), "The direction of the connection's data."),
        key("backward", DIRECTION, Otherwise("as the link says"), "The direction of its acknowledgements."),
    ],
    later: &[],
};

/// The default limit of a queue: one bandwidth-delay product.
pub(super) const ONE_BDP: &str = "bdp";

const QUEUE_DOC: &str = "The queue's limit; a packet that arrives at a full queue is dropped. \
    Packets or a size: the most packets or bytes in queue and transmission together, as in ns-2. A \
    duration: the longest wait until a packet's transmission begins. bdp: one bandwidth-delay \
    product, rounded up to packets of the transport's size, at least 10 (an initial window). It is \
    the direction's own rate times the round-trip time of the whole empty path. The rate before \
    the first of rate_steps counts; for a trace, its mean rate.";

const DISCIPLINE_DOC: &str = "The choice of the next packet to transmit, and of packets to drop: \
    drop-tail (first come, first served; a packet that finds the queue full is dropped), codel or \
    fq-codel. With codel or fq-codel the packet in transmission does not count in the queue's \
    limit, and the limit has the discipline's own default.";

const TRACE: &str = "a file's name";

/// `forward` and `backward` of a path.
pub const FORWARD_OR_BACKWARD: TableInfo = TableInfo {
    name: "forward, backward",
    doc: "One direction of a path or a link; its keys override those of the path or link.",
    keys: &[
        key("rate", RATE, Otherwise("the path's rate"), "Bits per second on the wire; at most 1Tbit."),
        RATE_STEPS,
        DELAY_STEPS,
        LOSS_STEPS,
        QUEUE_STEPS,
        REPEAT,
        key(
            "delay",
            DURATION,
            Otherwise("the path's delay"),
            "The one-way delay, from the last bit's departure to its arrival.",
        ),
        key("queue", QUEUE, Otherwise("the path's queue"), QUEUE_DOC),
        key("discipline", DISCIPLINE, Otherwise("the path's discipline"), DISCIPLINE_DOC),
        key(
            "loss",
            LOSS,
            Otherwise("the path's loss forward, none backward"),
            "Losses of packets on the wire.",
        ),
        key(
            "duplicate",
            DUPLICATE,
            Otherwise("as the path says forward, none backward"),
            "Duplicates of packets on the wire.",
        ),
        key(
            "jitter",
            JITTER,
            Otherwise("the path's jitter forward, none backward"),
            "Random extra delay, uniform from 0 unless the table says otherwise.",
        ),
        key("reorder", TRUTH, Otherwise("as the path says"), REORDER_DOC),
        key(
            "outages",
            OUTAGES,
            Otherwise("the path's outages"),
            "Outages of the wire: a packet whose last bit would leave during one is lost.",
        ),
        key(
            "trace",
            TRACE,
            Otherwise("the path's trace forward, none backward"),
            "Recorded capacity in Mahimahi's format, instead of a rate; relative to the scenario's \
             folder.",
        ),
    ],
    later: &[],
};
