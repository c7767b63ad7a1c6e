//! The end that opens the paths of a session, and carries a payload over them: a file
//! ([`Sender`](crate::Sender)) or streams ([`Near`](crate::streams::Near)).

use crate::address_change::{AddressChange, note_terms};
use crate::connection::{DatagramBatch, ReceivedBatch};
use crate::connector::{Connector, PathUpdate, Progress, SessionConfig};
use crate::error::Error;
use crate::opening_end::OpeningEnd;
use crate::payload::Payload;
use crate::pilot::{Pilot, SchedulerChange};
use crate::recording::{ENDLESS, Recording};
use crate::session::{Agreed, Delivery, PathCounts, Session};
use crate::settings::Settings;
use crate::terms::Terms;
use bytes::Bytes;
use plait_sched::{Builtin, PathId, Scheduler, Time};
use plait_transport::Counters;
use plait_transport::endpoint::Side;
use std::io;
use std::time::{Duration, Instant};

/// Time to wait for the peer's last answer once all paths have used up their budgets.
const FINAL_ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Opening end of a session with the payload `P` and the scheduler `W`.
#[derive(Debug)]
pub struct SessionOpener<P, W = Builtin> {
    settings: Settings,
    terms: Vec<Terms>,
    connector: Connector,
    /// Scheduler, until the transport takes it.
    scheduler: Option<W>,
    pilot: Option<Box<dyn Pilot<W>>>,
    /// Recording, until the transport takes it.
    recording: Option<Recording>,
    session: Option<Session<W>>,
    pub(crate) payload: P,
    epoch: Instant,
    /// Time at which the peer was last heard.
    heard_at: Instant,
    /// Time at which acknowledged data last grew. Spent paths still answer probes, so `heard_at`
    /// does not show progress.
    progressed_at: Instant,
    outcome: Option<Result<(), Error>>,
    packets: Vec<(PathId, Bytes)>,
}

impl<P: Payload, W: Scheduler> SessionOpener<P, W> {
    /// Creates an end that opens its paths from now on.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub(crate) fn open(
        now: Instant,
        settings: Settings,
        mut config: SessionConfig,
        scheduler: W,
        payload: P,
    ) -> Result<Self, Error> {
        let connector = Connector::new(now, settings, &config)?;
        config.terms.resize(connector.len(), Terms::default());
        Ok(Self {
            settings,
            terms: config.terms,
            connector,
            scheduler: Some(scheduler),
            pilot: None,
            recording: None,
            session: None,
            payload,
            epoch: now,
            heard_at: now,
            progressed_at: now,
            outcome: None,
            packets: Vec::new(),
        })
    }

    /// Sets the pilot, which may change the scheduler.
    pub fn set_pilot(&mut self, pilot: Box<dyn Pilot<W>>) {
        self.pilot = Some(pilot);
    }

    /// Records the data that this end sends, and its fate. Call it before anything else.
    pub fn record(&mut self, recording: Recording) {
        self.recording = Some(recording);
    }

    /// True if the connection is open.
    pub fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// Returns the counters of the paths.
    pub fn counts(&self) -> Vec<PathCounts> {
        let is_open = |path| self.connector.answering().any(|answering| answering == path);
        self.session.as_ref().map(|session| session.counts(is_open)).unwrap_or_default()
    }

    /// Returns the time of the last datagram of the peer with this session.
    pub fn heard_at(&self) -> Option<Instant> {
        self.connector.heard_at()
    }

    /// True if the peer refuses all paths, or is not the expected one.
    pub fn is_refused(&self) -> bool {
        self.connector.all_refused_reason().is_some()
    }

    pub(crate) fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    fn end(&mut self, outcome: Result<(), Error>) {
        self.outcome.get_or_insert(outcome);
    }

    /// Works on one path: its timers, its handshake, its packets.
    fn work(&mut self, now: Instant, path: usize) {
        let (time, update) = (self.time(now), self.connector.work(now, path));
        match (update, &mut self.session) {
            (PathUpdate::Joined, session) => {
                self.heard_at = now;
                if let Some(session) = session {
                    session.join(time, path, &self.terms);
                    self.report_terms(path);
                }
                self.begin(now);
            }
            (PathUpdate::BlackHole, Some(session)) => session.remove_path(time, path),
            (PathUpdate::Unchanged | PathUpdate::BlackHole, _) => {}
        }
        self.receive(now, path);
        if let Some(reason) = self.connector.unavailable() {
            self.end(Err(Error::Unavailable(reason.to_owned())));
        }
        if let Some(trouble) = self.connector.all_refused_reason() {
            self.end(Err(match self.session {
                Some(_) => Error::Ended(trouble),
                None => Error::Refused(trouble),
            }));
        }
    }

    /// Begins the transport once the first path works, and the others work, too, or take long.
    fn begin(&mut self, now: Instant) {
        let Some((path, reply)) = self.connector.ready(now).filter(|_| self.session.is_none()) else {
            return;
        };
        let hello = self.connector.hello();
        if hello.offer.is_question() {
            self.end(Ok(()));
            return;
        }
        let (delivery, sends) = match P::ENDLESS {
            true => (Delivery::Unordered, ENDLESS),
            false => (Delivery::Ordered, hello.offer.size),
        };
        let agreed = Agreed {
            paths: self.connector.len(),
            initial: path,
            segment: hello.segment,
            window: reply.window,
            delivery,
        };
        let Some(scheduler) = self.scheduler.take() else { return };
        let time = self.time(now);
        match Session::with_terms(Side::Client, &self.settings, agreed, &self.terms, scheduler) {
            Ok(mut session) => {
                if let Some(recording) = self.recording.take() {
                    session.record(time, recording, self.settings.mtu, sends);
                }
                self.connector.joined().for_each(|path| session.join(time, path, &self.terms));
                self.session = Some(session);
                (0..self.terms.len()).for_each(|path| self.report_terms(path));
            }
            Err(error) => self.end(Err(error)),
        }
    }

    /// Handles the packets that arrived on a path.
    fn receive(&mut self, now: Instant, path: usize) {
        let time = self.time(now);
        let Some(session) = &mut self.session else { return };
        let before = session.acknowledged();
        while let Some(packet) = self.connector.receive(path) {
            session.handle(time, PathId(path as u8), &packet);
            self.heard_at = now;
        }
        if session.acknowledged() > before {
            self.progressed_at = now;
        }
        if let Some(outcome) = self.payload.receive(session) {
            self.end(outcome);
        }
    }

    /// Returns the time at which the silence of the peer ends the session. Streams may have no data
    /// for a long time, so packets that keep their paths open count as well.
    fn gives_up_at(&self) -> Instant {
        let kept_open_at = self.connector.heard_at().filter(|_| P::ENDLESS);
        kept_open_at.map_or(self.heard_at, |at| at.max(self.heard_at)) + self.settings.patience
    }

    fn report_terms(&mut self, path: usize) {
        let terms = self.terms[path].for_peer(self.has_spent(path));
        self.payload.report_terms(path, terms);
    }

    /// True if a path has used up its budget.
    fn has_spent(&self, path: usize) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_spent(path))
    }

    /// True if every path is spent or refused, and at least one is spent.
    fn may_send_nothing(&self) -> bool {
        let mut paths = 0..self.connector.len();
        paths.clone().any(|path| self.has_spent(path))
            && paths.all(|path| self.has_spent(path) || self.connector.is_refused(path))
    }

    /// True if the budgets are spent, and data that the peer lacks can arrive no more.
    fn is_spent(&self, now: Instant) -> bool {
        let Some(session) = self.session.as_ref().filter(|_| self.may_send_nothing()) else { return false };
        let settled = || session.paths().iter().all(|path| path.in_flight == 0);
        let late = now >= self.progressed_at + FINAL_ANSWER_TIMEOUT;
        P::ENDLESS || !session.is_drained() && (late || settled())
    }

    /// Opens a path anew if its full datagrams get lost.
    fn handle_black_holes(&mut self, now: Instant) {
        let (time, epoch) = (self.time(now), self.epoch);
        let Self { session, connector, .. } = self;
        let Some(session) = session else { return };
        let has_received = |path, since: Time| {
            connector.has_received_since(path, epoch + Duration::from_nanos(since.as_nanos()))
        };
        if let Some(path) = session.take_black_hole(time, has_received) {
            connector.reprobe(now, path);
        }
    }

    /// Asks the pilot for another scheduler.
    fn steer(&mut self, time: Time) {
        let (Some(pilot), Some(session)) = (&mut self.pilot, &mut self.session) else { return };
        if let Some(scheduler) = pilot.choose_scheduler(time, session, self.payload.left())
            && let Err(error) = session.replace_scheduler(scheduler)
        {
            self.end(Err(error));
        }
    }
}

impl<P: Payload, W: Scheduler> OpeningEnd for SessionOpener<P, W> {
    fn handle_datagrams(&mut self, now: Instant, path: usize, batch: &ReceivedBatch<'_>) {
        if self.connector.handle_datagrams(now, path, batch) {
            // The work is done once for all of them.
            self.work(now, path);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for path in 0..self.connector.len() {
            self.work(now, path);
        }
        self.begin(now);
        let time = self.time(now);
        if let Some(Err(error)) = self.session.as_mut().map(|session| session.handle_timeout(time)) {
            self.end(Err(error));
        }
        if let Some(reason) = self.connector.too_small(now, self.is_open()) {
            self.end(Err(Error::TooSmall(reason)));
        }
        if now >= self.gives_up_at() {
            let trouble = self.connector.trouble().filter(|_| self.session.is_none());
            let silent = Error::Silent(self.settings.patience.as_secs());
            self.end(Err(trouble.map_or(silent, Error::Absent)));
        }
    }

    fn handle_failure(&mut self, path: usize, trouble: &str) {
        self.connector.handle_failure(path, trouble);
    }

    fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange) {
        let path = self.connector.handle_address_change(now, address_change);
        note_terms(&mut self.terms, path, address_change);
        let time = self.time(now);
        if let Some(session) = &mut self.session {
            session.handle_address_change(time, address_change);
        }
        self.work(now, path);
    }

    fn give_up(&mut self, reason: String) {
        self.end(Err(Error::Absent(reason)));
    }

    fn stop(&mut self) {
        self.end(Err(Error::Stopped));
    }

    fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        let time = self.time(now);
        self.handle_black_holes(now);
        for path in 0..self.terms.len() {
            if self.has_spent(path) {
                self.report_terms(path);
            }
        }
        self.steer(time);
        let Self { session, payload, packets, .. } = self;
        if let Some(session) = session
            && (P::ENDLESS || self.outcome.is_none())
            && let Err(error) = payload.transmit(now, time, session, packets)
        {
            self.end(Err(error));
        }
        if self.is_spent(now) {
            self.end(Err(Error::Spent));
        }
        self.connector.transmit(now, &mut self.packets, out);
        if self.outcome.is_some() {
            self.connector.close(now, "done", out);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let is_open = self.is_open();
        let session = self.session.as_ref().and_then(Session::next_wakeup);
        let session = session.map(|time| self.epoch + Duration::from_nanos(time.as_nanos()));
        let begin = self.connector.ready_at().filter(|_| !is_open);
        let too_small = self.connector.too_small_at(is_open);
        let waits = !P::ENDLESS && self.may_send_nothing();
        let final_answer = waits.then(|| self.progressed_at + FINAL_ANSWER_TIMEOUT);
        let payload = self.payload.next_wakeup().filter(|_| is_open);
        let gives_up = Some(self.gives_up_at());
        let wakeups =
            [self.connector.next_wakeup(), session, payload, begin, too_small, gives_up, final_answer];
        wakeups.into_iter().flatten().min()
    }

    fn outcome(&self) -> Option<&Result<(), Error>> {
        self.outcome.as_ref()
    }

    fn into_outcome(self) -> Option<Result<(), Error>> {
        self.outcome
    }

    fn progress(&self) -> Vec<Progress> {
        self.connector.progress(self.session.as_ref())
    }

    fn counters(&self) -> Counters {
        self.session.as_ref().map(Session::counters).unwrap_or_default()
    }

    fn end_recording(&mut self, now: Instant) -> io::Result<()> {
        let (time, whole) = (self.time(now), matches!(self.outcome, Some(Ok(()))));
        self.session.as_mut().map_or(Ok(()), |session| session.end_recording(time, whole))
    }

    fn changes(&self) -> &[SchedulerChange] {
        self.pilot.as_ref().map_or(&[], |pilot| pilot.changes())
    }

    fn oversized(&self) -> u64 {
        self.connector.oversized()
    }
}
