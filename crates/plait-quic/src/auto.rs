//! `--scheduler auto`: a connection measures its paths while it runs, asks the simulator what each of a few schedulers would make of them, and changes to one that is better
//! beyond noise.
//!
//! ```text
//! Session ──► Measure ──► Question ──► Asker: the simulator, on a thread of its own or in line ──► Answer ──► another scheduler, and why
//! ```
//!
//! - A question is asked when all paths in use are known ([`Measure::known`]), again when one of them is another by then, never more often than every
//!   [`PAUSE`], and only if what is left takes longer than [`WORTHWHILE`].
//! - The [answer](Answer::is_gain) has to be beyond noise: the candidate is chosen by some variations of the paths and judged by others, with pairs of runs.
//! - What decides at first is [`FIRST`].
//!
//! No clock and no thread here: [`Asker`] is who has them.

mod question;

pub use question::{Answer, CANDIDATES, Question, answer};

use crate::measured::{Measure, Measured};
use crate::pilot::{Change, Pilot};
use crate::session::Session;
use crate::settings::{Settings, wire_of};
use plait_sched::{Builtin, Duration, Scheduler, Time};
use std::fmt;

/// Who decides until the paths are known.
pub const FIRST: &str = "lowest-rtt";

/// From one question to the next.
pub const PAUSE: Duration = Duration::from_secs(5);

/// What is left has to take so long, else there is nothing to gain.
pub const WORTHWHILE: Duration = Duration::from_millis(500);

/// Between two looks at the paths.
const STEP: Duration = Duration::from_millis(2);

/// A path is another one if its rate, its round trip or its queue is by so much.
const MOVED: f64 = 0.25;

/// Its losses, by so much, in absolute terms and compared with what they were.
const LOSSES_MOVED: f64 = 0.003;

/// The scheduler that decides until the paths are known.
pub fn first() -> Builtin {
    #[expect(clippy::expect_used, reason = "a name of the registry and no parameters")]
    Builtin::new(FIRST, &[]).expect("a built-in scheduler")
}

/// Who asks the simulator.
pub trait Asker: fmt::Debug + Send {
    /// Is to find the answer; asked only after the last one was given.
    fn ask(&mut self, question: Question);
    /// The answer, once it is there; an inner `None` if there is none.
    fn answered(&mut self) -> Option<Option<Answer>>;
}

/// Asks where it stands: for runs in virtual time, where that takes none.
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

/// Measures, asks and changes.
#[derive(Debug)]
pub struct Auto<A> {
    asker: A,
    settings: Settings,
    current: &'static str,
    measure: Option<Measure>,
    looked_at: Option<Time>,
    /// What is left; while something that was lost waits to be sent again, the transport knows less than it did.
    least_left: Option<u64>,
    /// When it was asked last, and of which paths.
    asked: Option<(Time, Vec<Measured>)>,
    waits: bool,
    changes: Vec<Change>,
}

impl<A: Asker> Auto<A> {
    /// Of a session with these settings, where [`first`] decides.
    pub fn new(settings: Settings, asker: A) -> Self {
        Self {
            asker,
            settings,
            current: FIRST,
            measure: None,
            looked_at: None,
            least_left: None,
            asked: None,
            waits: false,
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
            measure.look(now, &path, &session.totals(path.id));
        }
        measure
    }

    /// What there is to ask.
    fn question<W: Scheduler>(
        &self,
        now: Time,
        session: &Session<W>,
        paths: Vec<Measured>,
        left: Option<u64>,
    ) -> Option<Question> {
        if self.waits || paths.len() < 2 {
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

    /// The answer has come: who is to decide, if that is another one.
    fn conclude(&mut self, now: Time, answer: Answer) -> Option<Builtin> {
        self.waits = false;
        if !answer.is_gain() || answer.question.current != self.current {
            return None;
        }
        let scheduler = Builtin::new(answer.best, &[]).ok()?;
        self.changes.push(Change {
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
    fn look(&mut self, now: Time, session: &Session, left: Option<u64>) -> Option<Builtin> {
        if self.looked_at.is_some_and(|at| now.since(at) < STEP) {
            return None;
        }
        self.looked_at = Some(now);
        let left = left.map(|left| left.min(self.least_left.unwrap_or(left)));
        self.least_left = left;
        let known = self.measure(now, session).known();
        if let Some(question) = known.and_then(|paths| self.question(now, session, paths, left)) {
            self.asked = Some((now, question.paths.clone()));
            self.waits = true;
            self.asker.ask(question);
        }
        match self.asker.answered()? {
            Some(answer) => self.conclude(now, answer),
            None => {
                self.waits = false;
                None
            }
        }
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }
}

/// The path is not what it was.
fn is_another((before, after): (&Measured, &Measured)) -> bool {
    let moved = |before: f64, after: f64| (after - before).abs() > MOVED * before.max(after);
    let lost = (after.loss - before.loss).abs();
    before.path != after.path
        || moved(before.rate_bps, after.rate_bps)
        || moved(before.round_trip.as_secs_f64(), after.round_trip.as_secs_f64())
        || lost > LOSSES_MOVED && moved(before.loss, after.loss)
}
