//! The settings of the stack that follow from a scenario, and the refusals.
//!
//! Some options have only one value in the stack. Their defaults are accepted and mean the stack's
//! behaviour; the table `HABITS` lists them.

use crate::decisions::OFFERED;
use plait_sched::{Duration, SCHEDULERS, Scheduler as _, Value};
use plait_sim::application::{BlockOrder, ConnectionEnd};
use plait_sim::scenario::{
    CmtSctpOptions, OwnOptions, Protocol, RetransmissionPolicy, Scenario, WindowAccounting,
};
use plait_transport::packet::Overhead;
use plait_transport::wire::sctp;

/// Place and value in the scenario, and the reason of a refusal.
pub(crate) type Refused = (String, String);

/// IPv4 header, common header and the header of a DATA chunk.
const HEADERS: u32 = 20 + sctp::HEADER_BYTES as u32 + sctp::Data::HEADER_BYTES as u32;
/// A chunk is padded to a multiple of this size.
const WORD: u32 = 4;
/// The threshold of potentially failed paths that switches them off.
const NEVER_POTENTIALLY_FAILED: u64 = 65_535;
/// The initial window of RFC 4960 in the stack: at least this, from 2 to 4 packets.
const RFC_WINDOW: u64 = 4404;
/// A send buffer that never limits: the receiver's window limits before.
const SPARE_SEND_BUFFER: u64 = 1 << 20;

/// Returns the part of the scenario that the stack cannot express, and the reason; `None` if there
/// is none. The scenario's scheduler counts only with `schedules`.
pub fn refusal(scenario: &Scenario, schedules: bool) -> Option<Refused> {
    let scheduler = if schedules { check_scheduler(scenario) } else { Ok(()) };
    scheduler.and_then(|()| arguments(scenario)).err()
}

/// True if the scenario's scheduler is the stack's own, which takes turns of one packet. Where
/// windows are full, turns that fill the window are the same.
pub fn takes_turns(scenario: &Scenario) -> bool {
    let choice = &scenario.scheduler;
    let parameter = |name: &str| choice.parameters().iter().find(|(found, _)| found == name);
    let value = |name: &str| parameter(name).map_or(Value::Boolean(false), |(_, value)| value.value());
    choice.name() == "round-robin"
        && (value("cwnd_limited") != Value::Boolean(false) || value("segments") == Value::Integer(1))
}

/// Returns the arguments of the process.
pub(crate) fn arguments(scenario: &Scenario) -> Result<Vec<String>, Refused> {
    let transport = &scenario.transport;
    let OwnOptions::CmtSctp(own) = &transport.own else {
        let why = format!("FreeBSD's stack has {:?} alone", Protocol::CmtSctp.name());
        return Err(option(scenario, "protocol", why));
    };
    check_paths(scenario)?;
    check_habits(scenario, own)?;
    let receive_buffer = buffer(scenario, "receive_buffer", transport.receive_buffer)?;
    let send_buffer = match transport.send_buffer {
        Some(bytes) => buffer(scenario, "send_buffer", bytes)?,
        None => buffer(scenario, "receive_buffer", 2 * transport.receive_buffer + SPARE_SEND_BUFFER)?,
    };
    let milliseconds = |key: &str, span: Duration| {
        let why = "the stack counts in milliseconds; whole ones are needed";
        let whole = span.as_nanos().is_multiple_of(1_000_000);
        if whole { Ok(span.as_nanos() / 1_000_000) } else { Err(option(scenario, key, why)) }
    };
    let never_failed = NEVER_POTENTIALLY_FAILED;
    let all: [(&str, u64); 20] = [
        ("seed", scenario.seed),
        ("paths", scenario.paths.len() as u64),
        ("mtu", transport.packet.into()),
        ("message", (transport.packet - HEADERS).into()),
        ("receive_buffer", receive_buffer),
        ("send_buffer", send_buffer),
        ("cmt_on_off", 1),
        ("cmt_use_dac", delayed_ack(scenario, own)?.into()),
        ("initial_cwnd", initial_window(scenario)?),
        ("maxburst", transport.max_burst.unwrap_or(0).into()),
        ("fr_maxburst", transport.max_burst.unwrap_or(0).into()),
        ("sack_freq", transport.ack_every.into()),
        ("delayed_sack_time", milliseconds("ack_delay", transport.ack_delay)?),
        ("rto_initial", milliseconds("rto_initial", transport.rto_initial)?),
        ("rto_min", milliseconds("rto_min", transport.rto_min)?),
        ("rto_max", milliseconds("rto_max", transport.rto_max)?),
        ("heartbeat_interval", milliseconds("heartbeat_interval", own.heartbeat_interval)?),
        ("path_rtx_max", transport.path_max_retransmissions.into()),
        ("assoc_rtx_max", transport.association_max_retransmissions.into()),
        ("path_pf_threshold", if transport.potentially_failed { 0 } else { never_failed }),
    ];
    Ok(all.iter().map(|(name, value)| format!("{name}={value}")).collect())
}

/// A scheduler other than the stack's own may need capabilities that the stack lacks.
fn check_scheduler(scenario: &Scenario) -> Result<(), Refused> {
    let Some(lacking) = scenario.scheduler.build().needs().missing_from(OFFERED) else { return Ok(()) };
    let accepted = SCHEDULERS.iter().filter(|info| OFFERED.contains(info.needs)).map(|info| info.name);
    let accepted: Vec<&str> = accepted.collect();
    let why = format!("FreeBSD's stack lacks {lacking}; choose one of: {}", accepted.join(", "));
    Err((format!("scheduler = {:?}", scenario.scheduler.name()), why))
}

/// All paths are used at once, and the near end alone sends.
fn check_paths(scenario: &Scenario) -> Result<(), Refused> {
    if scenario.workload.client() == ConnectionEnd::Far {
        let why = "the near end alone sends";
        return Err(("workload.kind = \"request-response\"".to_owned(), why.to_owned()));
    }
    if scenario.workload.blocks() == Some(BlockOrder::Any) {
        let why = "the engine writes one stream of one priority; give all writes the same";
        return Err(("workload.kind = \"trace\"".to_owned(), why.to_owned()));
    }
    match scenario.paths.iter().position(|path| path.backup) {
        Some(index) => Err((format!("path[{index}].backup = true"), "CMT uses all paths".to_owned())),
        None => Ok(()),
    }
}

/// Options with one value in the stack.
fn check_habits(scenario: &Scenario, own: &CmtSctpOptions) -> Result<(), Refused> {
    let transport = &scenario.transport;
    let habits = [
        (
            "packet",
            transport.packet.is_multiple_of(WORD),
            "chunks are padded to 4 bytes; a multiple of 4 is needed",
        ),
        (
            "initial_ssthresh",
            transport.initial_ssthresh.is_none(),
            "the stack's first threshold is the receiver's window; \"unlimited\" is accepted",
        ),
        (
            "receive_window_accounting",
            own.receive_window_accounting == WindowAccounting::Buffer,
            "the stack has \"buffer\" alone",
        ),
        (
            "retransmission_policy",
            own.retransmission_policy == RetransmissionPolicy::Cwnd,
            "the stack has \"cwnd\" alone (sctp_find_alternate_net)",
        ),
        ("fast_retransmit_threshold", own.fast_retransmit_threshold == 3, "the stack has 3 alone"),
    ];
    match habits.into_iter().find(|(_, accepted, _)| !accepted) {
        Some((key, _, why)) => Err(option(scenario, key, why)),
        None => Ok(()),
    }
}

/// Whether the stack delays acknowledgements of gaps. With that, it acknowledges every second packet
/// under any setting (sctp_sack_check of sctp_indata.c). Without delayed acknowledgements the option
/// has no effect.
fn delayed_ack(scenario: &Scenario, own: &CmtSctpOptions) -> Result<bool, Refused> {
    match scenario.transport.ack_every {
        _ if !own.delayed_ack_for_cmt => Ok(false),
        1 => Ok(false),
        2 => Ok(true),
        _ => {
            let why = "with delayed_ack_for_cmt, the stack acknowledges every second packet";
            Err(option(scenario, "ack_every", why))
        }
    }
}

/// Returns the initial window in packets; 0 means RFC 4960's.
fn initial_window(scenario: &Scenario) -> Result<u64, Refused> {
    let window = scenario.transport.initial_window;
    let packet = u64::from(scenario.transport.packet - Overhead::SCTP.packet);
    if window.is_multiple_of(packet) {
        return Ok(window / packet);
    }
    if window == (2 * packet).max(RFC_WINDOW).min(4 * packet) {
        return Ok(0);
    }
    let why = format!("the stack has whole packets; a multiple of {packet}B is needed");
    Err(option(scenario, "initial_window", why))
}

fn buffer(scenario: &Scenario, key: &str, bytes: u64) -> Result<u64, Refused> {
    if i32::try_from(bytes).is_ok() {
        return Ok(bytes);
    }
    Err(option(scenario, key, format!("a socket's buffer has at most {} bytes", i32::MAX)))
}

/// Refuses an option of the transport.
fn option(scenario: &Scenario, key: &str, why: impl Into<String>) -> Refused {
    let value = &scenario.to_json()["transport"][key];
    (format!("transport.{key} = {value}"), why.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn scenario(transport: &str) -> Scenario {
        let text = format!(
            "scheduler = \"round-robin\"\nseed = 7\n[transport]\nprotocol = \"cmt-sctp\"\n{transport}\n\
             [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\n[[path]]\nrate = \"1Mbit\"\nrtt = \"50ms\"\n"
        );
        Scenario::from_toml(&text, "links.toml", Path::new("")).unwrap()
    }

    fn argument(transport: &str, name: &str) -> u64 {
        let arguments = arguments(&scenario(transport)).unwrap();
        let found = arguments.iter().find_map(|one| one.strip_prefix(&format!("{name}=")));
        found.unwrap().parse().unwrap()
    }

    #[test]
    fn options_are_settings_of_the_stack() {
        for (transport, name, value) in [
            ("", "seed", 7),
            ("", "paths", 2),
            ("", "mtu", 1500),
            ("", "message", 1452),
            ("", "initial_cwnd", 3),
            ("", "rto_min", 1000),
            ("", "path_pf_threshold", 65_535),
            ("packet = \"1000B\"", "initial_cwnd", 4),
            ("packet = \"1200B\"", "initial_cwnd", 0),
            ("initial_window = \"10p\"", "initial_cwnd", 10),
            ("rto_min = \"200ms\"", "rto_min", 200),
            ("potentially_failed = true", "path_pf_threshold", 0),
            ("ack_every = 2", "cmt_use_dac", 1),
            ("ack_every = 2", "sack_freq", 2),
            ("ack_every = 1", "cmt_use_dac", 0),
            ("ack_every = 3\ndelayed_ack_for_cmt = false", "cmt_use_dac", 0),
            ("receive_buffer = \"64kB\"\nsend_buffer = \"32kB\"", "send_buffer", 32_000),
            ("receive_buffer = \"64kB\"", "send_buffer", 128_000 + SPARE_SEND_BUFFER),
        ] {
            assert_eq!(argument(transport, name), value, "{transport}: {name}");
        }
    }

    #[test]
    fn what_the_stack_lacks_is_refused_with_place_and_value() {
        for (transport, place) in [
            ("ack_every = 3", "transport.ack_every = 3"),
            ("ack_delay = \"1500us\"", "transport.ack_delay = \"1500us\""),
            ("packet = \"1501B\"", "transport.packet = \"1501B\""),
            ("initial_ssthresh = \"60kB\"", "transport.initial_ssthresh = \"60kB\""),
            ("fast_retransmit_threshold = 4", "transport.fast_retransmit_threshold = 4"),
        ] {
            let found = refusal(&scenario(transport), true).map(|(place, _)| place);
            assert_eq!(found.as_deref(), Some(place));
        }
    }
}
