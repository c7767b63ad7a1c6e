//! `send`.

use super::{SendOptions, clear, megabits, print, record, say, show, tell_awaited, told};
use crate::error::Error;
use crate::files::{Sending, Sent, Shipment};
use crate::identity::hexadecimal;
use crate::pilot::Change;
use crate::settings::Settings;
use serde_json::json;
use std::ops::ControlFlow;

pub(super) fn run(options: &SendOptions) -> Result<(), Error> {
    let scheduler = options.paths.decision.scheduler()?;
    let record = options.record.as_deref().map(|folder| record(folder, &options.paths.decision));
    let shipment = Shipment {
        file: Some(options.file.clone()),
        to: options.to.clone(),
        fingerprint: options.fingerprint,
        secret: told(&options.common)?,
        locals: options.paths.local.clone(),
        interfaces: options.paths.interface.clone(),
        terms: options.paths.terms()?,
        record: record.transpose()?,
        interop: options.interop,
        settings: Settings { congestion: options.paths.decision.congestion, ..options.common.settings() },
    };
    let pilot = options.paths.decision.pilot(shipment.settings);
    let sending = Sending::open(shipment)?;
    tell_awaited(&options.common, &sending.awaited());
    let names: Vec<String> = sending.paths().iter().map(ToString::to_string).collect();
    let mut failed = None;
    let sent = sending.run_piloted(scheduler, pilot, &mut |_, status| match status
        .map_or(Ok(()), |status| show(&options.common, &names, status))
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
        None => tell(options, &names, &sent?),
    }
}

fn tell(options: &SendOptions, names: &[String], sent: &Sent) -> Result<(), Error> {
    let Sent { name, bytes, duration, counters, changes, .. } = sent;
    let scheduler = options.paths.decision.name();
    if let Some(reason) = &sent.unrecorded {
        say(&format!("plait-quic: the recording is not whole: {reason}\n"));
    }
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
            "scheduler": scheduler, "changes": changes.iter().map(|change| change.to_json(names)).collect::<Vec<_>>(),
            "paths": paths.collect::<Vec<_>>(), "retransmissions": counters.retransmissions,
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
            "{name}: {bytes} bytes in {seconds:.2} s, {rate:.1} Mbit/s, SHA-256 equal; {}{}",
            paths.join(", "),
            decided_by(changes)
        ))
    }
}

/// Who decided, one after the other, where it was not the same one all the time.
fn decided_by(changes: &[Change]) -> String {
    let Some(first) = changes.first() else { return String::new() };
    let later = |change: &Change| format!(", {} after {:.1} s", change.to, change.at.as_secs_f64());
    format!("; {} decided{}", first.from, changes.iter().map(later).collect::<String>())
}
