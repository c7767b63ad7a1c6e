//! The paths of the end that opens them: local addresses, the terms of each, a socket for each, and interfaces that come, go and change.

use super::aims::{Aims, resolve};
use super::changes::{Change, Place, changes, is_taken, place_for_another};
use super::interfaces::{self, Snapshot};
use super::notices::Notices;
use super::said::Said;
use super::sockets::{NOTICE, Sockets};
use super::{Connect, Local, Meter, PathStatus};
use crate::error::Error;
use crate::link::Outgoing;
use crate::reroute::Reroute;
use crate::terms::Terms;
use crate::ways::Progress;
use nix::errno::Errno;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Between two looks at the addresses of interfaces, also without notices of the system.
const RESCAN: Duration = Duration::from_secs(1);

/// Between two looks at least: the notices of one change come in pieces.
const PAUSE: Duration = Duration::from_millis(20);

/// Nothing listens at the peer, by the word of one path: the others have so long to say otherwise.
const DOUBT: Duration = Duration::from_secs(3);

/// One of a path's terms; see [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// Its cost.
    Cost(u32),
    /// Payload bytes that it may carry.
    Budget(u64),
    /// Only while no other path works.
    Backup,
}

/// A path that is wanted and not to be had yet.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Awaited {
    Local(Local),
    Interface(String),
}

/// All paths to one peer.
pub(crate) struct Routes {
    /// The peer, as it was named.
    to: String,
    /// Its addresses.
    remotes: Vec<SocketAddr>,
    /// It has answered once.
    answered: bool,
    pub(crate) terms: Vec<Terms>,
    pub(crate) sockets: Sockets,
    places: Vec<Place>,
    given: Vec<(String, Term)>,
    awaited: Vec<Awaited>,
    /// Nothing was named: every interface that appears is a path.
    every: bool,
    may_grow: bool,
    /// Where the system says nothing, looks alone have to do.
    notices: Option<Notices>,
    looked_at: Instant,
    look_at: Instant,
}

impl Routes {
    /// Binds a socket for each path. Addresses and interfaces that are missing are awaited, if there is one path at least.
    ///
    /// # Errors
    /// [`Error::Setting`] says which is not to be had, if none is.
    pub(crate) fn open(now: Instant, wanted: &Connect) -> Result<Self, Error> {
        let remotes = resolve(&wanted.to)?;
        // A recording is of the paths that it began with.
        let may_grow = wanted.record.is_none();
        let found = Snapshot::take(&remotes);
        let mut sockets = Sockets::new()?;
        let notices = Notices::open(sockets.registry(), NOTICE).ok();
        let named = wanted.locals.iter().cloned().map(Awaited::Local);
        let mut awaited: Vec<_> =
            named.chain(wanted.interfaces.iter().cloned().map(Awaited::Interface)).collect();
        let every = awaited.is_empty() && !found.is_here();
        let (mut places, mut refused): (Vec<Place>, Option<Error>) = (Vec::new(), None);
        let mut usable = if awaited.is_empty() { found.usable() } else { Vec::new() };
        if awaited.is_empty() && usable.is_empty() {
            usable.push(found.chosen().map_err(Error::Setting)?);
        }
        let mut bind = |aims: Aims| {
            let local = &aims.now().local;
            bind(&mut sockets, places.len(), local)
                .map_err(|error| Error::Setting(format!("local address {local}: {error}")))?;
            places.push(Place::new(aims));
            Ok(())
        };
        for aims in usable {
            bind(aims)?;
        }
        awaited.retain(|one| {
            let missing =
                |name: &str| Error::Setting(format!("{}: {}", found.missing(name), found.choices()));
            let other = |local: &Local| {
                let family = if local.address.is_ipv4() { "IPv4" } else { "IPv6" };
                Error::Setting(format!("local address {local}: {} has no {family} address", wanted.to))
            };
            let aims = match one {
                Awaited::Local(local) => found.from(local).ok_or_else(|| other(local)),
                Awaited::Interface(name) => found.named(name).ok_or_else(|| missing(name)),
            };
            let opened = aims.and_then(&mut bind);
            let failed = opened.is_err();
            refused = refused.take().or(opened.err());
            failed
        });
        if let Some(error) = refused.filter(|_| places.is_empty() || !may_grow) {
            return Err(error);
        }
        let given = wanted.terms.clone();
        check(&given, &places, &awaited, every)?;
        let terms: Vec<Terms> = places.iter().map(|place| terms_of(&given, &place.aims)).collect();
        for (place, terms) in places.iter_mut().zip(&terms) {
            place.metered = terms.budget.is_some();
        }
        let look_at = now + RESCAN;
        Ok(Self {
            to: wanted.to.clone(),
            remotes,
            answered: false,
            terms,
            sockets,
            places,
            given,
            awaited,
            every,
            may_grow,
            notices,
            looked_at: now,
            look_at,
        })
    }

    /// Where the paths begin.
    pub(crate) fn locals(&self) -> Vec<Local> {
        self.places.iter().map(|place| place.local().clone()).collect()
    }

    /// Their addresses.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.places.iter().map(|place| place.local().address).collect()
    }

    /// Where the first path leads to.
    pub(crate) fn remote(&self) -> SocketAddr {
        self.places.first().map_or(self.remotes[0], |place| place.aims.now().remote)
    }

    /// Where the other paths lead to, if that is another address than the first one's. The peer is looked for from now on.
    pub(crate) fn aim(&mut self) -> Vec<Reroute> {
        self.places.iter_mut().for_each(|place| place.aims.restart());
        let remote = self.remote();
        let others = (0..self.places.len()).filter(|path| self.places[*path].aims.now().remote != remote);
        others.map(|path| self.aimed(path)).collect()
    }

    fn aimed(&self, path: usize) -> Reroute {
        let aim = self.places[path].aims.now();
        Reroute::Aimed(path, aim.local.address, aim.remote)
    }

    /// The network's reason for a missing peer: nothing listens at any of its addresses. A peer that answered once is looked
    /// for until patience ends.
    pub(crate) fn refusal(&self, now: Instant) -> Option<String> {
        let refused = || self.places.iter().filter_map(|place| place.aims.refused_at());
        let first = refused().min().filter(|_| !self.answered)?;
        let may_answer =
            |place: &Place| place.gone_at.is_none() && place.routed && place.aims.refused_at().is_none();
        let waits = self.places.iter().any(may_answer) && now < first + DOUBT;
        (!waits).then(|| format!("{}: nothing listens there (connection refused)", self.to))
    }

    /// The addresses and interfaces that are waited for.
    pub(crate) fn awaited(&self) -> Vec<String> {
        self.awaited.iter().map(ToString::to_string).collect()
    }

    /// The datagrams that came: on which path, from where, and several that came together with the size of each but the last.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(usize, SocketAddr, &[u8], usize)) {
        let Self { sockets, places, answered, .. } = self;
        for (path, place) in places.iter_mut().enumerate() {
            sockets.receive(path, |remote, _, datagrams, each| {
                place.aims.hear(remote);
                take(path, remote, datagrams, each);
            });
            *answered |= place.aims.has_answered();
        }
    }

    /// Now and then, and after notices of the system: the changes of the paths. Those that need another socket have it.
    pub(crate) fn rescan(&mut self, now: Instant) -> Vec<Reroute> {
        let mut reroutes = Vec::new();
        self.hear(now, &mut reroutes);
        self.advance(now, &mut reroutes);
        if let Some(notices) = self.notices.as_mut().filter(|_| self.sockets.is_noticed()) {
            notices.clear();
            self.look_at = self.look_at.min(self.looked_at + PAUSE);
        }
        if now < self.look_at {
            return reroutes;
        }
        (self.looked_at, self.look_at) = (now, now + RESCAN);
        let found = Snapshot::take(&self.remotes);
        if found.is_empty() {
            return reroutes;
        }
        let find = |place: &Place| match &place.local().interface {
            Some(name) => {
                let aims = found.working(name)?.beginning_with(place.aims.now().remote);
                Some((aims, interfaces::number(name)))
            }
            None => found.has(place.local().address).then(|| (place.aims.clone(), 0)),
        };
        for change in changes(&self.places, find) {
            reroutes.extend(self.apply(now, change));
        }
        for (path, place) in self.places.iter_mut().enumerate() {
            let routed = found.is_routed(&place.aims);
            if std::mem::replace(&mut place.routed, routed) && !routed {
                reroutes.push(Reroute::Unreachable(path));
            }
        }
        if self.may_grow {
            self.take_up(&found, &mut reroutes);
        }
        reroutes
    }

    /// Takes the errors of packets.
    fn hear(&mut self, now: Instant, reroutes: &mut Vec<Reroute>) {
        for (path, place) in self.places.iter_mut().enumerate() {
            let headers = if place.local().address.is_ipv4() { 28 } else { 48 };
            for said in self.sockets.said(path) {
                match said {
                    Said::Refused(remote) => place.aims.refuse(now, remote),
                    Said::TooLarge { bytes, own } => {
                        let bytes = u16::try_from(bytes.saturating_sub(headers)).unwrap_or(u16::MAX);
                        reroutes.push(Reroute::Limited { path, bytes, own });
                    }
                    Said::NoRoute => reroutes.push(Reroute::Unreachable(path)),
                }
            }
        }
    }

    /// Paths that nobody has answered try the peer's next address.
    fn advance(&mut self, now: Instant, reroutes: &mut Vec<Reroute>) {
        let answered = self.places.iter().find(|place| place.aims.has_answered());
        let known = answered.map(|place| place.aims.now().remote);
        for path in 0..self.places.len() {
            let place = &mut self.places[path];
            if place.aims.has_answered() {
                continue;
            }
            let before = place.local().clone();
            let settled = known.is_some_and(|remote| place.aims.settle(remote));
            if settled || place.aims.advance(now) {
                let local = place.local().clone();
                if local == before || bind(&mut self.sockets, path, &local).is_ok() {
                    reroutes.push(self.aimed(path));
                }
            }
        }
    }

    fn apply(&mut self, now: Instant, change: Change) -> Option<Reroute> {
        match change {
            Change::Moved(path, aims, number) => {
                bind(&mut self.sockets, path, &aims.now().local).ok()?;
                let before = self.places[path].aims.now().remote;
                let metered = self.places[path].metered;
                self.places[path] = Place { number, metered, ..Place::new(aims) };
                let aim = self.places[path].aims.now();
                let moved = Reroute::Moved(path, aim.local.address);
                Some(if aim.remote == before { moved } else { self.aimed(path) })
            }
            Change::Gone(path) => {
                self.places[path].gone_at = Some(now);
                Some(Reroute::Gone(path))
            }
            Change::Back(path) => {
                (self.places[path].gone_at, self.places[path].troubled) = (None, false);
                Some(Reroute::Back(path))
            }
        }
    }

    /// Interfaces without a path get one.
    fn take_up(&mut self, found: &Snapshot, reroutes: &mut Vec<Reroute>) {
        for aims in if self.every { found.usable() } else { Vec::new() } {
            self.add(aims, reroutes);
        }
        for one in std::mem::take(&mut self.awaited) {
            let aims = match &one {
                Awaited::Local(local) => found.from(local).filter(|_| found.has(local.address)),
                Awaited::Interface(name) => found.working(name),
            };
            if !aims.is_some_and(|aims| self.add(aims, reroutes)) {
                self.awaited.push(one);
            }
        }
    }

    /// Another path, if there is a place for it; whether there is one from there now.
    fn add(&mut self, aims: Aims, reroutes: &mut Vec<Reroute>) -> bool {
        let local = aims.now().local.clone();
        if is_taken(&self.places, &local) {
            return true;
        }
        let Some(path) = place_for_another(&self.places) else { return false };
        // An address that is not ready is there at the next look.
        if bind(&mut self.sockets, path, &local).is_err() {
            return false;
        }
        let (address, terms) = (local.address, terms_of(&self.given, &aims));
        let place = Place { metered: terms.budget.is_some(), ..Place::new(aims) };
        if path == self.places.len() {
            self.places.push(place);
            self.terms.push(terms);
            reroutes.push(Reroute::Added(address, terms));
        } else {
            self.places[path] = place;
            self.terms[path] = terms;
            reroutes.push(Reroute::Replaced(path, address, terms));
        }
        if self.remotes.len() > 1 {
            reroutes.push(self.aimed(path));
        }
        true
    }

    /// Sends these datagrams, and those that waited. Reports paths that take none, and the effect on the path.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        out: &mut Vec<Outgoing>,
        mut failed: impl FnMut(usize, &str, Option<&Reroute>),
    ) {
        for path in 0..self.sockets.len() {
            self.sockets.send(path, None);
        }
        for outgoing in out.drain(..) {
            let path = outgoing.path;
            // The system keeps this error together with the limit (see `hear`).
            let told = |error: &io::Error| cfg!(target_os = "linux") && errno(error) == Some(Errno::EMSGSIZE);
            if let Some(trouble) = self.sockets.send(path, Some(outgoing)).filter(|error| !told(error)) {
                let place = &mut self.places[path];
                place.troubled = true;
                let gone = (place.gone_at.is_none() && is_gone(&trouble)).then_some(Reroute::Gone(path));
                if gone.is_some() {
                    place.gone_at = Some(now);
                }
                failed(path, &trouble.to_string(), gone.as_ref());
            }
        }
    }

    /// How the paths stand.
    pub(crate) fn status(&self, progress: Vec<Progress>, meter: &mut Meter, now: Instant) -> Vec<PathStatus> {
        let rates = meter.rates(now, &progress.iter().map(|path| path.sent).collect::<Vec<_>>());
        let path = |((path, place), rate_bps): ((Progress, &Place), f64)| PathStatus {
            name: place.local().to_string(),
            usable: path.usable,
            bytes: path.sent,
            rate_bps,
            srtt: path.srtt,
            trouble: path.trouble,
        };
        progress.into_iter().zip(&self.places).zip(rates).map(path).collect()
    }
}

impl Place {
    fn new(aims: Aims) -> Self {
        let number = aims.now().local.interface.as_deref().map(interfaces::number).unwrap_or_default();
        Self { aims, number, troubled: false, gone_at: None, routed: true, metered: false }
    }
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(local) => write!(f, "{local}"),
            Self::Interface(name) => write!(f, "{name}"),
        }
    }
}

/// Whether the system says of a packet that there is no way any more, rather than that this packet is none.
fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::ENETDOWN, Errno::ENETUNREACH, Errno::EADDRNOTAVAIL, Errno::ENODEV, Errno::ENXIO];
    errno(error).is_some_and(|number| gone.contains(&number))
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw)
}

/// A path's socket, perhaps in the place of another one.
fn bind(sockets: &mut Sockets, path: usize, local: &Local) -> io::Result<()> {
    let (address, interface) = (SocketAddr::new(local.address, 0), local.interface.as_deref());
    if path < sockets.len() {
        sockets.replace(path, address, interface)?;
    } else {
        sockets.add(address, interface)?;
    }
    sockets.ask(path);
    Ok(())
}

/// Whether a name is that of a path.
fn means(name: &str, local: &Local) -> bool {
    local.interface.as_deref() == Some(name) || local.address.to_string() == name || local.to_string() == name
}

/// Every name has to be that of a path that is there, or may come: of one that is waited for, or of an interface that there is, where all are paths.
fn check(given: &[(String, Term)], places: &[Place], awaited: &[Awaited], every: bool) -> Result<(), Error> {
    let may_come = |name: &str| {
        let waits = |one: &Awaited| match one {
            Awaited::Local(local) => means(name, local),
            Awaited::Interface(interface) => interface == name,
        };
        awaited.iter().any(waits) || every && interfaces::number(name) != 0
    };
    for (name, _) in given {
        if !places.iter().any(|place| is_named(name, &place.aims)) && !may_come(name) {
            let known = places.iter().map(|place| place.local().to_string());
            let known: Vec<String> = known.chain(awaited.iter().map(ToString::to_string)).collect();
            return Err(Error::Setting(format!("{name}: no such path: choose {}", known.join(", "))));
        }
    }
    Ok(())
}

/// Whether a name is that of a path, whichever of its addresses it uses.
fn is_named(name: &str, aims: &Aims) -> bool {
    aims.locals().any(|local| means(name, local))
}

/// The terms of a path.
fn terms_of(given: &[(String, Term)], aims: &Aims) -> Terms {
    let mut terms = Terms::default();
    for (_, term) in given.iter().filter(|(name, _)| is_named(name, aims)) {
        match *term {
            Term::Cost(cost) => terms.cost = cost,
            Term::Budget(bytes) => terms.budget = Some(bytes),
            Term::Backup => terms.backup = true,
        }
    }
    terms
}

#[cfg(test)]
mod tests;
