//! The command `proxy`.

use super::counts;
use super::metrics::Metrics;
use super::options::{ProxyOptions, SOCKS};
use super::output::{Output, path_words};
use super::path_log::PathLog;
use super::{Host, announce, waiting};
use crate::error::Error;
use crate::files;
use crate::pilot::Pilot;
use crate::proxy::{FarEnd, FarEvent, FarSettings, Forward, NearEnd, NearEvent, NearSettings, PeerStatus};
use crate::report;
use crate::streams::{Datagrams, MAX_DATAGRAM};
use plait_sched::Scheduler;
use serde_json::json;

pub(super) fn run(options: &ProxyOptions, host: &dyn Host, output: &Output<'_>) -> Result<(), Error> {
    let decision = &options.paths.decision;
    // A wrong name is reported before anything is opened.
    if !decision.is_own() {
        decision.scheduler()?;
    }
    let outcome = if options.serve { serve(options, host, output) } else { carry(options, host, output) };
    decision.recorded(host, outcome)
}

/// Runs the near end.
fn carry(options: &ProxyOptions, host: &dyn Host, output: &Output<'_>) -> Result<(), Error> {
    let missing = || Error::Setting("HOST:PORT and --fingerprint are needed, or --serve".to_owned());
    if options.listen.listen.is_some() || options.listen.window.is_some() {
        return Err(Error::Setting("--listen and --window are for --serve".to_owned()));
    }
    let (to, fingerprint) = options.to.clone().zip(options.fingerprint).ok_or_else(missing)?;
    if let Some(socks) = options.socks.filter(|socks| !socks.ip().is_loopback() && !options.open_socks) {
        let text = format!(
            "--socks {socks}: everyone who reaches it could use the far end; add --open-socks, or choose 127.0.0.1"
        );
        return Err(Error::Setting(text));
    }
    if options.listen.key.is_some() {
        return Err(Error::Setting("--key is for --serve".to_owned()));
    }
    let by_default =
        (options.forward.is_empty() && options.udp.is_empty()).then(|| SOCKS.parse().ok()).flatten();
    let connect = options.paths.connect(to, fingerprint, &options.common)?;
    let settings = connect.settings;
    let metrics = options.service.open("proxy", output)?;
    let near_settings = NearSettings {
        connect,
        socks: options.socks.or(by_default),
        forwards: options.forward.clone(),
        udp: options.udp.clone(),
        interactive: options.interactive.clone(),
        redundant: options.redundant_port.clone(),
        idle: options.idle,
    };
    let near_end = waiting::retry(output, || true, || NearEnd::open(near_settings.clone()))?;
    let names: Vec<String> = near_end.paths().iter().map(ToString::to_string).collect();
    announce_listeners(&near_end, &names, output);
    for name in near_end.awaited() {
        output.warn(&waiting::missing(&name));
    }
    let decision = &options.paths.decision;
    if decision.is_own() {
        let make = || host.scheduler(decision.name(), &names);
        drive(near_end, make, || None, &names, metrics.as_ref(), output)
    } else {
        drive(
            near_end,
            || decision.scheduler(),
            || decision.pilot(settings),
            &names,
            metrics.as_ref(),
            output,
        )
    }
}

fn drive<W: Scheduler>(
    near_end: NearEnd,
    make: impl FnMut() -> Result<W, Error>,
    pilots: impl FnMut() -> Option<Box<dyn Pilot<W>>>,
    names: &[String],
    metrics: Option<&Metrics>,
    output: &Output<'_>,
) -> Result<(), Error> {
    let mut log = PathLog::default();
    near_end.run_piloted(make, pilots, &mut |_, event| {
        if let Some(event) = event {
            if let Some(metrics) = metrics {
                metrics.count(|registry| counts::near(registry, event));
            }
            match event {
                NearEvent::Status(status) => log.note_all(output, &status.paths),
                NearEvent::Open { paths, .. } => log.begin("", paths),
                NearEvent::Lost { .. } => log.lose(""),
                _ => {}
            }
            tell(output, names, event);
        }
        output.turn()
    })
}

/// Prints the addresses of the listeners.
fn announce_listeners(near_end: &NearEnd, paths: &[String], output: &Output<'_>) {
    let listed = |forwards: &[Forward]| -> serde_json::Value {
        forwards.iter().map(|one| json!({"listen": one.listen, "target": one.target.to_string()})).collect()
    };
    let value = || {
        let (forwards, udp) = (listed(near_end.forwards()), listed(near_end.udp()));
        json!({"event": "listening", "socks": near_end.socks(), "forwards": forwards, "udp": udp, "paths": paths})
    };
    output.result(value, || {
        let socks = near_end.socks().map(|socks| format!("SOCKS5 at {socks}"));
        let leads = |what: &str, one: &Forward| {
            format!("{what} at {} leads to {} at the far end", one.listen, one.target)
        };
        let forwards = near_end.forwards().iter().map(|one| leads("TCP", one));
        let udp = near_end.udp().iter().map(|one| leads("UDP", one));
        socks.into_iter().chain(forwards).chain(udp).collect::<Vec<_>>().join("; ")
    });
}

fn tell(output: &Output<'_>, names: &[String], event: &NearEvent<'_>) {
    let value = || report::near(event, names);
    match event {
        NearEvent::Changed(change) => output.change(change, names),
        NearEvent::Open { after: None, paths } => {
            output.event(value, || format!("the far end is there, over {}", paths.join(", ")));
        }
        NearEvent::Open { after: Some(after), paths } => {
            let (seconds, paths) = (after.as_secs_f64(), paths.join(", "));
            output.failure(value, &format!("the far end is back after {seconds:.0} s, over {paths}"));
        }
        NearEvent::Idle { target } => output.event(value, || format!("{target}: ended: nothing has moved")),
        NearEvent::Status(status) => output.progress(value, || {
            let [sent, received] = [status.sent, status.received].map(|bytes| bytes as f64 / 1e6);
            let (streams, paths) = (status.streams, path_words(&status.paths));
            let datagrams = match status.datagrams {
                none if status.flows == 0 && none == Datagrams::default() => String::new(),
                Datagrams { sent, received, late, .. } => {
                    format!("; {} flows, {sent} datagrams there, {received} back, {late} late", status.flows)
                }
            };
            format!("{streams} connections, {sent:.1} MB there, {received:.1} MB back{datagrams}  {paths}")
        }),
        NearEvent::Refused { target, reason } => output.failure(value, &format!("{target}: {reason}")),
        NearEvent::TooLarge { from, target, bytes } => {
            output.failure(value, &format!("UDP from {from} to {target}: {}", too_large(*bytes)));
        }
        NearEvent::Unrecorded(error) => {
            output.failure(value, &format!("the recording is not whole: {error}"));
        }
        NearEvent::Lost { error, pause } => {
            let text = format!("{error}; the near end tries again in {} s", pause.as_secs());
            output.failure(value, &text);
        }
    }
}

/// Describes a datagram that is too large.
fn too_large(bytes: usize) -> String {
    format!("a datagram of {bytes} bytes was dropped, like all above {MAX_DATAGRAM} bytes")
}

/// Runs the far end.
fn serve(options: &ProxyOptions, host: &dyn Host, output: &Output<'_>) -> Result<(), Error> {
    let decision = options.paths.decision.clone();
    if decision.is_own() {
        return Err(Error::Setting(format!(
            "--serve --scheduler {}: choose a built-in one",
            decision.name()
        )));
    }
    let listen = options.listen.listen(&options.common, decision.congestion)?;
    let (settings, made, is_auto) = (listen.settings, listen.is_open(), decision.is_auto());
    let nothing = options.allow.is_empty() && options.common.more.allowed.is_empty();
    let hosting = FarSettings {
        listen,
        allowed: options.allow.clone(),
        allowed_of: options.common.more.allowed.clone(),
        idle: options.idle,
        record: decision.record()?,
    };
    let mut far_end = FarEnd::open(hosting, move || decision.scheduler())?;
    if is_auto {
        far_end.set_pilots(move || files::pilot(settings));
    }
    let metrics = options.service.open("proxy --serve", output)?;
    let secret = made.then(|| far_end.secret());
    announce(output, &format!("{} proxy", host.name()), far_end.address(), far_end.fingerprint(), secret);
    options.common.warn_of_weak(output)?;
    if nothing {
        output.warn("no connection is allowed: choose --allow HOST:PORT");
    }
    let mut log = PathLog::default();
    far_end.run(&mut |_, event| {
        if let Some(event) = event {
            if let Some(metrics) = &metrics {
                metrics.count(|registry| counts::far(registry, event));
            }
            match event {
                FarEvent::Status(statuses) => note_paths(&mut log, output, statuses),
                FarEvent::ClientDisconnected { status, .. } => log.forget(&status.from.to_string()),
                _ => {}
            }
            tell_far(output, event);
        }
        output.turn()
    })
}

/// Reports the paths of clients that join, fail and recover.
fn note_paths(log: &mut PathLog, output: &Output<'_>, statuses: &[PeerStatus]) {
    for PeerStatus { from, paths, remotes, .. } in statuses {
        if log.is_new(&from.to_string()) {
            // The line about the client names the address of its first path.
            let first = remotes.iter().position(|remote| *remote == Some(from.remote));
            log.begin(
                &from.to_string(),
                &first.map(|number| number.to_string()).into_iter().collect::<Vec<_>>(),
            );
        }
        for (number, (path, remote)) in paths.iter().zip(remotes).enumerate() {
            let (owner, name) = (from.to_string(), number.to_string());
            let shown = remote.map_or(name.clone(), |remote| format!("{name} from {remote}"));
            let state = (path.usable, None);
            log.note(output, &owner, (&name, &shown), state, |event| report::of(from, event));
        }
    }
}

fn tell_far(output: &Output<'_>, event: &FarEvent<'_>) {
    let value = || report::far(event);
    match event {
        FarEvent::ClientConnected { from } => output.event(value, || format!("{from} has connected")),
        FarEvent::ClientDisconnected { status, error: Error::Stopped } => {
            output.event(value, || format!("{} is gone: it has ended", status.from));
        }
        FarEvent::ClientDisconnected { status, error } => {
            output.failure(value, &format!("{} is gone: {error}", status.from));
        }
        FarEvent::Changed { from, change } => output.event(value, || format!("{from}: {change}")),
        FarEvent::TargetConnected { from, target, udp } => {
            let what = if *udp { "UDP to " } else { "" };
            output.event(value, || format!("{from}: {what}{target}: connected"));
        }
        FarEvent::Idle { from, target } => {
            output.event(value, || format!("{from}: {target}: ended: nothing has moved"));
        }
        FarEvent::Refused { from, target, reason } => {
            output.failure(value, &format!("{from}: {}: {reason}", target.escape_debug()));
        }
        FarEvent::TooLarge { from, target, bytes } => {
            output.failure(value, &format!("{from}: UDP from {target}: {}", too_large(*bytes)));
        }
        FarEvent::Rejected { remote } => {
            output.failure(value, &format!("{remote}: rejected: {}", report::WRONG_SECRET));
        }
        FarEvent::Status(statuses) => output.live(|| {
            let streams: usize = statuses.iter().map(|one| one.streams).sum();
            format!("{} near ends, {streams} connections", statuses.len())
        }),
    }
}
