//! Packet schedulers for multipath transports: the decision, and nothing else.
//!
//! A scheduler decides which path carries the next segments of a reliable stream. It sees plain
//! facts ([`Connection`], [`Path`]) and answers with a [`Decision`]. It has no clock, does no I/O,
//! and allocates nothing per decision, so the same scheduler runs in a simulator, in a user-space
//! transport and, translated, in a kernel.
//!
//! # Two queues
//! The *data queue* holds the data written by the application, in order. A decision *assigns* its
//! next segments to a *path queue*, which may hold more than the congestion window admits. A path
//! sends from the head of its own queue.
//!
//! # Messages
//! A message is data that the application writes in one piece, as part of a stream. A scheduler
//! that declares [`Capabilities::messages`] sees the next message ([`Connection::message`]) and may
//! [defer](Decision::Defer) its stream, so that another stream goes first. An engine without
//! messages refuses such a scheduler and names the missing capability.
//!
//! The order inside a stream is the application's. The order between streams is decided when
//! segments are cut, so it never changes data that has a number. Higher priorities go first.
//! Streams of equal priority go in the order of writing, or the one with the shortest message goes
//! first ([`Capabilities::shortest_first`]), or the scheduler defers one. With [`Connection::due`],
//! the earliest deadline of unacknowledged data, a scheduler for video knows the time at which the
//! player's buffer runs dry.
//!
//! # Declarations of a scheduler
//! An engine asks for these declarations before the first decision:
//!
//! - [`Scheduler::needs`]: the capabilities that it uses beyond plain assignment. An engine without
//!   one of them refuses the scheduler by name.
//! - [`Scheduler::interest`]: the frequent events that the engine has to report.
//! - [`Scheduler::waits_without_room`]: the engine does not ask while no path has room.
//!
//! Two capabilities need a reason. [`Capabilities::limit`] goes beyond the model of two queues.
//! DAPS needs it, because its schedule holds more segments than may be in flight on the fast path;
//! bufferbloat mitigation needs it too. [`Capabilities::uncarried`] lets a scheduler choose copies
//! without a list of all outstanding segments.
//!
//! # A scheduler of your own
//! ```
//! use plait_sched::{Connection, Decision, Path, PathId, Scheduler, Time, usable};
//!
//! /// The cheapest open path takes one segment at a time.
//! struct Cheapest;
//!
//! impl Scheduler for Cheapest {
//!     fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
//!         match usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.cost) {
//!             Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
//!             _ => Decision::WAIT,
//!         }
//!     }
//! }
//!
//! let paths = [(0, 5), (1, 2)].map(|(id, cost)| Path { cost, ..Path::new(PathId(id), 1460) });
//! let connection = Connection { unassigned: 9, window_left: 9, ..Connection::default() };
//! let decision = Cheapest.decide(Time::ZERO, &connection, &paths);
//! assert_eq!(decision, Decision::Assign { path: PathId(1), segments: 1 });
//! ```
//! The `conformance` module (see below) checks that a scheduler keeps the rules on which every
//! engine relies.
//!
//! # Engines
//! There are two examples. `ask` is the loop that asks a scheduler. `transport` is a small
//! transport with windows in bytes, several streams and a path whose index is used again. The
//! README lists the duties of an engine and defines breaking changes.
//!
//! # Modules
//! [`decision`] and [`view`] are the interface. [`algorithms`] holds the built-in schedulers and
//! [`options`] the options for any of them; [`registry`] builds schedulers by name from [`params`].
//! [`units`] reads amounts such as `20ms`, and [`time`] counts nanoseconds.
//!
//! # Features
//! `alloc` implements [`Scheduler`] for boxes of schedulers.
//!
//! `conformance` (needs std) adds the module of that name: a model engine that drives a scheduler
//! through random situations and reports the rule that the scheduler broke.
#![no_std]
#![warn(clippy::std_instead_of_core)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "conformance")]
extern crate std;

pub mod algorithms;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod decision;
pub mod options;
pub mod params;
pub mod registry;
pub mod text;
pub mod time;
pub mod units;
pub mod view;

pub use decision::{Capabilities, Decision, Event, Interest, Scheduler};
pub use options::OPTIONS;
pub use params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
pub use registry::{Builtin, RegistryError, SCHEDULERS};
pub use time::{Duration, Time};
pub use units::UnitError;
pub use view::{Connection, MAX_PATHS, Message, Outstanding, Path, PathId, PathSet, PathState, usable};

/// The README's code is run as documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
