//! A congestion controller that can hide its window. noq takes the first path with room, so all
//! paths report no room except the one that the scheduler has chosen.
//!
//! The wrapped controller is noq's own, and receives the true events. While the window is hidden,
//! noq sees a window of 0. noq checks the window before it sends data, retransmissions and control
//! frames. Acknowledgements, probes for tail losses and path validation leave without this check.

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Delay of acknowledgements that the peer may add (RFC 9000 §18.2).
const ACK_DELAY: Duration = Duration::from_millis(25);

/// Shortest interval of a delivery rate.
const MIN_RATE_INTERVAL: Duration = Duration::from_millis(20);

/// The window that noq sees: 0, the true one, or no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WindowMode {
    Hidden,
    Visible,
    /// No limit, as for a probe: for a packet that cannot wait for an acknowledgement, because none
    /// arrives without the packet.
    Unlimited,
}

/// The wrapped controller, and noq's reports to it.
#[derive(Debug)]
pub(super) struct ControllerState {
    inner: Box<dyn Controller>,
    pub(super) window_mode: WindowMode,
    /// True if noq had something to send that needs a window, and the window was full.
    pub(super) refused: bool,
    /// Most bytes of a packet.
    pub(super) mtu: u64,
    pub(super) in_flight: u64,
    /// Bytes in flight when an acknowledgement arrived, before it was processed.
    flight_at_ack: Option<u64>,
    newest_sample: Option<Duration>,
    /// Round-trip time of the newest acknowledged packet.
    pub(super) latest_rtt: Duration,
    pub(super) min_rtt: Duration,
    pub(super) rttvar: Duration,
    smoothed: Option<Duration>,
    /// Time since which the peer owes an acknowledgement.
    pub(super) waiting_since: Option<Instant>,
    reduced_at: Option<Instant>,
    /// Packet events since the last look.
    pub(super) counts: PacketCounts,
    /// Packets since the beginning.
    sent: u64,
    lost: u64,
    rate: DeliveryRate,
}

/// Packet events since the last look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketCounts {
    pub(super) sent: u32,
    pub(super) sent_bytes: u64,
    pub(super) acked: u32,
    pub(super) lost: u32,
    pub(super) lost_bytes: u64,
    pub(super) rtt: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default)]
struct DeliveryRate {
    since: Option<Instant>,
    bytes: u64,
    bits_per_second: u64,
}

impl ControllerState {
    fn new(inner: Box<dyn Controller>, mtu: u16) -> Self {
        Self {
            inner,
            window_mode: WindowMode::Visible,
            refused: false,
            mtu: mtu.into(),
            in_flight: 0,
            flight_at_ack: None,
            newest_sample: None,
            latest_rtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            smoothed: None,
            waiting_since: None,
            reduced_at: None,
            counts: PacketCounts::default(),
            sent: 0,
            lost: 0,
            rate: DeliveryRate::default(),
        }
    }

    /// Bytes that may be in flight, even while the window is hidden.
    pub(super) fn window(&self) -> u64 {
        self.inner.window()
    }

    /// Number of packets that the window has room for.
    pub(super) fn room(&self) -> u32 {
        segments(self.window().saturating_sub(self.in_flight), self.mtu)
    }

    /// Returns the window and the slow-start threshold, in packets.
    pub(super) fn windows(&self) -> (u32, u32) {
        let threshold = self.inner.metrics().ssthresh.filter(|threshold| *threshold < u64::MAX);
        (segments(self.window(), self.mtu), threshold.map_or(u32::MAX, |bytes| segments(bytes, self.mtu)))
    }

    /// Returns the probe timeout without back-off (RFC 9002 §6.2.1).
    pub(super) fn probe_timeout(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed + (4 * self.rttvar).max(Duration::from_millis(1)) + ACK_DELAY)
    }

    pub(super) fn is_repairing(&self) -> bool {
        self.reduced_at.is_some()
    }

    /// Returns the numbers of sent and lost packets.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.sent, self.lost)
    }

    pub(super) fn delivery_rate(&self) -> u64 {
        self.rate.bits_per_second
    }

    /// Takes a sample as in RFC 6298, without correction. noq does the same with samples less the
    /// peer's delay, but shows only the mean.
    fn sample(&mut self, sample: Duration) {
        self.latest_rtt = sample;
        self.min_rtt = if self.smoothed.is_none() { sample } else { self.min_rtt.min(sample) };
        (self.smoothed, self.rttvar) = match self.smoothed {
            None => (Some(sample), sample / 2),
            Some(smoothed) => {
                (Some((smoothed * 7 + sample) / 8), (self.rttvar * 3 + smoothed.abs_diff(sample)) / 4)
            }
        };
        self.counts.rtt = Some(sample);
    }

    /// True if too little was in flight to judge the window: less than half of it.
    fn is_unused(&self) -> bool {
        self.flight_at_ack.unwrap_or(self.in_flight) * 2 < self.window()
    }
}

fn segments(bytes: u64, each: u64) -> u32 {
    u32::try_from(bytes / each.max(1)).unwrap_or(u32::MAX)
}

impl DeliveryRate {
    fn acknowledged(&mut self, now: Instant, bytes: u64, interval: Duration) {
        self.bytes += bytes;
        let since = *self.since.get_or_insert(now);
        let elapsed = now.saturating_duration_since(since);
        if elapsed >= interval.max(MIN_RATE_INTERVAL) {
            self.bits_per_second = (self.bytes as f64 * 8.0 / elapsed.as_secs_f64()) as u64;
            (self.since, self.bytes) = (Some(now), 0);
        }
    }
}

/// A path's controller, which noq's path and ours share.
#[derive(Clone, Debug)]
pub(super) struct SharedController(Arc<Mutex<ControllerState>>);

impl SharedController {
    pub(super) fn lock(&self) -> MutexGuard<'_, ControllerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the controller of one of noq's paths.
    pub(super) fn of(controller: &dyn Controller) -> Option<Self> {
        controller.clone_box().into_any().downcast::<Self>().ok().map(|shared| *shared)
    }
}

impl Controller for SharedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.lock().inner.on_sent(now, bytes, largest_pn);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let mut state = self.lock();
        state.in_flight += u64::from(bytes);
        state.waiting_since.get_or_insert(now);
        state.sent += 1;
        state.counts.sent += 1;
        state.counts.sent_bytes += u64::from(bytes);
        state.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        // The limit was the true window or the hidden one: the wrapped controller judges by itself.
        self.lock().refused = true;
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let mut state = self.lock();
        let before = state.in_flight;
        state.flight_at_ack.get_or_insert(before);
        state.in_flight = before.saturating_sub(bytes);
        // noq reports them in the order of their numbers.
        state.newest_sample = Some(now.saturating_duration_since(sent));
        state.counts.acked += 1;
        if state.reduced_at.is_some_and(|at| sent > at) {
            state.reduced_at = None;
        }
        let interval = state.smoothed.unwrap_or_default();
        state.rate.acknowledged(now, bytes, interval);
        let unused = state.is_unused();
        state.inner.on_ack(now, sent, bytes, pn, unused, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, largest: Option<u64>) {
        let mut state = self.lock();
        let unused = state.is_unused();
        state.inner.on_end_acks(now, in_flight, unused, largest);
        state.in_flight = in_flight;
        state.flight_at_ack = None;
        state.waiting_since = (in_flight > 0).then_some(now);
        if let Some(sample) = state.newest_sample.take() {
            state.sample(sample);
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        let mut state = self.lock();
        state.reduced_at = Some(now);
        state.inner.on_congestion_event(
            now,
            sent,
            is_persistent_congestion,
            is_ecn,
            lost_bytes,
            largest_lost_pn,
        );
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let mut state = self.lock();
        state.in_flight = state.in_flight.saturating_sub(lost_bytes.into());
        if state.in_flight == 0 {
            state.waiting_since = None;
        }
        state.lost += 1;
        state.counts.lost += 1;
        state.counts.lost_bytes += u64::from(lost_bytes);
        state.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        let mut state = self.lock();
        state.reduced_at = None;
        state.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let mut state = self.lock();
        state.mtu = new_mtu.into();
        state.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        let state = self.lock();
        match state.window_mode {
            WindowMode::Hidden => 0,
            WindowMode::Visible => state.window(),
            WindowMode::Unlimited => u64::MAX,
        }
    }

    /// No pacing: packets leave when the scheduler decides.
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = u64::MAX;
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.lock().inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Wraps the controllers of another factory.
pub(super) struct SharedControllerFactory(pub(super) Arc<dyn ControllerFactory + Send + Sync>);

impl fmt::Debug for SharedControllerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedControllerFactory")
    }
}

impl ControllerFactory for SharedControllerFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.0.clone().build(now, current_mtu);
        Box::new(SharedController(Arc::new(Mutex::new(ControllerState::new(inner, current_mtu)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noq_proto::congestion::CubicConfig;

    fn wrapped() -> (Box<dyn Controller>, SharedController, Instant) {
        #[expect(clippy::disallowed_methods, reason = "only differences to it are looked at")]
        let now = Instant::now();
        let controller =
            Arc::new(SharedControllerFactory(Arc::new(CubicConfig::default()))).build(now, 1_200);
        let shared = SharedController::of(controller.as_ref()).expect("it is a wrapped one");
        (controller, shared, now)
    }

    #[test]
    fn a_hidden_window_is_zero_for_noq_and_the_scheduler_sees_the_true_one() {
        let (mut controller, shared, now) = wrapped();
        assert_eq!((controller.window(), shared.lock().room()), (12_000, 10));
        shared.lock().window_mode = WindowMode::Hidden;
        assert_eq!((controller.window(), shared.lock().room()), (0, 10));
        controller.on_packet_sent(now, 1_200, 0);
        assert_eq!(shared.lock().room(), 9);
    }

    #[test]
    fn a_peer_that_owes_nothing_is_not_waited_for() {
        let (mut controller, shared, now) = wrapped();
        let later = now + Duration::from_millis(40);
        controller.on_packet_sent(now, 1_200, 0);
        controller.on_packet_sent(later, 1_200, 1);
        assert_eq!(shared.lock().waiting_since, Some(now));
        controller.on_end_acks(later, 1_200, false, Some(0));
        assert_eq!(shared.lock().waiting_since, Some(later));
        controller.on_packet_lost(1_200, 1, later);
        assert_eq!(shared.lock().waiting_since, None);
    }
}
