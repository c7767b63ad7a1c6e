//! DQS: paths by ascending average time of a successful transmission, each filled to its send window.
//!
//! # Source
//! Huang and Zhang, *A Data Scheduling Scheme Based on Double Queue and Send-window*: from the data queue segments are
//! dispatched to the paths' queues,
//! * to paths by ascending T_i = (1 − l⁴) FT_i + (l + l² + l³ − 3l⁴) RTO_i (eq. 9), with l the loss rate of the path,
//!   FT_i = RTT_i / 2 (eq. 1) and RTT_i ← 0.75 RTT_i + 0.25 sample (eq. 2);
//! * so many that the path's window w_i is filled;
//! * and when a path fails or times out, what waits in its queue returns to the data queue and is dispatched again.
//!
//! # Readings
//! * Eq. (8) lost a factor lᵏ on its way from (7); eq. (9), the one with numbers in it, follows from (7) and is used. The
//!   text calls T_i "forward transmission delay" once; that is FT_i.
//! * "The number of receive window" of a path cannot be meant: there is one receive window, for all paths. The title, the
//!   conclusion and the rest of the text speak of send windows.
//! * `window`: "free" (the default) is what the send window still admits: cwnd − in flight − queued, as far as the
//!   receiver's window goes. "Without resulting in the data accumulation of the sender" supports it. "whole" is the letter
//!   of step 2, w_i segments to every path at once: a window of segments for each path whose queue is empty, whatever is
//!   in flight. Then about a window waits on each path, which reorders more, and is what there is to schedule again.
//!
//! # Departures
//! * Before the first sample of a path its smoothed round-trip time, if the transport has one, else zero: a path that has
//!   not been measured goes first. The first sample starts the average.
//! * A path that timed out comes after all others until it acknowledges something: else its own segments might be
//!   dispatched to it again. Equal T are decided for the lower path number.
//! * A path that is given nothing is not measured again. Early losses on a path may so leave it unused for good, if the
//!   others alone fill the receiver's window.
//! * Recalled is what the engine has not taken back by itself.

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Path, usable};

/// How much a path is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// What its send window still admits.
    Free,
    /// A send window of segments, when nothing waits in its queue.
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
    /// What the registry says about it.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "dqs",
        title: "DQS",
        summary: "Each path is filled to its send window, by ascending average time of a successful transmission, losses \
                  included.",
        source: "Huang and Zhang, A Data Scheduling Scheme Based on Double Queue and Send-window",
        needs: Capabilities { recall: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "window",
            doc: "What a path is given: the free part of its send window, or a whole window when its queue is empty.",
            default: Value::Text("free"),
            domain: Domain::Choice(&["free", "whole"]),
        }],
    };

    /// One of the readings.
    pub const fn new(window: Window) -> Self {
        Self { window, rtt: [0; MAX_PATHS], recalls: 0, suspects: Suspects::NONE }
    }

    /// From checked parameters.
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

    /// n_i: how many segments the path takes now.
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

/// Eq. (2), to the next lower nanosecond; `average` is 0 before the first sample.
fn smooth(average: u64, sample: u64) -> u64 {
    match average {
        0 => sample,
        average => ((3 * u128::from(average) + u128::from(sample)) / 4) as u64,
    }
}

/// Eq. (9), to the next lower nanosecond, for a loss rate in parts per million (more than all counts as all).
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
