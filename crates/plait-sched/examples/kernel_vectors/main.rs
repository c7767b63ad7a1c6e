//! Writes calls of the schedulers and their answers as lines of text, for tests of the translations
//! for the Linux kernel in `linux/schedulers`: `cargo run -p plait-sched --example kernel_vectors
//! -- FOLDER`.
//!
//! `FOLDER/vectors.txt` is for the test in user space; `FOLDER/plait_vectors.h`, a small part, for
//! the test in the kernel.

mod settings;
mod text;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use plait_sched::conformance::{record, record_extremes};
use plait_sched::{Builtin, Scheduler};
use settings::{OPTIONS, SETTINGS, Setting};
use text::Text;

/// The extent of the records.
#[derive(Clone, Copy)]
struct Extent {
    /// Every setting with all options, or with one of them in turn.
    all_options: bool,
    /// Cases of the model engine, for every setting.
    cases: u64,
    /// Runs with facts of all sizes, for every setting.
    extremes: u64,
    /// Number of opportunities in each of those runs.
    opportunities: u32,
    /// Calls of a case or run at most.
    calls: usize,
}

const FULL: Extent =
    Extent { all_options: true, cases: 3, extremes: 12, opportunities: 30, calls: usize::MAX };
const SMALL: Extent = Extent { all_options: false, cases: 1, extremes: 1, opportunities: 4, calls: 24 };

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: kernel_vectors FOLDER");
        return ExitCode::FAILURE;
    };
    let folder = Path::new(&folder);
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(folder.join("vectors.txt"), vectors(FULL).lines()))
        .and_then(|()| fs::write(folder.join("plait_vectors.h"), vectors(SMALL).header()));
    if let Err(error) = written {
        eprintln!("{}: {error}", folder.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn vectors(extent: Extent) -> Text {
    let mut text = Text::default();
    let (mut seed, mut turn) = (1, 0);
    for &(name, settings) in SETTINGS {
        text.scheduler(name);
        for setting in settings {
            let options = if extent.all_options { OPTIONS } else { &OPTIONS[turn..=turn] };
            turn = (turn + 1) % OPTIONS.len();
            for option in options {
                let given: Setting = [*setting, *option].concat();
                text.set(name, &given);
                one_setting(&mut text, extent, &mut seed, name, &given);
            }
        }
        // Resets the options for the next scheduler.
        text.set(name, &[]);
    }
    text
}

fn one_setting(text: &mut Text, extent: Extent, seed: &mut u64, name: &str, given: &Setting) {
    let mut make =
        || -> Box<dyn Scheduler> { Box::new(Builtin::new(name, given).expect("the settings are valid")) };
    for _ in 0..extent.cases {
        text.begin(extent.calls, make().needs());
        record(name, &mut make, *seed, &mut |call| text.call(call)).expect("it keeps the rules");
        *seed += 1;
    }
    for _ in 0..extent.extremes {
        text.begin(extent.calls, make().needs());
        record_extremes(make(), *seed, extent.opportunities, &mut |call| text.call(call));
        *seed += 1;
    }
}
