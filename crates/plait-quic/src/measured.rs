//! Measurement of a connection's paths while it runs, from the transport's own counters. No clock,
//! no I/O.
//!
//! - **Rate**: the delivery rate, acknowledged bytes divided by elapsed time, as in
//!   draft-cheng-iccrg-delivery-rate-estimation-02. It is taken over *rounds* instead of packets. A
//!   round has at least one round trip and [`ROUND_PACKETS`] packets. If a queue stood during the
//!   whole round, the path was busy, and the rate is its capacity: the upper quartile of these
//!   rounds counts. As long as there are too few of them, the largest rate of all rounds counts, as
//!   in BBR. That rate is a lower bound.
//! - **Round trips**: the smallest round-trip time so far, and the smoothed one.
//! - **Queue**: the longest round-trip time minus the smallest. It is the size of the queue if the
//!   queue ever overflowed, and else a lower bound.
//! - **Losses** that the connection did not cause: the share of packets lost while the queue was
//!   less than half as long as it has ever been. Losses found while the queue is longer, or within
//!   two round trips after that, count as its overflow. The two round trips are needed because
//!   packets that leave together overflow a short queue, which has drained when the loss is found.
//!   Packets that arrive in that time are not counted either. This is the backlog measure of TCP
//!   Veno (Fu and Liew, IEEE JSAC 21(2), 2003), with the queue's own length instead of three
//!   packets. If a queue always stands, as on a path with a large full buffer, nothing is left to
//!   count: the share is unknown, and counts as zero.

use plait_sched::{Duration, Path, PathState, Time};
use plait_transport::PathTotals;
use std::collections::VecDeque;
use std::fmt;

/// Fewest packets of a round: two that are acknowledged together are at most a sixteenth of it.
pub const ROUND_PACKETS: u64 = 32;

/// Number of remembered rounds.
const ROUNDS: usize = 24;

/// Rounds after which a path is known. Either so many rounds were busy, or the last `LEVEL_ROUNDS`
/// rounds did not exceed all rounds before by a quarter. BBR detects a full pipe in this way.
const BUSY_ROUNDS: usize = 3;
const LEVEL_ROUNDS: usize = 3;
const GROWS: f64 = 1.25;

/// Fewest packets, lost ones included, for which a share of losses is reported.
const TALLIED: f64 = 100.0;

/// Shortest duration of a round.
const MIN_ROUND: Duration = Duration::from_millis(20);

/// Queueing delay of a standing queue, unless an eighth of the round-trip time is longer.
const STANDING: Duration = Duration::from_millis(2);

/// Measurement of one path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Index of the path.
    pub path: usize,
    /// Delivery rate while the path is busy, in bit/s of IP packets.
    pub rate_bps: f64,
    /// True if the path was busy, so that the rate is its capacity; else the rate is a lower bound.
    pub busy: bool,
    /// Smallest round-trip time.
    pub round_trip: Duration,
    /// Smoothed round-trip time.
    pub recent: Duration,
    /// Share of packets that are lost whether or not the queue is full, as far as known.
    pub loss: f64,
    /// Longest queueing delay.
    pub queue: Duration,
    /// True if the queue overflowed, so that it is no longer than `queue`.
    pub overflowed: bool,
    /// Number of acknowledged packets.
    pub packets: u64,
    /// Number of measured rounds.
    pub rounds: u64,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let round_trip = self.round_trip.as_secs_f64() * 1e3;
        let digits = if round_trip < 10.0 { 1 } else { 0 };
        write!(f, "{:.1} Mbit/s {round_trip:.digits$} ms", self.rate_bps / 1e6)?;
        if self.loss >= 0.000_5 { write!(f, " {:.1} % loss", self.loss * 100.0) } else { Ok(()) }
    }
}

/// Measurements of all paths of a connection.
#[derive(Clone, Debug)]
pub struct Measure {
    gauges: Vec<Gauge>,
    /// Bytes of a full packet as windows count it, and bytes of its IP packet.
    counted: u64,
    wire: u64,
}

impl Measure {
    /// Starts the measurement of paths on which nothing was sent yet. A full packet counts
    /// `counted` bytes in windows, and has `wire` bytes with all headers.
    pub fn new(paths: usize, counted: u64, wire: u64) -> Self {
        Self { gauges: vec![Gauge::default(); paths], counted: counted.max(1), wire }
    }

    /// Takes the current state of a path. Call it often: several times per round trip.
    pub fn update(&mut self, now: Time, facts: &Path, totals: &PathTotals) {
        let path = facts.id.index();
        self.gauges.resize(self.gauges.len().max(path + 1), Gauge::default());
        self.gauges[path].update(now, facts, totals, self.counted);
    }

    /// Returns the paths in use, or `None` if one of them is not known well enough.
    pub fn known(&self) -> Option<Vec<Measured>> {
        let used = self.gauges.iter().enumerate().filter(|(_, gauge)| gauge.used);
        used.map(|(path, gauge)| gauge.is_known().then(|| self.measured(path))).collect()
    }

    /// Returns the measurement of a path, even if little is known.
    pub fn measured(&self, path: usize) -> Measured {
        let gauge = &self.gauges[path];
        let loss = gauge.loss();
        Measured {
            path,
            // Lost packets have used the path's capacity, too.
            rate_bps: gauge.rate() * 8.0 * self.wire as f64 / self.counted as f64 / (1.0 - loss),
            busy: gauge.busy().count() >= BUSY_ROUNDS,
            round_trip: gauge.least,
            recent: gauge.recent,
            loss,
            queue: gauge.most_delay,
            overflowed: gauge.overflowed,
            packets: gauge.before.acknowledged / self.counted,
            rounds: gauge.rounds,
        }
    }
}

/// A finished round.
#[derive(Clone, Copy, Debug)]
struct Round {
    bytes_per_second: f64,
    busy: bool,
}

/// State of the measurement of one path.
#[derive(Clone, Debug, Default)]
struct Gauge {
    used: bool,
    before: PathTotals,
    least: Duration,
    recent: Duration,
    most_delay: Duration,
    overflowed: bool,
    /// The queue was long: losses found before this time count as its overflow.
    excused_until: Time,
    /// Packets that arrived, and packets that were lost, while the queue was short.
    arrived: f64,
    lost: f64,
    began: Option<(Time, u64)>,
    /// Shortest queueing delay of the round.
    least_delay: Option<Duration>,
    last: VecDeque<Round>,
    rounds: u64,
}

impl Gauge {
    fn update(&mut self, now: Time, facts: &Path, totals: &PathTotals, counted: u64) {
        self.used = facts.state == PathState::Active;
        if !facts.has_rtt() || facts.min_rtt.is_zero() {
            return;
        }
        self.least = facts.min_rtt;
        self.recent = facts.srtt;
        let delay = facts.latest_rtt - self.least;
        self.tally(now, delay, totals, counted);
        self.before = *totals;
        self.least_delay = Some(self.least_delay.map_or(delay, |least| least.min(delay)));
        let (began, acknowledged) = *self.began.get_or_insert((now, totals.acknowledged));
        let (bytes, elapsed) = (totals.acknowledged - acknowledged, now.since(began));
        if bytes >= ROUND_PACKETS * counted && elapsed >= facts.srtt.max(MIN_ROUND) {
            let standing = STANDING.max(self.least / 8);
            let busy = self.least_delay.is_some_and(|least| least >= standing);
            self.last.push_back(Round { bytes_per_second: bytes as f64 / elapsed.as_secs_f64(), busy });
            if self.last.len() > ROUNDS {
                self.last.pop_front();
            }
            self.rounds += 1;
            (self.began, self.least_delay) = (Some((now, totals.acknowledged)), None);
        }
    }

    /// Separates losses by an overflow of the queue from other losses.
    fn tally(&mut self, now: Time, delay: Duration, totals: &PathTotals, counted: u64) {
        let arrived = totals.acknowledged.saturating_sub(self.before.acknowledged) as f64 / counted as f64;
        // The difference is negative if packets that counted as lost have arrived late.
        let lost = totals.lost as f64 - self.before.lost as f64;
        self.most_delay = self.most_delay.max(delay);
        if delay * 2 >= self.most_delay && delay >= STANDING {
            self.excused_until = now + self.recent * 2;
        }
        if now < self.excused_until {
            self.overflowed |= lost > 0.0;
        } else {
            self.arrived += arrived;
            self.lost = (self.lost + lost).max(0.0);
        }
    }

    fn loss(&self) -> f64 {
        let all = self.arrived + self.lost;
        if all < TALLIED { 0.0 } else { (self.lost / all).min(0.5) }
    }

    fn busy(&self) -> impl Iterator<Item = &Round> {
        self.last.iter().filter(|round| round.busy)
    }

    /// Rate in bytes per second.
    fn rate(&self) -> f64 {
        let mut rates: Vec<f64> = self.busy().map(|round| round.bytes_per_second).collect();
        if rates.len() < BUSY_ROUNDS {
            return self.last.iter().map(|round| round.bytes_per_second).fold(0.0, f64::max);
        }
        rates.sort_unstable_by(f64::total_cmp);
        rates[(rates.len() * 3 / 4).min(rates.len() - 1)]
    }

    fn is_known(&self) -> bool {
        self.busy().count() >= BUSY_ROUNDS || self.is_level()
    }

    fn is_level(&self) -> bool {
        let before = self.last.len().saturating_sub(LEVEL_ROUNDS);
        let most = |rounds: &mut dyn Iterator<Item = &Round>| {
            rounds.map(|round| round.bytes_per_second).fold(0.0, f64::max)
        };
        before > 0 && most(&mut self.last.range(before..)) < GROWS * most(&mut self.last.range(..before))
    }
}

#[cfg(test)]
mod tests;
