//! The paths of the end that opens them: local addresses, what each is for, a socket for each, and interfaces that change.

use super::sockets::Sockets;
use super::{Local, Meter, PathStatus, interfaces};
use crate::error::Error;
use crate::link::Outgoing;
use crate::terms::Terms;
use crate::ways::Progress;
use bytes::BytesMut;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Between two looks at which addresses interfaces have.
const RESCAN: Duration = Duration::from_secs(1);

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

/// All paths to one address.
pub(crate) struct Routes {
    pub(crate) remote: SocketAddr,
    pub(crate) locals: Vec<Local>,
    pub(crate) terms: Vec<Terms>,
    pub(crate) sockets: Sockets,
    troubled: Vec<bool>,
    looked_at: Instant,
}

impl Routes {
    /// To `to`, from these local addresses and interfaces; without any, from [every one](super::usable). Binds a socket for each.
    ///
    /// # Errors
    /// [`Error::Setting`] says which of them is not to be had.
    pub(crate) fn open(
        now: Instant,
        to: &str,
        locals: &[Local],
        interfaces: &[String],
        terms: &[(String, Term)],
    ) -> Result<Self, Error> {
        let remote = resolve(to, locals)?;
        let mut locals = locals.to_vec();
        let named = interfaces.iter().map(|name| interfaces::named(name, remote));
        locals.extend(named.collect::<Result<Vec<_>, _>>()?);
        if locals.is_empty() {
            locals = interfaces::usable(remote)?;
        }
        let terms = agreed(terms, &locals)?;
        let mut sockets = Sockets::new()?;
        for local in &locals {
            let refused = |error| Error::Setting(format!("local address {local}: {error}"));
            sockets.add(SocketAddr::new(local.address, 0), local.interface.as_deref()).map_err(refused)?;
        }
        let troubled = vec![false; locals.len()];
        Ok(Self { remote, locals, terms, sockets, troubled, looked_at: now })
    }

    /// The paths' addresses.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.locals.iter().map(|local| local.address).collect()
    }

    /// The datagrams that came: on which path, from where, and what.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(usize, SocketAddr, BytesMut)) {
        for path in 0..self.sockets.len() {
            self.sockets.receive(path, |remote, _, datagram| take(path, remote, datagram));
        }
    }

    /// Now and then: the paths whose interface has another address, or took no packets and is there now. Each has another socket then, and what is to be told is told.
    pub(crate) fn rescan(&mut self, now: Instant, mut moved: impl FnMut(usize, IpAddr)) {
        if now.duration_since(self.looked_at) < RESCAN {
            return;
        }
        self.looked_at = now;
        for path in 0..self.locals.len() {
            let Some(name) = &self.locals[path].interface else { continue };
            let Ok(found) = interfaces::named(name, self.remote) else { continue };
            if !std::mem::take(&mut self.troubled[path]) && found.address == self.locals[path].address {
                continue;
            }
            let place = SocketAddr::new(found.address, 0);
            if self.sockets.replace(path, place, found.interface.as_deref()).is_ok() {
                moved(path, found.address);
            }
            self.locals[path] = found;
        }
    }

    /// Sends these datagrams, and what waited; paths that take none are told of.
    pub(crate) fn send(&mut self, out: &mut Vec<Outgoing>, mut failed: impl FnMut(usize, &str)) {
        for path in 0..self.sockets.len() {
            self.sockets.send(path, None);
        }
        for outgoing in out.drain(..) {
            let path = outgoing.path;
            if let Some(trouble) = self.sockets.send(path, Some(outgoing)) {
                self.troubled[path] = true;
                failed(path, &trouble.to_string());
            }
        }
    }

    /// How the paths stand.
    pub(crate) fn status(&self, progress: Vec<Progress>, meter: &mut Meter, now: Instant) -> Vec<PathStatus> {
        let rates = meter.rates(now, &progress.iter().map(|path| path.sent).collect::<Vec<_>>());
        let path = |((path, local), rate_bps): ((Progress, &Local), f64)| PathStatus {
            name: local.to_string(),
            usable: path.usable,
            bytes: path.sent,
            rate_bps,
            srtt: path.srtt,
            trouble: path.trouble,
        };
        progress.into_iter().zip(&self.locals).zip(rates).map(path).collect()
    }
}

/// The terms of each path.
fn agreed(given: &[(String, Term)], locals: &[Local]) -> Result<Vec<Terms>, Error> {
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

/// The receiver's address, of the family that the local addresses have.
fn resolve(to: &str, locals: &[Local]) -> Result<SocketAddr, Error> {
    let failed = |error: std::io::Error| Error::Setting(format!("{to}: {error}"));
    let mut found = to.to_socket_addrs().map_err(failed)?;
    let suits = |remote: &SocketAddr| locals.iter().all(|local| local.address.is_ipv4() == remote.is_ipv4());
    found
        .find(suits)
        .ok_or_else(|| Error::Setting(format!("{to}: no address of the local addresses' family")))
}
