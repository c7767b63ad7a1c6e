//! Questions to the simulator, and its answers.

use crate::measured::Measured;
use crate::pilot::Gain;
use crate::settings::wire_of;
use plait_sched::Builtin;
use plait_sim::random::RandomStream;
use plait_sim::recorder::RecordOptions;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control};
use plait_transport::congestion::Algorithm;
use std::fmt::Write;
use std::path::Path;

/// Schedulers that a connection may change to: built-in schedulers that fill all kinds of paths.
/// They differ in how they limit the time that the stream waits for its slowest part:
///
/// - by the receiver's window (`blest`, `lowest-rtt+rp`);
/// - by arrival times (`ecf`, `intelligent-delivery-delay`, `stms`);
/// - by shorter queues (`lowest-rtt+bm`);
/// - by duplicates of the last segments when no other data is left (`xlink`).
///
/// Schedulers that leave paths idle, or duplicate everything, carry less of a file in every domain
/// of the league. Schedulers that use costs, deadlines or messages have no such information here.
pub const CANDIDATES: [&str; 8] = [
    "lowest-rtt",
    "lowest-rtt+rp",
    "lowest-rtt+bm",
    "blest",
    "ecf",
    "intelligent-delivery-delay",
    "stms",
    "xlink",
];

/// Variations of the paths that choose the candidate, and variations that judge it.
const CHOOSING: std::ops::Range<u64> = 0..2;
const JUDGING: std::ops::Range<u64> = 2..7;

/// Student's 97.5 % quantile for the number of judging variations.
const STUDENT: f64 = 2.776;

/// Most packets of a run while choosing and while judging. An answer takes at most half a million
/// packets, which is about one second of one core.
const CHOOSING_PACKETS: u64 = 8_000;
const JUDGING_PACKETS: u64 = 35_000;

/// Virtual duration of a scenario. A run ends with its file, long before that.
const LONGEST: &str = "3600s";

/// Size of the simulated file for endless data, in seconds of the paths' capacity.
const ENDLESS_SECONDS: f64 = 4.0;

/// Smallest mean gain for a change, and smallest lower end of its interval, in percent.
const WORTH: f64 = 3.0;
const SURE: f64 = 1.0;

/// A question to the simulator.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// The paths in use.
    pub paths: Vec<Measured>,
    /// Remaining bytes, if the data has an end.
    pub left: Option<u64>,
    /// The receiver's window in bytes.
    pub window: u64,
    /// Payload bytes of a full segment.
    pub segment: u16,
    /// Congestion control of each path.
    pub congestion: Algorithm,
    /// Name of the current scheduler.
    pub current: &'static str,
}

/// An answer of the simulator.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// The best candidate.
    pub best: &'static str,
    /// Gain over the current scheduler in the judging variations; zero if both are the same.
    pub gain: Gain,
    /// Number of simulated events.
    pub events: u64,
}

impl Answer {
    /// True if the gain is worth a change, beyond noise.
    pub fn is_gain(&self) -> bool {
        self.best != self.question.current && self.gain.percent >= WORTH && self.gain.low >= SURE
    }
}

/// Runs the simulator. Returns `None` if the schedulers cannot be simulated on such paths, or if
/// `stop` returns true.
pub fn answer(question: Question, stop: &mut dyn FnMut() -> bool) -> Option<Answer> {
    let mut trials = Trials { question: &question, stop, events: 0 };
    let mut best: Option<(f64, &'static str)> = None;
    for name in CANDIDATES {
        let seconds = CHOOSING.map(|number| trials.seconds(name, number, CHOOSING_PACKETS));
        // A candidate whose run does not complete is skipped.
        let Some(sum) = seconds.sum::<Option<f64>>() else { continue };
        if best.is_none_or(|(least, _)| sum < least) {
            best = Some((sum, name));
        }
    }
    let (_, best) = best?;
    let mut ratios = Vec::new();
    if best != question.current {
        for number in JUDGING {
            let [current, other] =
                [question.current, best].map(|name| trials.seconds(name, number, JUDGING_PACKETS));
            ratios.push(current? / other?);
        }
    }
    let events = trials.events;
    Some(Answer { gain: gain(&ratios), question, best, events })
}

/// Returns the mean gain and Student's interval in percent; a ratio of 1 is no gain.
fn gain(ratios: &[f64]) -> Gain {
    let count = ratios.len().max(1) as f64;
    let mean = if ratios.is_empty() { 1.0 } else { ratios.iter().sum::<f64>() / count };
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean) * (ratio - mean)).sum();
    let half = STUDENT * (squares / (count - 1.0).max(1.0) / count).sqrt();
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    Gain {
        percent: percent(mean),
        low: percent(mean - half),
        high: percent(mean + half),
        seeds: ratios.len(),
    }
}

/// Runs of the simulator, and their number of events.
struct Trials<'a> {
    question: &'a Question,
    stop: &'a mut dyn FnMut() -> bool,
    events: u64,
}

impl Trials<'_> {
    /// Returns the time in seconds that a scheduler needs for the remaining data, or for the first
    /// `most_packets` of it.
    fn seconds(&mut self, name: &str, number: u64, most_packets: u64) -> Option<f64> {
        let text = scenario(self.question, number, most_packets);
        let scenario = Scenario::from_toml(&text, "auto.toml", Path::new("")).ok()?;
        let scheduler = Builtin::new(name, &[]).ok()?;
        let stop = &mut self.stop;
        let mut control = |_| if stop() { Control::Interrupt } else { Control::Continue };
        let run = simulation::run(&scenario, scheduler, &RecordOptions::default(), &mut control).ok()?;
        self.events += run.metrics.events;
        run.metrics.completion_time_s
    }
}

/// Describes the measured paths as a scenario. The variations differ within the error of the
/// measurements.
fn scenario(question: &Question, number: u64, most_packets: u64) -> String {
    let Question { paths, window, segment, congestion, .. } = question;
    let (segment, wire) = (u64::from(*segment), wire_of(*segment));
    let capacity: f64 = paths.iter().map(|path| path.rate_bps).sum();
    let endless = (capacity * ENDLESS_SECONDS / 8.0) as u64;
    let size = question.left.unwrap_or(endless).clamp(segment, most_packets * segment);
    let first = paths.iter().min_by_key(|path| path.round_trip).map_or(0, |path| path.path);
    let congestion = congestion.info().name;
    let mut text = format!(
        "seed = {number}\nduration = \"{LONGEST}\"\n[workload]\nkind = \"file\"\nsize = \"{size}B\"\n\
         [transport]\nprotocol = \"mpquic\"\npacket = \"{wire}B\"\nreceive_buffer = \"{window}B\"\n\
         congestion_control = \"{congestion}\"\nhystart = true\nack_every = 2\nack_delay = \"25ms\"\n\
         rto_initial = \"300ms\"\nrto_max = \"1s\"\npotentially_failed = true\n\
         association_max_retransmissions = 100000\ninitial_path = \"path{first}\"\n"
    );
    let mut random = RandomStream::new(number, "measurement");
    for path in paths {
        let mut about = |share: f64| 1.0 + share * (2.0 * random.uniform() - 1.0);
        let rate = (path.rate_bps * about(0.1)).max(10_000.0);
        // The simulator adds the serialization time itself.
        let serialization = wire as f64 * 8.0 / rate;
        let round_trip = (path.round_trip.as_secs_f64() * about(0.1) - serialization).max(0.000_1);
        let loss = path.loss * about(0.3) * 100.0;
        let waits = path.queue.as_secs_f64() * about(0.2);
        let waits = if path.overflowed { waits } else { waits.max(path.round_trip.as_secs_f64()) };
        let queue = (rate * waits / 8.0).max(4.0 * wire as f64);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[[path]]\nname = \"path{}\"\nrate = \"{rate:.0}bit\"\nrtt = \"{:.0}us\"\nloss = \"{loss:.4}%\"\nqueue = \"{queue:.0}B\"\n",
            path.path,
            round_trip * 1e6,
        );
    }
    text
}

#[cfg(test)]
mod tests;
