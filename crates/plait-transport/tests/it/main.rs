//! Tests of the endpoints and their wire formats, in one program:
//! `cargo test -p plait-transport --test it wire` runs the tests of one module.

mod common;
mod scripts;
mod wire;
