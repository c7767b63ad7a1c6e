//! The paths of the connecting end: local addresses, terms and sockets, and interfaces that appear,
//! disappear and change.

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

/// Interval between two scans of the interfaces without a notice of the system.
const RESCAN: Duration = Duration::from_secs(1);

/// Shortest interval between two scans, because one change causes several notices.
const PAUSE: Duration = Duration::from_millis(20);

/// After one path reports a refused connection, other paths may still get an answer for this long.
const DOUBT: Duration = Duration::from_secs(3);

/// A single term of a path; see [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// The cost of the path.
    Cost(u32),
    /// Number of payload bytes that the path may carry.
    Budget(u64),
    /// The path is used only while no other path works.
    Backup,
}

/// A path that the user named and that cannot be opened yet.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Awaited {
    Local(Local),
    Interface(String),
}

/// All paths to one peer.
pub(crate) struct Routes {
    /// The peer as the user named it.
    to: String,
    /// Addresses of the peer.
    remotes: Vec<SocketAddr>,
    /// Whether the peer has ever answered.
    answered: bool,
    pub(crate) terms: Vec<Terms>,
    pub(crate) sockets: Sockets,
    places: Vec<Place>,
    given: Vec<(String, Term)>,
    awaited: Vec<Awaited>,
    /// True if the user named no path: every interface that appears becomes one.
    every: bool,
    may_grow: bool,
    /// `None` if the system gives no notices; then only periodic scans find changes.
    notices: Option<Notices>,
    looked_at: Instant,
    look_at: Instant,
}

impl Routes {
    /// Binds a socket for each path. If at least one path can be opened, the other named paths are
    /// awaited.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] if no path can be opened. With a recording, a single missing path
    /// is enough.
    pub(crate) fn open(now: Instant, wanted: &Connect) -> Result<Self, Error> {
        let remotes = resolve(&wanted.to)?;
        // A recording covers only the paths that exist at its beginning.
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

    /// Returns the local end of each path.
    pub(crate) fn locals(&self) -> Vec<Local> {
        self.places.iter().map(|place| place.local().clone()).collect()
    }

    /// Returns the local address of each path.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.places.iter().map(|place| place.local().address).collect()
    }

    /// Returns the peer's address on the first path.
    pub(crate) fn remote(&self) -> SocketAddr {
        self.places.first().map_or(self.remotes[0], |place| place.aims.now().remote)
    }

    /// Starts the search for the peer. Returns the paths whose peer address differs from that of
    /// the first path.
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

    /// Returns the error for an unreachable peer, if no socket listens on any of its addresses. A
    /// peer that has answered once is not refused; the sender's patience limits the search.
    pub(crate) fn refusal(&self, now: Instant) -> Option<String> {
        let refused = || self.places.iter().filter_map(|place| place.aims.refused_at());
        let first = refused().min().filter(|_| !self.answered)?;
        let may_answer =
            |place: &Place| place.gone_at.is_none() && place.routed && place.aims.refused_at().is_none();
        let waits = self.places.iter().any(may_answer) && now < first + DOUBT;
        (!waits).then(|| format!("{}: nothing listens there (connection refused)", self.to))
    }

    /// Returns the awaited addresses and interfaces.
    pub(crate) fn awaited(&self) -> Vec<String> {
        self.awaited.iter().map(ToString::to_string).collect()
    }

    /// Receives datagrams. `take` gets the path, the peer's address, one or more datagrams in a
    /// row, and the size of each datagram except the last.
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

    /// Handles errors and peer addresses, and scans the interfaces when a scan is due. Returns the
    /// changes of the paths. A path that needs another socket already has it.
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

    /// Reads the queued errors of sent packets.
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

    /// Moves each path without an answer on to the peer's next address, if its time is over.
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

    /// Opens paths for new interfaces and for awaited ones.
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

    /// Adds a path, if a place is free. Returns whether a path from this local end exists now.
    fn add(&mut self, aims: Aims, reroutes: &mut Vec<Reroute>) -> bool {
        let local = aims.now().local.clone();
        if is_taken(&self.places, &local) {
            return true;
        }
        let Some(path) = place_for_another(&self.places) else { return false };
        // An address that is not ready yet is tried again at the next scan.
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

    /// Sends these datagrams after the queued ones. Calls `failed` for each path that refuses a
    /// datagram, with the change of the path.
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
            // The error queue reports this error together with the size limit (see `hear`).
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

    /// Returns the state of each path.
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

/// Whether the error means that the path has no route any more, rather than that this packet is
/// invalid.
fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::ENETDOWN, Errno::ENETUNREACH, Errno::EADDRNOTAVAIL, Errno::ENODEV, Errno::ENXIO];
    errno(error).is_some_and(|number| gone.contains(&number))
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw)
}

/// Opens or replaces the socket of a path.
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

/// Whether `name` is the name of this local end.
fn means(name: &str, local: &Local) -> bool {
    local.interface.as_deref() == Some(name) || local.address.to_string() == name || local.to_string() == name
}

/// Returns an error for a name without a path. Valid names are those of existing paths and awaited
/// paths. If every interface is used, the name of any existing interface is valid too.
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

/// Whether `name` is the name of a path, under any of its local addresses.
fn is_named(name: &str, aims: &Aims) -> bool {
    aims.locals().any(|local| means(name, local))
}

/// Returns the terms of a path.
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
