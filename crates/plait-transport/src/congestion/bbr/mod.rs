//! BBR, version 1, as in Linux 6.12 (Cardwell et al., "BBR: congestion-based congestion control",
//! ACM Queue 14(5), 2016), after the rules of `net/ipv4/tcp_bbr.c`.
//!
//! The sender models the path by its largest delivery rate in ten rounds and its shortest round
//! trip in ten seconds. It paces packets at that rate and keeps about two bandwidth-delay products
//! in flight. Departure: bytes per second and nanoseconds for packets per microsecond and jiffies.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | the modes, their transitions and the pacing rate |
//! | `window.rs` | the window |
//! | `parameters.rs` | gains, times and limits |
//! | `filter.rs` | the largest value of the last rounds |
//! | `aggregation.rs` | acknowledgements that report more than the rate explains |
//! | `policer.rs` | the rate of a token bucket that drops packets |

mod aggregation;
mod filter;
mod parameters;
mod policer;
#[cfg(test)]
mod tests;
mod window;

use super::{
    Acknowledged, CongestionConfig, CongestionController, CongestionEvent, ControllerInfo, Family,
    RateSample, Repairing, Share,
};
use aggregation::{Aggregation, per_second};
use filter::WindowedMax;
use parameters::{
    CYCLE, DRAIN_GAIN, FULL_ROUNDS, HIGH_GAIN, LEAST_WINDOW, NOMINAL_ROUND_TRIP, PROBE_RTT_TIME, RATE_ROUNDS,
    SHORTEST_WINDOW, UNIT, WINDOW_GAIN,
};
use plait_sched::{Duration, Time};
use policer::Policer;

/// Modes of the sender (`enum bbr_mode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Doubles the rate in each round until the pipe is full.
    Startup,
    /// Drains the queue that startup built.
    Drain,
    /// Cruises, and probes for bandwidth once in eight round trips.
    ProbeBandwidth,
    /// Keeps four packets in flight to see the round trip without a queue.
    ProbeRoundTrip,
}

/// The state of one path. Windows are in packets.
#[derive(Clone, Debug)]
pub struct Bbr {
    /// Bytes of a full packet.
    packet: u64,
    /// Bytes of a full packet in the pacing rate.
    paced_packet: u64,
    window: u64,
    threshold: u64,
    mode: Mode,
    pacing_gain: u64,
    window_gain: u64,
    /// Bytes per second.
    pacing_rate: u64,
    /// A round trip is known.
    measured: bool,
    shortest: Option<Duration>,
    shortest_at: Time,
    rate: WindowedMax,
    rounds: u64,
    /// A packet that left after this many delivered bytes begins the next round.
    round_end: u64,
    /// The acknowledgement at hand begins a round.
    round_begins: bool,
    /// The largest rate when the pipe was not known to be full, and rounds without a larger one.
    full_rate: u64,
    full_rounds: u32,
    full: bool,
    phase: usize,
    phase_at: Time,
    /// When PROBE_RTT may end.
    probe_end: Option<Time>,
    probe_round_done: bool,
    /// Sending begins again after a pause of the application.
    restarts: bool,
    /// The state of loss recovery at the previous acknowledgement.
    repairing: Repairing,
    /// The first round of a recovery: as many packets leave as arrive.
    conserves: bool,
    /// The window before recovery or PROBE_RTT.
    prior_window: u64,
    aggregation: Aggregation,
    policer: Policer,
    /// Draws the phases in which cycles begin.
    random: u64,
}

impl Bbr {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo = ControllerInfo {
        name: "bbr",
        family: Family::Tcp,
        coupled: false,
        source: "Linux' tcp_bbr.c, version 1",
    };

    /// At the start.
    pub fn new(config: &CongestionConfig) -> Self {
        let packets = (config.initial_window / config.segment).max(1);
        let mut bbr = Self {
            packet: config.segment,
            paced_packet: config.segment + config.paced_options,
            window: packets,
            threshold: u64::MAX,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            pacing_rate: 0,
            measured: false,
            shortest: None,
            shortest_at: Time::ZERO,
            rate: WindowedMax::default(),
            rounds: 0,
            round_end: 0,
            round_begins: false,
            full_rate: 0,
            full_rounds: 0,
            full: false,
            phase: 0,
            phase_at: Time::ZERO,
            probe_end: None,
            probe_round_done: false,
            restarts: false,
            repairing: Repairing::Nothing,
            conserves: false,
            prior_window: 0,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            random: config.seed,
        };
        bbr.begin_pacing(Duration::ZERO);
        bbr
    }

    /// Bytes per second that the path is estimated to carry.
    fn bandwidth(&self) -> u64 {
        self.policer.rate().unwrap_or(self.rate.get())
    }

    /// Pacing rate: 1 % below the bandwidth, so that queues drain (`bbr_pacing_margin_percent`).
    fn paced(&self, bandwidth: u64, gain: u64) -> u64 {
        let rate = (bandwidth.saturating_mul(gain) / UNIT).saturating_mul(99) / 100;
        rate.saturating_mul(self.paced_packet) / self.packet
    }

    /// Starts pacing at a window per round trip times a gain (`bbr_init_pacing_rate_from_rtt`).
    fn begin_pacing(&mut self, srtt: Duration) {
        self.measured = !srtt.is_zero();
        let round_trip = if self.measured { srtt } else { NOMINAL_ROUND_TRIP };
        let per_second = per_second(self.window * self.packet, round_trip);
        self.pacing_rate = self.paced(per_second, HIGH_GAIN);
    }

    /// Until the pipe is full the pacing rate only grows (`bbr_set_pacing_rate`).
    fn set_pacing_rate(&mut self, gain: u64, srtt: Duration) {
        if !self.measured && !srtt.is_zero() {
            self.begin_pacing(srtt);
        }
        let rate = self.paced(self.bandwidth(), gain);
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_update_bw`
    fn update_rate(&mut self, now: Time, sample: &RateSample) {
        self.round_begins = false;
        if sample.interval.is_zero() {
            return;
        }
        if sample.prior >= self.round_end {
            self.round_end = sample.total;
            self.rounds += 1;
            self.round_begins = true;
            self.conserves = false;
        }
        let cruising = self.mode == Mode::ProbeBandwidth;
        if self.policer.take(now, sample, self.round_begins, cruising) {
            self.begin_cycle(now);
        }
        let rate = per_second(sample.delivered, sample.interval);
        if !sample.app_limited || rate >= self.rate.get() {
            self.rate.take(RATE_ROUNDS, self.rounds, rate);
        }
    }

    /// `bbr_update_cycle_phase`
    fn update_phase(&mut self, now: Time, sample: &RateSample) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let whole = now.since(self.phase_at) > self.shortest.unwrap_or(Duration::MAX);
        let before = self.in_network(now, sample.in_flight_before / self.packet, sample.departure);
        let ends = match self.pacing_gain {
            UNIT => whole,
            gain if gain > UNIT => whole && (sample.lost > 0 || before >= self.target(gain)),
            _ => whole || before <= self.target(UNIT),
        };
        if ends {
            self.next_phase(now);
        }
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = now;
    }

    /// Begins a cycle in any phase but the draining one (`bbr_reset_probe_bw_mode`).
    fn begin_cycle(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        self.phase = CYCLE.len() - 1 - (self.draw() % (CYCLE.len() as u64 - 1)) as usize;
        self.next_phase(now);
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// `bbr_check_full_bw_reached`
    fn look_whether_full(&mut self, sample: &RateSample) {
        if self.full || !self.round_begins || sample.app_limited {
            return;
        }
        if self.rate.get() >= self.full_rate.saturating_mul(5) / 4 {
            self.full_rate = self.rate.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`
    fn drain(&mut self, now: Time, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.threshold = self.target(UNIT);
        }
        let in_flight = sample.in_flight / self.packet;
        if self.mode == Mode::Drain && self.in_network(now, in_flight, sample.departure) <= self.target(UNIT)
        {
            self.begin_cycle(now);
        }
    }

    /// `bbr_update_min_rtt`
    fn update_shortest(&mut self, ack: &Acknowledged, sample: &RateSample) {
        let now = ack.now;
        let expired = now.since(self.shortest_at) > SHORTEST_WINDOW;
        // A single packet's acknowledgement may have been delayed.
        let delayed = sample.delivered <= self.packet;
        if let Some(round_trip) = ack.newest_rtt.or(ack.rtt)
            && (self.shortest.is_none_or(|shortest| round_trip < shortest) || expired && !delayed)
        {
            self.shortest = Some(round_trip);
            self.shortest_at = now;
        }
        if expired && !self.restarts && self.mode != Mode::ProbeRoundTrip {
            self.mode = Mode::ProbeRoundTrip;
            self.save_window();
            self.probe_end = None;
        }
        if self.mode == Mode::ProbeRoundTrip {
            self.probe_round_trip(now, sample);
        }
        if sample.delivered > 0 {
            self.restarts = false;
        }
    }

    fn probe_round_trip(&mut self, now: Time, sample: &RateSample) {
        if self.probe_end.is_some() {
            self.probe_round_done |= self.round_begins;
            if self.probe_round_done {
                self.end_probe(now);
            }
        } else if sample.in_flight <= LEAST_WINDOW * self.packet {
            self.probe_end = Some(now.saturating_add(PROBE_RTT_TIME));
            self.probe_round_done = false;
            self.round_end = sample.total;
        }
    }

    /// `bbr_check_probe_rtt_done`
    fn end_probe(&mut self, now: Time) {
        if self.probe_end.is_some_and(|end| now > end) {
            self.shortest_at = now;
            self.window = self.window.max(self.prior_window);
            if self.full { self.begin_cycle(now) } else { self.mode = Mode::Startup }
        }
    }

    /// `bbr_update_gains`
    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.rate().is_some() => (UNIT, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRoundTrip => (UNIT, UNIT),
        };
    }
}

impl CongestionController for Bbr {
    fn on_ack(&mut self, ack: &Acknowledged, rate: Option<&RateSample>, _shares: &[Share]) {
        let Some(sample) = rate else { return };
        self.update_rate(ack.now, sample);
        self.aggregation.take(
            ack.now,
            sample,
            self.round_begins,
            self.bandwidth(),
            (self.window * self.packet, self.packet),
        );
        self.update_phase(ack.now, sample);
        self.look_whether_full(sample);
        self.drain(ack.now, sample);
        self.update_shortest(ack, sample);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, ack.srtt);
        self.set_window(ack, sample);
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss { .. } | CongestionEvent::Mark { .. } => self.save_window(),
            CongestionEvent::Timeout { repairing, .. } => {
                if !repairing {
                    self.save_window();
                }
                self.repairing = Repairing::Timeout;
                self.full_rate = 0;
                self.round_begins = true;
                self.policer.note_timeout();
                self.window = 1;
            }
            CongestionEvent::Collapse { window } => self.window = (window / self.packet).max(1),
            // `bbr_undo_cwnd` restarts the search for the full pipe, and leaves the window to the
            // next acknowledgement.
            CongestionEvent::Undone { .. } => {
                (self.full_rate, self.full_rounds) = (0, 0);
                self.policer.begin_anew();
            }
            CongestionEvent::Penalty => self.window = (self.window / 2).max(1),
            // `bbr_cwnd_event`: after a pause of the application packets leave at the known rate.
            CongestionEvent::Resumed { app_limited: true, .. } => {
                self.restarts = true;
                self.aggregation.begin_anew(now);
                match self.mode {
                    Mode::ProbeBandwidth => self.set_pacing_rate(UNIT, Duration::ZERO),
                    Mode::ProbeRoundTrip => self.end_probe(now),
                    Mode::Startup | Mode::Drain => {}
                }
            }
            // `bbr_init` comes after the sample of the handshake.
            CongestionEvent::Measured { round_trip } if !self.measured => {
                self.begin_pacing(round_trip);
                (self.shortest, self.shortest_at) = (Some(round_trip), now);
            }
            CongestionEvent::Measured { .. }
            | CongestionEvent::Resumed { .. }
            | CongestionEvent::Idle
            | CongestionEvent::Drained => {}
        }
    }

    fn window(&self) -> u64 {
        self.window * self.packet
    }

    fn slow_start_threshold(&self) -> u64 {
        self.threshold.saturating_mul(self.packet)
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate)
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRoundTrip
    }
}
