//! Captures of simulated runs, in one program: `cargo test -p plait-capture --test it golden` runs
//! the tests of one module.

mod common;
mod golden;
mod simulated;
