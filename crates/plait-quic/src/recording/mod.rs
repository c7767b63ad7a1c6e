//! Recordings: events of the sending end, written to a file as they happen.
//!
//! A recording has the events that an [`Observer`] hears and, every [`INTERVAL`], the state of the
//! windows. It is written row by row, so memory does not grow with the transfer. If a transfer
//! breaks off, only the last moments are missing. [`read`] reads a recording. `result` (feature
//! `simulation`) passes it to the simulator's recorder, which makes the same tables and metrics as
//! for every engine.
//!
//! Only this end is known: acknowledgements tell about arrivals and their times.
//!
//! ```text
//! Session ──► Recording (Observer) ──► rows of a file ──► recording::result ──► Recorder ──► RunResult
//!                                         └──► python/plait/recordings/links.py ──► plait replay
//! ```
//!
//! Rows have only values that differ from the previous row of their kind (`rows.rs`): about 30
//! bytes per decision for two paths. Without a recording, a transfer only checks an `Option`. Each
//! end of a proxy can record its own data; such a recording has no size, no confirmed end and no
//! replay. Values that a sender cannot know are null in results, such as `packets_dropped`, queues
//! of links and the aggregation benefit.

pub mod read;
#[cfg(feature = "simulation")]
pub mod result;
mod rows;

use plait_sched::{Connection, Decision, Duration, Path, PathId, PathState, Time};
use plait_transport::{Counters, Observer, Sent};
use rows::{Rows, put};
use std::fmt;
use std::io::{self, Write};

/// Name of a recording in its folder.
pub const RECORDING: &str = "recording";

/// First bytes of a recording.
const MAGIC: &[u8] = b"plait-recording 1\n";

/// Interval between two looks at the windows.
pub const INTERVAL: Duration = Duration::from_millis(10);

/// Most transmissions of a recording, which has only the beginning of a longer transfer. So many
/// transmissions carry about 1.2 GB of a file.
pub const MAX_TRANSMISSIONS: u64 = 1_000_000;

/// Most facts of paths in a recording, from decisions and looks together.
pub const MAX_FACTS: u64 = 4_000_000;

/// Bytes collected for one write.
const WRITE_BYTES: usize = 1 << 16;

/// Time after which fewer bytes are written, too, so that an aborted transfer leaves them.
const FLUSH: Duration = Duration::from_secs(1);

/// Total payload bytes of data without end.
pub const ENDLESS: u64 = u64::MAX;

/// Kinds of rows. A decision or a look follows the facts of the paths that have changed.
mod kind {
    pub(super) const START: u8 = 1;
    pub(super) const SENT: u8 = 2;
    pub(super) const ACKNOWLEDGED: u8 = 3;
    pub(super) const LOST: u8 = 4;
    pub(super) const PATH: u8 = 5;
    pub(super) const DECISION: u8 = 6;
    pub(super) const SAMPLE: u8 = 7;
    pub(super) const WINDOW: u8 = 8;
    pub(super) const END: u8 = 9;
}

/// Description of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Subject {
    /// Name of the file.
    pub file: String,
    /// The scheduler, as the user named it.
    pub scheduler: String,
    /// The congestion controller.
    pub congestion: String,
    /// The paths: local addresses, with the interfaces that they are bound to.
    pub paths: Vec<String>,
}

/// Parameters that the ends have agreed upon.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// Path that was open first.
    pub initial: usize,
    /// Payload bytes of a full segment.
    pub segment: u16,
    /// The receiver's window.
    pub window: u64,
    /// Bytes of all files; [`ENDLESS`] for streams.
    pub sends: u64,
    /// Most bytes of a UDP payload.
    pub mtu: u16,
}

/// A recording in progress.
pub struct Recording {
    out: Box<dyn Write + Send>,
    subject: Subject,
    rows: Rows,
    pending: Vec<u8>,
    /// Time at which the transport began; rows count from it.
    started_at: Time,
    sample_at: Time,
    flush_at: Time,
    transmissions: u64,
    facts: u64,
    /// True if the recording is full, or cannot be written.
    closed: bool,
    failed: Option<io::Error>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("subject", &self.subject).finish_non_exhaustive()
    }
}

impl Recording {
    /// Creates an empty recording.
    pub fn new(out: impl Write + Send + 'static, subject: Subject) -> Self {
        Self {
            out: Box::new(out),
            subject,
            rows: Rows::new(),
            pending: Vec::with_capacity(WRITE_BYTES + 4_096),
            started_at: Time::ZERO,
            sample_at: Time::ZERO,
            flush_at: Time::ZERO,
            transmissions: 0,
            facts: 0,
            closed: false,
            failed: None,
        }
    }

    /// Names the paths by their numbers.
    pub(crate) fn number_paths(&mut self, paths: usize) {
        self.subject.paths = (1..=paths).map(|number| format!("path{number}")).collect();
    }

    /// Writes the head of the recording when the transport begins.
    pub fn begin(&mut self, now: Time, beginning: &Beginning) {
        self.started_at = now;
        self.sample_at = now;
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
        if self.pending.len() >= WRITE_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let Err(error) = self.out.write_all(&self.pending).and_then(|()| self.out.flush()) {
            self.failed.get_or_insert(error);
            self.closed = true;
        }
        self.pending.clear();
    }

    fn since(&self, now: Time) -> u64 {
        now.since(self.started_at).as_nanos()
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

    /// True if it is time for another look at the windows.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        !self.closed && now >= self.sample_at
    }

    /// Records the windows: congestion window and slow-start threshold of each path in bytes, and
    /// the rest of the receiver's window in segments.
    pub(crate) fn sample_windows(
        &mut self,
        now: Time,
        paths: &[Path],
        windows: &[(u64, u64)],
        window_left: u64,
    ) {
        self.facts(paths);
        for (path, &(window, threshold)) in windows.iter().enumerate() {
            let fields = [window, threshold];
            if !self.rows.is_known(kind::WINDOW, path as u8, &fields) {
                self.row(kind::WINDOW, path as u8, &fields);
            }
        }
        let fields = [self.since(now), window_left];
        self.row(kind::SAMPLE, 0, &fields);
        self.sample_at = now.saturating_add(INTERVAL);
        if now >= self.flush_at {
            self.flush();
            self.flush_at = now.saturating_add(FLUSH);
        }
        self.stop_at_bound(now);
    }

    fn stop_at_bound(&mut self, now: Time) {
        if self.transmissions >= MAX_TRANSMISSIONS || self.facts >= MAX_FACTS {
            let fields = [self.since(now), 1];
            self.row(kind::END, 0, &fields);
            self.flush();
            self.closed = true;
        }
    }

    /// Ends the recording; `whole` if the receiver has confirmed all data. Returns any write error,
    /// even an earlier one. Written rows stay.
    ///
    /// # Errors
    /// Write errors of the file.
    pub fn end(mut self, now: Time, counters: &Counters, whole: bool) -> io::Result<()> {
        if !self.closed {
            let fields = [self.since(now), 0, counters.timeouts, counters.tail_probes, whole.into()];
            self.row(kind::END, 0, &fields);
            self.flush();
        }
        self.failed.map_or(Ok(()), Err)
    }
}

impl Observer for Recording {
    fn hears_decisions(&self) -> bool {
        !self.closed
    }

    fn sent(&mut self, now: Time, sent: &Sent) {
        if self.closed {
            return;
        }
        let &Sent { path, number, segment, bytes, reason, .. } = sent;
        let fields = [self.since(now), number, segment, bytes.into(), reason as u64];
        self.row(kind::SENT, path.0, &fields);
        self.transmissions += 1;
        self.stop_at_bound(now);
    }

    fn acknowledged(&mut self, now: Time, path: PathId, number: u64, waited: Duration) {
        if !self.closed {
            let fields = [self.since(now), number, waited.as_nanos()];
            self.row(kind::ACKNOWLEDGED, path.0, &fields);
        }
    }

    fn lost(&mut self, now: Time, path: PathId, number: u64) {
        if !self.closed {
            let fields = [self.since(now), number];
            self.row(kind::LOST, path.0, &fields);
        }
    }

    fn decided(&mut self, now: Time, decision: &Decision, connection: &Connection, paths: &[Path]) {
        if self.closed {
            return;
        }
        self.facts(paths);
        let fields = decision_row(self.since(now), self.started_at, decision, connection);
        self.row(kind::DECISION, 0, &fields);
        self.stop_at_bound(now);
    }
}

/// A decision, with the facts of the connection behind it.
fn decision_row(time: u64, started_at: Time, decision: &Decision, connection: &Connection) -> [u64; 13] {
    let (which, path, amount) = match *decision {
        Decision::Assign { path, segments } => (0, path.0, segments.into()),
        Decision::Reinject { path, segment } => (1, path.0, segment),
        Decision::Recall { path } => (2, path.0, 0),
        Decision::Wait { until } => (3, 0, until.map_or(0, |until| until.since(started_at).as_nanos() + 1)),
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

/// Facts of a path without `weight`, which is not set here, and without `uncarried`, which no table
/// has.
fn path_row(path: &Path) -> [u64; 20] {
    let state = match path.state {
        PathState::Active => 0,
        PathState::Backup => 1,
        PathState::PotentiallyFailed => 2,
        PathState::Failed => 3,
    };
    [
        // The row previous to the first one is 0, so every path is recorded at least once.
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
