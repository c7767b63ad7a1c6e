//! A workload of the caller's own, such as a class in Python.
//!
//! The scenario names a class, `FILE.py:CLASS` or `LIBRARY.so:CLASS`, as the kind of its workload. The
//! other keys of the table are the parameters of the class. The caller reads the class and binds its
//! [`Behaviour`] to the scenario; without that, a run is refused.

use super::{
    Application, ApplicationEvent, ApplicationInput, BlockOrder, ConnectionEnd, ConnectionWriter,
    Description, KIND,
};
use crate::error::ScenarioError;
use crate::format::keys::TableInfo;
use crate::format::names_class;
use crate::format::reader::{Item, Reader};
use plait_sched::{Duration, Time};
use plait_transport::WriteOptions;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

/// The spelling of a class in lists of kinds.
pub(super) const WORD: &str = "FILE.py:CLASS";

/// A class that writes, with its parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Own {
    /// Its name in the scenario, `FILE.py:CLASS` or `LIBRARY.so:CLASS`.
    pub name: String,
    /// Its parameters: text, numbers and truth values.
    pub parameters: Map<String, Value>,
    bound: Option<Bound>,
}

/// The behaviour of a class, for one run after the other.
#[derive(Clone)]
struct Bound {
    requests: bool,
    make: Arc<dyn Fn() -> Box<dyn Behaviour> + Send + Sync>,
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").field("requests", &self.requests).finish_non_exhaustive()
    }
}

/// The behaviour of a workload in a run.
pub trait Behaviour {
    /// Returns the first steps.
    fn begin(&mut self) -> Vec<OwnStep>;
    /// Returns the next steps at the time of an [`OwnStep::Wait`].
    fn on_time(&mut self, now: Time) -> Vec<OwnStep>;
    /// Returns the next steps when a message was delivered wholly.
    fn on_delivered(&mut self, now: Time, delivery: &OwnDelivery) -> Vec<OwnStep>;
}

/// A step of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnStep {
    /// Write a message.
    Write(OwnWrite),
    /// Call [`Behaviour::on_time`] at this time.
    Wait(Time),
    /// Write no message beyond those of the steps so far. The run ends when all have arrived.
    End,
}

/// A message to be written: a block of the near end, or a request of the far end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnWrite {
    /// The time of writing; `None` is now.
    pub at: Option<Time>,
    /// The size of the block, or of the response.
    pub bytes: u64,
    /// The size of the request.
    pub request: u64,
    /// The stream of the block, or of the response.
    pub stream: u32,
    /// Its priority.
    pub priority: u8,
    /// The deadline of its delivery, relative to the writing of block or request.
    pub deadline: Option<Duration>,
}

/// A block or a response that was delivered wholly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnDelivery {
    /// Its number in the order of writing, from 0.
    pub number: u64,
    /// Its size.
    pub bytes: u64,
    /// Its stream.
    pub stream: u32,
    /// The time at which the block or the request was written.
    pub written: Time,
}

impl Own {
    /// Creates a workload without parameters.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), parameters: Map::new(), bound: None }
    }

    /// Binds a behaviour. Each run calls `make` once. With `requests`, its messages are requests of
    /// the far end, which opens the connection, and the near end answers each at once.
    #[must_use]
    pub fn bound(
        self,
        requests: bool,
        make: impl Fn() -> Box<dyn Behaviour> + Send + Sync + 'static,
    ) -> Self {
        Self { bound: Some(Bound { requests, make: Arc::new(make) }), ..self }
    }

    /// Whether a behaviour is bound.
    pub fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// Whether its messages are requests.
    pub(crate) fn has_requests(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| bound.requests)
    }

    /// Reads a table of `[workload]` whose kind is a class.
    pub(super) fn find(item: &Item<'_>) -> Result<Option<Self>, ScenarioError> {
        let table = item.value.as_table();
        let kind = table.and_then(|table| table.get("kind")).and_then(toml::Value::as_str);
        let (Some(table), Some(kind)) = (table, kind.filter(|kind| names_class(kind))) else {
            return Ok(None);
        };
        let mut own = Self::new(kind);
        for (key, given) in table.iter().filter(|(key, _)| *key != "kind") {
            let value = match given {
                toml::Value::String(text) => text.clone().into(),
                toml::Value::Integer(number) => (*number).into(),
                toml::Value::Float(number) if number.is_finite() => (*number).into(),
                toml::Value::Boolean(truth) => (*truth).into(),
                _ => {
                    let kind = "text, a finite number, true or false";
                    let place = format!("{}.{key}", item.place);
                    let wrong = Item { source: item.source, place, kind, value: given.clone() };
                    return Err(wrong.mistyped());
                }
            };
            own.parameters.insert(key.clone(), value);
        }
        Ok(Some(own))
    }
}

impl Description for Own {
    type Application = OwnWriter;

    const KEYS: TableInfo = TableInfo {
        name: "[workload] kind = \"FILE.py:CLASS\"",
        doc: "A class in Python, or one of a shared library (\"LIBRARY.so:CLASS\"), relative to the \
            folder of the scenario. It writes messages and reacts to deliveries. All other keys are \
            parameters of the class.",
        keys: &[KIND],
        later: &[],
    };

    fn read(_reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        Ok(Self::new(WORD))
    }

    fn write(&self, table: &mut Value) {
        table["kind"] = self.name.clone().into();
        for (key, value) in &self.parameters {
            table[key] = value.clone();
        }
    }

    fn start(&self, _seed: u64) -> OwnWriter {
        let behaviour = self.bound.as_ref().map(|bound| (bound.make)());
        OwnWriter::new(behaviour, self.has_requests())
    }

    fn begin(&self) -> Duration {
        Duration::ZERO
    }

    fn blocks(&self) -> Option<BlockOrder> {
        (!self.has_requests()).then_some(BlockOrder::Any)
    }

    fn client(&self) -> ConnectionEnd {
        if self.has_requests() { ConnectionEnd::Far } else { ConnectionEnd::Near }
    }
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// Its end in the stream of requests, in bytes.
    end: u64,
    bytes: u64,
    options: WriteOptions,
}

/// Writes the messages of a behaviour.
pub(crate) struct OwnWriter {
    behaviour: Option<Box<dyn Behaviour>>,
    requests: bool,
    /// Messages to be written now.
    due: VecDeque<OwnWrite>,
    /// Later writes, and calls (`None`), by their time and their order.
    later: BTreeMap<(Time, u64), Option<OwnWrite>>,
    steps: u64,
    ended: bool,
    finished: bool,
    /// Messages that were written and have not arrived wholly.
    open: VecDeque<OwnDelivery>,
    written: u64,
    written_bytes: u64,
    /// Requests that have not arrived wholly, in order: all requests are one stream.
    unanswered: VecDeque<Request>,
    requested_bytes: u64,
}

impl fmt::Debug for OwnWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnWriter").field("written", &self.written).finish_non_exhaustive()
    }
}

impl OwnWriter {
    fn new(behaviour: Option<Box<dyn Behaviour>>, requests: bool) -> Self {
        let mut writer = Self {
            behaviour,
            requests,
            due: VecDeque::new(),
            later: BTreeMap::new(),
            steps: 0,
            ended: false,
            finished: false,
            open: VecDeque::new(),
            written: 0,
            written_bytes: 0,
            unanswered: VecDeque::new(),
            requested_bytes: 0,
        };
        writer.ask(Time::ZERO, |behaviour| behaviour.begin());
        writer
    }

    /// Asks the behaviour for its next steps. A time that has passed is now.
    fn ask(&mut self, now: Time, call: impl FnOnce(&mut dyn Behaviour) -> Vec<OwnStep>) {
        let Some(behaviour) = &mut self.behaviour else { return };
        let steps = call(behaviour.as_mut());
        for step in steps {
            let (at, write) = match step {
                OwnStep::Write(write) => (write.at, Some(write)),
                OwnStep::Wait(at) => (Some(at), None),
                OwnStep::End => {
                    self.ended = true;
                    continue;
                }
            };
            match (at, write) {
                (None, write) => self.due.extend(write),
                (Some(at), write) => {
                    self.later.insert((at.max(now), self.steps), write);
                    self.steps += 1;
                }
            }
        }
        if self.ended {
            self.later.retain(|_, write| write.is_some());
        }
    }

    /// Writes the messages that are due.
    fn write(&mut self, now: Time, ends: &mut impl ConnectionWriter) {
        while let Some(write) = self.due.pop_front() {
            let OwnWrite { bytes, request, stream, priority, deadline, .. } = write;
            let due = deadline.map(|deadline| now.saturating_add(deadline));
            let options = WriteOptions { stream, priority, deadline: due };
            self.open.push_back(OwnDelivery { number: self.written, bytes, stream, written: now });
            self.written += 1;
            self.written_bytes += bytes;
            if self.requests {
                self.requested_bytes += request;
                self.unanswered.push_back(Request { end: self.requested_bytes, bytes, options });
                ends.write(ConnectionEnd::Far, request, &WriteOptions::default());
                ends.note(ApplicationEvent::Requested { request, response: bytes, deadline });
            } else {
                ends.write(ConnectionEnd::Near, bytes, &options);
                ends.note(ApplicationEvent::BlockWritten { bytes, deadline });
            }
        }
        if self.ended && self.later.is_empty() && !self.finished {
            self.finished = true;
            ends.note(ApplicationEvent::Ended { messages: self.written, bytes: self.written_bytes });
            if !self.requests {
                ends.finish(ConnectionEnd::Near);
            }
        }
    }

    /// Takes the steps whose time has come, and writes.
    fn advance(&mut self, now: Time, ends: &mut impl ConnectionWriter) {
        while let Some(first) = self.later.first_entry().filter(|first| first.key().0 <= now) {
            match first.remove() {
                Some(write) => self.due.push_back(write),
                None => self.ask(now, |behaviour| behaviour.on_time(now)),
            }
        }
        self.write(now, ends);
    }
}

impl Application for OwnWriter {
    fn begins_at_once(&self) -> bool {
        !self.due.is_empty()
    }

    fn hears(&self) -> bool {
        true
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }

    fn handle(&mut self, now: Time, input: ApplicationInput, ends: &mut impl ConnectionWriter) {
        match input {
            ApplicationInput::Timer => self.advance(now, ends),
            ApplicationInput::Delivered { at: ConnectionEnd::Near, bytes } => {
                while let Some(request) = self.unanswered.front().filter(|request| request.end <= bytes) {
                    ends.write(ConnectionEnd::Near, request.bytes, &request.options);
                    ends.note(ApplicationEvent::Answered);
                    self.unanswered.pop_front();
                }
            }
            // `ApplicationInput::Arrived` has already reported every complete message.
            ApplicationInput::Delivered { at: ConnectionEnd::Far, .. } => self.write(now, ends),
            ApplicationInput::Arrived(number) => {
                let found = self.open.iter().position(|open| open.number == number);
                let Some(delivery) = found.and_then(|found| self.open.remove(found)) else { return };
                ends.note(if self.requests {
                    ApplicationEvent::Responded(number)
                } else {
                    ApplicationEvent::BlockArrived(number)
                });
                self.ask(now, |behaviour| behaviour.on_delivered(now, &delivery));
            }
        }
    }
}
