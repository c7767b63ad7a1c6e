//! Changes during a run: `rate_steps`, `delay_steps`, `loss_steps`, `queue_steps`, each a list or a
//! file, and `repeat`.

use std::sync::Arc;

use plait_sched::{Duration, Time};
use toml::Value;

use super::keys::{DELAY_STEP, LOSS_STEP, QUEUE_STEP, RATE_STEP, TableInfo};
use super::link_values::{QueueChoice, loss, queue};
use super::reader::{Item, MAX_DURATION, Reader};
use super::text;
use crate::error::ScenarioError;
use crate::link::{Loss, Step, Steps, Varying, trace};

/// Largest number of steps in a list or a file.
const MAX_STEPS: usize = 100_000;

/// Steps without their first value.
#[derive(Clone)]
pub(super) struct LaterSteps<T> {
    steps: Vec<Step<T>>,
    repeat: Option<Duration>,
}

impl<T: Copy> LaterSteps<T> {
    pub(super) fn after(self, first: T) -> Arc<Steps<T>> {
        Arc::new(Steps::new(first, self.steps, self.repeat))
    }
}

/// A value from the start on, with its steps.
pub(super) fn varying<T: Copy>(first: T, later: Option<LaterSteps<T>>) -> Varying<T> {
    later.map_or(Varying::Constant(first), |later| Varying::Steps(later.after(first)))
}

/// All steps of a table.
pub(super) struct LinkSteps {
    pub(super) rate: Option<LaterSteps<u64>>,
    pub(super) delay: Option<LaterSteps<Duration>>,
    pub(super) loss: Option<LaterSteps<Loss>>,
    pub(super) queue: Option<LaterSteps<QueueChoice>>,
}

/// A kind of steps: their key, and the table of one step. The second key of the table is the value.
struct StepKind {
    key: &'static str,
    info: &'static TableInfo,
}

impl StepKind {
    fn what(&self) -> &'static str {
        self.info.keys[1].key
    }
}

impl LinkSteps {
    /// Reads a table. `begins` returns whether a key has a value before its steps.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        packet: u32,
        begins: fn(&Reader<'_>, &str) -> bool,
    ) -> Result<Self, ScenarioError> {
        let [rate, delay, loss_kind, queue_kind] = [
            StepKind { key: "rate_steps", info: &RATE_STEP },
            StepKind { key: "delay_steps", info: &DELAY_STEP },
            StepKind { key: "loss_steps", info: &LOSS_STEP },
            StepKind { key: "queue_steps", info: &QUEUE_STEP },
        ];
        let delays = |item: Item<'_>| item.duration(Duration::ZERO..=MAX_DURATION);
        let mut changes = Self {
            rate: steps(reader, &rate, begins, |item| item.rate())?,
            delay: steps(reader, &delay, begins, delays)?,
            loss: steps(reader, &loss_kind, begins, loss)?,
            queue: steps(reader, &queue_kind, begins, |item| queue(&item, packet))?,
        };
        if let Some(item) = reader.take("repeat") {
            changes.repeat(&item)?;
        }
        Ok(changes)
    }

    fn repeat(&mut self, item: &Item<'_>) -> Result<(), ScenarioError> {
        fn last<T>(later: Option<&LaterSteps<T>>) -> Option<Time> {
            later.and_then(|later| later.steps.last()).map(|step| step.at)
        }
        let Self { rate, delay, loss, queue } = self;
        let last = [last(rate.as_ref()), last(delay.as_ref()), last(loss.as_ref()), last(queue.as_ref())];
        let Some(last) = last.into_iter().flatten().max() else {
            return Err(item.wrong("there are no steps to repeat"));
        };
        let repeat = item.duration(Duration::from_nanos(1)..=MAX_DURATION)?;
        if Time::ZERO + repeat <= last {
            let last = text::duration(last.since(Time::ZERO));
            return Err(item.wrong(format!("must be later than the last step, at {last}")));
        }
        rate.iter_mut().for_each(|later| later.repeat = Some(repeat));
        delay.iter_mut().for_each(|later| later.repeat = Some(repeat));
        loss.iter_mut().for_each(|later| later.repeat = Some(repeat));
        queue.iter_mut().for_each(|later| later.repeat = Some(repeat));
        Ok(())
    }
}

fn steps<T>(
    reader: &mut Reader<'_>,
    kind: &StepKind,
    begins: fn(&Reader<'_>, &str) -> bool,
    read: impl Fn(Item<'_>) -> Result<T, ScenarioError>,
) -> Result<Option<LaterSteps<T>>, ScenarioError> {
    let begins = begins(reader, kind.what());
    let Some(item) = reader.take(kind.key) else { return Ok(None) };
    if !begins {
        let what = kind.what();
        return Err(item
            .wrong(format!("there is no {what} to begin with: give the {what} before the first step too")));
    }
    let steps = if item.value.is_str() { file(&item, kind, read)? } else { list(item, kind, read)? };
    Ok(Some(LaterSteps { steps, repeat: None }))
}

fn list<T>(
    item: Item<'_>,
    kind: &StepKind,
    read: impl Fn(Item<'_>) -> Result<T, ScenarioError>,
) -> Result<Vec<Step<T>>, ScenarioError> {
    let count = item.value.as_array().map(Vec::len);
    if count.is_some_and(|count| count == 0 || count > MAX_STEPS) {
        return Err(item.wrong(format!("a list has 1 to {MAX_STEPS} steps")));
    }
    let mut steps: Vec<Step<T>> = Vec::new();
    for item in item.list("a table such as { at = \"10s\", … }")? {
        let mut reader = item.reader(kind.info)?;
        let at = moment(&reader.need("at")?, steps.last().map(|step| step.at))?;
        steps.push(Step { at, value: read(reader.need(kind.what())?)? });
        reader.finish();
    }
    Ok(steps)
}

/// Reads a file with a line per step: its time, then its value.
fn file<T>(
    item: &Item<'_>,
    kind: &StepKind,
    read: impl Fn(Item<'_>) -> Result<T, ScenarioError>,
) -> Result<Vec<Step<T>>, ScenarioError> {
    let name = item.name()?;
    let bytes = trace::contents(&name, &item.source.base.join(&name)).map_err(|error| match error {
        ScenarioError::Trace { rule, .. } => item.wrong(rule),
        other => other,
    })?;
    let content = String::from_utf8(bytes).map_err(|_| item.wrong("the file is no text in UTF-8"))?;
    let mut steps: Vec<Step<T>> = Vec::new();
    for (index, line) in content.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = index + 1;
        let part = |key: usize, text: &str| Item {
            source: item.source,
            place: format!("{}, line {number}", item.place),
            kind: kind.info.keys[key].kind,
            value: Value::String(text.trim().to_owned()),
        };
        let Some((at, value)) = line.split_once([' ', '\t']) else {
            return Err(
                part(1, line).wrong(format!("expected a time and a value, such as {}", example(kind)))
            );
        };
        if steps.len() == MAX_STEPS {
            return Err(item.wrong(format!("a file has 1 to {MAX_STEPS} steps")));
        }
        let at = moment(&part(0, at), steps.last().map(|step| step.at))?;
        steps.push(Step { at, value: read(part(1, value))? });
    }
    if steps.is_empty() { Err(item.wrong(format!("a file has 1 to {MAX_STEPS} steps"))) } else { Ok(steps) }
}

/// An example of a line in a file of steps.
fn example(kind: &StepKind) -> &'static str {
    match kind.what() {
        "rate" => "10s 2Mbit",
        "delay" => "10s 50ms",
        "loss" => "10s 2%",
        _ => "10s 20p",
    }
}

fn moment(item: &Item<'_>, previous: Option<Time>) -> Result<Time, ScenarioError> {
    let at = Time::ZERO + item.duration(Duration::from_nanos(1)..=MAX_DURATION)?;
    if previous.is_some_and(|previous| at <= previous) {
        return Err(item.wrong("is not later than the step before it: list them in order"));
    }
    Ok(at)
}
