//! `proxy`.

use super::{
    ProxyOptions, SOCKS, clear, path_values, path_words, print, record, report_change, say, say_again,
    tell_awaited, told,
};
use crate::error::Error;
use crate::files;
use crate::proxy::{Entrance, Exit, Hosting, Plan, Tidings, Told};
use crate::settings::Settings;
use serde_json::json;
use std::ops::ControlFlow;

pub(super) fn run(options: &ProxyOptions) -> Result<(), Error> {
    // A name that is none is told before anything is opened.
    options.paths.decision.scheduler()?;
    if options.serve { serve(options) } else { carry(options) }
}

/// Takes what came of telling: if it failed, it ends.
struct Telling(Result<(), Error>);

impl Telling {
    fn take(&mut self, told: Result<(), Error>) -> ControlFlow<()> {
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.0 = Err(error);
                ControlFlow::Break(())
            }
        }
    }
}

fn carry(options: &ProxyOptions) -> Result<(), Error> {
    let missing = || Error::Setting("the other end's address and --fingerprint are needed".to_owned());
    let (to, fingerprint) = options.to.clone().zip(options.fingerprint).ok_or_else(missing)?;
    let by_default = options.forward.is_empty().then(|| SOCKS.parse().ok()).flatten();
    let decision = &options.paths.decision;
    let settings = Settings { congestion: decision.congestion, ..options.common.settings() };
    let entrance = Entrance::open(Plan {
        to,
        fingerprint,
        secret: told(&options.common)?,
        locals: options.paths.local.clone(),
        interfaces: options.paths.interface.clone(),
        terms: options.paths.terms()?,
        socks: options.socks.or(by_default),
        forwards: options.forward.clone(),
        interactive: options.interactive.clone(),
        redundant: options.redundant_port.clone(),
        record: options.record.as_deref().map(|folder| record(folder, decision)).transpose()?,
        settings,
    })?;
    announce(options, &entrance)?;
    tell_awaited(&options.common, &entrance.awaited());
    let names: Vec<String> = entrance.paths().iter().map(ToString::to_string).collect();
    let mut telling = Telling(Ok(()));
    let outcome =
        entrance.run_piloted(|| decision.scheduler(), || decision.pilot(settings), &mut |_, told| {
            let Some(told) = told else { return ControlFlow::Continue(()) };
            telling.take(tell(options, &names, told))
        });
    clear(&options.common);
    telling.0.and(outcome)
}

/// Where connections are taken.
fn announce(options: &ProxyOptions, entrance: &Entrance) -> Result<(), Error> {
    let paths: Vec<String> = entrance.paths().iter().map(ToString::to_string).collect();
    if options.common.json {
        let forwards = entrance.forwards().iter();
        let forwards = forwards.map(|one| json!({"listen": one.listen, "target": one.target.to_string()}));
        let line = json!({"event": "listening", "socks": entrance.socks(), "forwards": forwards.collect::<Vec<_>>(), "paths": paths});
        return print(&line.to_string());
    }
    if let Some(socks) = entrance.socks() {
        print(&format!("SOCKS5 at {socks}"))?;
    }
    for one in entrance.forwards() {
        print(&format!("{} leads to {}", one.listen, one.target))?;
    }
    Ok(())
}

fn tell(options: &ProxyOptions, names: &[String], told: &Told<'_>) -> Result<(), Error> {
    let (json, quiet) = (options.common.json, options.common.quiet);
    match told {
        Told::Open if json => print(&json!({"event": "open"}).to_string()),
        Told::Status(_) | Told::Open | Told::Changed(_) if quiet => Ok(()),
        Told::Changed(change) => report_change(&options.common, names, change),
        Told::Open => {
            say("the other end is there\n");
            Ok(())
        }
        Told::Status(status) if json => print(
            &json!({
                "event": "progress", "connections": status.streams, "opened": status.opened, "sent_bytes": status.sent,
                "received_bytes": status.received, "seconds": status.elapsed.as_secs_f64(), "paths": path_values(&status.paths),
            })
            .to_string(),
        ),
        Told::Status(status) => {
            let megabytes = [status.sent, status.received].map(|bytes| bytes as f64 / 1e6);
            let (streams, paths) = (status.streams, path_words(&status.paths));
            let [sent, received] = megabytes;
            say_again(&format!("{streams} connections, {sent:.1} MB there, {received:.1} MB back  {paths}"));
            Ok(())
        }
        Told::Refused { target, reason } if json => print(
            &json!({"event": "refused", "target": target.to_string(), "reason": reason.to_string()}).to_string(),
        ),
        Told::Refused { target, reason } => {
            clear(&options.common);
            say(&format!("{target}: {reason}\n"));
            Ok(())
        }
        Told::Unrecorded(error) => {
            clear(&options.common);
            say(&format!("plait-quic: the recording is not whole: {error}\n"));
            Ok(())
        }
        Told::Lost(error) if json => {
            print(&json!({"event": "lost", "error": error.to_string()}).to_string())
        }
        Told::Lost(error) => {
            clear(&options.common);
            say(&format!("plait-quic: {error}; the other end is looked for again\n"));
            Ok(())
        }
    }
}

fn serve(options: &ProxyOptions) -> Result<(), Error> {
    let decision = options.paths.decision.clone();
    let settings =
        Settings { window: options.window, congestion: decision.congestion, ..options.common.settings() };
    let hosting = Hosting {
        listen: options.listen,
        secret: options.common.secret(),
        allowed: options.allow.clone(),
        record: options.record.as_deref().map(|folder| record(folder, &decision)).transpose()?,
        settings,
    };
    let is_auto = decision.is_auto();
    files::record::check(options.record.is_some(), is_auto)?;
    let mut exit = Exit::open(hosting, move || decision.scheduler())?;
    if is_auto {
        exit.set_pilots(move || files::pilot(settings));
    }
    let (address, fingerprint, secret) = (exit.address(), exit.fingerprint().to_string(), exit.secret());
    if options.common.json {
        let line =
            json!({"event": "listening", "address": address, "fingerprint": fingerprint, "secret": secret});
        print(&line.to_string())?;
    } else {
        let host = if address.ip().is_unspecified() { "HOST".to_owned() } else { address.ip().to_string() };
        let port = address.port();
        print(&format!("plait-quic proxy {host}:{port} --fingerprint {fingerprint} --secret {secret}"))?;
    }
    if options.allow.is_empty() {
        say("no connection is allowed: choose --allow HOST:PORT\n");
    }
    let mut telling = Telling(Ok(()));
    let outcome = exit.run(&mut |_, tidings| {
        let Some(tidings) = tidings.filter(|_| !options.common.quiet) else {
            return ControlFlow::Continue(());
        };
        telling.take(report(options.common.json, tidings))
    });
    telling.0.and(outcome)
}

fn report(json: bool, tidings: &Tidings<'_>) -> Result<(), Error> {
    let (value, words) = match tidings {
        Tidings::Came { remote } => {
            (json!({"event": "came", "from": remote}), format!("{remote} has connected"))
        }
        Tidings::Left { error } => {
            (json!({"event": "left", "reason": error.to_string()}), format!("a peer is gone: {error}"))
        }
        Tidings::Changed(change) => (change.to_json(&[]), change.to_string()),
        Tidings::Connected { target } => {
            (json!({"event": "connected", "target": target}), format!("{target}: connected"))
        }
        Tidings::Refused { target, reason } => (
            json!({"event": "refused", "target": target, "reason": reason.to_string()}),
            format!("{}: {reason}", target.escape_debug()),
        ),
    };
    if json {
        return print(&value.to_string());
    }
    say(&format!("{words}\n"));
    Ok(())
}
