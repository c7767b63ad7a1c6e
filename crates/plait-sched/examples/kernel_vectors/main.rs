//! Writes calls of the schedulers and their answers as lines of text, for tests of the translations
//! for the Linux kernel in `linux/schedulers`: `cargo run -p plait-sched --example kernel_vectors
//! -- FILE`.

mod settings;
mod text;
mod trains;

use std::fs;
use std::process::ExitCode;

use plait_sched::conformance::{record, record_extremes};
use plait_sched::{Builtin, Scheduler};
use settings::{OPTIONS, SETTINGS, Setting};
use text::Text;
use trains::{OVERFLOWS, TRAINS, WAITING, WRITES, record_overflow, record_train, record_writes};

/// Cases of the model engine, for every setting.
const CASES: u64 = 3;
/// Runs with facts of all sizes, for every setting.
const EXTREMES: u64 = 12;
/// Number of opportunities in each of those runs.
const OPPORTUNITIES: u32 = 30;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: kernel_vectors FILE");
        return ExitCode::FAILURE;
    };
    if let Err(error) = fs::write(&file, vectors().lines()) {
        eprintln!("{file}: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn vectors() -> Text {
    let mut text = Text::default();
    let mut seed = 1;
    for &(name, settings) in SETTINGS {
        text.scheduler(name);
        for setting in settings {
            for option in OPTIONS {
                let given: Setting = [*setting, *option].concat();
                text.set(name, &given);
                one_setting(&mut text, &mut seed, name, &given);
            }
        }
        // Resets the options for the next scheduler.
        text.set(name, &[]);
    }
    text
}

fn one_setting(text: &mut Text, seed: &mut u64, name: &str, given: &Setting) {
    let mut make =
        || -> Box<dyn Scheduler> { Box::new(Builtin::new(name, given).expect("the settings are valid")) };
    for _ in 0..CASES {
        text.begin(make().needs());
        record(name, &mut make, *seed, &mut |call| text.call(call)).expect("it keeps the rules");
        *seed += 1;
    }
    for _ in 0..EXTREMES {
        text.begin(make().needs());
        record_extremes(make(), *seed, OPPORTUNITIES, &mut |call| text.call(call));
        *seed += 1;
    }
    for train in TRAINS {
        text.begin(make().needs());
        record_train(&mut *make(), train, &mut |call| text.call(call));
    }
    for bursts in OVERFLOWS {
        for waiting in WAITING {
            text.begin(make().needs());
            record_overflow(&mut *make(), bursts, waiting, &mut |call| text.call(call));
        }
    }
    for writes in WRITES {
        text.begin(make().needs());
        record_writes(&mut *make(), writes, &mut |call| text.call(call));
    }
}
