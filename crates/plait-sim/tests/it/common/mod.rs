//! Scenarios from TOML, and their runs.

use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control, RunError, ThroughBytes};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// All records.
pub(crate) const ALL: RecordOptions = RecordOptions {
    packets: true,
    series: Some(plait_sched::Duration::from_millis(500)),
    decisions: true,
    decisions_from: plait_sched::Time::ZERO,
};

/// One row per transmission.
pub(crate) const PACKETS: RecordOptions =
    RecordOptions { packets: true, series: None, decisions: false, decisions_from: plait_sched::Time::ZERO };

/// The lines of a scenario that begin so are the file `writes.csv` beside it.
pub(crate) const WRITES: &str = "#| ";

/// Reads a valid scenario.
pub(crate) fn scenario(text: &str) -> Scenario {
    static FOLDERS: AtomicU64 = AtomicU64::new(0);
    let read = |base: &Path| {
        Scenario::from_toml(text, "test.toml", base).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(WRITES)).collect();
    if lines.is_empty() {
        return read(Path::new("."));
    }
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = format!("{}/writes-{}-{number}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(format!("{folder}/writes.csv"), lines.join("\n")).expect("a file");
    let scenario = read(Path::new(&folder));
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    scenario
}

/// Runs the scenario with its own scheduler, and records `options`.
pub(crate) fn try_run(scenario: &Scenario, options: &RecordOptions) -> Result<RunResult, RunError> {
    simulation::run(scenario, scenario.scheduler.build(), options, &mut |_share| Control::Continue)
}

/// Runs a scenario that must work, and records `options`.
pub(crate) fn run_with(text: &str, options: &RecordOptions) -> RunResult {
    try_run(&scenario(text), options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a scenario that must work, without records.
pub(crate) fn run(text: &str) -> RunResult {
    run_with(text, &RecordOptions::default())
}

/// Initial numbers of both ends that wrap after some thousand segments, and after a few.
pub(crate) const NEAR_THE_WRAP: [u32; 2] = [u32::MAX - 2_000, u32::MAX - 2];

/// Checks that a run has the same records if every packet of its own connection goes through bytes.
/// Returns the number of these packets.
pub(crate) fn same_through_bytes(text: &str) -> Result<u64, String> {
    let scenario = scenario(text);
    let mut through = ThroughBytes::new(&scenario, NEAR_THE_WRAP);
    let plain = try_run(&scenario, &ALL);
    let scheduler = scenario.scheduler.build();
    let other = simulation::run_tapped(&scenario, scheduler, &ALL, &mut through, &mut |_| Control::Continue);
    if let Some(failure) = through.failure() {
        return Err(format!("{failure}\n{text}"));
    }
    let same = match (&plain, &other) {
        (Ok(plain), Ok(other)) => {
            plain == other && plain.to_json(&scenario, "same") == other.to_json(&scenario, "same")
        }
        (Err(plain), Err(other)) => plain.to_string() == other.to_string(),
        _ => false,
    };
    let metrics = |run: &Result<RunResult, RunError>| match run {
        Ok(run) => format!("{:?}", run.metrics),
        Err(error) => error.to_string(),
    };
    if same {
        Ok(through.packets())
    } else {
        Err(format!("{}\nthrough bytes: {}\n{text}", metrics(&plain), metrics(&other)))
    }
}

/// Compares a run without and with records. Samples are events, so that the number of events may
/// differ.
pub(crate) fn same_when_recorded(text: &str) -> Result<(), String> {
    let scenario = scenario(text);
    let outcome = |options| match try_run(&scenario, options) {
        Ok(RunResult { mut metrics, paths, .. }) => {
            metrics.events = 0;
            format!("{metrics:?}\n{paths:?}")
        }
        Err(error) => error.to_string(),
    };
    let [plain, recorded] = [&RecordOptions::default(), &ALL].map(outcome);
    if plain == recorded { Ok(()) } else { Err(format!("{plain}\nrecorded: {recorded}\n{text}")) }
}

/// A hash (FNV-1a) of the JSON and of the tables of a scenario's run, or of its error. It does not
/// depend on the names of types.
pub(crate) fn fingerprint(text: &str) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let scenario = scenario(text);
    let written = match try_run(&scenario, &ALL) {
        Ok(result) => {
            let RunResult { packets, path_series, connection_series, decisions, .. } = &result;
            let json = result.to_json(&scenario, scenario.scheduler.name());
            write!(hash, "{json}{packets:?}{path_series:?}{connection_series:?}{decisions:?}")
        }
        Err(error) => write!(hash, "{error}"),
    };
    written.expect("a hash takes everything");
    hash.0
}

struct Hash(u64);

impl std::fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 =
            text.bytes().fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Ok(())
    }
}
