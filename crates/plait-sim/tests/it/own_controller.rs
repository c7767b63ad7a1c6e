//! A scenario names a controller of the user's own.

use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control, RunError};
use plait_transport::congestion::{CongestionConfig, Factory, Own, OwnController, Reno};
use std::path::Path;
use std::sync::Arc;

/// Builds the listed Reno.
#[derive(Debug)]
struct Renos;

impl Factory for Renos {
    fn build(&self, config: &CongestionConfig) -> Box<dyn OwnController> {
        Box::new(Reno::new(config))
    }
}

fn scenario(protocol: &str, transport: &str, flow: &str) -> Scenario {
    let text = format!(
        "duration = \"10s\"\n[transport]\nprotocol = \"{protocol}\"\ncongestion_control = \"{transport}\"\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"30ms\"\nloss = \"0.5%\"\n\
         [[path]]\nrate = \"4Mbit\"\nrtt = \"60ms\"\n\
         [[flow]]\npath = \"path1\"\nkind = \"tcp\"\n{flow}"
    );
    let mut read = Scenario::from_toml(&text, "own.toml", Path::new("")).expect("valid");
    for control in read.controls_mut().filter(|control| control.is_own()) {
        control.set_own(Own(Arc::new(Renos)));
    }
    read
}

fn run(scenario: &Scenario) -> Result<RunResult, RunError> {
    let scheduler = scenario.scheduler.build();
    simulation::run(scenario, scheduler, &RecordOptions::default(), &mut |_| Control::Continue)
}

#[test]
fn an_own_controller_with_the_rule_of_a_listed_one_gives_the_same_run() {
    for (transport, flow) in [("mine.py:Mine", ""), ("newreno", "congestion_control = \"mine.py:Mine\"")] {
        let own = run(&scenario("mpquic", transport, flow)).expect("it runs");
        let listed = run(&scenario("mpquic", "newreno", "")).expect("it runs");
        assert_eq!(own.metrics, listed.metrics);
        assert_eq!(own.flows, listed.flows);
    }
    let other = run(&scenario("mpquic", "cubic", "")).expect("it runs");
    assert_ne!(other.metrics, run(&scenario("mpquic", "mine.py:Mine", "")).expect("it runs").metrics);
}

#[test]
fn a_controller_that_nothing_builds_is_refused() {
    let mut scenario = scenario("cmt-sctp", "mine.py:Mine:gain=2", "");
    let json = scenario.to_json();
    assert_eq!(json["transport"]["congestion_control"], "mine.py:Mine:gain=2");
    scenario = Scenario::from_json(&json.to_string(), "own.json", Path::new("")).expect("as written");
    let error = run(&scenario).expect_err("nothing builds it");
    assert_eq!(error, RunError::NoController("mine.py:Mine:gain=2".to_owned()));
    let message = "congestion_control = \"mine.py:Mine:gain=2\": no built-in controller, and this program loads no other";
    assert_eq!(error.to_string(), message);
}
