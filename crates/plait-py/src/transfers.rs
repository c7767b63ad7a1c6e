//! File transfers over real paths: the ends of `plait-quic`, run without Python's lock.

use crate::foreign::Foreign;
use crate::scheduler::{PythonScheduler, Raised, is_raised, take};
use crate::{TransferError, bad_input};
use plait_quic::auto;
use plait_quic::command::congestion;
use plait_quic::files::{
    self, Connect, Listen, Local, Modes, ReceiveSettings, RecordSettings, SendSettings, Status, Term,
};
use plait_quic::{Error, Secret, Settings, report};
use plait_sched::{Builtin, Scheduler, Value};
use plait_sched_ffi::Fault;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval between two checks for a keyboard interrupt.
const POLL: Duration = Duration::from_millis(100);

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Sending>()?;
    module.add_class::<Receiving>()
}

fn exception(error: &Error) -> PyErr {
    match error {
        error if error.is_bad_input() => bad_input(error),
        _ => TransferError::new_err(error.to_string()),
    }
}

/// Python's view of a transfer: checks for keyboard interrupts and for a stop, and reports
/// progress.
struct Watcher<'a> {
    stop: &'a AtomicBool,
    hears: Option<Py<PyAny>>,
    looked_at: Option<Instant>,
    raised: Option<PyErr>,
}

impl<'a> Watcher<'a> {
    fn new(stop: &'a AtomicBool, hears: Option<Py<PyAny>>) -> Self {
        Self { stop, hears, looked_at: None, raised: None }
    }

    fn turn(&mut self, now: Instant, news: Option<&serde_json::Value>) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let due = self.looked_at.is_none_or(|at| now.saturating_duration_since(at) >= POLL);
        if news.is_none() && !due {
            return ControlFlow::Continue(());
        }
        self.looked_at = Some(now);
        let told = Python::attach(|py| {
            py.check_signals()?;
            match (news, &self.hears) {
                (Some(news), Some(hears)) => hears.call1(py, (news.to_string(),)).map(drop),
                _ => Ok(()),
            }
        });
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised.get_or_insert(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// The settings of the connecting end, as Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Connecting {
    to: String,
    fingerprint: String,
    secret: String,
    local: Vec<String>,
    interface: Vec<String>,
    cost: BTreeMap<String, u32>,
    budget: BTreeMap<String, u64>,
    backup: Vec<String>,
    congestion: String,
    mtu: u16,
}

impl Connecting {
    fn connect(self, record: Option<RecordSettings>) -> PyResult<Connect> {
        let local = |text: String| {
            text.parse::<Local>().map_err(|reason| bad_input(format!("local address {text}: {reason}")))
        };
        let wrong = |choices| bad_input(format!("congestion \"{}\": {choices}", self.congestion));
        let costs = self.cost.into_iter().map(|(name, cost)| (name, Term::Cost(cost)));
        let budgets = self.budget.into_iter().map(|(name, bytes)| (name, Term::Budget(bytes)));
        let backups = self.backup.into_iter().map(|name| (name, Term::Backup));
        Ok(Connect {
            settings: Settings {
                congestion: congestion(&self.congestion).map_err(wrong)?,
                mtu: self.mtu,
                ..Settings::default()
            },
            to: self.to,
            fingerprint: self.fingerprint.parse().map_err(|error| exception(&error))?,
            secret: Secret::new(&self.secret),
            locals: self.local.into_iter().map(local).collect::<PyResult<_>>()?,
            interfaces: self.interface,
            terms: costs.chain(budgets).chain(backups).collect(),
            record,
        })
    }
}

/// A file ready to be sent. Without a file, asks the peer whether it would accept one.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Sending {
    ready: Mutex<Option<files::Sending>>,
    settings: Settings,
    stop: AtomicBool,
    #[pyo3(get)]
    paths: Vec<String>,
}

#[pymethods]
impl Sending {
    #[new]
    #[pyo3(signature = (file, connecting, *, record = None, interop = false))]
    fn new(
        py: Python<'_>,
        file: Option<PathBuf>,
        connecting: Connecting,
        record: Option<(PathBuf, String)>,
        interop: bool,
    ) -> PyResult<Self> {
        let connect =
            connecting.connect(record.map(|(path, scheduler)| RecordSettings { path, scheduler }))?;
        let settings = connect.settings;
        let send_settings = SendSettings { paths: file.into_iter().collect(), name: None, connect, interop };
        let ready = py.detach(|| files::Sending::open(send_settings)).map_err(|error| exception(&error))?;
        let paths = ready.paths().iter().map(Local::to_string).collect();
        Ok(Self { ready: Mutex::new(Some(ready)), settings, stop: AtomicBool::new(false), paths })
    }

    /// Sends the file. Can be called once.
    #[pyo3(signature = (*, scheduler = None, own = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        scheduler: Option<&str>,
        own: Option<Py<PyAny>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ready = ready.ok_or_else(|| TransferError::new_err("it was sent already"))?;
        let (mut watcher, failures) = (Watcher::new(&self.stop, progress), Own::default());
        let mut watch = |now, status: Option<&Status>| match status {
            _ if failures.has_failed() => ControlFlow::Break(()),
            None => watcher.turn(now, None),
            Some(status) => {
                let mut value = report::progress(status);
                value["changes"] = report::changes(&status.changes, &self.paths);
                watcher.turn(now, Some(&value))
            }
        };
        let built_in = match scheduler {
            // Without a name, the caller's own scheduler decides.
            None | Some("\"auto\"") => auto::first(),
            Some(choice) => builtin(choice)?,
        };
        let pilot = (scheduler == Some("\"auto\"")).then(|| files::pilot(self.settings));
        let sent = py.detach(|| {
            let Some(object) = own else { return ready.run_piloted(built_in, pilot, &mut watch) };
            match Python::attach(|py| failures.build(object.bind(py), self.paths.clone())) {
                Ok(scheduler) => ready.run(scheduler, &mut watch),
                Err(error) => {
                    failures.raise(error);
                    Err(Error::Stopped)
                }
            }
        });
        if let Some(error) = failures.error().or(watcher.raised) {
            return Err(error);
        }
        let label = scheduler.unwrap_or_default();
        if let Ok(Some((file, error))) = sent.as_ref().map(|sent| sent.failed.first()) {
            return Err(TransferError::new_err(format!("{file}: {error}")));
        }
        sent.map(|sent| report::sent(&sent, label, &self.paths).to_string())
            .map_err(|error| exception(&error))
    }

    /// Ends the transfer in progress, or prevents one that has not begun.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Schedulers from Python files or shared libraries, and the failure of one of these.
#[derive(Default)]
pub(crate) struct Own {
    raised: Raised,
    fault: Fault,
}

impl Own {
    /// Builds a scheduler from a Python object, or from a shared library's class.
    pub(crate) fn build(
        &self,
        object: &Bound<'_, PyAny>,
        paths: Vec<String>,
    ) -> PyResult<Box<dyn Scheduler>> {
        if let Ok(foreign) = object.cast::<Foreign>() {
            let built = foreign.get().build(self.fault.clone()).map_err(TransferError::new_err)?;
            return Ok(Box::new(built));
        }
        Ok(Box::new(PythonScheduler::new(object, paths, self.raised.clone())?))
    }

    pub(crate) fn has_failed(&self) -> bool {
        is_raised(&self.raised) || self.fault.message().is_some()
    }

    /// Keeps an exception, which ends the run.
    pub(crate) fn raise(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Takes the exception of the failed scheduler.
    pub(crate) fn error(&self) -> Option<PyErr> {
        let fault = || self.fault.message().map(|message| TransferError::new_err(message.to_owned()));
        take(&self.raised).or_else(fault)
    }
}

/// Builds a built-in scheduler from a name, or from an object with a name and parameters.
fn builtin(choice: &str) -> PyResult<Builtin> {
    let choice: serde_json::Value = serde_json::from_str(choice).map_err(bad_input)?;
    let name = choice.as_str().or(choice["name"].as_str()).unwrap_or_default();
    let mut given = Vec::new();
    for (key, value) in choice.as_object().into_iter().flatten().filter(|(key, _)| *key != "name") {
        let value = match value {
            serde_json::Value::Bool(truth) => Value::Boolean(*truth),
            serde_json::Value::String(text) => Value::Text(text),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Value::Integer(number),
                (None, number) => Value::Number(number.unwrap_or(f64::NAN)),
            },
            other => return Err(bad_input(format!("scheduler {name}: {key} is {other}: expected a value"))),
        };
        given.push((key.as_str(), value));
    }
    Builtin::new(name, &given).map_err(bad_input)
}

/// An end that receives files into a folder.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Receiving {
    ready: Mutex<Option<files::Receiving>>,
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
impl Receiving {
    #[new]
    #[pyo3(signature = (folder, *, listen = None, secret = None, window = None, mtu = None))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        listen: Option<&str>,
        secret: Option<String>,
        window: Option<u64>,
        mtu: Option<u16>,
    ) -> PyResult<Self> {
        let defaults = Settings::default();
        let settings = Settings {
            window: window.unwrap_or(defaults.window),
            mtu: mtu.unwrap_or(defaults.mtu),
            ..defaults
        };
        let listen = listen.map_or_else(
            || Ok(files::anywhere()),
            |text| files::address(text).map_err(|reason| bad_input(format!("listen {text}: {reason}"))),
        )?;
        let receive_settings = ReceiveSettings {
            folder: Some(folder),
            modes: Modes::Private,
            replaces: false,
            listen: Listen { address: listen, secret, clients: Vec::new(), key: None, settings },
        };
        let ready =
            py.detach(|| files::Receiving::open(receive_settings)).map_err(|error| exception(&error))?;
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

    /// Receives files until it is stopped. Can be called once.
    fn run(&self, py: Python<'_>, news: Py<PyAny>) -> PyResult<()> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut ready = ready.ok_or_else(|| TransferError::new_err("it has run already"))?;
        let mut watcher = Watcher::new(&self.stop, Some(news));
        let ended = py.detach(|| {
            let ended = ready.run(&mut |now, news| watcher.turn(now, news.map(report::received).as_ref()));
            drop(ready);
            ended
        });
        match watcher.raised {
            Some(error) => Err(error),
            None => ended.map_err(|error| exception(&error)),
        }
    }

    /// Stops receiving, and notifies the senders.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
