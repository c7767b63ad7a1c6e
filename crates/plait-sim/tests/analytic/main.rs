//! Runs whose result a formula gives.

#[path = "../common/mod.rs"]
mod common;

mod blocking;
mod capacity;
mod delay;
mod one_way;
mod response;
mod tcp;
mod topology;
