//! `recv`.

use super::{RecvOptions, clear, megabits, print, say, show};
use crate::error::Error;
use crate::files::{Inbox, News, Receiving};
use crate::identity::hexadecimal;
use crate::settings::Settings;
use serde_json::json;
use std::ops::ControlFlow;

/// False if the only file is not there, which was said.
pub(super) fn run(options: &RecvOptions) -> Result<bool, Error> {
    let mut receiving = Receiving::open(Inbox {
        folder: options.out.clone(),
        listen: options.listen,
        secret: options.common.secret(),
        settings: Settings { window: options.window, ..options.common.settings() },
    })?;
    let (address, fingerprint, secret) =
        (receiving.address(), receiving.fingerprint().to_string(), receiving.secret());
    if options.common.json {
        let line =
            json!({"event": "listening", "address": address, "fingerprint": fingerprint, "secret": secret});
        print(&line.to_string())?;
    } else {
        let host = if address.ip().is_unspecified() { "HOST".to_owned() } else { address.ip().to_string() };
        let port = address.port();
        print(&format!("plait-quic send FILE {host}:{port} --fingerprint {fingerprint} --secret {secret}"))?;
    }
    let (mut failed, mut only) = (None, true);
    receiving.run(&mut |_, news| {
        let Some(news) = news else { return ControlFlow::Continue(()) };
        if let Err(error) = tell(options, news) {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        match news {
            News::Begun { .. } | News::Status(_) => return ControlFlow::Continue(()),
            News::Kept { .. } => only = true,
            News::Failed { .. } => only = false,
        }
        if options.once { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    failed.map_or(Ok(only || !options.once), Err)
}

fn tell(options: &RecvOptions, news: &News<'_>) -> Result<(), Error> {
    let json = options.common.json;
    match news {
        News::Begun { .. } if options.common.quiet => {}
        News::Begun { offer, remote } if json => print(
            &json!({"event": "begun", "file": offer.name, "bytes": offer.size, "from": remote}).to_string(),
        )?,
        News::Begun { offer, remote } => {
            say(&format!("{} from {remote}: {} bytes\n", offer.name, offer.size));
        }
        News::Status(status) => show(&options.common, &[], status)?,
        News::Kept { offer, summary, .. } => {
            clear(&options.common);
            let (seconds, rate) =
                (summary.duration.as_secs_f64(), megabits(summary.bytes - summary.resumed, summary.duration));
            let gap = summary.longest_gap.as_secs_f64() * 1e3;
            print(&if json {
                json!({
                    "event": "received", "file": offer.name, "bytes": summary.bytes, "resumed_bytes": summary.resumed, "sha256": hexadecimal(&offer.digest),
                    "seconds": seconds, "paths": summary.paths, "longest_gap_ms": gap,
                })
                .to_string()
            } else {
                let (name, bytes) = (&offer.name, summary.bytes);
                format!(
                    "{name}: {bytes} bytes in {seconds:.2} s, {rate:.1} Mbit/s, SHA-256 equal, longest gap {gap:.0} ms"
                )
            })?;
        }
        News::Failed { offer, error, left } if json => {
            print(&json!({"event": "failed", "file": offer.name, "error": error.to_string(), "kept_bytes": left}).to_string())?;
        }
        News::Failed { offer, error, left } => {
            clear(&options.common);
            let kept = if *left > 0 { format!("; {left} bytes are kept") } else { String::new() };
            say(&format!("plait-quic: {}: {error}{kept}\n", offer.name));
        }
    }
    Ok(())
}
