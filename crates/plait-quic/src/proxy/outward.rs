//! A connection to a target: its addresses one after the other, until one takes it.

use super::pipe::Socket;
use crate::streams::Reason;
use mio::Registry;
use mio::net::TcpStream;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// An address has so long to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Addresses of a name that are tried.
const MOST: usize = 4;

/// One that is being made.
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

    pub(super) fn break_off(self) {
        if let Some((socket, _)) = self.socket {
            socket.break_off();
        }
    }

    /// Goes on: the connection once it is there; why there is none once no address is left.
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
