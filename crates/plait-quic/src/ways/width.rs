//! Checks that paths carry full datagrams (RFC 8899).
//!
//! A path has a second QUIC connection if its datagrams are larger than [`BASE_MTU`], or if full
//! datagrams got lost before. noq searches the path's MTU on that connection. The path joins once
//! the full size is acknowledged there. noq's own detection of black holes mistakes losses in full
//! queues for a black hole. Therefore no connection that carries data uses it: see
//! [`Session::take_hole`](crate::session::Session).

use super::{NAME, RETRY, Way, Ways};
use crate::link::{DONE, Link};
use crate::settings::{BASE_MTU, MTUS, NEXT_SEARCH, Settings};
use noq_proto::ClientConfig;
use std::time::{Duration, Instant};

/// Time for MTU discovery to find a smaller size before the transfer fails because no path carries
/// full datagrams.
const SEARCH: Duration = Duration::from_secs(1);

/// Time to wait at the beginning for paths that have not answered, if another path is too small.
const SILENCE: Duration = Duration::from_secs(3);

/// Trouble of a path whose full datagrams get lost while smaller ones arrive.
const BLACK_HOLE: &str = "full datagrams do not get through any more";

/// Result of the work on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Nothing is new.
    Same,
    /// The path works from now on.
    Joined,
    /// The path carries no full datagrams any more, and is opened anew.
    Narrowed,
}

/// Size of the datagrams of a path.
#[derive(Debug, Default)]
pub(super) struct Width {
    /// Connection that searches the MTU.
    probe: Option<Link>,
    /// Time of the next search.
    again_at: Option<Instant>,
    /// MTU that the searches found.
    found: u16,
    /// True if full datagrams get through.
    proven: bool,
    /// True if full datagrams got lost before.
    doubted: bool,
    /// Bytes of UDP payload that the system, or a router (ICMP), reported.
    told: Option<u16>,
    /// Time since which full datagrams are known not to get through.
    narrow_since: Option<Instant>,
}

impl Width {
    pub(super) fn probe(&mut self) -> Option<&mut Link> {
        self.probe.as_mut()
    }

    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        let closes = self.probe.as_ref().is_some_and(|probe| probe.is_closing() || probe.lost().is_some());
        let again_at = self.again_at.filter(|_| !self.proven && !closes);
        self.probe.as_ref().and_then(Link::next_wakeup).into_iter().chain(again_at).min()
    }

    fn is_told_less_than(&self, needed: u16) -> bool {
        self.told.is_some_and(|told| told < needed)
    }
}

impl Way {
    /// Opens the connection that searches the MTU, if one is needed.
    pub(super) fn probe(&mut self, now: Instant, client: &ClientConfig, settings: &Settings) {
        self.width.proven |= settings.mtu <= BASE_MTU && !self.width.doubted;
        if self.width.proven || self.width.probe.is_some() {
            return;
        }
        let mut client = client.clone();
        client.transport_config(settings.probing());
        let connected = self.endpoint.connect(now, client, self.remote, NAME);
        self.width.probe = connected.ok().map(Link::new);
        self.width.again_at = Some(now + NEXT_SEARCH);
    }

    /// Handles the timers of the connection that searches the MTU. A path that is too small is
    /// searched again and again, because its network may have changed.
    pub(super) fn search(&mut self, now: Instant, client: &ClientConfig, settings: &Settings) {
        let is_due = self.width.again_at.is_some_and(|at| at <= now) && !self.width.proven;
        if let Some(probe) = &mut self.width.probe {
            probe.work(now, &mut self.endpoint, 0);
            if is_due && !probe.is_closing() {
                probe.close(now, DONE, "another search begins");
            }
            // The far end limits such connections, too: a lost one is tried again soon.
            if probe.lost().is_some() && !probe.has_lost_probes() {
                self.width.again_at = self.width.again_at.min(Some(now + RETRY));
            }
            if probe.is_drained() {
                self.width.probe = None;
            }
        }
        if is_due && self.width.probe.is_none() {
            self.width.told = None;
            self.probe(now, client, settings);
        }
    }

    /// Bytes of UDP payload that get through, as far as known.
    fn carries(&self) -> u16 {
        let found = self.width.found.max(*MTUS.start());
        self.width.told.map_or(found, |told| if told < *MTUS.start() { told } else { told.max(found) })
    }

    /// Describes in words how many bytes a path carries. A report of the system or of a router
    /// concerns only a part of the path.
    fn carries_words(&self) -> String {
        let most = if self.width.told.is_some_and(|told| told >= self.width.found) { " at most" } else { "" };
        format!("carries {}{most}", self.carries())
    }

    /// True if full datagrams get through. Otherwise a known limit becomes the path's trouble.
    pub(super) fn is_wide(&mut self, now: Instant, needed: u16) -> bool {
        let Width { probe, proven, found, .. } = &mut self.width;
        *found = probe.as_ref().map_or(*found, |probe| probe.mtu().max(*found));
        if let Some(probe) = probe.as_mut().filter(|probe| !*proven && probe.mtu() >= needed) {
            probe.close(now, DONE, "the MTU is known");
            *proven = true;
            (self.width.told, self.width.narrow_since) = (None, None);
        }
        let less = self.width.is_told_less_than(needed);
        if self.width.proven && !less {
            return true;
        }
        let lost = self.width.probe.as_mut().is_some_and(Link::has_lost_probes);
        if less || lost {
            self.width.narrow_since.get_or_insert(now);
            self.trouble = Some(format!("it {}, not {needed} bytes", self.carries_words()));
        }
        false
    }
}

impl Ways {
    /// Opens a path anew whose full datagrams got lost. The path has to prove that they get
    /// through.
    pub(crate) fn doubt(&mut self, now: Instant, path: usize) {
        let Some(way) = self.ways.get(path) else { return };
        let (local, remote) = (way.local, way.remote);
        self.relocate(now, path, local, remote);
        let way = &mut self.ways[path];
        way.width.doubted = true;
        way.trouble = Some(BLACK_HOLE.to_owned());
    }

    /// True if a datagram arrived on a path after `since`, with or without packets of the
    /// transport.
    pub(crate) fn has_heard_since(&self, path: usize, since: Instant) -> bool {
        self.ways.get(path).and_then(|way| way.heard_at).is_some_and(|at| at > since)
    }

    /// Notes a report of the system, or of a router, that no more bytes of UDP payload fit on a
    /// path. Anybody can forge a router's report. Such a report keeps a path from joining until a
    /// probe gets through, but ends no path.
    pub(super) fn limit(&mut self, now: Instant, path: usize, bytes: u16, own: bool) {
        let needed = self.settings.mtu;
        let Some(way) = self.ways.get_mut(path).filter(|way| bytes < needed && (own || !way.width.proven))
        else {
            return;
        };
        way.width.told = Some(bytes);
        if !way.joined {
            way.is_wide(now, needed);
        }
    }

    /// Returns the time at which [`Ways::too_small`] may change. Once a transfer has `begun`,
    /// silent paths may come back.
    pub(crate) fn too_small_at(&self, begun: bool) -> Option<Instant> {
        let open = || self.ways.iter().filter(|way| !way.refused);
        if open().any(|way| way.joined) {
            return None;
        }
        let first = open().filter_map(|way| way.width.narrow_since).min()?;
        match open().all(|way| way.width.narrow_since.is_some()) {
            true => Some(first + SEARCH),
            false => (!begun).then_some(first + SILENCE),
        }
    }

    /// Returns the reason if no path carries full datagrams.
    pub(crate) fn too_small(&self, now: Instant, begun: bool) -> Option<String> {
        self.too_small_at(begun).filter(|at| *at <= now)?;
        let narrow = || self.ways.iter().filter(|way| way.width.narrow_since.is_some());
        let each: Vec<String> =
            narrow().map(|way| format!("{} {}", way.local, way.carries_words())).collect();
        let most = narrow().map(Way::carries).max().unwrap_or_default();
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
