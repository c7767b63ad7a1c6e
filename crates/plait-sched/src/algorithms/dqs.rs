//! DQS: fills each path to its send window, by ascending average time of a successful transmission.
//!
//! # Source
//! Huang and Zhang, *A Data Scheduling Scheme Based on Double Queue and Send-window*: segments of
//! the data queue are dispatched to the paths' queues,
//! * to paths by ascending T_i = (1 − l⁴) FT_i + (l + l² + l³ − 3l⁴) RTO_i (eq. 9), with l the loss
//!   rate of the path, FT_i = RTT_i / 2 (eq. 1) and RTT_i ← 0.75 RTT_i + 0.25 sample (eq. 2);
//! * as many as fill the path's window w_i;
//! * and when a path fails or times out, its queued segments return to the data queue and are
//!   dispatched again.
//!
//! # Readings
//! * Eq. (8) lost a factor lᵏ on its way from (7). Eq. (9), the one with numbers in it, follows
//!   from (7) and is used. The text calls T_i "forward transmission delay" once; that is FT_i.
//! * "The number of receive window" of a path cannot be meant: there is one receive window, for all
//!   paths. The title, the conclusion and the rest of the text speak of send windows.
//! * `window`: "free" (the default) is the free part of the send window: cwnd − in flight − queued,
//!   as far as the receiver's window admits. "Without resulting in the data accumulation of the
//!   sender" supports it. "whole" is step 2 read literally, w_i segments to every path at once: a
//!   window of segments for each path whose queue is empty, regardless of its segments in flight.
//!   Then about a window of segments waits on each path. This reorders more, and gives the
//!   scheduler segments to schedule again.
//!
//! # Departures
//! * Before its first sample a path counts with its smoothed round-trip time, if the transport has
//!   one, otherwise with zero: an unmeasured path goes first. The first sample starts the average.
//! * A path that timed out comes after all others until it acknowledges something. Otherwise its
//!   own segments might be dispatched to it again. Of equal T the lower path number wins.
//! * A path that gets no segments is not measured again. After early losses a path may stay unused
//!   forever, if the others alone fill the receiver's window.
//! * Only segments that the engine has not taken back by itself are recalled.

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Path, usable};

/// The number of segments for a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// The free part of its send window.
    Free,
    /// A send window of segments, when its queue is empty.
    Whole,
}

/// The state of DQS.
#[derive(Clone, Debug)]
pub struct Dqs {
    window: Window,
    /// RTT_i, in nanoseconds; 0 before the first sample.
    rtt: [u64; MAX_PATHS],
    /// A bit per path whose queue is to be recalled.
    recalls: u32,
    suspects: Suspects,
}

impl Dqs {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "dqs",
        title: "DQS",
        summary: "Each path is filled up to its send window, by ascending average time of a successful transmission, losses included.",
        source: "Huang and Zhang, A Data Scheduling Scheme Based on Double Queue and Send-window",
        needs: Capabilities { recall: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "window",
            doc: "The segments for a path: the free part of its send window (free), or a whole window when its queue is empty (whole).",
            default: Value::Text("free"),
            domain: Domain::Choice(&["free", "whole"]),
        }],
    };

    /// Creates one of the readings.
    pub const fn new(window: Window) -> Self {
        Self { window, rtt: [0; MAX_PATHS], recalls: 0, suspects: Suspects::NONE }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(match parameters.text("window") {
            "whole" => Window::Whole,
            _ => Window::Free,
        })
    }

    /// T_i in nanoseconds.
    fn time(&self, path: &Path) -> u64 {
        let rtt = match self.rtt[path.id.index()] {
            0 => path.srtt.as_nanos(),
            average => average,
        };
        transmission_time(rtt / 2, path.rto.as_nanos(), path.loss_ppm)
    }

    /// n_i: the number of segments that the path takes now.
    fn amount(&self, connection: &Connection, path: &Path) -> u32 {
        match self.window {
            _ if path.in_recovery => 0,
            Window::Free => clip(path.room(), connection.sendable()),
            Window::Whole if path.queued == 0 => clip(path.cwnd, connection.unassigned),
            Window::Whole => 0,
        }
    }
}

impl Scheduler for Dqs {
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let waits = |path: &&Path| path.queued > 0 && self.recalls >> path.id.0 & 1 == 1;
        if let Some(path) = paths.iter().take(MAX_PATHS).find(waits) {
            self.recalls &= !(1 << path.id.0);
            return Decision::Recall { path: path.id };
        }
        self.recalls = 0;
        if connection.sendable() == 0 {
            return Decision::WAIT;
        }
        // `min_by_key` keeps the first of equals.
        let best = usable(paths)
            .take(MAX_PATHS)
            .filter(|path| self.amount(connection, path) > 0)
            .min_by_key(|path| (self.suspects.contains(path.id), self.time(path)));
        match best {
            Some(path) => Decision::Assign { path: path.id, segments: self.amount(connection, path) },
            None => Decision::WAIT,
        }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.suspects.on_event(event);
        match *event {
            Event::Acked { path, rtt, .. } => {
                let sample = rtt.map_or(0, Duration::as_nanos);
                match self.rtt.get_mut(path.index()) {
                    Some(average) if sample > 0 => *average = smooth(*average, sample),
                    _ => {}
                }
            }
            Event::Timeout { path } | Event::PathDown { path } => self.recalls |= 1 << path.0,
            Event::PathUp { .. } | Event::Sent { .. } | Event::Lost { .. } => {}
        }
    }

    fn needs(&self) -> Capabilities {
        let assign_ahead = self.window == Window::Whole;
        Capabilities { assign_ahead, recall: true, ..Capabilities::NONE }
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

/// Eq. (2), rounded down to nanoseconds; `average` is 0 before the first sample.
fn smooth(average: u64, sample: u64) -> u64 {
    match average {
        0 => sample,
        average => ((3 * u128::from(average) + u128::from(sample)) / 4) as u64,
    }
}

/// Eq. (9), rounded down to nanoseconds, for a loss rate in parts per million (larger ones count as
/// the whole).
fn transmission_time(forward: u64, rto: u64, loss_ppm: u32) -> u64 {
    /// The unit of the factors: with it the products of times and factors fit into 128 bits.
    const ONE: u128 = 1_000_000_000_000_000_000;
    const PPM: u128 = 1_000_000;
    if loss_ppm == 0 {
        return forward;
    }
    let first = u128::from(loss_ppm).min(PPM);
    let (second, third, fourth) = (first.pow(2), first.pow(3), first.pow(4) / PPM);
    let lost = first * PPM * PPM + second * PPM + third - 3 * fourth;
    let time = (ONE - fourth) * u128::from(forward) + lost * u128::from(rto);
    u64::try_from(time / ONE).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
