//! `rate`, `rate_steps` and `repeat`: a rate that changes.

use std::sync::Arc;

use plait_sched::{Duration, Time};

use super::keys::RATE_STEP;
use super::reader::{Item, MAX_DURATION, Reader};
use super::text;
use crate::error::ScenarioError;
use crate::link::{Capacity, Step, Steps};

/// Most steps in a list.
const MAX_STEPS: usize = 100_000;

/// What a table says of its rate.
pub(super) fn rate(reader: &mut Reader<'_>) -> Result<Option<Capacity>, ScenarioError> {
    let rate = reader.take("rate").map(|item| item.rate()).transpose()?;
    let repeat_item = reader.take("repeat");
    let Some(item) = reader.take("rate_steps") else {
        return match repeat_item {
            Some(item) => Err(item.wrong("there are no rate_steps to repeat")),
            None => Ok(rate.map(Capacity::Rate)),
        };
    };
    let Some(rate) = rate else {
        return Err(item.wrong("there is no rate to begin with: give the rate before the first step too"));
    };
    let steps = list(item)?;
    let last = steps.last().map_or(Time::ZERO, |step| step.at);
    let repeat = match repeat_item {
        Some(item) => {
            let repeat = item.duration(Duration::from_nanos(1)..=MAX_DURATION)?;
            if Time::ZERO + repeat <= last {
                let last = text::duration(last.since(Time::ZERO));
                return Err(item.wrong(format!("must be later than the last step, at {last}")));
            }
            Some(repeat)
        }
        None => None,
    };
    Ok(Some(Capacity::Steps(Arc::new(Steps::new(rate, steps, repeat)))))
}

fn list(item: Item<'_>) -> Result<Vec<Step>, ScenarioError> {
    let count = item.value.as_array().map(Vec::len);
    if count.is_some_and(|count| count == 0 || count > MAX_STEPS) {
        return Err(item.wrong(format!("a list has 1 to {MAX_STEPS} steps")));
    }
    let mut steps: Vec<Step> = Vec::new();
    for item in item.list("a table such as { at = \"10s\", rate = \"2Mbit\" }")? {
        let mut reader = item.reader(&RATE_STEP)?;
        let at_item = reader.need("at")?;
        let at = Time::ZERO + at_item.duration(Duration::from_nanos(1)..=MAX_DURATION)?;
        if steps.last().is_some_and(|previous| at <= previous.at) {
            return Err(at_item.wrong("is not later than the step before it: list them in order"));
        }
        steps.push(Step { at, rate: reader.need("rate")?.rate()? });
        reader.finish();
    }
    Ok(steps)
}
