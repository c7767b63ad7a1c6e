//! Payload of a session at the opening end.

use crate::error::Error;
use crate::session::Session;
use crate::terms::PathTerms;
use bytes::Bytes;
use plait_sched::{PathId, Scheduler, Time};
use std::time::Instant;

/// A file, or streams.
pub trait Payload {
    /// True for streams, which have no end of their own. Without data, only packets that keep the
    /// paths open show that the peer is there. Data that waits when the end stops still leaves.
    const ENDLESS: bool;

    /// Handles the payload that arrived. Returns the outcome, once there is one.
    fn receive<W: Scheduler>(&mut self, session: &mut Session<W>) -> Option<Result<(), Error>>;

    /// Appends all packets that leave now, with their paths.
    ///
    /// # Errors
    /// If the scheduler broke its contract, or the payload cannot be read.
    fn transmit<W: Scheduler>(
        &mut self,
        now: Instant,
        time: Time,
        session: &mut Session<W>,
        packets: &mut Vec<(PathId, Bytes)>,
    ) -> Result<(), Error>;

    /// Bytes that the peer does not have yet, if their number is known.
    fn left(&self) -> Option<u64> {
        None
    }

    /// Tells the peer the terms of a path, if they are new to it.
    fn report_terms(&mut self, _path: usize, _terms: PathTerms) {}

    /// Returns the time at which [`Payload::transmit`] must be called next.
    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
}
