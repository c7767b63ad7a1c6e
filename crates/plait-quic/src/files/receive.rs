//! Receiving files into a folder.

use super::sockets::Sockets;
use super::{Meter, NAP, PathStatus, Status, now};
use crate::error::Error;
use crate::hello::Offer;
use crate::identity::{self, Fingerprint, Identity, Secret};
use crate::receiver::{Event, Id, Receiver, Summary};
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// After the end: for so long senders may still have to be told.
const LINGER: Duration = Duration::from_secs(1);

/// Where files are taken.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// The folder in which they are kept; made if it is not there.
    pub folder: PathBuf,
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// What senders have to know; `None` makes one.
    pub secret: Option<String>,
    /// Everything else.
    pub settings: Settings,
}

/// What happened.
#[derive(Debug)]
pub enum News<'a> {
    /// A file begins to arrive.
    Begun {
        /// The file.
        offer: &'a Offer,
        /// From where its first path comes.
        remote: SocketAddr,
    },
    /// How one stands: twice a second.
    Status(&'a Status),
    /// It is there, and its sender was told.
    Kept {
        /// The file.
        offer: &'a Offer,
        /// Where it is.
        path: PathBuf,
        /// In numbers.
        summary: &'a Summary,
    },
    /// It is not there.
    Failed {
        /// The file.
        offer: &'a Offer,
        /// Why not.
        error: &'a Error,
    },
}

/// Who is asked in each turn, and told what happened; breaking ends it.
type Watch<'a> = dyn FnMut(Instant, Option<&News<'_>>) -> ControlFlow<()> + 'a;

/// A file that arrives. It has its name once it is whole.
struct Arriving {
    offer: Offer,
    file: tempfile::NamedTempFile,
    begun: Instant,
    meter: Meter,
}

/// An end that is ready to receive: its socket is bound.
pub struct Receiving {
    folder: PathBuf,
    secret: String,
    address: SocketAddr,
    fingerprint: Fingerprint,
    receiver: Receiver,
    sockets: Sockets,
    files: BTreeMap<Id, Arriving>,
}

impl Receiving {
    /// Makes the folder and a certificate, and binds the socket.
    ///
    /// # Errors
    /// [`Error::Setting`] says what cannot be had.
    pub fn open(inbox: Inbox) -> Result<Self, Error> {
        inbox.settings.check()?;
        let Inbox { folder, listen, secret, settings } = inbox;
        let secret = match secret {
            Some(secret) => secret,
            None => identity::hexadecimal(&identity::random::<16>()?),
        };
        let of_folder = |error| Error::Setting(format!("{}: {error}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(of_folder)?;
        let identity = Identity::generate()?;
        let receiver = Receiver::new(settings, &identity, Secret::new(&secret))?;
        let mut sockets = Sockets::new()?;
        let address =
            sockets.add(listen, None).map_err(|error| Error::Setting(format!("{listen}: {error}")))?;
        let (fingerprint, files) = (identity.fingerprint(), BTreeMap::new());
        Ok(Self { folder, secret, address, fingerprint, receiver, sockets, files })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What senders have to be told of its certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What senders have to know.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Receives until `watch` breaks: then what is under way is refused, and who sent it told.
    ///
    /// # Errors
    /// If the system will not wait for sockets any more.
    pub fn run(&mut self, watch: &mut Watch<'_>) -> Result<(), Error> {
        let mut out = Vec::new();
        let mut ended: Option<Instant> = None;
        loop {
            let moment = now();
            let receiver = &mut self.receiver;
            self.sockets.receive(0, |remote, local, datagram| {
                receiver.handle_datagram(moment, remote, local, datagram);
            });
            self.receiver.handle_timeout(moment);
            let mut flow = if ended.is_none() { watch(moment, None) } else { ControlFlow::Continue(()) };
            while let Some(event) = self.receiver.poll() {
                let next = self.handle(moment, event, watch);
                flow = if flow.is_break() { flow } else { next };
            }
            let next = self.report(moment, watch);
            if (flow.is_break() || next.is_break()) && ended.is_none() {
                ended = Some(moment);
                for id in std::mem::take(&mut self.files).into_keys() {
                    self.receiver.refuse(moment, &id, "the receiver was ended");
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

    /// What an event asks for.
    fn handle(&mut self, moment: Instant, event: Event, watch: &mut Watch<'_>) -> ControlFlow<()> {
        match event {
            Event::Begun { id, offer, remote } => {
                let flow = watch(moment, Some(&News::Begun { offer: &offer, remote }));
                match begin(&self.folder, &offer) {
                    Ok(file) => {
                        let arriving = Arriving { offer, file, begun: moment, meter: Meter::new(moment) };
                        self.files.insert(id, arriving);
                    }
                    Err(error) => self.receiver.refuse(moment, &id, &error.to_string()),
                }
                return flow;
            }
            Event::Data { id, bytes } => {
                if let Some(arriving) = self.files.get_mut(&id)
                    && let Err(error) = arriving.file.write_all(&bytes)
                {
                    self.files.remove(&id);
                    self.receiver.refuse(moment, &id, &error.to_string());
                }
            }
            Event::Whole { id } => {
                let kept = self.files.remove(&id).map(|Arriving { offer, file, .. }| {
                    file.as_file().sync_all()?;
                    file.persist_noclobber(self.folder.join(&offer.name)).map_err(|error| error.error)
                });
                self.receiver.conclude(&id, matches!(kept, Some(Ok(_))));
            }
            Event::Ended { id, offer, outcome } => {
                self.files.remove(&id);
                let news = match &outcome {
                    Ok(summary) => News::Kept { offer: &offer, path: self.folder.join(&offer.name), summary },
                    Err(error) => News::Failed { offer: &offer, error },
                };
                return watch(moment, Some(&news));
            }
        }
        ControlFlow::Continue(())
    }

    /// How those stand that it is time to tell of.
    fn report(&mut self, moment: Instant, watch: &mut Watch<'_>) -> ControlFlow<()> {
        for (id, arriving) in &mut self.files {
            if !arriving.meter.is_due(moment) {
                continue;
            }
            let Some((bytes, session)) = self.receiver.got(id) else { continue };
            let counts = session.carried().1.to_vec();
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
                bytes,
                size: arriving.offer.size,
                elapsed: moment.duration_since(arriving.begun),
                paths: counts.into_iter().zip(rates).enumerate().map(path).collect(),
            };
            watch(moment, Some(&News::Status(&status)))?;
        }
        ControlFlow::Continue(())
    }
}

fn begin(folder: &Path, offer: &Offer) -> std::io::Result<tempfile::NamedTempFile> {
    if folder.join(&offer.name).exists() {
        let text = format!("the receiver has a file {} already", offer.name);
        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, text));
    }
    tempfile::Builder::new().prefix(".plait-").tempfile_in(folder)
}
