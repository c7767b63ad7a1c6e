//! Loss recovery on one path: split fast retransmit, round trips on the path, timeouts, and the
//! probing of idle paths.

use super::Config;
use super::heartbeat::Probing;
use super::holes::Holes;
use super::round_trip::RoundTrips;
use crate::congestion::CongestionEvent;
use crate::core::{NEVER, PathSender};
use crate::packet::sctp::Sack;
use plait_sched::Time;

/// The loss recovery of one path.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    /// Transmissions that later ones have overtaken.
    pub(super) holes: Holes,
    /// The highest segment that was ever acknowledged as in flight here, plus one; 0 for none.
    pub(super) highest_end: u64,
    round_trips: RoundTrips,
    /// When the path is probed.
    pub(super) probing: Probing,
    /// Transmissions found lost by the acknowledgement at hand.
    pub(super) lost: Vec<u64>,
}

impl Recovery {
    pub(super) fn new(config: &Config) -> Self {
        let rto = &config.connection.rto;
        Self {
            holes: Holes::default(),
            highest_end: 0,
            round_trips: RoundTrips::new(rto.max),
            probing: Probing::new(rto.initial, config.heartbeat_interval),
            lost: Vec::with_capacity(64),
        }
    }
}

impl PathSender<Recovery> {
    /// Handles a SACK that arrived on the path: samples the round trip of the packet that caused it,
    /// if that is certain.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn came_back(&mut self, now: Time, sack: &Sack) {
        if let Some(round_trip) = self.recovery.round_trips.came_back(now, &mut self.flight, sack) {
            self.rtt.sample_own(round_trip);
            self.touch();
        }
    }

    /// A packet with data left on the path.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_sent(&mut self, now: Time) {
        self.probe_later(now);
        self.recovery.round_trips.sent(now, &mut self.flight);
    }

    /// True while transmissions from before the last reduction are in flight.
    pub(super) fn in_recovery(&self) -> bool {
        self.flight.first() < self.recovery_end
    }

    /// RFC 9260 §7.2.4: halves the window for the newest of the lost transmissions, once per window
    /// of data.
    pub(super) fn reduce_for_losses(&mut self, now: Time, newest: u64) {
        if self.begins_recovery(newest) {
            let in_flight = self.flight.bytes();
            self.note_congestion(now, CongestionEvent::Loss { outstanding: in_flight });
        }
        self.touch();
    }

    /// RFC 9260 §7.2.4, rule 4: restarts the timer if it ran for a segment that is retransmitted
    /// now. `oldest` was the first transmission in flight before the losses.
    pub(super) fn restart_timer_beyond(&mut self, now: Time, oldest: u64) {
        if self.flight.first() != oldest {
            let timer = now.saturating_add(self.rtt.rto());
            self.retransmission_timer = if self.flight.segments() > 0 { timer } else { NEVER };
        }
    }

    /// T3 ran out (RFC 9260 §6.3.3).
    pub(super) fn time_out(&mut self, now: Time) {
        self.counters.timeouts += 1;
        let in_flight = self.flight.bytes();
        self.note_congestion(now, CongestionEvent::Timeout { outstanding: in_flight, repairing: false });
        self.rtt.back_off();
        self.begin_recovery();
    }
}
