//! One multipath connection, to any peer.

use super::check;
use super::lane::Lane;
use super::line::Line;
use super::opening;
use crate::error::Error;
use crate::link::Outgoing;
use crate::settings::{MAX_LINKS, Settings};
use crate::terms::Terms;
use crate::ways::Progress;
use bytes::{Bytes, BytesMut};
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{ClientConfig, ConnectionError, Dir, StreamEvent, StreamId, VarInt, WriteError};
use plait_sched::{Builtin, Connection as Facts, Event as Told, Interest, Path, Scheduler, Time};
use plait_transport::Counters;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who is connected to.
pub struct Peer {
    /// Its address, to which each path leads that has none of its own ([`Reroute::Aimed`](crate::sender::Reroute::Aimed)).
    pub remote: SocketAddr,
    /// Its name, as TLS knows it.
    pub name: String,
    /// TLS: what is believed, and the application protocols.
    pub tls: Arc<QuicClientConfig>,
    /// A local address for each path, no two the same: noq tells paths apart by them.
    pub locals: Vec<IpAddr>,
    /// What each path is for; a budget is not to be had.
    pub terms: Vec<Terms>,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The handshake is done: streams may be opened, as many as the peer allows.
    Connected,
    /// A path carries data from now on; its number among the local addresses.
    Opened(usize),
    /// A path carries nothing any more, until it is opened anew.
    Closed(usize),
    /// The peer has opened streams: see [`Connection::accept`].
    Incoming(Dir),
    /// There is something to read.
    Readable(StreamId),
    /// There is room to write again.
    Writable(StreamId),
    /// Everything that was written has arrived.
    Finished(StreamId),
    /// The peer wants no more of a stream.
    Stopped(StreamId, VarInt),
    /// The peer allows more streams.
    Available(Dir),
    /// There is no connection any more.
    Lost(ConnectionError),
}

/// A connection over several paths, of which `W` decides which one takes what.
///
/// After any input ([`Connection::handle_datagrams`], [`Connection::handle_timeout`], writing, reading) take what happened
/// ([`Connection::poll`]) and what leaves ([`Connection::transmit`]), and call again at [`Connection::next_wakeup`].
pub struct Connection<W = Builtin> {
    pub(super) settings: Settings,
    pub(super) peer: Peer,
    pub(super) client: ClientConfig,
    /// Handshakes, one from each local address, until one is done.
    pub(super) attempts: Vec<Line>,
    pub(super) next_attempt: Option<(Instant, usize)>,
    pub(super) line: Option<Line>,
    pub(super) locals: Vec<IpAddr>,
    pub(super) lanes: Vec<Lane>,
    pub(super) terms: Vec<Terms>,
    pub(super) burst: NonZeroUsize,
    pub(super) scheduler: W,
    pub(super) interest: Interest,
    pub(super) waits_without_room: bool,
    pub(super) wait_until: Option<Time>,
    pub(super) facts: Vec<Path>,
    pub(super) known: Facts,
    pub(super) untold: Vec<Told>,
    /// Payload bytes of a full packet.
    pub(super) segment: u64,
    /// Bytes that noq has and did not send, or lost, as it is reckoned; of these, lost ones.
    pub(super) backlog: u64,
    pub(super) lost: u64,
    /// Bytes that will be written.
    pub(super) more: u64,
    /// The peer's window.
    pub(super) window: u64,
    pub(super) next_segment: u64,
    /// The peer is to be told of paths now.
    pub(super) urgent: bool,
    pub(super) counters: Counters,
    pub(super) epoch: Instant,
    pub(super) events: VecDeque<Event>,
}

impl<W: Scheduler> Connection<W> {
    /// A connection that is opened from now on.
    ///
    /// # Errors
    /// [`Error::Setting`] for what is out of bounds, and for a scheduler that [cannot decide here](check).
    pub fn new(now: Instant, settings: Settings, peer: Peer, scheduler: W) -> Result<Self, Error> {
        settings.check()?;
        check(&scheduler)?;
        let count = peer.locals.len();
        if !(1..=MAX_LINKS).contains(&count) {
            return Err(Error::Setting(format!("{count} local addresses: choose 1 to {MAX_LINKS}")));
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
        client.transport_config(Arc::new(opening::transport(&settings)?));
        Ok(Self {
            attempts: Vec::new(),
            next_attempt: Some((now, 0)),
            line: None,
            locals: peer.locals.clone(),
            lanes: peer.locals.iter().map(|local| Lane::new(*local, peer.remote)).collect(),
            terms: peer.terms.clone(),
            burst: NonZeroUsize::new(settings.burst()).unwrap_or(NonZeroUsize::MIN),
            interest: scheduler.interest(),
            waits_without_room: scheduler.waits_without_room(),
            scheduler,
            wait_until: None,
            facts: Vec::new(),
            known: Facts::default(),
            untold: Vec::new(),
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

    /// Takes UDP datagrams that came together to a local address, of `each` bytes but for the last.
    pub fn handle_datagrams(
        &mut self,
        now: Instant,
        path: usize,
        remote: SocketAddr,
        datagrams: &[u8],
        each: usize,
    ) {
        let Some(&local) = self.locals.get(path) else { return };
        for datagram in datagrams.chunks(each.max(1)).map(BytesMut::from) {
            if let Some(line) = &mut self.line {
                line.handle_datagram(now, local, remote, datagram);
            } else if let Some(attempt) = self.attempts.iter_mut().find(|attempt| attempt.first == path) {
                attempt.handle_datagram(now, local, remote, datagram);
            }
        }
        self.work(now);
    }

    /// Call when [`Connection::next_wakeup`] has come; harmless at any other time.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.line.is_none() {
            if now.saturating_duration_since(self.epoch) >= self.settings.patience
                && self.next_attempt.take().is_some()
            {
                self.events.push_back(Event::Lost(ConnectionError::TimedOut));
            }
            self.attempt(now);
        }
        self.work(now);
        self.give_up_silent(now);
        self.open_paths(now);
        self.tell_statuses(now);
    }

    /// The network takes nothing more from a local address, which has to be looked at by people: paths are found out by their silence.
    pub fn handle_failure(&mut self, path: usize, trouble: &str) {
        if let Some(lane) = self.lanes.get_mut(path) {
            lane.trouble = Some(trouble.to_owned());
        }
    }

    /// Timers, handshakes, what noq has to tell.
    fn work(&mut self, now: Instant) {
        if self.line.is_none() {
            self.shake_hands(now);
        }
        let Some(line) = &mut self.line else { return };
        let mut heard = Vec::new();
        line.work(now, |event| heard.push(event));
        for event in heard {
            self.handle_event(now, event);
        }
        self.count(now);
        if !self.untold.is_empty() {
            self.update(now);
            self.tell();
        }
    }

    fn handle_event(&mut self, now: Instant, event: noq_proto::Event) {
        let event = match event {
            noq_proto::Event::Path(event) => return self.handle_path(now, event),
            noq_proto::Event::ConnectionLost { reason } => Event::Lost(reason),
            noq_proto::Event::Stream(StreamEvent::Opened { dir }) => Event::Incoming(dir),
            noq_proto::Event::Stream(StreamEvent::Readable { id }) => Event::Readable(id),
            noq_proto::Event::Stream(StreamEvent::Writable { id }) => Event::Writable(id),
            noq_proto::Event::Stream(StreamEvent::Finished { id }) => Event::Finished(id),
            noq_proto::Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                Event::Stopped(id, error_code)
            }
            noq_proto::Event::Stream(StreamEvent::Available { dir }) => Event::Available(dir),
            _ => return,
        };
        self.events.push_back(event);
    }

    /// What happened next.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// All datagrams that leave now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        for attempt in &mut self.attempts {
            // More than one at once: noq 1.4.0 says without end that it closes if it cannot say so in all its packet number spaces.
            while attempt.transmit(now, self.burst, &self.locals, out) {}
        }
        if self.line.is_some() {
            // Those that were not first have said that they are over.
            self.attempts.clear();
        }
        self.send(now, out);
    }

    /// When [`Connection::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let nanos = |time: Time| self.epoch + Duration::from_nanos(time.as_nanos());
        let lines = self.attempts.iter().chain(&self.line).map(|line| line.noq.poll_timeout());
        let waits = self.next_attempt.filter(|_| self.line.is_none());
        let attempt = waits.map(|(due, _)| due.min(self.epoch + self.settings.patience));
        let several = self.lanes.iter().filter(|lane| lane.works).count() > 1;
        let lanes = self.lanes.iter().filter(|_| self.line.is_some());
        let lanes = lanes.flat_map(|lane| {
            let due = lane.due.filter(|_| lane.works && self.backlog > 0);
            [lane.retry_at, due, lane.silent_at().filter(|_| several)]
        });
        lines.chain([attempt, self.wait_until.map(nanos)]).chain(lanes).flatten().min()
    }

    /// Opens a stream, if the peer allows another one.
    pub fn open(&mut self, dir: Dir) -> Option<StreamId> {
        self.line.as_mut()?.noq.streams().open(dir)
    }

    /// The next stream that the peer has opened.
    pub fn accept(&mut self, dir: Dir) -> Option<StreamId> {
        self.line.as_mut()?.noq.streams().accept(dir)
    }

    /// Writes to a stream; how many bytes were taken, which may be less than all.
    ///
    /// # Errors
    /// [`WriteError::Blocked`] until [`Event::Writable`]; likewise before the handshake is done.
    pub fn write(&mut self, id: StreamId, bytes: &[u8]) -> Result<usize, WriteError> {
        let line = self.line.as_mut().ok_or(WriteError::Blocked)?;
        let written = line.noq.send_stream(id).write(bytes)?;
        self.backlog += written as u64;
        Ok(written)
    }

    /// Nothing more is written to a stream.
    ///
    /// # Errors
    /// [`WriteError::ClosedStream`], also if the peer has stopped it.
    pub fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        let line = self.line.as_mut().ok_or(WriteError::ClosedStream)?;
        line.noq.send_stream(id).finish().map_err(|_| WriteError::ClosedStream)
    }

    /// The next bytes of a stream, so many at most; `None` if none are there, or no more come.
    pub fn read(&mut self, id: StreamId, most: usize) -> Option<Bytes> {
        let mut stream = self.line.as_mut()?.noq.recv_stream(id);
        let mut chunks = stream.read(true).ok()?;
        let chunk = chunks.next(most).ok().flatten();
        // What it asks to be sent leaves with the next `transmit` anyway.
        let _ = chunks.finalize();
        chunk.map(|chunk| chunk.bytes)
    }

    /// So many bytes will be written beyond what was: schedulers see them as unassigned.
    pub fn announce(&mut self, bytes: u64) {
        self.more = bytes;
    }

    /// So many bytes may be on their way to the peer's application, where that is known better than from the handshake.
    pub fn expect_window(&mut self, bytes: u64) {
        self.window = bytes;
    }

    /// Bytes that were written and have not left, as they are reckoned.
    pub fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Bytes that were written and are not known to have arrived, as they are reckoned.
    pub fn unacknowledged(&self) -> u64 {
        let in_flight = self.lanes.iter().filter_map(Lane::gate).map(|gate| gate.lock().in_flight);
        self.backlog + in_flight.sum::<u64>()
    }

    /// Ends it, and tells the peer why: [`Connection::transmit`] gives what is to be sent.
    pub fn close(&mut self, now: Instant, code: u32, reason: &str) {
        for line in self.attempts.iter_mut().chain(&mut self.line) {
            line.noq.close(now, VarInt::from_u32(code), Bytes::copy_from_slice(reason.as_bytes()));
        }
    }

    /// The paths.
    pub fn progress(&self) -> Vec<Progress> {
        let path = |lane: &Lane| Progress {
            local: lane.local,
            usable: lane.works,
            sent: lane.sent,
            srtt: lane.srtt,
            opened: lane.opened,
            trouble: lane.trouble.clone(),
        };
        self.lanes.iter().map(path).collect()
    }

    /// What happened so far: packets that were lost, whose data was sent again.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
