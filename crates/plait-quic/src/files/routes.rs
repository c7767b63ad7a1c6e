//! The paths of the end that opens them: local addresses, what each is for, a socket for each, and interfaces that change.

use super::sockets::Sockets;
use super::{Local, Meter, PathStatus, interfaces};
use crate::error::Error;
use crate::link::Outgoing;
use crate::terms::Terms;
use crate::ways::Progress;
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
    /// Of their interfaces, which is 0 for a path that is bound to none.
    numbers: Vec<u32>,
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
        let number = |local: &Local| local.interface.as_deref().map(interfaces::number).unwrap_or_default();
        let numbers = locals.iter().map(number).collect();
        let troubled = vec![false; locals.len()];
        Ok(Self { remote, locals, terms, sockets, numbers, troubled, looked_at: now })
    }

    /// The paths' addresses.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.locals.iter().map(|local| local.address).collect()
    }

    /// The datagrams that came: on which path, from where, and several that came together with the size of each but the last.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(usize, SocketAddr, &[u8], usize)) {
        for path in 0..self.sockets.len() {
            self.sockets.receive(path, |remote, _, datagrams, each| take(path, remote, datagrams, each));
        }
    }

    /// Now and then: paths that [need another socket](moved) get one, and who has to know is told.
    pub(crate) fn rescan(&mut self, now: Instant, mut relocate: impl FnMut(usize, IpAddr)) {
        if now.duration_since(self.looked_at) < RESCAN {
            return;
        }
        self.looked_at = now;
        let remote = self.remote;
        let find = |name: &str| Some((interfaces::named(name, remote).ok()?, interfaces::number(name)));
        for path in moved(&mut self.locals, &mut self.numbers, &mut self.troubled, find) {
            let Local { address, interface } = &self.locals[path];
            if self.sockets.replace(path, SocketAddr::new(*address, 0), interface.as_deref()).is_ok() {
                relocate(path, *address);
            }
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
