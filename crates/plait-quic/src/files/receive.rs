//! Receives files into a folder, or one file to standard output.

use super::download::Download;
use super::inbox::{Arrived, Kept, Modes, Shared};
use super::{Listen, Listening, Meter, NAP, PathStatus, Sockets, Status, now, system_now};
use crate::clients::Guest;
use crate::error::Error;
use crate::hello::Offer;
use crate::identity::Fingerprint;
use crate::names::shown_name;
use crate::receiver::{Event, Id, Receiver, Summary};
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
pub struct Inbox {
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
pub struct Transferred {
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
pub enum News<'a> {
    /// A transfer begins.
    Begun {
        /// The offered files.
        offer: &'a Offer,
        /// The client that sends them.
        from: &'a Guest,
    },
    /// Progress of a transfer, twice a second.
    Status(&'a Status),
    /// One of several files arrived or failed.
    File {
        /// Its path in the folder, in printable form.
        path: &'a str,
        /// The received file, or the reason for its failure.
        outcome: Result<&'a Arrived, &'a Error>,
    },
    /// A transfer arrived completely, and its sender was told.
    Kept {
        /// The offered files.
        offer: &'a Offer,
        /// The client that sent them.
        from: &'a Guest,
        /// The received files.
        transferred: &'a Transferred,
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
        from: &'a Guest,
        /// The reason.
        error: &'a Error,
        /// Bytes of kept parts, from which a later transfer of the same files continues.
        left: u64,
    },
}

/// The watcher, called in each turn and for each event. Returning `Break` ends receiving.
type Watch<'a> = dyn FnMut(Instant, Option<&News<'_>>) -> ControlFlow<()> + 'a;

/// A transfer in progress.
struct Arriving {
    offer: Offer,
    download: Download,
    begun: Instant,
    meter: Meter,
}

/// A receiving end with a bound socket.
pub struct Receiving {
    shared: Shared,
    secret: String,
    address: SocketAddr,
    fingerprint: Fingerprint,
    receiver: Receiver,
    sockets: Sockets,
    transfers: BTreeMap<Id, Arriving>,
    /// Bytes of kept parts, by refused transfer.
    left: BTreeMap<Id, u64>,
}

impl Receiving {
    /// Creates the folder and a certificate, and binds the socket.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] for the folder or address that cannot be used, and errors of the
    /// settings.
    pub fn open(inbox: Inbox) -> Result<Self, Error> {
        let Inbox { folder, modes, replaces, listen } = inbox;
        let settings = listen.settings;
        let Listening { sockets, address, identity, secret, clients } = listen.open()?;
        let place = folder.clone();
        let of_folder = |error| Error::Setting(format!("{}: {error}", place.unwrap_or_default().display()));
        let made = folder.as_deref().map_or(Ok(()), std::fs::create_dir_all);
        let shared =
            made.and_then(|()| Shared::open(folder, modes, replaces, system_now())).map_err(of_folder)?;
        let receiver = Receiver::new(settings, &identity, clients)?;
        let (fingerprint, transfers, left) = (identity.fingerprint(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { shared, secret, address, fingerprint, receiver, sockets, transfers, left })
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
            self.sockets.receive(0, |remote, local, datagrams, each| {
                receiver.handle_datagrams(moment, remote, local, datagrams, each);
            });
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
                    self.refuse(moment, id, "the receiver was ended");
                }
            }
            self.receiver.transmit(moment, &mut out);
            self.sockets.send(0, None);
            for outgoing in out.drain(..) {
                self.sockets.send(0, Some(outgoing));
            }
            if ended.is_some_and(|at| moment.duration_since(at) >= LINGER || self.receiver.connections() == 0)
            {
                return Ok(());
            }
            let due = self.receiver.next_wakeup().map_or(NAP, |due| due.saturating_duration_since(now()));
            self.sockets.wait(due.min(NAP))?;
        }
    }

    /// Handles an event of the receiver.
    fn handle(&mut self, moment: Instant, event: Event, watch: &mut Watch<'_>) -> ControlFlow<()> {
        match event {
            Event::Begun { id, offer, from } => {
                let flow = watch(moment, Some(&News::Begun { offer: &offer, from: &from }));
                let download = Download::new(self.shared.clone(), self.receiver.allowance(&from));
                let arriving = Arriving { offer, download, begun: moment, meter: Meter::new(moment) };
                self.transfers.insert(id, arriving);
                self.receiver.accept(moment, &id);
                return flow;
            }
            Event::Data { id, bytes } => {
                let taken =
                    self.transfers.get_mut(&id).map(|arriving| arriving.download.take(moment, &bytes));
                if let Some(Err(error)) = taken {
                    self.refuse(moment, id, &reason(&error));
                }
            }
            Event::Ended { id, offer, from, outcome } => {
                let mut download = self.transfers.remove(&id).map(|arriving| arriving.download);
                let left = download.as_mut().map_or(0, Download::leave) + self.left.remove(&id).unwrap_or(0);
                let transferred = outcome.map(|summary| {
                    self.transferred(download.as_ref().map(Download::kept).unwrap_or_default(), summary)
                });
                return watch(
                    moment,
                    Some(&match &transferred {
                        Ok(transferred) => News::Kept { offer: &offer, from: &from, transferred },
                        Err(error) => News::Failed { offer: &offer, from: &from, error, left },
                    }),
                );
            }
            Event::Rejected { remote } => return watch(moment, Some(&News::Rejected { remote })),
        }
        ControlFlow::Continue(())
    }

    /// Describes a completely received transfer.
    fn transferred(&self, kept: Kept, summary: Summary) -> Transferred {
        let Kept { files, bytes, resumed, only, path } = kept;
        let digest = only.map(|only| only.digest);
        let path = self.shared.place.join(Path::new(OsStr::from_bytes(&path)));
        Transferred { path, files, bytes, resumed, digest, summary }
    }

    /// Refuses a transfer before its end. Its parts stay.
    fn refuse(&mut self, moment: Instant, id: Id, reason: &str) {
        if let Some(mut arriving) = self.transfers.remove(&id) {
            self.left.insert(id, arriving.download.leave());
            self.receiver.refuse(moment, &id, reason);
        }
    }

    /// Advances all transfers, and reports the files that arrived or failed.
    fn advance(&mut self, moment: Instant, watch: &mut Watch<'_>) -> ControlFlow<()> {
        let mut refused = Vec::new();
        let mut flow = ControlFlow::Continue(());
        for (id, Arriving { download, .. }) in &mut self.transfers {
            if let Err(error) = download.advance(moment) {
                refused.push((*id, reason(&error)));
                continue;
            }
            let (arrived, failed) = download.news();
            let arrived = arrived.iter().map(|one| (&one.path, Ok(one)));
            let failed = failed.iter().map(|(path, error)| (path, Err(error)));
            for (path, outcome) in arrived.chain(failed).filter(|_| download.entries() > 1) {
                let news = News::File { path: &shown_name(path), outcome };
                flow = if flow.is_break() { flow } else { watch(moment, Some(&news)) };
            }
            let answers = download.answers();
            if !answers.is_empty() {
                self.receiver.say(id, &answers);
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
        for (id, arriving) in &mut self.transfers {
            if !arriving.meter.is_due(moment) {
                continue;
            }
            let Some((_, counts)) = self.receiver.got(id) else { continue };
            let counts = counts.to_vec();
            let rates = arriving.meter.rates(moment, &counts);
            let path = |(number, (bytes, rate_bps)): (usize, (u64, f64))| PathStatus {
                name: number.to_string(),
                usable: rate_bps > 0.0,
                bytes,
                rate_bps,
                srtt: None,
                trouble: None,
            };
            let status = Status {
                name: arriving.offer.name.clone(),
                bytes: arriving.download.carried(),
                size: arriving.offer.size,
                elapsed: moment.duration_since(arriving.begun),
                paths: counts.into_iter().zip(rates).enumerate().map(path).collect(),
                changes: Vec::new(),
            };
            watch(moment, Some(&News::Status(&status)))?;
        }
        ControlFlow::Continue(())
    }
}

/// Returns the reason that the sender is told.
fn reason(error: &Error) -> String {
    match error {
        Error::NotKept(reason) => reason.clone(),
        error => error.to_string(),
    }
}
