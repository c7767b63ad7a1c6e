//! Interruption by the caller: the number of events until a run stops.

use crate::common::scenario;
use plait_sim::recorder::RecordOptions;
use plait_sim::simulation::{self, Control, RunError};

/// Events between two calls of the caller's function, and so the longest wait of Ctrl-C.
const EVENTS_PER_QUESTION: u64 = 1 << 14;

const BUSY: &str = r#"
    duration = "20s"
    [[path]]
    rate = "100Mbit"
    rtt = "20ms"
    queue = "bdp"
"#;

#[test]
fn a_run_asks_its_caller_again_and_again_and_ends_at_the_first_interrupt() {
    let scenario = scenario(BUSY);
    let mut asked = 0;
    let mut run = |answer: Control| {
        asked = 0;
        let control = &mut |_share| {
            asked += 1;
            answer
        };
        let result =
            simulation::run(&scenario, scenario.scheduler.build(), &RecordOptions::default(), control);
        (result, asked)
    };
    let (whole, asked) = run(Control::Continue);
    let events = whole.expect("nobody ends it").metrics.events;
    assert!(events > 10 * EVENTS_PER_QUESTION, "{events} events");
    assert_eq!(asked, events / EVENTS_PER_QUESTION);
    let (ended, asked) = run(Control::Interrupt);
    assert!(matches!(ended, Err(RunError::Interrupted)));
    assert_eq!(asked, 1);
}
