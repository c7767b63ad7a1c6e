//! Sending a file.

use super::record::{self, Record};
use super::routes::Routes;
use super::ship::Ship;
use super::{Connect, Local, Meter, NAP, Status, now};
use crate::error::Error;
use crate::hello::{Offer, trouble};
use crate::identity;
use crate::interop;
use crate::pilot::{Change, Pilot};
use crate::recording::Recording;
use crate::sender::{Order, Progress, Sender};
use crate::source::Ahead;
use plait_sched::Scheduler;
use plait_transport::Counters;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file, and its receiver.
#[derive(Clone, Debug)]
pub struct Shipment {
    /// The file; without one, the receiver is asked whether it would take one ([`Offer::QUESTION`]).
    pub file: Option<PathBuf>,
    /// The name at the receiver; `None` is the file's own.
    pub name: Option<String>,
    /// The receiver, and the paths.
    pub connect: Connect,
    /// One QUIC connection with QUIC's own multipath, and an ordinary stream: see [`interop`](crate::interop).
    pub interop: bool,
}

/// A file that is ready to be sent: sockets are bound.
pub struct Sending {
    shipment: Shipment,
    routes: Routes,
    file: Option<(String, File)>,
    recording: Option<Recording>,
}

/// What was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The file's name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes of it that the receiver had before, of an interrupted transfer.
    pub resumed: u64,
    /// Its SHA-256, which the receiver has confirmed.
    pub digest: [u8; 32],
    /// From the first packet of the first handshake to the verdict.
    pub duration: Duration,
    /// The paths, with their interfaces.
    pub paths: Vec<(Local, Progress)>,
    /// The schedulers that were put in the place of others.
    pub changes: Vec<Change>,
    /// What the transport counted.
    pub counters: Counters,
    /// Packets that did not fit into QUIC's datagrams, which has to be none.
    pub oversized: u64,
    /// Why the recording is not whole, if it is not.
    pub unrecorded: Option<String>,
}

/// Who is asked in each turn, and told how things stand now and then; breaking ends the transfer.
type Watch<'a> = dyn FnMut(Instant, Option<&Status>) -> ControlFlow<()> + 'a;

impl Sending {
    /// Opens the file and binds a socket for each path.
    ///
    /// # Errors
    /// [`Error::Setting`] says which of them is not to be had.
    pub fn open(shipment: Shipment) -> Result<Self, Error> {
        let Shipment { file, name, connect, interop } = &shipment;
        connect.settings.check()?;
        if *interop && connect.record.is_some() {
            let text = "what QUIC does by itself is not recorded (interop): leave the recording out, or leave interop out";
            return Err(Error::Setting(text.to_owned()));
        }
        let routes = Routes::open(now(), connect)?;
        let file = file.as_deref().map(|file| open(file, name.as_deref())).transpose()?;
        let name = file.as_ref().map_or("", |(name, _)| name);
        let begin = |record: &Record| record.begin(name, &connect.settings, &routes.locals());
        let recording = connect.record.as_ref().map(begin).transpose()?;
        Ok(Self { shipment, routes, file, recording })
    }

    /// The paths, in the order in which schedulers see them.
    pub fn paths(&self) -> Vec<Local> {
        self.routes.locals()
    }

    /// The addresses and interfaces that are not there, and become paths when they are.
    pub fn awaited(&self) -> Vec<String> {
        self.routes.awaited()
    }

    /// Sends it.
    ///
    /// # Errors
    /// [`Error::Stopped`] if `watch` broke; why the receiver does not have the file, as far as that is known.
    pub fn run<W: Scheduler>(self, scheduler: W, watch: &mut Watch<'_>) -> Result<Sent, Error> {
        self.run_piloted(scheduler, None, watch)
    }

    /// Likewise, with who may put another scheduler in the place of the one that decides.
    ///
    /// # Errors
    /// As [`Sending::run`]'s.
    pub fn run_piloted<W: Scheduler>(
        mut self,
        scheduler: W,
        pilot: Option<Box<dyn Pilot<W>>>,
        watch: &mut Watch<'_>,
    ) -> Result<Sent, Error> {
        record::check(self.recording.is_some(), pilot.is_some())?;
        let offer = self.offer(watch)?;
        let order = Order {
            remote: self.routes.remote(),
            locals: self.routes.addresses(),
            terms: self.routes.terms.clone(),
            fingerprint: self.shipment.connect.fingerprint,
            secret: self.shipment.connect.secret,
            session: identity::random()?,
            offer: offer.clone(),
        };
        let source = self.file.as_ref().map(|(_, file)| file.try_clone()).transpose()?;
        let source = source.map(|file| Ahead::new(file, offer.size));
        let (begun, settings) = (now(), self.shipment.connect.settings);
        if self.shipment.interop {
            if pilot.is_some() {
                let text = "the scheduler is not changed where QUIC sends by itself (interop): name one, or leave interop out";
                return Err(Error::Setting(text.to_owned()));
            }
            let sender = interop::Sender::new(begun, settings, order, scheduler, source)?;
            self.ship(sender, begun, offer, watch)
        } else {
            let mut sender = Sender::new(begun, settings, order, scheduler, source)?;
            if let Some(recording) = self.recording.take() {
                sender.record(recording);
            }
            if let Some(pilot) = pilot {
                sender.set_pilot(pilot);
            }
            self.ship(sender, begun, offer, watch)
        }
    }

    fn ship(
        mut self,
        mut sender: impl Ship,
        begun: Instant,
        offer: Offer,
        watch: &mut Watch<'_>,
    ) -> Result<Sent, Error> {
        let driven = self.drive(&mut sender, begun, &offer, watch);
        let unrecorded = sender.end_recording(now()).err().map(|error| error.to_string());
        driven?;
        let duration = now().duration_since(begun);
        let paths = self.routes.locals().into_iter().zip(sender.progress()).collect();
        let (counters, oversized, resumed) = (sender.counters(), sender.oversized(), sender.resumed());
        let changes = sender.changes().to_vec();
        sender.into_outcome().unwrap_or(Ok(()))?;
        let Offer { name, size: bytes, digest } = offer;
        Ok(Sent { name, bytes, resumed, digest, duration, paths, changes, counters, oversized, unrecorded })
    }

    /// What is offered: a look at the whole file.
    fn offer(&mut self, watch: &mut Watch<'_>) -> Result<Offer, Error> {
        let Some((name, file)) = &mut self.file else { return Ok(Offer::QUESTION) };
        let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 20]);
        loop {
            let count = file.read(&mut buffer).map_err(|error| Error::Setting(format!("{name}: {error}")))?;
            if count == 0 {
                return Ok(Offer { name: name.clone(), size, digest: hash.finalize().into() });
            }
            hash.update(&buffer[..count]);
            size += count as u64;
            if watch(now(), None).is_break() {
                return Err(Error::Stopped);
            }
        }
    }

    /// Until there is an outcome.
    fn drive(
        &mut self,
        sender: &mut impl Ship,
        begun: Instant,
        offer: &Offer,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let routes = &mut self.routes;
        routes.aim().iter().for_each(|reroute| sender.reroute(begun, reroute));
        let (mut out, mut meter, mut told) = (Vec::new(), Meter::new(begun), 0);
        loop {
            let moment = now();
            routes.receive(|path, remote, datagrams, each| {
                sender.handle_datagrams(moment, path, remote, datagrams, each);
            });
            sender.handle_timeout(moment);
            for reroute in routes.rescan(moment) {
                sender.reroute(moment, &reroute);
            }
            if let Some(reason) = routes.refusal(moment) {
                sender.give_up(reason);
            }
            if sender.outcome().is_none() {
                let status = meter.is_due(moment).then(|| Status {
                    name: offer.name.clone(),
                    bytes: sender.acknowledged(),
                    size: offer.size,
                    elapsed: moment.duration_since(begun),
                    paths: routes.status(sender.progress(), &mut meter, moment),
                    changes: sender.changes()[std::mem::replace(&mut told, sender.changes().len())..]
                        .to_vec(),
                });
                if watch(moment, status.as_ref()).is_break() {
                    sender.stop();
                }
            }
            sender.transmit(moment, &mut out);
            routes.send(moment, &mut out, |path, trouble, reroute| {
                reroute.into_iter().for_each(|reroute| sender.reroute(moment, reroute));
                sender.handle_failure(path, trouble);
            });
            if sender.outcome().is_some() {
                return Ok(());
            }
            let due = sender.next_wakeup().map_or(NAP, |due| due.saturating_duration_since(now()));
            routes.sockets.wait(due.min(NAP))?;
        }
    }
}

/// A file and the name under which it is offered.
fn open(path: &Path, name: Option<&str>) -> Result<(String, File), Error> {
    let refused = |reason: String| Error::Setting(format!("{}: {reason}", path.display()));
    let file = File::open(path).map_err(|error| refused(error.to_string()))?;
    if !file.metadata()?.is_file() {
        return Err(refused("only files can be sent".to_owned()));
    }
    let own = || path.file_name().map(|name| name.to_str().ok_or("it is not UTF-8".to_owned()));
    let name = name.map(Ok).or_else(own);
    let name = name.unwrap_or(Err("it is no file's".to_owned()));
    let name = name.and_then(|name| trouble(name).map_or(Ok(name), Err));
    let name = name.map_err(|why| refused(format!("its name cannot be sent: {why}; choose another one: --as NAME")))?;
    Ok((name.to_owned(), file))
}
