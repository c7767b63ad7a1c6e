//! Limit of handshakes per address. A client that presents a secret gets its handshake back, so
//! clients behind one address have no limit. WireGuard bounds the handshakes of an address in the
//! same way (`ratelimiter.c`: a burst of 5, then 20 a second).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Burst of handshakes without the secret from one address. It is large enough for all paths of a
/// client's near ends, which return together.
pub(super) const BURST: u32 = 32;

/// Time after which an address gets another handshake.
const PAUSE: Duration = Duration::from_millis(100);

/// Number of remembered addresses.
const MAX_REMEMBERED: usize = 4_096;

/// Time by address at which all its handshakes are over, if each takes [`PAUSE`].
#[derive(Debug, Default)]
pub(super) struct HandshakeLimits {
    until: BTreeMap<IpAddr, Instant>,
}

impl HandshakeLimits {
    /// True if this address may begin another handshake.
    pub(super) fn has_room(&self, now: Instant, address: IpAddr) -> bool {
        let ahead = self.until.get(&address).map(|until| until.saturating_duration_since(now));
        ahead.is_none_or(|ahead| ahead <= PAUSE * (BURST - 1))
    }

    /// Counts a handshake that begins.
    pub(super) fn begin(&mut self, now: Instant, address: IpAddr) {
        if self.until.len() >= MAX_REMEMBERED {
            self.until.retain(|_, until| *until > now);
        }
        if self.until.len() >= MAX_REMEMBERED
            && let Some((least, _)) = self.until.iter().min_by_key(|(_, until)| **until)
        {
            let least = *least;
            self.until.remove(&least);
        }
        let until = self.until.entry(address).or_insert(now);
        *until = (*until).max(now) + PAUSE;
    }

    /// Returns one handshake to an address that has presented a secret.
    pub(super) fn refund(&mut self, address: IpAddr) {
        if let Some(until) = self.until.get_mut(&address) {
            *until -= PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::now;
    use std::net::Ipv4Addr;

    #[test]
    fn an_address_has_a_burst_and_a_rate_and_a_secret_costs_nothing() {
        let start = now();
        let address = |number: u32| IpAddr::from(Ipv4Addr::from(number));
        let mut handshakes = HandshakeLimits::default();
        let mut count = |at: Instant, knows: bool| {
            let begin = |_: &u32| {
                let room = handshakes.has_room(at, address(1));
                if room {
                    handshakes.begin(at, address(1));
                    knows.then(|| handshakes.refund(address(1)));
                }
                room
            };
            (0..1_000).filter(begin).count()
        };
        assert_eq!(count(start, true), 1_000);
        assert_eq!(count(start, false), 32);
        assert_eq!(count(start, true), 0, "a secret is not heard without a handshake");
        assert_eq!(count(start + Duration::from_secs(1), false), 10);
        assert_eq!(count(start + Duration::from_secs(60), false), 32);
        assert!(handshakes.has_room(start, address(2)));
        for number in 0..10_000 {
            handshakes.begin(start, address(number));
        }
        assert!(handshakes.until.len() <= MAX_REMEMBERED && !handshakes.has_room(start, address(1)));
    }
}
