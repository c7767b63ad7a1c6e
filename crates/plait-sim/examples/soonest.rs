//! A scheduler of one's own, and a run with it: `cargo run --package plait-sim --example soonest -- FILE`.
//!
//! It uses a slower path only if the fastest one would deliver all unassigned data later. The page
//! `docs/quick-start-scheduler.md` explains the rule and says where it wins and where it loses.

use plait_sched::{Connection, Decision, Path, Scheduler, Time, usable};
use plait_sim::{recorder::RecordOptions, scenario::Scenario, simulation};
use std::error::Error;

/// The rule has no state: every decision follows from the facts of the moment.
struct Soonest;

impl Scheduler for Soonest {
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let left = connection.sendable(); // in segments: unassigned, and within the receiver's window
        if left == 0 {
            return Decision::WAIT;
        }
        // Nothing is known of a path without a round-trip time: send something, to learn.
        if let Some(path) = usable(paths).find(|path| path.is_open() && !path.has_rtt()) {
            return Decision::Assign { path: path.id, segments: 1 };
        }
        let Some(fast) = usable(paths).filter(|path| path.has_rtt()).min_by_key(|path| path.srtt) else {
            return Decision::WAIT;
        };
        if fast.is_open() {
            return Decision::Assign { path: fast.id, segments: fast.room().min(clip(left)) };
        }
        let Some(slow) = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt) else {
            return Decision::WAIT;
        };
        // Round trips of the fast path until all unassigned data has arrived: a window in each.
        let rounds = 1.0 + left as f64 / f64::from(fast.cwnd.max(1));
        if fast.srtt.as_secs_f64() * rounds < slow.srtt.as_secs_f64() {
            return Decision::WAIT;
        }
        Decision::Assign { path: slow.id, segments: 1 }
    }
}

/// As a number of segments that a decision can name.
fn clip(segments: u64) -> u32 {
    u32::try_from(segments).unwrap_or(u32::MAX)
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: soonest FILE")?;
    let scenario = Scenario::from_file(std::path::Path::new(&file))?;
    let control = &mut |_share| simulation::Control::Continue;
    let result = simulation::run(&scenario, Soonest, &RecordOptions::default(), control)?;
    println!("{}", result.to_json(&scenario, "soonest"));
    Ok(())
}
