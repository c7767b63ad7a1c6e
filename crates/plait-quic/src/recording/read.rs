//! Reading of recordings, event by event.

use super::rows::{Row, Rows, get, take};
use super::{MAGIC, Subject, kind};
use crate::settings::MAX_PATHS;
use plait_sched::{Connection, Decision, Duration, Outstanding, Path, PathId, PathSet, PathState, Time};
use plait_transport::SendReason;
use std::fmt;

/// Reason why a recording cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// The bytes are no recording.
    Foreign,
    /// The recording ends within its head: its transfer never began.
    Empty,
    /// A value that no recording has.
    Malformed {
        /// Position in bytes.
        at: usize,
        /// Description.
        what: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => write!(f, "not a recording (--record)"),
            Self::Empty => write!(f, "nothing was recorded: the transfer did not begin"),
            Self::Malformed { at, what } => write!(f, "byte {at}: {what}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Head of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// Description in words.
    pub subject: Subject,
    /// Time from the first packet of the first handshake to the beginning of the transport, at
    /// which the recording's clock starts.
    pub opening: Duration,
    /// Path that was open first.
    pub initial: PathId,
    /// Payload bytes of a full segment.
    pub segment: u32,
    /// The receiver's window in bytes.
    pub window: u64,
    /// Total payload bytes; [`ENDLESS`](super::ENDLESS) for streams.
    pub sends: u64,
    /// Most bytes of a UDP payload.
    pub mtu: u32,
}

/// An event of a recording.
#[derive(Clone, PartialEq, Debug)]
pub enum RecordedEvent<'a> {
    /// A segment was sent.
    Sent {
        /// Time.
        time: Time,
        /// Path.
        path: PathId,
        /// Number of the transmission on the path.
        number: u64,
        /// Number of the segment in the stream.
        segment: u64,
        /// Payload bytes.
        bytes: u32,
        /// Reason.
        reason: SendReason,
    },
    /// See [`plait_transport::Observer::acknowledged`].
    Acknowledged {
        /// Time at which this end learned of it.
        time: Time,
        /// Path of the transmission.
        path: PathId,
        /// Number of the transmission on the path.
        number: u64,
        /// Delay that the peer reports.
        waited: Duration,
    },
    /// See [`plait_transport::Observer::lost`].
    Lost {
        /// Time at which the transmission was declared lost.
        time: Time,
        /// Path of the transmission.
        path: PathId,
        /// Number of the transmission on the path.
        number: u64,
    },
    /// The scheduler decided.
    Decided {
        /// Time.
        time: Time,
        /// Decision.
        decision: Decision,
        /// Facts of the connection, as the scheduler saw them.
        connection: Connection,
        /// Facts of the paths, as the scheduler saw them.
        paths: &'a [Path],
    },
    /// State of the windows.
    Sampled {
        /// Time.
        time: Time,
        /// Facts of the paths.
        paths: &'a [Path],
        /// Congestion window and slow-start threshold of each path, in bytes.
        windows: &'a [(u64, u64)],
        /// Segments that the receiver's window admits.
        window_left: u64,
    },
    /// The recording is over.
    Ended {
        /// Time.
        time: Time,
        /// True if the recording became full and the transfer went on.
        full: bool,
        /// Probe timeouts that expired.
        timeouts: u64,
        /// Probes with data.
        tail_probes: u64,
        /// True if the receiver has confirmed all data.
        whole: bool,
    },
}

/// Reader of a recording's rows. A recording that breaks off within a row ends before it.
#[derive(Debug)]
pub struct Reader<'a> {
    whole: usize,
    rest: &'a [u8],
    rows: Rows,
    start: Start,
    paths: Vec<Path>,
    windows: Vec<(u64, u64)>,
}

impl<'a> Reader<'a> {
    /// Reads the head of a recording.
    ///
    /// # Errors
    /// If the bytes are no recording, or an empty one.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ReadError> {
        if bytes.is_empty() {
            return Err(ReadError::Empty);
        }
        let mut rest = bytes.strip_prefix(MAGIC).ok_or(ReadError::Foreign)?;
        let count = get(&mut rest).ok_or(ReadError::Empty)?;
        let count = usize::try_from(count).ok().filter(|&count| count <= MAX_PATHS);
        let count = count.ok_or(ReadError::Malformed { at: MAGIC.len(), what: "too many paths" })?;
        let mut text = || text(&mut rest).ok_or(ReadError::Empty);
        let (file, scheduler, congestion) = (text()?, text()?, text()?);
        let paths = (0..count).map(|_| text()).collect::<Result<_, _>>()?;
        let subject = Subject { file, scheduler, congestion, paths };
        let mut rows = Rows::new();
        let (_, _, row) = rows.read(&mut rest).ok_or(ReadError::Empty)?;
        let malformed = |what| ReadError::Malformed { at: bytes.len() - rest.len(), what };
        let [opening, initial, segment, window, sends, mtu, ..] = row;
        if initial >= subject.paths.len() as u64 {
            return Err(malformed("the first path is not one of those that there are"));
        }
        let number = |value: u64| u32::try_from(value).ok().filter(|&value| value > 0);
        let start = Start {
            opening: Duration::from_nanos(opening),
            initial: PathId(initial as u8),
            segment: number(segment).ok_or_else(|| malformed("a segment has so many bytes"))?,
            window,
            sends,
            mtu: number(mtu).ok_or_else(|| malformed("a datagram has so many bytes"))?,
            subject,
        };
        let paths = (0..count).map(|path| Path::new(PathId(path as u8), start.segment)).collect();
        Ok(Self { whole: bytes.len(), rest, rows, start, paths, windows: vec![(0, 0); count] })
    }

    /// Returns the head of the recording.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Returns the next event; `None` at the end.
    ///
    /// # Errors
    /// If the next row is invalid.
    pub fn event(&mut self) -> Result<Option<RecordedEvent<'_>>, ReadError> {
        loop {
            let at = self.whole - self.rest.len();
            let malformed = |what| ReadError::Malformed { at, what };
            let Some((kind, slot, row)) = self.rows.read(&mut self.rest) else { return Ok(None) };
            let known = usize::from(slot) < self.paths.len();
            if !known {
                return Err(malformed("there is no such path"));
            }
            let (time, path) = (Time::from_nanos(row[0]), PathId(slot));
            return Ok(Some(match kind {
                kind::SENT => RecordedEvent::Sent {
                    time,
                    path,
                    number: row[1],
                    segment: row[2],
                    bytes: small(row[3]),
                    reason: reason(row[4]).ok_or_else(|| malformed("sent for no known reason"))?,
                },
                kind::ACKNOWLEDGED => RecordedEvent::Acknowledged {
                    time,
                    path,
                    number: row[1],
                    waited: Duration::from_nanos(row[2]),
                },
                kind::LOST => RecordedEvent::Lost { time, path, number: row[1] },
                kind::PATH => {
                    self.paths[path.index()] =
                        facts(path, &row).ok_or_else(|| malformed("a path's state is not known"))?;
                    continue;
                }
                kind::WINDOW => {
                    self.windows[path.index()] = (row[0], row[1]);
                    continue;
                }
                kind::DECISION => {
                    let paths = &self.paths;
                    let decision = decision(&row, paths.len());
                    let decision = decision.ok_or_else(|| malformed("the decision is not known"))?;
                    RecordedEvent::Decided { time, decision, connection: connection(&row), paths }
                }
                kind::SAMPLE => RecordedEvent::Sampled {
                    time,
                    paths: &self.paths,
                    windows: &self.windows,
                    window_left: row[1],
                },
                kind::END => RecordedEvent::Ended {
                    time,
                    full: row[1] != 0,
                    timeouts: row[2],
                    tail_probes: row[3],
                    whole: row[4] != 0,
                },
                _ => return Err(malformed("a row of no known kind")),
            }));
        }
    }
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(get(bytes)?).ok()?;
    Some(String::from_utf8_lossy(take(bytes, length)?).into_owned())
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn reason(number: u64) -> Option<SendReason> {
    [SendReason::New, SendReason::Retransmission, SendReason::Reinjection]
        .into_iter()
        .find(|reason| *reason as u64 == number)
}

fn decision(row: &Row, paths: usize) -> Option<Decision> {
    let path = u8::try_from(row[2]).ok().filter(|&path| usize::from(path) < paths).map(PathId)?;
    let amount = row[3];
    Some(match row[1] {
        0 => Decision::Assign { path, segments: small(amount) },
        1 => Decision::Reinject { path, segment: amount },
        2 => Decision::Recall { path },
        3 => Decision::Wait { until: amount.checked_sub(1).map(Time::from_nanos) },
        4 => Decision::Limit { path, in_flight: small(amount) },
        5 => Decision::Penalize { path },
        6 => Decision::Defer,
        _ => return None,
    })
}

fn connection(row: &Row) -> Connection {
    let oldest = |segment| Outstanding::new(segment, PathId(row[10] as u8), PathSet(row[11] as u32));
    Connection {
        unassigned: row[4],
        next_segment: row[5],
        window_left: row[6],
        window: row[7],
        send_buffer_left: row[8],
        oldest_unacked: row[9].checked_sub(1).map(oldest),
        finished: row[12] != 0,
        ..Connection::default()
    }
}

fn facts(id: PathId, row: &Row) -> Option<Path> {
    let span = |field: usize| Duration::from_nanos(row[field]);
    let state = match row[0] {
        1 => PathState::Active,
        2 => PathState::Backup,
        3 => PathState::PotentiallyFailed,
        4 => PathState::Failed,
        _ => return None,
    };
    Some(Path {
        state,
        in_recovery: row[1] & 2 != 0,
        repairing: row[1] & 1 != 0,
        srtt: span(2),
        rttvar: span(3),
        latest_rtt: span(4),
        own_rtt: span(5),
        min_rtt: span(6),
        forward_delay: (row[7] != 0).then_some(row[8] as i64),
        rto: span(9),
        cwnd: small(row[11]),
        ssthresh: small(row[12]),
        in_flight: small(row[13]),
        lost: small(row[14]),
        queued: small(row[15]),
        limit: small(row[16]),
        loss_ppm: small(row[17]),
        delivery_rate: row[18],
        cost: small(row[19]),
        ..Path::new(id, small(row[10]))
    })
}
