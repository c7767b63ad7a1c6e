//! The opening end as the loop around its sockets sees it.
//!
//! [`SessionOpener`](crate::session_opener::SessionOpener) has a connection per path,
//! [`interop::Sender`](crate::interop::Sender) one connection for all paths.

use crate::address_change::AddressChange;
use crate::connection::{DatagramBatch, ReceivedBatch};
use crate::connector::Progress;
use crate::error::Error;
use crate::pilot::SchedulerChange;
use plait_transport::Counters;
use std::io;
use std::time::Instant;

/// An end that opens the paths. After any input ([`OpeningEnd::handle_datagrams`],
/// [`OpeningEnd::handle_timeout`], use of the payload) call [`OpeningEnd::transmit`], and check
/// [`OpeningEnd::outcome`] and [`OpeningEnd::next_wakeup`].
pub trait OpeningEnd {
    /// Handles UDP datagrams that arrived at a path's local address.
    fn handle_datagrams(&mut self, now: Instant, path: usize, batch: &ReceivedBatch<'_>);

    /// Handles timers. Call it when [`OpeningEnd::next_wakeup`] has come; it is harmless at any
    /// other time.
    fn handle_timeout(&mut self, now: Instant);

    /// Notes that the network takes nothing more from a path's local address. The path is opened
    /// anew as soon as that works.
    fn handle_failure(&mut self, path: usize, trouble: &str);

    /// Handles a change of local addresses: see [`AddressChange`]. There are at most
    /// [`MAX_PATHS`](crate::settings::MAX_PATHS) paths.
    fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange);

    /// Ends the connection: the network reports that the peer cannot be reached.
    fn give_up(&mut self, reason: String);

    /// Ends the connection early: [`Error::Stopped`]. The datagrams of [`OpeningEnd::transmit`]
    /// tell the peer.
    fn stop(&mut self);

    /// Appends all datagrams that leave now. Once there is an [`OpeningEnd::outcome`], it closes
    /// the paths: send these datagrams, and stop.
    fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>);

    /// Returns the time at which [`OpeningEnd::handle_timeout`] must be called next.
    fn next_wakeup(&self) -> Option<Instant>;

    /// Returns the outcome, once there is one: `Ok` if the receiver has the file, by its SHA-256.
    /// Streams end with an error only.
    fn outcome(&self) -> Option<&Result<(), Error>>;

    /// Returns the outcome, and consumes the end.
    fn into_outcome(self) -> Option<Result<(), Error>>;

    /// Returns the state of the paths.
    fn progress(&self) -> Vec<Progress>;

    /// Returns the counters of the transport, or of QUIC.
    fn counters(&self) -> Counters;

    /// Ends the recording, if there is one. Returns any write error, even an earlier one.
    ///
    /// # Errors
    /// Write errors of the file.
    fn end_recording(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    /// Returns the changes of the scheduler.
    fn changes(&self) -> &[SchedulerChange] {
        &[]
    }

    /// Number of packets that did not fit into noq's datagrams. It must be 0.
    fn oversized(&self) -> u64 {
        0
    }
}
