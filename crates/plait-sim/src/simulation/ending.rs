//! The simulator's data at the end of a run, in addition to the recorder's.

use super::{Carrier, Flow, Simulation, Tap};
use crate::result::{Ending, FlowEnding, PathEnding, QueueMetrics, RunResult};
use plait_sched::Scheduler;

/// The reason why a connection falls back to TCP, in terms of the kernel's counters
/// (`why_fallen_back` in the engine's guest). The receiver's counter is the cause, the sender's the
/// consequence.
const FALLBACK: &str = "receiver: the packet that ended the handshake came without MP_CAPABLE (MPCapableFallbackACK); \
                        sender: the first data came without MP_CAPABLE (MPCapableDataFallback)";

impl<S: Scheduler, T: Tap, C: Carrier> Simulation<'_, S, T, C> {
    /// Computes the result of a finished run.
    pub(super) fn finish(self) -> RunResult {
        let sender = &self.main.near;
        let counters = sender.counters() - self.baseline.sender;
        let counted = self.scenario.transport.counted_packet();
        let facts = sender.paths();
        let paths = facts.iter().enumerate().map(|(index, facts)| {
            let (packets_lost, packets_dropped) = self.forward_counters(index);
            let delays = sender.delays(facts.id);
            PathEnding {
                packets_lost,
                packets_dropped: Some(packets_dropped),
                srtt: facts.has_rtt().then_some(facts.srtt),
                forward_delay: delays.map(|delays| delays.forward),
                backward_delay: delays.map(|delays| delays.backward),
                cwnd_packets: Some(sender.window(facts.id).0 as f64 / counted),
            }
        });
        let sampled = !self.connection_series.time.is_empty();
        let ending = Ending {
            engine: C::ENGINE,
            fallback: sender.fell_back().then(|| FALLBACK.to_owned()),
            kernel: None,
            end: self.network.now,
            written_bytes: self.main.written_bytes(),
            spurious_retransmissions: counters.spurious_retransmissions,
            counters: counters.into(),
            events: self.events,
            paths: paths.collect(),
            flows: self.flow_endings(),
            queues: self.queue_metrics(),
            path_series: sampled.then_some(self.path_series),
            connection_series: sampled.then_some(self.connection_series),
        };
        RunResult::new(self.scenario, self.main.observer, ending)
    }

    pub(super) fn flow_endings(&self) -> Vec<FlowEnding> {
        let flows = self.flows.iter().zip(&self.baseline.flows).map(|(flow, before)| {
            let totals = flow.totals(&self.network);
            FlowEnding {
                packets_sent: totals.sent - before.sent,
                retransmissions: totals.retransmissions - before.retransmissions,
                packets_delivered: totals.delivered_packets - before.delivered_packets,
                delivered_bytes: totals.delivered_bytes - before.delivered_bytes,
                packets_lost: totals.lost - before.lost,
                packets_dropped: Some(totals.dropped - before.dropped),
                delay: match flow {
                    Flow::Datagrams(datagrams) => datagrams.delay.summary(),
                    Flow::Connection(_) => None,
                },
                completed: flow.completed(),
            }
        });
        flows.collect()
    }

    /// Metrics of the links whose queue is not drop-tail. The network's links have the order of the
    /// scenario's.
    pub(super) fn queue_metrics(&self) -> Vec<QueueMetrics> {
        let directions = self.scenario.directions().zip(self.network.reports());
        let queues = directions.filter_map(|((name, direction, config), report)| {
            let (settings, report) = (config.discipline.as_ref()?, report?);
            Some(QueueMetrics {
                name: name.to_owned(),
                direction: direction.name(),
                discipline: settings.info().name,
                packets_sent: report.sojourn.count(),
                packets_marked: report.counts.marked,
                packets_dropped: report.counts.dropped,
                packets_over_limit: report.counts.over_limit,
                sojourn_ms: report.sojourn.summary(),
            })
        });
        queues.collect()
    }

    /// Packets of a path's forward route that were lost and dropped since the end of the warm-up.
    pub(super) fn forward_counters(&self, path: usize) -> (u64, u64) {
        let now = self.network.counters(self.main.data_route(path));
        let before = &self.baseline.paths[path];
        (now.lost - before.lost, now.dropped - before.dropped)
    }
}
