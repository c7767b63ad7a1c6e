//! Sending a file.

use super::sockets::Sockets;
use super::{Local, Meter, NAP, PathStatus, Status, interfaces, now};
use crate::error::Error;
use crate::hello::{Offer, is_plain};
use crate::identity::{self, Fingerprint, Secret};
use crate::sender::{Order, Progress, Sender};
use crate::session::Session;
use crate::settings::Settings;
use crate::source::Ahead;
use crate::terms::Terms;
use plait_sched::Scheduler;
use plait_transport::Counters;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks at which addresses interfaces have.
const RESCAN: Duration = Duration::from_secs(1);

/// What is to be sent, to whom, from where.
#[derive(Clone, Debug)]
pub struct Shipment {
    /// The file; without one, the receiver is asked whether it would take one ([`Offer::QUESTION`]).
    pub file: Option<PathBuf>,
    /// The receiver's address, `HOST:PORT`.
    pub to: String,
    /// The SHA-256 of the receiver's certificate.
    pub fingerprint: Fingerprint,
    /// What the receiver wants to hear.
    pub secret: Secret,
    /// Local addresses to send from, each a path.
    pub locals: Vec<Local>,
    /// Interfaces to send from, each a path. Without these and addresses: see [`usable`](super::usable).
    pub interfaces: Vec<String>,
    /// What some of the paths are for, by interface, address or `ADDRESS%INTERFACE`.
    pub terms: Vec<(String, Term)>,
    /// Everything else.
    pub settings: Settings,
}

/// One of a path's terms; see [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// What it costs.
    Cost(u32),
    /// Payload bytes that it may carry.
    Budget(u64),
    /// Only while no other path works.
    Backup,
}

/// A file that is ready to be sent: sockets are bound.
pub struct Sending {
    shipment: Shipment,
    remote: SocketAddr,
    locals: Vec<Local>,
    terms: Vec<Terms>,
    file: Option<(String, File)>,
    sockets: Sockets,
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
    /// What the transport counted.
    pub counters: Counters,
    /// Packets that did not fit into QUIC's datagrams, which has to be none.
    pub oversized: u64,
}

/// Who is asked in each turn, and told how things stand now and then; breaking ends the transfer.
type Watch<'a> = dyn FnMut(Instant, Option<&Status>) -> ControlFlow<()> + 'a;

impl Sending {
    /// Opens the file and binds a socket for each path.
    ///
    /// # Errors
    /// [`Error::Setting`] says which of them is not to be had.
    pub fn open(shipment: Shipment) -> Result<Self, Error> {
        shipment.settings.check()?;
        let remote = resolve(&shipment.to, &shipment.locals)?;
        let named = shipment.interfaces.iter().map(|name| interfaces::named(name, remote));
        let mut locals = shipment.locals.clone();
        locals.extend(named.collect::<Result<Vec<_>, _>>()?);
        if locals.is_empty() {
            locals = interfaces::usable(remote)?;
        }
        let terms = terms(&shipment.terms, &locals)?;
        let file = shipment.file.as_deref().map(open).transpose()?;
        let mut sockets = Sockets::new()?;
        for local in &locals {
            let refused = |error| Error::Setting(format!("local address {local}: {error}"));
            sockets.add(SocketAddr::new(local.address, 0), local.interface.as_deref()).map_err(refused)?;
        }
        Ok(Self { shipment, remote, locals, terms, file, sockets })
    }

    /// The paths, in the order in which schedulers see them.
    pub fn paths(&self) -> &[Local] {
        &self.locals
    }

    /// Sends it.
    ///
    /// # Errors
    /// [`Error::Stopped`] if `watch` broke; why the receiver does not have the file, as far as that is known.
    pub fn run<W: Scheduler>(mut self, scheduler: W, watch: &mut Watch<'_>) -> Result<Sent, Error> {
        let offer = self.offer(watch)?;
        let order = Order {
            remote: self.remote,
            locals: self.locals.iter().map(|local| local.address).collect(),
            terms: self.terms.clone(),
            fingerprint: self.shipment.fingerprint,
            secret: self.shipment.secret,
            session: identity::random()?,
            offer: offer.clone(),
        };
        let source = self.file.as_ref().map(|(_, file)| file.try_clone()).transpose()?;
        let source = source.map(|file| Ahead::new(file, offer.size));
        let begun = now();
        let mut sender = Sender::new(begun, self.shipment.settings, order, scheduler, source)?;
        self.drive(&mut sender, begun, &offer, watch)?;
        let duration = now().duration_since(begun);
        let paths = self.locals.into_iter().zip(sender.progress()).collect();
        let counters = sender.session().map(Session::counters).unwrap_or_default();
        let (oversized, resumed) = (sender.oversized(), sender.resumed());
        sender.into_outcome().unwrap_or(Ok(()))?;
        let Offer { name, size: bytes, digest } = offer;
        Ok(Sent { name, bytes, resumed, digest, duration, paths, counters, oversized })
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
    fn drive<W: Scheduler>(
        &mut self,
        sender: &mut Sender<Option<Ahead<File>>, W>,
        begun: Instant,
        offer: &Offer,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let Self { sockets, locals, remote, .. } = self;
        let (mut out, mut meter) = (Vec::new(), Meter::new(begun));
        let (mut troubled, mut looked_at) = (vec![false; locals.len()], begun);
        let number = |local: &Local| local.interface.as_deref().map(interfaces::number);
        let mut numbers: Vec<u32> = locals.iter().map(|local| number(local).unwrap_or_default()).collect();
        let remote = *remote;
        loop {
            let moment = now();
            for path in 0..sockets.len() {
                sockets.receive(path, |remote, _, datagrams, each| {
                    sender.handle_datagrams(moment, path, remote, datagrams, each);
                });
            }
            sender.handle_timeout(moment);
            if moment.duration_since(looked_at) >= RESCAN {
                looked_at = moment;
                let find =
                    |name: &str| Some((interfaces::named(name, remote).ok()?, interfaces::number(name)));
                for path in moved(locals, &mut numbers, &mut troubled, find) {
                    let Local { address, interface } = &locals[path];
                    if sockets.replace(path, SocketAddr::new(*address, 0), interface.as_deref()).is_ok() {
                        sender.relocate(moment, path, *address);
                    }
                }
            }
            if sender.outcome().is_none() {
                let status = meter.is_due(moment).then(|| Status {
                    name: offer.name.clone(),
                    bytes: sender.acknowledged(),
                    size: offer.size,
                    elapsed: moment.duration_since(begun),
                    paths: paths(sender, locals, &mut meter, moment),
                });
                if watch(moment, status.as_ref()).is_break() {
                    sender.stop();
                }
            }
            sender.transmit(moment, &mut out);
            for path in 0..sockets.len() {
                sockets.send(path, None);
            }
            for outgoing in out.drain(..) {
                let path = outgoing.path;
                if let Some(trouble) = sockets.send(path, Some(outgoing)) {
                    troubled[path] = true;
                    sender.handle_failure(path, &trouble.to_string());
                }
            }
            if sender.outcome().is_some() {
                return Ok(());
            }
            let due = sender.next_wakeup().map_or(NAP, |due| due.saturating_duration_since(now()));
            sockets.wait(due.min(NAP))?;
        }
    }
}

/// The paths that need another socket: their interface has another address, or took no packets and is another one of the same name by now,
/// as an adapter is that was pulled out and put in again. One that was down and is up again takes packets as before, without a handshake. Where
/// each is, is noted.
fn moved(
    locals: &mut [Local],
    numbers: &mut [u32],
    troubled: &mut [bool],
    find: impl Fn(&str) -> Option<(Local, u32)>,
) -> Vec<usize> {
    let mut moved = Vec::new();
    for (path, local) in locals.iter_mut().enumerate() {
        let Some(name) = &local.interface else { continue };
        let Some((found, number)) = find(name) else { continue };
        let other = std::mem::take(&mut troubled[path]) && number != numbers[path];
        if other || found.address != local.address {
            (*local, numbers[path]) = (found, number);
            moved.push(path);
        }
    }
    moved
}

/// The terms of each path.
fn terms(given: &[(String, Term)], locals: &[Local]) -> Result<Vec<Terms>, Error> {
    let mut terms = vec![Terms::default(); locals.len()];
    for (name, term) in given {
        let meant = |local: &Local| {
            local.interface.as_ref() == Some(name)
                || local.address.to_string() == *name
                || local.to_string() == *name
        };
        if !locals.iter().any(meant) {
            let known: Vec<String> = locals.iter().map(Local::to_string).collect();
            return Err(Error::Setting(format!("{name}: no such path: choose {}", known.join(", "))));
        }
        for (terms, _) in terms.iter_mut().zip(locals).filter(|(_, local)| meant(local)) {
            match *term {
                Term::Cost(cost) => terms.cost = cost,
                Term::Budget(bytes) => terms.budget = Some(bytes),
                Term::Backup => terms.backup = true,
            }
        }
    }
    Ok(terms)
}

/// A file and the name under which it is offered.
fn open(path: &Path) -> Result<(String, File), Error> {
    let refused = |reason: String| Error::Setting(format!("{}: {reason}", path.display()));
    let file = File::open(path).map_err(|error| refused(error.to_string()))?;
    if !file.metadata()?.is_file() {
        return Err(refused("only files can be sent".to_owned()));
    }
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| is_plain(name));
    let name = name.ok_or_else(|| refused("its name cannot be sent".to_owned()))?;
    Ok((name.to_owned(), file))
}

fn paths<W: Scheduler>(
    sender: &Sender<Option<Ahead<File>>, W>,
    locals: &[Local],
    meter: &mut Meter,
    now: Instant,
) -> Vec<PathStatus> {
    let progress = sender.progress();
    let rates = meter.rates(now, &progress.iter().map(|path| path.sent).collect::<Vec<_>>());
    let path = |((path, local), rate_bps): ((Progress, &Local), f64)| PathStatus {
        name: local.to_string(),
        usable: path.usable,
        bytes: path.sent,
        rate_bps,
        srtt: path.srtt,
        trouble: path.trouble,
    };
    progress.into_iter().zip(locals).zip(rates).map(path).collect()
}

/// The receiver's address, of the family that the local addresses have.
fn resolve(to: &str, locals: &[Local]) -> Result<SocketAddr, Error> {
    let failed = |error: std::io::Error| Error::Setting(format!("{to}: {error}"));
    let mut found = to.to_socket_addrs().map_err(failed)?;
    let suits = |remote: &SocketAddr| locals.iter().all(|local| local.address.is_ipv4() == remote.is_ipv4());
    found
        .find(suits)
        .ok_or_else(|| Error::Setting(format!("{to}: no address of the local addresses' family")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_another_address_or_is_another_interface_needs_another_socket() {
        let wwan0 = |address: &str| format!("{address}%wwan0").parse::<Local>().expect("it is one");
        let look = |troubled: bool, found: Option<(&str, u32)>| {
            let (mut locals, mut numbers, mut troubled) = ([wwan0("10.0.0.1")], [5], [troubled]);
            let find = |_: &str| found.map(|(address, number)| (wwan0(address), number));
            let moved = moved(&mut locals, &mut numbers, &mut troubled, find);
            (moved, locals[0].address.to_string(), numbers[0], troubled[0])
        };
        let stays = |troubled| (vec![], "10.0.0.1".to_owned(), 5, troubled);
        assert_eq!(look(false, Some(("10.0.0.1", 5))), stays(false));
        assert_eq!(look(true, Some(("10.0.0.1", 5))), stays(false), "it was down, and is up again");
        assert_eq!(look(true, None), stays(true), "it is looked for again");
        assert_eq!(look(true, Some(("10.0.0.1", 6))), (vec![0], "10.0.0.1".to_owned(), 6, false));
        assert_eq!(look(false, Some(("10.0.0.9", 5))), (vec![0], "10.0.0.9".to_owned(), 5, false));
    }
}
