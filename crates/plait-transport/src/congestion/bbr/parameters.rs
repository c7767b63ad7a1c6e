//! The parameters of `net/ipv4/tcp_bbr.c`.

use plait_sched::Duration;

/// Gains are fractions of this.
pub(super) const UNIT: u64 = 256;

/// 2/ln 2: the smallest gain that doubles the rate in each round (`bbr_high_gain`).
pub(super) const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;

/// Drains the queue of one round of [`HIGH_GAIN`].
pub(super) const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;

/// The window in bandwidth-delay products once the rate is known (`bbr_cwnd_gain`).
pub(super) const WINDOW_GAIN: u64 = UNIT * 2;

/// Gains of PROBE_BW's phases: one probes for bandwidth, one drains its queue, six cruise.
pub(super) const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];

/// Rounds over which the largest delivery rate is taken (`bbr_bw_rtts`).
pub(super) const RATE_ROUNDS: u64 = CYCLE.len() as u64 + 2;

/// Time after which the shortest round trip is measured again (`bbr_min_rtt_win_sec`).
pub(super) const SHORTEST_WINDOW: Duration = Duration::from_secs(10);

/// How long the window is at its smallest in PROBE_RTT (`bbr_probe_rtt_mode_ms`).
pub(super) const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// Packets in flight at least (`bbr_cwnd_min_target`).
pub(super) const LEAST_WINDOW: u64 = 4;

/// Linux' initial window; a window grows up to it with any target (`TCP_INIT_CWND`).
pub(super) const INITIAL_WINDOW: u64 = 10;

/// Rounds without a quarter more bandwidth in a full pipe (`bbr_full_bw_cnt`,
/// `bbr_full_bw_thresh`).
pub(super) const FULL_ROUNDS: u32 = 3;

/// The round trip before the first sample.
pub(super) const NOMINAL_ROUND_TRIP: Duration = Duration::from_millis(1);
