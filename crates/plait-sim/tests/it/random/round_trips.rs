//! A path that delivers takes round-trip samples.

use super::account::round_trip;
use plait_sched::Duration;
use plait_sim::recorder::frames::{NEVER, PacketFrame};
use plait_sim::result::RunResult;
use plait_sim::scenario::{OwnOptions, Scenario};
use std::collections::BTreeMap;

/// The longest time with a smoothed round trip that is below the delay of every packet.
const LONGEST: Duration = Duration::from_secs(60);

/// Number of segments that must arrive within this time.
const ARRIVALS: usize = 40;

/// Fails if the smoothed round-trip time of a path stays the same for too long. Every segment that
/// was sent once and arrived in this time must have had a longer one-way delay, which also exceeds
/// the round trip on an idle path.
pub(super) fn check(scenario: &Scenario, result: &RunResult) -> Result<(), String> {
    let (Some(series), Some(packets)) = (&result.path_series, &result.packets) else {
        return Err("no series".to_owned());
    };
    let once = sent_once(packets);
    // Timestamps tell a round trip to one tick of their clock.
    let tick = match &scenario.transport.own {
        OwnOptions::Mptcp(own) => own.timestamp_granularity,
        _ => Duration::ZERO,
    };
    let tick = tick.as_nanos() as i64;
    for path in 0..scenario.paths.len() {
        let of_path = |row: &&usize| usize::from(packets.path[**row]) == path;
        let rows: Vec<usize> = once.iter().filter(of_path).copied().collect();
        // Acknowledgements of the last packets may still be on their way.
        let end = round_trip(scenario, path);
        // A sender with a shorter longest timeout retransmits everything.
        if scenario.transport.rto_max < end * 3 {
            continue;
        }
        let end = end.as_nanos() as i64;
        let most = LONGEST.as_nanos() as i64 + end;
        let mut since = (0, NEVER);
        for row in (0..series.time.len()).filter(|&row| usize::from(series.path[row]) == path) {
            let (time, srtt) = (series.time[row], series.srtt[row]);
            if since.1 != srtt {
                since = (time, srtt);
            }
            if time - since.0 <= most {
                continue;
            }
            let (count, least) = delays(packets, &rows, since.0, time - end);
            // In an infinite queue that others overload, a round trip can take minutes. A heartbeat
            // takes at most the round trip of a full packet on an idle path.
            let covered = count > 0 && time - since.0 > most + 2 * least;
            if covered && count >= ARRIVALS && least > srtt.max(end) + 2 * tick {
                let begin = since.0;
                return Err(format!(
                    "path {path} takes no round-trip sample from {begin} ns to {time} ns: its smoothed round trip stays {srtt} ns, and {count} packets need {least} ns or more for one way"
                ));
            }
        }
    }
    Ok(())
}

/// The rows of segments that were sent once and arrived. Others give no sample (Karn's rule).
fn sent_once(packets: &PacketFrame) -> Vec<usize> {
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for &sequence in &packets.sequence {
        *times.entry(sequence).or_default() += 1;
    }
    let once = |row: &usize| packets.arrived[*row] != NEVER && times[&packets.sequence[*row]] == 1;
    (0..packets.len()).filter(once).collect()
}

/// The number of packets that were sent and arrived within this time, and the shortest of their
/// delays in nanoseconds.
fn delays(packets: &PacketFrame, rows: &[usize], begin: i64, end: i64) -> (usize, i64) {
    let first = rows.partition_point(|&row| packets.sent[row] < begin);
    let sent = rows[first..].iter().take_while(|&&row| packets.sent[row] < end);
    let within = sent.filter(|&&row| packets.arrived[row] < end);
    within.fold((0, i64::MAX), |(count, least), &row| {
        (count + 1, least.min(packets.arrived[row] - packets.sent[row]))
    })
}
