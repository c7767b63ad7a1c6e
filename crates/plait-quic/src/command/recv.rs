//! `recv`.

use super::counts::Counts;
use super::output::{Output, megabits};
use super::{Host, RecvOptions, announce, send};
use crate::error::Error;
use crate::files::{Inbox, News, Receiving};
use crate::report;
use crate::settings::Settings;
use std::ops::ControlFlow;

pub(super) fn run(options: &RecvOptions, host: &dyn Host, output: &Output<'_>) -> Result<(), Error> {
    let listen = options.listen.listen(&options.common, Settings::default().congestion)?;
    let made = listen.is_open();
    let mut receiving = Receiving::open(Inbox {
        folder: options.out.clone(),
        mode: options.mode,
        replaces: options.replace,
        listen,
    })?;
    let metrics = options.service.open("recv", output)?;
    let secret = made.then(|| receiving.secret());
    announce(
        output,
        &format!("{} send FILE", host.name()),
        receiving.address(),
        receiving.fingerprint(),
        secret,
    );
    options.common.warn_of_weak(output)?;
    let (mut lost, mut counts) = (None, Counts::default());
    receiving.run(&mut |_, news| {
        if let Some(news) = news {
            if let Some(metrics) = &metrics {
                metrics.count(|registry| counts.received(registry, news));
            }
            lost = tell(output, news);
            let ends = matches!(news, News::Kept { .. } | News::Failed { .. });
            if options.once && ends {
                return ControlFlow::Break(());
            }
        }
        output.turn()
    })?;
    // Said already.
    if options.once && lost.is_some() { Err(Error::Stopped) } else { Ok(()) }
}

/// Tells of an event; why a file has not arrived.
fn tell(output: &Output<'_>, news: &News<'_>) -> Option<()> {
    match news {
        News::Begun { offer, from } => {
            let words = || format!("{from}: {}: {} bytes", offer.name, offer.size);
            output.event(|| report::received(news), words);
        }
        News::Status(status) => send::show(output, status),
        News::Kept { offer, from, summary, .. } => output.result(
            || report::received(news),
            || {
                let rate = megabits(report::goodput(summary.bytes, summary.resumed, summary.duration));
                let (seconds, gap) =
                    (summary.duration.as_secs_f64(), summary.longest_gap.as_secs_f64() * 1e3);
                format!(
                    "{from}: {}: {} bytes in {seconds:.2} s, {rate}, SHA-256 equal, longest gap {gap:.0} ms",
                    offer.name, summary.bytes
                )
            },
        ),
        News::Rejected { remote } => {
            output
                .failure(|| report::received(news), &format!("{remote}: rejected: {}", report::WRONG_SECRET));
        }
        News::Failed { offer, from, error, left } => {
            let kept =
                if *left > 0 { format!("; {left} bytes are kept for another try") } else { String::new() };
            output.failure(|| report::received(news), &format!("{from}: {}: {error}{kept}", offer.name));
            return Some(());
        }
    }
    None
}
