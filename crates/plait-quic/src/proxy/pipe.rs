//! A TCP connection and its stream.

use crate::streams::{Reason, Streams};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::io::{self, Read, Write};
use std::time::Duration;

/// Bytes that are read from a connection at once.
pub(super) const PIECE: usize = 64 << 10;

/// A connection, and what the system has said of it.
#[derive(Debug)]
pub(super) struct Socket {
    io: TcpStream,
    pub(super) readable: bool,
    pub(super) writable: bool,
}

impl Socket {
    /// One that the system tells of from now on.
    pub(super) fn new(registry: &Registry, mut io: TcpStream, token: usize) -> io::Result<Self> {
        registry.register(&mut io, Token(token), Interest::READABLE | Interest::WRITABLE)?;
        // Data is in segments of our own already: waiting for more of it helps nobody.
        let _ = io.set_nodelay(true);
        Ok(Self { io, readable: false, writable: false })
    }

    /// What came: `None` if nothing has, 0 if nothing more will.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        retried(&mut self.readable, || self.io.read(buffer))
    }

    /// Reads and drops all bytes. True at the end of the connection.
    pub(super) fn skip(&mut self, buffer: &mut [u8]) -> bool {
        while self.readable {
            if let Ok(Some(0)) | Err(_) = self.read(buffer) {
                return true;
            }
        }
        false
    }

    /// How much the system took; `None` if it takes none now.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retried(&mut self.writable, || self.io.write(bytes))
    }

    /// What became of connecting: `None` as long as it is not known.
    pub(super) fn connected(&self) -> Option<io::Result<()>> {
        match (self.io.take_error(), self.io.peer_addr()) {
            (Ok(Some(error)) | Err(error), _) => Some(Err(error)),
            (_, Ok(_)) => Some(Ok(())),
            (_, Err(error)) if error.kind() == io::ErrorKind::NotConnected => None,
            (_, Err(error)) => Some(Err(error)),
        }
    }

    /// Its own address, and the peer's.
    pub(super) fn addresses(&self) -> io::Result<[std::net::SocketAddr; 2]> {
        Ok([self.io.local_addr()?, self.io.peer_addr()?])
    }

    /// To be dropped so that its peer sees that it was broken off (RST), not ended.
    pub(super) fn break_off(self) {
        let _ = socket2::SockRef::from(&self.io).set_linger(Some(Duration::ZERO));
    }

    fn finish(&self) {
        let _ = self.io.shutdown(std::net::Shutdown::Write);
    }
}

/// Calls until it was not interrupted; a call that would wait says that the socket is not ready.
fn retried(ready: &mut bool, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        return match call() {
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                *ready = false;
                Ok(None)
            }
            Err(error) => Err(error),
        };
    }
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    /// It goes on.
    Open,
    /// Both ways are at their ends.
    Over,
    /// The connection was broken off, and so is the stream.
    Broken,
}

/// Both, joined.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) socket: Socket,
    pub(super) stream: u32,
    heard_all: bool,
    said_all: bool,
}

impl Pipe {
    pub(super) fn new(socket: Socket, stream: u32) -> Self {
        Self { socket, stream, heard_all: false, said_all: false }
    }

    /// Carries what there is and what there is room for, both ways.
    pub(super) fn pump(&mut self, streams: &mut Streams, buffer: &mut [u8]) -> Flow {
        match self.carry(streams, buffer) {
            Err(_) => {
                streams.reset(self.stream, Reason::Broken);
                Flow::Broken
            }
            Ok(()) if self.heard_all && self.said_all => Flow::Over,
            Ok(()) => Flow::Open,
        }
    }

    fn carry(&mut self, streams: &mut Streams, buffer: &mut [u8]) -> io::Result<()> {
        while self.socket.readable && !self.heard_all {
            let room = streams.room(self.stream).min(buffer.len());
            if room == 0 {
                break;
            }
            match self.socket.read(&mut buffer[..room])? {
                None => {}
                Some(0) => {
                    self.heard_all = true;
                    streams.finish(self.stream);
                }
                Some(count) => {
                    streams.write(self.stream, &buffer[..count]);
                }
            }
        }
        while self.socket.writable && !streams.peek(self.stream).is_empty() {
            if let Some(count) = self.socket.write(streams.peek(self.stream))? {
                streams.consume(self.stream, count);
            }
        }
        if !self.said_all && streams.is_ended(self.stream) {
            self.said_all = true;
            self.socket.finish();
        }
        Ok(())
    }
}
