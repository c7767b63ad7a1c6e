//! The C interface, called from Rust: `cargo test -p plait-sched-ffi --test it header` runs the
//! tests of one module.

mod allocation;
mod export;
mod header;
