//! Events of the whole run: the end of the warm-up, and samples of the series.

use super::events::At;
use super::flow::Totals;
use super::routes::RouteCounters;
use super::{Carrier, Simulation, Tap, connection};
use crate::recorder::frames::{NEVER, nanos};
use plait_sched::{PathId, Scheduler, Time};
use plait_transport::Counters;

/// Events of the whole run: the last sources of events, after the links and the connections' timers.
#[derive(Clone, Copy)]
pub(super) enum Clock {
    Sampler,
    Warmup,
}

/// The sides of the [`Clock`]s.
pub(super) const CLOCKS: [At; 2] = [At::Clocks; 2];

/// Counters at the end of the warm-up, which metrics exclude.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    pub(crate) sender: Counters,
    pub(super) paths: Vec<RouteCounters>,
    pub(crate) flows: Vec<Totals>,
    /// Timeouts of a stack's near end.
    pub(crate) stack_timeouts: u64,
}

impl<S: Scheduler, T: Tap, C: Carrier> Simulation<'_, S, T, C> {
    pub(super) fn set_clock(&mut self, clock: Clock, at: Time) {
        let connections = (1 + self.flows.len()) * connection::TIMERS.len();
        let source = self.network.link_count() + connections + clock as usize;
        self.network.set_timer(self.network.events.place(source), Some(at));
    }

    pub(super) fn end_warmup(&mut self) {
        self.main.observer.end_warmup();
        self.network.restart_reports();
        let paths = 0..self.scenario.paths.len();
        self.baseline = Baseline {
            sender: self.main.near.counters(),
            paths: paths.map(|path| self.network.counters(self.main.data_route(path))).collect(),
            flows: self.flows.iter().map(|flow| flow.totals(&self.network)).collect(),
            stack_timeouts: self.main.carrier.state(self.network.now).map_or(0, |state| state.timeouts),
        };
    }

    pub(super) fn sample(&mut self) {
        let Some(interval) = self.sampling else { return };
        let now = self.network.now;
        if let Some(state) = self.main.carrier.state(now) {
            self.sample_stack(&state);
            self.set_clock(Clock::Sampler, now + interval);
            return;
        }
        let time = nanos(now);
        let (packets, bytes) = self.main.observer.waiting();
        let series = &mut self.connection_series;
        series.time.push(time);
        series.buffer_packets.push(packets as u32);
        series.buffer_bytes.push(bytes);
        series.delivered_bytes.push(self.main.observer.delivered_bytes);
        series.window_left.push(self.main.near.connection().window_left);
        let counted = self.scenario.transport.counted_packet();
        for (index, facts) in self.main.near.paths().iter().enumerate() {
            let (window, threshold) = self.main.near.window(PathId(index as u8));
            let series = &mut self.path_series;
            series.time.push(time);
            series.path.push(index as u8);
            series.cwnd.push(window as f64 / counted);
            series.ssthresh.push(if threshold == u64::MAX {
                f64::INFINITY
            } else {
                threshold as f64 / counted
            });
            series.srtt.push(if facts.has_rtt() { facts.srtt.as_nanos() as i64 } else { NEVER });
            series.in_flight.push(facts.in_flight);
            series.queued.push(facts.queued);
            series.link_queue.push(self.network.waiting(self.main.data_route(index)) as u32);
            series.arrived_bytes.push(self.main.observer.paths[index].arrived_bytes_since_start);
        }
        self.set_clock(Clock::Sampler, now + interval);
    }
}
