//! The C interface of [`plait_sched`]: its schedulers for engines in C, and schedulers in C (or any
//! language that calls C) for its engines. Shared libraries can also have congestion controllers and
//! workloads, for the simulator.
//!
//! `include/plait_sched.h` is generated from this crate (by cbindgen; a test compares the two). It
//! documents the effect, the units and the errors of every function. The README is the
//! introduction.
//!
//! | module | content |
//! |---|---|
//! | [`scheduler`] | a built-in scheduler as a handle: built from a text, asked for decisions, told of events, freed. The handle holds the facts of the paths, so a decision allocates nothing |
//! | [`class`] | a scheduler as a table of callbacks; [`Foreign`] makes a [`plait_sched::Scheduler`] of one |
//! | [`controller`] | a congestion controller as a table of callbacks, and an instance of it |
//! | [`workload`] | the same for a workload |
//! | `table` | reads tables of callbacks, also of another version |
//! | [`conformance`] | the suite of [`plait_sched::conformance`] for such a table |
//! | [`path`], [`connection`], [`decision`] | the structs, and their conversion to Rust's and back |
//! | [`bytes`] | the structs as bytes, for an engine in another process |
//! | `sized` | reads and writes structs of another version |
//! | [`text`] | schedulers and their parameters as text |
//! | [`export`] | a scheduler in Rust, outside this repository, as a shared library that provides such tables |
//! | `library` (feature `load`) | such a library, loaded while a program runs; Python uses it |
//! | [`error`] | error codes, the message of the thread, and the guard that stops panics |
//!
//! # Changes of the interface
//! A new fact is a field at the end of its struct, with its default, in both directions
//! ([`path`], [`connection`]). `FIRST` stays: it is the size of the first version (`sized.rs`).
//! `PLAIT_RENEW_HEADER=1 cargo test -p plait-sched-ffi --test it header` writes the header, and
//! `make test-ffi` runs C against it.
//!
//! # Rules of the interface
//! * **Versions.** Every struct begins with its size as the caller knows it. A later version adds
//!   fields only at the end. Fields that a caller does not know keep their default; the library
//!   does not touch fields that it does not know.
//! * **No allocation** after the creation of a handle: decisions and events use arrays inside it.
//! * **Panics** do not cross the interface. Every function catches them and returns
//!   [`PLAIT_ERROR_PANIC`](error::PLAIT_ERROR_PANIC). The handle then refuses all further calls
//!   except being freed. This needs unwinding: in a library built with `panic = "abort"`, a panic
//!   ends the process instead.
//! * **Threads.** A handle belongs to one thread at a time; handles are independent of each other.
//!   Error messages are kept per thread.
#![allow(unsafe_code, reason = "pointers from C are what this crate is about; each use says why it is right")]

pub mod bytes;
pub mod class;
pub mod conformance;
pub mod connection;
pub mod controller;
pub mod decision;
pub mod error;
pub mod export;
#[cfg(all(unix, feature = "load"))]
pub mod library;
pub mod path;
pub mod scheduler;
mod sized;
mod table;
pub mod text;
pub mod workload;

pub use class::{Class, Fault, Foreign};
pub use plait_sched;
pub use text::Given;
