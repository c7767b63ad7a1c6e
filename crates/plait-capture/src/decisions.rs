//! `decisions.bin`: the log of the kernel's scheduler. Its records are the structures of
//! `linux/schedulers/plait.h` as they lie in memory on a 64-bit little-endian machine.

use crate::error::ObservationError;
use crate::records::{Fields, Records};
use plait_sched::{
    Connection, Decision, Duration, MAX_PATHS, Outstanding, Path, PathId, PathSet, PathState, Time,
};

/// `struct { s64 time; u16 paths, format; u32 token; struct plait_decision; struct
/// plait_connection; }`
pub(crate) const HEADER: usize = 88;

/// `struct plait_path` up to `own_rtt`
pub(crate) const PATH: usize = 112;

/// Records of format 0 had `own_rtt` in place of `pacing_rate`.
const FORMAT: u16 = 1;

/// A decision, and the state of the connection and its paths when it was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LoggedDecision {
    pub(crate) time: Time,
    /// MPTCP's token of the connection.
    pub(crate) token: u32,
    pub(crate) decision: Decision,
    pub(crate) connection: Connection,
    pub(crate) paths: Vec<Path>,
}

/// Reads the next decision. `moment` converts the clock into the scenario's time.
pub(crate) fn next(
    records: &mut Records,
    moment: impl Fn(i64) -> Time,
) -> Result<Option<LoggedDecision>, ObservationError> {
    let Some(header) = records.next::<HEADER>()? else { return Ok(None) };
    let (count, format) = (usize::from(header.u16(8)), header.u16(10));
    if format != FORMAT {
        return Err(records.malformed(format!("format {format} is not known (valid: {FORMAT})")));
    }
    if count == 0 || count > MAX_PATHS {
        return Err(records.malformed(format!("it has {count} paths; valid: 1 to {MAX_PATHS}")));
    }
    let mut paths = Vec::with_capacity(count);
    for id in 0..count {
        let fields = records.part::<PATH>()?;
        if usize::from(fields.u8(0)) != id {
            return Err(records.malformed(format!("path {id} calls itself {}", fields.u8(0))));
        }
        paths.push(path(records, &fields)?);
    }
    let connection = connection(&header);
    let decision = decision(records, &header, count, moment_of(&moment))?;
    Ok(Some(LoggedDecision {
        time: moment(header.i64(0)),
        token: header.u32(12),
        decision,
        connection,
        paths,
    }))
}

fn moment_of(moment: &impl Fn(i64) -> Time) -> impl Fn(u64) -> Time + '_ {
    move |time| moment(i64::try_from(time).unwrap_or(i64::MAX))
}

fn decision(
    records: &Records,
    fields: &Fields<HEADER>,
    paths: usize,
    moment: impl Fn(u64) -> Time,
) -> Result<Decision, ObservationError> {
    let (amount, kind, path) = (fields.u64(16), fields.u8(24), PathId(fields.u8(25)));
    if kind != 0 && path.index() >= paths {
        return Err(records.malformed(format!("it decides about path {} of {paths}", path.0)));
    }
    let segments = u32::try_from(amount).unwrap_or(u32::MAX);
    Ok(match kind {
        0 => Decision::Wait { until: (amount != 0).then(|| moment(amount)) },
        1 => Decision::Assign { path, segments },
        2 => Decision::Reinject { path, segment: amount },
        3 => Decision::Recall { path },
        4 => Decision::Limit { path, in_flight: segments },
        5 => Decision::Penalize { path },
        other => return Err(records.malformed(format!("decision {other} is not known (valid: 0 to 5)"))),
    })
}

fn connection(fields: &Fields<HEADER>) -> Connection {
    let oldest = Outstanding::new(fields.u64(72), PathId(fields.u8(84)), PathSet(fields.u32(80)));
    // The kernel has no messages.
    Connection {
        unassigned: fields.u64(32),
        next_segment: fields.u64(40),
        window_left: fields.u64(48),
        window: fields.u64(56),
        send_buffer_left: fields.u64(64),
        oldest_unacked: (fields.u8(85) != 0).then_some(oldest),
        finished: fields.u8(86) != 0,
        ..Connection::default()
    }
}

fn path(records: &Records, fields: &Fields<PATH>) -> Result<Path, ObservationError> {
    let span = |at: usize| Duration::from_nanos(fields.u64(at));
    let (forward_delay, uncarried) = (fields.i64(72), fields.i64(104));
    Ok(Path {
        state: match fields.u8(1) {
            0 => PathState::Active,
            1 => PathState::Backup,
            2 => PathState::PotentiallyFailed,
            3 => PathState::Failed,
            other => {
                return Err(records.malformed(format!("path state {other} is not known (valid: 0 to 3)")));
            }
        },
        in_recovery: fields.u8(2) != 0,
        repairing: fields.u8(3) != 0,
        cwnd: fields.u32(8),
        ssthresh: fields.u32(12),
        in_flight: fields.u32(16),
        queued: fields.u32(20),
        limit: fields.u32(24),
        loss_ppm: fields.u32(28),
        cost: fields.u32(32),
        weight: fields.u32(36),
        uncarried: u64::try_from(uncarried).ok(),
        srtt: span(40),
        rttvar: span(48),
        latest_rtt: span(56),
        // A subflow acknowledges its own data.
        own_rtt: span(40),
        min_rtt: span(64),
        forward_delay: (forward_delay != i64::MIN).then_some(forward_delay),
        rto: span(80),
        delivery_rate: fields.u64(88),
        pacing_rate: Some(fields.u64(96)).filter(|&rate| rate > 0),
        // The kernel does not report the others. It sends lost data before newly assigned data.
        ..Path::new(PathId(fields.u8(0)), fields.u32(4))
    })
}
