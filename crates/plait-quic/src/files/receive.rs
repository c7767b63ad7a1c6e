//! Receiving files into a folder.

use super::partial::{self, Partial};
use super::{Listen, Listening, Meter, NAP, PathStatus, Sockets, Status, now, system_now};
use crate::clients::Guest;
use crate::error::Error;
use crate::hello::Offer;
use crate::identity::Fingerprint;
use crate::receiver::{Event, Id, Prefix, Receiver, Summary};
use sha2::Digest;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// After the end: for so long senders may still have to be told.
const LINGER: Duration = Duration::from_secs(1);

/// Bytes that are read at once; more by a thread.
const SHORT: u64 = 4 << 20;

/// Where files are taken.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// The folder in which they are kept; made if it is not there.
    pub folder: PathBuf,
    /// Permissions of files that are whole, such as `0o600`.
    pub mode: u32,
    /// Whether a file may take the place of another one of its name.
    pub replaces: bool,
    /// The listening end.
    pub listen: Listen,
}

/// What happened.
#[derive(Debug)]
pub enum News<'a> {
    /// A file begins to arrive.
    Begun {
        /// The file.
        offer: &'a Offer,
        /// Its client.
        from: &'a Guest,
    },
    /// How one stands: twice a second.
    Status(&'a Status),
    /// It is there, and its sender was told.
    Kept {
        /// The file.
        offer: &'a Offer,
        /// Its client.
        from: &'a Guest,
        /// Where it is.
        path: PathBuf,
        /// In numbers.
        summary: &'a Summary,
    },
    /// Somebody has said a wrong secret.
    Rejected {
        /// From where.
        remote: SocketAddr,
    },
    /// It is not there.
    Failed {
        /// The file.
        offer: &'a Offer,
        /// Its client.
        from: &'a Guest,
        /// Why not.
        error: &'a Error,
        /// Bytes of it that are kept, for a transfer of the same file to go on from.
        left: u64,
    },
}

/// Who is asked in each turn, and told what happened; breaking ends it.
type Watch<'a> = dyn FnMut(Instant, Option<&News<'_>>) -> ControlFlow<()> + 'a;

/// A file that arrives. It has its name once it is whole.
struct Arriving {
    offer: Offer,
    /// `None`: a file of this name is there, and is compared.
    file: Option<Partial>,
    begun: Instant,
    meter: Meter,
}

/// An end that is ready to receive: its socket is bound.
pub struct Receiving {
    folder: PathBuf,
    mode: u32,
    replaces: bool,
    secret: String,
    address: SocketAddr,
    fingerprint: Fingerprint,
    receiver: Receiver,
    sockets: Sockets,
    files: BTreeMap<Id, Arriving>,
    /// What was there of files, from the threads that read it.
    hashed: Hashed,
}

/// Both ends of a channel.
type Hashed = (mpsc::Sender<(Id, io::Result<Prefix>)>, mpsc::Receiver<(Id, io::Result<Prefix>)>);

/// Another file has the name.
fn taken(name: &str) -> io::Error {
    let text = format!(
        "the receiver has another file {name} already: send it --as another NAME, or let the receiver --replace files"
    );
    io::Error::new(io::ErrorKind::AlreadyExists, text)
}

impl Receiving {
    /// Makes the folder and a certificate, and binds the socket.
    ///
    /// # Errors
    /// [`Error::Setting`] says what cannot be had.
    pub fn open(inbox: Inbox) -> Result<Self, Error> {
        let Inbox { folder, mode, replaces, listen } = inbox;
        let settings = listen.settings;
        let Listening { sockets, address, identity, secret, clients } = listen.open()?;
        let of_folder = |error| Error::Setting(format!("{}: {error}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(of_folder)?;
        let receiver = Receiver::new(settings, &identity, clients)?;
        let (fingerprint, files, hashed) = (identity.fingerprint(), BTreeMap::new(), mpsc::channel());
        partial::expire(&folder, system_now());
        Ok(Self { folder, mode, replaces, secret, address, fingerprint, receiver, sockets, files, hashed })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What senders have to be told of its certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The secret of senders; empty if each client has its own.
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
            self.sockets.receive(0, |remote, local, datagrams, each| {
                receiver.handle_datagrams(moment, remote, local, datagrams, each);
            });
            self.receiver.handle_timeout(moment);
            let mut flow = if ended.is_none() { watch(moment, None) } else { ControlFlow::Continue(()) };
            while let Some(event) = self.receiver.poll() {
                let next = self.handle(moment, event, watch);
                flow = if flow.is_break() { flow } else { next };
            }
            self.flush(moment);
            self.accept(moment);
            let next = self.report(moment, watch);
            if (flow.is_break() || next.is_break()) && ended.is_none() {
                ended = Some(moment);
                for (id, arriving) in std::mem::take(&mut self.files) {
                    arriving.file.map(Partial::leave);
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
            Event::Begun { id, offer, from } => {
                let flow = watch(moment, Some(&News::Begun { offer: &offer, from: &from }));
                match self.begin(id, &offer) {
                    Ok(file) => {
                        let arriving = Arriving { offer, file, begun: moment, meter: Meter::new(moment) };
                        self.files.insert(id, arriving);
                    }
                    Err(error) => self.receiver.refuse(moment, &id, &error.to_string()),
                }
                return flow;
            }
            Event::Data { id, bytes } => {
                if let Some(file) = self.files.get_mut(&id).and_then(|arriving| arriving.file.as_mut())
                    && let Err(error) = file.write(&bytes)
                {
                    self.abandon(moment, id, &error);
                }
            }
            Event::Whole { id } => {
                let kept = self.files.remove(&id).map(|Arriving { offer, file, .. }| {
                    let place = self.folder.join(&offer.name);
                    file.map_or(Ok(()), |file| file.keep(&place, self.mode, self.replaces))
                });
                self.receiver.conclude(&id, matches!(kept, Some(Ok(()))));
            }
            Event::Ended { id, offer, from, outcome } => {
                let file = self.files.remove(&id).and_then(|arriving| arriving.file);
                let left = match (file, &outcome) {
                    (None, _) => 0,
                    (Some(file), Err(Error::Differs)) => {
                        file.discard();
                        0
                    }
                    (Some(file), _) => file.leave(),
                };
                let news = match &outcome {
                    Ok(summary) => {
                        let path = self.folder.join(&offer.name);
                        News::Kept { offer: &offer, from: &from, path, summary }
                    }
                    Err(error) => News::Failed { offer: &offer, from: &from, error, left },
                };
                return watch(moment, Some(&news));
            }
            Event::Rejected { remote } => return watch(moment, Some(&News::Rejected { remote })),
        }
        ControlFlow::Continue(())
    }

    /// Begins with an offered file: with the file of its name, if there is one of its size, else with its part.
    fn begin(&mut self, id: Id, offer: &Offer) -> io::Result<Option<Partial>> {
        if self
            .files
            .values()
            .any(|other| other.offer.name == offer.name && other.offer.digest != offer.digest)
        {
            let text = format!("another file {} is arriving", offer.name);
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        let found = partial::present(&self.folder.join(&offer.name))?;
        match found {
            Some(file) if file.metadata()?.len() == offer.size => {
                self.look(id, offer.size, partial::hashing(file, offer.size))?;
                Ok(None)
            }
            Some(_) if !self.replaces => Err(taken(&offer.name)),
            _ => self.part(id, offer).map(Some),
        }
    }

    /// Begins with the part of an offered file.
    fn part(&mut self, id: Id, offer: &Offer) -> io::Result<Partial> {
        let part = Partial::open(&self.folder, offer)?;
        self.look(id, part.length(), part.hashing()?)?;
        Ok(part)
    }

    /// What came in this turn is in the files.
    fn flush(&mut self, moment: Instant) {
        let parts = self.files.iter_mut().filter_map(|(id, arriving)| Some((*id, arriving.file.as_mut()?)));
        let written = parts.map(|(id, file)| (id, file.flush()));
        let failed: Vec<_> = written.filter_map(|(id, result)| Some((id, result.err()?))).collect();
        for (id, error) in failed {
            self.abandon(moment, id, &error);
        }
    }

    /// A file cannot be written: what comes behind a hole would be none of its beginning.
    fn abandon(&mut self, moment: Instant, id: Id, error: &io::Error) {
        self.files.remove(&id).and_then(|arriving| arriving.file).map(Partial::leave);
        self.receiver.refuse(moment, &id, &error.to_string());
    }

    /// Offers whose files were looked at.
    fn accept(&mut self, moment: Instant) {
        while let Ok((id, prefix)) = self.hashed.1.try_recv() {
            let Some(arriving) = self.files.get_mut(&id) else { continue };
            let same = |prefix: &Prefix| prefix.hash.clone().finalize()[..] == arriving.offer.digest;
            let prefix = match prefix {
                // There is another file of this name.
                Ok(prefix) if arriving.file.is_none() && !same(&prefix) => {
                    let offer = arriving.offer.clone();
                    let part = if self.replaces { self.part(id, &offer) } else { Err(taken(&offer.name)) };
                    match (part, self.files.get_mut(&id)) {
                        (Ok(part), Some(arriving)) => {
                            arriving.file = Some(part);
                            continue;
                        }
                        (part, _) => Err(part.err().unwrap_or_else(|| taken(&offer.name))),
                    }
                }
                prefix => prefix,
            };
            match prefix {
                Ok(prefix) => self.receiver.accept(moment, &id, prefix),
                Err(error) => self.receiver.refuse(moment, &id, &error.to_string()),
            }
        }
    }

    /// Hashes the bytes that are there, large ones beside everything else; [`Receiver::accept`] is told in the loop.
    fn look(
        &mut self,
        id: Id,
        bytes: u64,
        hash: impl FnOnce() -> io::Result<Prefix> + Send + 'static,
    ) -> io::Result<()> {
        let answers = self.hashed.0.clone();
        if bytes <= SHORT {
            let _ = answers.send((id, hash()));
        } else {
            std::thread::Builder::new().spawn(move || drop(answers.send((id, hash()))))?;
        }
        Ok(())
    }

    /// How those stand that it is time to tell of.
    fn report(&mut self, moment: Instant, watch: &mut Watch<'_>) -> ControlFlow<()> {
        for (id, arriving) in &mut self.files {
            if !arriving.meter.is_due(moment) {
                continue;
            }
            let Some((bytes, counts)) = self.receiver.got(id) else { continue };
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
                bytes,
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
