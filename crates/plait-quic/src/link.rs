//! One path: a QUIC connection, whose datagrams are the path's packets, and whose only stream opens it.

use crate::error::Error;
use crate::identity::WRONG_CERTIFICATE;
use crate::settings::INITIAL_RTT;
use bytes::Bytes;
use noq_proto::{
    Connection, ConnectionError, ConnectionEvent, ConnectionHandle, Dir, Endpoint, Event, PathId,
    SendDatagramError, Side, StreamEvent, StreamId, VarInt,
};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Why a connection was lost, in the words of its user.
pub(crate) fn words(reason: &ConnectionError) -> String {
    match reason {
        ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() != u64::from(DONE) => {
            String::from_utf8_lossy(&close.reason).into_owned()
        }
        ConnectionError::ApplicationClosed(_) => "the peer has ended it".to_owned(),
        ConnectionError::TimedOut => "no answer".to_owned(),
        other if other.to_string().contains(WRONG_CERTIFICATE) => {
            "the certificate is not the one of the fingerprint: the other end is another machine, or was started anew \
             without --key"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// The reason for which an end closes a connection: nothing is left to do.
pub(crate) const DONE: u32 = 0;
/// The end refuses the session.
pub(crate) const REFUSED: u32 = 1;
/// Something is wrong with this connection only.
pub(crate) const BROKEN: u32 = 2;
/// Full datagrams do not get through on it.
pub(crate) const NARROW: u32 = 3;
/// The end cannot have this session now: it ends, was started anew, or has no room. Another session may succeed.
pub(crate) const AWAY: u32 = 4;

/// Whether a reason is a decision of the peer or of TLS about the session; silence, restarts and faults of one connection are none.
pub(crate) fn is_meant(reason: &ConnectionError) -> bool {
    match reason {
        ConnectionError::ApplicationClosed(close) => close.error_code.into_inner() <= u64::from(REFUSED),
        ConnectionError::TransportError(_) => true,
        // CRYPTO_ERROR (RFC 9000 §20.1): TLS' alerts.
        ConnectionError::ConnectionClosed(close) => (0x100..0x200).contains(&u64::from(close.error_code)),
        _ => false,
    }
}

/// Whether the peer's program cannot have the session now.
pub(crate) fn is_away(reason: &ConnectionError) -> bool {
    matches!(reason, ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == u64::from(AWAY))
}

/// Whether the peer's full datagrams do not get through.
pub(crate) fn is_narrow(reason: &ConnectionError) -> bool {
    matches!(reason, ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == u64::from(NARROW))
}

/// UDP datagrams for the network, all to one peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// The path, whose local address they leave from; a receiver has one socket, and says 0.
    pub path: usize,
    /// Where to.
    pub remote: SocketAddr,
    /// From which address, where the socket has several.
    pub source: Option<IpAddr>,
    /// Their payload, one after the other.
    pub bytes: Vec<u8>,
    /// Bytes of each but the last; `None` if there is only one.
    pub segment: Option<usize>,
}

/// Bytes of datagrams that leave at once (GSO) at most.
const MOST_AT_ONCE: u16 = 60_000;

/// A datagram of a size counts as one that the path does not carry after so many lost probes (RFC 8899 §5.1.2: MAX_PROBES).
const MAX_PROBES: u64 = 3;

/// One QUIC connection.
#[derive(Debug)]
pub(crate) struct Link {
    handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
    connected: bool,
    heard: Vec<u8>,
    /// What comes on the stream is taken by [`Link::drain`].
    drained: bool,
    lost: Option<ConnectionError>,
    closing: bool,
    /// Datagrams that were too large for noq.
    oversized: u64,
}

impl Link {
    pub(crate) fn new((handle, connection): (ConnectionHandle, Connection)) -> Self {
        let heard = Vec::new();
        Self {
            handle,
            connection,
            stream: None,
            connected: false,
            heard,
            drained: false,
            lost: None,
            closing: false,
            oversized: 0,
        }
    }

    /// The handshake is done.
    pub(crate) fn is_connected(&self) -> bool {
        self.connected
    }

    /// Whether noq's endpoint knows it by this handle.
    pub(crate) fn is(&self, handle: ConnectionHandle) -> bool {
        self.handle == handle
    }

    /// Why there is no connection any more.
    pub(crate) fn lost(&self) -> Option<&ConnectionError> {
        self.lost.as_ref()
    }

    /// This end has closed it.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Nothing is left to do for it: to be forgotten.
    pub(crate) fn is_drained(&self) -> bool {
        self.connection.is_drained()
    }

    pub(crate) fn handle_event(&mut self, event: ConnectionEvent) {
        self.connection.handle_event(event);
    }

    /// When [`Link::work`] must be called next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    /// After any input: timers, and what noq has to tell the endpoint and us. At most `limit` bytes of the stream are read.
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
                    self.listen(limit);
                }
                Event::Stream(StreamEvent::Readable { id }) if Some(id) == self.stream => self.listen(limit),
                _ => {}
            }
        }
    }

    fn listen(&mut self, limit: usize) {
        let Some(id) = self.stream.filter(|_| !self.drained) else { return };
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while self.heard.len() < limit
            && let Ok(Some(chunk)) = chunks.next(limit - self.heard.len())
        {
            self.heard.extend_from_slice(&chunk.bytes);
        }
        // What it asks to be sent leaves with the next `transmit` anyway.
        let _ = chunks.finalize();
    }

    /// What the peer has said on the stream so far.
    pub(crate) fn heard(&self) -> &[u8] {
        &self.heard
    }

    /// Says something on the stream, which the side opens that connects.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> Result<(), Error> {
        const UNSAID: Error = Error::Malformed("stream limit");
        if self.stream.is_none() {
            self.stream = self.connection.streams().open(Dir::Bi);
        }
        let id = self.stream.ok_or(UNSAID)?;
        match self.connection.send_stream(id).write(bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            _ => Err(UNSAID),
        }
    }

    /// Says as much on the stream as there is room for: how much that was.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> usize {
        let Some(id) = self.stream else { return 0 };
        self.connection.send_stream(id).write(bytes).unwrap_or(0)
    }

    /// From now on so many bytes may come on the stream before they are taken.
    pub(crate) fn widen(&mut self, window: u64) {
        self.drained = true;
        self.connection.set_receive_window(VarInt::from_u64(window).unwrap_or(VarInt::MAX));
    }

    /// The bytes that came on the stream since the last time.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Bytes)) {
        let Some(id) = self.stream else { return };
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            take(chunk.bytes);
        }
        // What it asks to be sent leaves with the next `transmit` anyway.
        let _ = chunks.finalize();
    }

    /// Bytes of UDP datagrams that came on each of its paths, as far as it still has them.
    pub(crate) fn carried(&mut self) -> Vec<(PathId, u64)> {
        let paths = self.connection.paths().into_iter();
        let bytes = |id| self.connection.path_stats(id).map(|stats| (id, stats.udp_rx.bytes));
        paths.filter_map(bytes).collect()
    }

    /// The round trip by noq's samples, which are those of the handshake at first.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.connection.rtt(PathId::ZERO).filter(|round_trip| *round_trip != INITIAL_RTT)
    }

    /// Bytes of a UDP datagram's payload that the path is known to carry, or taken to.
    pub(crate) fn mtu(&self) -> u16 {
        self.connection.current_mtu()
    }

    /// Whether probes of a larger datagram got lost, as often as MTU discovery tries.
    pub(crate) fn has_lost_probes(&mut self) -> bool {
        self.connection.path_stats(PathId::ZERO).is_some_and(|stats| stats.lost_plpmtud_probes >= MAX_PROBES)
    }

    /// Sends a packet of the path. One that cannot be sent is lost, as on any path.
    pub(crate) fn send(&mut self, now: Instant, packet: Bytes, route: Route, out: &mut Vec<Outgoing>) {
        match self.connection.datagrams().send(packet, false) {
            Err(SendDatagramError::Blocked(packet)) => {
                self.transmit(now, route, out);
                // noq has given away all that it had: there is room, or the connection is none any more.
                let _ = self.connection.datagrams().send(packet, false);
            }
            Err(SendDatagramError::TooLarge) => self.oversized += 1,
            Ok(()) | Err(SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled) => {}
        }
    }

    /// The next packet that arrived on the path.
    pub(crate) fn receive(&mut self) -> Option<Bytes> {
        self.connection.datagrams().recv()
    }

    /// All that leaves now.
    pub(crate) fn transmit(&mut self, now: Instant, route: Route, out: &mut Vec<Outgoing>) {
        let mut bytes = Vec::new();
        let fits = NonZeroUsize::new(usize::from(MOST_AT_ONCE / self.mtu())).unwrap_or(NonZeroUsize::MIN);
        while let Some(transmit) = self.connection.poll_transmit(now, route.burst.min(fits), &mut bytes) {
            out.push(Outgoing {
                path: route.path,
                remote: transmit.destination,
                source: transmit.src_ip,
                bytes: std::mem::take(&mut bytes),
                segment: transmit.segment_size,
            });
        }
    }

    /// Ends it, and tells the peer why.
    pub(crate) fn close(&mut self, now: Instant, code: u32, reason: &str) {
        self.closing = true;
        self.connection.close(now, VarInt::from_u32(code), Bytes::copy_from_slice(reason.as_bytes()));
    }

    pub(crate) fn oversized(&self) -> u64 {
        self.oversized
    }
}

/// Where a link's datagrams leave, and how many at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) path: usize,
    pub(crate) burst: NonZeroUsize,
}
