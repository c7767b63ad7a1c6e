//! The rules of BBR, one test each: after `net/ipv4/tcp_bbr.c`,
//! draft-cardwell-iccrg-bbr-congestion-control-00, and the cases in appendix A of
//! draft-ietf-ccwg-bbr-06 that version 1 has, too.
//!
//! | file | rules |
//! |---|---|
//! | `startup.rs` | the first rate, the full pipe, DRAIN |
//! | `cycle.rs` | PROBE_BW: the largest rate, the eight phases |
//! | `round_trip.rs` | PROBE_RTT, and sending after a pause |
//! | `losses.rs` | recovery, timeouts, policers |
//! | `amount.rs` | the window and the pacing rate |

mod amount;
mod cycle;
mod losses;
mod round_trip;
mod startup;

use super::*;
use crate::congestion::Algorithm;
use crate::congestion::fixtures::{SEGMENT, ack, config};

/// The path's round trip without a queue.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// The path's bandwidth-delay product in packets: one packet per millisecond.
const PRODUCT: u64 = 20;

/// The path's rate in bytes per second.
const RATE: u64 = 1000 * SEGMENT;

/// A sender, and what its acknowledgements report next.
struct Path {
    bbr: Bbr,
    now: Time,
    round_trip: Duration,
    repairing: Repairing,
    /// Packets in flight.
    in_flight: u64,
    /// Packets that the next acknowledgement shows to be lost.
    lost: u64,
    app_limited: bool,
    total: u64,
    lost_total: u64,
}

impl Path {
    /// The handshake has measured the round trip.
    fn new(seed: u64) -> Self {
        let mut bbr = Bbr::new(&CongestionConfig { seed, ..config(Algorithm::Bbr) });
        bbr.on_event(Time::ZERO, CongestionEvent::Measured { round_trip: ROUND_TRIP });
        Self {
            bbr,
            now: Time::ZERO,
            round_trip: ROUND_TRIP,
            repairing: Repairing::Nothing,
            in_flight: PRODUCT,
            lost: 0,
            app_limited: false,
            total: 0,
            lost_total: 0,
        }
    }

    /// In PROBE_BW.
    fn cruising(seed: u64) -> Self {
        let mut path = Self::new(seed);
        (0..4).for_each(|_| path.round(PRODUCT));
        assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
        path
    }

    /// An acknowledgement of `acked` packets after a time. The newest of them left when `prior`
    /// bytes were delivered, and its sample has `delivered` packets per round trip.
    fn acknowledge(&mut self, after: Duration, acked: u64, delivered: u64, prior: u64) {
        self.now += after;
        self.total += acked * SEGMENT;
        self.lost_total += self.lost * SEGMENT;
        let sample = RateSample {
            acked: acked * SEGMENT,
            delivered: delivered * SEGMENT,
            interval: ROUND_TRIP,
            prior,
            total: self.total,
            app_limited: self.app_limited,
            lost: core::mem::take(&mut self.lost) * SEGMENT,
            lost_total: self.lost_total,
            in_flight_before: self.in_flight * SEGMENT,
            in_flight: self.in_flight * SEGMENT,
            departure: self.now,
        };
        let acknowledged = Acknowledged {
            now: self.now,
            rtt: Some(self.round_trip),
            newest_rtt: Some(self.round_trip),
            srtt: self.round_trip,
            repairing: self.repairing,
            ..ack(acked * SEGMENT, self.in_flight * SEGMENT)
        };
        self.bbr.on_ack(&acknowledged, Some(&sample), &[]);
    }

    /// A round trip that delivers so many packets, one acknowledgement each. The first begins a
    /// round.
    fn round(&mut self, delivered: u64) {
        let mut prior = self.total;
        for _ in 0..delivered {
            self.acknowledge(self.round_trip / delivered, 1, delivered, prior);
            prior = 0;
        }
    }

    /// One packet more of the round at hand is acknowledged, at the path's rate.
    fn within_round(&mut self, after: Duration) {
        self.acknowledge(after, 1, PRODUCT, 0);
    }

    fn event(&mut self, event: CongestionEvent) {
        self.bbr.on_event(self.now, event);
    }

    fn loss(&mut self) {
        self.event(CongestionEvent::Loss { outstanding: self.in_flight * SEGMENT });
    }
}
