//! Packet schedulers for multipath transports: the decision, and nothing else.
//!
//! A scheduler decides which path carries the next segments of a reliable stream. It sees plain facts
//! ([`Connection`], [`Path`]) and answers with a [`Decision`]; it has no clock, does no I/O, and allocates nothing
//! per decision, so the same scheduler runs in a simulator, in a user-space transport and, translated, in a kernel.
//!
//! # Two queues
//! The *data queue* holds what the application wrote, in order. A decision *assigns* its next segments to a *path
//! queue*, which may hold more than the congestion window lets out. A path sends from the head of its own queue.
#![no_std]
#![warn(clippy::std_instead_of_core)]

#[cfg(feature = "conformance")]
extern crate std;

pub mod decision;
pub mod time;
pub mod view;

pub use decision::{Capabilities, Decision, Event, Scheduler};
pub use time::{Duration, Time};
pub use view::{Connection, MAX_PATHS, Outstanding, Path, PathId, PathState, usable};
