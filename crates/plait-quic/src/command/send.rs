//! `send`.

use super::{SendOptions, clear, megabits, print, show, told};
use crate::error::Error;
use crate::files::{Sending, Sent, Shipment, Term};
use crate::identity::hexadecimal;
use crate::settings::Settings;
use plait_sched::{Builtin, Value, units};
use serde_json::json;
use std::ops::ControlFlow;

pub(super) fn run(options: &SendOptions) -> Result<(), Error> {
    let name = if options.redundant { "redundant" } else { &options.scheduler };
    let scheduler = scheduler(name)?;
    let shipment = Shipment {
        file: Some(options.file.clone()),
        to: options.to.clone(),
        fingerprint: options.fingerprint,
        secret: told(&options.common)?,
        locals: options.local.clone(),
        interfaces: options.interface.clone(),
        terms: terms(options)?,
        settings: Settings { congestion: options.congestion, ..options.common.settings() },
    };
    let mut failed = None;
    let sent = Sending::open(shipment)?.run(scheduler, &mut |_, status| match status
        .map_or(Ok(()), |status| show(&options.common, status))
    {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    clear(&options.common);
    match failed {
        Some(error) => Err(error),
        None => tell(options, name, &sent?),
    }
}

fn tell(options: &SendOptions, scheduler: &str, sent: &Sent) -> Result<(), Error> {
    let Sent { name, bytes, duration, counters, .. } = sent;
    if options.common.json {
        let paths = sent.paths.iter().map(|(local, path)| {
            let srtt = path.srtt.map(|srtt| srtt.as_secs_f64() * 1e3);
            json!({
                "local": local.address, "interface": local.interface, "sent_bytes": path.sent, "srtt_ms": srtt,
                "opened": path.opened, "trouble": path.trouble,
            })
        });
        let line = json!({
            "event": "sent", "file": name, "bytes": bytes, "resumed_bytes": sent.resumed, "sha256": hexadecimal(&sent.digest),
            "seconds": duration.as_secs_f64(), "goodput_bps": megabits(*bytes - sent.resumed, *duration) * 1e6,
            "scheduler": scheduler, "paths": paths.collect::<Vec<_>>(), "retransmissions": counters.retransmissions,
            "reinjections": counters.reinjections, "oversized": sent.oversized,
        });
        print(&line.to_string())
    } else {
        let paths: Vec<String> = sent
            .paths
            .iter()
            .map(|(local, path)| format!("{local} {:.1} MB", path.sent as f64 / 1e6))
            .collect();
        let (seconds, rate) = (duration.as_secs_f64(), megabits(*bytes - sent.resumed, *duration));
        print(&format!(
            "{name}: {bytes} bytes in {seconds:.2} s, {rate:.1} Mbit/s, SHA-256 equal; {}",
            paths.join(", ")
        ))
    }
}

/// What the options say of paths.
fn terms(options: &SendOptions) -> Result<Vec<(String, Term)>, Error> {
    let read = |text: &str, of: &dyn Fn(&str) -> Option<Term>, expected: &str| {
        let pair = text.split_once('=').and_then(|(name, value)| Some((name.to_owned(), of(value)?)));
        pair.ok_or_else(|| Error::Setting(format!("\"{text}\": expected {expected}")))
    };
    let cost = |value: &str| value.parse().ok().map(Term::Cost);
    let budget = |value: &str| units::parse_bytes(value).ok().map(Term::Budget);
    let costs = options.cost.iter().map(|text| read(text, &cost, "PATH=NUMBER"));
    let budgets = options.budget.iter().map(|text| read(text, &budget, "PATH=SIZE, such as wwan0=500MB"));
    let backups = options.backup.iter().map(|name| Ok((name.clone(), Term::Backup)));
    costs.chain(budgets).chain(backups).collect()
}

/// A built-in scheduler as `plait run` names it: `NAME:parameter=value:parameter=value`.
fn scheduler(text: &str) -> Result<Builtin, Error> {
    let refused = |reason: String| Error::Setting(format!("scheduler \"{text}\": {reason}"));
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut given = Vec::new();
    for item in rest.split(':').filter(|_| !rest.is_empty()) {
        let pair = item.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, value) =
            pair.ok_or_else(|| refused(format!("expected NAME:parameter=value, got \"{item}\"")))?;
        given.push((key, plain(value)));
    }
    Builtin::new(name, &given).map_err(|error| Error::Setting(error.to_string()))
}

/// A value as it looks.
fn plain(text: &str) -> Value<'_> {
    match text {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ => match (text.parse(), text.parse()) {
            (Ok(number), _) => Value::Integer(number),
            (_, Ok(number)) => Value::Number(number),
            _ => Value::Text(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_are_named_with_their_parameters() {
        let made = |text| scheduler(text).map(|scheduler| scheduler.to_string());
        assert_eq!(made("lowest-rtt+rp").expect("it is one"), "lowest-rtt+rp");
        assert_eq!(made("round-robin:segments=10").expect("it is one"), "round-robin");
        assert_eq!(made("redundant:mode=when-idle").expect("it is one"), "redundant");
        let wrong = |text| made(text).expect_err("it is none").to_string();
        assert!(wrong("round-robin:segments").contains("expected NAME:parameter=value, got \"segments\""));
        assert!(wrong("round-robin:segments=many").contains("segments"));
        assert!(wrong("fastest").contains("unknown scheduler \"fastest\""));
    }
}
