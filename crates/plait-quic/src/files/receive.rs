//! Receives files into a folder, or one file to standard output.

use super::download::Download;
use super::receive_folder::{Modes, ReceivedFile, SharedFolder, StoredFiles};
use super::{Listen, Listening, MAX_SLEEP, Meter, PathStatus, Sockets, Status, now, system_now};
use crate::clients::ConnectedClient;
use crate::error::Error;
use crate::hello::Offer;
use crate::identity::Fingerprint;
use crate::names::shown_name;
use crate::receiver::{Id, Receiver, Summary, TransferEvent};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the end keeps running after a stop, so that senders hear of it.
const LINGER: Duration = Duration::from_secs(1);

/// Settings of a receiving end.
#[derive(Clone, Debug)]
pub struct ReceiveSettings {
    /// The folder for received files, created if it is missing. With `None`, the first file goes to
    /// standard output.
    pub folder: Option<PathBuf>,
    /// Permissions of received files and folders.
    pub modes: Modes,
    /// Whether a file may replace another file of the same name.
    pub replaces: bool,
    /// The listening end.
    pub listen: Listen,
}

/// A transfer that arrived completely.
#[derive(Clone, Debug)]
pub struct CompletedTransfer {
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Number of files.
    pub files: usize,
    /// Size of the files in bytes.
    pub bytes: u64,
    /// Bytes of these that were present before the transfer.
    pub resumed: u64,
    /// The SHA-256, if the transfer is a single file.
    pub digest: Option<[u8; 32]>,
    /// Statistics of the connection.
    pub summary: Summary,
}

/// An event that the watcher receives.
#[derive(Debug)]
pub enum ReceiveEvent<'a> {
    /// A transfer begins.
    Begun {
        /// The offered files.
        offer: &'a Offer,
        /// The client that sends them.
        from: &'a ConnectedClient,
    },
    /// Progress of a transfer, twice a second.
    Status(&'a Status),
    /// One of several files arrived or failed.
    File {
        /// Its path in the folder, in printable form.
        path: &'a str,
        /// The received file, or the reason for its failure.
        outcome: Result<&'a ReceivedFile, &'a Error>,
    },
    /// A transfer arrived completely, and its sender was told.
    Completed {
        /// The offered files.
        offer: &'a Offer,
        /// The client that sent them.
        from: &'a ConnectedClient,
        /// The received files.
        transferred: &'a CompletedTransfer,
    },
    /// A client used a wrong secret.
    Rejected {
        /// Address of the client.
        remote: SocketAddr,
    },
    /// A transfer failed, at least in part.
    Failed {
        /// The offered files.
        offer: &'a Offer,
        /// The client that sent them.
        from: &'a ConnectedClient,
        /// The reason.
        error: &'a Error,
        /// Bytes of kept parts, from which a later transfer of the same files continues.
        kept_bytes: u64,
    },
}

/// The watcher, called in each turn and for each event. Returning `Break` ends receiving.
type Watch<'a> = dyn FnMut(Instant, Option<&ReceiveEvent<'_>>) -> ControlFlow<()> + 'a;

/// A transfer in progress.
struct IncomingTransfer {
    offer: Offer,
    download: Download,
    begun: Instant,
    meter: Meter,
}

/// A receiving end with a bound socket.
pub struct Receiving {
    shared: SharedFolder,
    secret: String,
    address: SocketAddr,
    fingerprint: Fingerprint,
    receiver: Receiver,
    sockets: Sockets,
    transfers: BTreeMap<Id, IncomingTransfer>,
    /// Bytes of kept parts, by refused transfer.
    kept_bytes: BTreeMap<Id, u64>,
}

impl Receiving {
    /// Creates the folder and a certificate, and binds the socket.
    ///
    /// # Errors
    /// Returns [`Error::Io`] for the folder or address that cannot be used, and errors of the
    /// settings.
    pub fn open(receive_settings: ReceiveSettings) -> Result<Self, Error> {
        let ReceiveSettings { folder, modes, replaces, listen } = receive_settings;
        let settings = listen.settings;
        let Listening { sockets, address, identity, secret, clients } = listen.open()?;
        let named = folder.clone().unwrap_or_default();
        let of_folder = |error| Error::of_file(&named.display().to_string(), &error);
        let made = folder.as_deref().map_or(Ok(()), std::fs::create_dir_all);
        let shared = made
            .and_then(|()| SharedFolder::open(folder, modes, replaces, system_now()))
            .map_err(of_folder)?;
        let receiver = Receiver::new(settings, &identity, clients)?;
        let (fingerprint, transfers, kept_bytes) = (identity.fingerprint(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { shared, secret, address, fingerprint, receiver, sockets, transfers, kept_bytes })
    }

    /// Returns the local address of the listening socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the fingerprint of the certificate, which senders need.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the secret for senders. It is empty if each client has its own.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Receives until `watch` returns `Break`. Transfers in progress are then refused, and their
    /// senders are told.
    ///
    /// # Errors
    /// Returns the system's error if waiting for the sockets fails.
    pub fn run(&mut self, watch: &mut Watch<'_>) -> Result<(), Error> {
        let mut out = Vec::new();
        let mut ended: Option<Instant> = None;
        loop {
            let moment = now();
            let receiver = &mut self.receiver;
            self.sockets.receive(0, |batch| receiver.handle_datagrams(moment, batch));
            self.receiver.handle_timeout(moment);
            let mut flow = if ended.is_none() { watch(moment, None) } else { ControlFlow::Continue(()) };
            while let Some(event) = self.receiver.poll() {
                let next = self.handle(moment, event, watch);
                flow = if flow.is_break() { flow } else { next };
            }
            for next in [self.advance(moment, watch), self.report(moment, watch)] {
                flow = if flow.is_break() { flow } else { next };
            }
            if flow.is_break() && ended.is_none() {
                ended = Some(moment);
                for id in self.transfers.keys().copied().collect::<Vec<_>>() {
                    self.refuse(moment, id, "the receiver has ended");
                }
            }
            self.receiver.transmit(moment, &mut out);
            self.sockets.send_all(0, &mut out);
            if ended.is_some_and(|at| moment.duration_since(at) >= LINGER || self.receiver.connections() == 0)
            {
                return Ok(());
            }
            let due =
                self.receiver.next_wakeup().map_or(MAX_SLEEP, |due| due.saturating_duration_since(now()));
            self.sockets.wait(due.min(MAX_SLEEP))?;
        }
    }

    /// Handles an event of the receiver.
    fn handle(&mut self, moment: Instant, event: TransferEvent, watch: &mut Watch<'_>) -> ControlFlow<()> {
        match event {
            TransferEvent::Begun { id, offer, from } => {
                let flow = watch(moment, Some(&ReceiveEvent::Begun { offer: &offer, from: &from }));
                let download = Download::new(self.shared.clone(), self.receiver.allowance(&from));
                let incoming = IncomingTransfer { offer, download, begun: moment, meter: Meter::new(moment) };
                self.transfers.insert(id, incoming);
                self.receiver.accept(moment, &id);
                return flow;
            }
            TransferEvent::Data { id, bytes } => {
                let taken =
                    self.transfers.get_mut(&id).map(|incoming| incoming.download.take(moment, &bytes));
                if let Some(Err(error)) = taken {
                    self.refuse(moment, id, &reason(&error));
                }
            }
            TransferEvent::Ended { id, offer, from, outcome } => {
                let mut download = self.transfers.remove(&id).map(|incoming| incoming.download);
                let kept_bytes = download.as_mut().map_or(0, Download::keep_parts)
                    + self.kept_bytes.remove(&id).unwrap_or(0);
                let transferred = outcome.map(|summary| {
                    self.transferred(download.as_ref().map(Download::stored).unwrap_or_default(), summary)
                });
                return watch(
                    moment,
                    Some(&match &transferred {
                        Ok(transferred) => {
                            ReceiveEvent::Completed { offer: &offer, from: &from, transferred }
                        }
                        Err(error) => ReceiveEvent::Failed { offer: &offer, from: &from, error, kept_bytes },
                    }),
                );
            }
            TransferEvent::Rejected { remote } => {
                return watch(moment, Some(&ReceiveEvent::Rejected { remote }));
            }
        }
        ControlFlow::Continue(())
    }

    /// Describes a completely received transfer.
    fn transferred(&self, stored: StoredFiles, summary: Summary) -> CompletedTransfer {
        let StoredFiles { files, bytes, resumed, only, path } = stored;
        let digest = only.map(|only| only.digest);
        let path = self.shared.path.join(Path::new(OsStr::from_bytes(&path)));
        CompletedTransfer { path, files, bytes, resumed, digest, summary }
    }

    /// Refuses a transfer before its end. Its parts stay.
    fn refuse(&mut self, moment: Instant, id: Id, reason: &str) {
        if let Some(mut incoming) = self.transfers.remove(&id) {
            self.kept_bytes.insert(id, incoming.download.keep_parts());
            self.receiver.refuse(moment, &id, reason);
        }
    }

    /// Advances all transfers, and reports the files that arrived or failed.
    fn advance(&mut self, moment: Instant, watch: &mut Watch<'_>) -> ControlFlow<()> {
        let mut refused = Vec::new();
        let mut flow = ControlFlow::Continue(());
        for (id, IncomingTransfer { download, .. }) in &mut self.transfers {
            if let Err(error) = download.advance(moment) {
                refused.push((*id, reason(&error)));
                continue;
            }
            let (arrived, failed) = download.take_results();
            let arrived = arrived.iter().map(|one| (&one.path, Ok(one)));
            let failed = failed.iter().map(|(path, error)| (path, Err(error)));
            for (path, outcome) in arrived.chain(failed).filter(|_| download.entries() > 1) {
                let event = ReceiveEvent::File { path: &shown_name(path), outcome };
                flow = if flow.is_break() { flow } else { watch(moment, Some(&event)) };
            }
            let answers = download.answers();
            if !answers.is_empty() {
                self.receiver.write(id, &answers);
            }
            if let Some(outcome) = download.outcome() {
                self.receiver.conclude(moment, id, outcome);
            }
        }
        for (id, reason) in refused {
            self.refuse(moment, id, &reason);
        }
        flow
    }

    /// Reports the progress of each transfer whose report is due.
    fn report(&mut self, moment: Instant, watch: &mut Watch<'_>) -> ControlFlow<()> {
        for (id, incoming) in &mut self.transfers {
            if !incoming.meter.is_due(moment) {
                continue;
            }
            let Some((_, counts)) = self.receiver.received(id) else { continue };
            let counts = counts.to_vec();
            let rates = incoming.meter.rates(moment, &counts);
            let path = |(number, (bytes, rate_bps)): (usize, (u64, f64))| PathStatus {
                name: number.to_string(),
                usable: rate_bps > 0.0,
                bytes,
                rate_bps,
                srtt: None,
                trouble: None,
            };
            let status = Status {
                name: incoming.offer.name.clone(),
                bytes: incoming.download.carried(),
                size: incoming.offer.size,
                elapsed: moment.duration_since(incoming.begun),
                paths: counts.into_iter().zip(rates).enumerate().map(path).collect(),
                changes: Vec::new(),
            };
            watch(moment, Some(&ReceiveEvent::Status(&status)))?;
        }
        ControlFlow::Continue(())
    }
}

/// Returns the reason that the sender is told.
fn reason(error: &Error) -> String {
    match error {
        Error::NotStored(reason) => reason.clone(),
        error => error.to_string(),
    }
}
