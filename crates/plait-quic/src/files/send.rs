//! Sends files and folders.

use super::local_paths::LocalPaths;
use super::record::{self, RecordSettings};
use super::records::{Kind, UNKNOWN};
use super::tree::Tree;
use super::upload::{EntryOutcome, Upload};
use super::{Connect, Local, MAX_SLEEP, Meter, Status, now};
use crate::error::Error;
use crate::hello::Offer;
use crate::identity;
use crate::interop;
use crate::names::shown_name;
use crate::opening_end::OpeningEnd;
use crate::pilot::{Pilot, SchedulerChange};
use crate::recording::Recording;
use crate::sender::{Progress, Sender, SessionConfig};
use crate::source::Application;
use plait_sched::Scheduler;
use plait_transport::Counters;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Files and folders to send, and their receiver.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// Files, folders, and `-` for standard input. If empty, the receiver is only asked whether it
    /// would accept files ([`Offer::QUESTION`]).
    pub paths: Vec<PathBuf>,
    /// Name of the only file or folder at the receiver. With `None`, it keeps its own name.
    pub name: Option<String>,
    /// The receiver and the paths.
    pub connect: Connect,
    /// Whether to use a single QUIC connection with QUIC's own multipath and an ordinary stream;
    /// see [`interop`](crate::interop).
    pub interop: bool,
}

/// Files that are ready to be sent, with bound sockets.
pub struct Sending {
    send_settings: SendSettings,
    local_paths: LocalPaths,
    tree: Tree,
    recording: Option<Recording>,
}

/// The result of a transfer.
#[derive(Clone, Debug)]
pub struct SendOutcome {
    /// Name of the transfer, for display.
    pub name: String,
    /// Number of files that the receiver has.
    pub files: usize,
    /// Size of these files in bytes.
    pub bytes: u64,
    /// Bytes of these that the receiver had before.
    pub resumed: u64,
    /// The SHA-256 of a single file, confirmed by the receiver.
    pub digest: Option<[u8; 32]>,
    /// Missing files and folders, each with the reason.
    pub failed: Vec<(String, String)>,
    /// Links, devices and pipes, which are not sent.
    pub skipped: Vec<String>,
    /// Time from the first packet of the first handshake to the last verdict.
    pub duration: Duration,
    /// The paths, with their interfaces.
    pub paths: Vec<(Local, Progress)>,
    /// Changes of the scheduler.
    pub changes: Vec<SchedulerChange>,
    /// Counters of the transport.
    pub counters: Counters,
    /// Packets that did not fit into QUIC datagrams. This must be 0.
    pub oversized: u64,
    /// Why the recording is incomplete, if it is.
    pub unrecorded: Option<String>,
}

/// The watcher, called in each turn, and with a status twice a second. Returning `Break` ends the
/// transfer.
type Watch<'a> = dyn FnMut(Instant, Option<&Status>) -> ControlFlow<()> + 'a;

/// A sender of files, in either mode.
trait FileSender: OpeningEnd {
    fn upload(&self) -> &Upload;
}

impl<W: Scheduler> FileSender for Sender<Upload, W> {
    fn upload(&self) -> &Upload {
        self.application()
    }
}

impl<W: Scheduler> FileSender for interop::Sender<Upload, W> {
    fn upload(&self) -> &Upload {
        self.application()
    }
}

impl Sending {
    /// Reads the list of files and binds a socket for each path.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] with the file, address or option that cannot be used.
    pub fn open(send_settings: SendSettings) -> Result<Self, Error> {
        let SendSettings { paths, name, connect, interop } = &send_settings;
        connect.settings.check()?;
        if *interop && connect.record.is_some() {
            let text = "QUIC's own decisions are not recorded (interop): omit the recording, or interop";
            return Err(Error::Setting(text.to_owned()));
        }
        let tree = Tree::of(paths, name.as_deref())?;
        let local_paths = LocalPaths::open(now(), connect)?;
        let begin =
            |record: &RecordSettings| record.begin(&tree.name(), &connect.settings, &local_paths.locals());
        let recording = connect.record.as_ref().map(begin).transpose()?;
        Ok(Self { send_settings, local_paths, tree, recording })
    }

    /// Returns the paths, in the order of the scheduler's path numbers.
    pub fn paths(&self) -> Vec<Local> {
        self.local_paths.locals()
    }

    /// Returns the addresses and interfaces that are missing. They become paths when they appear.
    pub fn awaited(&self) -> Vec<String> {
        self.local_paths.awaited()
    }

    /// Sends the files.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `watch` returned `Break`. For a single file, returns the
    /// reason why the receiver does not have it, if the reason is known. With several files,
    /// [`SendOutcome::failed`] has the reasons.
    pub fn run<W: Scheduler>(self, scheduler: W, watch: &mut Watch<'_>) -> Result<SendOutcome, Error> {
        self.run_piloted(scheduler, None, watch)
    }

    /// Sends the files with a pilot, which may replace the scheduler.
    ///
    /// # Errors
    /// Returns the errors of [`Sending::run`].
    pub fn run_piloted<W: Scheduler>(
        mut self,
        scheduler: W,
        pilot: Option<Box<dyn Pilot<W>>>,
        watch: &mut Watch<'_>,
    ) -> Result<SendOutcome, Error> {
        record::check(self.recording.is_some(), pilot.is_some())?;
        let settings = self.send_settings.connect.settings;
        let offer = self.offer()?;
        let upload = Upload::new(std::mem::take(&mut self.tree.entries));
        let config = SessionConfig {
            remote: self.local_paths.remote(),
            locals: self.local_paths.addresses(),
            terms: self.local_paths.terms.clone(),
            fingerprint: self.send_settings.connect.fingerprint,
            secret: self.send_settings.connect.secret,
            session: identity::random()?,
            offer: offer.clone(),
        };
        let begun = now();
        if self.send_settings.interop {
            if pilot.is_some() {
                let text = "the scheduler is not changed where QUIC sends by itself (interop): name one, or leave interop out";
                return Err(Error::Setting(text.to_owned()));
            }
            let sender = interop::Sender::new(begun, settings, config, scheduler, upload)?;
            self.transfer(sender, begun, offer, watch)
        } else {
            let mut sender = Sender::new(begun, settings, config, scheduler, upload)?;
            if let Some(recording) = self.recording.take() {
                sender.record(recording);
            }
            if let Some(pilot) = pilot {
                sender.set_pilot(pilot);
            }
            self.transfer(sender, begun, offer, watch)
        }
    }

    fn transfer(
        mut self,
        mut sender: impl FileSender,
        begun: Instant,
        offer: Offer,
        watch: &mut Watch<'_>,
    ) -> Result<SendOutcome, Error> {
        let driven = self.drive(&mut sender, begun, &offer, watch);
        let unrecorded = sender.end_recording(now()).err().map(|error| error.to_string());
        driven?;
        let duration = now().duration_since(begun);
        let paths = self.local_paths.locals().into_iter().zip(sender.progress()).collect();
        let (counters, oversized, changes) =
            (sender.counters(), sender.oversized(), sender.changes().to_vec());
        let (mut failed, mut digests, resumed) = (self.tree.failed, Vec::new(), sender.upload().resumed());
        for (entry, outcome) in sender.upload().outcomes() {
            let error = match outcome {
                Some(EntryOutcome::Stored(digest)) if entry.kind == Kind::File => {
                    digests.push(*digest);
                    continue;
                }
                Some(EntryOutcome::Stored(_)) => continue,
                Some(EntryOutcome::Differs) => Error::Differs.to_string(),
                Some(EntryOutcome::Failed(reason)) => reason.clone(),
                None => "it was not sent".to_owned(),
            };
            failed.push((shown_name(&entry.path), error));
        }
        let (files, bytes) = (digests.len(), sender.upload().stored());
        let is_alone = sender.upload().outcomes().count() == 1;
        sender.into_outcome().unwrap_or(Ok(()))?;
        let (name, skipped) = (offer.name, self.tree.skipped);
        let digest = digests.first().copied().filter(|_| is_alone);
        Ok(SendOutcome {
            name,
            files,
            bytes,
            resumed,
            digest,
            failed,
            skipped,
            duration,
            paths,
            changes,
            counters,
            oversized,
            unrecorded,
        })
    }

    fn offer(&self) -> Result<Offer, Error> {
        if self.tree.entries.is_empty() {
            return Ok(Offer::QUESTION);
        }
        let sizes = self.tree.entries.iter().map(|(entry, _)| entry.size).filter(|size| *size < UNKNOWN);
        Ok(Offer { name: self.tree.name(), size: sizes.sum(), identity: self.tree.identity()? })
    }

    /// Runs the sender until it has an outcome.
    fn drive(
        &mut self,
        sender: &mut impl FileSender,
        begun: Instant,
        offer: &Offer,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let local_paths = &mut self.local_paths;
        for address_change in local_paths.restart_search() {
            sender.handle_address_change(begun, &address_change);
        }
        let (mut meter, mut reported_changes) = (Meter::new(begun), 0);
        loop {
            let moment = now();
            local_paths.drive(moment, sender);
            if sender.outcome().is_none() {
                let status = meter.is_due(moment).then(|| Status {
                    name: offer.name.clone(),
                    bytes: sender.upload().carried(),
                    size: offer.size,
                    elapsed: moment.duration_since(begun),
                    paths: local_paths.status(sender.progress(), &mut meter, moment),
                    changes: sender.changes()
                        [std::mem::replace(&mut reported_changes, sender.changes().len())..]
                        .to_vec(),
                });
                if watch(moment, status.as_ref()).is_break() {
                    sender.stop();
                }
            }
            local_paths.transmit(moment, sender);
            if sender.outcome().is_some() {
                return Ok(());
            }
            let due = sender.next_wakeup().map_or(MAX_SLEEP, |due| due.saturating_duration_since(now()));
            local_paths.sockets.wait(due.min(MAX_SLEEP))?;
        }
    }
}
