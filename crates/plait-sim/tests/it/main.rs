//! Complete runs of the simulator, in one program: `cargo test -p plait-sim --test it golden` runs
//! the tests of one module.

mod allocation;
mod analytic;
mod bound;
mod common;
mod determinism;
mod golden;
mod interrupt;
mod oracle;
mod own_controller;
mod preview;
mod random;
mod scenarios;
