//! The end that opens paths, with streams on them.
//!
//! After any input ([`Near::handle_datagram`], [`Near::handle_timeout`], use of [`Near::streams`])
//! call [`Near::transmit`], and check [`Near::outcome`] and [`Near::next_wakeup`].

use super::Streams;
use crate::address_change::{AddressChange, note_terms};
use crate::connection::DatagramBatch;
use crate::connector::{Connector, PathUpdate, Progress, SessionConfig};
use crate::error::Error;
use crate::hello::Offer;
use crate::pilot::{Pilot, SchedulerChange};
use crate::recording::{ENDLESS, Recording};
use crate::session::{Agreed, Delivery, PathCounts, Session};
use crate::settings::Settings;
use crate::terms::{PathTerms, Terms};
use bytes::{Bytes, BytesMut};
use plait_sched::{Builtin, PathId, Scheduler, Time};
use plait_transport::Counters;
use plait_transport::endpoint::Side;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// One connection over all paths, with the scheduler `W`.
#[derive(Debug)]
pub struct Near<W = Builtin> {
    settings: Settings,
    terms: Vec<Terms>,
    connector: Connector,
    /// Scheduler, until the transport takes it.
    scheduler: Option<W>,
    pilot: Option<Box<dyn Pilot<W>>>,
    /// Recording, until the transport takes it.
    recording: Option<Recording>,
    session: Option<Session<W>>,
    streams: Streams,
    /// Terms of paths that the other end was told.
    reported_terms: BTreeMap<usize, PathTerms>,
    epoch: Instant,
    /// Time at which a path last worked.
    open_at: Instant,
    outcome: Option<Error>,
    packets: Vec<(PathId, Bytes)>,
}

impl<W: Scheduler> Near<W> {
    /// Creates an end that opens its paths from now on. It always offers [streams](Offer::STREAMS),
    /// even if `config` has another offer.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub fn new(now: Instant, settings: Settings, config: SessionConfig, scheduler: W) -> Result<Self, Error> {
        let mut config = SessionConfig { offer: Offer::STREAMS, ..config };
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
            streams: Streams::new(true, settings.shared_segment()),
            reported_terms: BTreeMap::new(),
            epoch: now,
            open_at: now,
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

    /// Ends the recording, if there is one. Returns any write error, even an earlier one.
    ///
    /// # Errors
    /// Write errors of the file.
    pub fn end_recording(&mut self, now: Instant) -> std::io::Result<()> {
        let time = self.time(now);
        self.session.as_mut().map_or(Ok(()), |session| session.end_recording(time, false))
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

    /// Ends the connection: the network reports that the peer cannot be reached.
    pub fn give_up(&mut self, reason: String) {
        self.end(Error::Refused(reason));
    }

    /// Handles a change of local addresses: see [`AddressChange`]. There are at most
    /// [`MAX_PATHS`](crate::settings::MAX_PATHS) paths.
    pub fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange) {
        let path = self.connector.handle_address_change(now, address_change);
        note_terms(&mut self.terms, path, address_change);
        let time = self.time(now);
        if let Some(session) = &mut self.session {
            session.handle_address_change(time, address_change);
        }
        self.work(now, path);
    }

    /// Handles timers. Call it when [`Near::next_wakeup`] has come; it is harmless at any other
    /// time.
    pub fn handle_timeout(&mut self, now: Instant) {
        for path in 0..self.connector.len() {
            self.work(now, path);
        }
        self.begin(now);
        let time = self.time(now);
        if let Some(Err(error)) = self.session.as_mut().map(|session| session.handle_timeout(time)) {
            self.end(error);
        }
        if let Some(reason) = self.connector.too_small(now, self.session.is_some()) {
            self.end(Error::TooSmall(reason));
        }
        if self.connector.any_joined() {
            self.open_at = now;
        } else if now.saturating_duration_since(self.open_at) >= self.settings.patience {
            let trouble = self.connector.trouble().filter(|_| self.session.is_none());
            let silent = Error::Silent(self.settings.patience.as_secs());
            self.end(trouble.map_or(silent, Error::Refused));
        }
    }

    /// Works on one path: its timers, its handshake, its packets.
    fn work(&mut self, now: Instant, path: usize) {
        let update = self.connector.work(now, path);
        let time = self.time(now);
        match (update, &mut self.session) {
            (PathUpdate::Joined, session) => {
                if let Some(session) = session {
                    session.join(time, path, &self.terms);
                    self.report_terms(path);
                }
                self.begin(now);
            }
            (PathUpdate::BlackHole, Some(session)) => session.remove_path(time, path),
            (PathUpdate::Unchanged | PathUpdate::BlackHole, _) => {}
        }
        if let Some(session) = &mut self.session {
            while let Some(packet) = self.connector.receive(path) {
                session.handle(time, PathId(path as u8), &packet);
            }
            if let Err(error) = self.streams.take(session) {
                self.end(error);
            }
        }
        if let Some(reason) = self.connector.unavailable() {
            self.end(Error::Unavailable(reason.to_owned()));
        }
        if let Some(trouble) = self.connector.all_refused_reason() {
            self.end(match self.session {
                Some(_) => Error::Ended(trouble),
                None => Error::Refused(trouble),
            });
        }
    }

    /// Begins the transport once the first path works, and the others work, too, or take long.
    fn begin(&mut self, now: Instant) {
        let Some((path, reply)) = self.connector.ready(now).filter(|_| self.session.is_none()) else {
            return;
        };
        let agreed = Agreed {
            paths: self.connector.len(),
            initial: path,
            segment: self.settings.shared_segment(),
            window: reply.window,
            delivery: Delivery::Unordered,
        };
        let Some(scheduler) = self.scheduler.take() else { return };
        let time = self.time(now);
        match Session::with_terms(Side::Client, &self.settings, agreed, &self.terms, scheduler) {
            Ok(mut session) => {
                if let Some(recording) = self.recording.take() {
                    session.record(time, recording, self.settings.mtu, ENDLESS);
                }
                self.connector.joined().for_each(|path| session.join(time, path, &self.terms));
                self.session = Some(session);
                (0..self.terms.len()).for_each(|path| self.report_terms(path));
            }
            Err(error) => self.end(error),
        }
    }

    /// Tells the other end the terms of a path, if they are new to it.
    fn report_terms(&mut self, path: usize) {
        let terms = self.terms[path].for_peer(self.is_spent(path));
        if self.reported_terms.insert(path, terms).unwrap_or_default() != terms {
            self.streams.queue_terms(path, terms);
        }
    }

    fn is_spent(&self, path: usize) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_spent(path))
    }

    /// Tells the other end which paths have used up their budgets, so that neither end uses them.
    fn report_spent(&mut self) {
        for path in 0..self.terms.len() {
            if self.is_spent(path) {
                self.report_terms(path);
            }
        }
    }

    fn end(&mut self, outcome: Error) {
        self.outcome.get_or_insert(outcome);
    }

    /// Ends the connection: [`Error::Stopped`]. The datagrams of [`Near::transmit`] tell the peer.
    pub fn stop(&mut self) {
        self.end(Error::Stopped);
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

    /// Appends all datagrams that leave now. Once there is an [`Near::outcome`], it closes the
    /// paths: send these datagrams, and stop.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        let time = self.time(now);
        self.handle_black_holes(now);
        self.report_spent();
        if let Some(session) = &mut self.session {
            if let Some(pilot) = &mut self.pilot
                && let Some(scheduler) = pilot.choose_scheduler(time, session, None)
                && let Err(error) = session.replace_scheduler(scheduler)
            {
                self.outcome.get_or_insert(error);
            }
            if let Err(error) = self.streams.transmit(time, session, &mut self.packets) {
                self.outcome.get_or_insert(error);
            }
            if (0..self.connector.len()).all(|path| session.is_spent(path)) {
                self.outcome.get_or_insert(Error::Spent);
            }
        }
        self.connector.transmit(now, &mut self.packets, out);
        if let Some(error) = &self.outcome {
            let reason = if matches!(error, Error::Stopped) { "done".to_owned() } else { error.to_string() };
            self.connector.close(now, &reason, out);
        }
    }

    /// Returns the time at which [`Near::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let session = self.session.as_ref().and_then(Session::next_wakeup);
        let session = session.map(|time| self.epoch + Duration::from_nanos(time.as_nanos()));
        let begin = self.connector.ready_at().filter(|_| self.session.is_none());
        let patience = (!self.connector.any_joined()).then(|| self.open_at + self.settings.patience);
        let too_small = self.connector.too_small_at(self.session.is_some());
        [self.connector.next_wakeup(), session, begin, too_small, patience].into_iter().flatten().min()
    }

    /// Returns the streams, even before a path is open.
    pub fn streams(&mut self) -> &mut Streams {
        &mut self.streams
    }

    /// Queues a datagram on a flow.
    pub fn send_datagram(&mut self, now: Instant, flow: u32, bytes: &[u8]) {
        let time = self.time(now);
        self.streams.send_datagram(time, flow, bytes);
    }

    /// True if the connection is open.
    pub fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// True if the peer refuses all paths, or is not the expected one.
    pub fn is_refused(&self) -> bool {
        self.connector.all_refused_reason().is_some()
    }

    /// Returns the error that ended the connection, if it has ended.
    pub fn outcome(&self) -> Option<&Error> {
        self.outcome.as_ref()
    }

    /// Returns this error, and consumes the end.
    pub fn into_outcome(self) -> Option<Error> {
        self.outcome
    }

    /// Returns the changes of the scheduler.
    pub fn changes(&self) -> &[SchedulerChange] {
        self.pilot.as_ref().map_or(&[], |pilot| pilot.changes())
    }

    /// Returns the transport's counters.
    pub fn counters(&self) -> Counters {
        self.session.as_ref().map(Session::counters).unwrap_or_default()
    }

    /// Number of packets that did not fit into noq's datagrams. It must be 0.
    pub fn oversized(&self) -> u64 {
        self.connector.oversized()
    }

    /// Returns the counters of the paths.
    pub fn counts(&self) -> Vec<PathCounts> {
        let is_open = |path| self.connector.joined().any(|joined| joined == path);
        self.session.as_ref().map(|session| session.counts(is_open)).unwrap_or_default()
    }

    /// Returns the state of the paths.
    pub fn progress(&self) -> Vec<Progress> {
        self.connector.progress(self.session.as_ref())
    }
}
