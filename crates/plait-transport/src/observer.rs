//! What an engine may want to record, as callbacks with empty bodies: an observer that ignores an event costs nothing.

use plait_sched::{Connection, Decision, Duration, Path, PathId, PathState, Time};

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

/// Told of everything that happens in a sender or a receiver.
pub trait Observer {
    /// A segment was put on the wire.
    fn sent(&mut self, _now: Time, _sent: &Sent) {}
    /// The peer has the transmission of this number on `path`, as it was told just now for the first time; also if it was taken for lost
    /// before. The peer says that the newest of those that one acknowledgement tells of was there for `waited` before. Multipath QUIC tells, whose
    /// acknowledgements name transmissions.
    fn acknowledged(&mut self, _now: Time, _path: PathId, _number: u64, _waited: Duration) {}
    /// The transmission of this number on `path` is taken for lost. Multipath QUIC tells.
    fn lost(&mut self, _now: Time, _path: PathId, _number: u64) {}
    /// The scheduler decided; `connection` and `paths` are what it saw.
    fn decided(&mut self, _now: Time, _decision: &Decision, _connection: &Connection, _paths: &[Path]) {}
    /// Whether it wants to hear of every decision. If not, a scheduler that [waits](plait_sched::Scheduler::waits_without_room) where
    /// no path has room is not asked there.
    fn hears_decisions(&self) -> bool {
        true
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

/// Records nothing.
impl Observer for () {
    #[inline]
    fn hears_decisions(&self) -> bool {
        false
    }
}
