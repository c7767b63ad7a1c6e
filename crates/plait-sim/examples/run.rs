//! Runs a scenario file from Rust: `cargo run --release --example run -- FILE [SCHEDULER]`.

use plait_sched::registry::Builtin;
use plait_sim::{recorder::RecordOptions, scenario::Scenario, simulation};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: run FILE [SCHEDULER]")?;
    let scenario = Scenario::from_file(Path::new(&file))?;
    let name = arguments.next().unwrap_or_else(|| scenario.scheduler.name().to_owned());
    let scheduler = Builtin::new(&name, &[])?;
    let options = RecordOptions::default();
    let result =
        simulation::run(&scenario, scheduler, &options, &mut |_share| simulation::Control::Continue)?;
    println!("{}", result.to_json(&scenario, &name));
    Ok(())
}
