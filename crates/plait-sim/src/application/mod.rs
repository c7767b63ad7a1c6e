//! Applications: the traffic that is written into a connection, and its reaction to deliveries.
//!
//! An application is a file here and a line in the table below. The file has a `Description` (the
//! application in a scenario: keys, reader, writer) and an `Application` (its behaviour in a run).
//! The simulation drives an `Application` in virtual time, by the wakeups that it asks for and by
//! events.
//!
//! Applications that ignore deliveries get none. With requests, the far end is the client, which
//! opens the connection, and the responses are the observed stream. A new application also needs
//! its class in `python/plait/scenarios/workloads.py`.

mod blocks;
mod bulk;
mod deadline;
mod file;
mod own;
pub(crate) mod pace;
mod request_response;
pub(crate) mod times;
mod write_trace;

pub use blocks::{ConstantRate, OnOff};
pub use bulk::Bulk;
pub use file::File;
pub use own::{Behaviour, Own, OwnDelivery, OwnStep, OwnWrite};
pub use request_response::{Demand, RequestDistribution, RequestResponse};
pub use write_trace::{TracedWrite, WriteTrace};

use crate::error::ScenarioError;
use crate::format::keys::{DURATION, KeyInfo, Preset, SIZE, TableInfo, key};
use crate::format::reader::{Item, Reader, Word};
use deadline::{deadline, deadline_key, within, write_deadline};
use plait_sched::{Duration, Time};
use plait_transport::WriteOptions;
use serde_json::Value;
use times::OnTimes;

/// One of the two ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionEnd {
    /// The end that sends in the forward direction. It is the end that is observed.
    Near,
    /// The other end.
    Far,
}

/// An event for an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ApplicationInput {
    /// The moment of [`Application::next_wakeup`] has come.
    Timer,
    /// The total of payload bytes that were delivered at this end since the start.
    Delivered {
        /// The end.
        at: ConnectionEnd,
        /// The total.
        bytes: u64,
    },
    /// The message of this number from the near end was delivered wholly at the far end.
    /// `Delivered` follows with the bytes.
    Arrived(u64),
}

/// An event in an application, for the recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ApplicationEvent {
    /// A block was written.
    BlockWritten {
        /// Its size.
        bytes: u64,
        /// Its deadline, relative to now.
        deadline: Option<Duration>,
    },
    /// The block of this number, counted from 0, arrived wholly; only for [`BlockOrder::Any`].
    BlockArrived(u64),
    /// A request was written, and will have a response.
    Requested {
        /// The request's size.
        request: u64,
        /// The response's size.
        response: u64,
        /// The response's deadline, relative to now.
        deadline: Option<Duration>,
    },
    /// The oldest request without a response arrived wholly, and its response was written.
    Answered,
    /// The response to this request, counted from 0, arrived wholly.
    Responded(u64),
    /// The application writes no further message. The run ends when all have arrived.
    Ended {
        /// Number of blocks, or of requests.
        messages: u64,
        /// Bytes of the blocks, or of the responses.
        bytes: u64,
    },
}

/// Writes at both ends of the connection, for an application.
pub(crate) trait ConnectionWriter {
    /// Writes a message at an end.
    fn write(&mut self, end: ConnectionEnd, bytes: u64, options: &WriteOptions);
    /// The end has data to send at all times from now on.
    fn write_endlessly(&mut self, end: ConnectionEnd);
    /// The end writes no further data.
    fn finish(&mut self, end: ConnectionEnd);
    /// Reports an event that is measured.
    fn note(&mut self, event: ApplicationEvent);
}

/// An application in a run.
pub(crate) trait Application {
    /// Whether it writes at the start, before any event.
    fn begins_at_once(&self) -> bool {
        false
    }

    /// Whether it reacts to deliveries. Otherwise it receives none.
    fn hears(&self) -> bool {
        false
    }

    /// The time of its next `ApplicationInput::Timer`.
    fn next_wakeup(&self) -> Option<Time>;

    /// Handles an event; the application may write.
    fn handle(&mut self, now: Time, input: ApplicationInput, ends: &mut impl ConnectionWriter);
}

/// The order in which blocks arrive wholly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockOrder {
    /// The order of writing.
    Written,
    /// Any order: streams and priorities change it.
    Any,
}

/// An application in a scenario.
pub(crate) trait Description: Sized {
    /// Its behaviour in a run.
    type Application: Application;

    /// The keys of its table, including [`KIND`].
    const KEYS: TableInfo;

    /// Reads its keys except the kind.
    fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError>;

    /// Writes its keys except the kind.
    fn write(&self, table: &mut Value);

    /// Creates the application for a run with this seed.
    fn start(&self, seed: u64) -> Self::Application;

    /// The time of its first write.
    fn begin(&self) -> Duration;

    /// Whether it has data to send at all times.
    fn is_endless(&self) -> bool {
        false
    }

    /// The size of its blocks, if it writes blocks of equal size.
    fn block(&self) -> Option<u64> {
        None
    }

    /// The order in which its blocks arrive, if it writes blocks.
    fn blocks(&self) -> Option<BlockOrder> {
        self.block().map(|_| BlockOrder::Written)
    }

    /// The deadline of each of its messages, relative to their writing, if they have one.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Whether any of its messages has a deadline.
    fn has_deadlines(&self) -> bool {
        self.deadline().is_some()
    }

    /// The end that opens the connection.
    fn client(&self) -> ConnectionEnd {
        ConnectionEnd::Near
    }

    /// Whether the application is complete, by the bytes that were delivered at the far end and the
    /// requests that were answered there.
    fn is_complete(&self, _delivered: u64, _answered: u64) -> bool {
        false
    }

    /// The on times up to `until`, if the application has random on times.
    fn on_times(&self, _seed: u64, _until: Duration) -> OnTimes {
        Vec::new()
    }
}

/// Generates from one line per application: the choices, their words in a scenario, and the
/// dispatch.
macro_rules! applications {
    ($($(#[$meta:meta])* $name:ident($module:ident) = $word:literal,)*) => {
        /// The application in a scenario. Sizes are in bytes of payload.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Workload {
            $($(#[$meta])* $name($module::$name),)*
        }

        /// The keys of all kinds.
        pub(crate) const TABLES: &[TableInfo] = &[$($module::$name::KEYS),*];

        /// The kind of application, before its keys are read.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum WorkloadKind {
            $($name,)*
        }

        impl Word for WorkloadKind {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$name)),*];
        }

        /// The application of a run.
        #[derive(Debug)]
        pub(crate) enum RunningApplication {
            $($name(<$module::$name as Description>::Application),)*
        }

        $(impl From<$module::$name> for Workload {
            fn from(description: $module::$name) -> Self {
                Self::$name(description)
            }
        })*

        impl Workload {
            pub(crate) fn read(item: Item<'_>) -> Result<Self, ScenarioError> {
                if let Some(own) = Own::find(&item)? {
                    return Ok(own.into());
                }
                Ok(match item.variant(&TABLES[0], "kind")? {
                    $(WorkloadKind::$name => Self::$name(read(item, &const { $module::$name::KEYS })?),)*
                })
            }

            pub(crate) fn write(&self) -> Value {
                match self {
                    $(Self::$name(description) => {
                        let mut table = serde_json::json!({ "kind": $word });
                        description.write(&mut table);
                        table
                    })*
                }
            }

            pub(crate) fn start(&self, seed: u64) -> RunningApplication {
                match self {
                    $(Self::$name(description) => RunningApplication::$name(description.start(seed)),)*
                }
            }
        }

        /// Calls a method of the description.
        macro_rules! describe {
            ($workload:expr, $it:ident => $call:expr) => {
                match $workload {
                    $(Workload::$name($it) => $call,)*
                }
            };
        }

        impl Application for RunningApplication {
            fn begins_at_once(&self) -> bool {
                match self {
                    $(Self::$name(application) => application.begins_at_once(),)*
                }
            }

            fn hears(&self) -> bool {
                match self {
                    $(Self::$name(application) => application.hears(),)*
                }
            }

            fn next_wakeup(&self) -> Option<Time> {
                match self {
                    $(Self::$name(application) => application.next_wakeup(),)*
                }
            }

            fn handle(&mut self, now: Time, input: ApplicationInput, ends: &mut impl ConnectionWriter) {
                match self {
                    $(Self::$name(application) => application.handle(now, input, ends),)*
                }
            }
        }
    };
}

applications! {
    /// Data to send at all times.
    Bulk(bulk) = "bulk",
    /// One file, written at once. The run ends when it has arrived.
    File(file) = "file",
    /// Blocks of equal size at equal intervals.
    ConstantRate(blocks) = "cbr",
    /// Blocks of equal size at equal intervals during on times.
    OnOff(blocks) = "on-off",
    /// Requests of clients at the far end, which the near end answers.
    RequestResponse(request_response) = "request-response",
    /// Messages at the times of a file.
    WriteTrace(write_trace) = "trace",
    /// Messages of a class of the caller's own.
    Own(own) = "FILE.py:CLASS",
}

/// The key that every kind of application has.
pub(crate) const KIND: KeyInfo = key(
    "kind",
    "\"bulk\", \"file\", \"cbr\", \"on-off\", \"request-response\", \"trace\" or \"FILE.py:CLASS\"",
    Preset::Required,
    "The kind of traffic.",
);

/// The key of the start, with the description of the kind.
pub(crate) const fn start_key(doc: &'static str) -> KeyInfo {
    key("start", DURATION, Preset::Text("0s"), doc)
}

/// The key of a size without default.
pub(crate) const fn size_key(name: &'static str, doc: &'static str) -> KeyInfo {
    key(name, SIZE, Preset::Required, doc)
}

impl Workload {
    /// The workload of a scenario without a workload table.
    pub const DEFAULT: Self = Self::Bulk(Bulk { start: Duration::ZERO });

    /// The size of its blocks, if it writes blocks of equal size.
    pub fn block(&self) -> Option<u64> {
        describe!(self, it => it.block())
    }

    /// The order in which its blocks arrive, if it writes blocks.
    pub fn blocks(&self) -> Option<BlockOrder> {
        describe!(self, it => it.blocks())
    }

    /// Whether it has data to send at all times.
    pub fn is_endless(&self) -> bool {
        describe!(self, it => it.is_endless())
    }

    /// The time of its first write.
    pub fn begin(&self) -> Duration {
        describe!(self, it => it.begin())
    }

    /// The deadline of each of its messages, relative to their writing, if they have one.
    pub fn deadline(&self) -> Option<Duration> {
        describe!(self, it => it.deadline())
    }

    /// Whether any of its messages has a deadline.
    pub fn has_deadlines(&self) -> bool {
        describe!(self, it => it.has_deadlines())
    }

    /// The end that opens the connection.
    pub fn client(&self) -> ConnectionEnd {
        describe!(self, it => it.client())
    }

    /// Whether the workload is complete, by the bytes that were delivered at the far end and the
    /// requests that were answered there.
    pub fn is_complete(&self, delivered: u64, answered: u64) -> bool {
        describe!(self, it => it.is_complete(delivered, answered))
    }

    /// The on times up to `until`, if the workload has random on times.
    pub fn on_times(&self, seed: u64, until: Duration) -> OnTimes {
        describe!(self, it => it.on_times(seed, until))
    }
}

/// Reads the table of one kind of application.
fn read<T: Description>(item: Item<'_>, keys: &'static TableInfo) -> Result<T, ScenarioError> {
    let mut reader = item.reader(keys)?;
    let _: WorkloadKind = reader.need("kind")?.word()?;
    let description = T::read(&mut reader)?;
    reader.finish();
    Ok(description)
}
