//! A transfer at the receiver, and its events.

use crate::accepted_session::AcceptedSession;
use crate::clients::ConnectedClient;
use crate::error::Error;
use crate::hello::Offer;
use crate::source::Source;
use bytes::Bytes;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub use crate::acceptor::Id;

/// An event of a receiver.
#[derive(Debug)]
pub enum TransferEvent {
    /// A sender with the secret offers a transfer, and waits for
    /// [`Receiver::accept`](crate::Receiver::accept) or
    /// [`Receiver::refuse`](crate::Receiver::refuse).
    Begun {
        /// Identifier of the transfer.
        id: Id,
        /// The offered files.
        offer: Offer,
        /// Client of the sender.
        from: ConnectedClient,
    },
    /// The next bytes of a transfer's stream, in order: see
    /// [`Receiver::write`](crate::Receiver::write) and
    /// [`Receiver::conclude`](crate::Receiver::conclude).
    Data {
        /// Identifier of the transfer.
        id: Id,
        /// The bytes.
        bytes: Bytes,
    },
    /// A peer presented a wrong secret.
    Rejected {
        /// Address of the peer.
        remote: SocketAddr,
    },
    /// A transfer has ended.
    Ended {
        /// Identifier of the transfer.
        id: Id,
        /// The offered files.
        offer: Offer,
        /// Client of the sender.
        from: ConnectedClient,
        /// `Ok` if the transfer was concluded and the sender was told, as far as this can be known.
        outcome: Result<Summary, Error>,
    },
}

/// Figures of a transfer.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Time from the first path to the end.
    pub duration: Duration,
    /// Bytes that arrived first on each path.
    pub paths: Vec<u64>,
    /// Longest time without data delivered in order.
    pub longest_gap: Duration,
}

/// Stream to the sender, from the first unacknowledged byte on.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    base: u64,
    bytes: Vec<u8>,
}

/// Size of the pieces in which acknowledged bytes are discarded.
const DISCARD_UNIT: u64 = 64 << 10;

impl SendBuffer {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Fills up the last segment of `unit` bytes. Returns the length of the stream.
    fn pad(&mut self, unit: u64) -> u64 {
        let end = (self.base + self.bytes.len() as u64).next_multiple_of(unit);
        self.bytes.resize((end - self.base) as usize, 0);
        end
    }

    fn discard(&mut self, acknowledged: u64) {
        if acknowledged >= self.base + DISCARD_UNIT {
            self.bytes.drain(..(acknowledged - self.base) as usize);
            self.base = acknowledged;
        }
    }
}

impl Source for SendBuffer {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let from = offset.checked_sub(self.base).and_then(|from| usize::try_from(from).ok());
        let found = from.and_then(|from| self.bytes.get(from..)?.get(..buffer.len()));
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// An incoming transfer.
pub(crate) type Transfer = AcceptedSession<TransferState>;

/// State of an incoming transfer.
#[derive(Debug, Default)]
pub(crate) struct TransferState {
    pub(crate) received: u64,
    pub(crate) send_buffer: SendBuffer,
    /// Bytes of `send_buffer` that the transport knows.
    written: u64,
    /// Outcome of the transfer, with its time.
    pub(crate) concluded: Option<(Instant, Result<(), Error>)>,
}

impl Transfer {
    /// Hands new bytes for the sender to the transport.
    pub(crate) fn extend(&mut self) {
        let TransferState { send_buffer, written, .. } = &mut self.state;
        send_buffer.discard(self.session.acknowledged());
        let end = send_buffer.pad(self.session.agreed().segment.into());
        self.session.extend(end - std::mem::replace(written, end));
    }

    /// True if the transfer is concluded and the sender has received all bytes for it.
    pub(crate) fn is_over(&self) -> bool {
        let TransferState { send_buffer, written, concluded, .. } = &self.state;
        let end = send_buffer.base + send_buffer.bytes.len() as u64;
        concluded.is_some() && *written == end && self.session.is_drained()
    }
}
