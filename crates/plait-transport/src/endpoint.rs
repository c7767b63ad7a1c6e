//! The two ends of a connection, whatever its protocol: what an engine drives.

use crate::core::{Counters, OneWayDelays, PathConfig};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::{Overhead, Packet};
use crate::reassembly::Reassembly;
use crate::sink::Sink;
use crate::{cmt_sctp, mptcp};
use plait_sched::{Capabilities, Connection, Path, PathId, Scheduler, Time};

/// A protocol with everything that can be set about it; both ends are made from the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Config {
    /// SCTP with concurrent multipath transfer.
    CmtSctp(cmt_sctp::Config),
    /// MPTCP, and TCP over one path.
    Mptcp(mptcp::Config),
}

impl From<cmt_sctp::Config> for Config {
    fn from(config: cmt_sctp::Config) -> Self {
        Self::CmtSctp(config)
    }
}

impl From<mptcp::Config> for Config {
    fn from(config: mptcp::Config) -> Self {
        Self::Mptcp(config)
    }
}

impl Config {
    /// What the protocol adds to payload on the wire.
    pub const fn overhead(&self) -> Overhead {
        match self {
            Self::CmtSctp(_) => Overhead::SCTP,
            Self::Mptcp(config) => config.overhead(),
        }
    }

    /// What the protocol lets a scheduler do.
    pub const fn capabilities(&self) -> Capabilities {
        match self {
            Self::CmtSctp(_) => cmt_sctp::CAPABILITIES,
            Self::Mptcp(_) => mptcp::CAPABILITIES,
        }
    }
}

/// The sending end.
///
/// Every input ([`Sender::write`], [`Sender::handle_packet`], [`Sender::handle_timeout`]) is to be followed by
/// [`Sender::transmit`] and a look at [`Sender::poll_timeout`].
#[derive(Clone, Debug)]
pub enum Sender<S> {
    /// See [`cmt_sctp::Sender`].
    CmtSctp(cmt_sctp::Sender<S>),
    /// See [`mptcp::Sender`].
    Mptcp(mptcp::Sender<S>),
}

/// The receiving end.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per connection: nothing is won by a box")]
pub enum Receiver {
    /// See [`cmt_sctp::Receiver`].
    CmtSctp(cmt_sctp::Receiver),
    /// See [`mptcp::Receiver`].
    Mptcp(mptcp::Receiver),
}

macro_rules! sender {
    ($self:ident, $sender:ident => $call:expr) => {
        match $self {
            Self::CmtSctp($sender) => $call,
            Self::Mptcp($sender) => $call,
        }
    };
}

impl<S: Scheduler> Sender<S> {
    /// A sender over `paths`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the scheduler needs what the protocol does not offer.
    pub fn new(config: &Config, paths: &[PathConfig], scheduler: S) -> Result<Self, Error> {
        match config {
            Config::CmtSctp(config) => cmt_sctp::Sender::new(*config, paths, scheduler).map(Self::CmtSctp),
            Config::Mptcp(config) => mptcp::Sender::new(*config, paths, scheduler).map(Self::Mptcp),
        }
    }

    /// Appends `bytes` to the stream. They are segmented on their own: no segment spans two writes.
    pub fn write(&mut self, bytes: u64) {
        sender!(self, sender => sender.write(bytes));
    }

    /// From now on there is always more to send.
    pub fn write_endlessly(&mut self) {
        sender!(self, sender => sender.write_endlessly());
    }

    /// The application writes no more.
    pub fn finish(&mut self) {
        sender!(self, sender => sender.finish());
    }

    /// True once everything written is cumulatively acknowledged.
    pub fn is_drained(&self) -> bool {
        sender!(self, sender => sender.is_drained())
    }

    /// Where a segment begins in the stream, in bytes; `None` if it is not there yet or cumulatively acknowledged.
    pub fn offset(&self, segment: u64) -> Option<u64> {
        sender!(self, sender => sender.offset(segment))
    }

    /// Segments that a path took and its own window holds back: they stay with it, also while it is down, and count as sent.
    pub fn held_back(&self, path: PathId) -> usize {
        sender!(self, sender => sender.held_back(path))
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        sender!(self, sender => sender.counters())
    }

    /// How often entries of its books were looked at; counted in builds with debug assertions only, for tests.
    pub fn looks(&self) -> u64 {
        sender!(self, sender => sender.looks())
    }

    /// Segments that arrived again after a retransmission or reinjection, as the receiver reported.
    pub fn spurious_retransmissions(&self) -> u64 {
        sender!(self, sender => sender.spurious_retransmissions())
    }

    /// The facts of the paths, as the scheduler would see them now.
    pub fn paths(&self) -> Vec<Path> {
        sender!(self, sender => sender.paths())
    }

    /// The facts of the connection, as the scheduler sees them.
    pub fn connection(&self) -> Connection {
        sender!(self, sender => sender.connection())
    }

    /// A path's congestion window and slow-start threshold in bytes, as the protocol counts them.
    pub fn window(&self, path: PathId) -> (u64, u64) {
        sender!(self, sender => sender.window(path))
    }

    /// A path's one-way delays, if the protocol measures them.
    pub fn delays(&self, path: PathId) -> Option<OneWayDelays> {
        match self {
            Self::CmtSctp(_) => None,
            Self::Mptcp(sender) => sender.delays(path),
        }
    }

    /// True if the connection was one of MPTCP and goes on as TCP, over its first path alone.
    pub fn fell_back(&self) -> bool {
        match self {
            Self::CmtSctp(_) => false,
            Self::Mptcp(sender) => sender.fell_back(),
        }
    }

    /// Takes a packet that came back on `path`.
    pub fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        sender!(self, sender => sender.handle_packet(now, path, packet, observer));
    }

    /// Call when [`Sender::poll_timeout`] has come; harmless at any other time.
    ///
    /// # Errors
    /// [`Error::PeerUnreachable`] once too many timeouts came in a row.
    pub fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        sender!(self, sender => sender.handle_timeout(now, observer))
    }

    /// Sends all that there is to send now.
    ///
    /// # Errors
    /// [`Error::Scheduler`] if the scheduler broke its contract.
    #[inline]
    pub fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl Sink,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        sender!(self, sender => sender.transmit(now, sink, observer))
    }

    /// When [`Sender::handle_timeout`] must be called next.
    pub fn poll_timeout(&self) -> Option<Time> {
        sender!(self, sender => sender.poll_timeout())
    }
}

macro_rules! receiver {
    ($self:ident, $receiver:ident => $call:expr) => {
        match $self {
            Self::CmtSctp($receiver) => $call,
            Self::Mptcp($receiver) => $call,
        }
    };
}

impl Receiver {
    /// A receiver of a connection over `paths` paths that has got nothing yet.
    pub fn new(config: &Config, paths: usize) -> Self {
        match config {
            Config::CmtSctp(config) => Self::CmtSctp(cmt_sctp::Receiver::new(config)),
            Config::Mptcp(config) => Self::Mptcp(mptcp::Receiver::new(config, paths)),
        }
    }

    /// The buffer.
    pub fn reassembly(&self) -> &Reassembly {
        receiver!(self, receiver => receiver.reassembly())
    }

    /// Takes a packet from the network; afterwards, call [`Receiver::transmit`].
    pub fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        receiver!(self, receiver => receiver.handle_packet(now, path, packet, observer));
    }

    /// Call when [`Receiver::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        receiver!(self, receiver => receiver.handle_timeout(now));
    }

    /// Sends what there is to send: call after every input.
    #[inline]
    pub fn transmit(&mut self, sink: &mut impl Sink) {
        receiver!(self, receiver => receiver.transmit(sink));
    }

    /// When [`Receiver::handle_timeout`] must be called next.
    pub fn poll_timeout(&self) -> Option<Time> {
        receiver!(self, receiver => receiver.poll_timeout())
    }
}
