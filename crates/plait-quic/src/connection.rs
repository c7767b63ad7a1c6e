//! One path: a QUIC connection. Its datagrams are the path's packets, and its only stream opens it.

use crate::error::Error;
use crate::identity::WRONG_CERTIFICATE;
use crate::settings::INITIAL_RTT;
use bytes::{Bytes, BytesMut};
use noq_proto::{
    Connection, ConnectionError, ConnectionEvent, ConnectionHandle, Dir, Endpoint, Event, PathId,
    SendDatagramError, Side, StreamEvent, StreamId, VarInt,
};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Describes the loss of a connection in words for the user.
pub(crate) fn describe(reason: &ConnectionError) -> String {
    match reason {
        ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() != u64::from(DONE) => {
            String::from_utf8_lossy(&close.reason).into_owned()
        }
        ConnectionError::ApplicationClosed(_) => "the other end has ended it".to_owned(),
        ConnectionError::TimedOut => "no answer".to_owned(),
        other if other.to_string().contains(WRONG_CERTIFICATE) => {
            "the certificate is not the one of the fingerprint: the listening end is another machine, or was \
             restarted without --key"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// Close code: nothing is left to do.
pub(crate) const DONE: u32 = 0;
/// Close code: the end refuses the session.
pub(crate) const REFUSED: u32 = 1;
/// Close code: this connection alone has a fault.
pub(crate) const BROKEN: u32 = 2;
/// Close code: full datagrams do not get through on this connection.
pub(crate) const BLACK_HOLE: u32 = 3;
/// Close code: the end cannot have this session now. It is shutting down, was restarted, or has no
/// room. Another session may succeed.
pub(crate) const UNAVAILABLE: u32 = 4;

/// True if the peer or TLS rejected or ended the session on purpose. Silence, restarts and faults
/// of one connection do not count.
pub(crate) fn is_deliberate(reason: &ConnectionError) -> bool {
    match reason {
        ConnectionError::ApplicationClosed(close) => close.error_code.into_inner() <= u64::from(REFUSED),
        ConnectionError::TransportError(_) => true,
        // CRYPTO_ERROR (RFC 9000 §20.1): TLS' alerts.
        ConnectionError::ConnectionClosed(close) => (0x100..0x200).contains(&u64::from(close.error_code)),
        _ => false,
    }
}

/// True if the peer cannot have the session now.
pub(crate) fn is_unavailable(reason: &ConnectionError) -> bool {
    matches!(reason, ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == u64::from(UNAVAILABLE))
}

/// True if the peer's full datagrams do not get through.
pub(crate) fn is_black_hole(reason: &ConnectionError) -> bool {
    matches!(reason, ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == u64::from(BLACK_HOLE))
}

/// UDP datagrams to send, all to one peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatagramBatch {
    /// Path whose local address is the source. A receiver has one socket, and sets 0.
    pub path: usize,
    /// Destination.
    pub remote: SocketAddr,
    /// Source address, if the socket has several.
    pub source: Option<IpAddr>,
    /// Payloads of the datagrams, one after the other.
    pub bytes: Vec<u8>,
    /// Bytes of each datagram but the last; `None` for a single datagram.
    pub segment: Option<usize>,
}

/// UDP datagrams that arrived together from one peer.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedBatch<'a> {
    /// Source.
    pub remote: SocketAddr,
    /// Destination address, if the socket has several.
    pub local: Option<IpAddr>,
    /// Payloads of the datagrams, one after the other.
    pub bytes: &'a [u8],
    /// Bytes of each datagram but the last.
    pub segment: usize,
}

impl<'a> ReceivedBatch<'a> {
    /// Creates a batch of one datagram.
    pub fn single(remote: SocketAddr, local: Option<IpAddr>, bytes: &'a [u8]) -> Self {
        Self { remote, local, bytes, segment: bytes.len() }
    }

    /// Returns the payload of each datagram.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = BytesMut> {
        self.bytes.chunks(self.segment.max(1)).map(BytesMut::from)
    }
}

/// Most bytes of datagrams that leave at once (GSO).
const MAX_AT_ONCE: u16 = 60_000;

/// Lost probes of a size after which the path does not carry that size (RFC 8899 §5.1.2:
/// MAX_PROBES).
const MAX_PROBES: u64 = 3;

/// One QUIC connection.
#[derive(Debug)]
pub(crate) struct PathConnection {
    handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
    connected: bool,
    received: Vec<u8>,
    /// True once [`PathConnection::drain`] reads the stream.
    drained: bool,
    lost: Option<ConnectionError>,
    closing: bool,
    /// Number of packets that were too large for noq's datagrams.
    oversized: u64,
}

impl PathConnection {
    pub(crate) fn new((handle, connection): (ConnectionHandle, Connection)) -> Self {
        let received = Vec::new();
        Self {
            handle,
            connection,
            stream: None,
            connected: false,
            received,
            drained: false,
            lost: None,
            closing: false,
            oversized: 0,
        }
    }

    /// True once the handshake is done.
    pub(crate) fn is_connected(&self) -> bool {
        self.connected
    }

    /// True if noq's endpoint knows the connection by this handle.
    pub(crate) fn is(&self, handle: ConnectionHandle) -> bool {
        self.handle == handle
    }

    /// Returns the reason why the connection is lost.
    pub(crate) fn lost(&self) -> Option<&ConnectionError> {
        self.lost.as_ref()
    }

    /// True if this end has closed the connection.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// True if nothing is left to do for the connection, so that it can be forgotten.
    pub(crate) fn is_drained(&self) -> bool {
        self.connection.is_drained()
    }

    pub(crate) fn handle_event(&mut self, event: ConnectionEvent) {
        self.connection.handle_event(event);
    }

    /// Returns the time at which [`PathConnection::work`] must be called next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    /// Handles timers and noq's events, after any input. Buffers at most `limit` bytes of the
    /// stream.
    pub(crate) fn work(&mut self, now: Instant, endpoint: &mut Endpoint, limit: usize) {
        if self.connection.poll_timeout().is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now);
        }
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(answer) = endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(answer);
            }
        }
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Connected => self.connected = true,
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi })
                    if self.connection.side() == Side::Server =>
                {
                    self.stream = self.connection.streams().accept(Dir::Bi).or(self.stream);
                    self.read_stream(limit);
                }
                Event::Stream(StreamEvent::Readable { id }) if Some(id) == self.stream => {
                    self.read_stream(limit);
                }
                Event::Stream(
                    StreamEvent::Opened { .. }
                    | StreamEvent::Readable { .. }
                    | StreamEvent::Writable { .. }
                    | StreamEvent::Finished { .. }
                    | StreamEvent::Stopped { .. }
                    | StreamEvent::Available { .. },
                )
                | Event::HandshakeDataReady
                | Event::HandshakeConfirmed
                | Event::DatagramReceived
                | Event::DatagramsUnblocked
                | Event::Path(_)
                | Event::NatTraversal(_) => {}
            }
        }
    }

    fn read_stream(&mut self, limit: usize) {
        let Some(id) = self.stream.filter(|_| !self.drained) else { return };
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while self.received.len() < limit
            && let Ok(Some(chunk)) = chunks.next(limit - self.received.len())
        {
            self.received.extend_from_slice(&chunk.bytes);
        }
        // The next `transmit` sends any resulting frames anyway.
        let _ = chunks.finalize();
    }

    /// Returns the bytes that the peer has sent on the stream so far.
    pub(crate) fn received(&self) -> &[u8] {
        &self.received
    }

    /// Writes a message on the stream. The side that connects opens the stream.
    pub(crate) fn write_message(&mut self, bytes: &[u8]) -> Result<(), Error> {
        const NOT_WRITTEN: Error = Error::Malformed("stream limit");
        if self.stream.is_none() {
            self.stream = self.connection.streams().open(Dir::Bi);
        }
        let id = self.stream.ok_or(NOT_WRITTEN)?;
        match self.connection.send_stream(id).write(bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            _ => Err(NOT_WRITTEN),
        }
    }

    /// Writes as many bytes on the stream as there is room for, and returns their number.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> usize {
        let Some(id) = self.stream else { return 0 };
        self.connection.send_stream(id).write(bytes).unwrap_or(0)
    }

    /// Allows `window` bytes to arrive before they are read. From now on [`PathConnection::drain`]
    /// reads the stream.
    pub(crate) fn set_stream_window(&mut self, window: u64) {
        self.drained = true;
        self.connection.set_receive_window(VarInt::from_u64(window).unwrap_or(VarInt::MAX));
    }

    /// Passes the bytes that arrived on the stream since the last call to `take`.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Bytes)) {
        let Some(id) = self.stream else { return };
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            take(chunk.bytes);
        }
        // The next `transmit` sends any resulting frames anyway.
        let _ = chunks.finalize();
    }

    /// Returns the bytes of UDP datagrams that arrived on each path that noq still knows.
    pub(crate) fn received_by_path(&mut self) -> Vec<(PathId, u64)> {
        let paths = self.connection.paths().into_iter();
        let bytes = |id| self.connection.path_stats(id).map(|stats| (id, stats.udp_rx.bytes));
        paths.filter_map(bytes).collect()
    }

    /// Returns the round-trip time by noq's samples, at first those of the handshake.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.connection.rtt(PathId::ZERO).filter(|round_trip| *round_trip != INITIAL_RTT)
    }

    /// Bytes of UDP payload that the path is known, or assumed, to carry.
    pub(crate) fn mtu(&self) -> u16 {
        self.connection.current_mtu()
    }

    /// True if as many probes of a larger datagram were lost as MTU discovery sends.
    pub(crate) fn has_lost_probes(&mut self) -> bool {
        self.connection.path_stats(PathId::ZERO).is_some_and(|stats| stats.lost_plpmtud_probes >= MAX_PROBES)
    }

    /// Sends a packet of the path. A packet that cannot be sent counts as lost, as on any path.
    pub(crate) fn send(&mut self, now: Instant, packet: Bytes, egress: Egress, out: &mut Vec<DatagramBatch>) {
        match self.connection.datagrams().send(packet, false) {
            Err(SendDatagramError::Blocked(packet)) => {
                self.transmit(now, egress, out);
                // noq has sent all queued datagrams: now there is room, or the connection is lost.
                let _ = self.connection.datagrams().send(packet, false);
            }
            Err(SendDatagramError::TooLarge) => self.oversized += 1,
            Ok(()) | Err(SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled) => {}
        }
    }

    /// Returns the next packet that arrived on the path.
    pub(crate) fn receive(&mut self) -> Option<Bytes> {
        self.connection.datagrams().recv()
    }

    /// Appends all datagrams that leave now to `out`.
    pub(crate) fn transmit(&mut self, now: Instant, egress: Egress, out: &mut Vec<DatagramBatch>) {
        let mut bytes = Vec::new();
        let fits = NonZeroUsize::new(usize::from(MAX_AT_ONCE / self.mtu())).unwrap_or(NonZeroUsize::MIN);
        while let Some(transmit) = self.connection.poll_transmit(now, egress.burst.min(fits), &mut bytes) {
            out.push(DatagramBatch {
                path: egress.path,
                remote: transmit.destination,
                source: transmit.src_ip,
                bytes: std::mem::take(&mut bytes),
                segment: transmit.segment_size,
            });
        }
    }

    /// Closes the connection, and tells the peer the reason.
    pub(crate) fn close(&mut self, now: Instant, code: u32, reason: &str) {
        self.closing = true;
        self.connection.close(now, VarInt::from_u32(code), Bytes::copy_from_slice(reason.as_bytes()));
    }

    pub(crate) fn oversized(&self) -> u64 {
        self.oversized
    }
}

/// Path of a connection's datagrams, and the number that leaves at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Egress {
    pub(crate) path: usize,
    pub(crate) burst: NonZeroUsize,
}
