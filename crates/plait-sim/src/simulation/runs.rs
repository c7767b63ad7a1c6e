//! A run from its beginning to its result: plain, tapped, carried, or with a preview.

use super::{Carrier, Control, RunError, Simulation, Tap};
use crate::recorder::RecordOptions;
use crate::recorder::frames::PacketFrame;
use crate::result::RunResult;
use crate::scenario::Scenario;
use plait_sched::{Scheduler, Time};

/// A look at a run before its end.
pub struct Preview<'a> {
    /// The run stops here once. A run that ends earlier has no preview.
    pub at: Time,
    /// Gets the recorded packets at this time; those in flight have not arrived yet.
    pub look: &'a mut dyn FnMut(&PacketFrame),
}

/// Runs `scenario` with `scheduler`. From time to time it calls `control` with the elapsed share of
/// the scenario's duration.
///
/// # Errors
/// If the scheduler breaks its contract, the peer becomes unreachable, or the caller interrupts.
pub fn run<S: Scheduler>(
    scenario: &Scenario,
    scheduler: S,
    options: &RecordOptions,
    control: &mut dyn FnMut(f64) -> Control,
) -> Result<RunResult, RunError> {
    run_tapped(scenario, scheduler, options, (), control)
}

/// Runs `scenario` with `scheduler`, and lets `tap` see every packet of the scenario's own
/// connection.
///
/// # Errors
/// Those of [`run`]. A tap that gives up interrupts the run.
pub fn run_tapped<S: Scheduler, T: Tap>(
    scenario: &Scenario,
    scheduler: S,
    options: &RecordOptions,
    tap: T,
    control: &mut dyn FnMut(f64) -> Control,
) -> Result<RunResult, RunError> {
    Simulation::new(scenario, scheduler, options, tap, ())?.make(None, control)
}

/// Runs `scenario` with `scheduler`, and lets `carrier` carry the packets of the scenario's own
/// connection.
///
/// # Errors
/// Those of [`run`], and failures of the carrier.
pub fn run_carried<S: Scheduler, C: Carrier>(
    scenario: &Scenario,
    scheduler: S,
    options: &RecordOptions,
    carrier: C,
    control: &mut dyn FnMut(f64) -> Control,
) -> Result<RunResult, RunError> {
    Simulation::new(scenario, scheduler, options, (), carrier)?.make(None, control)
}

/// Runs `scenario` with `scheduler` as [`run`] does, and shows the packets before the end. The
/// preview changes nothing in the result.
///
/// # Errors
/// Those of [`run`].
pub fn run_with_preview<S: Scheduler>(
    scenario: &Scenario,
    scheduler: S,
    options: &RecordOptions,
    preview: Preview<'_>,
    control: &mut dyn FnMut(f64) -> Control,
) -> Result<RunResult, RunError> {
    Simulation::new(scenario, scheduler, options, (), ())?.make(Some(preview), control)
}

impl<S: Scheduler, T: Tap, C: Carrier> Simulation<'_, S, T, C> {
    fn make(
        mut self,
        preview: Option<Preview<'_>>,
        control: &mut dyn FnMut(f64) -> Control,
    ) -> Result<RunResult, RunError> {
        let end = Time::ZERO + self.scenario.duration;
        self.begin()?;
        let mut complete = false;
        if let Some(preview) = preview.filter(|preview| preview.at < end) {
            complete = !self.advance(preview.at, control)?;
            if !complete && let Some(packets) = &self.main.observer.packets {
                (preview.look)(packets);
            }
        }
        if !complete {
            self.advance(end, control)?;
        }
        debug_assert!(self.network.is_conserved(), "no packet appears or vanishes");
        self.conclude()
    }
}
