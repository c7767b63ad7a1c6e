//! Runs a scenario file from Rust: `cargo run --release --example run -- FILE [SCHEDULER]`.

use plait_sim::{
    recorder::RecordOptions,
    scenario::{Scenario, SchedulerChoice},
    simulation,
};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: run FILE [SCHEDULER]")?;
    let scenario = Scenario::from_file(Path::new(&file))?;
    let choice = match arguments.next() {
        Some(name) => SchedulerChoice::new(&name, &[])?,
        None => scenario.scheduler.clone(),
    };
    let options = RecordOptions::default();
    let result =
        simulation::run(&scenario, choice.build(), &options, &mut |_share| simulation::Control::Continue)?;
    println!("{}", result.to_json(&scenario, choice.name()));
    Ok(())
}
