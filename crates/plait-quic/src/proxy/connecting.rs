//! A TCP connection to a target. Its addresses are tried one after the other until one accepts.

use super::pipe::Socket;
use crate::streams::Reason;
use mio::Registry;
use mio::net::TcpStream;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Time for one address to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Largest number of addresses that are tried.
const MOST: usize = 4;

/// A connection that is being established.
#[derive(Debug)]
pub(super) struct Connecting {
    left: Vec<SocketAddr>,
    socket: Option<(Socket, Instant)>,
    failure: Reason,
}

impl Connecting {
    pub(super) fn new(mut addresses: Vec<SocketAddr>) -> Self {
        addresses.truncate(MOST);
        addresses.reverse();
        Self { left: addresses, socket: None, failure: Reason::Unresolved }
    }

    pub(super) fn socket(&mut self) -> Option<&mut Socket> {
        self.socket.as_mut().map(|(socket, _)| socket)
    }

    pub(super) fn abort(self) {
        if let Some((socket, _)) = self.socket {
            socket.abort();
        }
    }

    /// Continues connecting. Returns the established connection, or the reason of the last failure
    /// when no address is left.
    pub(super) fn step(
        &mut self,
        now: Instant,
        registry: &Registry,
        token: usize,
    ) -> Option<Result<Socket, Reason>> {
        loop {
            if let Some((socket, since)) = self.socket.take() {
                match socket.writable.then(|| socket.connected()).flatten() {
                    Some(Ok(())) => return Some(Ok(socket)),
                    Some(Err(error)) => self.failure = reason(&error),
                    None if now.duration_since(since) < PATIENCE => {
                        self.socket = Some((socket, since));
                        return None;
                    }
                    None => self.failure = Reason::Silent,
                }
            }
            let Some(address) = self.left.pop() else { return Some(Err(self.failure)) };
            match TcpStream::connect(address).and_then(|io| Socket::new(registry, io, token)) {
                Ok(socket) => self.socket = Some((socket, now)),
                Err(error) => self.failure = reason(&error),
            }
        }
    }
}

fn reason(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Reason::Refused,
        io::ErrorKind::TimedOut => Reason::Silent,
        _ => Reason::Unreachable,
    }
}
