//! Connections over real paths: `plait-quic`'s proxies, run without Python's lock.

use crate::foreign::Foreign;
use crate::scheduler::{PythonScheduler, Raised, is_raised, take};
use crate::transfers::{Chosen, Watcher, controller, exception, locals, path_values, terms};
use crate::{TransferError, bad_input};
use plait_quic::files::{self, Local, Record};
use plait_quic::pilot::Pilot;
use plait_quic::proxy::{self, Hosting, Plan, Tidings, Told};
use plait_quic::{Error, Secret, Settings};
use plait_sched::{Builtin, Scheduler};
use plait_sched_ffi::Fault;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Entrance>()?;
    module.add_class::<Exit>()
}

fn address(text: &str, option: &str) -> PyResult<SocketAddr> {
    let wrong = |_| bad_input(format!("{option} {text}: expected ADDRESS:PORT, for example 127.0.0.1:1080"));
    text.parse().map_err(wrong)
}

/// The near end of a proxy, whose sockets are bound.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Entrance {
    ready: Mutex<Option<proxy::Entrance>>,
    settings: Settings,
    stop: AtomicBool,
    #[pyo3(get)]
    paths: Vec<String>,
    #[pyo3(get)]
    socks: Option<String>,
    #[pyo3(get)]
    forwards: Vec<(String, String)>,
}

#[pymethods]
impl Entrance {
    #[new]
    #[pyo3(signature = (to, *, fingerprint, secret, local, interface, cost = None, budget = None, backup = None, congestion = "cubic", mtu = None, socks = None, forward = None, interactive = None, redundant = None, record = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        to: String,
        fingerprint: &str,
        secret: &str,
        local: Vec<String>,
        interface: Vec<String>,
        cost: Option<BTreeMap<String, u32>>,
        budget: Option<BTreeMap<String, u64>>,
        backup: Option<Vec<String>>,
        congestion: &str,
        mtu: Option<u16>,
        socks: Option<&str>,
        forward: Option<Vec<String>>,
        interactive: Option<Vec<u16>>,
        redundant: Option<Vec<u16>>,
        record: Option<(PathBuf, String)>,
    ) -> PyResult<Self> {
        let defaults = Settings::default();
        let forwards = forward.into_iter().flatten().map(|text| text.parse());
        let settings =
            Settings { congestion: controller(congestion)?, mtu: mtu.unwrap_or(defaults.mtu), ..defaults };
        let plan = Plan {
            to,
            fingerprint: fingerprint.parse().map_err(|error| exception(&error))?,
            secret: Secret::new(secret),
            locals: locals(local)?,
            interfaces: interface,
            terms: terms(cost, budget, backup),
            socks: socks.map(|text| address(text, "socks")).transpose()?,
            forwards: forwards.collect::<Result<_, _>>().map_err(|error| exception(&error))?,
            interactive: interactive.unwrap_or_default(),
            redundant: redundant.unwrap_or_default(),
            record: record.map(|(place, scheduler)| Record { place, scheduler }),
            settings,
        };
        let ready = py.detach(|| proxy::Entrance::open(plan)).map_err(|error| exception(&error))?;
        let forwards = ready.forwards().iter().map(|one| (one.listen.to_string(), one.target.to_string()));
        Ok(Self {
            paths: ready.paths().iter().map(Local::to_string).collect(),
            socks: ready.socks().map(|address| address.to_string()),
            forwards: forwards.collect(),
            ready: Mutex::new(Some(ready)),
            settings,
            stop: AtomicBool::new(false),
        })
    }

    /// Carries until it is stopped, once.
    #[pyo3(signature = (news, *, scheduler = None, python_scheduler = None, foreign = None))]
    fn run(
        &self,
        py: Python<'_>,
        news: Py<PyAny>,
        scheduler: Option<&str>,
        python_scheduler: Option<Py<PyAny>>,
        foreign: Option<Py<Foreign>>,
    ) -> PyResult<()> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ready = ready.ok_or_else(|| TransferError::new_err("it has run already"))?;
        let watcher = Watcher::new(&self.stop, Some(news));
        let refused = |error: PyErr| Error::Setting(error.to_string());
        if let Some(object) = python_scheduler {
            let raised = Raised::default();
            let make = || {
                let (names, raised) = (self.paths.clone(), raised.clone());
                Python::attach(|py| PythonScheduler::new(object.bind(py), names, raised)).map_err(refused)
            };
            let ended =
                py.detach(|| carry(ready, make, || None, watcher, &self.paths, || is_raised(&raised)));
            return take(&raised).map_or(ended, Err);
        }
        if let Some(foreign) = foreign {
            let (fault, foreign) = (Fault::default(), foreign.get().clone());
            let make = || foreign.build(fault.clone()).map_err(Error::Setting);
            let ended =
                py.detach(|| carry(ready, make, || None, watcher, &self.paths, || fault.message().is_some()));
            return fault.message().map_or(ended, |message| Err(TransferError::new_err(message.to_owned())));
        }
        let chosen = Chosen::of(scheduler)?;
        let make = || Ok(chosen.scheduler.clone());
        py.detach(|| carry(ready, make, || chosen.pilot(self.settings), watcher, &self.paths, || false))
    }

    /// Ends it.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Runs a near end until its watcher stops it, or its scheduler has failed.
fn carry<W: Scheduler>(
    ready: proxy::Entrance,
    make: impl FnMut() -> Result<W, Error>,
    pilots: impl FnMut() -> Option<Box<dyn Pilot<W>>>,
    mut watcher: Watcher<'_>,
    names: &[String],
    failed: impl Fn() -> bool,
) -> PyResult<()> {
    let ended = ready.run_piloted(make, pilots, &mut |now, told| {
        if failed() {
            return ControlFlow::Break(());
        }
        watcher.turn(now, told.map(|told| news(told, names)).as_ref())
    });
    watcher.raised.map_or_else(|| ended.map_err(|error| exception(&error)), Err)
}

fn news(told: &Told<'_>, names: &[String]) -> Value {
    match told {
        Told::Changed(change) => change.to_json(names),
        Told::Open => json!({"event": "open"}),
        Told::Status(status) => json!({
            "event": "progress", "connections": status.streams, "opened": status.opened, "sent_bytes": status.sent,
            "received_bytes": status.received, "seconds": status.elapsed.as_secs_f64(), "paths": path_values(&status.paths),
        }),
        Told::Refused { target, reason } => {
            json!({"event": "refused", "target": target.to_string(), "reason": reason.to_string()})
        }
        Told::Unrecorded(error) => json!({"event": "unrecorded", "error": error.to_string()}),
        Told::Lost(error) => json!({"event": "lost", "error": error.to_string()}),
    }
}

/// The far end of a proxy, whose socket is bound.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Exit {
    ready: Mutex<Option<proxy::Exit<Builtin>>>,
    stop: AtomicBool,
    #[pyo3(get)]
    host: String,
    #[pyo3(get)]
    port: u16,
    #[pyo3(get)]
    fingerprint: String,
    #[pyo3(get)]
    secret: String,
}

#[pymethods]
impl Exit {
    #[new]
    #[pyo3(signature = (*, listen, allow, secret = None, scheduler = None, congestion = "cubic", window = None, mtu = None, record = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        listen: &str,
        allow: Vec<String>,
        secret: Option<String>,
        scheduler: Option<&str>,
        congestion: &str,
        window: Option<u64>,
        mtu: Option<u16>,
        record: Option<(PathBuf, String)>,
    ) -> PyResult<Self> {
        let defaults = Settings::default();
        let allowed = allow.into_iter().map(|text| text.parse()).collect::<Result<_, _>>();
        let hosting = Hosting {
            listen: address(listen, "listen")?,
            secret,
            allowed: allowed.map_err(|error| exception(&error))?,
            record: record.map(|(place, scheduler)| Record { place, scheduler }),
            settings: Settings {
                congestion: controller(congestion)?,
                window: window.unwrap_or(defaults.window),
                mtu: mtu.unwrap_or(defaults.mtu),
                ..defaults
            },
        };
        let Chosen { scheduler, is_auto } = Chosen::of(scheduler)?;
        let settings = hosting.settings;
        let ready = py.detach(|| proxy::Exit::open(hosting, move || Ok(scheduler.clone())));
        let mut ready = ready.map_err(|error| exception(&error))?;
        if is_auto {
            ready.set_pilots(move || files::pilot(settings));
        }
        let address = ready.address();
        Ok(Self {
            host: address.ip().to_string(),
            port: address.port(),
            fingerprint: ready.fingerprint().to_string(),
            secret: ready.secret().to_owned(),
            ready: Mutex::new(Some(ready)),
            stop: AtomicBool::new(false),
        })
    }

    /// Carries until it is stopped, once.
    fn run(&self, py: Python<'_>, news: Py<PyAny>) -> PyResult<()> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut ready = ready.ok_or_else(|| TransferError::new_err("it has run already"))?;
        let mut watcher = Watcher::new(&self.stop, Some(news));
        let ended = py.detach(|| {
            let ended = ready.run(&mut |now, tidings| watcher.turn(now, tidings.map(tidings_value).as_ref()));
            drop(ready);
            ended
        });
        watcher.raised.map_or_else(|| ended.map_err(|error| exception(&error)), Err)
    }

    /// Ends it; peers are told.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn tidings_value(tidings: &Tidings<'_>) -> Value {
    match tidings {
        Tidings::Changed(change) => change.to_json(&[]),
        Tidings::Came { remote } => json!({"event": "came", "from": remote}),
        Tidings::Left { error } => json!({"event": "left", "reason": error.to_string()}),
        Tidings::Connected { target } => json!({"event": "connected", "target": target}),
        Tidings::Refused { target, reason } => {
            json!({"event": "refused", "target": target, "reason": reason.to_string()})
        }
    }
}
