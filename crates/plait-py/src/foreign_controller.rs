//! Adapts congestion controllers from shared libraries to those of Rust.

use crate::bad_input;
use plait_sched::{Duration, Time};
use plait_sched_ffi::Fault;
use plait_sched_ffi::controller::{
    CAcknowledgement, CCongestionEvent, CPathWindow, CRateSample, Controller, ControllerClass,
    PLAIT_CONGESTION_COLLAPSE, PLAIT_CONGESTION_DRAINED, PLAIT_CONGESTION_IDLE, PLAIT_CONGESTION_LOSS,
    PLAIT_CONGESTION_MARK, PLAIT_CONGESTION_MEASURED, PLAIT_CONGESTION_PENALTY, PLAIT_CONGESTION_RESUMED,
    PLAIT_CONGESTION_TIMEOUT, PLAIT_CONGESTION_UNDONE, PLAIT_REPAIRING_LOSSES, PLAIT_REPAIRING_NOTHING,
    PLAIT_REPAIRING_TIMEOUT,
};
use plait_transport::congestion::{
    Acknowledged, CongestionConfig, CongestionController, CongestionEvent, Factory, Own, OwnController,
    RateSample, Repairing, Share,
};
use pyo3::prelude::*;
use std::ptr;
use std::sync::Arc;

/// A congestion controller of a shared library with its parameters. Every path of every run builds
/// an instance of its own.
#[pyclass(frozen, module = "plait._core")]
#[derive(Clone, Debug)]
pub(crate) struct ForeignController {
    class: ControllerClass,
    parameters: Arc<str>,
}

impl ForeignController {
    /// Builds one instance at once, to check the parameters.
    pub(crate) fn new(class: ControllerClass, parameters: String) -> PyResult<Self> {
        let made = Self { class, parameters: parameters.into() };
        Controller::new(class, &made.parameters, (1460, 14_600, u64::MAX), Fault::default())
            .map_err(bad_input)?;
        Ok(made)
    }

    /// Returns the factory of a run's controllers, which report their failures to `fault`.
    pub(crate) fn factory(&self, fault: Fault) -> Own {
        Own(Arc::new(ForeignFactory { controller: self.clone(), fault }))
    }
}

/// Builds instances.
#[derive(Debug)]
struct ForeignFactory {
    controller: ForeignController,
    fault: Fault,
}

impl Factory for ForeignFactory {
    fn build(&self, config: &CongestionConfig) -> Box<dyn OwnController> {
        let ForeignController { class, parameters } = &self.controller;
        let start = (config.segment, config.initial_window, config.initial_threshold);
        let made = Controller::new(*class, parameters, start, self.fault.clone());
        let controller = made.map_err(|message| self.fault.keep(message)).ok();
        let (window, threshold, fault) =
            (config.initial_window, config.initial_threshold, self.fault.clone());
        Box::new(ForeignPath { controller, window, threshold, paths: Vec::new(), fault })
    }
}

/// The controller of a path.
#[derive(Debug)]
struct ForeignPath {
    /// None if the instance could not be built; then window and threshold stay.
    controller: Option<Controller>,
    window: u64,
    threshold: u64,
    /// Room for the windows of all paths.
    paths: Vec<CPathWindow>,
    fault: Fault,
}

impl OwnController for ForeignPath {
    /// Nothing that a program in Python runs copies an endpoint. A copy would need a copy of the
    /// library's state.
    fn copied(&self) -> Box<dyn OwnController> {
        let fault = self.fault.clone();
        fault.keep("a congestion controller of a library cannot be copied".to_owned());
        let (window, threshold) = (self.window(), self.slow_start_threshold());
        Box::new(Self { controller: None, window, threshold, paths: Vec::new(), fault })
    }
}

fn nanos(duration: Option<Duration>) -> u64 {
    duration.map_or(0, Duration::as_nanos)
}

fn sample(rate: &RateSample) -> CRateSample {
    CRateSample {
        size: size_of::<CRateSample>() as u32,
        app_limited: rate.app_limited.into(),
        delivered: rate.delivered,
        interval: rate.interval.as_nanos(),
        prior: rate.prior,
        total: rate.total,
        lost: rate.lost,
        in_flight: rate.in_flight,
    }
}

impl CongestionController for ForeignPath {
    fn on_ack(&mut self, ack: &Acknowledged, rate: Option<&RateSample>, shares: &[Share]) {
        let Some(controller) = &mut self.controller else { return };
        self.paths.clear();
        self.paths.extend(shares.iter().map(|share| CPathWindow {
            size: size_of::<CPathWindow>() as u32,
            usable: share.usable.into(),
            window: share.window,
            srtt: share.srtt.as_nanos(),
        }));
        let told = CAcknowledgement {
            size: 0,
            path: ack.path as u32,
            now: ack.now.as_nanos(),
            bytes: ack.bytes,
            packets: ack.segments,
            may_grow: ack.may_grow.into(),
            repairing: match ack.repairing {
                Repairing::Nothing => PLAIT_REPAIRING_NOTHING,
                Repairing::Losses => PLAIT_REPAIRING_LOSSES,
                Repairing::Timeout => PLAIT_REPAIRING_TIMEOUT,
            },
            limited: ack.limited.into(),
            in_flight: ack.used_before,
            srtt: ack.srtt.as_nanos(),
            rtt: nanos(ack.rtt),
            newest_rtt: nanos(ack.newest_rtt),
            paths: ptr::null(),
            path_count: 0,
            reserved: 0,
            rate: ptr::null(),
        };
        controller.on_ack(&told, &self.paths, rate.map(sample).as_ref());
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent) {
        let Some(controller) = &mut self.controller else { return };
        let at = |kind| CCongestionEvent { kind, now: now.as_nanos(), ..CCongestionEvent::default() };
        use CongestionEvent as From;
        controller.on_event(&match event {
            From::Loss { outstanding } => CCongestionEvent { outstanding, ..at(PLAIT_CONGESTION_LOSS) },
            From::Mark { outstanding } => CCongestionEvent { outstanding, ..at(PLAIT_CONGESTION_MARK) },
            From::Timeout { outstanding, repairing } => {
                let repairing = repairing.into();
                CCongestionEvent { outstanding, repairing, ..at(PLAIT_CONGESTION_TIMEOUT) }
            }
            From::Collapse { window } => CCongestionEvent { window, ..at(PLAIT_CONGESTION_COLLAPSE) },
            From::Undone { window, threshold } => {
                CCongestionEvent { window, threshold, ..at(PLAIT_CONGESTION_UNDONE) }
            }
            From::Penalty => at(PLAIT_CONGESTION_PENALTY),
            From::Idle => at(PLAIT_CONGESTION_IDLE),
            From::Resumed { idle, app_limited } => {
                let (idle, app_limited) = (idle.as_nanos(), app_limited.into());
                CCongestionEvent { idle, app_limited, ..at(PLAIT_CONGESTION_RESUMED) }
            }
            From::Drained => at(PLAIT_CONGESTION_DRAINED),
            From::Measured { round_trip } => {
                CCongestionEvent { rtt: round_trip.as_nanos(), ..at(PLAIT_CONGESTION_MEASURED) }
            }
        });
    }

    fn window(&self) -> u64 {
        self.controller.as_ref().map_or(self.window, Controller::window)
    }

    fn slow_start_threshold(&self) -> u64 {
        self.controller.as_ref().map_or(self.threshold, Controller::threshold)
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.controller.as_ref().and_then(Controller::pacing_rate)
    }
}
