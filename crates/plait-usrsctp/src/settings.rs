//! The settings of the stack that follow from a scenario, and what it cannot express.
//!
//! Some options have only one value in the stack. Their defaults are accepted and mean the stack's
//! behaviour; the table `HABITS` lists them.

use plait_sched::Duration;
use plait_sim::application::ConnectionEnd;
use plait_sim::scenario::{OwnOptions, Protocol, RetransmissionPolicy, Scenario, WindowAccounting};
use plait_transport::packet::Overhead;
use plait_transport::wire::sctp;

/// Place and value in the scenario, and the reason of a refusal.
pub(crate) type Refused = (String, String);

/// IPv4 header, common header and the header of a DATA chunk.
const HEADERS: u32 = 20 + sctp::HEADER_BYTES as u32 + sctp::Data::HEADER_BYTES as u32;
/// A chunk is padded to a multiple of this size.
const WORD: u32 = 4;
/// Paths whose addresses differ in one byte.
const MOST_PATHS: usize = 255;
/// The threshold of potentially failed paths that switches them off.
const NEVER_POTENTIALLY_FAILED: u32 = 65_535;
/// The initial window of RFC 4960 in the stack: at least this, from 2 to 4 packets.
const RFC_WINDOW: u64 = 4404;
/// A send buffer that never limits: the receiver's window limits before.
const SPARE_SEND_BUFFER: u64 = 1 << 20;

/// Returns the part of the scenario that the stack cannot express, and the reason; `None` if there
/// is none.
pub fn refusal(scenario: &Scenario) -> Option<Refused> {
    arguments(scenario).err()
}

/// Returns the arguments of the process.
pub(crate) fn arguments(scenario: &Scenario) -> Result<Vec<String>, Refused> {
    let transport = &scenario.transport;
    let OwnOptions::CmtSctp(own) = &transport.own else {
        let found = transport.protocol.name();
        return Err(refused(
            "transport.protocol",
            format!("{found:?}"),
            format!("FreeBSD's stack has {:?} alone", Protocol::CmtSctp.name()),
        ));
    };
    check_scheduler(scenario)?;
    check_habits(scenario)?;
    if scenario.workload.client() == ConnectionEnd::Far {
        return Err(refused("workload.kind", "\"request-response\"", "the near end alone sends"));
    }
    if scenario.paths.len() > MOST_PATHS {
        return Err(refused(
            "path",
            scenario.paths.len(),
            format!("at most {MOST_PATHS} paths have addresses"),
        ));
    }
    for (index, path) in scenario.paths.iter().enumerate() {
        if path.backup {
            return Err(refused(&format!("path[{index}].backup"), true, "CMT uses all paths"));
        }
    }
    if transport.packet % WORD != 0 {
        let why = format!("chunks are padded to {WORD} bytes; a multiple of {WORD} is needed");
        return Err(refused("transport.packet", format!("\"{}B\"", transport.packet), why));
    }
    let receive_buffer = buffer("transport.receive_buffer", transport.receive_buffer)?;
    let send_buffer = match transport.send_buffer {
        Some(bytes) => buffer("transport.send_buffer", bytes)?,
        None => buffer("transport.receive_buffer", 2 * transport.receive_buffer + SPARE_SEND_BUFFER)?,
    };
    let milliseconds = |key: &str, span: Duration| {
        let nanos = span.as_nanos();
        if nanos % 1_000_000 == 0 {
            Ok(nanos / 1_000_000)
        } else {
            let why = "the stack counts in milliseconds; whole ones are needed";
            Err(refused(&format!("transport.{key}"), format!("\"{nanos}ns\""), why))
        }
    };
    let all: [(&str, u64); 20] = [
        ("seed", scenario.seed),
        ("paths", scenario.paths.len() as u64),
        ("mtu", transport.packet.into()),
        ("message", (transport.packet - HEADERS).into()),
        ("receive_buffer", receive_buffer),
        ("send_buffer", send_buffer),
        ("cmt_on_off", 1),
        ("cmt_use_dac", own.delayed_ack_for_cmt.into()),
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
        ("path_pf_threshold", if transport.potentially_failed { 0 } else { NEVER_POTENTIALLY_FAILED.into() }),
    ];
    Ok(all.iter().map(|(name, value)| format!("{name}={value}")).collect())
}

/// The stack takes turns of one packet. Where windows are full, turns that fill the window are the
/// same.
fn check_scheduler(scenario: &Scenario) -> Result<(), Refused> {
    let choice = &scenario.scheduler;
    if choice.name() != "round-robin" {
        let why = "FreeBSD's stack has \"round-robin\" alone";
        return Err(refused("scheduler", format!("{:?}", choice.name()), why));
    }
    let parameter = |name: &str| {
        let found = choice.parameters().iter().find(|(found, _)| found == name);
        found.map_or_else(String::new, |(_, value)| value.value().to_string())
    };
    if parameter("cwnd_limited") == "false" && parameter("segments") != "1" {
        return Err(refused(
            "scheduler.segments",
            parameter("segments"),
            "a turn of the stack has one packet",
        ));
    }
    Ok(())
}

/// Options with one value in the stack.
fn check_habits(scenario: &Scenario) -> Result<(), Refused> {
    let transport = &scenario.transport;
    let OwnOptions::CmtSctp(own) = &transport.own else { return Ok(()) };
    let habits: [(&str, bool, String, &str); 4] = [
        (
            "initial_ssthresh",
            transport.initial_ssthresh.is_none(),
            format!("{:?}", transport.initial_ssthresh),
            "the stack's first threshold is the receiver's window; \"unlimited\" is accepted",
        ),
        (
            "receive_window_accounting",
            own.receive_window_accounting == WindowAccounting::Buffer,
            format!("{:?}", own.receive_window_accounting),
            "the stack has \"buffer\" alone",
        ),
        (
            "retransmission_policy",
            own.retransmission_policy == RetransmissionPolicy::Cwnd,
            format!("{:?}", own.retransmission_policy),
            "the stack has \"cwnd\" alone (sctp_find_alternate_net)",
        ),
        (
            "fast_retransmit_threshold",
            own.fast_retransmit_threshold == 3,
            own.fast_retransmit_threshold.to_string(),
            "the stack has 3 alone",
        ),
    ];
    match habits.into_iter().find(|(_, accepted, ..)| !accepted) {
        Some((key, _, value, why)) => Err(refused(&format!("transport.{key}"), value, why)),
        None => Ok(()),
    }
}

/// Returns the initial window in packets; 0 means RFC 4960's.
fn initial_window(scenario: &Scenario) -> Result<u64, Refused> {
    let window = scenario.transport.initial_window;
    let packet = u64::from(scenario.transport.packet - Overhead::SCTP.packet);
    if window % packet == 0 {
        return Ok(window / packet);
    }
    if window == (2 * packet).max(RFC_WINDOW).min(4 * packet) {
        return Ok(0);
    }
    let why = format!("the stack has whole packets; a multiple of {packet}B is needed");
    Err(refused("transport.initial_window", format!("\"{window}B\""), why))
}

fn buffer(key: &str, bytes: u64) -> Result<u64, Refused> {
    if i32::try_from(bytes).is_ok() {
        return Ok(bytes);
    }
    Err(refused(key, format!("\"{bytes}B\""), format!("a socket's buffer has at most {} bytes", i32::MAX)))
}

fn refused(key: &str, value: impl std::fmt::Display, why: impl Into<String>) -> Refused {
    (format!("{key} = {value}"), why.into())
}
