//! Decisions of a scheduler, and the events reported to it.

use core::fmt;

use crate::time::{Duration, Time};
use crate::view::PathId;

/// A decision of a scheduler. The engine carries it out and asks again, until the answer is
/// [`Decision::Wait`].
///
/// A further kind of decision would be a breaking change: engines match all kinds, and the compiler
/// shows where the new one has to be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Moves the next `segments` segments of the data queue, in order, to the queue of `path`. The
    /// path queue stays in ascending order.
    ///
    /// Segments leave when the path's congestion window and the receiver's window allow. An
    /// assignment of more segments than these windows admit needs [`Capabilities::assign_ahead`].
    Assign {
        /// The path that takes the segments; must be usable.
        path: PathId,
        /// Number of segments: at least 1 and at most [`crate::Connection::unassigned`].
        segments: u32,
    },
    /// Sends a copy of a segment that is in flight on another path. The engine sends nothing if the
    /// segment has arrived meanwhile, or if `path` carries it already. Needs
    /// [`Capabilities::reinject`].
    Reinject {
        /// The path that sends the copy; must be usable.
        path: PathId,
        /// The number of a segment that was sent: from [`crate::Connection::oldest_unacked`] up to
        /// the newest segment of an [`Event::Sent`].
        segment: u64,
    },
    /// Moves all unsent segments in the queue of `path` back to the data queue. Needs
    /// [`Capabilities::recall`].
    Recall {
        /// The path whose queue is emptied.
        path: PathId,
    },
    /// Limits the data in flight on `path`: new data leaves only while fewer than `in_flight`
    /// segments are in flight there, even if the congestion window is larger. Needs
    /// [`Capabilities::limit`].
    Limit {
        /// The path to limit.
        path: PathId,
        /// Number of segments, at least 1; `u32::MAX` lifts the limit.
        in_flight: u32,
    },
    /// Halves the congestion window of `path`, because this path holds up the others. Needs
    /// [`Capabilities::penalize`].
    Penalize {
        /// The path to penalize.
        path: PathId,
    },
    /// Moves the stream of the next segment behind the other streams of the same priority.
    ///
    /// Has no effect while the data queue holds only one stream, or segments taken back from a
    /// path, which go first. Needs [`Capabilities::messages`].
    Defer,
    /// Makes no further decision now. The engine asks again after the next event, and no later than
    /// at `until`, if given.
    Wait {
        /// The time of the next question if no event happens before.
        until: Option<Time>,
    },
}

impl Decision {
    /// Waits for the next event.
    pub const WAIT: Self = Self::Wait { until: None };
}

/// An event on a path, reported to [`crate::Scheduler::on_event`] after the facts were updated.
///
/// Later versions may add kinds; a scheduler ignores kinds that it does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A segment was put on the wire.
    Sent {
        /// The path that sent the segment.
        path: PathId,
        /// The number of the segment.
        segment: u64,
        /// True if the segment had been sent before.
        retransmission: bool,
    },
    /// The receiver acknowledged segments that this path carried.
    Acked {
        /// The path that carried the segments.
        path: PathId,
        /// Number of newly acknowledged segments. It is 0 for the acknowledgement of a SYN, when
        /// the path may not carry data yet; only schedulers with [`Scheduler::send_memory`] receive
        /// that event.
        segments: u32,
        /// The round-trip sample of the acknowledgement, if one was taken.
        rtt: Option<Duration>,
    },
    /// Later acknowledgements showed that segments were lost.
    Lost {
        /// The path that lost them.
        path: PathId,
        /// Number of lost segments.
        segments: u32,
    },
    /// The retransmission timer of a path expired.
    Timeout {
        /// The path.
        path: PathId,
    },
    /// The path became unusable. The engine has moved the unsent segments of its queue back to the
    /// data queue, so that no data is stranded there, whether or not the scheduler recalls.
    PathDown {
        /// The path.
        path: PathId,
    },
    /// The path became usable (again).
    PathUp {
        /// The path.
        path: PathId,
    },
}

impl Event {
    /// Returns the path of the event.
    pub const fn path(&self) -> PathId {
        match *self {
            Self::Sent { path, .. }
            | Self::Acked { path, .. }
            | Self::Lost { path, .. }
            | Self::Timeout { path }
            | Self::PathDown { path }
            | Self::PathUp { path } => path,
        }
    }

    /// Returns the kind of the event: `sent`, `acked`, `lost`, `timeout`, `path-down` or `path-up`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Sent { .. } => "sent",
            Self::Acked { .. } => "acked",
            Self::Lost { .. } => "lost",
            Self::Timeout { .. } => "timeout",
            Self::PathDown { .. } => "path-down",
            Self::PathUp { .. } => "path-up",
        }
    }
}

/// Defines [`Capabilities`] from a list: documentation, field, and name in messages.
macro_rules! capabilities {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal,)+) => {
        /// Capabilities beyond assignments within the window that a scheduler needs, or that an
        /// engine offers.
        ///
        /// Later versions may add some: write `Capabilities { recall: true, ..Capabilities::NONE }`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Capabilities {
            $($(#[doc = $doc])+ pub $field: bool,)+
        }

        impl Capabilities {
            /// All capabilities.
            pub const ALL: Self = Self { $($field: true),+ };
            /// No capabilities: assignments within the window only.
            pub const NONE: Self = Self { $($field: false),+ };
            /// Each capability alone, with its name. The order is that of the bits in C, so a later
            /// version adds at the end.
            pub const EACH: &[(&'static str, Self)] = &[$(($name, Self { $field: true, ..Self::NONE })),+];

            /// Returns the capabilities of `self` and of `other` together.
            #[must_use]
            pub const fn and(self, other: Self) -> Self {
                Self { $($field: self.$field | other.$field),+ }
            }

            /// Returns the name of the first capability that `self` needs and `offered` lacks.
            pub const fn missing_from(self, offered: Self) -> Option<&'static str> {
                $(if self.$field && !offered.$field {
                    return Some($name);
                })+
                None
            }
        }
    };
}

capabilities! {
    /// Path queues exist: assignments may exceed the congestion window.
    assign_ahead = "assign-ahead",
    /// Unsent segments can be taken back from a path's queue.
    recall = "recall",
    /// Copies of segments in flight can be sent on other paths.
    reinject = "reinject",
    /// The data in flight on a path can be limited below its congestion window.
    limit = "limit",
    /// A path's congestion window can be halved.
    penalize = "penalize",
    /// The engine knows where messages end ([`crate::Connection::message`]), and can defer streams.
    messages = "messages",
    /// Among streams of equal priority, the one whose message has the least data left goes first.
    /// This is a declaration, not a decision: the engine keeps its data queue in that order.
    shortest_first = "shortest-first",
    /// The engine knows for each path the oldest segment in flight that the path lacks
    /// ([`crate::Path::uncarried`]).
    uncarried = "uncarried",
    /// Each path retransmits its own losses, as TCP subflows do, instead of any path that the
    /// transport would choose. This is a declaration, not a decision: with copies of everything,
    /// each path delivers as if it were alone.
    repair = "repair",
}

impl Capabilities {
    /// True if `self` has all capabilities of `other`.
    pub const fn contains(self, other: Self) -> bool {
        other.missing_from(self).is_none()
    }
}

/// The frequent events, caused by every packet, that a scheduler wants to receive. It always
/// receives the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interest {
    /// [`Event::Sent`].
    pub sent: bool,
    /// [`Event::Acked`].
    pub acked: bool,
}

impl Interest {
    /// Both kinds.
    pub const ALL: Self = Self { sent: true, acked: true };
    /// Neither kind, which saves the engine the reports.
    pub const NONE: Self = Self { sent: false, acked: false };
    /// Acknowledgements only.
    pub const ACKED: Self = Self { sent: false, acked: true };
    /// Sent segments only.
    pub const SENT: Self = Self { sent: true, acked: false };

    /// Returns the events that `self` or `other` wants.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { sent: self.sent | other.sent, acked: self.acked | other.acked }
    }

    /// True if `event` has to be reported.
    #[inline]
    pub const fn covers(self, event: &Event) -> bool {
        match event {
            Event::Sent { .. } => self.sent,
            Event::Acked { .. } => self.acked,
            Event::Lost { .. } | Event::Timeout { .. } | Event::PathDown { .. } | Event::PathUp { .. } => {
                true
            }
        }
    }
}

/// Decides which path carries the next segments of a stream.
///
/// A scheduler is pure in its arguments and its own state: it has no clock, does no I/O and
/// allocates nothing per decision. The same calls give the same answers.
pub trait Scheduler {
    /// Called repeatedly after each event until the answer is [`Decision::Wait`], while there is
    /// something to decide about:
    /// * unassigned data;
    /// * segments in path queues too, for a scheduler that needs [`Capabilities::recall`];
    /// * always, for a scheduler that needs [`Capabilities::reinject`].
    ///
    /// So [`crate::Connection::unassigned`] may be 0.
    ///
    /// The facts are up to date before every call: they count the segments of the last decision,
    /// which have been sent if the windows admit them. An engine may stop asking before the answer
    /// is `Wait` if nothing is left to decide about.
    ///
    /// A scheduler that [waits without room](Scheduler::waits_without_room) must not distinguish
    /// assigned segments in flight from those still in the path's queue: an engine may send them
    /// before or after the next question.
    fn decide(&mut self, now: Time, connection: &crate::Connection, paths: &[crate::Path]) -> Decision;

    /// Decides as [`Scheduler::decide`], and writes the quantities of the rule that led to the
    /// decision, as one line for people. A path is written as `{0}`: its number in braces. An engine
    /// that records decisions with their reasons calls this method instead of `decide`. A scheduler
    /// without reasons writes nothing.
    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &crate::Connection,
        paths: &[crate::Path],
        _reason: &mut dyn fmt::Write,
    ) -> Decision {
        self.decide(now, connection, paths)
    }

    /// Called for every event that [`Scheduler::interest`] covers. The facts already contain the
    /// event.
    fn on_event(&mut self, _event: &Event, _connection: &crate::Connection, _paths: &[crate::Path]) {}

    /// Capabilities that the scheduler needs from its engine. An engine that lacks one refuses the
    /// scheduler and names the capability.
    fn needs(&self) -> Capabilities {
        Capabilities::NONE
    }

    /// The frequent events that the scheduler wants; asked once, before the first decision. A
    /// scheduler that ignores them should say so, because a report costs as much as a decision.
    fn interest(&self) -> Interest {
        Interest::ALL
    }

    /// True if the scheduler answers [`Decision::WAIT`] and keeps its state whenever no path has
    /// [room](crate::Path::room). The engine need not ask then; most opportunities to send end with
    /// that question. Asked once, before the first decision.
    fn waits_without_room(&self) -> bool {
        false
    }

    /// Memory that the data written by the application may take, in bytes, for schedulers whose
    /// rule sets that size. Linux' own scheduler does: the send buffers of its subflows add up to
    /// that of the connection.
    ///
    /// An engine that accounts for memory asks after each acknowledgement, unless the user set the
    /// size of the send buffer.
    fn send_memory(&self) -> Option<u64> {
        None
    }
}

/// Forwards all methods of [`Scheduler`] through a pointer.
macro_rules! forward {
    ($pointer:ty) => {
        impl<S: Scheduler + ?Sized> Scheduler for $pointer {
            fn decide(
                &mut self,
                now: Time,
                connection: &crate::Connection,
                paths: &[crate::Path],
            ) -> Decision {
                (**self).decide(now, connection, paths)
            }

            fn decide_with_reason(
                &mut self,
                now: Time,
                connection: &crate::Connection,
                paths: &[crate::Path],
                reason: &mut dyn fmt::Write,
            ) -> Decision {
                (**self).decide_with_reason(now, connection, paths, reason)
            }

            fn on_event(&mut self, event: &Event, connection: &crate::Connection, paths: &[crate::Path]) {
                (**self).on_event(event, connection, paths);
            }

            fn needs(&self) -> Capabilities {
                (**self).needs()
            }

            fn interest(&self) -> Interest {
                (**self).interest()
            }

            fn waits_without_room(&self) -> bool {
                (**self).waits_without_room()
            }

            fn send_memory(&self) -> Option<u64> {
                (**self).send_memory()
            }
        }
    };
}

forward!(&mut S);
#[cfg(feature = "alloc")]
forward!(alloc::boxed::Box<S>);
