//! Which plans to try: the schedulers, their variants, and variations of the best plans so far.

use super::variation::Variation;
use super::{Action, Outcome, Plan, Seen, Step};
use crate::application::Workload;
use crate::random::RandomStream;
use crate::scenario::{Scenario, SchedulerChoice};
use plait_sched::{Domain, PathId, SCHEDULERS, Value};

/// Plans that are kept.
const BEAM: usize = 8;
/// Plans that are tried at a time, whichever threads make the runs.
const BATCH: usize = 16;
/// Schedulers whose variants are tried.
const VARIED: usize = 3;
/// Limits of the data in flight that are tried, as shares of the most in flight.
const LIMITS: [f64; 2] = [0.8, 0.5];

/// A plan with its outcome.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The plan.
    pub plan: Plan,
    /// The run's value.
    pub value: f64,
    /// Facts of the run.
    pub seen: Seen,
}

/// A search in progress. The caller runs [`Search::next`]'s plans and passes their outcomes to
/// [`Search::learn`].
#[derive(Debug)]
pub struct Search<'a> {
    scenario: &'a Scenario,
    random: RandomStream,
    /// 1 if more of the value is better, -1 if less is.
    sense: f64,
    /// The best plans, the best one first. No two have the same value.
    beam: Vec<Entry>,
    /// Schedulers with their values, the best one first.
    ranking: Vec<(SchedulerChoice, f64)>,
    /// The best scheduler's own run.
    best_scheduler: Option<Entry>,
    /// Whether the variants were proposed.
    varied: bool,
}

impl<'a> Search<'a> {
    /// Begins a search.
    pub fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            random: RandomStream::new(scenario.seed, "oracle"),
            sense: if matches!(scenario.workload, Workload::Bulk(_)) { 1.0 } else { -1.0 },
            beam: Vec::new(),
            ranking: Vec::new(),
            best_scheduler: None,
            varied: false,
        }
    }

    /// The plans of the schedulers: every built-in one, and the scenario's own choice.
    pub fn schedulers(&self) -> Vec<Plan> {
        let mut choices: Vec<_> =
            SCHEDULERS.iter().filter_map(|info| SchedulerChoice::new(info.name, &[]).ok()).collect();
        if !choices.contains(&self.scenario.scheduler) {
            choices.push(self.scenario.scheduler.clone());
        }
        choices.into_iter().map(Plan::of).collect()
    }

    /// The next plans to run, at most `most`. The first call must follow the outcomes of
    /// [`Search::schedulers`].
    pub fn next(&mut self, most: usize) -> Vec<Plan> {
        let mut plans = if self.varied { Vec::new() } else { self.variants() };
        self.varied = true;
        if plans.is_empty() {
            let ranked: Vec<_> = self.ranking.iter().map(|(choice, _)| choice.clone()).collect();
            let mut variation = Variation::new(self.scenario, &ranked, &mut self.random);
            plans.extend((0..BATCH).filter_map(|_| variation.of(&self.beam)));
        }
        plans.truncate(most);
        plans
    }

    /// Takes the outcomes of plans, in the order in which they were proposed.
    pub fn learn(&mut self, outcomes: impl IntoIterator<Item = (Plan, Outcome)>) {
        for (plan, Outcome { value, seen }) in outcomes {
            let Some(value) = value else { continue };
            let entry = Entry { plan, value, seen };
            if entry.plan.steps.is_empty() {
                let place = self.ranking.partition_point(|(_, other)| !self.is_better(value, *other));
                self.ranking.insert(place, (entry.plan.base.clone(), value));
                if !self.varied
                    && self.best_scheduler.as_ref().is_none_or(|best| self.is_better(value, best.value))
                {
                    self.best_scheduler = Some(entry.clone());
                }
            }
            let place = self.beam.partition_point(|other| self.is_better(other.value, value));
            match self.beam.get_mut(place) {
                Some(same) if same.value.total_cmp(&value).is_eq() => {
                    if entry.plan.steps.len() < same.plan.steps.len() {
                        *same = entry;
                    }
                }
                _ => self.beam.insert(place, entry),
            }
            self.beam.truncate(BEAM);
        }
    }

    /// The best plan so far; nothing if no run had a value.
    pub fn best(&self) -> Option<&Entry> {
        self.beam.first()
    }

    /// The best run of a scheduler alone, without variants.
    pub const fn best_scheduler(&self) -> Option<&Entry> {
        self.best_scheduler.as_ref()
    }

    fn is_better(&self, one: f64, other: f64) -> bool {
        (one - other) * self.sense > 0.0
    }

    /// The best plan with limits, and the best schedulers with options and with other words as
    /// parameters.
    fn variants(&self) -> Vec<Plan> {
        let ranked = || self.ranking.iter().take(VARIED).map(|(choice, _)| choice.name());
        let mut choices = Vec::new();
        for suffix in ["+rp", "+bm"] {
            let named = ranked().filter(|name| !name.contains(suffix)).map(|name| format!("{name}{suffix}"));
            choices.extend(named.filter_map(|name| SchedulerChoice::new(&name, &[]).ok()));
        }
        // Copies while paths are idle shorten tails.
        for name in ranked().chain(["redundant"]) {
            for parameter in plait_sched::registry::info(name).into_iter().flat_map(|info| info.parameters) {
                let words: Vec<Value<'_>> = match parameter.domain {
                    Domain::Boolean => [true, false].map(Value::Boolean).to_vec(),
                    Domain::Choice(words) => words.iter().copied().map(Value::Text).collect(),
                    _ => Vec::new(),
                };
                let others = words.into_iter().filter(|word| *word != parameter.default);
                choices.extend(
                    others.filter_map(|word| SchedulerChoice::new(name, &[(parameter.name, word)]).ok()),
                );
            }
        }
        let paths = 0..self.scenario.paths.len();
        let limits = paths.flat_map(|path| LIMITS.map(|share| (path, share))).filter_map(|(path, share)| {
            let best = self.best()?;
            let most = (f64::from(best.seen.in_flight[path]) * share) as u32;
            let action = Action::Limit(PathId(path as u8), most.max(1));
            let step = Step { first: 0, end: u64::MAX, action };
            Some(Plan { base: best.plan.base.clone(), steps: vec![step] })
        });
        limits.chain(choices.into_iter().map(Plan::of)).collect()
    }
}
