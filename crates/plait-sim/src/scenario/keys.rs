//! All keys of a scenario file: name, expected value, default and meaning. The reader takes keys
//! and defaults only from here. The keys of `[workload]` are with the
//! [applications](crate::application). The keys of `[transport]` and of disciplines follow from the
//! descriptions of options and disciplines.

mod flow;

pub use flow::{FLOW_CBR, FLOW_MULTIPATH, FLOW_ON_OFF, FLOW_TCP};

use crate::application;

pub(crate) use crate::format::keys::{DURATION, RATE, SIZE, SIZE_OR_UNLIMITED, TRUTH, WHOLE, key};
pub use crate::format::keys::{KeyInfo, Preset, TableInfo};
use Preset::{Boolean, Integer, Otherwise, Required, Text};

const SHARE: &str = "a share such as \"0.2%\"";
const QUEUE: &str = "packets such as \"50p\", a size such as \"64kB\", a longest wait such as \"100ms\", \"bdp\" or \
     \"infinite\"";
const DISCIPLINE: &str = "a discipline's name such as \"codel\", or a table with name and parameters";
const LOSS: &str = "a share such as \"0.2%\", or a table with a model";
const JITTER: &str = "a duration such as \"5ms\", or a table with an amount";
const OUTAGES: &str = "a list such as [{ from = \"10s\", to = \"12s\" }], or a table with every and length";
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
        key(
            "name",
            "a string",
            Otherwise("the file's name without its ending"),
            "What the scenario is called.",
        ),
        key(
            "seed",
            WHOLE,
            Integer(1),
            "Which random numbers it meets: equal seeds, equal losses, whatever the scheduler.",
        ),
        key("duration", DURATION, Text("60s"), "How long it runs; for a file workload, at most."),
        key(
            "warmup",
            DURATION,
            Text("0s"),
            "How much of the beginning the metrics leave out; less than the duration.",
        ),
        key(
            "scheduler",
            "a scheduler's name, or a table with name and parameters",
            Text("lowest-rtt"),
            "Who decides which path carries which packet; +rp and +bm behind the name are options.",
        ),
        key("transport", "a table", Otherwise("the defaults of [transport]"), "How the endpoints behave."),
        key("workload", "a table", Otherwise("kind = \"bulk\""), "What the application sends."),
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
    doc: "One path. What describes the wire (rate, delay, queue, outages) holds for both directions; what happens to \
          packets (loss, copies, jitter) and a trace hold for the forward direction, that of the data, only. The tables \
          forward and backward override all of it for their direction. A path of links alone has none of these keys.",
    keys: &[
        key(
            "name",
            "a string",
            Otherwise("path1, path2, …"),
            "What it is called; no two paths have the same name.",
        ),
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
        key("loss", LOSS, Text("0%"), "Which data packets the wire loses (forward only)."),
        key("duplicate", DUPLICATE, Text("0%"), "Which data packets the wire delivers twice (forward only)."),
        key(
            "jitter",
            JITTER,
            Text("0ms"),
            "Random extra delay of data packets, uniform from 0 unless the table says otherwise (forward only).",
        ),
        REORDER,
        key("outages", OUTAGES, Otherwise("none"), "When both directions are cut."),
        key(
            "trace",
            TRACE,
            Otherwise("rate"),
            "Recorded capacity in Mahimahi's format (forward only; the rate is then that of the backward \
             direction).",
        ),
        key("forward", DIRECTION, Otherwise("as the path says"), "The direction of the data."),
        key("backward", DIRECTION, Otherwise("as the path says"), "The direction of the acknowledgements."),
        key(
            "links",
            "a list of links' names",
            Otherwise("none"),
            "The shared links that packets pass after the path's own wire, if it has one, in this order; backward in \
             reverse, the own wire last.",
        ),
        key("backup", TRUTH, Boolean(false), "Whether it is used only while no other path is usable."),
        key(
            "cost",
            WHOLE,
            Integer(0),
            "What using it costs, in units of your choice, for schedulers that mind.",
        ),
        key(
            "weight",
            WHOLE,
            Integer(1),
            "Its share of what is sent, against the weights of the other paths, for schedulers that go by it: 1 to 65535.",
        ),
    ],
    later: &[],
};

const RATE_STEPS: KeyInfo = key(
    "rate_steps",
    "a list such as [{ at = \"10s\", rate = \"2Mbit\" }], or a file's name",
    Otherwise("none"),
    "When the rate changes, and to what; a packet that is being sent then leaves partly at either rate. A file has a step per line, \
     when and what, such as 10s 2Mbit, and comments behind #; it is relative to the scenario's folder.",
);
const DELAY_STEPS: KeyInfo = key(
    "delay_steps",
    "a list such as [{ at = \"10s\", delay = \"50ms\" }], or a file's name",
    Otherwise("none"),
    "When the one-way delay changes, and to what, for packets whose last bit leaves from then on. When it falls, packets keep their order \
     unless reorder is true. A file has lines such as 10s 50ms.",
);
const LOSS_STEPS: KeyInfo = key(
    "loss_steps",
    "a list such as [{ at = \"10s\", loss = \"2%\" }], or a file's name",
    Otherwise("none"),
    "When the loss changes, and to what, for packets whose last bit leaves from then on; on a path or link for the forward direction only, as \
     loss. A file has lines such as 10s 2%.",
);
const QUEUE_STEPS: KeyInfo = key(
    "queue_steps",
    "a list such as [{ at = \"10s\", queue = \"20p\" }], or a file's name",
    Otherwise("none"),
    "When the queue's limit changes, and to what, for packets that arrive from then on; what waits already stays. With drop-tail only. A \
     file has lines such as 10s 20p.",
);
const DUPLICATE: &str = "a share such as \"1%\", or a table with a share";
const REORDER_DOC: &str = "Whether packets may overtake each other when the delay falls, or by jitter; otherwise a packet arrives no earlier than \
                           the one before it.";
const REORDER: KeyInfo = key("reorder", TRUTH, Otherwise("false"), REORDER_DOC);
const REPEAT: KeyInfo = key(
    "repeat",
    DURATION,
    Otherwise("they do not"),
    "After how long all that has steps in this table begins anew, again and again; later than the last step.",
);

/// One of the `rate_steps`.
pub const RATE_STEP: TableInfo = TableInfo {
    name: "rate_steps[…]",
    doc: "A change of the rate. They are listed in order.",
    keys: &[AT, key("rate", RATE, Required, "The rate from then on.")],
    later: &[],
};

const AT: KeyInfo = key("at", DURATION, Required, "When: from the start of the run, or of each repetition.");

/// One of the `delay_steps`.
pub const DELAY_STEP: TableInfo = TableInfo {
    name: "delay_steps[…]",
    doc: "A change of the delay. They are listed in order.",
    keys: &[AT, key("delay", DURATION, Required, "The one-way delay from then on.")],
    later: &[],
};

/// One of the `loss_steps`.
pub const LOSS_STEP: TableInfo = TableInfo {
    name: "loss_steps[…]",
    doc: "A change of the loss. They are listed in order.",
    keys: &[AT, key("loss", LOSS, Required, "Which packets the wire loses from then on.")],
    later: &[],
};

/// One of the `queue_steps`.
pub const QUEUE_STEP: TableInfo = TableInfo {
    name: "queue_steps[…]",
    doc: "A change of the queue's limit. They are listed in order.",
    keys: &[AT, key("queue", QUEUE, Required, "When an arriving packet is dropped from then on.")],
    later: &[],
};

/// `[[link]]`.
pub const LINK: TableInfo = TableInfo {
    name: "[[link]]",
    doc: "A link that paths and flows share: they meet in its queue and divide its capacity. Its keys are those of a \
          path's wire. Without a rate of its own it has only the directions that have a table; packets pass it \
          unhindered the other way. Every link has to be used.",
    keys: &[
        key("name", "a string", Required, "What it is called; no two links have the same name."),
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
            "As of a path; bdp takes the longest round trip of all paths and flows through the link.",
        ),
        key("discipline", DISCIPLINE, Text("drop-tail"), DISCIPLINE_DOC),
        key("loss", LOSS, Text("0%"), "Which packets the wire loses (forward only)."),
        key("duplicate", DUPLICATE, Text("0%"), "Which packets the wire delivers twice (forward only)."),
        key(
            "jitter",
            JITTER,
            Text("0ms"),
            "Random extra delay, uniform from 0 unless the table says otherwise (forward only).",
        ),
        REORDER,
        key("outages", OUTAGES, Otherwise("none"), "When both directions are cut."),
        key("trace", TRACE, Otherwise("rate"), "Recorded capacity in Mahimahi's format (forward only)."),
        key("forward", DIRECTION, Otherwise("as the link says"), "The direction of the connection's data."),
        key("backward", DIRECTION, Otherwise("as the link says"), "The direction of its acknowledgements."),
    ],
    later: &[],
};

/// The default limit of a queue: one bandwidth-delay product.
pub(super) const ONE_BDP: &str = "bdp";

const QUEUE_DOC: &str = "When an arriving packet is dropped. Packets: at most so many in the system, the one in \
                         transmission included (as in ns-2). A size: likewise in bytes. A duration: if its \
                         transmission would begin later than that. bdp: one bandwidth-delay product, the direction's \
                         own rate times the round-trip time of the whole empty path, in packets of the transport's size, \
                         rounded up, at least 10, which is an initial window. The rate is that before the first of rate_steps; of a trace, the mean.";

const DISCIPLINE_DOC: &str = "Who decides which waiting packet is sent next, and which is dropped: drop-tail (first come, first served; \
                              what finds the queue full is dropped), codel or fq-codel. With one of these the queue is what may wait beside \
                              the packet in transmission, and has the discipline's own default.";

const TRACE: &str = "a file's name";

/// `forward` and `backward` of a path.
pub const FORWARD_OR_BACKWARD: TableInfo = TableInfo {
    name: "forward, backward",
    doc: "One direction of a path or a link; what it does not say, the path or link says.",
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
            "From the last bit's departure to its arrival.",
        ),
        key("queue", QUEUE, Otherwise("the path's queue"), QUEUE_DOC),
        key("discipline", DISCIPLINE, Otherwise("the path's discipline"), DISCIPLINE_DOC),
        key(
            "loss",
            LOSS,
            Otherwise("the path's loss forward, none backward"),
            "Which packets the wire loses.",
        ),
        key(
            "duplicate",
            DUPLICATE,
            Otherwise("as the path says forward, none backward"),
            "Which packets the wire delivers twice.",
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
            "When the wire is cut: a packet whose last bit would leave then is lost.",
        ),
        key(
            "trace",
            TRACE,
            Otherwise("the path's trace forward, none backward"),
            "Recorded capacity in Mahimahi's format, instead of a rate; relative to the scenario's folder.",
        ),
    ],
    later: &[],
};

/// `loss` as a table, model `bernoulli`.
pub const LOSS_BERNOULLI: TableInfo = TableInfo {
    name: "loss = { model = \"bernoulli\" }",
    doc: "Each packet is lost with the same probability, independently; loss = \"0.2%\" is short for it.",
    keys: &[
        MODEL,
        key("share", SHARE, Required, "The probability of a loss."),
        key("correlation", SHARE, Text("0%"), CORRELATION_DOC),
    ],
    later: &[],
};

/// `loss` as a table, model `gilbert-elliott`.
pub const LOSS_GILBERT_ELLIOTT: TableInfo = TableInfo {
    name: "loss = { model = \"gilbert-elliott\" }",
    doc: "Bursts of losses: a good and a bad state; the chain starts in the good one and may change after each packet.",
    keys: &[
        MODEL,
        key("to_bad", SHARE, Required, "The probability of good → bad after a packet (p)."),
        key(
            "to_good",
            SHARE,
            Required,
            "The probability of bad → good after a packet (r), more than 0; bursts last 1/r packets.",
        ),
        key("good_loss", SHARE, Text("0%"), "The probability of a loss in the good state."),
        key("bad_loss", SHARE, Text("100%"), "The probability of a loss in the bad state."),
    ],
    later: &[],
};

const MODEL: KeyInfo =
    key("model", "\"bernoulli\" or \"gilbert-elliott\"", Required, "How losses are distributed.");

const CORRELATION_DOC: &str = "The probability that a packet meets the fate of the packet before it; less than 100%. The share stays what it is, \
                               unlike with netem's correlation, which makes what is rare rarer.";

/// `duplicate` as a table.
pub const DUPLICATE_TABLE: TableInfo = TableInfo {
    name: "duplicate",
    doc: "Copies of packets; duplicate = \"1%\" is short for { share = \"1%\" }. A copy takes no capacity. It has its own jitter, and losses take it \
          by themselves; of a packet that is copied and lost, one arrives, as with netem.",
    keys: &[
        key("share", SHARE, Required, "The probability of a copy."),
        key("correlation", SHARE, Text("0%"), CORRELATION_DOC),
    ],
    later: &[],
};

/// `jitter` as a table.
pub const JITTER_TABLE: TableInfo = TableInfo {
    name: "jitter",
    doc: "Random extra delay; jitter = \"5ms\" is short for { amount = \"5ms\" }.",
    keys: &[
        key(
            "amount",
            DURATION,
            Required,
            "Of uniform jitter the largest extra delay, so the mean delay grows by half of it; of the others netem's jitter, about a standard \
             deviation.",
        ),
        key(
            "distribution",
            "\"uniform\", \"normal\", \"pareto\" or \"paretonormal\"",
            Text("uniform"),
            "How it is distributed: uniformly from 0, or as netem's tables of these names say, around 0. These end at four times the amount; a \
             packet never takes less than no time.",
        ),
        key(
            "correlation",
            SHARE,
            Text("0%"),
            "The probability that a packet has the extra delay of the packet before it; less than 100%. The distribution stays what it is.",
        ),
        key(
            "reorder",
            TRUTH,
            Boolean(false),
            "Whether packets may overtake each other; if not, a packet arrives no earlier than the one \
             before it.",
        ),
    ],
    later: &[],
};

/// One of the `outages`.
pub const OUTAGE: TableInfo = TableInfo {
    name: "outages[…]",
    doc: "One outage. They are listed in order and do not overlap.",
    keys: &[
        key("from", DURATION, Required, "When the wire is cut, from the start of the run."),
        key("to", DURATION, Required, "When it works again."),
    ],
    later: &[],
};

/// `outages` as a table: periodic.
pub const OUTAGES_PERIODIC: TableInfo = TableInfo {
    name: "outages",
    doc: "The same outage again and again.",
    keys: &[
        key("every", DURATION, Required, "From the beginning of one to the beginning of the next."),
        key("length", DURATION, Required, "How long each lasts; less than every."),
        key("first", DURATION, Otherwise("every"), "When the first one begins."),
    ],
    later: &[],
};
