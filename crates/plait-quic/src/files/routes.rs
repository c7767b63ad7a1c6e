//! The paths of the end that opens them: local addresses, what each is for, a socket for each, and interfaces that come, go and change.

use super::changes::{Change, Place, changes, is_taken, place_for_another};
use super::interfaces::{self, Snapshot};
use super::notices::Notices;
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
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Between two looks at which addresses interfaces have, whatever the system says of them.
const RESCAN: Duration = Duration::from_secs(1);

/// Likewise at least: what is said of one change comes in pieces.
const PAUSE: Duration = Duration::from_millis(20);

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

/// A path that is wanted and not to be had yet.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Awaited {
    Local(Local),
    Interface(String),
}

/// All paths to one address.
pub(crate) struct Routes {
    pub(crate) remote: SocketAddr,
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
        let remote = resolve(&wanted.to, &wanted.locals)?;
        // A recording is of the paths that it began with.
        let may_grow = wanted.record.is_none();
        let found = Snapshot::take(remote);
        let mut sockets = Sockets::new()?;
        let notices = Notices::open(sockets.registry(), NOTICE).ok();
        let named = wanted.locals.iter().cloned().map(Awaited::Local);
        let mut awaited: Vec<_> =
            named.chain(wanted.interfaces.iter().cloned().map(Awaited::Interface)).collect();
        let every = awaited.is_empty() && !found.is_here();
        let (mut places, mut refused): (Vec<Place>, Option<Error>) = (Vec::new(), None);
        let locals = if awaited.is_empty() { interfaces::usable(remote)? } else { Vec::new() };
        let mut bind = |local: Local| {
            bind(&mut sockets, places.len(), &local)?;
            places.push(Place::new(local));
            Ok(())
        };
        for local in locals {
            bind(local)?;
        }
        awaited.retain(|one| {
            let missing =
                |name: &str| Error::Setting(format!("{}: {}", found.missing(name), found.choices()));
            let local = match one {
                Awaited::Local(local) => Ok(local.clone()),
                Awaited::Interface(name) => found.named(name).ok_or_else(|| missing(name)),
            };
            let opened = local.and_then(&mut bind);
            let failed = opened.is_err();
            refused = refused.take().or(opened.err());
            failed
        });
        if let Some(error) = refused.filter(|_| places.is_empty() || !may_grow) {
            return Err(error);
        }
        let given = wanted.terms.clone();
        check(&given, &places, &awaited, every)?;
        let terms: Vec<Terms> = places.iter().map(|place| terms_of(&given, &place.local)).collect();
        for (place, terms) in places.iter_mut().zip(&terms) {
            place.metered = terms.budget.is_some();
        }
        let look_at = now + RESCAN;
        Ok(Self {
            remote,
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
        self.places.iter().map(|place| place.local.clone()).collect()
    }

    /// Their addresses.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.places.iter().map(|place| place.local.address).collect()
    }

    /// The addresses and interfaces that are waited for.
    pub(crate) fn awaited(&self) -> Vec<String> {
        self.awaited.iter().map(ToString::to_string).collect()
    }

    /// The datagrams that came: on which path, from where, and several that came together with the size of each but the last.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(usize, SocketAddr, &[u8], usize)) {
        for path in 0..self.sockets.len() {
            self.sockets.receive(path, |remote, _, datagrams, each| take(path, remote, datagrams, each));
        }
    }

    /// Now and then, and when the system says that something has changed: what became of the paths. Those that need another socket have it.
    pub(crate) fn rescan(&mut self, now: Instant) -> Vec<Reroute> {
        if let Some(notices) = self.notices.as_mut().filter(|_| self.sockets.is_noticed()) {
            notices.clear();
            self.look_at = self.look_at.min(self.looked_at + PAUSE);
        }
        if now < self.look_at {
            return Vec::new();
        }
        (self.looked_at, self.look_at) = (now, now + RESCAN);
        let found = Snapshot::take(self.remote);
        if found.is_empty() {
            return Vec::new();
        }
        let find = |local: &Local| match &local.interface {
            Some(name) => Some((found.working(name)?, interfaces::number(name))),
            None => found.has(local.address).then(|| (local.clone(), 0)),
        };
        let mut reroutes = Vec::new();
        for change in changes(&self.places, find) {
            reroutes.extend(self.apply(now, change));
        }
        if self.may_grow {
            self.take_up(&found, &mut reroutes);
        }
        reroutes
    }

    fn apply(&mut self, now: Instant, change: Change) -> Option<Reroute> {
        match change {
            Change::Moved(path, local, number) => {
                rebind(&mut self.sockets, path, &local).ok()?;
                let address = local.address;
                let metered = self.places[path].metered;
                self.places[path] = Place { number, metered, ..Place::new(local) };
                Some(Reroute::Moved(path, address))
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

    /// What is there now and no path yet becomes one.
    fn take_up(&mut self, found: &Snapshot, reroutes: &mut Vec<Reroute>) {
        for local in if self.every { found.usable() } else { Vec::new() } {
            self.add(local, reroutes);
        }
        for one in std::mem::take(&mut self.awaited) {
            let local = match &one {
                Awaited::Local(local) => found.has(local.address).then(|| local.clone()),
                Awaited::Interface(name) => found.working(name),
            };
            if !local.is_some_and(|local| self.add(local, reroutes)) {
                self.awaited.push(one);
            }
        }
    }

    /// Another path, if there is a place for it; whether there is one from there now.
    fn add(&mut self, local: Local, reroutes: &mut Vec<Reroute>) -> bool {
        if is_taken(&self.places, &local) {
            return true;
        }
        let Some(path) = place_for_another(&self.places) else { return false };
        // An address that is not ready is there at the next look.
        if bind_or_rebind(&mut self.sockets, path, &local).is_err() {
            return false;
        }
        let (address, terms) = (local.address, terms_of(&self.given, &local));
        let place = Place { metered: terms.budget.is_some(), ..Place::new(local) };
        if path == self.places.len() {
            self.places.push(place);
            self.terms.push(terms);
            reroutes.push(Reroute::Added(address, terms));
        } else {
            self.places[path] = place;
            self.terms[path] = terms;
            reroutes.push(Reroute::Replaced(path, address, terms));
        }
        true
    }

    /// Sends these datagrams, and what waited. Paths that take none are told of, and with them what that means for the path.
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
            if let Some(trouble) = self.sockets.send(path, Some(outgoing)) {
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
            name: place.local.to_string(),
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
    fn new(local: Local) -> Self {
        let number = local.interface.as_deref().map(interfaces::number).unwrap_or_default();
        Self { local, number, troubled: false, gone_at: None, metered: false }
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
    error.raw_os_error().is_some_and(|number| gone.contains(&Errno::from_raw(number)))
}

fn bind(sockets: &mut Sockets, path: usize, local: &Local) -> Result<(), Error> {
    bind_or_rebind(sockets, path, local)
        .map_err(|error| Error::Setting(format!("local address {local}: {error}")))
}

fn bind_or_rebind(sockets: &mut Sockets, path: usize, local: &Local) -> io::Result<()> {
    if path < sockets.len() {
        return rebind(sockets, path, local);
    }
    sockets.add(SocketAddr::new(local.address, 0), local.interface.as_deref()).map(|_| ())
}

fn rebind(sockets: &mut Sockets, path: usize, local: &Local) -> io::Result<()> {
    sockets.replace(path, SocketAddr::new(local.address, 0), local.interface.as_deref())
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
        if !places.iter().any(|place| means(name, &place.local)) && !may_come(name) {
            let known = places.iter().map(|place| place.local.to_string());
            let known: Vec<String> = known.chain(awaited.iter().map(ToString::to_string)).collect();
            return Err(Error::Setting(format!("{name}: no such path: choose {}", known.join(", "))));
        }
    }
    Ok(())
}

/// The terms of a path.
fn terms_of(given: &[(String, Term)], local: &Local) -> Terms {
    let mut terms = Terms::default();
    for (_, term) in given.iter().filter(|(name, _)| means(name, local)) {
        match *term {
            Term::Cost(cost) => terms.cost = cost,
            Term::Budget(bytes) => terms.budget = Some(bytes),
            Term::Backup => terms.backup = true,
        }
    }
    terms
}

/// The receiver's address, of the family that the local addresses have.
fn resolve(to: &str, locals: &[Local]) -> Result<SocketAddr, Error> {
    let failed = |error: io::Error| Error::Setting(format!("{to}: {error}"));
    let mut found = to.to_socket_addrs().map_err(failed)?;
    let suits = |remote: &SocketAddr| locals.iter().all(|local| local.address.is_ipv4() == remote.is_ipv4());
    found
        .find(suits)
        .ok_or_else(|| Error::Setting(format!("{to}: no address of the local addresses' family")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::now;
    use crate::identity::{Fingerprint, Secret};
    use crate::settings::Settings;

    fn open(
        to: &str,
        locals: &[&str],
        interfaces: &[&str],
        terms: &[(String, Term)],
    ) -> Result<Routes, Error> {
        let locals: Vec<Local> = locals.iter().map(|local| local.parse().expect("it is one")).collect();
        let interfaces: Vec<String> = interfaces.iter().map(ToString::to_string).collect();
        let wanted = Connect {
            to: to.to_owned(),
            fingerprint: Fingerprint([0; 32]),
            secret: Secret::new(""),
            locals,
            interfaces,
            terms: terms.to_vec(),
            record: None,
            settings: Settings::default(),
        };
        Routes::open(now(), &wanted)
    }

    fn refusal(opened: Result<Routes, Error>) -> String {
        opened.err().expect("it is refused").to_string()
    }

    #[test]
    fn an_interface_that_is_not_there_is_named_with_those_that_are() {
        let error = refusal(open("192.0.2.1:9", &[], &["wlan99"], &[]));
        assert!(error.starts_with("interface wlan99: no IPv4 address") && error.contains("lo"), "{error}");
    }

    #[test]
    fn what_is_not_there_is_waited_for_if_something_else_is() {
        // TEST-NET-1 (RFC 5737): nobody's address.
        let terms = [("wlan99".to_owned(), Term::Budget(5))];
        let routes = open("127.0.0.1:9", &["127.0.0.2", "192.0.2.77"], &["wlan99"], &terms);
        let routes = routes.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(routes.addresses(), [IpAddr::from([127, 0, 0, 2])]);
        assert_eq!(routes.awaited(), ["192.0.2.77", "wlan99"]);
        let error = refusal(open("127.0.0.1:9", &["192.0.2.77"], &[], &[]));
        assert!(error.starts_with("local address 192.0.2.77: "), "{error}");
    }

    #[test]
    fn terms_are_those_of_paths_that_there_are_or_may_be() {
        let terms = [("wwna0".to_owned(), Term::Backup)];
        let error = refusal(open("127.0.0.1:9", &["127.0.0.2"], &[], &terms));
        assert!(error.starts_with("wwna0: no such path: choose 127.0.0.2"), "{error}");
    }

    #[test]
    fn a_path_whose_place_is_given_away_has_other_terms() {
        let terms = [("127.0.0.3".to_owned(), Term::Cost(7))];
        let mut routes =
            open("127.0.0.1:9", &["127.0.0.3"], &[], &terms).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(routes.terms[0].cost, 7);
        let mut reroutes = Vec::new();
        for last in 4..40 {
            routes.add(Local { address: [127, 0, 0, last].into(), interface: None }, &mut reroutes);
        }
        assert_eq!(routes.places.len(), crate::settings::MAX_LINKS, "so many and no more");
        assert_eq!(reroutes.len(), crate::settings::MAX_LINKS - 1);
        routes.apply(now(), Change::Gone(0));
        reroutes.clear();
        assert!(routes.add(Local { address: [127, 0, 0, 99].into(), interface: None }, &mut reroutes));
        assert_eq!(reroutes, [Reroute::Replaced(0, [127, 0, 0, 99].into(), Terms::default())]);
        assert_eq!((routes.terms[0].cost, routes.sockets.len()), (0, crate::settings::MAX_LINKS));
    }
}
