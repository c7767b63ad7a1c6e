//! The C interface of [`plait_sched`]: its schedulers for engines in C, and schedulers in C (or anything that speaks C) for its engines.
//!
//! `include/plait_sched.h` follows from this crate (cbindgen; a test holds the two together) and says of every function what it does, in
//! which units, and how it fails. The README is the introduction.
//!
//! * [`scheduler`]: a built-in scheduler as a handle: made from a text, asked, told, freed.
//! * [`class`]: a scheduler as a table of callbacks; [`Foreign`] makes a [`plait_sched::Scheduler`] of one.
//! * [`conformance`]: the suite of [`plait_sched::conformance`] for such a table.
//! * [`facts`], [`decision`]: the structs, and how they become Rust's and back.
//! * [`export`]: a scheduler in Rust, outside this repository, as a shared library that hands out such tables.
//! * `library`, with the feature `load`: such a library, loaded while a program runs.
//!
//! # What holds at the border
//! * **Versions.** Every struct begins with its size as the caller knows it. A later version adds fields at the end only: what a caller does
//!   not know keeps its default, what the library does not know it leaves alone.
//! * **No allocation** once a handle is made: deciding and telling work on arrays inside it.
//! * **No panic gets across.** Every function catches it and returns [`PLAIT_ERROR_PANIC`](error::PLAIT_ERROR_PANIC); a handle in which that happened refuses everything
//!   from then on. That needs unwinding: whoever builds the library with `panic = "abort"` gets a process that ends instead.
//! * **Threads.** A handle belongs to one thread at a time; handles know nothing of each other. Messages of errors are the thread's own.
#![allow(unsafe_code, reason = "pointers from C are what this crate is about; each use says why it is right")]

pub mod class;
pub mod conformance;
pub mod decision;
pub mod error;
pub mod export;
pub mod facts;
#[cfg(all(unix, feature = "load"))]
pub mod library;
pub mod scheduler;
mod sized;
pub mod text;

pub use class::{Class, Fault, Foreign};
pub use plait_sched;
pub use text::Given;
