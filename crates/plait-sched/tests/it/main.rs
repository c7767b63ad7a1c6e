//! Integration tests of the schedulers, in one program: `cargo test -p plait-sched --test it
//! conformance` runs the tests of one module.

mod conformance;
mod record;
mod registry;
mod units;
