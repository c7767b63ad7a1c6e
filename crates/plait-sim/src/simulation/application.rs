//! What writes into a connection.

use super::pace::Pace;
use crate::random::Stream;
use crate::scenario::{FlowKind, Workload};
use plait_sched::{Duration, Scheduler, Time};
use plait_transport::endpoint::Endpoint;

/// The writer of a connection.
#[derive(Clone, Debug)]
pub(super) struct Application {
    task: Task,
    /// Payload bytes that it has written; `u64::MAX` if it never ends.
    pub(super) written_bytes: u64,
}

#[derive(Clone, Debug)]
enum Task {
    /// Everything at once, at this moment; without a size, no end.
    Once { start: Time, size: Option<u64> },
    /// Blocks.
    Blocks { block: u64, pace: Pace },
    /// Nothing more.
    Nothing,
}

/// The random stream of a workload's on and off times.
pub(super) fn stream(seed: u64) -> Stream {
    Stream::new(seed, "workload/on-off")
}

impl Application {
    pub(super) fn new(workload: &Workload, seed: u64) -> Self {
        let once = |start: Duration, size| Task::Once { start: Time::ZERO + start, size };
        let task = match *workload {
            Workload::Bulk { start } => once(start, None),
            Workload::File { size, start } => once(start, Some(size)),
            Workload::ConstantRate { rate, block, start, stop } => {
                Task::Blocks { block, pace: Pace::constant(rate, block, start, stop) }
            }
            Workload::OnOff { rate, block, times, start, stop } => {
                let pace = Pace::constant(rate, block, start, stop);
                Task::Blocks { block, pace: pace.on_off(times, stream(seed)) }
            }
        };
        Self { task, written_bytes: 0 }
    }

    /// The writer of a flow that is a connection.
    pub(super) fn of_flow(kind: &FlowKind, start: Duration) -> Self {
        let size = match kind {
            FlowKind::Tcp { size } => *size,
            FlowKind::Multipath { .. } | FlowKind::ConstantRate { .. } | FlowKind::OnOff { .. } => None,
        };
        Self { task: Task::Once { start: Time::ZERO + start, size }, written_bytes: 0 }
    }

    /// When [`Application::write`] is to be called next.
    pub(super) fn next(&self) -> Option<Time> {
        match &self.task {
            Task::Once { start, .. } => Some(*start),
            Task::Blocks { pace, .. } => pace.next(),
            Task::Nothing => None,
        }
    }

    /// Whether it writes before anything else happens.
    pub(super) fn is_due_at_start(&self) -> bool {
        matches!(self.task, Task::Once { start: Time::ZERO, .. })
    }

    /// To be called at the time of [`Application::next`]; whether a block was written.
    pub(super) fn write<S: Scheduler>(&mut self, sender: &mut Endpoint<S>) -> bool {
        match &mut self.task {
            Task::Once { size: None, .. } => {
                self.written_bytes = u64::MAX;
                sender.write_endlessly();
                self.task = Task::Nothing;
                false
            }
            Task::Once { size: Some(size), .. } => {
                self.written_bytes = *size;
                sender.write(*size);
                sender.finish();
                self.task = Task::Nothing;
                false
            }
            Task::Blocks { block, pace } => {
                let due = pace.fire();
                if due {
                    sender.write(*block);
                    self.written_bytes += *block;
                }
                due
            }
            Task::Nothing => false,
        }
    }
}
