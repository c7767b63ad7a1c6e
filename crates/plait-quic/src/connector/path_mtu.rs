//! Checks that paths carry full datagrams (RFC 8899).
//!
//! A path has a second QUIC connection if its datagrams are larger than [`BASE_MTU`], or if full
//! datagrams got lost before. noq searches the path's MTU on that connection. The path joins once
//! the full size is acknowledged there. noq's own detection of black holes mistakes losses in full
//! queues for a black hole. Therefore no connection that carries data uses it: see
//! `Session::take_black_hole`.

use super::Connector;
use super::dialed_path::{DialedPath, RETRY};
use crate::connection::{DONE, PathConnection};
use crate::identity::NAME;
use crate::settings::{BASE_MTU, MTUS, NEXT_SEARCH, Settings};
use noq_proto::ClientConfig;
use std::time::{Duration, Instant};

/// Time for MTU discovery to find a smaller size before the transfer fails because no path carries
/// full datagrams.
const SEARCH: Duration = Duration::from_secs(1);

/// Time to wait at the beginning for paths that have not answered, if another path is too small.
const SILENCE: Duration = Duration::from_secs(3);

/// Trouble of a path whose full datagrams get lost while smaller ones arrive.
const BLACK_HOLE_TROUBLE: &str = "full datagrams do not get through any more";

/// Result of the work on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathUpdate {
    /// Nothing is new.
    Unchanged,
    /// The path works from now on.
    Joined,
    /// The path carries no full datagrams any more, and is opened anew.
    BlackHole,
}

/// Size of the datagrams of a path.
#[derive(Debug, Default)]
pub(super) struct PathMtu {
    /// Connection that searches the MTU.
    probe: Option<PathConnection>,
    /// Time of the next search.
    next_search_at: Option<Instant>,
    /// MTU that the searches found.
    found: u16,
    /// True if full datagrams get through.
    confirmed: bool,
    /// True if full datagrams got lost before.
    suspect: bool,
    /// Bytes of UDP payload that the system, or a router (ICMP), reported.
    reported: Option<u16>,
    /// Time since which full datagrams are known not to get through.
    too_small_since: Option<Instant>,
}

impl PathMtu {
    pub(super) fn probe(&mut self) -> Option<&mut PathConnection> {
        self.probe.as_mut()
    }

    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        let closes = self.probe.as_ref().is_some_and(|probe| probe.is_closing() || probe.lost().is_some());
        let next_search_at = self.next_search_at.filter(|_| !self.confirmed && !closes);
        self.probe.as_ref().and_then(PathConnection::next_wakeup).into_iter().chain(next_search_at).min()
    }

    fn is_reported_below(&self, needed: u16) -> bool {
        self.reported.is_some_and(|reported| reported < needed)
    }
}

impl DialedPath {
    /// Opens the connection that searches the MTU, if one is needed.
    pub(super) fn probe(&mut self, now: Instant, client: &ClientConfig, settings: &Settings) {
        self.path_mtu.confirmed |= settings.mtu <= BASE_MTU && !self.path_mtu.suspect;
        if self.path_mtu.confirmed || self.path_mtu.probe.is_some() {
            return;
        }
        let mut client = client.clone();
        client.transport_config(settings.probe_transport());
        let connected = self.endpoint.connect(now, client, self.remote, NAME);
        self.path_mtu.probe = connected.ok().map(PathConnection::new);
        self.path_mtu.next_search_at = Some(now + NEXT_SEARCH);
    }

    /// Handles the timers of the connection that searches the MTU. A path that is too small is
    /// searched again and again, because its network may have changed.
    pub(super) fn search(&mut self, now: Instant, client: &ClientConfig, settings: &Settings) {
        let is_due = self.path_mtu.next_search_at.is_some_and(|at| at <= now) && !self.path_mtu.confirmed;
        if let Some(probe) = &mut self.path_mtu.probe {
            probe.work(now, &mut self.endpoint, 0);
            if is_due && !probe.is_closing() {
                probe.close(now, DONE, "another search begins");
            }
            // The far end limits such connections, too: a lost one is tried again soon.
            if probe.lost().is_some() && !probe.has_lost_probes() {
                self.path_mtu.next_search_at = self.path_mtu.next_search_at.min(Some(now + RETRY));
            }
            if probe.is_drained() {
                self.path_mtu.probe = None;
            }
        }
        if is_due && self.path_mtu.probe.is_none() {
            self.path_mtu.reported = None;
            self.probe(now, client, settings);
        }
    }

    /// Bytes of UDP payload that get through, as far as known.
    fn carries(&self) -> u16 {
        let found = self.path_mtu.found.max(*MTUS.start());
        self.path_mtu
            .reported
            .map_or(found, |reported| if reported < *MTUS.start() { reported } else { reported.max(found) })
    }

    /// Describes in words how many bytes a path carries. A report of the system or of a router
    /// concerns only a part of the path.
    fn describe_mtu(&self) -> String {
        let most = if self.path_mtu.reported.is_some_and(|reported| reported >= self.path_mtu.found) {
            " at most"
        } else {
            ""
        };
        format!("carries {}{most}", self.carries())
    }

    /// True if full datagrams get through. Otherwise a known limit becomes the path's trouble.
    pub(super) fn carries_full_datagrams(&mut self, now: Instant, needed: u16) -> bool {
        let PathMtu { probe, confirmed, found, .. } = &mut self.path_mtu;
        *found = probe.as_ref().map_or(*found, |probe| probe.mtu().max(*found));
        if let Some(probe) = probe.as_mut().filter(|probe| !*confirmed && probe.mtu() >= needed) {
            probe.close(now, DONE, "the MTU is known");
            *confirmed = true;
            (self.path_mtu.reported, self.path_mtu.too_small_since) = (None, None);
        }
        let less = self.path_mtu.is_reported_below(needed);
        if self.path_mtu.confirmed && !less {
            return true;
        }
        let lost = self.path_mtu.probe.as_mut().is_some_and(PathConnection::has_lost_probes);
        if less || lost {
            self.path_mtu.too_small_since.get_or_insert(now);
            self.trouble = Some(format!("it {}, not {needed} bytes", self.describe_mtu()));
        }
        false
    }
}

impl Connector {
    /// Opens a path anew whose full datagrams got lost. The path has to prove that they get
    /// through.
    pub(crate) fn reprobe(&mut self, now: Instant, path: usize) {
        let Some(dialed) = self.paths.get(path) else { return };
        let (local, remote) = (dialed.local, dialed.remote);
        self.relocate(now, path, local, remote);
        let dialed = &mut self.paths[path];
        dialed.path_mtu.suspect = true;
        dialed.trouble = Some(BLACK_HOLE_TROUBLE.to_owned());
    }

    /// True if a datagram arrived on a path after `since`, with or without packets of the
    /// transport.
    pub(crate) fn has_received_since(&self, path: usize, since: Instant) -> bool {
        self.paths.get(path).and_then(|dialed| dialed.received_at).is_some_and(|at| at > since)
    }

    /// Notes a report of the system, or of a router, that no more bytes of UDP payload fit on a
    /// path. Anybody can forge a router's report. Such a report keeps a path from joining until a
    /// probe gets through, but ends no path.
    pub(super) fn note_mtu_report(&mut self, now: Instant, path: usize, bytes: u16, own: bool) {
        let needed = self.settings.mtu;
        let Some(dialed) =
            self.paths.get_mut(path).filter(|dialed| bytes < needed && (own || !dialed.path_mtu.confirmed))
        else {
            return;
        };
        dialed.path_mtu.reported = Some(bytes);
        if !dialed.joined {
            dialed.carries_full_datagrams(now, needed);
        }
    }

    /// Returns the time at which [`Connector::too_small`] may change. Once a transfer has `begun`,
    /// silent paths may come back.
    pub(crate) fn too_small_at(&self, begun: bool) -> Option<Instant> {
        let open = || self.paths.iter().filter(|dialed| !dialed.refused);
        if open().any(|dialed| dialed.joined) {
            return None;
        }
        let first = open().filter_map(|dialed| dialed.path_mtu.too_small_since).min()?;
        match open().all(|dialed| dialed.path_mtu.too_small_since.is_some()) {
            true => Some(first + SEARCH),
            false => (!begun).then_some(first + SILENCE),
        }
    }

    /// Returns the reason if no path carries full datagrams.
    pub(crate) fn too_small(&self, now: Instant, begun: bool) -> Option<String> {
        self.too_small_at(begun).filter(|at| *at <= now)?;
        let too_small_paths = || self.paths.iter().filter(|dialed| dialed.path_mtu.too_small_since.is_some());
        let each: Vec<String> =
            too_small_paths().map(|dialed| format!("{} {}", dialed.local, dialed.describe_mtu())).collect();
        let most = too_small_paths().map(DialedPath::carries).max().unwrap_or_default();
        let choice = match most >= *MTUS.start() {
            true => format!("choose --mtu {most}"),
            false => format!("QUIC needs {}", MTUS.start()),
        };
        Some(format!(
            "no path carries datagrams of {} bytes: {}; {choice}",
            self.settings.mtu,
            each.join(", ")
        ))
    }
}
