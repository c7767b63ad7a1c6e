//! Prints the result of a run folder:
//! `cargo run -p plait-capture --example observe -- SCENARIO FOLDER`.

use plait_capture::observe;
use plait_sim::recorder::RecordOptions;
use plait_sim::scenario::Scenario;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, folder] = &arguments[..] else {
        eprintln!("expected a scenario file and a run folder");
        return ExitCode::from(2);
    };
    let scenario = match Scenario::from_file(Path::new(scenario)) {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match observe(&scenario, Path::new(folder), &RecordOptions::default()) {
        Ok(result) => {
            println!("{}", result.to_json(&scenario, scenario.scheduler.name()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}
