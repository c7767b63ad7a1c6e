//! Files over real paths: `plait-quic`'s ends, run without Python's lock.

use crate::foreign::Foreign;
use crate::scheduler::{PythonScheduler, Raised, is_raised, take};
use crate::{TransferError, bad_input};
use plait_quic::auto;
use plait_quic::files::{self, Inbox, Local, News, Record, Sent, Shipment, Status, Term};
use plait_quic::identity::hexadecimal;
use plait_quic::pilot::Pilot;
use plait_quic::{Error, Secret, Settings};
use plait_sched::{Builtin, Value};
use plait_sched_ffi::Fault;
use plait_transport::congestion::Algorithm;
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at the keyboard.
const POLL: Duration = Duration::from_millis(100);

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Sending>()?;
    module.add_class::<Receiving>()
}

pub(crate) fn exception(error: &Error) -> PyErr {
    match error {
        Error::Setting(_) | Error::Fingerprint(_) => bad_input(error),
        _ => TransferError::new_err(error.to_string()),
    }
}

/// Who watches a transfer from Python: the keyboard, whoever wants to stop it, and who hears how it stands.
pub(crate) struct Watcher<'a> {
    stop: &'a AtomicBool,
    hears: Option<Py<PyAny>>,
    looked_at: Option<Instant>,
    pub(crate) raised: Option<PyErr>,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(stop: &'a AtomicBool, hears: Option<Py<PyAny>>) -> Self {
        Self { stop, hears, looked_at: None, raised: None }
    }

    pub(crate) fn turn(&mut self, now: Instant, news: Option<&serde_json::Value>) -> ControlFlow<()> {
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

/// A file that is ready to be sent; without a file, a question whether one would be taken.
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
    #[pyo3(signature = (to, file, *, fingerprint, secret, local, interface, cost = None, budget = None, backup = None, congestion = "cubic", mtu = None, record = None, interop = false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        to: String,
        file: Option<PathBuf>,
        fingerprint: &str,
        secret: &str,
        local: Vec<String>,
        interface: Vec<String>,
        cost: Option<BTreeMap<String, u32>>,
        budget: Option<BTreeMap<String, u64>>,
        backup: Option<Vec<String>>,
        congestion: &str,
        mtu: Option<u16>,
        record: Option<(PathBuf, String)>,
        interop: bool,
    ) -> PyResult<Self> {
        let defaults = Settings::default();
        let settings =
            Settings { congestion: controller(congestion)?, mtu: mtu.unwrap_or(defaults.mtu), ..defaults };
        let shipment = Shipment {
            file,
            to,
            fingerprint: fingerprint.parse().map_err(|error| exception(&error))?,
            secret: Secret::new(secret),
            locals: locals(local)?,
            interfaces: interface,
            terms: terms(cost, budget, backup),
            record: record.map(|(place, scheduler)| Record { place, scheduler }),
            settings,
            interop,
        };
        let ready = py.detach(|| files::Sending::open(shipment)).map_err(|error| exception(&error))?;
        let paths = ready.paths().iter().map(Local::to_string).collect();
        Ok(Self { ready: Mutex::new(Some(ready)), settings, stop: AtomicBool::new(false), paths })
    }

    /// Sends it, once.
    #[pyo3(signature = (*, scheduler = None, python_scheduler = None, foreign = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        scheduler: Option<&str>,
        python_scheduler: Option<Py<PyAny>>,
        foreign: Option<Py<Foreign>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ready = ready.ok_or_else(|| TransferError::new_err("it was sent already"))?;
        let mut watcher = Watcher::new(&self.stop, progress);
        let sent = if let Some(object) = python_scheduler {
            let raised = Raised::default();
            let scheduler = PythonScheduler::new(object.bind(py), self.paths.clone(), raised.clone())?;
            let sent = py.detach(|| {
                ready.run(scheduler, &mut |now, status| {
                    if is_raised(&raised) {
                        return ControlFlow::Break(());
                    }
                    watcher.turn(now, status.map(|status| standing(status, &self.paths)).as_ref())
                })
            });
            if let Some(error) = take(&raised) {
                return Err(error);
            }
            sent
        } else if let Some(foreign) = foreign {
            let foreign = foreign.get().clone();
            py.detach(|| foreign_run(&foreign, ready, &mut watcher, &self.paths))?
        } else {
            let chosen = Chosen::of(scheduler)?;
            py.detach(|| {
                let pilot = chosen.pilot(self.settings);
                ready.run_piloted(chosen.scheduler, pilot, &mut |now, status| {
                    watcher.turn(now, status.map(|status| standing(status, &self.paths)).as_ref())
                })
            })
        };
        if let Some(error) = watcher.raised {
            return Err(error);
        }
        sent.map(|sent| result(&sent, &self.paths).to_string()).map_err(|error| exception(&error))
    }

    /// Ends the transfer under way, or the one that has not begun.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn foreign_run(
    foreign: &Foreign,
    ready: files::Sending,
    watcher: &mut Watcher<'_>,
    names: &[String],
) -> PyResult<Result<Sent, Error>> {
    let fault = Fault::default();
    let scheduler = foreign.build(fault.clone()).map_err(TransferError::new_err)?;
    let sent = ready.run(scheduler, &mut |now, status| {
        if fault.message().is_some() {
            return ControlFlow::Break(());
        }
        watcher.turn(now, status.map(|status| standing(status, names)).as_ref())
    });
    match fault.message() {
        Some(message) => Err(TransferError::new_err(message.to_owned())),
        None => Ok(sent),
    }
}

/// Local addresses, each a path.
pub(crate) fn locals(texts: Vec<String>) -> PyResult<Vec<Local>> {
    let read = |text: String| {
        text.parse::<Local>().map_err(|reason| bad_input(format!("local address {text}: {reason}")))
    };
    texts.into_iter().map(read).collect()
}

/// What paths are for, by their names.
pub(crate) fn terms(
    cost: Option<BTreeMap<String, u32>>,
    budget: Option<BTreeMap<String, u64>>,
    backup: Option<Vec<String>>,
) -> Vec<(String, Term)> {
    let cost = cost.into_iter().flatten().map(|(name, cost)| (name, Term::Cost(cost)));
    let budget = budget.into_iter().flatten().map(|(name, bytes)| (name, Term::Budget(bytes)));
    let backup = backup.into_iter().flatten().map(|name| (name, Term::Backup));
    cost.chain(budget).chain(backup).collect()
}

/// The controllers of TCP and QUIC; SCTP's is none of them.
pub(crate) fn controller(name: &str) -> PyResult<Algorithm> {
    let known = || Algorithm::ALL.iter().filter(|algorithm| !matches!(algorithm, Algorithm::NewReno));
    let found = known().find(|algorithm| algorithm.info().name == name).copied();
    let names = || known().map(|algorithm| algorithm.info().name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| bad_input(format!("congestion \"{name}\": choose {}", names())))
}

/// A built-in scheduler, and whether the simulator may be asked for another one.
pub(crate) struct Chosen {
    pub(crate) scheduler: Builtin,
    pub(crate) is_auto: bool,
}

impl Chosen {
    /// Of what Python says: a choice as JSON, or nothing.
    pub(crate) fn of(choice: Option<&str>) -> PyResult<Self> {
        match choice {
            Some("\"auto\"") => Ok(Self { scheduler: auto::first(), is_auto: true }),
            choice => Ok(Self { scheduler: builtin(choice.unwrap_or("\"lowest-rtt\""))?, is_auto: false }),
        }
    }

    /// Who may put another one in its place.
    pub(crate) fn pilot(&self, settings: Settings) -> Option<Box<dyn Pilot<Builtin>>> {
        self.is_auto.then(|| files::pilot(settings))
    }
}

/// A built-in scheduler: a name, or an object with a name and parameters.
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

/// How paths stand.
pub(crate) fn path_values(paths: &[files::PathStatus]) -> Vec<serde_json::Value> {
    let path = |path: &files::PathStatus| {
        json!({
            "name": path.name, "usable": path.usable, "bytes": path.bytes, "rate_bps": path.rate_bps,
            "srtt_s": path.srtt.map(|srtt| srtt.as_secs_f64()), "trouble": path.trouble,
        })
    };
    paths.iter().map(path).collect()
}

fn standing(status: &Status, names: &[String]) -> serde_json::Value {
    json!({
        "event": "progress", "file": status.name, "bytes": status.bytes, "size": status.size,
        "seconds": status.elapsed.as_secs_f64(), "paths": path_values(&status.paths),
        "changes": status.changes.iter().map(|change| change.to_json(names)).collect::<Vec<_>>(),
    })
}

fn result(sent: &Sent, names: &[String]) -> serde_json::Value {
    let path = |(local, path): &(Local, plait_quic::sender::Progress)| {
        json!({
            "name": local.to_string(), "bytes": path.sent, "srtt_s": path.srtt.map(|srtt| srtt.as_secs_f64()),
            "opened": path.opened, "trouble": path.trouble,
        })
    };
    json!({
        "event": "sent", "file": sent.name, "bytes": sent.bytes, "resumed_bytes": sent.resumed, "sha256": hexadecimal(&sent.digest),
        "seconds": sent.duration.as_secs_f64(), "paths": sent.paths.iter().map(path).collect::<Vec<_>>(),
        "retransmissions": sent.counters.retransmissions, "reinjections": sent.counters.reinjections,
        "unrecorded": sent.unrecorded,
        "changes": sent.changes.iter().map(|change| change.to_json(names)).collect::<Vec<_>>(),
    })
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
    #[pyo3(signature = (folder, *, listen, secret = None, window = None, mtu = None))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        listen: &str,
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
        let listen = listen.parse().map_err(|_| {
            bad_input(format!("listen {listen}: expected ADDRESS:PORT, for example 0.0.0.0:4433"))
        })?;
        let inbox = Inbox { folder, listen, secret, settings };
        let ready = py.detach(|| files::Receiving::open(inbox)).map_err(|error| exception(&error))?;
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

    /// Receives until it is stopped, once.
    fn run(&self, py: Python<'_>, news: Py<PyAny>) -> PyResult<()> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut ready = ready.ok_or_else(|| TransferError::new_err("it has run already"))?;
        let mut watcher = Watcher::new(&self.stop, Some(news));
        let ended = py.detach(|| {
            let ended = ready.run(&mut |now, news| watcher.turn(now, news.map(event).as_ref()));
            drop(ready);
            ended
        });
        match watcher.raised {
            Some(error) => Err(error),
            None => ended.map_err(|error| exception(&error)),
        }
    }

    /// Ends it; who sends is told.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn event(news: &News<'_>) -> serde_json::Value {
    match news {
        News::Begun { offer, remote } => {
            json!({"event": "begun", "file": offer.name, "size": offer.size, "from": remote})
        }
        News::Status(status) => standing(status, &[]),
        News::Kept { offer, path, summary } => json!({
            "event": "received", "file": offer.name, "path": path, "bytes": summary.bytes, "resumed_bytes": summary.resumed,
            "sha256": hexadecimal(&offer.digest), "seconds": summary.duration.as_secs_f64(), "paths": summary.paths,
            "longest_gap_s": summary.longest_gap.as_secs_f64(),
        }),
        News::Failed { offer, error, left } => {
            json!({"event": "failed", "file": offer.name, "error": error.to_string(), "kept_bytes": left})
        }
    }
}
