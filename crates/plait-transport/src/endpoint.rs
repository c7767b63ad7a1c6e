//! One end of a connection, whatever its protocol: what an engine drives.
//!
//! An end sends a stream of its own and receives the peer's. Every input ([`Endpoint::write`], [`Endpoint::handle_packet`],
//! [`Endpoint::handle_timeout`]) is to be followed by [`Endpoint::transmit`], and by a look at [`Endpoint::next_wakeup`].

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

/// From one line per protocol: what can be chosen, and its dispatch without allocation.
macro_rules! protocols {
    ($($(#[$meta:meta])* $protocol:ident = $module:ident,)*) => {
        /// A protocol with everything that can be set about it; both ends are made from the same.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Config {
            $($(#[$meta])* $protocol($module::Config),)*
        }

        $(impl From<$module::Config> for Config {
            fn from(config: $module::Config) -> Self {
                Self::$protocol(config)
            }
        })*

        impl Config {
            /// What the protocol adds to payload on the wire.
            pub const fn overhead(&self) -> Overhead {
                match self {
                    $(Self::$protocol(config) => config.overhead(),)*
                }
            }

            /// What the protocol lets a scheduler do.
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
            /// An end over `paths` that has sent and got nothing yet.
            ///
            /// # Errors
            /// [`Error::Unsupported`] if the scheduler needs what the protocol does not offer;
            /// [`Error::SegmentSize`] if segments have more than 65,535 bytes.
            pub fn new(config: &Config, side: Side, paths: &[PathConfig], scheduler: S) -> Result<Self, Error> {
                match config {
                    $(Config::$protocol(config) => {
                        $module::Endpoint::new(config, side, paths, scheduler).map(Self::$protocol)
                    })*
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
    CmtSctp = cmt_sctp,
    /// MPTCP, and TCP over one path.
    Mptcp = mptcp,
    /// Multipath QUIC.
    Mpquic = mpquic,
}

impl<S: Scheduler> Endpoint<S> {
    /// Writes a message of so many `bytes`, of which there is nothing else to say: see [`Endpoint::write_message`].
    pub fn write(&mut self, bytes: u64) {
        self.write_message(bytes, &WriteOptions::default());
    }

    /// Writes a message: `bytes` with an end, a priority, perhaps a deadline and a stream, which schedulers may see. It is segmented on its own: no segment spans two
    /// messages, unless the configuration lets what waits be joined. Messages of one stream are cut into segments in the order in which they were written; those of several
    /// by priority, and as the scheduler wants it. MPTCP and TCP have one stream.
    ///
    /// The message's number: they are counted from 0. `None` for an empty one, and after [`Endpoint::write_endlessly`], when nothing is written.
    pub fn write_message(&mut self, bytes: u64, options: &WriteOptions) -> Option<u64> {
        dispatch!(self, end => end.core_mut().write(bytes, options))
    }

    /// The numbers of the messages whose last byte lies beyond the first `from` bytes of the stream as it is delivered, and within the first `to`. They are known
    /// until the peer has acknowledged them: so a driver that sees both ends can ask when the far one has delivered up to `to`.
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

    /// True if a segment was assigned to a path and is not known to have arrived; for tests of the bookkeeping.
    pub fn is_outstanding(&self, segment: u64) -> bool {
        dispatch!(self, end => end.core().is_outstanding(segment))
    }

    /// Segments that a path took and its own window holds back: they stay with it, also while it is down, and count as sent.
    pub fn held_back(&self, path: PathId) -> usize {
        dispatch!(self, end => end.core().held_back(path))
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        dispatch!(self, end => end.core().counters())
    }

    /// How often entries of its books were looked at; counted in builds with debug assertions only, for tests of what packets and
    /// acknowledgements cost.
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

    /// The scheduler, for looking at its state.
    pub fn scheduler(&self) -> &S {
        dispatch!(self, end => end.core().scheduler())
    }

    /// Puts `scheduler` in the place of the one that decides, and hands that one out. Nothing is lost and nothing goes twice: what was assigned and has not left
    /// goes back into the data queue, copies that have not left are dropped, limits are lifted, a penalty that waited is not carried out. What left stays where it is:
    /// the new one begins in the middle, with segments in flight that it never heard of. Windows that were halved stay as they are, and so does memory that
    /// the first scheduler's rule made the send buffer.
    ///
    /// As after any input, [`Endpoint::transmit`] is next.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it needs what the protocol does not offer: then nothing has changed.
    pub fn replace_scheduler(&mut self, scheduler: S) -> Result<S, Error> {
        dispatch!(self, end => end.core_mut().replace_scheduler(scheduler))
    }

    /// A copy of a segment in flight is to leave on `path` as soon as its window has room, before new data, whatever the scheduler decides. False, and none will, if the path
    /// carries it already, will do so, or is not usable, or if the segment has arrived, was never sent, or waits to be sent again. It is dropped if the segment
    /// arrives before it has left, if the path fails, and when the scheduler is [replaced](Endpoint::replace_scheduler).
    ///
    /// As after any input, [`Endpoint::transmit`] is next.
    pub fn copy(&mut self, path: PathId, segment: u64) -> bool {
        dispatch!(self, end => end.core_mut().copy_by_hand(path, segment))
    }

    /// From now on the path stands by or does not, and costs so much, as [`PathConfig`] says it of one from the beginning. What is on its way stays there.
    ///
    /// As after any input, [`Endpoint::transmit`] is next.
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

    /// Paths come and go, or are another network's; [`Endpoint::transmit`] is next. False if the protocol's paths are those that it began with: only Multipath QUIC's
    /// change here. The peer has to be told of an added one by other means.
    ///
    /// # Panics
    /// With more than [`plait_sched::MAX_PATHS`] paths, and for a path that there is not.
    pub fn change_path(&mut self, now: Time, change: &PathChange, observer: &mut impl Observer) -> bool {
        dispatch!(self, end => end.change_path(now, change, observer))
    }

    /// What a path did so far.
    pub fn totals(&self, path: PathId) -> PathTotals {
        dispatch!(self, end => end.core().totals(path))
    }

    /// A path's one-way delays, if the protocol measures them.
    pub fn delays(&self, path: PathId) -> Option<OneWayDelays> {
        dispatch!(self, end => end.delays(path))
    }

    /// True if the connection was one of MPTCP and goes on as TCP, over its first path alone.
    pub fn fell_back(&self) -> bool {
        dispatch!(self, end => end.fell_back())
    }

    /// What has arrived of the peer's stream.
    #[inline]
    pub fn reassembly(&self) -> &Reassembly {
        dispatch!(self, end => end.reassembly())
    }

    /// Takes a packet that came in on `path`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        dispatch!(self, end => end.handle_packet(now, path, packet, observer));
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
