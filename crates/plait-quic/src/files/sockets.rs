//! UDP sockets, and waiting for them.

use super::error_queue::{self, QueuedError};
use crate::connection::{DatagramBatch, ReceivedBatch};
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Registry, Token};
use noq_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::time::Duration;

/// Requested size of each socket buffer in bytes; the system may give less.
const BUFFER: usize = 4 << 20;

/// Largest size of one receive call in bytes: several datagrams from one peer (GRO).
const RECEIVE_BYTES: usize = 64 << 10;

/// Largest number of receive calls before timers are checked again.
const MAX_RECEIVES: usize = 8;

/// The first token of sources other than these sockets.
pub(crate) const FIRST_OTHER: usize = 1 << 16;

/// The token of notices about interfaces.
pub(super) const NOTICE: Token = Token(FIRST_OTHER - 1);

/// Largest number of batches in the send queue of a socket. Further batches are dropped.
const MAX_QUEUED: usize = 4_096;

/// Readiness of a source other than these sockets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer sends no more data, or the connection is broken.
    pub(crate) closing: bool,
}

struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    send_queue: VecDeque<DatagramBatch>,
}

/// UDP sockets by their index.
pub(crate) struct Sockets {
    poll: Poll,
    events: Events,
    sockets: Vec<Socket>,
    buffer: Vec<u8>,
    /// True if a socket may have more datagrams to read.
    more: bool,
    /// Bit mask of sockets with errors to read.
    erred: u32,
}

impl Sockets {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            events: Events::with_capacity(256),
            sockets: Vec::new(),
            buffer: vec![0; RECEIVE_BYTES * BATCH_SIZE],
            more: false,
            erred: 0,
        })
    }

    /// Opens another socket. Returns its local address.
    pub(crate) fn add(&mut self, local: SocketAddr, interface: Option<&str>) -> io::Result<SocketAddr> {
        let socket = self.open(self.sockets.len(), local, interface)?;
        let address = socket.io.local_addr()?;
        self.sockets.push(socket);
        Ok(address)
    }

    /// Replaces a socket. Its queued batches are lost.
    pub(crate) fn replace(
        &mut self,
        index: usize,
        local: SocketAddr,
        interface: Option<&str>,
    ) -> io::Result<()> {
        let socket = self.open(index, local, interface)?;
        self.poll.registry().deregister(&mut self.sockets[index].io)?;
        self.sockets[index] = socket;
        Ok(())
    }

    fn open(&self, index: usize, local: SocketAddr, interface: Option<&str>) -> io::Result<Socket> {
        let domain = socket2::Domain::for_address(local);
        let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, Some(socket2::Protocol::UDP))?;
        bind_interface(&socket, interface)?;
        socket.set_nonblocking(true)?;
        if local.is_ipv6() && local.ip().is_unspecified() {
            // Accept both families, if the system supports it.
            let _ = socket.set_only_v6(false);
        }
        socket.bind(&local.into())?;
        // The limits of the system may be lower.
        let _ = socket.set_send_buffer_size(BUFFER);
        let _ = socket.set_recv_buffer_size(BUFFER);
        let mut io = UdpSocket::from_std(socket.into());
        let state = UdpSocketState::new(UdpSockRef::from(&io))?;
        let token = Token(index);
        self.poll.registry().register(&mut io, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Socket { io, state, send_queue: VecDeque::new() })
    }

    /// Makes the system queue errors about sent packets, for [`Sockets::take_errors`].
    pub(super) fn enable_errors(&self, index: usize) {
        error_queue::enable(&self.sockets[index].io);
    }

    /// Takes the queued errors about packets of a socket.
    pub(super) fn take_errors(&mut self, index: usize) -> Vec<QueuedError> {
        let bit = 1_u32.checked_shl(index as u32).unwrap_or(0);
        let mut found = Vec::new();
        if self.erred & bit != 0 {
            self.erred &= !bit;
            while let Some(one) = error_queue::take(&self.sockets[index].io) {
                found.extend(one.filter(|one| !found.contains(one)));
            }
        }
        found
    }

    /// Returns the registry for further event sources, with tokens from [`FIRST_OTHER`] on.
    pub(crate) fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Returns tokens and readiness of these sources since the last wait.
    pub(crate) fn other_events(&self) -> impl Iterator<Item = (usize, Ready)> {
        let other_events = self.events.iter().filter(|event| event.token().0 >= FIRST_OTHER);
        other_events.map(|event| {
            let closing = event.is_error() || event.is_read_closed();
            let gone = closing || event.is_write_closed();
            let [readable, writable] = [event.is_readable() || gone, event.is_writable() || gone];
            (event.token().0, Ready { readable, writable, closing })
        })
    }

    /// Whether interfaces have changed since the last wait.
    pub(super) fn has_notice(&self) -> bool {
        self.events.iter().any(|event| event.token() == NOTICE)
    }

    pub(crate) fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Waits until a source is ready, or `most` has passed.
    pub(crate) fn wait(&mut self, most: Duration) -> io::Result<()> {
        let most = if std::mem::take(&mut self.more) { Duration::ZERO } else { most };
        match self.poll.poll(&mut self.events, Some(most)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            waited => waited?,
        }
        for event in self.events.iter().filter(|event| event.is_error()) {
            self.erred |=
                u32::try_from(event.token().0).ok().and_then(|bit| 1_u32.checked_shl(bit)).unwrap_or(0);
        }
        Ok(())
    }

    /// Passes the datagrams of a socket to `take`.
    pub(crate) fn receive(&mut self, index: usize, mut take: impl FnMut(&ReceivedBatch<'_>)) {
        let Socket { io, state, .. } = &self.sockets[index];
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        for round in 0..MAX_RECEIVES {
            let mut slices: Vec<IoSliceMut<'_>> =
                self.buffer.chunks_mut(RECEIVE_BYTES).map(IoSliceMut::new).collect();
            // Other errors come from packets sent earlier (ICMP); see `take_errors`.
            let count = match state.recv(UdpSockRef::from(io), &mut slices, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => continue,
            };
            for (meta, piece) in metas.iter().zip(self.buffer.chunks(RECEIVE_BYTES)).take(count) {
                take(&ReceivedBatch {
                    remote: meta.addr,
                    local: meta.dst_ip,
                    bytes: &piece[..meta.len],
                    segment: meta.stride,
                });
            }
            self.more |= round + 1 == MAX_RECEIVES;
        }
    }

    /// Sends on a socket after its queued batches. Errors mean that datagrams are lost.
    pub(crate) fn send_all(&mut self, index: usize, out: &mut Vec<DatagramBatch>) {
        self.send(index, None);
        for batch in out.drain(..) {
            self.send(index, Some(batch));
        }
    }

    /// Sends on a socket, at once or as soon as its buffer has room. A refused datagram is lost,
    /// and the system's error is returned.
    pub(crate) fn send(&mut self, index: usize, batch: Option<DatagramBatch>) -> Option<io::Error> {
        let socket = &mut self.sockets[index];
        if socket.send_queue.len() < MAX_QUEUED {
            socket.send_queue.extend(batch);
        }
        let (mut failure, mut again) = (None, false);
        while let Some(next) = socket.send_queue.front_mut() {
            let step = next.segment.unwrap_or(next.bytes.len()).max(1);
            let most = step * socket.state.max_gso_segments().get();
            let contents = &next.bytes[..next.bytes.len().min(most)];
            let transmit = Transmit {
                destination: next.remote,
                ecn: None,
                contents,
                segment_size: next.segment,
                src_ip: next.source,
            };
            match socket.state.try_send(UdpSockRef::from(&socket.io), &transmit) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The queue of the interface is full, which is an error with IP_RECVERR. The packet
                // is lost, as in any queue.
                Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {}
                // The error may be about an earlier packet (IP_RECVERR). Then this packet was not
                // sent, so try once more.
                Err(_) if !std::mem::replace(&mut again, true) => continue,
                Err(error) => failure = Some(error),
                Ok(()) => {}
            }
            again = false;
            if next.bytes.len() > most {
                next.bytes.drain(..most);
            } else {
                socket.send_queue.pop_front();
            }
        }
        if failure.is_some() {
            self.erred |= 1_u32.checked_shl(index as u32).unwrap_or(0);
        }
        failure
    }
}

/// Binds a socket to an interface, regardless of the routing table.
pub(crate) fn bind_interface(socket: &socket2::Socket, interface: Option<&str>) -> io::Result<()> {
    let Some(interface) = interface else { return Ok(()) };
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return socket.bind_device(Some(interface.as_bytes()));
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = (socket, interface);
        Err(io::Error::new(io::ErrorKind::Unsupported, "interfaces can be named on Linux only"))
    }
}
