//! A UDP socket of a program or of a target.

use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Time without datagrams after which a flow is forgotten (RFC 4787 REQ-5: at least two minutes).
pub(super) const IDLE: Duration = Duration::from_secs(120);

/// Interval between two searches for idle flows.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Largest number of datagrams taken from one socket in a turn.
pub(super) const MAX_RECEIVES: usize = 256;

/// Largest datagram in bytes that a socket can deliver.
pub(super) const LONGEST: usize = 64 << 10;

/// Requested size of each socket buffer in bytes. The system may give less.
const BUFFER: usize = 2 << 20;

/// A UDP socket.
#[derive(Debug)]
pub(super) struct DatagramSocket {
    io: UdpSocket,
    pub(super) readable: bool,
}

impl DatagramSocket {
    /// Opens a socket that is bound to this local address.
    pub(super) fn bind(registry: &Registry, address: SocketAddr, token: usize) -> io::Result<Self> {
        let mut io = UdpSocket::bind(address)?;
        let socket = socket2::SockRef::from(&io);
        // The limits of the system may be lower.
        let _ = socket.set_recv_buffer_size(BUFFER);
        let _ = socket.set_send_buffer_size(BUFFER);
        registry.register(&mut io, Token(token), Interest::READABLE)?;
        Ok(Self { io, readable: true })
    }

    /// Opens a socket that only receives datagrams from this address.
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

    /// Receives the next datagram. Returns its length and its source.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        for _ in 0..MAX_RECEIVES {
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

    /// Sends a datagram to this address, or to the connected one. If the buffer is full, the
    /// datagram is lost, as in any queue.
    pub(super) fn send(&self, bytes: &[u8], to: Option<SocketAddr>) {
        let _ = match to {
            Some(to) => self.io.send_to(bytes, to),
            None => self.io.send(bytes),
        };
    }
}
