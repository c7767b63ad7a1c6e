//! One multipath connection to any peer.

use super::check;
use super::handshake;
use super::noq_connection::NoqConnection;
use super::slot::PathSlot;
use crate::connection::{DatagramBatch, ReceivedBatch};
use crate::connector::Progress;
use crate::error::Error;
use crate::settings::{MAX_PATHS, Settings};
use crate::terms::Terms;
use bytes::Bytes;
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{ClientConfig, ConnectionError, Dir, StreamEvent, StreamId, VarInt, WriteError};
use plait_sched::{Builtin, Connection as Facts, Event as SchedulerEvent, Interest, Path, Scheduler, Time};
use plait_transport::Counters;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The peer of a connection, and the local paths to it.
pub struct Peer {
    /// Address of the peer, for each path that has none of its own
    /// ([`AddressChange::Redirected`](crate::sender::AddressChange::Redirected)).
    pub remote: SocketAddr,
    /// Name of the peer in TLS.
    pub name: String,
    /// TLS configuration: accepted certificates, and application protocols.
    pub tls: Arc<QuicClientConfig>,
    /// Local address of each path. No two are the same, because noq distinguishes paths by them.
    pub locals: Vec<IpAddr>,
    /// Terms of each path; budgets are not supported.
    pub terms: Vec<Terms>,
}

/// An event of a connection.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// The handshake is done: streams may be opened, as many as the peer allows.
    Connected,
    /// A path carries data from now on; its index among the local addresses.
    Opened(usize),
    /// A path carries no data any more, until it is opened anew.
    Closed(usize),
    /// The peer has opened streams: see [`Connection::accept`].
    Incoming(Dir),
    /// A stream has data to read.
    Readable(StreamId),
    /// A stream has room to write again.
    Writable(StreamId),
    /// All data of a stream has arrived.
    Finished(StreamId),
    /// The peer wants no more data of a stream.
    Stopped(StreamId, VarInt),
    /// The peer allows more streams.
    Available(Dir),
    /// The connection is lost.
    Lost(ConnectionError),
}

/// A connection over several paths, with the scheduler `W`.
///
/// After any input ([`Connection::handle_datagrams`], [`Connection::handle_timeout`], writing,
/// reading) take the events ([`Connection::poll`]) and the datagrams ([`Connection::transmit`]).
/// Call again at [`Connection::next_wakeup`].
pub struct Connection<W = Builtin> {
    pub(super) settings: Settings,
    pub(super) peer: Peer,
    pub(super) client: ClientConfig,
    /// Handshakes, one from each local address, until one is done.
    pub(super) attempts: Vec<NoqConnection>,
    pub(super) next_attempt: Option<(Instant, usize)>,
    pub(super) connection: Option<NoqConnection>,
    pub(super) locals: Vec<IpAddr>,
    pub(super) slots: Vec<PathSlot>,
    pub(super) terms: Vec<Terms>,
    pub(super) burst: NonZeroUsize,
    pub(super) scheduler: W,
    pub(super) interest: Interest,
    pub(super) waits_without_room: bool,
    pub(super) wait_until: Option<Time>,
    pub(super) facts: Vec<Path>,
    pub(super) connection_facts: Facts,
    pub(super) pending_events: Vec<SchedulerEvent>,
    /// Payload bytes of a full packet.
    pub(super) segment: u64,
    /// Estimated bytes that noq holds and has not sent, or has lost; and the lost ones among them.
    pub(super) backlog: u64,
    pub(super) lost: u64,
    /// Bytes that will be written later.
    pub(super) more: u64,
    /// The peer's window.
    pub(super) window: u64,
    pub(super) next_segment: u64,
    /// True if the peer must be told about paths now.
    pub(super) urgent: bool,
    pub(super) counters: Counters,
    pub(super) epoch: Instant,
    pub(super) events: VecDeque<ConnectionEvent>,
}

impl<W: Scheduler> Connection<W> {
    /// Creates a connection that is opened from now on.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds, or if the scheduler [cannot decide
    /// here](check).
    pub fn new(now: Instant, settings: Settings, peer: Peer, scheduler: W) -> Result<Self, Error> {
        settings.check()?;
        check(&scheduler)?;
        let count = peer.locals.len();
        if !(1..=MAX_PATHS).contains(&count) {
            return Err(Error::Setting(format!("{count} local addresses: choose 1 to {MAX_PATHS}")));
        }
        if let Some(twice) =
            peer.locals.iter().enumerate().find(|(at, local)| peer.locals[..*at].contains(local))
        {
            let text = format!(
                "local address {} given twice: paths of one connection need different ones (interop)",
                twice.1
            );
            return Err(Error::Setting(text));
        }
        if peer.terms.iter().any(|terms| terms.budget.is_some()) {
            let text = "a budget cannot be kept where QUIC sends again by itself (interop): leave it out, or leave interop out";
            return Err(Error::Setting(text.to_owned()));
        }
        let mut client = ClientConfig::new(peer.tls.clone());
        client.transport_config(Arc::new(handshake::transport(&settings)?));
        Ok(Self {
            attempts: Vec::new(),
            next_attempt: Some((now, 0)),
            connection: None,
            locals: peer.locals.clone(),
            slots: peer.locals.iter().map(|local| PathSlot::new(*local, peer.remote)).collect(),
            terms: peer.terms.clone(),
            burst: NonZeroUsize::new(settings.burst()).unwrap_or(NonZeroUsize::MIN),
            interest: scheduler.interest(),
            waits_without_room: scheduler.waits_without_room(),
            scheduler,
            wait_until: None,
            facts: Vec::new(),
            connection_facts: Facts::default(),
            pending_events: Vec::new(),
            segment: u64::from(settings.mtu) - super::OVERHEAD,
            backlog: 0,
            lost: 0,
            more: 0,
            window: 0,
            next_segment: 0,
            urgent: false,
            counters: Counters::default(),
            epoch: now,
            events: VecDeque::new(),
            settings,
            peer,
            client,
        })
    }

    pub(super) fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    /// Handles UDP datagrams that arrived at a path's local address.
    pub fn handle_datagrams(&mut self, now: Instant, path: usize, batch: &ReceivedBatch<'_>) {
        let Some(&local) = self.locals.get(path) else { return };
        let remote = batch.remote;
        for datagram in batch.datagrams() {
            if let Some(connection) = &mut self.connection {
                connection.handle_datagram(now, local, remote, datagram);
            } else if let Some(attempt) = self.attempts.iter_mut().find(|attempt| attempt.first == path) {
                attempt.handle_datagram(now, local, remote, datagram);
            }
        }
        self.work(now);
    }

    /// Handles timers. Call it when [`Connection::next_wakeup`] has come; it is harmless at any
    /// other time.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.connection.is_none() {
            if now.saturating_duration_since(self.epoch) >= self.settings.patience
                && self.next_attempt.take().is_some()
            {
                self.events.push_back(ConnectionEvent::Lost(ConnectionError::TimedOut));
            }
            self.attempt(now);
        }
        self.work(now);
        self.give_up_silent(now);
        self.open_paths(now);
        self.send_path_statuses(now);
    }

    /// Notes that the network takes nothing more from a local address. The note is for the user
    /// only: silence reveals failed paths.
    pub fn handle_failure(&mut self, path: usize, trouble: &str) {
        if let Some(slot) = self.slots.get_mut(path) {
            slot.trouble = Some(trouble.to_owned());
        }
    }

    /// Handles timers, handshakes and noq's events.
    fn work(&mut self, now: Instant) {
        if self.connection.is_none() {
            self.handle_handshakes(now);
        }
        let Some(connection) = &mut self.connection else { return };
        let mut noq_events = Vec::new();
        connection.work(now, |event| noq_events.push(event));
        for event in noq_events {
            self.handle_event(now, event);
        }
        self.count(now);
        if !self.pending_events.is_empty() {
            self.update(now);
            self.notify_scheduler();
        }
    }

    fn handle_event(&mut self, now: Instant, event: noq_proto::Event) {
        let event = match event {
            noq_proto::Event::Path(event) => return self.handle_path(now, event),
            noq_proto::Event::ConnectionLost { reason } => ConnectionEvent::Lost(reason),
            noq_proto::Event::Stream(StreamEvent::Opened { dir }) => ConnectionEvent::Incoming(dir),
            noq_proto::Event::Stream(StreamEvent::Readable { id }) => ConnectionEvent::Readable(id),
            noq_proto::Event::Stream(StreamEvent::Writable { id }) => ConnectionEvent::Writable(id),
            noq_proto::Event::Stream(StreamEvent::Finished { id }) => ConnectionEvent::Finished(id),
            noq_proto::Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                ConnectionEvent::Stopped(id, error_code)
            }
            noq_proto::Event::Stream(StreamEvent::Available { dir }) => ConnectionEvent::Available(dir),
            // `handle_handshakes` has handled the beginning.
            noq_proto::Event::Connected
            | noq_proto::Event::HandshakeDataReady
            | noq_proto::Event::HandshakeConfirmed
            | noq_proto::Event::DatagramReceived
            | noq_proto::Event::DatagramsUnblocked
            | noq_proto::Event::NatTraversal(_) => return,
        };
        self.events.push_back(event);
    }

    /// Returns the next event.
    pub fn poll(&mut self) -> Option<ConnectionEvent> {
        self.events.pop_front()
    }

    /// Appends all datagrams that leave now to `out`.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        for attempt in &mut self.attempts {
            // More than one at once: noq 1.4.0 repeats its close frame without end if that frame
            // cannot leave in all its packet number spaces.
            while attempt.transmit(now, self.burst, &self.locals, out) {}
        }
        if self.connection.is_some() {
            // The other attempts have told their peers that they are over.
            self.attempts.clear();
        }
        self.send(now, out);
    }

    /// Returns the time at which [`Connection::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let nanos = |time: Time| self.epoch + Duration::from_nanos(time.as_nanos());
        let connections =
            self.attempts.iter().chain(&self.connection).map(|connection| connection.noq.poll_timeout());
        let waits = self.next_attempt.filter(|_| self.connection.is_none());
        let attempt = waits.map(|(due, _)| due.min(self.epoch + self.settings.patience));
        let several = self.slots.iter().filter(|slot| slot.works).count() > 1;
        let slots = self.slots.iter().filter(|_| self.connection.is_some());
        let slots = slots.flat_map(|slot| {
            let due = slot.keep_alive_at.filter(|_| slot.works && self.backlog > 0);
            [slot.retry_at, due, slot.silent_at().filter(|_| several)]
        });
        connections.chain([attempt, self.wait_until.map(nanos)]).chain(slots).flatten().min()
    }

    /// Opens a stream, if the peer allows another one.
    pub fn open(&mut self, dir: Dir) -> Option<StreamId> {
        self.connection.as_mut()?.noq.streams().open(dir)
    }

    /// Returns the next stream that the peer has opened.
    pub fn accept(&mut self, dir: Dir) -> Option<StreamId> {
        self.connection.as_mut()?.noq.streams().accept(dir)
    }

    /// Writes to a stream. Returns the number of bytes taken, which may be less than all.
    ///
    /// # Errors
    /// [`WriteError::Blocked`] until [`ConnectionEvent::Writable`], and before the handshake is done.
    pub fn write(&mut self, id: StreamId, bytes: &[u8]) -> Result<usize, WriteError> {
        let connection = self.connection.as_mut().ok_or(WriteError::Blocked)?;
        let written = connection.noq.send_stream(id).write(bytes)?;
        self.backlog += written as u64;
        Ok(written)
    }

    /// Ends the data of a stream.
    ///
    /// # Errors
    /// [`WriteError::ClosedStream`], also if the peer has stopped the stream.
    pub fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        let connection = self.connection.as_mut().ok_or(WriteError::ClosedStream)?;
        connection.noq.send_stream(id).finish().map_err(|_| WriteError::ClosedStream)
    }

    /// Returns the next bytes of a stream, at most `most`; `None` if there are none, or the stream
    /// has ended.
    pub fn read(&mut self, id: StreamId, most: usize) -> Option<Bytes> {
        let mut stream = self.connection.as_mut()?.noq.recv_stream(id);
        let mut chunks = stream.read(true).ok()?;
        let chunk = chunks.next(most).ok().flatten();
        // The next `transmit` sends any resulting frames anyway.
        let _ = chunks.finalize();
        chunk.map(|chunk| chunk.bytes)
    }

    /// Announces bytes that will be written later. Schedulers see them as unassigned.
    pub fn announce(&mut self, bytes: u64) {
        self.more = bytes;
    }

    /// Sets the bytes that may be in flight to the peer's application, if the caller knows better
    /// than the handshake.
    pub fn expect_window(&mut self, bytes: u64) {
        self.window = bytes;
    }

    /// Estimated bytes that were written and have not left.
    pub fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Estimated bytes that were written and are not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        let in_flight =
            self.slots.iter().filter_map(PathSlot::controller).map(|controller| controller.lock().in_flight);
        self.backlog + in_flight.sum::<u64>()
    }

    /// Closes the connection, and tells the peer the reason. [`Connection::transmit`] returns the
    /// datagrams.
    pub fn close(&mut self, now: Instant, code: u32, reason: &str) {
        for connection in self.attempts.iter_mut().chain(&mut self.connection) {
            connection.noq.close(now, VarInt::from_u32(code), Bytes::copy_from_slice(reason.as_bytes()));
        }
    }

    /// Returns the state of the paths.
    pub fn progress(&self) -> Vec<Progress> {
        let path = |slot: &PathSlot| Progress {
            local: slot.local,
            usable: slot.works,
            sent: slot.sent,
            srtt: slot.srtt,
            opened: slot.opened,
            trouble: slot.trouble.clone(),
        };
        self.slots.iter().map(path).collect()
    }

    /// Returns the counters: lost packets, whose data was retransmitted.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
