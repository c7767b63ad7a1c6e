//! Adapts workloads from shared libraries to the behaviour of a run.

use crate::bad_input;
use crate::workload::{MAX_BYTES, MAX_STREAM, REQUEST_BYTES, Totals};
use plait_sched::{Duration, Time};
use plait_sched_ffi::Fault;
use plait_sched_ffi::workload::{
    CDelivery, CStep, PLAIT_STEP_END, PLAIT_STEP_WAIT, PLAIT_STEP_WRITE, Workload, WorkloadClass,
};
use plait_sim::application::{Behaviour, Own, OwnDelivery, OwnStep, OwnWrite};
use pyo3::prelude::*;
use std::sync::Arc;

/// A workload of a shared library with its parameters. Every run builds an instance of its own.
#[pyclass(frozen, module = "plait._core")]
#[derive(Clone)]
pub(crate) struct ForeignWorkload {
    class: WorkloadClass,
    parameters: Arc<str>,
}

impl ForeignWorkload {
    /// Builds one instance at once, to check the parameters.
    pub(crate) fn new(class: WorkloadClass, parameters: String) -> PyResult<Self> {
        Workload::new(class, &parameters, Fault::default()).map_err(bad_input)?;
        Ok(Self { class, parameters: parameters.into() })
    }

    /// Binds the workload to that of a scenario. Its instances report their failures to `fault`.
    pub(crate) fn bound(&self, own: Own, fault: Fault) -> Own {
        let Self { class, parameters } = self.clone();
        let make = move || -> Box<dyn Behaviour> {
            let made = Workload::new(class, &parameters, fault.clone());
            let workload = made.map_err(|message| fault.keep(message)).ok();
            Box::new(ForeignBehaviour { workload, totals: Totals::default() })
        };
        own.bound(class.requests != 0, make)
    }
}

/// The behaviour of a run.
struct ForeignBehaviour {
    /// None if the instance could not be built.
    workload: Option<Workload>,
    totals: Totals,
}

impl ForeignBehaviour {
    /// Calls the function of this name at a time, which is `None` before the run. A wrong step ends
    /// the run.
    fn call(
        &mut self,
        function: &str,
        now: Option<Time>,
        call: impl FnOnce(&Workload) -> Vec<CStep>,
    ) -> Vec<OwnStep> {
        let Self { workload: Some(workload), totals } = self else { return Vec::new() };
        let mut steps = Vec::new();
        for added in call(workload) {
            let step = step(&added, now).and_then(|step| {
                totals.add(&step, now).map_err(|expected| format!("{}: {expected}", shown(&added)))?;
                Ok(step)
            });
            match step {
                Ok(step) => steps.push(step),
                Err(wrong) => {
                    workload.fail(function, &format!("added {wrong}"));
                    return Vec::new();
                }
            }
        }
        steps
    }
}

/// A step in messages.
fn shown(step: &CStep) -> String {
    match step.kind {
        PLAIT_STEP_WRITE => format!("PLAIT_STEP_WRITE with bytes = {}", step.bytes),
        PLAIT_STEP_WAIT => format!("PLAIT_STEP_WAIT with at = {}", step.at),
        PLAIT_STEP_END => "PLAIT_STEP_END".to_owned(),
        kind => format!("a step of kind {kind}"),
    }
}

/// Converts a step of a call at `now`. The error names the wrong field and the expected values.
fn step(step: &CStep, now: Option<Time>) -> Result<OwnStep, String> {
    let CStep { kind, at, bytes, request, deadline, stream, priority, .. } = *step;
    match kind {
        PLAIT_STEP_WRITE => {}
        PLAIT_STEP_WAIT => return Ok(OwnStep::Wait(Time::from_nanos(at))),
        PLAIT_STEP_END => return Ok(OwnStep::End),
        _ => return Err(format!("{}: expected PLAIT_STEP_WRITE, _WAIT or _END", shown(step))),
    }
    let request = if request == 0 { REQUEST_BYTES } else { request };
    for (name, value, least, most) in [
        ("bytes", bytes, 1, MAX_BYTES),
        ("request", request, 1, MAX_BYTES),
        ("stream", stream.into(), 0, MAX_STREAM.into()),
        ("priority", priority.into(), 0, u8::MAX.into()),
    ] {
        if !(least..=most).contains(&value) {
            return Err(format!("PLAIT_STEP_WRITE with {name} = {value}: expected {least} to {most}"));
        }
    }
    Ok(OwnStep::Write(OwnWrite {
        at: Some(Time::from_nanos(at)).filter(|at| *at > now.unwrap_or(Time::ZERO)),
        bytes,
        request,
        stream,
        priority: priority as u8,
        deadline: Some(Duration::from_nanos(deadline)).filter(|deadline| !deadline.is_zero()),
    }))
}

impl Behaviour for ForeignBehaviour {
    fn begin(&mut self) -> Vec<OwnStep> {
        self.call("begin", None, Workload::begin)
    }

    fn on_time(&mut self, now: Time) -> Vec<OwnStep> {
        self.call("on_time", Some(now), |workload| workload.on_time(now.as_nanos()))
    }

    fn on_delivered(&mut self, now: Time, delivery: &OwnDelivery) -> Vec<OwnStep> {
        let OwnDelivery { number, bytes, stream, written } = *delivery;
        let delivery = CDelivery { size: 0, stream, number, bytes, written: written.as_nanos() };
        self.call("on_delivered", Some(now), |workload| workload.on_delivered(now.as_nanos(), &delivery))
    }
}
