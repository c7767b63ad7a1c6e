//! Which paths carry full datagrams (RFC 8899).
//!
//! noq searches each connection's MTU. A path joins when the full size was acknowledged, and is opened anew when that size
//! gets lost.

use super::{Way, Ways};
use crate::settings::BASE_MTU;
use std::time::{Duration, Instant};

/// MTU discovery looks for a smaller size so long before no path is given as the reason of a failure.
const SEARCH: Duration = Duration::from_secs(1);

/// Paths that have not answered at the beginning are waited for so long when another one is too small.
const SILENCE: Duration = Duration::from_secs(3);

/// How large the datagrams of a path may be.
#[derive(Debug, Default)]
pub(super) struct Width {
    /// Bytes of a UDP datagram's payload by the word of the system, or of a router (ICMP).
    told: Option<u16>,
    /// Since when it is known that full datagrams do not get through.
    narrow_since: Option<Instant>,
    /// Full datagrams got lost before: nothing above the smallest is taken for granted.
    doubted: bool,
}

impl Width {
    /// Of a path whose full datagrams got lost.
    pub(super) fn doubted() -> Self {
        Self { doubted: true, ..Self::default() }
    }

    /// Bytes that its connection takes for granted.
    pub(super) fn base(&self) -> u16 {
        if self.doubted { *crate::settings::MTUS.start() } else { BASE_MTU }
    }
}

impl Way {
    /// Bytes of a UDP datagram's payload that get through, as far as that is known.
    fn carries(&self) -> u16 {
        let found = self.link.as_ref().map_or(0, |link| link.mtu());
        self.width.told.map_or(found, |told| told.min(found.max(*crate::settings::MTUS.start())))
    }

    /// Whether full datagrams get through. One that does not carry them says so.
    pub(super) fn is_wide(&mut self, now: Instant, needed: u16) -> bool {
        let Some(link) = &mut self.link else { return false };
        let too_small = self.width.told.is_some_and(|told| told < needed);
        if link.mtu() >= needed && !(too_small && self.joined) {
            self.width = Width { doubted: self.width.doubted, ..Width::default() };
            return true;
        }
        if too_small || link.has_lost_probes() {
            self.width.narrow_since.get_or_insert(now);
            self.trouble = Some(format!("it carries {} bytes, not {needed}", self.carries()));
        }
        false
    }
}

impl Ways {
    /// The system, or a router, says that no more bytes of UDP payload fit on a path. A router's word (which anybody can
    /// forge) keeps a path from joining until a probe gets through; it ends none.
    pub(super) fn limit(&mut self, now: Instant, path: usize, bytes: u16, own: bool) {
        let needed = self.settings.mtu;
        if let Some(way) = self.ways.get_mut(path).filter(|way| bytes < needed && (own || !way.joined)) {
            way.width.told = Some(bytes);
            if !way.joined {
                way.width.narrow_since.get_or_insert(now);
                way.trouble = Some(format!("it carries {} bytes, not {needed}", way.carries()));
            }
        }
    }

    /// When [`Ways::too_small`] is worth asking. Once a transfer has `begun`, paths that are silent may come back.
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

    /// Why no path carries full datagrams, if that is so.
    pub(crate) fn too_small(&self, now: Instant, begun: bool) -> Option<String> {
        self.too_small_at(begun).filter(|at| *at <= now)?;
        let narrow = || self.ways.iter().filter(|way| way.width.narrow_since.is_some());
        let each: Vec<String> = narrow().map(|way| format!("{} carries {}", way.local, way.carries())).collect();
        let most = narrow().map(Way::carries).max().unwrap_or_default();
        let choice = if most >= *crate::settings::MTUS.start() {
            format!("choose --mtu {most}")
        } else {
            format!("QUIC needs {}", crate::settings::MTUS.start())
        };
        Some(format!("no path carries datagrams of {} bytes: {}; {choice}", self.settings.mtu, each.join(", ")))
    }
}
