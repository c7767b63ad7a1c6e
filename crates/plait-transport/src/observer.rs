//! Events for recording, as callbacks with empty bodies: an observer that ignores an event costs
//! nothing.

use plait_sched::{Connection, Decision, Duration, Path, PathId, PathState, Scheduler, Time};

/// A segment that is put on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The path that carries it.
    pub path: PathId,
    /// The number of this transmission, counted over the connection from 0.
    pub transmission: u64,
    /// Its number on the path, by which acknowledgements and losses name it.
    pub number: u64,
    /// The segment's number in the stream.
    pub segment: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// Why it is sent.
    pub reason: SendReason,
}

/// Why a segment is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendReason {
    /// For the first time.
    New,
    /// Again, because it was considered lost.
    Retransmission,
    /// Again, because the scheduler asked for a copy.
    Reinjection,
}

/// Receives all events of a sender or a receiver.
pub trait Observer {
    /// A segment was put on the wire.
    fn sent(&mut self, _now: Time, _sent: &Sent) {}
    /// Called once per transmission, when an acknowledgement first reports it as received on
    /// `path`, even if it had been declared lost. `waited` is the peer's delay of the
    /// acknowledgement, from the arrival of the newest transmission that it reports. Only Multipath
    /// QUIC calls it: its acknowledgements name transmissions.
    fn acknowledged(&mut self, _now: Time, _path: PathId, _number: u64, _waited: Duration) {}
    /// The transmission of this number on `path` was declared lost. Only Multipath QUIC calls it.
    fn lost(&mut self, _now: Time, _path: PathId, _number: u64) {}
    /// The scheduler decided; `connection` and `paths` are the facts that it saw.
    fn decided(&mut self, _now: Time, _decision: &Decision, _connection: &Connection, _paths: &[Path]) {}
    /// Whether the observer wants every decision. If not, a scheduler that
    /// [waits](plait_sched::Scheduler::waits_without_room) without room on any path is not asked in
    /// that case.
    fn hears_decisions(&self) -> bool {
        true
    }
    /// A text for the reason of the next decision
    /// ([`decide_with_reason`](plait_sched::Scheduler::decide_with_reason)), if the observer wants it.
    fn reason(&mut self) -> Option<&mut String> {
        None
    }
    /// A path changed its state.
    fn path_state(&mut self, _now: Time, _path: PathId, _state: PathState) {}
    /// A segment arrived at the receiver for the first time.
    fn arrived(&mut self, _now: Time, _path: PathId, _segment: u64, _bytes: u32) {}
    /// A segment arrived that had arrived before.
    fn duplicate(&mut self, _now: Time, _path: PathId, _segment: u64) {}
    /// A segment was handed to the application, in order.
    fn delivered(&mut self, _now: Time, _segment: u64, _bytes: u32) {}
    /// A segment arrived for which the receive buffer had no room.
    fn refused(&mut self, _now: Time, _path: PathId, _segment: u64) {}
}

/// Lets the scheduler decide, with its reason if the observer wants it. A function of its own keeps
/// decisions without a record fast.
#[cold]
#[inline(never)]
pub(crate) fn decide_with_reason(
    scheduler: &mut impl Scheduler,
    observer: &mut impl Observer,
    now: Time,
    connection: &Connection,
    paths: &[Path],
) -> Decision {
    match observer.reason() {
        None => scheduler.decide(now, connection, paths),
        Some(reason) => scheduler.decide_with_reason(now, connection, paths, reason),
    }
}

/// Records nothing.
impl Observer for () {
    #[inline]
    fn hears_decisions(&self) -> bool {
        false
    }
}
