//! The paths of the connecting end: local addresses, terms and sockets, and interfaces that appear,
//! disappear and change.

use super::address_pairs::{AddressPairs, resolve};
use super::error_queue::QueuedError;
use super::interface_changes::{
    InterfaceChange, ScannedPath, index_for_new_path, interface_changes, is_taken,
};
use super::interfaces::{self, Snapshot};
use super::notices::Notices;
use super::sockets::{NOTICE, Sockets};
use super::{Connect, Local, Meter, PathStatus};
use crate::address_change::AddressChange;
use crate::connection::DatagramBatch;
use crate::connector::Progress;
use crate::error::Error;
use crate::opening_end::OpeningEnd;
use crate::terms::Terms;
use nix::errno::Errno;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Interval between two scans of the interfaces without a notice of the system.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// Shortest interval between two scans, because one change causes several notices.
const MIN_SCAN_INTERVAL: Duration = Duration::from_millis(20);

/// After one path reports a refused connection, other paths may still get an answer for this long.
const REFUSAL_GRACE: Duration = Duration::from_secs(3);

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
pub(crate) struct LocalPaths {
    /// The peer as the user named it.
    to: String,
    /// Addresses of the peer.
    remotes: Vec<SocketAddr>,
    /// Whether the peer has ever answered.
    answered: bool,
    pub(crate) terms: Vec<Terms>,
    pub(crate) sockets: Sockets,
    scanned_paths: Vec<ScannedPath>,
    named_terms: Vec<(String, Term)>,
    awaited: Vec<Awaited>,
    /// True if the user named no path: every interface that appears becomes one.
    all_interfaces: bool,
    may_grow: bool,
    /// `None` if the system gives no notices; then only periodic scans find changes.
    notices: Option<Notices>,
    scanned_at: Instant,
    scan_at: Instant,
    out: Vec<DatagramBatch>,
}

impl LocalPaths {
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
        let all_interfaces = awaited.is_empty() && !found.is_here();
        let (mut scanned_paths, mut refused): (Vec<ScannedPath>, Option<Error>) = (Vec::new(), None);
        let mut usable = if awaited.is_empty() { found.usable() } else { Vec::new() };
        if awaited.is_empty() && usable.is_empty() {
            usable.push(found.chosen().map_err(Error::Setting)?);
        }
        let mut bind = |pairs: AddressPairs| {
            let local = &pairs.current().local;
            bind(&mut sockets, scanned_paths.len(), local)
                .map_err(|error| Error::Setting(format!("local address {local}: {error}")))?;
            scanned_paths.push(ScannedPath::new(pairs));
            Ok(())
        };
        for pairs in usable {
            bind(pairs)?;
        }
        awaited.retain(|one| {
            let missing =
                |name: &str| Error::Setting(format!("{}: {}", found.missing(name), found.choices()));
            let other = |local: &Local| {
                let family = if local.address.is_ipv4() { "IPv4" } else { "IPv6" };
                Error::Setting(format!("local address {local}: {} has no {family} address", wanted.to))
            };
            let pairs = match one {
                Awaited::Local(local) => found.from(local).ok_or_else(|| other(local)),
                Awaited::Interface(name) => found.named(name).ok_or_else(|| missing(name)),
            };
            let opened = pairs.and_then(&mut bind);
            let failed = opened.is_err();
            refused = refused.take().or(opened.err());
            failed
        });
        if let Some(error) = refused.filter(|_| scanned_paths.is_empty() || !may_grow) {
            return Err(error);
        }
        let named_terms = wanted.terms.clone();
        check(&named_terms, &scanned_paths, &awaited, all_interfaces)?;
        let terms: Vec<Terms> =
            scanned_paths.iter().map(|scanned| terms_of(&named_terms, &scanned.pairs)).collect();
        for (scanned, terms) in scanned_paths.iter_mut().zip(&terms) {
            scanned.has_budget = terms.budget.is_some();
        }
        Ok(Self {
            to: wanted.to.clone(),
            remotes,
            answered: false,
            terms,
            sockets,
            scanned_paths,
            named_terms,
            awaited,
            all_interfaces,
            may_grow,
            notices,
            scanned_at: now,
            scan_at: now + SCAN_INTERVAL,
            out: Vec::new(),
        })
    }

    /// Returns the local end of each path.
    pub(crate) fn locals(&self) -> Vec<Local> {
        self.scanned_paths.iter().map(|scanned| scanned.local().clone()).collect()
    }

    /// Returns the local address of each path.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.scanned_paths.iter().map(|scanned| scanned.local().address).collect()
    }

    /// Returns the peer's address on the first path.
    pub(crate) fn remote(&self) -> SocketAddr {
        self.scanned_paths.first().map_or(self.remotes[0], |scanned| scanned.pairs.current().remote)
    }

    /// Starts the search for the peer. Returns the paths whose peer address differs from that of
    /// the first path.
    pub(crate) fn restart_search(&mut self) -> Vec<AddressChange> {
        self.scanned_paths.iter_mut().for_each(|scanned| scanned.pairs.restart());
        let remote = self.remote();
        let others = (0..self.scanned_paths.len())
            .filter(|path| self.scanned_paths[*path].pairs.current().remote != remote);
        others.map(|path| self.redirected(path)).collect()
    }

    fn redirected(&self, path: usize) -> AddressChange {
        let pair = self.scanned_paths[path].pairs.current();
        AddressChange::Redirected(path, pair.local.address, pair.remote)
    }

    /// Returns the error for an unreachable peer, if no socket listens on any of its addresses. A
    /// peer that has answered once is not refused; the sender's patience limits the search.
    fn refusal(&self, now: Instant) -> Option<String> {
        let refused = || self.scanned_paths.iter().filter_map(|scanned| scanned.pairs.refused_at());
        let first = refused().min().filter(|_| !self.answered)?;
        let may_answer = |scanned: &ScannedPath| {
            scanned.gone_at.is_none() && scanned.has_route && scanned.pairs.refused_at().is_none()
        };
        let waits = self.scanned_paths.iter().any(may_answer) && now < first + REFUSAL_GRACE;
        (!waits).then(|| format!("{}: nothing listens there (connection refused)", self.to))
    }

    /// Returns the awaited addresses and interfaces.
    pub(crate) fn awaited(&self) -> Vec<String> {
        self.awaited.iter().map(ToString::to_string).collect()
    }

    /// Passes everything new to an end: datagrams, time, and changes of the paths.
    pub(crate) fn drive(&mut self, now: Instant, end: &mut impl OpeningEnd) {
        self.receive(|path, remote, datagrams, each| {
            end.handle_datagrams(now, path, remote, datagrams, each);
        });
        end.handle_timeout(now);
        for address_change in self.rescan(now) {
            end.handle_address_change(now, &address_change);
        }
        if let Some(reason) = self.refusal(now) {
            end.give_up(reason);
        }
    }

    /// Receives datagrams. `take` gets the path, the peer's address, one or more datagrams in a
    /// row, and the size of each datagram except the last.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(usize, SocketAddr, &[u8], usize)) {
        let Self { sockets, scanned_paths, answered, .. } = self;
        for (path, scanned) in scanned_paths.iter_mut().enumerate() {
            sockets.receive(path, |remote, _, datagrams, each| {
                scanned.pairs.note_answer(remote);
                take(path, remote, datagrams, each);
            });
            *answered |= scanned.pairs.has_answered();
        }
    }

    /// Handles errors and peer addresses, and scans the interfaces when a scan is due. Returns the
    /// changes of the paths. A path that needs another socket already has it.
    pub(crate) fn rescan(&mut self, now: Instant) -> Vec<AddressChange> {
        let mut address_changes = Vec::new();
        self.handle_packet_errors(now, &mut address_changes);
        self.advance(now, &mut address_changes);
        if let Some(notices) = self.notices.as_mut().filter(|_| self.sockets.has_notice()) {
            notices.clear();
            self.scan_at = self.scan_at.min(self.scanned_at + MIN_SCAN_INTERVAL);
        }
        if now < self.scan_at {
            return address_changes;
        }
        (self.scanned_at, self.scan_at) = (now, now + SCAN_INTERVAL);
        let found = Snapshot::take(&self.remotes);
        if found.is_empty() {
            return address_changes;
        }
        let find = |scanned: &ScannedPath| match &scanned.local().interface {
            Some(name) => {
                let pairs = found.working(name)?.starting_with(scanned.pairs.current().remote);
                Some((pairs, interfaces::number(name)))
            }
            None => found.has(scanned.local().address).then(|| (scanned.pairs.clone(), 0)),
        };
        for change in interface_changes(&self.scanned_paths, find) {
            address_changes.extend(self.apply(now, change));
        }
        for (path, scanned) in self.scanned_paths.iter_mut().enumerate() {
            let has_route = found.is_routed(&scanned.pairs);
            if std::mem::replace(&mut scanned.has_route, has_route) && !has_route {
                address_changes.push(AddressChange::Unreachable(path));
            }
        }
        if self.may_grow {
            self.open_awaited(&found, &mut address_changes);
        }
        address_changes
    }

    /// Reads the queued errors of sent packets.
    fn handle_packet_errors(&mut self, now: Instant, address_changes: &mut Vec<AddressChange>) {
        for (path, scanned) in self.scanned_paths.iter_mut().enumerate() {
            let headers = if scanned.local().address.is_ipv4() { 28 } else { 48 };
            for error in self.sockets.take_errors(path) {
                match error {
                    QueuedError::Refused(remote) => scanned.pairs.refuse(now, remote),
                    QueuedError::TooLarge { bytes, own } => {
                        let bytes = u16::try_from(bytes.saturating_sub(headers)).unwrap_or(u16::MAX);
                        address_changes.push(AddressChange::MtuLimited { path, bytes, own });
                    }
                    QueuedError::NoRoute => address_changes.push(AddressChange::Unreachable(path)),
                }
            }
        }
    }

    /// Moves each path without an answer on to the peer's next address, if its time is over.
    fn advance(&mut self, now: Instant, address_changes: &mut Vec<AddressChange>) {
        let answered = self.scanned_paths.iter().find(|scanned| scanned.pairs.has_answered());
        let known = answered.map(|scanned| scanned.pairs.current().remote);
        for path in 0..self.scanned_paths.len() {
            let scanned = &mut self.scanned_paths[path];
            if scanned.pairs.has_answered() {
                continue;
            }
            let before = scanned.local().clone();
            let kept_host = known.is_some_and(|remote| scanned.pairs.keep_host(remote));
            if kept_host || scanned.pairs.advance(now) {
                let local = scanned.local().clone();
                if local == before || bind(&mut self.sockets, path, &local).is_ok() {
                    address_changes.push(self.redirected(path));
                }
            }
        }
    }

    fn apply(&mut self, now: Instant, change: InterfaceChange) -> Option<AddressChange> {
        match change {
            InterfaceChange::Moved(path, pairs, number) => {
                bind(&mut self.sockets, path, &pairs.current().local).ok()?;
                let before = self.scanned_paths[path].pairs.current().remote;
                let has_budget = self.scanned_paths[path].has_budget;
                self.scanned_paths[path] = ScannedPath { number, has_budget, ..ScannedPath::new(pairs) };
                let pair = self.scanned_paths[path].pairs.current();
                let moved = AddressChange::Moved(path, pair.local.address);
                Some(if pair.remote == before { moved } else { self.redirected(path) })
            }
            InterfaceChange::Removed(path) => {
                self.scanned_paths[path].gone_at = Some(now);
                Some(AddressChange::Removed(path))
            }
            InterfaceChange::Restored(path) => {
                (self.scanned_paths[path].gone_at, self.scanned_paths[path].send_failed) = (None, false);
                Some(AddressChange::Restored(path))
            }
        }
    }

    /// Opens paths for new interfaces and for awaited ones.
    fn open_awaited(&mut self, found: &Snapshot, address_changes: &mut Vec<AddressChange>) {
        for pairs in if self.all_interfaces { found.usable() } else { Vec::new() } {
            self.add(pairs, address_changes);
        }
        for one in std::mem::take(&mut self.awaited) {
            let pairs = match &one {
                Awaited::Local(local) => found.from(local).filter(|_| found.has(local.address)),
                Awaited::Interface(name) => found.working(name),
            };
            if !pairs.is_some_and(|pairs| self.add(pairs, address_changes)) {
                self.awaited.push(one);
            }
        }
    }

    /// Adds a path, if an index is free. Returns whether a path from this local end exists now.
    fn add(&mut self, pairs: AddressPairs, address_changes: &mut Vec<AddressChange>) -> bool {
        let local = pairs.current().local.clone();
        if is_taken(&self.scanned_paths, &local) {
            return true;
        }
        let Some(path) = index_for_new_path(&self.scanned_paths) else { return false };
        // An address that is not ready yet is tried again at the next scan.
        if bind(&mut self.sockets, path, &local).is_err() {
            return false;
        }
        let (address, terms) = (local.address, terms_of(&self.named_terms, &pairs));
        let scanned = ScannedPath { has_budget: terms.budget.is_some(), ..ScannedPath::new(pairs) };
        if path == self.scanned_paths.len() {
            self.scanned_paths.push(scanned);
            self.terms.push(terms);
            address_changes.push(AddressChange::Added(address, terms));
        } else {
            self.scanned_paths[path] = scanned;
            self.terms[path] = terms;
            address_changes.push(AddressChange::Replaced(path, address, terms));
        }
        if self.remotes.len() > 1 {
            address_changes.push(self.redirected(path));
        }
        true
    }

    /// Sends the datagrams of an end after the queued ones. The end learns which paths refuse a
    /// datagram.
    pub(crate) fn transmit(&mut self, now: Instant, end: &mut impl OpeningEnd) {
        end.transmit(now, &mut self.out);
        for path in 0..self.sockets.len() {
            self.sockets.send(path, None);
        }
        for batch in self.out.drain(..) {
            let path = batch.path;
            // The error queue reports this error together with the size limit (see
            // `handle_packet_errors`).
            let is_reported =
                |error: &io::Error| cfg!(target_os = "linux") && errno(error) == Some(Errno::EMSGSIZE);
            if let Some(trouble) = self.sockets.send(path, Some(batch)).filter(|error| !is_reported(error)) {
                let scanned = &mut self.scanned_paths[path];
                scanned.send_failed = true;
                if scanned.gone_at.is_none() && is_gone(&trouble) {
                    scanned.gone_at = Some(now);
                    end.handle_address_change(now, &AddressChange::Removed(path));
                }
                end.handle_failure(path, &trouble.to_string());
            }
        }
    }

    /// Returns the state of each path.
    pub(crate) fn status(&self, progress: Vec<Progress>, meter: &mut Meter, now: Instant) -> Vec<PathStatus> {
        let rates = meter.rates(now, &progress.iter().map(|path| path.sent).collect::<Vec<_>>());
        let path = |((path, scanned), rate_bps): ((Progress, &ScannedPath), f64)| PathStatus {
            name: scanned.local().to_string(),
            usable: path.usable,
            bytes: path.sent,
            rate_bps,
            srtt: path.srtt,
            trouble: path.trouble,
        };
        progress.into_iter().zip(&self.scanned_paths).zip(rates).map(path).collect()
    }
}

impl ScannedPath {
    fn new(pairs: AddressPairs) -> Self {
        let number = pairs.current().local.interface.as_deref().map(interfaces::number).unwrap_or_default();
        Self { pairs, number, send_failed: false, gone_at: None, has_route: true, has_budget: false }
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
    sockets.enable_errors(path);
    Ok(())
}

/// Whether `name` is the name of this local end.
fn is_name_of(name: &str, local: &Local) -> bool {
    local.interface.as_deref() == Some(name) || local.address.to_string() == name || local.to_string() == name
}

/// Returns an error for a name without a path. Valid names are those of existing paths and awaited
/// paths. If every interface is used, the name of any existing interface is valid too.
fn check(
    named_terms: &[(String, Term)],
    scanned_paths: &[ScannedPath],
    awaited: &[Awaited],
    all_interfaces: bool,
) -> Result<(), Error> {
    let may_come = |name: &str| {
        let waits = |one: &Awaited| match one {
            Awaited::Local(local) => is_name_of(name, local),
            Awaited::Interface(interface) => interface == name,
        };
        awaited.iter().any(waits) || all_interfaces && interfaces::number(name) != 0
    };
    for (name, _) in named_terms {
        if !scanned_paths.iter().any(|scanned| is_named(name, &scanned.pairs)) && !may_come(name) {
            let known = scanned_paths.iter().map(|scanned| scanned.local().to_string());
            let known: Vec<String> = known.chain(awaited.iter().map(ToString::to_string)).collect();
            return Err(Error::Setting(format!("{name}: no such path: choose {}", known.join(", "))));
        }
    }
    Ok(())
}

/// Whether `name` is the name of a path, under any of its local addresses.
fn is_named(name: &str, pairs: &AddressPairs) -> bool {
    pairs.locals().any(|local| is_name_of(name, local))
}

/// Returns the terms of a path.
fn terms_of(named_terms: &[(String, Term)], pairs: &AddressPairs) -> Terms {
    let mut terms = Terms::default();
    for (_, term) in named_terms.iter().filter(|(name, _)| is_named(name, pairs)) {
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
