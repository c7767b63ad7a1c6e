//! `recv`.

use super::sockets::Sockets;
use super::{RecvOptions, hexadecimal, megabits, now, print, say};
use crate::error::Error;
use crate::hello::Offer;
use crate::identity::{self, Identity, Secret};
use crate::receiver::{Event, Id, Receiver, Summary};
use crate::settings::Settings;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The longest sleep.
const STEP: Duration = Duration::from_millis(500);

/// After the only file: for so long the sender may still have to be told.
const LINGER: Duration = Duration::from_secs(1);

/// A file that arrives. It has its name once it is whole.
struct Arriving {
    offer: Offer,
    file: tempfile::NamedTempFile,
}

pub(super) fn run(options: &RecvOptions) -> Result<(), Error> {
    let settings = Settings { window: options.window, ..options.common.settings() };
    let secret = match options.common.secret() {
        Some(secret) => secret,
        None => hexadecimal(&identity::random::<16>()?),
    };
    std::fs::create_dir_all(&options.out)?;
    let identity = Identity::generate()?;
    let mut receiver = Receiver::new(settings, &identity, Secret::new(&secret))?;
    let mut sockets = Sockets::new()?;
    let refused = |error| Error::Setting(format!("{}: {error}", options.listen));
    let address = sockets.add(options.listen, None).map_err(refused)?;
    let fingerprint = identity.fingerprint().to_string();
    if options.common.json {
        let line =
            json!({"event": "listening", "address": address, "fingerprint": fingerprint, "secret": secret});
        print(&line.to_string())?;
    } else {
        let host = if address.ip().is_unspecified() { "HOST".to_owned() } else { address.ip().to_string() };
        let port = address.port();
        print(&format!("plait-quic send FILE {host}:{port} --fingerprint {fingerprint} --secret {secret}"))?;
    }
    let mut files = BTreeMap::new();
    let mut out = Vec::new();
    let mut ended: Option<(std::time::Instant, Result<(), Error>)> = None;
    loop {
        let moment = now();
        sockets
            .receive(0, |remote, local, datagram| receiver.handle_datagram(moment, remote, local, datagram));
        receiver.handle_timeout(moment);
        while let Some(event) = receiver.poll() {
            if let Some(outcome) = handle(options, &mut receiver, &mut files, moment, event)?
                && options.once
            {
                ended.get_or_insert((moment, outcome));
            }
        }
        receiver.transmit(moment, &mut out);
        sockets.send(0, None);
        for outgoing in out.drain(..) {
            sockets.send(0, Some(outgoing));
        }
        match ended {
            Some((at, outcome)) if moment.duration_since(at) >= LINGER || receiver.connections() == 0 => {
                return outcome;
            }
            _ => {}
        }
        let due = receiver.next_wakeup().map_or(STEP, |due| due.saturating_duration_since(now()));
        sockets.wait(due.min(STEP))?;
    }
}

/// What an event asks for; the outcome of a file, with the last one.
fn handle(
    options: &RecvOptions,
    receiver: &mut Receiver,
    files: &mut BTreeMap<Id, Arriving>,
    moment: std::time::Instant,
    event: Event,
) -> Result<Option<Result<(), Error>>, Error> {
    match event {
        Event::Begun { id, offer, remote } => {
            if !options.common.quiet {
                say(&format!("{} from {remote}: {} bytes\n", offer.name, offer.size));
            }
            match begin(&options.out, &offer) {
                Ok(file) => drop(files.insert(id, Arriving { offer, file })),
                Err(error) => receiver.refuse(moment, &id, &error.to_string()),
            }
        }
        Event::Data { id, bytes } => {
            if let Some(arriving) = files.get_mut(&id)
                && let Err(error) = arriving.file.write_all(&bytes)
            {
                files.remove(&id);
                receiver.refuse(moment, &id, &error.to_string());
            }
        }
        Event::Whole { id } => {
            let kept = files.remove(&id).map(|Arriving { offer, file }| {
                file.as_file().sync_all()?;
                file.persist_noclobber(options.out.join(&offer.name)).map_err(|error| error.error)
            });
            if let Some(Err(error)) = &kept {
                say(&format!("plait-quic: {error}\n"));
            }
            receiver.conclude(&id, matches!(kept, Some(Ok(_))));
        }
        Event::Ended { id, offer, outcome } => {
            files.remove(&id);
            tell(options, &offer, &outcome)?;
            return Ok(Some(outcome.map(drop)));
        }
    }
    Ok(None)
}

fn begin(folder: &Path, offer: &Offer) -> std::io::Result<tempfile::NamedTempFile> {
    if folder.join(&offer.name).exists() {
        let text = format!("the receiver has a file {} already", offer.name);
        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, text));
    }
    tempfile::Builder::new().prefix(".plait-").tempfile_in(folder)
}

fn tell(options: &RecvOptions, offer: &Offer, outcome: &Result<Summary, Error>) -> Result<(), Error> {
    match outcome {
        Ok(summary) if options.common.json => print(
            &json!({
                "event": "received", "file": offer.name, "bytes": summary.bytes, "sha256": hexadecimal(&offer.digest),
                "seconds": summary.duration.as_secs_f64(), "paths": summary.paths,
                "longest_gap_ms": summary.longest_gap.as_secs_f64() * 1e3,
            })
            .to_string(),
        ),
        Ok(summary) => {
            let (seconds, rate) = (summary.duration.as_secs_f64(), megabits(summary.bytes, summary.duration));
            let gap = summary.longest_gap.as_millis();
            print(&format!(
                "{}: {} bytes in {seconds:.2} s, {rate:.1} Mbit/s, SHA-256 equal, longest gap {gap} ms",
                offer.name, summary.bytes
            ))
        }
        Err(error) if options.common.json => {
            print(&json!({"event": "failed", "file": offer.name, "error": error.to_string()}).to_string())
        }
        Err(error) => {
            say(&format!("plait-quic: {}: {error}\n", offer.name));
            Ok(())
        }
    }
}
