//! CUBIC as in Linux (net/ipv4/tcp_cubic.c): the function of RFC 9438 in whole numbers, with these
//! differences:
//!
//! - the function is evaluated in milliseconds, one *shortest* round trip ahead, and 31 ms apart
//!   unless the window changed;
//! - before the first loss, one packet is added for at most twenty acknowledged ones; never one for
//!   fewer than two;
//! - Reno's window is followed from the beginning of an epoch at (1 + β) / (1 − β) · 8/3 / 8
//!   acknowledged packets per packet;
//! - β = 717/1024; a loss takes its share of the window, not of the data in flight;
//! - a timeout resets all state, including the last maximum and the shortest round trip, and begins
//!   a new HyStart.

use super::PacketWindow;
use super::hystart::HyStart;
use crate::congestion::{
    Acknowledged, CongestionConfig, CongestionController, CongestionEvent, ControllerInfo, Family,
    RateSample, Share, WindowUse,
};
use plait_sched::{Duration, Time};

/// β in parts of 1024.
const BETA: u64 = 717;
/// C in parts of 1024, times ten: for a second in units of 1024.
const C: u64 = 410;
/// Acknowledged packets per window, in eighths, for which Reno's window grows by a packet.
const RENO: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// Time between evaluations of the function while the window stays: 1/32 s.
const CALM: u64 = 31;
/// Milliseconds after the beginning of an epoch without round-trip samples: a queue is being
/// emptied, which inflates them.
const SETTLING: u64 = 1000;

/// The state of one path. Times are in milliseconds.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    window: PacketWindow,
    /// Present until slow start was ended by it, if wanted.
    hystart: Option<HyStart>,
    wants_hystart: bool,
    state: State,
}

/// State that a timeout resets.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The window before the last loss; 0 before the first one.
    maximum: u64,
    /// The shortest round trip; zero before the first sample.
    shortest: Duration,
    /// So many acknowledged packets grow the window by one.
    per_packet: u64,
    last_window: u64,
    last_time: u64,
    epoch: Option<Epoch>,
    /// Packets acknowledged for Reno's window.
    acknowledged: u64,
    /// Reno's window.
    reno: u64,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: u64,
    /// The window at which the function is flat.
    origin: u64,
    /// When it is, in 1/1024 s from the start.
    climb: u64,
}

impl LinuxCubic {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo =
        ControllerInfo { name: "cubic", family: Family::Linux, coupled: false, source: "" };

    /// At the start.
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            window: PacketWindow::new(config),
            hystart: config.hystart.then(HyStart::new),
            wants_hystart: config.hystart,
            state: State::default(),
        }
    }

    fn note_round_trip(&mut self, acknowledged: &Acknowledged) {
        let Some(rtt) = acknowledged.newest_rtt else { return };
        let now = milliseconds(acknowledged.now);
        if self.state.epoch.is_some_and(|epoch| now.saturating_sub(epoch.start) < SETTLING) {
            return;
        }
        if self.state.shortest.is_zero() || rtt < self.state.shortest {
            self.state.shortest = rtt;
        }
        let shortest = self.state.shortest;
        if self.window.in_slow_start()
            && let Some(hystart) = &mut self.hystart
            && hystart.is_over(acknowledged, self.window.window, rtt, shortest)
        {
            self.hystart = None;
            self.window.threshold = self.window.window;
        }
    }

    fn remember_loss(&mut self) {
        let window = self.window.window;
        let state = &mut self.state;
        state.epoch = None;
        state.maximum = if window < state.maximum { window * (1024 + BETA) / 2048 } else { window };
        self.window.reduce(window * BETA / 1024);
    }

    fn forget(&mut self) {
        self.state = State::default();
        self.hystart = self.wants_hystart.then(HyStart::new);
    }
}

impl State {
    /// Brings `per_packet` up to date.
    fn update(&mut self, now: u64, window: u64, packets: u64) {
        self.acknowledged += packets;
        if self.last_window == window && now - self.last_time <= CALM {
            return;
        }
        if self.epoch.is_none() || now != self.last_time {
            (self.last_window, self.last_time) = (window, now);
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin_epoch(now, window, packets),
            };
            let target = epoch.target(now + ceil_milliseconds(self.shortest));
            self.per_packet = if target > window { window / (target - window) } else { 100 * window };
            if self.maximum == 0 {
                self.per_packet = self.per_packet.min(20);
            }
        }
        let step = window * RENO / 8;
        while self.acknowledged > step {
            self.acknowledged -= step.max(1);
            self.reno += 1;
        }
        if self.reno > window {
            self.per_packet = self.per_packet.min(window / (self.reno - window));
        }
        self.per_packet = self.per_packet.max(2);
    }

    fn begin_epoch(&mut self, now: u64, window: u64, packets: u64) -> Epoch {
        self.acknowledged = packets;
        self.reno = window;
        let epoch = if self.maximum <= window {
            Epoch { start: now, origin: window, climb: 0 }
        } else {
            let climb = cube_root((1_u64 << 40) / C * (self.maximum - window));
            Epoch { start: now, origin: self.maximum, climb }
        };
        self.epoch = Some(epoch);
        epoch
    }
}

impl Epoch {
    fn target(&self, at: u64) -> u64 {
        let elapsed = at.saturating_sub(self.start) * 1024 / 1000;
        let distance = u128::from(elapsed.abs_diff(self.climb));
        let delta = (u128::from(C) * distance * distance * distance) >> 40;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        if elapsed < self.climb {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        }
    }
}

impl CongestionController for LinuxCubic {
    fn on_ack(&mut self, acknowledged: &Acknowledged, _rate: Option<&RateSample>, _shares: &[Share]) {
        if !acknowledged.may_grow {
            return;
        }
        self.window.note_progress(acknowledged.now);
        if !self.window.is_limited() {
            return;
        }
        let mut packets = u64::from(acknowledged.segments);
        if self.window.in_slow_start() {
            packets = self.window.slow_start(packets);
            if packets == 0 {
                return;
            }
        }
        self.state.update(milliseconds(acknowledged.now), self.window.window, packets);
        self.window.avoid_congestion(self.state.per_packet, packets);
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss { .. } | CongestionEvent::Mark { .. } => self.remember_loss(),
            CongestionEvent::Timeout { repairing, .. } => {
                if !repairing {
                    self.remember_loss();
                }
                self.window.restart();
                self.forget();
            }
            // Time without data in flight does not count for the function.
            CongestionEvent::Resumed { idle, .. } => {
                if let Some(epoch) = &mut self.state.epoch {
                    epoch.start = (epoch.start + milliseconds(Time::ZERO + idle)).min(milliseconds(now));
                }
            }
            // A penalty does not reach the function of time: `halve` in linux/schedulers/subflow.c
            // writes the window alone. A window far below the function grows by a packet with every
            // second one acknowledged (`bictcp_update`).
            _ => self.window.on_event(event),
        }
    }

    fn on_round_trip(&mut self, ack: &Acknowledged) {
        self.note_round_trip(ack);
    }

    fn on_sent(&mut self, used: &WindowUse) {
        self.window.note_use(used);
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window.threshold_bytes()
    }
}

fn milliseconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

fn ceil_milliseconds(span: Duration) -> u64 {
    span.as_nanos().div_ceil(1_000_000)
}

/// ⌊∛x⌋.
fn cube_root(x: u64) -> u64 {
    let mut root = 0_u64;
    for bit in (0..22).rev() {
        let next = root | 1 << bit;
        if u128::from(next).pow(3) <= u128::from(x) {
            root = next;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::super::super::fixtures::{ack, config, segments, used};
    use super::*;
    use crate::congestion::Algorithm;

    fn start(hystart: bool) -> LinuxCubic {
        LinuxCubic::new(&CongestionConfig { hystart, ..config(Algorithm::LinuxCubic) })
    }

    /// One packet of a full window, with a round trip of 100 ms.
    fn at(control: &LinuxCubic, millis: u64) -> Acknowledged {
        Acknowledged {
            now: Time::ZERO + Duration::from_millis(millis),
            segments: 1,
            newest_rtt: Some(Duration::from_millis(100)),
            ..ack(0, control.window())
        }
    }

    /// Acknowledges a window per 100 ms from `from` to `to`.
    fn run(control: &mut LinuxCubic, from: u64, to: u64) {
        let mut micros = from * 1000;
        while micros < to * 1000 {
            let acknowledged = at(control, micros / 1000);
            control.on_sent(&WindowUse { full: true, ..used(control.window.window, micros / 1000) });
            control.on_round_trip(&acknowledged);
            control.on_ack(&acknowledged, None, &[]);
            micros += 100_000 / control.window.window;
        }
    }

    fn after_loss(peak: u64) -> LinuxCubic {
        let mut control = start(false);
        control.window.window = peak;
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: 0 });
        control
    }

    #[test]
    fn a_penalty_leaves_the_function_of_time_alone() {
        let mut control = after_loss(100);
        run(&mut control, 0, 1_000);
        let before = control.window.window;
        control.on_event(Time::ZERO, CongestionEvent::Penalty);
        let halved = control.window.window;
        assert_eq!(halved, before / 2);
        run(&mut control, 1_000, 1_100);
        // One packet per two acknowledged ones, of windows that grow meanwhile; a new epoch would
        // begin slowly.
        let grown = control.window.window;
        assert!((halved * 4 / 3..=halved * 5 / 3).contains(&grown), "{halved} {grown}");
    }

    #[test]
    fn cube_roots() {
        for x in [0, 1, 7, 8, 26, 27, 1 << 40, u64::MAX] {
            let root = u128::from(cube_root(x));
            assert!(root.pow(3) <= u128::from(x) && (root + 1).pow(3) > u128::from(x), "{x}");
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_a_second_one_lowers_the_maximum() {
        let mut control = after_loss(100);
        assert_eq!((control.window(), control.state.maximum), (segments(70), 100));
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: 0 });
        assert_eq!((control.window(), control.state.maximum), (segments(49), 59));
    }

    #[test]
    fn the_window_is_back_after_k_seconds() {
        // K = ∛(300 / 0.4) s = 9.1 s; the function is evaluated a round trip ahead.
        let mut control = after_loss(1000);
        run(&mut control, 0, 5000);
        let middle = control.window.window;
        assert!((960..=985).contains(&middle), "1000 − 0.4 · 4³ is 974: {middle}");
        run(&mut control, 5000, 9100);
        let end = control.window.window;
        assert!((990..=1001).contains(&end), "{end}");
        run(&mut control, 9100, 14_100);
        let beyond = control.window.window;
        assert!((1040..=1060).contains(&beyond), "1000 + 0.4 · 5³ is 1050: {beyond}");
    }

    #[test]
    fn a_small_window_follows_reno() {
        let mut control = after_loss(20);
        run(&mut control, 0, 2000);
        // 14 packets, and one for every 15/8 windows in twenty round trips.
        assert!((22..=25).contains(&control.window.window), "{}", control.window.window);
    }

    #[test]
    fn a_timeout_forgets_the_maximum() {
        let mut control = after_loss(100);
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: 0, repairing: false });
        assert_eq!((control.window(), control.state.maximum), (segments(1), 0));
        assert_eq!(control.slow_start_threshold(), segments(49));
    }

    #[test]
    fn hystart_ends_slow_start_at_the_window_of_the_moment() {
        let mut control = start(true);
        control.window.window = 16;
        let before = control.window();
        let end = (1..100).find(|&millis| {
            let acknowledged = at(&control, millis);
            control.on_sent(&WindowUse { full: true, ..used(control.window.window, millis) });
            control.on_round_trip(&acknowledged);
            control.on_ack(&acknowledged, None, &[]);
            control.slow_start_threshold() != u64::MAX
        });
        assert_eq!(end, Some(51), "a train of more than 50.5 ms");
        assert!(control.window() > before);
        assert_eq!(control.slow_start_threshold(), control.window());
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut control = after_loss(1000);
        run(&mut control, 0, 1000);
        control.on_event(
            Time::ZERO + Duration::from_secs(61),
            CongestionEvent::Resumed { idle: Duration::from_secs(60), app_limited: false },
        );
        let target = control.state.epoch.map(|epoch| epoch.target(61_000));
        assert!(target.is_some_and(|target| target < 800), "{target:?}");
    }
}
