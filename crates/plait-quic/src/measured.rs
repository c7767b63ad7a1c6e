//! What a connection finds out about its paths while it runs, from what its transport counts anyway. No clock, no I/O.
//!
//! - **Rate**: the delivery rate, bytes acknowledged by the time that took, as in draft-cheng-iccrg-delivery-rate-estimation-02, over *rounds* of a round trip
//!   and [`ROUND_PACKETS`] packets at least rather than by packet. In rounds in which a queue stood all the time the path was busy, and that is its capacity: the upper quartile of these;
//!   as long as there are too few, the largest of all rounds, as BBR takes it, which is a lower bound.
//! - **Round trips**: the smallest one so far, and the smoothed one.
//! - **Queue**: the longest round trip less the smallest. It is the queue's size if it ever overflowed, else the queue is at least so long.
//! - **Losses** that are not the connection's own doing: the share of packets that were lost while the queue was less than half as long as it has ever been. Those that
//!   were found lost while it was longer, or within two round trips after that (packets that leave together overflow a short queue, and it has drained when that is found), are taken for its overflow,
//!   and packets that arrived meanwhile are not counted either. That is the
//!   backlog's measure of TCP Veno (Fu and Liew, IEEE JSAC 21(2), 2003) with the queue's own length in the place of three packets. Where a queue
//!   stands all the time, as in a path that a large buffer keeps full, nothing is left to count and the share is not known: then it counts as none.

use plait_sched::{Duration, Path, PathState, Time};
use plait_transport::PathTotals;
use std::collections::VecDeque;
use std::fmt;

/// Packets of a round at least: two that are acknowledged together are no more than a sixteenth.
pub const ROUND_PACKETS: u64 = 32;

/// Rounds that are remembered.
const ROUNDS: usize = 24;

/// Rounds from which on a path is known: in so many it was busy, or so many did not have a quarter more than all before, as BBR finds that a pipe is full.
const BUSY_ROUNDS: usize = 3;
const LEVEL_ROUNDS: usize = 3;
const GROWS: f64 = 1.25;

/// Packets, lost ones included, of which a share of losses is told.
const TALLIED: f64 = 100.0;

/// A round lasts so long at least.
const LEAST_ROUND: Duration = Duration::from_millis(20);

/// A queue stands from that on, or an eighth of the round trip.
const STANDING: Duration = Duration::from_millis(2);

/// What a path was found to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Which.
    pub path: usize,
    /// What it delivers when it is busy, in bit/s of IP packets.
    pub rate_bps: f64,
    /// The path was seen busy, so that this is its capacity; else it is at least that.
    pub busy: bool,
    /// The smallest round trip.
    pub round_trip: Duration,
    /// The smoothed one.
    pub recent: Duration,
    /// The share of packets that are lost whether or not the queue is full, as far as it is known.
    pub loss: f64,
    /// The longest that packets waited in the queue.
    pub queue: Duration,
    /// The queue overflowed, so that it is no longer than that.
    pub overflowed: bool,
    /// Packets that were acknowledged.
    pub packets: u64,
    /// Rounds that were measured.
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

/// All paths of a connection.
#[derive(Clone, Debug)]
pub struct Measure {
    gauges: Vec<Gauge>,
    /// Bytes that a full packet counts in windows, and bytes of its IP packet.
    counted: u64,
    wire: u64,
}

impl Measure {
    /// Of so many paths on which nothing was sent yet. A full packet counts `counted` bytes in windows, and has `wire` bytes with all headers.
    pub fn new(paths: usize, counted: u64, wire: u64) -> Self {
        Self { gauges: vec![Gauge::default(); paths], counted: counted.max(1), wire }
    }

    /// How a path stands at this moment. To be told often: several times in a round trip.
    pub fn look(&mut self, now: Time, facts: &Path, totals: &PathTotals) {
        let path = facts.id.index();
        self.gauges.resize(self.gauges.len().max(path + 1), Gauge::default());
        self.gauges[path].look(now, facts, totals, self.counted);
    }

    /// The paths in use, or nothing if one of them is not known well enough.
    pub fn known(&self) -> Option<Vec<Measured>> {
        let used = self.gauges.iter().enumerate().filter(|(_, gauge)| gauge.used);
        used.map(|(path, gauge)| gauge.is_known().then(|| self.measured(path))).collect()
    }

    /// What is known of a path, however little.
    pub fn measured(&self, path: usize) -> Measured {
        let gauge = &self.gauges[path];
        let loss = gauge.loss();
        Measured {
            path,
            // What a wire loses, it has carried.
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

/// A round that is over.
#[derive(Clone, Copy, Debug)]
struct Round {
    bytes_per_second: f64,
    busy: bool,
}

/// One path.
#[derive(Clone, Debug, Default)]
struct Gauge {
    used: bool,
    before: PathTotals,
    least: Duration,
    recent: Duration,
    most_delay: Duration,
    overflowed: bool,
    /// The queue was long: what is found lost until then is of its overflow.
    excused_until: Time,
    /// Packets that arrived, and were lost, while the queue was short.
    arrived: f64,
    lost: f64,
    began: Option<(Time, u64)>,
    /// The shortest wait of the round.
    least_delay: Option<Duration>,
    last: VecDeque<Round>,
    rounds: u64,
}

impl Gauge {
    fn look(&mut self, now: Time, facts: &Path, totals: &PathTotals, counted: u64) {
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
        if bytes >= ROUND_PACKETS * counted && elapsed >= facts.srtt.max(LEAST_ROUND) {
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

    /// Which losses are the queue's.
    fn tally(&mut self, now: Time, delay: Duration, totals: &PathTotals, counted: u64) {
        let arrived = totals.acknowledged.saturating_sub(self.before.acknowledged) as f64 / counted as f64;
        // Those that came late are none.
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

    /// Bytes per second.
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
