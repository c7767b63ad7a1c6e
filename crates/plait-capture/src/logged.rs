//! The log of a kernel's scheduler without a run, as `plait-mptcp log --out` writes it.

use crate::decisions::{self, LoggedDecision};
use crate::error::ObservationError;
use crate::records::Records;
use crate::replay::at;
use plait_sched::{Decision, Time};
use plait_sim::recorder::decisions::DecisionLog;
use plait_sim::recorder::frames::{DecisionFrame, DecisionPaths};
use std::collections::BTreeMap;
use std::path::Path;

/// The decisions about one connection.
#[derive(Clone, Debug)]
pub struct Logged {
    /// MPTCP's token of the connection.
    pub token: u32,
    /// Number of paths that any decision knew.
    pub paths: usize,
    /// Time 0 is that of the connection's first decision.
    pub decisions: DecisionFrame,
    /// A decision has no rows of paths that joined later.
    pub decision_paths: DecisionPaths,
}

/// Reads a log. Connections are in the order of their first decisions.
///
/// # Errors
/// [`ObservationError`]: the file cannot be read, or is no log.
pub fn logged(file: &Path) -> Result<Vec<Logged>, ObservationError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let folder = file.parent().unwrap_or(Path::new(""));
    let Some(mut records) = Records::open(folder, &name)? else {
        return Err(ObservationError::File { file: name.into_owned(), reason: "no such file".to_owned() });
    };
    let mut connections: Vec<(u32, Vec<LoggedDecision>)> = Vec::new();
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    while let Some(decision) = decisions::next(&mut records, |time| at(0, time))? {
        let place = *places.entry(decision.token).or_insert(connections.len());
        if place == connections.len() {
            connections.push((decision.token, Vec::new()));
        }
        connections[place].1.push(decision);
    }
    Ok(connections.into_iter().map(|(token, all)| tables(token, &all)).collect())
}

fn tables(token: u32, all: &[LoggedDecision]) -> Logged {
    let start = all.first().map_or(Time::ZERO, |first| first.time);
    let moment = |time: Time| Time::ZERO + time.since(start);
    let mut log = DecisionLog::new(Time::ZERO);
    for one in all {
        let decision = match one.decision {
            Decision::Wait { until } => Decision::Wait { until: until.map(moment) },
            other => other,
        };
        log.push(moment(one.time), &decision, &one.connection, &one.paths);
    }
    let (decisions, decision_paths) = log.finish();
    let paths = all.iter().map(|one| one.paths.len()).max().unwrap_or(0);
    Logged { token, paths, decisions, decision_paths }
}
