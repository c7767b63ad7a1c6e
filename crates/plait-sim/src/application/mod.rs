//! Applications: what writes into a connection, and hears what arrives.
//!
//! An application is a file here and a line in the table below. The file has what a scenario says of it (a `Description`: keys,
//! reader, writer) and what it does in a run (an `Application`, driven as everything in virtual time is: by the moments that it
//! asks for, and by what happens).

mod blocks;
mod bulk;
mod file;
pub(crate) mod pace;
mod request_response;
pub(crate) mod times;

pub use blocks::{ConstantRate, OnOff};
pub use bulk::Bulk;
pub use file::File;
pub use request_response::{Demand, RequestResponse, Spread};

use crate::error::ScenarioError;
use crate::format::keys::{DURATION, KeyInfo, Preset, SIZE, TableInfo, key};
use crate::format::reader::{Item, MAX_DURATION, Reader, Word};
use crate::format::text;
use plait_sched::{Duration, Time};
use plait_transport::WriteOptions;
use serde_json::Value;
use times::OnTimes;

/// One of the two ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The one whose stream goes forward; it is the one that is observed.
    Near,
    /// The other one.
    Far,
}

/// What an application hears.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    /// The moment of [`Application::next_wakeup`] has come.
    Timer,
    /// So many payload bytes were delivered at this end since the start.
    Delivered {
        /// Where.
        at: Place,
        /// All of them.
        bytes: u64,
    },
    /// A message of the near end, of this number, was delivered wholly at the far one. What was delivered is told after it.
    Arrived(u64),
}

/// What happens in an application that a recorder is told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A block was written.
    BlockWritten,
    /// A request was written that asks for a response, of these sizes.
    Requested {
        /// The request's.
        request: u64,
        /// The response's.
        response: u64,
    },
    /// The oldest request without a response arrived wholly, and its response was written.
    Answered,
    /// The response to this request, counted from 0, arrived wholly.
    Responded(u64),
}

/// The two ends as an application sees them.
pub(crate) trait Ends {
    /// Writes a message at an end.
    fn write(&mut self, end: Place, bytes: u64, options: &WriteOptions);
    /// From now on there is always more to send.
    fn write_endlessly(&mut self, end: Place);
    /// The end writes no more.
    fn finish(&mut self, end: Place);
    /// Something happened that is measured.
    fn note(&mut self, event: Event);
}

/// An application in a run.
pub(crate) trait Application {
    /// Whether it writes before anything else happens.
    fn begins_at_once(&self) -> bool {
        false
    }

    /// Whether it wants to hear of deliveries; one that does not is told of none.
    fn hears(&self) -> bool {
        false
    }

    /// When it is to be told that its moment has come.
    fn next_wakeup(&self) -> Option<Time>;

    /// Something happened; it may write.
    fn handle(&mut self, now: Time, input: Input, ends: &mut impl Ends);
}

/// What a scenario says of an application.
pub(crate) trait Description: Sized {
    /// What does it.
    type Application: Application;

    /// Its keys, besides [`KIND`] among them.
    const KEYS: TableInfo;

    /// Reads the keys, but for the kind.
    fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError>;

    /// Writes them, but for the kind.
    fn write(&self, table: &mut Value);

    /// What does it in a run with this seed.
    fn start(&self, seed: u64) -> Self::Application;

    /// When it begins.
    fn begin(&self) -> Duration;

    /// Whether there is always more to send.
    fn is_endless(&self) -> bool {
        false
    }

    /// The size of its blocks, if it writes blocks.
    fn block(&self) -> Option<u64> {
        None
    }

    /// Within which time each of its messages should have arrived, if it cares.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Which end opens the connection.
    fn client(&self) -> Place {
        Place::Near
    }

    /// Whether all is done once so many bytes were delivered at the far end and so many requests were answered there.
    fn is_complete(&self, _delivered: u64, _answered: u64) -> bool {
        false
    }

    /// When it is on, up to this moment, if random times decide that.
    fn on_times(&self, _seed: u64, _until: Duration) -> OnTimes {
        Vec::new()
    }
}

/// From one line per application: what can be chosen, its word in a scenario, and the dispatch.
macro_rules! applications {
    ($($(#[$meta:meta])* $name:ident($module:ident) = $word:literal,)*) => {
        /// What the application of a scenario does. Sizes are in bytes of payload.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum Workload {
            $($(#[$meta])* $name($module::$name),)*
        }

        /// The keys of all kinds.
        pub(crate) const TABLES: &[TableInfo] = &[$($module::$name::KEYS),*];

        /// The kinds, before their keys are read.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Kind {
            $($name,)*
        }

        impl Word for Kind {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$name)),*];
        }

        /// The application of a run.
        #[derive(Clone, Debug)]
        pub(crate) enum Running {
            $($name(<$module::$name as Description>::Application),)*
        }

        $(impl From<$module::$name> for Workload {
            fn from(description: $module::$name) -> Self {
                Self::$name(description)
            }
        })*

        impl Workload {
            pub(crate) fn read(item: Item<'_>) -> Result<Self, ScenarioError> {
                Ok(match item.variant(&TABLES[0], "kind")? {
                    $(Kind::$name => Self::$name(read(item, &const { $module::$name::KEYS })?),)*
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

            pub(crate) fn start(&self, seed: u64) -> Running {
                match self {
                    $(Self::$name(description) => Running::$name(description.start(seed)),)*
                }
            }
        }

        /// Asks the description.
        macro_rules! describe {
            ($workload:expr, $it:ident => $call:expr) => {
                match $workload {
                    $(Workload::$name($it) => $call,)*
                }
            };
        }

        impl Application for Running {
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

            fn handle(&mut self, now: Time, input: Input, ends: &mut impl Ends) {
                match self {
                    $(Self::$name(application) => application.handle(now, input, ends),)*
                }
            }
        }
    };
}

applications! {
    /// As much as fits, all the time.
    Bulk(bulk) = "bulk",
    /// So much, at once; the run ends when it has arrived.
    File(file) = "file",
    /// Blocks of equal size at equal intervals.
    ConstantRate(blocks) = "cbr",
    /// Blocks of equal size at equal intervals during on times.
    OnOff(blocks) = "on-off",
    /// Requests of clients at the far end, which the near end answers.
    RequestResponse(request_response) = "request-response",
}

/// The key that every kind has.
pub(crate) const KIND: KeyInfo = key(
    "kind",
    "\"bulk\", \"file\", \"cbr\", \"on-off\" or \"request-response\"",
    Preset::Required,
    "What kind of traffic.",
);

/// When it begins, in the words of the kind.
pub(crate) const fn start_key(doc: &'static str) -> KeyInfo {
    key("start", DURATION, Preset::Text("0s"), doc)
}

/// A size that must be given.
pub(crate) const fn size_key(name: &'static str, doc: &'static str) -> KeyInfo {
    key(name, SIZE, Preset::Required, doc)
}

impl Workload {
    /// The workload of a scenario that describes none.
    pub const DEFAULT: Self = Self::Bulk(Bulk { start: Duration::ZERO });

    /// The size of its blocks, if it writes blocks.
    pub fn block(&self) -> Option<u64> {
        describe!(self, it => it.block())
    }

    /// Whether there is always more to send.
    pub fn is_endless(&self) -> bool {
        describe!(self, it => it.is_endless())
    }

    /// When it begins.
    pub fn begin(&self) -> Duration {
        describe!(self, it => it.begin())
    }

    /// Within which time each of its messages should have arrived, if it cares.
    pub fn deadline(&self) -> Option<Duration> {
        describe!(self, it => it.deadline())
    }

    /// Which end opens the connection.
    pub fn client(&self) -> Place {
        describe!(self, it => it.client())
    }

    /// Whether all is done once so many bytes were delivered at the far end and so many requests were answered there.
    pub fn is_complete(&self, delivered: u64, answered: u64) -> bool {
        describe!(self, it => it.is_complete(delivered, answered))
    }

    /// When it is on, up to this moment, if random times decide that.
    pub fn on_times(&self, seed: u64, until: Duration) -> OnTimes {
        describe!(self, it => it.on_times(seed, until))
    }
}

/// The key of a deadline, in the words of the kind.
pub(crate) const fn deadline_key(doc: &'static str) -> KeyInfo {
    key("deadline", DURATION, Preset::Otherwise("none"), doc)
}

/// The deadline, if the table has one.
fn deadline(reader: &mut Reader<'_>) -> Result<Option<Duration>, ScenarioError> {
    reader.take("deadline").map(|item| item.duration(Duration::from_nanos(1)..=MAX_DURATION)).transpose()
}

/// Writes it.
fn write_deadline(table: &mut Value, deadline: Option<Duration>) {
    if let Some(deadline) = deadline {
        table["deadline"] = text::duration(deadline).into();
    }
}

/// Options of a message of stream 0 that should have arrived within `deadline`.
fn within(now: Time, deadline: Option<Duration>) -> WriteOptions {
    WriteOptions {
        deadline: deadline.map(|deadline| now.saturating_add(deadline)),
        ..WriteOptions::default()
    }
}

/// Reads the table of a kind.
fn read<T: Description>(item: Item<'_>, keys: &'static TableInfo) -> Result<T, ScenarioError> {
    let mut reader = item.reader(keys)?;
    let _: Kind = reader.need("kind")?.word()?;
    let description = T::read(&mut reader)?;
    reader.finish();
    Ok(description)
}
