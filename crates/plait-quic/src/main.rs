//! `plait-quic send` and `plait-quic recv`: see [`plait_quic::command`].

use std::process::ExitCode;

fn main() -> ExitCode {
    plait_quic::command::main(std::env::args_os())
}
