//! Recordings: what happened at the end that sends, written down as it happens.
//!
//! What is recorded is what an [`Observer`] hears and, every [`INTERVAL`], how windows stand. It goes into a file row by row, so that memory does
//! not grow with the transfer, and a transfer that breaks off leaves all of it up to some moments before. [`read`] takes it apart again, and
//! `result` (feature `simulation`) tells the simulator's recorder of it, which makes the tables and metrics of it that every engine has.
//!
//! Only this end is known: what arrived, and when, is what acknowledgements tell.

pub mod read;
#[cfg(feature = "simulation")]
pub mod result;
mod rows;

use plait_sched::{Connection, Decision, Duration, Path, PathId, PathState, Time};
use plait_transport::{Counters, Observer, Sent};
use rows::{Rows, put};
use std::fmt;
use std::io::{self, Write};

/// What a recording is called in its folder.
pub const RECORDING: &str = "recording";

/// The first bytes of a recording.
const MAGIC: &[u8] = b"plait-recording 1\n";

/// Between two looks at windows.
pub const INTERVAL: Duration = Duration::from_millis(10);

/// Transmissions of a recording at most: of more, it has the beginning. It is some 1.2 GB of a file.
pub const MOST_TRANSMISSIONS: u64 = 1_000_000;

/// Facts of paths that decisions were made from, and looks at windows, at most.
pub const MOST_FACTS: u64 = 4_000_000;

/// What is collected before it is written.
const PIECE: usize = 1 << 16;

/// After so long it is written however little it is, so that what breaks off leaves the rest.
const FLUSH: Duration = Duration::from_secs(1);

/// Payload bytes in all of what has no end.
pub const ENDLESS: u64 = u64::MAX;

/// The kinds of rows. A decision and a look follow the facts of the paths, as far as these have changed.
mod kind {
    pub(super) const START: u8 = 1;
    pub(super) const SENT: u8 = 2;
    pub(super) const ACKNOWLEDGED: u8 = 3;
    pub(super) const LOST: u8 = 4;
    pub(super) const PATH: u8 = 5;
    pub(super) const DECISION: u8 = 6;
    pub(super) const LOOK: u8 = 7;
    pub(super) const WINDOW: u8 = 8;
    pub(super) const END: u8 = 9;
}

/// What is recorded, in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Subject {
    /// The file's name.
    pub file: String,
    /// The scheduler, as the user named it.
    pub scheduler: String,
    /// The congestion controller.
    pub congestion: String,
    /// The paths: local addresses, with the interfaces that they are bound to.
    pub paths: Vec<String>,
}

/// What the ends have agreed upon.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// The path that was there first.
    pub initial: usize,
    /// Payload bytes of a full segment.
    pub segment: u16,
    /// The receiver's window.
    pub window: u64,
    /// Bytes of files in all; [`ENDLESS`] of streams.
    pub sends: u64,
    /// Bytes of a UDP datagram's payload at most.
    pub mtu: u16,
}

/// A recording that is being made.
pub struct Recording {
    out: Box<dyn Write + Send>,
    subject: Subject,
    rows: Rows,
    pending: Vec<u8>,
    /// When the transport began; rows count from here.
    began: Time,
    look_at: Time,
    flush_at: Time,
    transmissions: u64,
    facts: u64,
    /// There is more than it may have, or it cannot be written.
    over: bool,
    failed: Option<io::Error>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("subject", &self.subject).finish_non_exhaustive()
    }
}

impl Recording {
    /// Nothing has happened yet.
    pub fn new(out: impl Write + Send + 'static, subject: Subject) -> Self {
        Self {
            out: Box::new(out),
            subject,
            rows: Rows::new(),
            pending: Vec::with_capacity(PIECE + 4_096),
            began: Time::ZERO,
            look_at: Time::ZERO,
            flush_at: Time::ZERO,
            transmissions: 0,
            facts: 0,
            over: false,
            failed: None,
        }
    }

    /// The paths are so many, and have no names.
    pub(crate) fn number_paths(&mut self, paths: usize) {
        self.subject.paths = (1..=paths).map(|number| format!("path{number}")).collect();
    }

    /// The transport begins.
    pub fn begin(&mut self, now: Time, beginning: &Beginning) {
        self.began = now;
        self.look_at = now;
        self.pending.extend_from_slice(MAGIC);
        let Subject { file, scheduler, congestion, paths } = &self.subject;
        put(&mut self.pending, paths.len() as u64);
        for text in [file, scheduler, congestion].into_iter().chain(paths) {
            put(&mut self.pending, text.len() as u64);
            self.pending.extend_from_slice(text.as_bytes());
        }
        let &Beginning { initial, segment, window, sends, mtu } = beginning;
        let fields = [now.as_nanos(), initial as u64, segment.into(), window, sends, mtu.into()];
        self.row(kind::START, 0, &fields);
    }

    fn row(&mut self, kind: u8, slot: u8, fields: &[u64]) {
        self.rows.write(&mut self.pending, kind, slot, fields);
        if self.pending.len() >= PIECE {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let Err(error) = self.out.write_all(&self.pending).and_then(|()| self.out.flush()) {
            self.failed.get_or_insert(error);
            self.over = true;
        }
        self.pending.clear();
    }

    fn since(&self, now: Time) -> u64 {
        now.since(self.began).as_nanos()
    }

    fn facts(&mut self, paths: &[Path]) {
        self.facts += paths.len() as u64;
        for path in paths {
            let fields = path_row(path);
            if !self.rows.is_known(kind::PATH, path.id.0, &fields) {
                self.row(kind::PATH, path.id.0, &fields);
            }
        }
    }

    /// Whether it is time for another look at windows.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        !self.over && now >= self.look_at
    }

    /// How windows stand: of each path the window and the threshold in bytes, and what is left of the receiver's in segments.
    pub(crate) fn look(&mut self, now: Time, paths: &[Path], windows: &[(u64, u64)], window_left: u64) {
        self.facts(paths);
        for (path, &(window, threshold)) in windows.iter().enumerate() {
            let fields = [window, threshold];
            if !self.rows.is_known(kind::WINDOW, path as u8, &fields) {
                self.row(kind::WINDOW, path as u8, &fields);
            }
        }
        let fields = [self.since(now), window_left];
        self.row(kind::LOOK, 0, &fields);
        self.look_at = now.saturating_add(INTERVAL);
        if now >= self.flush_at {
            self.flush();
            self.flush_at = now.saturating_add(FLUSH);
        }
        self.stop_at_bound(now);
    }

    fn stop_at_bound(&mut self, now: Time) {
        if self.transmissions >= MOST_TRANSMISSIONS || self.facts >= MOST_FACTS {
            let fields = [self.since(now), 1];
            self.row(kind::END, 0, &fields);
            self.flush();
            self.over = true;
        }
    }

    /// The transfer is over; `whole` if the receiver has all of it by its own word. What could not be written is an error, whenever it happened; what was written stays.
    ///
    /// # Errors
    /// Those of the file.
    pub fn end(mut self, now: Time, counters: &Counters, whole: bool) -> io::Result<()> {
        if !self.over {
            let fields = [self.since(now), 0, counters.timeouts, counters.tail_probes, whole.into()];
            self.row(kind::END, 0, &fields);
            self.flush();
        }
        self.failed.map_or(Ok(()), Err)
    }
}

impl Observer for Recording {
    fn hears_decisions(&self) -> bool {
        !self.over
    }

    fn sent(&mut self, now: Time, sent: &Sent) {
        if self.over {
            return;
        }
        let &Sent { path, number, segment, bytes, reason, .. } = sent;
        let fields = [self.since(now), number, segment, bytes.into(), reason as u64];
        self.row(kind::SENT, path.0, &fields);
        self.transmissions += 1;
        self.stop_at_bound(now);
    }

    fn acknowledged(&mut self, now: Time, path: PathId, number: u64, waited: Duration) {
        if !self.over {
            let fields = [self.since(now), number, waited.as_nanos()];
            self.row(kind::ACKNOWLEDGED, path.0, &fields);
        }
    }

    fn lost(&mut self, now: Time, path: PathId, number: u64) {
        if !self.over {
            let fields = [self.since(now), number];
            self.row(kind::LOST, path.0, &fields);
        }
    }

    fn decided(&mut self, now: Time, decision: &Decision, connection: &Connection, paths: &[Path]) {
        if self.over {
            return;
        }
        self.facts(paths);
        let fields = decision_row(self.since(now), self.began, decision, connection);
        self.row(kind::DECISION, 0, &fields);
        self.stop_at_bound(now);
    }
}

/// A decision, and the facts of the connection that it was made from.
fn decision_row(time: u64, began: Time, decision: &Decision, connection: &Connection) -> [u64; 13] {
    let (which, path, amount) = match *decision {
        Decision::Assign { path, segments } => (0, path.0, segments.into()),
        Decision::Reinject { path, segment } => (1, path.0, segment),
        Decision::Recall { path } => (2, path.0, 0),
        Decision::Wait { until } => (3, 0, until.map_or(0, |until| until.since(began).as_nanos() + 1)),
        Decision::Limit { path, in_flight } => (4, path.0, in_flight.into()),
        Decision::Penalize { path } => (5, path.0, 0),
        Decision::Defer => (6, 0, 0),
    };
    let oldest = &connection.oldest_unacked;
    [
        time,
        which,
        path.into(),
        amount,
        connection.unassigned,
        connection.next_segment,
        connection.window_left,
        connection.window,
        connection.send_buffer_left,
        oldest.as_ref().map_or(0, |oldest| oldest.segment + 1),
        oldest.as_ref().map_or(0, |oldest| oldest.path.0.into()),
        oldest.as_ref().map_or(0, |oldest| oldest.carried.0.into()),
        connection.finished.into(),
    ]
}

/// The facts of a path, without what it weighs and lacks: nobody says the one here, and no table has the other.
fn path_row(path: &Path) -> [u64; 20] {
    let state = match path.state {
        PathState::Active => 0,
        PathState::Backup => 1,
        PathState::PotentiallyFailed => 2,
        PathState::Failed => 3,
    };
    [
        // 0 is what the row before the first says: every path is told of at least once.
        state + 1,
        u64::from(path.in_recovery) << 1 | u64::from(path.repairing),
        path.srtt.as_nanos(),
        path.rttvar.as_nanos(),
        path.latest_rtt.as_nanos(),
        path.own_rtt.as_nanos(),
        path.min_rtt.as_nanos(),
        path.forward_delay.is_some().into(),
        path.forward_delay.unwrap_or(0) as u64,
        path.rto.as_nanos(),
        path.mss.into(),
        path.cwnd.into(),
        path.ssthresh.into(),
        path.in_flight.into(),
        path.lost.into(),
        path.queued.into(),
        path.limit.into(),
        path.loss_ppm.into(),
        path.delivery_rate,
        path.cost.into(),
    ]
}
