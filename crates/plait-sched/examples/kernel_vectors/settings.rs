//! The recorded settings: schedulers and options with the values of their parameters.

use plait_sched::Value;
use plait_sched::Value::{Boolean, Integer, Number, Text};

/// Values of parameters; the others have their defaults.
pub(crate) type Setting = Vec<(&'static str, Value<'static>)>;
type Given = &'static [(&'static str, Value<'static>)];

/// The schedulers that Linux has, and the settings of their own parameters.
pub(crate) const SETTINGS: &[(&str, &[Given])] = &[
    (
        "round-robin",
        &[
            &[],
            &[("cwnd_limited", Boolean(false))],
            &[("cwnd_limited", Boolean(false)), ("segments", Integer(3))],
            &[("segments", Integer(1_000_000))],
        ],
    ),
    ("lowest-rtt", &[&[]]),
    ("delivery-delay", &[&[]]),
    (
        "intelligent-delivery-delay",
        &[&[], &[("ahead", Integer(1))], &[("ahead", Integer(4))], &[("ahead", Integer(65_536))]],
    ),
    (
        "daps",
        &[
            &[],
            &[("schedule", Text("to-end"))],
            &[("fast_limit", Text("outstanding"))],
            &[("fast_limit", Text("outstanding")), ("schedule", Text("to-end"))],
            &[("fast_limit", Text("literal"))],
            &[("fast_limit", Text("literal")), ("schedule", Text("to-end"))],
            &[("round_trip", Text("smoothed"))],
            &[("round_trip", Text("shortest")), ("schedule", Text("to-end"))],
            &[("guard", Boolean(true))],
            &[("guard", Boolean(true)), ("guard_asymmetry", Number(1.0)), ("schedule", Text("to-end"))],
            &[("guard", Boolean(true)), ("guard_asymmetry", Number(1_000_000.0))],
            &[("guard", Boolean(true)), ("round_trip", Text("shortest"))],
        ],
    ),
    (
        "daps-rounds",
        &[
            &[],
            &[("replan", Text("always"))],
            &[("spacing", Text("one-way"))],
            &[("spacing", Text("one-way")), ("replan", Text("always")), ("max_period", Integer(65_536))],
            &[("max_period", Integer(1))],
            &[("max_period", Integer(6)), ("spacing", Text("one-way"))],
            &[("guard", Boolean(true))],
            &[("guard", Boolean(true)), ("guard_asymmetry", Number(1.0))],
            &[("guard", Boolean(true)), ("guard_asymmetry", Number(1.5)), ("replan", Text("always"))],
        ],
    ),
    ("dqs", &[&[], &[("window", Text("whole"))]]),
    (
        "redundant",
        &[
            &[],
            &[("mode", Text("opportunistic"))],
            &[("mode", Text("when-idle"))],
            &[("mode", Text("probing"))],
            &[("mode", Text("probing")), ("probe_after", Integer(1))],
            &[("mode", Text("probing")), ("probe_after", Integer(1000))],
        ],
    ),
    (
        "blest",
        &[&[], &[("reading", Text("paper"))], &[("reading", Text("paper")), ("correction", Number(0.2))]],
    ),
    ("ecf", &[&[], &[("rounds", Text("fraction"))], &[("beta", Number(0.0))], &[("beta", Number(100.0))]]),
    ("otias", &[&[], &[("reading", Text("floor"))], &[("reading", Text("real"))]]),
    ("sttf", &[&[], &[("alike", Number(0.0))], &[("alike", Number(3.5))]]),
    ("cheapest-first", &[&[]]),
    ("weighted", &[&[], &[("reading", Text("mlvpn"))]]),
    (
        "plait",
        &[
            &[],
            &[("trains", Boolean(false))],
            &[("limits", Boolean(false))],
            &[("copies", Boolean(false))],
            &[("last_copies", Boolean(false))],
            &[("first_copies", Boolean(false))],
            &[("trains", Boolean(false)), ("limits", Boolean(false))],
        ],
    ),
];

/// The options around each of them.
pub(crate) const OPTIONS: &[Given] = &[
    &[],
    &[("retransmission_penalization", Boolean(true))],
    &[("retransmission_penalization", Boolean(true)), ("penalization_interval", Text("slow"))],
    &[("bufferbloat_mitigation", Boolean(true))],
    &[("bufferbloat_mitigation", Boolean(true)), ("bufferbloat_lambda", Number(1.25))],
    &[("retransmission_penalization", Boolean(true)), ("bufferbloat_mitigation", Boolean(true))],
];
