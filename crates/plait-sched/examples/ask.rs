//! The loop of an engine around a scheduler: show the facts, carry out the decision, ask again
//! until the scheduler waits.
//!
//! `cargo run --package plait-sched --example ask`

use plait_sched::{Builtin, Connection, Decision, Duration, Path, PathId, RegistryError, Scheduler, Time};

fn main() -> Result<(), RegistryError> {
    let mut scheduler = Builtin::new("lowest-rtt", &[])?;
    // Two paths with a round-trip time (ms), a congestion window and a number of segments in
    // flight.
    let mut paths = [(0, 25, 12, 9), (1, 60, 20, 14)].map(|(id, rtt, cwnd, in_flight)| Path {
        srtt: Duration::from_millis(rtt),
        cwnd,
        in_flight,
        ..Path::new(PathId(id), 1448)
    });
    let mut connection = Connection { unassigned: 10, window_left: 40, ..Connection::default() };
    loop {
        match scheduler.decide(Time::ZERO, &connection, &paths) {
            Decision::Assign { path, segments } => {
                println!("{segments} segments from {} on, to path {}", connection.next_segment, path.0);
                paths[path.index()].in_flight += segments; // here they leave at once
                connection.unassigned -= u64::from(segments);
                connection.window_left -= u64::from(segments);
                connection.next_segment += u64::from(segments);
            }
            Decision::Wait { .. } => break,
            other => println!("not for this engine: {other:?}"),
        }
    }
    println!("{} segments wait for an acknowledgement", connection.unassigned);
    Ok(())
}
