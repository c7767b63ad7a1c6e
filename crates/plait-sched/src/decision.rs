//! What a scheduler answers, and what it is told.

use crate::time::{Duration, Time};
use crate::view::PathId;

/// One decision of a scheduler. The engine carries it out and asks again, until the answer is [`Decision::Wait`].
///
/// Engines match all of them: a further kind would be a change that breaks, so that the compiler shows where it is to be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Move the next `segments` segments of the data queue, in order, to the queue of `path`, which stays ascending. They leave
    /// when the path's congestion window and the receiver's window allow; the amount may exceed both ("assign ahead").
    Assign {
        /// The path that takes them; must be usable.
        path: PathId,
        /// How many; at least 1 and at most [`crate::Connection::unassigned`].
        segments: u32,
    },
    /// Send a copy of a segment that is in flight on another path. Nothing is sent if it has arrived meanwhile or the path
    /// carries it already. Needs [`Capabilities::reinject`].
    Reinject {
        /// The path that sends the copy; must be usable.
        path: PathId,
        /// The number of a segment that was sent: from [`crate::Connection::oldest_unacked`] up to the newest that
        /// [`Event::Sent`] told of.
        segment: u64,
    },
    /// Take everything that waits unsent in the queue of `path` back into the data queue. Needs [`Capabilities::recall`].
    Recall {
        /// The path whose queue is emptied.
        path: PathId,
    },
    /// From now on, let new data leave on `path` only while fewer than `in_flight` segments are in flight there, whatever
    /// its congestion window says. Needs [`Capabilities::limit`].
    Limit {
        /// The path that is held back.
        path: PathId,
        /// How many, at least 1; `u32::MAX` lifts the limit.
        in_flight: u32,
    },
    /// Halve the congestion window of `path`, because it holds up the others. Needs [`Capabilities::penalize`].
    Penalize {
        /// The path.
        path: PathId,
    },
    /// Let the other streams of the same priority go first: the one that the next segment is of goes behind them. It changes nothing where the data
    /// queue holds one stream, or segments that were taken back from a path, which go first. Needs [`Capabilities::messages`].
    Defer,
    /// Nothing more now. The scheduler is asked again after the next event, and no later than `until` if that is given.
    Wait {
        /// Ask again at this time even if nothing happens.
        until: Option<Time>,
    },
}

impl Decision {
    /// Wait for the next event.
    pub const WAIT: Self = Self::Wait { until: None };
}

/// What happened on a path, told to [`crate::Scheduler::on_event`] after the facts were updated.
///
/// More kinds may come; a scheduler ignores those that it does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A segment was put on the wire.
    Sent {
        /// On this path.
        path: PathId,
        /// The number of the segment.
        segment: u64,
        /// True if it had been sent before.
        retransmission: bool,
    },
    /// The receiver acknowledged segments that this path carried.
    Acked {
        /// The path that carried them.
        path: PathId,
        /// How many became acknowledged. 0 if it was a SYN, and the path may not carry data yet; only a scheduler with
        /// [`Scheduler::send_memory`] hears of that.
        segments: u32,
        /// The round-trip sample that came with it, if one was taken.
        rtt: Option<Duration>,
    },
    /// Segments were found lost from later acknowledgements.
    Lost {
        /// The path that lost them.
        path: PathId,
        /// How many.
        segments: u32,
    },
    /// The retransmission timer of a path ran out.
    Timeout {
        /// The path.
        path: PathId,
    },
    /// The path stopped being usable. The engine has taken back what waited in its queue, so that no data is stranded
    /// there, whether or not the scheduler recalls.
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
    /// The path on which it happened.
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

    /// What happened, in a word: `sent`, `acked`, `lost`, `timeout`, `path-down` or `path-up`.
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

/// What a scheduler needs, or what an engine offers, beyond assigning within the window.
///
/// More may come: write `Capabilities { recall: true, ..Capabilities::NONE }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    /// Assignments may exceed the congestion window: path queues exist.
    pub assign_ahead: bool,
    /// Unsent segments can be taken back from a path's queue.
    pub recall: bool,
    /// Copies of segments in flight can be sent on other paths.
    pub reinject: bool,
    /// What is in flight on a path can be limited below its congestion window.
    pub limit: bool,
    /// A path's congestion window can be halved.
    pub penalize: bool,
    /// It is known where messages end ([`crate::Connection::message`]), and streams can be deferred.
    pub messages: bool,
    /// Of streams of equal priority, the one whose message has the least left goes first. A declaration, not a decision: the engine keeps its
    /// data queue so.
    pub shortest_first: bool,
    /// It is known of each path which segment in flight it lacks ([`crate::Path::uncarried`]).
    pub uncarried: bool,
    /// A path retransmits its losses itself, as subflows of TCP do, and not whichever path the transport would choose. A declaration,
    /// not a decision: with copies of everything, each path delivers as if it were alone.
    pub repair: bool,
}

impl Capabilities {
    /// Everything.
    pub const ALL: Self = Self {
        assign_ahead: true,
        recall: true,
        reinject: true,
        limit: true,
        penalize: true,
        messages: true,
        shortest_first: true,
        uncarried: true,
        repair: true,
    };
    /// Assign within the window only.
    pub const NONE: Self = Self {
        assign_ahead: false,
        recall: false,
        reinject: false,
        limit: false,
        penalize: false,
        messages: false,
        shortest_first: false,
        uncarried: false,
        repair: false,
    };

    /// What either of the two has.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            assign_ahead: self.assign_ahead | other.assign_ahead,
            recall: self.recall | other.recall,
            reinject: self.reinject | other.reinject,
            limit: self.limit | other.limit,
            penalize: self.penalize | other.penalize,
            messages: self.messages | other.messages,
            shortest_first: self.shortest_first | other.shortest_first,
            uncarried: self.uncarried | other.uncarried,
            repair: self.repair | other.repair,
        }
    }

    /// The name of the first thing that `self` needs and `offered` lacks.
    pub const fn missing_from(self, offered: Self) -> Option<&'static str> {
        if self.assign_ahead && !offered.assign_ahead {
            Some("assign-ahead")
        } else if self.recall && !offered.recall {
            Some("recall")
        } else if self.reinject && !offered.reinject {
            Some("reinject")
        } else if self.limit && !offered.limit {
            Some("limit")
        } else if self.penalize && !offered.penalize {
            Some("penalize")
        } else if self.messages && !offered.messages {
            Some("messages")
        } else if self.shortest_first && !offered.shortest_first {
            Some("shortest-first")
        } else if self.uncarried && !offered.uncarried {
            Some("uncarried")
        } else if self.repair && !offered.repair {
            Some("repair")
        } else {
            None
        }
    }
}

/// Which of the events that every packet causes a scheduler wants to hear of. The others it always hears of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interest {
    /// [`Event::Sent`].
    pub sent: bool,
    /// [`Event::Acked`].
    pub acked: bool,
}

impl Interest {
    /// Both.
    pub const ALL: Self = Self { sent: true, acked: true };
    /// Neither: an engine saves the work of telling.
    pub const NONE: Self = Self { sent: false, acked: false };
    /// Acknowledgements only.
    pub const ACKED: Self = Self { sent: false, acked: true };
    /// What is sent only.
    pub const SENT: Self = Self { sent: true, acked: false };

    /// What either of the two wants.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { sent: self.sent | other.sent, acked: self.acked | other.acked }
    }

    /// True if `event` is to be told.
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
/// A scheduler is pure in its arguments and its own state: it has no clock, does no I/O and allocates nothing per
/// decision. The same calls give the same answers.
pub trait Scheduler {
    /// Called after each event, again and again until the answer is [`Decision::Wait`], while there is something to decide
    /// about: unassigned data; for a scheduler that needs [`Capabilities::recall`] also segments that wait in a path's
    /// queue; for one that needs [`Capabilities::reinject`], always. So [`crate::Connection::unassigned`] may be 0.
    ///
    /// The facts are up to date before every call: what the last decision assigned is counted, and sent if the windows
    /// admit it. An engine that stops asking because there is nothing left to decide about need not wait for the answer to
    /// be `Wait`.
    fn decide(&mut self, now: Time, connection: &crate::Connection, paths: &[crate::Path]) -> Decision;

    /// Told of every event that [`Scheduler::interest`] covers; the facts already contain it.
    fn on_event(&mut self, _event: &Event, _connection: &crate::Connection, _paths: &[crate::Path]) {}

    /// What the scheduler needs from its engine; an engine that lacks it refuses the scheduler by name.
    fn needs(&self) -> Capabilities {
        Capabilities::NONE
    }

    /// Which of the frequent events it wants to hear of; asked once, before the first decision. One that ignores them should say
    /// so: telling costs as much as deciding.
    fn interest(&self) -> Interest {
        Interest::ALL
    }

    /// True if it answers [`Decision::WAIT`], and nothing changes in it, whenever no path has [room](crate::Path::room). An engine
    /// need not ask then, and most opportunities end with that question. Asked once, before the first decision.
    fn waits_without_room(&self) -> bool {
        false
    }

    /// Memory that what the application has written may take, in bytes, for a scheduler whose rule says that, too (Linux' own does: its subflows'
    /// send buffers make the connection's). An engine that reckons memory asks with each acknowledgement, unless its user said how large the send
    /// buffer is.
    fn send_memory(&self) -> Option<u64> {
        None
    }
}

/// Forwards all of [`Scheduler`] to what a pointer points to.
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
