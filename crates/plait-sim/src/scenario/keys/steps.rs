//! Keys of changes during a run.

use super::Preset::{Otherwise, Required};
use super::{DURATION, KeyInfo, LOSS, QUEUE, RATE, TableInfo, key};

pub(super) const RATE_STEPS: KeyInfo = key(
    "rate_steps",
    "a list such as [{ at = \"10s\", rate = \"2Mbit\" }], or a file's name",
    Otherwise("none"),
    "When the rate changes, and to what; a packet that is being sent then leaves partly at either rate. A file has a step per line, \
     when and what, such as 10s 2Mbit, and comments behind #; it is relative to the scenario's folder.",
);

pub(super) const DELAY_STEPS: KeyInfo = key(
    "delay_steps",
    "a list such as [{ at = \"10s\", delay = \"50ms\" }], or a file's name",
    Otherwise("none"),
    "When the one-way delay changes, and to what, for packets whose last bit leaves from then on. When it falls, packets keep their order \
     unless reorder is true. A file has lines such as 10s 50ms.",
);

pub(super) const LOSS_STEPS: KeyInfo = key(
    "loss_steps",
    "a list such as [{ at = \"10s\", loss = \"2%\" }], or a file's name",
    Otherwise("none"),
    "When the loss changes, and to what, for packets whose last bit leaves from then on; on a path or link for the forward direction only, as \
     loss. A file has lines such as 10s 2%.",
);

pub(super) const QUEUE_STEPS: KeyInfo = key(
    "queue_steps",
    "a list such as [{ at = \"10s\", queue = \"20p\" }], or a file's name",
    Otherwise("none"),
    "When the queue's limit changes, and to what, for packets that arrive from then on; what waits already stays. With drop-tail only. A \
     file has lines such as 10s 20p.",
);

pub(super) const REPEAT: KeyInfo = key(
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
    keys: &[AT, key("loss", LOSS, Required, "Losses of packets on the wire from then on.")],
    later: &[],
};

/// One of the `queue_steps`.
pub const QUEUE_STEP: TableInfo = TableInfo {
    name: "queue_steps[…]",
    doc: "A change of the queue's limit. They are listed in order.",
    keys: &[AT, key("queue", QUEUE, Required, "The queue's limit from then on.")],
    later: &[],
};
