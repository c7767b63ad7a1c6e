//! The project's scenario files are valid and run.

use std::path::{Path, PathBuf};

use plait_sched::Duration;
use plait_sim::recorder::RecordOptions;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

pub(crate) fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("the folder of scenarios");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

#[test]
fn every_file_runs_and_everybody_gets_something() {
    assert_eq!(files().len(), 6);
    for file in files() {
        let mut scenario = Scenario::from_file(&file).unwrap_or_else(|error| panic!("{error}"));
        scenario.duration = Duration::from_secs(30);
        let result = simulation::run(
            &scenario,
            scenario.scheduler.build(),
            &RecordOptions::default(),
            &mut |_share| Control::Continue,
        );
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        println!("{}: {}", file.display(), result.to_json(&scenario, scenario.scheduler.name()));
        assert!(result.metrics.goodput_bps > 500_000.0, "{}: {:?}", file.display(), result.metrics);
        assert!(result.paths.iter().all(|path| path.throughput_bps > 0.0), "{}", file.display());
        assert!(result.flows.iter().all(|flow| flow.goodput_bps > 0.0), "{}", file.display());
        let again = Scenario::from_json(&scenario.to_json().to_string(), "again.json", &folder());
        assert_eq!(again, Ok(scenario), "{}", file.display());
    }
}

#[test]
fn the_table_names_every_file() {
    let readme = std::fs::read_to_string(folder().join("README.md")).expect("a README");
    for file in files() {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}
