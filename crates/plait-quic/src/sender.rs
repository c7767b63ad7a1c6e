//! The end that has a file: it opens the paths and sends.
//!
//! After any input ([`Sender::handle_datagram`], [`Sender::handle_timeout`]) call
//! [`Sender::transmit`], and check [`Sender::outcome`] and [`Sender::next_wakeup`].

pub use crate::address_change::AddressChange;
use crate::address_change::note_terms;
use crate::connection::DatagramBatch;
use crate::connector::Connector;
use crate::connector::PathUpdate;
pub use crate::connector::{Progress, SessionConfig};
use crate::error::Error;
use crate::pilot::{Pilot, SchedulerChange};
use crate::recording::Recording;
use crate::session::{Agreed, Delivery, Session};
use crate::settings::Settings;
use crate::source::Application;
use crate::terms::Terms;
use bytes::{Bytes, BytesMut};
use plait_sched::{Builtin, PathId, Scheduler, Time};
use plait_transport::Counters;
use plait_transport::endpoint::Side;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Time to wait for the peer's last answer once all paths have used up their budgets.
const FINAL_ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The sending end of the application `S`, with the scheduler `W`.
#[derive(Debug)]
pub struct Sender<S, W = Builtin> {
    settings: Settings,
    config: SessionConfig,
    connector: Connector,
    /// Scheduler, until the transport takes it.
    scheduler: Option<W>,
    pilot: Option<Box<dyn Pilot<W>>>,
    session: Option<Session<W>>,
    /// Recording, until the transport takes it.
    recording: Option<Recording>,
    application: S,
    /// Bytes of the application's stream that the transport knows.
    written: u64,
    epoch: Instant,
    received_at: Instant,
    /// Time at which acknowledged data last grew. Spent paths still answer probes, so `received_at`
    /// does not show progress.
    progressed_at: Instant,
    outcome: Option<Result<(), Error>>,
    packets: Vec<(PathId, Bytes)>,
}

impl<S: Application, W: Scheduler> Sender<S, W> {
    /// Creates an end that has sent nothing yet.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub fn new(
        now: Instant,
        settings: Settings,
        config: SessionConfig,
        scheduler: W,
        application: S,
    ) -> Result<Self, Error> {
        let connector = Connector::new(now, settings, &config)?;
        let mut config = config;
        config.terms.resize(connector.len(), Terms::default());
        Ok(Self {
            connector,
            settings,
            config,
            scheduler: Some(scheduler),
            pilot: None,
            session: None,
            recording: None,
            application,
            written: 0,
            epoch: now,
            received_at: now,
            progressed_at: now,
            outcome: None,
            packets: Vec::new(),
        })
    }

    /// Records the transport's events, once the transport begins.
    pub fn record(&mut self, recording: Recording) {
        self.recording = Some(recording);
    }

    /// Ends the recording, if there is one. Returns any write error, even an earlier one.
    ///
    /// # Errors
    /// Write errors of the file.
    pub fn end_recording(&mut self, now: Instant) -> std::io::Result<()> {
        let (time, whole) = (self.time(now), matches!(self.outcome, Some(Ok(()))));
        self.session.as_mut().map_or(Ok(()), |session| session.end_recording(time, whole))
    }

    /// Sets the pilot, which may change the scheduler.
    pub fn set_pilot(&mut self, pilot: Box<dyn Pilot<W>>) {
        self.pilot = Some(pilot);
    }

    fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    /// Handles a UDP datagram that arrived at a path's local address.
    pub fn handle_datagram(&mut self, now: Instant, path: usize, remote: SocketAddr, datagram: BytesMut) {
        if self.connector.handle_datagram(now, path, remote, datagram) {
            self.work(now, path);
        }
    }

    /// Handles UDP datagrams that arrived together, of `each` bytes except the last. The work that
    /// follows is done once for all of them.
    pub fn handle_datagrams(
        &mut self,
        now: Instant,
        path: usize,
        remote: SocketAddr,
        datagrams: &[u8],
        each: usize,
    ) {
        if self.connector.handle_datagrams(now, path, remote, datagrams, each) {
            self.work(now, path);
        }
    }

    /// Notes that the network takes nothing more from a path's local address. The path is opened
    /// anew as soon as that works.
    pub fn handle_failure(&mut self, path: usize, trouble: &str) {
        self.connector.handle_failure(path, trouble);
    }

    /// Ends the transfer: the network reports that the peer cannot be reached.
    pub fn give_up(&mut self, reason: String) {
        self.end(Err(Error::Absent(reason)));
    }

    /// Handles a change of local addresses: see [`AddressChange`]. There are at most
    /// [`MAX_PATHS`](crate::settings::MAX_PATHS) paths.
    pub fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange) {
        let path = self.connector.handle_address_change(now, address_change);
        note_terms(&mut self.config.terms, path, address_change);
        let time = self.time(now);
        if let Some(session) = &mut self.session {
            session.handle_address_change(time, address_change);
        }
        self.work(now, path);
    }

    /// Handles timers. Call it when [`Sender::next_wakeup`] has come; it is harmless at any other
    /// time.
    pub fn handle_timeout(&mut self, now: Instant) {
        for path in 0..self.connector.len() {
            self.work(now, path);
        }
        self.begin(now);
        let time = self.time(now);
        let timeout = self.session.as_mut().map_or(Ok(()), |session| session.handle_timeout(time));
        if let Err(error) = timeout {
            self.end(Err(error));
        }
        if let Some(reason) = self.connector.too_small(now, self.session.is_some()) {
            self.end(Err(Error::TooSmall(reason)));
        }
        if now.saturating_duration_since(self.received_at) >= self.settings.patience {
            let trouble = self.connector.trouble();
            self.end(Err(match trouble.filter(|_| self.session.is_none()) {
                Some(trouble) => Error::Absent(trouble),
                None => Error::Silent(self.settings.patience.as_secs()),
            }));
        }
    }

    /// Works on one path: its timers, its handshake, its packets.
    fn work(&mut self, now: Instant, path: usize) {
        let (time, update) = (self.time(now), self.connector.work(now, path));
        match (update, &mut self.session) {
            (PathUpdate::Joined, session) => {
                self.received_at = now;
                if let Some(session) = session {
                    session.join(time, path, &self.config.terms);
                }
                self.begin(now);
            }
            (PathUpdate::BlackHole, Some(session)) => session.remove_path(time, path),
            (PathUpdate::Unchanged | PathUpdate::BlackHole, _) => {}
        }
        self.take(now, path);
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
        if self.config.offer.is_question() {
            self.end(Ok(()));
            return;
        }
        let agreed = Agreed {
            paths: self.connector.len(),
            initial: path,
            segment: self.settings.segment(),
            window: reply.window,
            delivery: Delivery::Ordered,
        };
        let Some(scheduler) = self.scheduler.take() else { return };
        let time = self.time(now);
        match Session::with_terms(Side::Client, &self.settings, agreed, &self.config.terms, scheduler) {
            Ok(mut session) => {
                if let Some(recording) = self.recording.take() {
                    session.record(time, recording, self.settings.mtu, self.config.offer.size);
                }
                self.connector.joined().for_each(|path| session.join(time, path, &self.config.terms));
                self.session = Some(session);
            }
            Err(error) => self.end(Err(error)),
        }
    }

    /// Handles the packets that arrived on a path.
    fn take(&mut self, now: Instant, path: usize) {
        let time = self.time(now);
        let Some(session) = &mut self.session else { return };
        let before = session.acknowledged();
        while let Some(packet) = self.connector.receive(path) {
            session.handle(time, PathId(path as u8), &packet);
            self.received_at = now;
        }
        if session.acknowledged() > before {
            self.progressed_at = now;
        }
        let mut received = Ok(());
        while let Some(piece) = session.read().filter(|_| received.is_ok()) {
            received = self.application.receive(&piece);
        }
        if let Some(outcome) = received.err().map(Err).or_else(|| self.application.outcome()) {
            self.end(outcome);
        }
    }

    /// True if the budgets are spent, nothing is in flight, and the receiver lacks data.
    fn is_spent(&self, now: Instant) -> bool {
        let Some(session) = self.session.as_ref().filter(|_| self.may_send_nothing()) else { return false };
        let settled = session.paths().iter().all(|path| path.in_flight == 0);
        !session.is_drained() && (settled || now >= self.progressed_at + FINAL_ANSWER_TIMEOUT)
    }

    /// True if every path is spent or refused, and at least one is spent.
    fn may_send_nothing(&self) -> bool {
        let spent = |path: usize| self.session.as_ref().is_some_and(|session| session.is_spent(path));
        let mut paths = 0..self.connector.len();
        paths.clone().any(spent) && paths.all(|path| spent(path) || self.connector.is_refused(path))
    }

    fn end(&mut self, outcome: Result<(), Error>) {
        self.outcome.get_or_insert(outcome);
    }

    /// Stops the transfer early: [`Error::Stopped`]. The datagrams of [`Sender::transmit`] tell the
    /// receiver.
    pub fn stop(&mut self) {
        self.end(Err(Error::Stopped));
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

    /// Appends all datagrams that leave now. Once there is an [`Sender::outcome`], it closes the
    /// paths: send these datagrams, and stop.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        let time = self.time(now);
        self.handle_black_holes(now);
        self.steer(time);
        while self.outcome.is_none()
            && let Some(session) = &mut self.session
        {
            // The application writes full segments.
            let unit = session.agreed().segment.into();
            let written = self.application.advance(now, session.acknowledged(), unit);
            let more = written - std::mem::replace(&mut self.written, written);
            session.extend(more);
            if let Err(error) = session.transmit(time, &mut self.application, &mut self.packets) {
                self.end(Err(error));
            }
            // The application may now have room for more.
            if more == 0 {
                break;
            }
        }
        if self.is_spent(now) {
            self.end(Err(Error::Spent));
        }
        self.connector.transmit(now, &mut self.packets, out);
        if self.outcome.is_some() {
            self.connector.close(now, "done", out);
        }
    }

    /// Asks the pilot for another scheduler.
    fn steer(&mut self, time: Time) {
        let size = self.application.size();
        let left = (size > 0).then(|| size.saturating_sub(self.application.carried()));
        let (Some(pilot), Some(session)) = (&mut self.pilot, &mut self.session) else { return };
        let Some(scheduler) = pilot.choose_scheduler(time, session, left) else { return };
        if let Err(error) = session.replace_scheduler(scheduler) {
            self.end(Err(error));
        }
    }

    /// Returns the changes of the scheduler.
    pub fn changes(&self) -> &[SchedulerChange] {
        self.pilot.as_ref().map_or(&[], |pilot| pilot.changes())
    }

    /// Returns the time at which [`Sender::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let session = self.session.as_ref().and_then(Session::next_wakeup);
        let session = session.map(|time| self.epoch + Duration::from_nanos(time.as_nanos()));
        let begin = self.connector.ready_at().filter(|_| self.session.is_none());
        let patience = Some(self.received_at + self.settings.patience);
        let too_small = self.connector.too_small_at(self.session.is_some());
        let final_answer = self.may_send_nothing().then_some(self.progressed_at + FINAL_ANSWER_TIMEOUT);
        let application = self.application.next_wakeup().filter(|_| self.session.is_some());
        let wakeups =
            [self.connector.next_wakeup(), session, application, begin, too_small, patience, final_answer];
        wakeups.into_iter().flatten().min()
    }

    /// Returns the outcome, once there is one: `Ok` if the receiver has the file, by its SHA-256.
    pub fn outcome(&self) -> Option<&Result<(), Error>> {
        self.outcome.as_ref()
    }

    /// Returns the outcome, and consumes the sender.
    pub fn into_outcome(self) -> Option<Result<(), Error>> {
        self.outcome
    }

    /// Returns the application.
    pub fn application(&self) -> &S {
        &self.application
    }

    /// Returns the transport's counters.
    pub fn counters(&self) -> Counters {
        self.session.as_ref().map(Session::counters).unwrap_or_default()
    }

    /// Returns the transport session, once a path is open.
    pub fn session(&self) -> Option<&Session<W>> {
        self.session.as_ref()
    }

    /// Number of packets that did not fit into noq's datagrams. It must be 0.
    pub fn oversized(&self) -> u64 {
        self.connector.oversized()
    }

    /// Returns the state of the paths.
    pub fn progress(&self) -> Vec<Progress> {
        self.connector.progress(self.session.as_ref())
    }
}
