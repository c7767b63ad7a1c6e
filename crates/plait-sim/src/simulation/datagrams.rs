//! Datagrams: traffic without acknowledgements.

use super::network::Network;
use super::routes::RouteId;
use crate::application::pace::Pace;
use crate::statistics::Spans;
use plait_sched::{Duration, Time};

/// A source of datagrams and their sink.
pub(crate) struct Datagrams {
    pace: Pace,
    bytes: u32,
    route: RouteId,
    /// Its index among the sources of events.
    source: usize,
    /// Delays are measured from here on.
    warmup_end: Time,
    pub(crate) delay: Spans,
}

impl Datagrams {
    pub(super) fn new(pace: Pace, bytes: u32, route: RouteId, source: usize, warmup: Duration) -> Self {
        Self { pace, bytes, route, source, warmup_end: Time::ZERO + warmup, delay: Spans::new() }
    }

    pub(super) fn begin(&self, network: &mut Network) {
        network.set_timer(network.events.place(self.source), self.pace.next());
    }

    pub(super) fn handle_timer(&mut self, network: &mut Network) {
        if self.pace.fire() {
            network.send_datagram(self.route, self.bytes);
        }
        self.begin(network);
    }

    /// Records a datagram that was sent at `sent` and arrives now.
    pub(super) fn arrive(&mut self, now: Time, sent: Time) {
        if now >= self.warmup_end {
            self.delay.add(now.since(sent));
        }
    }

    pub(crate) fn route(&self) -> RouteId {
        self.route
    }

    /// Size of each datagram on the wire, in bytes.
    pub(crate) const fn bytes(&self) -> u32 {
        self.bytes
    }
}
