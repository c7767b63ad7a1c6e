//! `--scheduler auto`: changes the scheduler of a running connection. The connection measures its
//! paths, and the simulator predicts the results of a few schedulers on them. The connection
//! changes to a better scheduler if the gain is beyond noise.
//!
//! ```text
//! Session ──► Measure ──► Question ──► Asker: the simulator, on a thread of its own or in line
//!                                        └──► Answer ──► another scheduler, and the reason
//! ```
//!
//! - A question is asked when all paths in use are known ([`Measure::known`]), and again when one
//!   of them has changed. Two questions are at least [`PAUSE`] apart. No question is asked if the
//!   rest of the data takes less than [`WORTHWHILE`].
//! - The [answer](Answer::is_gain) must be beyond noise: some variations of the paths choose the
//!   candidate, and others judge it, with pairs of runs.
//! - The scheduler at the beginning is [`FIRST`].
//!
//! This module has no clock and no thread; the [`Asker`] has both.
//!
//! The new scheduler replaces the old one in a running connection (`Endpoint::replace_scheduler`).
//! Assigned data that has not left returns to the data queue, waiting copies and penalties are
//! dropped, limits are lifted, and the declarations of the new scheduler apply. Data in flight
//! stays, so a scheduler may start with segments in flight that it has never seen.
//!
//! The question is a scenario of the remaining data over the measured paths; its variations cover
//! the measurement error. Two variations choose the best candidate. Five others judge it in pairs
//! with the current scheduler, so it is not judged by the runs that chose it. The number of packets
//! of a run is limited, and a transfer never waits for an answer.

mod question;

pub use question::{Answer, CANDIDATES, Question, answer};

use crate::measured::{Measure, Measured};
use crate::pilot::{Pilot, SchedulerChange};
use crate::session::Session;
use crate::settings::{Settings, wire_of};
use plait_sched::{Builtin, Duration, Scheduler, Time};
use std::fmt;

/// Scheduler until the paths are known.
pub const FIRST: &str = "lowest-rtt";

/// Shortest time between two questions.
pub const PAUSE: Duration = Duration::from_secs(5);

/// Shortest remaining time for which a question is asked. With less, there is nothing to gain.
pub const WORTHWHILE: Duration = Duration::from_millis(500);

/// Shortest time between two updates of the measurements.
const STEP: Duration = Duration::from_millis(2);

/// Relative change of a path's rate or round-trip time that makes it another path.
const MOVED: f64 = 0.25;

/// Absolute change of a path's loss share that makes it another path, if the share also changes by
/// [`MOVED`].
const LOSSES_MOVED: f64 = 0.003;

/// Returns the scheduler that decides until the paths are known.
pub fn first() -> Builtin {
    #[expect(clippy::expect_used, reason = "a name of the registry and no parameters")]
    Builtin::new(FIRST, &[]).expect("a built-in scheduler")
}

/// Runs the simulator on questions.
pub trait Asker: fmt::Debug + Send {
    /// Starts to work on a question. Called only after the previous question was answered.
    fn ask(&mut self, question: Question);
    /// Returns the answer once it is available. The inner `None` means that there is no answer.
    fn answered(&mut self) -> Option<Option<Answer>>;
}

/// Answers in the caller's thread: for runs in virtual time, where the computation takes no time.
#[derive(Debug, Default)]
pub struct InLine(Option<Option<Answer>>);

impl Asker for InLine {
    fn ask(&mut self, question: Question) {
        self.0 = Some(answer(question, &mut || false));
    }

    fn answered(&mut self) -> Option<Option<Answer>> {
        self.0.take()
    }
}

/// Measures the paths, asks the simulator and changes the scheduler.
#[derive(Debug)]
pub struct Auto<A> {
    asker: A,
    settings: Settings,
    current: &'static str,
    measure: Option<Measure>,
    updated_at: Option<Time>,
    /// Smallest number of remaining bytes so far. The transport's own number can grow while a lost
    /// segment waits for its retransmission.
    least_left: Option<u64>,
    /// Time and paths of the last question.
    asked: Option<(Time, Vec<Measured>)>,
    is_waiting: bool,
    changes: Vec<SchedulerChange>,
}

impl<A: Asker> Auto<A> {
    /// Creates the pilot of a session with these settings, which begins with the scheduler of
    /// [`first`].
    pub fn new(settings: Settings, asker: A) -> Self {
        Self {
            asker,
            settings,
            current: FIRST,
            measure: None,
            updated_at: None,
            least_left: None,
            asked: None,
            is_waiting: false,
            changes: Vec::new(),
        }
    }

    fn measure<W: Scheduler>(&mut self, now: Time, session: &Session<W>) -> &Measure {
        let (settings, agreed) = (&self.settings, session.agreed());
        let measure = self.measure.get_or_insert_with(|| {
            let counted = settings.counted(agreed.segment);
            Measure::new(agreed.paths, counted, wire_of(agreed.segment))
        });
        for path in session.paths() {
            measure.update(now, &path, &session.totals(path.id));
        }
        measure
    }

    /// Returns the question to ask now, if there is one.
    fn question<W: Scheduler>(
        &self,
        now: Time,
        session: &Session<W>,
        paths: Vec<Measured>,
        left: Option<u64>,
    ) -> Option<Question> {
        if self.is_waiting || paths.len() < 2 {
            return None;
        }
        if let Some((asked_at, before)) = &self.asked {
            let same = before.len() == paths.len() && !before.iter().zip(&paths).any(is_another);
            if now.since(*asked_at) < PAUSE || same {
                return None;
            }
        }
        let bits = left.map(|bytes| bytes as f64 * 8.0);
        let rate: f64 = paths.iter().map(|path| path.rate_bps).sum();
        if bits.is_some_and(|bits| bits < rate * WORTHWHILE.as_secs_f64()) {
            return None;
        }
        let agreed = session.agreed();
        Some(Question {
            paths,
            left,
            window: agreed.window,
            segment: agreed.segment,
            congestion: self.settings.congestion,
            current: self.current,
        })
    }

    /// Handles an answer. Returns the new scheduler, if the answer is a gain.
    fn conclude(&mut self, now: Time, answer: Answer) -> Option<Builtin> {
        self.is_waiting = false;
        if !answer.is_gain() || answer.question.current != self.current {
            return None;
        }
        let scheduler = Builtin::new(answer.best, &[]).ok()?;
        self.changes.push(SchedulerChange {
            at: now,
            from: self.current.to_owned(),
            to: answer.best.to_owned(),
            gain: answer.gain,
            paths: answer.question.paths,
        });
        self.current = answer.best;
        Some(scheduler)
    }
}

impl<A: Asker> Pilot<Builtin> for Auto<A> {
    fn choose_scheduler(&mut self, now: Time, session: &Session, left: Option<u64>) -> Option<Builtin> {
        if self.updated_at.is_some_and(|at| now.since(at) < STEP) {
            return None;
        }
        self.updated_at = Some(now);
        let left = left.map(|left| left.min(self.least_left.unwrap_or(left)));
        self.least_left = left;
        let known = self.measure(now, session).known();
        if let Some(question) = known.and_then(|paths| self.question(now, session, paths, left)) {
            self.asked = Some((now, question.paths.clone()));
            self.is_waiting = true;
            self.asker.ask(question);
        }
        match self.asker.answered()? {
            Some(answer) => self.conclude(now, answer),
            None => {
                self.is_waiting = false;
                None
            }
        }
    }

    fn changes(&self) -> &[SchedulerChange] {
        &self.changes
    }
}

/// True if the path has changed since the last question.
fn is_another((before, after): (&Measured, &Measured)) -> bool {
    let moved = |before: f64, after: f64| (after - before).abs() > MOVED * before.max(after);
    let lost = (after.loss - before.loss).abs();
    before.path != after.path
        || moved(before.rate_bps, after.rate_bps)
        || moved(before.round_trip.as_secs_f64(), after.round_trip.as_secs_f64())
        || lost > LOSSES_MOVED && moved(before.loss, after.loss)
}
