//! The command `recv`.

use super::counts::Counts;
use super::options::RecvOptions;
use super::output::{Output, transferred};
use super::{Host, announce, send};
use crate::error::Error;
use crate::files::{CompletedTransfer, Modes, ReceiveEvent, ReceiveSettings, Receiving};
use crate::report;
use crate::settings::Settings;
use std::ops::ControlFlow;

pub(super) fn run(options: &RecvOptions, host: &dyn Host, output: &Output<'_>) -> Result<(), Error> {
    let listen = options.listen.listen(&options.common, Settings::default().congestion)?;
    let made = listen.is_open();
    let mut receiving = Receiving::open(ReceiveSettings {
        folder: (!options.is_piped()).then(|| options.out.clone()),
        modes: options.mode.unwrap_or(Modes::Private),
        replaces: options.replace,
        listen,
    })?;
    let metrics = options.service.open("recv", output)?;
    let secret = made.then(|| receiving.secret().to_owned());
    announce(
        output,
        &format!("{} send FILE", host.name()),
        receiving.address(),
        receiving.fingerprint(),
        secret.as_deref(),
    );
    options.common.warn_of_weak(output)?;
    let (mut lost, mut counts) = (None, Counts::default());
    receiving.run(&mut |_, event| {
        if let Some(event) = event {
            if let Some(metrics) = &metrics {
                metrics.count(|registry| counts.received(registry, event));
            }
            lost = tell(output, event);
            let ends = matches!(event, ReceiveEvent::Completed { .. } | ReceiveEvent::Failed { .. });
            if (options.once || options.is_piped()) && ends {
                return ControlFlow::Break(());
            }
        }
        output.turn()
    })?;
    // The failure is already reported.
    if (options.once || options.is_piped()) && lost.is_some() { Err(Error::Stopped) } else { Ok(()) }
}

/// Reports an event. Returns `Some` for a failed transfer.
fn tell(output: &Output<'_>, event: &ReceiveEvent<'_>) -> Option<()> {
    match event {
        ReceiveEvent::Begun { offer, from } => {
            let words = || format!("{from}: {}: {} bytes", offer.name, offer.size);
            output.event(|| report::received(event), words);
        }
        ReceiveEvent::Status(status) => send::show(output, status),
        ReceiveEvent::File { path, outcome } => {
            let words = || match outcome {
                Ok(arrived) => format!("{path}: {} bytes, SHA-256 equal", arrived.bytes),
                Err(error) => format!("{path}: {error}"),
            };
            output.event(|| report::received(event), words);
        }
        ReceiveEvent::Completed { offer, from, transferred: completed } => output.result(
            || report::received(event),
            || {
                let CompletedTransfer { files, bytes, resumed, digest, summary, .. } = completed;
                let amount = transferred(*bytes, *resumed, summary.duration);
                let gap = summary.longest_gap.as_secs_f64() * 1e3;
                let files = if digest.is_some() { String::new() } else { format!("{files} files, ") };
                format!("{from}: {}: {files}{amount}, SHA-256 equal, longest gap {gap:.0} ms", offer.name)
            },
        ),
        ReceiveEvent::Rejected { remote } => {
            output.failure(
                || report::received(event),
                &format!("{remote}: rejected: {}", report::WRONG_SECRET),
            );
        }
        ReceiveEvent::Failed { offer, from, error, kept_bytes } => {
            let kept = if *kept_bytes > 0 {
                format!("; {kept_bytes} bytes are kept for another try")
            } else {
                String::new()
            };
            output.failure(|| report::received(event), &format!("{from}: {}: {error}{kept}", offer.name));
            return Some(());
        }
    }
    None
}
