//! Keys of losses, copies, jitter and outages.

use super::Preset::{Boolean, Otherwise, Required, Text};
use super::{DURATION, KeyInfo, SHARE, TRUTH, TableInfo, key};

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
    doc: "Bursts of losses: a good and a bad state; the chain starts in the good one and may \
        change after each packet.",
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
    key("model", "\"bernoulli\" or \"gilbert-elliott\"", Required, "The model of the losses.");

const CORRELATION_DOC: &str = "The probability that a packet has the same outcome as the packet \
    before it; less than 100%. It does not change the share. With netem's correlation, a small \
    share becomes smaller.";

/// `duplicate` as a table.
pub const DUPLICATE_TABLE: TableInfo = TableInfo {
    name: "duplicate",
    doc: "Copies of packets; duplicate = \"1%\" is short for { share = \"1%\" }. A copy takes no \
        capacity, and has its own jitter and losses. The loss of the packet itself does not \
        prevent the copy, as with netem.",
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
            "Uniform jitter: the largest extra delay, so the mean delay grows by half of it. Other \
             distributions: netem's jitter, about one standard deviation.",
        ),
        key(
            "distribution",
            "\"uniform\", \"normal\", \"pareto\" or \"paretonormal\"",
            Text("uniform"),
            "The distribution of the extra delay: uniform from 0, or around 0 by netem's tables of \
             these names. The tables end at four times the amount; the delay of a packet is never \
             negative.",
        ),
        key(
            "correlation",
            SHARE,
            Text("0%"),
            "The probability that a packet has the extra delay of the packet before it; less than \
             100%. It does not change the distribution.",
        ),
        key(
            "reorder",
            TRUTH,
            Boolean(false),
            "Whether packets may overtake each other. False: a packet arrives no earlier than the \
             one before it.",
        ),
    ],
    later: &[],
};

/// One of the `outages`.
pub const OUTAGE: TableInfo = TableInfo {
    name: "outages[…]",
    doc: "One outage. They are listed in order and do not overlap.",
    keys: &[
        key("from", DURATION, Required, "The beginning of the outage, from the start of the run."),
        key("to", DURATION, Required, "The end of the outage."),
    ],
    later: &[],
};

/// `outages` as a table: periodic.
pub const OUTAGES_PERIODIC: TableInfo = TableInfo {
    name: "outages",
    doc: "The same outage again and again.",
    keys: &[
        key(
            "every",
            DURATION,
            Required,
            "The time from the beginning of one outage to the beginning of the next.",
        ),
        key("length", DURATION, Required, "The duration of each outage; less than every."),
        key("first", DURATION, Otherwise("every"), "The beginning of the first outage."),
    ],
    later: &[],
};
