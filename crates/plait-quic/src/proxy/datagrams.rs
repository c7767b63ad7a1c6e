//! A UDP socket of a program or of a target.

use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// A flow is forgotten after so long without a datagram (RFC 4787 REQ-5: two minutes at least).
pub(super) const IDLE: Duration = Duration::from_secs(120);

/// Flows are looked through for that so often.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// Datagrams that are taken from a socket before others get their turn.
pub(super) const ROUNDS: usize = 256;

/// The longest datagram that a socket can hand on.
pub(super) const LONGEST: usize = 64 << 10;

/// Bytes of a socket's buffer for each direction. The system may give less.
const BUFFER: usize = 2 << 20;

/// One socket.
#[derive(Debug)]
pub(super) struct Port {
    io: UdpSocket,
    pub(super) readable: bool,
}

impl Port {
    /// One that is bound there.
    pub(super) fn bind(registry: &Registry, address: SocketAddr, token: usize) -> io::Result<Self> {
        let mut io = UdpSocket::bind(address)?;
        let socket = socket2::SockRef::from(&io);
        // The system's limits may be lower.
        let _ = socket.set_recv_buffer_size(BUFFER);
        let _ = socket.set_send_buffer_size(BUFFER);
        registry.register(&mut io, Token(token), Interest::READABLE)?;
        Ok(Self { io, readable: true })
    }

    /// One that only hears this address.
    pub(super) fn connect(registry: &Registry, address: SocketAddr, token: usize) -> io::Result<Self> {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let port = Self::bind(registry, any, token)?;
        port.io.connect(address)?;
        Ok(port)
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The next datagram: its bytes, and from where it is.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        for _ in 0..ROUNDS {
            if !self.readable {
                return None;
            }
            match self.io.recv_from(buffer) {
                Ok(came) => return Some(came),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                // An ICMP error for an earlier datagram. Its sender notices the missing answer.
                Err(_) => {}
            }
        }
        None
    }

    /// Sends a datagram to this address, or to the connected one. A full buffer loses it, as any queue does.
    pub(super) fn send(&self, bytes: &[u8], to: Option<SocketAddr>) {
        let _ = match to {
            Some(to) => self.io.send_to(bytes, to),
            None => self.io.send(bytes),
        };
    }
}
