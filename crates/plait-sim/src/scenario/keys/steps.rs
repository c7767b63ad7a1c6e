//! Keys of changes during a run.

use super::Preset::{Otherwise, Required};
use super::{DURATION, KeyInfo, LOSS, QUEUE, RATE, TableInfo, key};

pub(super) const RATE_STEPS: KeyInfo = key(
    "rate_steps",
    "a list such as [{ at = \"10s\", rate = \"2Mbit\" }], or a file's name",
    Otherwise("none"),
    "Changes of the rate: times and new values. A packet in transmission at a change is sent \
     partly at either rate. A file, relative to the scenario's folder, has a time and a value per \
     line, such as 10s 2Mbit, and comments after #.",
);

pub(super) const DELAY_STEPS: KeyInfo = key(
    "delay_steps",
    "a list such as [{ at = \"10s\", delay = \"50ms\" }], or a file's name",
    Otherwise("none"),
    "Changes of the one-way delay: times and new values, for packets whose last bit leaves at or \
     after the time. When the delay falls, packets keep their order unless reorder is true. A file \
     has lines such as 10s 50ms.",
);

pub(super) const LOSS_STEPS: KeyInfo = key(
    "loss_steps",
    "a list such as [{ at = \"10s\", loss = \"2%\" }], or a file's name",
    Otherwise("none"),
    "Changes of the loss: times and new values, for packets whose last bit leaves at or after the \
     time. On a path or link they hold for the forward direction only, like loss. A file has lines \
     such as 10s 2%.",
);

pub(super) const QUEUE_STEPS: KeyInfo = key(
    "queue_steps",
    "a list such as [{ at = \"10s\", queue = \"20p\" }], or a file's name",
    Otherwise("none"),
    "Changes of the queue's limit: times and new values, for packets that arrive at or after the \
     time. Packets in the queue stay there. With drop-tail only. A file has lines such as 10s \
     20p.",
);

pub(super) const REPEAT: KeyInfo = key(
    "repeat",
    DURATION,
    Otherwise("they do not"),
    "The period after which all steps of this table start again; longer than the time of the last step.",
);

/// One of the `rate_steps`.
pub const RATE_STEP: TableInfo = TableInfo {
    name: "rate_steps[…]",
    doc: "A change of the rate. They are listed in order.",
    keys: &[AT, key("rate", RATE, Required, "The rate from then on.")],
    later: &[],
};

const AT: KeyInfo =
    key("at", DURATION, Required, "The time of the step, from the start of the run or of each period.");

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
