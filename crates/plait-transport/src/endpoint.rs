//! One end of a connection of any protocol, driven by an engine.
//!
//! An end sends a stream of its own and receives the peer's. Every input ([`Endpoint::write`],
//! [`Endpoint::handle_packet`], [`Endpoint::handle_timeout`]) must be followed by
//! [`Endpoint::transmit`], and by a look at [`Endpoint::next_wakeup`].

use crate::core::{Counters, OneWayDelays, PathConfig, PathTotals, WriteOptions};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::{Overhead, Packet};
use crate::protocol::Protocol as _;
pub use crate::protocol::{PathChange, Side};
use crate::reassembly::Reassembly;
use crate::sink::Sink;
use crate::{cmt_sctp, mpquic, mptcp};
use plait_sched::{Capabilities, Connection, Path, PathId, Scheduler, Time};

/// Generates from one line per protocol: the list of protocols, and dispatch without allocation.
macro_rules! protocols {
    ($($(#[$meta:meta])* $protocol:ident = $module:ident, packets $packet:ident;)*) => {
        /// A protocol with all its settings; both ends are created from the same one.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Config {
            $($(#[$meta])* $protocol($module::Config),)*
        }

        $(impl From<$module::Config> for Config {
            fn from(config: $module::Config) -> Self {
                Self::$protocol(config)
            }
        })*

        impl Config {
            /// Bytes that the protocol adds to payload on the wire.
            pub const fn overhead(&self) -> Overhead {
                match self {
                    $(Self::$protocol(config) => config.overhead(),)*
                }
            }

            /// Returns the configuration with this seed of the controllers' random numbers.
            #[must_use]
            pub fn seeded(mut self, seed: u64) -> Self {
                match &mut self {
                    $(Self::$protocol(config) => config.connection.congestion.seed = seed,)*
                }
                self
            }

            /// Scheduler capabilities that the protocol supports.
            pub const fn capabilities(&self) -> Capabilities {
                match self {
                    $(Self::$protocol(_) => $module::CAPABILITIES,)*
                }
            }
        }

        /// One end of a connection; see the [module](self).
        #[derive(Clone, Debug)]
        #[expect(clippy::large_enum_variant, reason = "there are two per connection: nothing is won by a box")]
        pub enum Endpoint<S> {
            $($(#[$meta])* $protocol($module::Endpoint<S>),)*
        }

        impl<S: Scheduler> Endpoint<S> {
            /// Creates an end over `paths` that has sent and received nothing yet.
            ///
            /// # Errors
            /// [`Error::Unsupported`] if the scheduler needs a capability that the protocol does
            /// not offer; [`Error::SegmentSize`] if segments have more than 65,535 bytes.
            pub fn new(config: &Config, side: Side, paths: &[PathConfig], scheduler: S) -> Result<Self, Error> {
                match config {
                    $(Config::$protocol(config) => {
                        $module::Endpoint::new(config, side, paths, scheduler).map(Self::$protocol)
                    })*
                }
            }

            /// Takes a packet that came in on `path`. Ignores a packet of another protocol: no peer
            /// sent it to this end.
            #[cfg_attr(not(debug_assertions), inline(always))]
            pub fn handle_packet(
                &mut self,
                now: Time,
                path: PathId,
                packet: &Packet,
                observer: &mut impl Observer,
            ) {
                match (self, packet) {
                    $((Self::$protocol(end), Packet::$packet(packet)) => {
                        end.handle_packet(now, path, packet, observer);
                    })*
                    (_, Packet::Sctp(_) | Packet::Tcp(_) | Packet::Quic(_)) => {}
                }
            }
        }

        /// Asks the protocol.
        macro_rules! dispatch {
            ($end:expr, $it:ident => $call:expr) => {
                match $end {
                    $(Endpoint::$protocol($it) => $call,)*
                }
            };
        }
    };
}

protocols! {
    /// SCTP with concurrent multipath transfer.
    CmtSctp = cmt_sctp, packets Sctp;
    /// MPTCP, and TCP over one path.
    Mptcp = mptcp, packets Tcp;
    /// Multipath QUIC.
    Mpquic = mpquic, packets Quic;
}

impl<S: Scheduler> Endpoint<S> {
    /// Writes a message of `bytes` with default options: see [`Endpoint::write_message`].
    pub fn write(&mut self, bytes: u64) {
        self.write_message(bytes, &WriteOptions::default());
    }

    /// Writes a message of `bytes` with a priority, and perhaps a deadline and a stream, which
    /// schedulers may see. A message is segmented on its own: no segment spans two messages, unless
    /// the configuration joins waiting data. Messages of one stream are cut into segments in the
    /// order in which they were written. Those of several streams are cut by priority, and in the
    /// scheduler's order. MPTCP and TCP have one stream.
    ///
    /// Returns the message's number, counted from 0. Returns `None` and writes nothing for an empty
    /// message, and after [`Endpoint::write_endlessly`].
    pub fn write_message(&mut self, bytes: u64, options: &WriteOptions) -> Option<u64> {
        dispatch!(self, end => end.core_mut().write(bytes, options))
    }

    /// Returns the numbers of the messages whose last byte lies beyond the first `from` bytes of
    /// the stream as it is delivered, and within the first `to`. They are known until the peer has
    /// acknowledged them: so a driver that sees both ends can ask when the far one has delivered up
    /// to `to`.
    pub fn messages_ended(&self, from: u64, to: u64) -> impl Iterator<Item = u64> {
        dispatch!(self, end => end.core().stream()).ended(from, to)
    }

    /// From now on there is always more to send.
    pub fn write_endlessly(&mut self) {
        dispatch!(self, end => end.core_mut().write_endlessly());
    }

    /// The application writes no more.
    pub fn finish(&mut self) {
        dispatch!(self, end => end.core_mut().finish());
    }

    /// True once everything written is cumulatively acknowledged.
    pub fn is_drained(&self) -> bool {
        dispatch!(self, end => end.core().is_drained())
    }

    /// True if a segment was assigned to a path and is not known to have arrived; for tests of the
    /// bookkeeping.
    pub fn is_outstanding(&self, segment: u64) -> bool {
        dispatch!(self, end => end.core().is_outstanding(segment))
    }

    /// Number of segments in a path's write queue, which the path's own window holds back. They
    /// stay there even while the path is down, and count as sent.
    pub fn held_back(&self, path: PathId) -> usize {
        dispatch!(self, end => end.core().held_back(path))
    }

    /// Counters of the connection.
    pub fn counters(&self) -> Counters {
        dispatch!(self, end => end.core().counters())
    }

    /// Number of accesses to the end's records; counted in builds with debug assertions only, for
    /// tests of the cost of packets and acknowledgements.
    pub fn looks(&self) -> u64 {
        dispatch!(self, end => end.core().looks() + end.looks())
    }

    /// The facts of the paths, as the scheduler would see them now.
    pub fn paths(&self) -> Vec<Path> {
        dispatch!(self, end => end.core().fresh_facts())
    }

    /// The facts of the connection, as the scheduler sees them.
    pub fn connection(&self) -> Connection {
        dispatch!(self, end => end.core().connection_facts())
    }

    /// A path's congestion window and slow-start threshold in bytes, as the protocol counts them.
    pub fn window(&self, path: PathId) -> (u64, u64) {
        dispatch!(self, end => end.core().congestion_window(path))
    }

    /// Access to the scheduler's state.
    pub fn scheduler(&self) -> &S {
        dispatch!(self, end => end.core().scheduler())
    }

    /// Replaces the scheduler by `scheduler` and returns the old one. No data is lost or sent
    /// twice. Assigned segments that have not left go back into the data queue, and copies that
    /// have not left are dropped. Limits are lifted, and a waiting penalty is cancelled. Data in
    /// flight stays in place: the new scheduler starts with segments in flight that it never saw.
    /// Halved windows stay as they are. The send buffer keeps the memory that the first scheduler's
    /// rule gave it.
    ///
    /// As after any input, call [`Endpoint::transmit`] next.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the scheduler needs a capability that the protocol does not offer:
    /// then nothing has changed.
    pub fn replace_scheduler(&mut self, scheduler: S) -> Result<S, Error> {
        dispatch!(self, end => end.core_mut().replace_scheduler(scheduler))
    }

    /// Requests a copy of a segment in flight on `path`, independently of the scheduler. It leaves
    /// before new data, as soon as the path's window has room. Returns false and requests nothing
    /// if the path carries the segment already, will do so, or is not usable. The same applies if
    /// the segment has arrived, was never sent, or waits for retransmission. The copy is dropped if
    /// the segment arrives before it leaves, if the path fails, and when the scheduler is
    /// [replaced](Endpoint::replace_scheduler).
    ///
    /// As after any input, call [`Endpoint::transmit`] next.
    pub fn copy(&mut self, path: PathId, segment: u64) -> bool {
        dispatch!(self, end => end.core_mut().copy_by_hand(path, segment))
    }

    /// Sets whether the path is a backup, and its cost, as [`PathConfig`] does at the beginning.
    /// Data in flight stays there.
    ///
    /// As after any input, call [`Endpoint::transmit`] next.
    pub fn set_terms(
        &mut self,
        now: Time,
        path: PathId,
        backup: bool,
        cost: u32,
        observer: &mut impl Observer,
    ) {
        dispatch!(self, end => end.core_mut().set_terms(now, path, (backup, cost), observer));
    }

    /// Adds, removes or changes a path; call [`Endpoint::transmit`] next. Returns false if the
    /// protocol's paths are fixed: only Multipath QUIC can change them here. The peer must learn of
    /// an added path by other means.
    ///
    /// # Panics
    /// Panics with more than [`plait_sched::MAX_PATHS`] paths, and for a path that does not exist.
    pub fn change_path(&mut self, now: Time, change: &PathChange, observer: &mut impl Observer) -> bool {
        dispatch!(self, end => end.change_path(now, change, observer))
    }

    /// Totals of a path since its beginning.
    pub fn totals(&self, path: PathId) -> PathTotals {
        dispatch!(self, end => end.core().totals(path))
    }

    /// A path's one-way delays, if the protocol measures them.
    pub fn delays(&self, path: PathId) -> Option<OneWayDelays> {
        dispatch!(self, end => end.delays(path))
    }

    /// True if the connection was one of MPTCP and continues as TCP, over its first path alone.
    pub fn fell_back(&self) -> bool {
        dispatch!(self, end => end.fell_back())
    }

    /// Received data of the peer's stream.
    #[inline]
    pub fn reassembly(&self) -> &Reassembly {
        dispatch!(self, end => end.reassembly())
    }

    /// Call when [`Endpoint::next_wakeup`] has come; harmless at any other time.
    ///
    /// # Errors
    /// [`Error::PeerUnreachable`] once too many timeouts came in a row.
    pub fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        dispatch!(self, end => end.handle_timeout(now, observer))
    }

    /// Sends all that there is to send now.
    ///
    /// # Errors
    /// [`Error::Scheduler`] if the scheduler broke its contract.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl Sink,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        dispatch!(self, end => end.transmit(now, sink, observer))
    }

    /// When [`Endpoint::handle_timeout`] must be called next; `None` for never.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn next_wakeup(&self) -> Option<Time> {
        dispatch!(self, end => end.next_wakeup())
    }
}
