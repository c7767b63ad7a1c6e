//! Plans that differ from a good one in one step.

use super::{Action, Entry, Plan, Step};
use crate::application::Workload;
use crate::random::RandomStream;
use crate::scenario::{Scenario, SchedulerChoice};
use plait_sched::{Duration, PathId};

/// The most steps of a plan.
const MOST_STEPS: usize = 24;
/// The longest wait, in microseconds.
const LONGEST_WAIT: u64 = 300_000;

/// Draws variations.
pub(super) struct Variation<'a> {
    scenario: &'a Scenario,
    /// Schedulers, the best one first.
    ranked: &'a [SchedulerChoice],
    random: &'a mut RandomStream,
}

impl<'a> Variation<'a> {
    pub(super) const fn new(
        scenario: &'a Scenario,
        ranked: &'a [SchedulerChoice],
        random: &'a mut RandomStream,
    ) -> Self {
        Self { scenario, ranked, random }
    }

    /// A plan that differs from one of the best; nothing without any.
    pub(super) fn of(&mut self, beam: &[Entry]) -> Option<Plan> {
        let parent = &beam[self.early(beam.len())?];
        let mut plan = parent.plan.clone();
        let steps = plan.steps.len();
        match self.random.between(0, 9) {
            0 if steps > 0 => {
                plan.steps.remove(self.below(steps));
            }
            1 | 2 if steps > 0 => {
                let place = self.below(steps);
                self.move_step(&mut plan.steps[place], parent);
            }
            3 if self.scenario.paths.len() > 1 => self.split(&mut plan, parent),
            4 if beam.len() > 1 => {
                let other = &beam[self.below(beam.len())];
                self.join(&mut plan, &other.plan, parent);
            }
            _ => {
                let step = self.new_step(parent)?;
                plan.steps.push(step);
            }
        }
        let surplus = plan.steps.len().saturating_sub(MOST_STEPS);
        plan.steps.drain(..surplus);
        Some(plan)
    }

    /// Changes a step: its place, its end, or its amount.
    fn move_step(&mut self, step: &mut Step, parent: &Entry) {
        let unit = self.unit(parent);
        let far = self.length(parent, unit);
        match self.random.between(0, 4) {
            0 => step.first = step.first.saturating_sub(far),
            1 => step.first = (step.first + far).min(step.end - 1),
            2 => step.end = step.end.saturating_add(far),
            3 => step.end = step.end.saturating_sub(far).max(step.first + 1),
            _ => match &mut step.action {
                Action::Send { count, period, .. } => {
                    *period = self.near(*period).max(1);
                    *count = self.near(*count).clamp(1, *period);
                }
                Action::Limit(_, most) => *most = self.near(u64::from(*most)).max(1) as u32,
                Action::Wait(wait) => *wait = Duration::from_nanos(self.near(wait.as_nanos()).max(1)),
                Action::Scheduler(_) | Action::Copy(_) => step.first = step.first.saturating_sub(unit),
            },
        }
    }

    /// Continues a plan as another one, from a random segment on.
    fn join(&mut self, plan: &mut Plan, other: &Plan, parent: &Entry) {
        let from = self.place(parent, self.unit(parent));
        for step in &mut plan.steps {
            step.end = step.end.min(from);
        }
        plan.steps.retain(|step| step.first < step.end);
        if plan.base != other.base {
            let action = Action::Scheduler(other.base.clone());
            plan.steps.push(Step { first: from, end: u64::MAX, action });
        }
        let rest = other.steps.iter().filter(|step| step.end > from).cloned();
        plan.steps.extend(rest.map(|step| Step { first: step.first.max(from), ..step }));
    }

    /// Leaves nothing to the scheduler: of each period, one path takes the first segments, and
    /// another one the rest.
    fn split(&mut self, plan: &mut Plan, parent: &Entry) {
        let unit = self.unit(parent);
        let first = if self.below(2) == 0 { 0 } else { self.place(parent, unit) };
        let paths = self.scenario.paths.len();
        let (one, other) = (self.below(paths), self.below(paths - 1));
        let other = if other < one { other } else { other + 1 };
        // Whole blocks, or parts of a block.
        let unit = if self.below(2) == 0 { unit } else { 1 };
        let count = unit * self.logarithmic(16);
        let period = count + unit * self.logarithmic(64);
        for (path, count) in [(one, period), (other, count)] {
            let action = Action::Send { path: PathId(path as u8), count, period };
            plan.steps.push(Step { first, end: u64::MAX, action });
        }
    }

    fn new_step(&mut self, parent: &Entry) -> Option<Step> {
        let unit = self.unit(parent);
        let path = PathId(self.below(self.scenario.paths.len()) as u8);
        let first = self.place(parent, unit);
        let length = self.length(parent, unit);
        let to_end = self.random.between(0, 2) == 0;
        let whole = self.random.between(0, 1) == 0;
        let action = match self.random.between(0, 19) {
            0..=5 => Action::Scheduler(self.ranked[self.early(self.ranked.len())?].clone()),
            // A few units, in which the whole step goes to the path.
            6..=10 => {
                let count = unit * self.logarithmic(16);
                return Some(Step {
                    first,
                    end: first + count,
                    action: Action::Send { path, count, period: count },
                });
            }
            11..=13 => {
                let count = unit * self.logarithmic(16);
                Action::Send { path, count, period: count * self.random.between(2, 12) }
            }
            14 => {
                let wait = Duration::from_micros(self.logarithmic(LONGEST_WAIT));
                return Some(Step { first, end: first + unit, action: Action::Wait(wait) });
            }
            15..=17 => {
                let most = u64::from(parent.seen.in_flight[path.index()]).max(2);
                Action::Limit(path, self.logarithmic(most * 5 / 4) as u32)
            }
            _ => Action::Copy(path),
        };
        if whole {
            return Some(Step { first: 0, end: u64::MAX, action });
        }
        Some(Step { first, end: if to_end { u64::MAX } else { first + length }, action })
    }

    /// Segments of a block; 1 for other data.
    fn unit(&self, parent: &Entry) -> u64 {
        match &self.scenario.workload {
            Workload::ConstantRate(blocks) => {
                blocks.block.div_ceil(u64::from(parent.seen.segment_bytes.max(1)))
            }
            _ => 1,
        }
    }

    /// A random first segment, at a multiple of `unit`. For a file, every second one is near the
    /// end, where the order matters most.
    fn place(&mut self, parent: &Entry, unit: u64) -> u64 {
        let all = parent.seen.segments.max(1);
        let place = if matches!(self.scenario.workload, Workload::File(_)) && self.below(2) == 0 {
            all - self.logarithmic(all)
        } else {
            self.random.between(0, all - 1)
        };
        place / unit * unit
    }

    /// A random number of segments, a multiple of `unit`.
    fn length(&mut self, parent: &Entry, unit: u64) -> u64 {
        unit * self.logarithmic(parent.seen.segments / unit)
    }

    /// A number from 1 to `most`, whose logarithm is uniform.
    fn logarithmic(&mut self, most: u64) -> u64 {
        let bits = u64::from(most.max(1).ilog2());
        let low = 1 << self.random.between(0, bits);
        self.random.between(low, (2 * low - 1).min(most.max(1)))
    }

    /// A number of the same size.
    fn near(&mut self, amount: u64) -> u64 {
        self.random.between(amount / 2, amount.saturating_mul(3) / 2 + 1)
    }

    /// An index below `count`, a small one more often.
    fn early(&mut self, count: usize) -> Option<usize> {
        (count > 0).then(|| self.below(count).min(self.below(count)))
    }

    fn below(&mut self, count: usize) -> usize {
        self.random.between(0, count as u64 - 1) as usize
    }
}
