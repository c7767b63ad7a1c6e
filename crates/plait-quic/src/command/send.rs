//! The command `send`.

use super::options::SendOptions;
use super::output::{Output, path_words, transferred};
use super::path_log::PathLog;
use super::paths::DecisionOptions;
use super::{Host, waiting};
use crate::error::Error;
use crate::files::{SendOutcome, SendSettings, Sending, Status, now};
use crate::pilot::{Pilot, SchedulerChange};
use crate::report;
use crate::settings;
use plait_sched::Scheduler;

pub(super) fn run(options: &SendOptions, host: &dyn Host, output: &Output<'_>) -> Result<(), Error> {
    let mut decision = options.paths.decision.clone();
    decision.prefer(settings::scheduler(options.interop));
    let until = options.wait.map(|wait| now() + wait);
    // No file has been read before the receiver answers.
    let may_wait = || until.is_some_and(|until| now() < until);
    let (sent, names) = waiting::retry(output, may_wait, || attempt(options, &decision, host, output))?;
    if let Some(reason) = &sent.unrecorded {
        output.warn(&format!("the recording is not whole: {reason}"));
    }
    for skipped in &sent.skipped {
        output.warn(&format!("{skipped}: not sent"));
    }
    for (file, error) in &sent.failed {
        output.warn(&format!("{file}: {error}"));
    }
    output.result(|| report::sent(&sent, decision.name(), &names), || words(&sent));
    // The failures are already reported.
    if sent.failed.is_empty() { Ok(()) } else { Err(Error::Stopped) }
}

/// Makes one attempt to send. Returns the result and the names of the paths.
fn attempt(
    options: &SendOptions,
    decision: &DecisionOptions,
    host: &dyn Host,
    output: &Output<'_>,
) -> Result<(SendOutcome, Vec<String>), Error> {
    let built_in = if decision.is_own() { None } else { Some(decision.scheduler()?) };
    let connect = options.paths.connect(options.to.clone(), options.fingerprint, &options.common)?;
    let pilot = decision.pilot(connect.settings);
    let (paths, name) = (options.files.clone(), options.name.clone());
    let send_settings = SendSettings { paths, name, connect, interop: options.interop };
    let sending = Sending::open(send_settings)?;
    for name in sending.awaited() {
        output.warn(&waiting::missing(&name));
    }
    let names: Vec<String> = sending.paths().iter().map(ToString::to_string).collect();
    let sent = match built_in {
        Some(scheduler) => carry(sending, scheduler, pilot, &names, output),
        None => host
            .scheduler(decision.name(), &names)
            .and_then(|scheduler| carry(sending, scheduler, None, &names, output)),
    };
    Ok((decision.recorded(host, sent)?, names))
}

fn carry<W: Scheduler>(
    sending: Sending,
    scheduler: W,
    pilot: Option<Box<dyn Pilot<W>>>,
    names: &[String],
    output: &Output<'_>,
) -> Result<SendOutcome, Error> {
    // JSON has the states of the paths in each progress.
    let mut log = (!output.is_json()).then(PathLog::default);
    sending.run_piloted(scheduler, pilot, &mut |_, status| {
        if let Some(status) = status {
            if let Some(log) = &mut log {
                log.note_all(output, &status.paths);
                log.begin("", &[]);
            }
            status.changes.iter().for_each(|change| output.change(change, names));
            show(output, status);
        }
        output.turn()
    })
}

/// Writes the progress of a file, at either end.
pub(super) fn show(output: &Output<'_>, status: &Status) {
    let amount = || match status.size {
        // The size of standard input is unknown.
        0 => format!("{:.1} MB", status.bytes as f64 / 1e6),
        size => format!("{:5.1} %", 100.0 * status.bytes as f64 / size as f64),
    };
    output.progress(|| report::progress(status), || format!("{}  {}", amount(), path_words(&status.paths)));
}

fn words(sent: &SendOutcome) -> String {
    let SendOutcome { name, files, bytes, resumed, duration, changes, paths, digest, failed, .. } = sent;
    let files = if digest.is_some() { String::new() } else { format!("{files} files, ") };
    let equal = if failed.is_empty() { "SHA-256 equal" } else { "SHA-256 of these equal" };
    let amount = transferred(*bytes, *resumed, *duration);
    let path =
        |(local, path): &(_, crate::sender::Progress)| format!("{local} {:.1} MB", path.sent as f64 / 1e6);
    let paths: Vec<String> = paths.iter().map(path).collect();
    format!("{name}: {files}{amount}, {equal}; {}{}", paths.join(", "), decided_by(changes))
}

/// Names the schedulers in their order, if there was more than one.
fn decided_by(changes: &[SchedulerChange]) -> String {
    let Some(first) = changes.first() else { return String::new() };
    let later = |change: &SchedulerChange| format!(", {} after {:.1} s", change.to, change.at.as_secs_f64());
    format!("; {} decided{}", first.from, changes.iter().map(later).collect::<String>())
}
