//! The paths of the connecting end: local addresses, terms and sockets, and interfaces that appear,
//! disappear and change.

mod scan;

use super::address_pairs::{AddressPairs, resolve};
use super::interface_changes::ScannedPath;
use super::interfaces::{self, Snapshot};
use super::notices::Notices;
use super::sockets::{NOTICE, Sockets};
use super::{Connect, Local, Meter, PathStatus};
use crate::address_change::AddressChange;
use crate::connection::{DatagramBatch, ReceivedBatch};
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
    /// Returns [`Error::Absent`] if no path can be opened now, or [`Error::Setting`] if none ever
    /// can be. With a recording, a single missing path is enough.
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
            usable.push(found.chosen().map_err(Error::Absent)?);
        }
        let mut bind = |pairs: AddressPairs| {
            let local = &pairs.current().local;
            bind(&mut sockets, scanned_paths.len(), local).map_err(|error| unbound(local, &error))?;
            scanned_paths.push(ScannedPath::new(pairs));
            Ok(())
        };
        for pairs in usable {
            bind(pairs)?;
        }
        awaited.retain(|one| {
            let missing = |name: &str| Error::Absent(format!("{}; {}", found.missing(name), found.states()));
            let other = |local: &Local| {
                let family = if local.address.is_ipv4() { "IPv4" } else { "IPv6" };
                let text = format!("local address {local}: {} has no {family} address", wanted.to);
                // A name may get another address.
                let is_fixed = wanted.to.parse::<SocketAddr>().is_ok();
                if is_fixed { Error::Setting(text) } else { Error::Absent(text) }
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
        check(&named_terms, &scanned_paths, &awaited, all_interfaces, may_grow)?;
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

    /// Returns the awaited addresses and interfaces. Those that have terms are awaited, too.
    pub(crate) fn awaited(&self) -> Vec<String> {
        let mut names: Vec<String> = self.awaited.iter().map(ToString::to_string).collect();
        for (name, _) in &self.named_terms {
            let is_path = self.scanned_paths.iter().any(|scanned| is_named(name, &scanned.pairs));
            if !is_path && !self.awaited.iter().any(|one| one.has_name(name)) && !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Passes everything new to an end: datagrams, time, and changes of the paths.
    pub(crate) fn drive(&mut self, now: Instant, end: &mut impl OpeningEnd) {
        self.receive(|path, batch| end.handle_datagrams(now, path, batch));
        end.handle_timeout(now);
        for address_change in self.rescan(now) {
            end.handle_address_change(now, &address_change);
        }
        if let Some(reason) = self.refusal(now) {
            end.give_up(reason);
        }
    }

    /// Passes the datagrams of each path to `take`.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(usize, &ReceivedBatch<'_>)) {
        let Self { sockets, scanned_paths, answered, .. } = self;
        for (path, scanned) in scanned_paths.iter_mut().enumerate() {
            sockets.receive(path, |batch| {
                scanned.pairs.note_answer(batch.remote);
                take(path, batch);
            });
            *answered |= scanned.pairs.has_answered();
        }
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

impl Awaited {
    fn has_name(&self, name: &str) -> bool {
        match self {
            Self::Local(local) => is_name_of(name, local),
            Self::Interface(interface) => interface == name,
        }
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

/// Returns the error of a local address that cannot be bound. Only a missing permission is wrong
/// input.
fn unbound(local: &Local, error: &io::Error) -> Error {
    let text = format!("local address {local}: {error}");
    if error.kind() == io::ErrorKind::PermissionDenied { Error::Setting(text) } else { Error::Absent(text) }
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

/// Returns an error for a name without a path. If every interface is used, any name may become one,
/// but a recording has only the initial paths.
fn check(
    named_terms: &[(String, Term)],
    scanned_paths: &[ScannedPath],
    awaited: &[Awaited],
    all_interfaces: bool,
    may_grow: bool,
) -> Result<(), Error> {
    for (name, _) in named_terms {
        let is_path = scanned_paths.iter().any(|scanned| is_named(name, &scanned.pairs));
        if is_path || awaited.iter().any(|one| one.has_name(name)) || all_interfaces && may_grow {
            continue;
        }
        let known = scanned_paths.iter().map(|scanned| scanned.local().to_string());
        let known: Vec<String> = known.chain(awaited.iter().map(ToString::to_string)).collect();
        let text = format!("{name}: no such path: choose {}", known.join(", "));
        return Err(if all_interfaces { Error::Absent(text) } else { Error::Setting(text) });
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
