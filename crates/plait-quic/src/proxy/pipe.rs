//! A TCP connection and its stream.

use crate::files::sockets::Ready;
use crate::streams::{Reason, Streams};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::TcpKeepalive;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Bytes that are read from a connection at once.
pub(super) const PIECE: usize = 64 << 10;

/// A connection on which nothing moves is ended after so long, unless the user sets another time (RFC 5382 REQ-5: no sooner
/// than 2 hours and 4 minutes).
pub const IDLE: Duration = Duration::from_secs(2 * 3_600 + 4 * 60);

/// One of which an end has said its last is ended sooner (RFC 5382 REQ-5: no sooner than 4 minutes).
const CLOSING: Duration = Duration::from_secs(4 * 60);

/// The system asks a peer that is silent for so long whether it is there, and gives it up without answers.
const PROBE: Duration = Duration::from_secs(300);
const AGAIN: Duration = Duration::from_secs(30);

/// A connection, and what the system has said of it.
#[derive(Debug)]
pub(super) struct Socket {
    io: TcpStream,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// Its peer sends nothing more. Its last bytes may not be read yet.
    pub(super) closing: bool,
}

impl Socket {
    /// One that the system tells of from now on.
    pub(super) fn new(registry: &Registry, mut io: TcpStream, token: usize) -> io::Result<Self> {
        registry.register(&mut io, Token(token), Interest::READABLE | Interest::WRITABLE)?;
        // Data is in segments of our own already: waiting for more of it helps nobody.
        let _ = io.set_nodelay(true);
        let probes = TcpKeepalive::new().with_time(PROBE).with_interval(AGAIN);
        let _ = socket2::SockRef::from(&io).set_tcp_keepalive(&probes);
        Ok(Self { io, readable: false, writable: false, closing: false })
    }

    /// Adds readiness that the system has told.
    pub(super) fn note(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.writable |= ready.writable;
        self.closing |= ready.closing;
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

    /// The error that broke it off, once.
    fn broken(&self) -> io::Result<()> {
        self.io.take_error()?.map_or(Ok(()), Err)
    }

    /// To be dropped so that its peer sees that it was broken off (RST), not ended.
    pub(super) fn break_off(self) {
        self.set_breaks(true);
    }

    /// Sets whether its peer sees RST when the socket closes, with the end of this program as well.
    fn set_breaks(&self, breaks: bool) {
        let _ = socket2::SockRef::from(&self.io).set_linger(breaks.then_some(Duration::ZERO));
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

/// Both, joined. A connection that is dropped before both ways are at their ends is broken off: a program
/// at its other end would take the end of this program for the end of the data.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) socket: Socket,
    pub(super) stream: u32,
    heard_all: bool,
    said_all: bool,
    /// When something moved last.
    moved_at: Instant,
}

impl Pipe {
    pub(super) fn new(now: Instant, socket: Socket, stream: u32) -> Self {
        socket.set_breaks(true);
        Self { socket, stream, heard_all: false, said_all: false, moved_at: now }
    }

    /// Carries bytes both ways as far as there is room, `most` in all, which it counts down.
    pub(super) fn pump(
        &mut self,
        now: Instant,
        streams: &mut Streams,
        buffer: &mut [u8],
        most: &mut usize,
    ) -> Flow {
        let before = (*most, self.heard_all, self.said_all);
        let carried = self.carry(streams, buffer, most);
        if before != (*most, self.heard_all, self.said_all) {
            self.moved_at = now;
        }
        match carried {
            Err(_) => {
                streams.reset(self.stream, Reason::Broken);
                Flow::Broken
            }
            Ok(()) if self.heard_all && self.said_all => {
                self.socket.set_breaks(false);
                Flow::Over
            }
            Ok(()) => Flow::Open,
        }
    }

    /// Whether nothing has moved for so long that it is ended; sooner if an end has said its last.
    pub(super) fn is_idle(&self, now: Instant, idle: Duration) -> bool {
        let closing = self.heard_all || self.said_all || self.socket.closing;
        let most = if closing { idle.min(CLOSING) } else { idle };
        now.saturating_duration_since(self.moved_at) >= most
    }

    fn carry(&mut self, streams: &mut Streams, buffer: &mut [u8], most: &mut usize) -> io::Result<()> {
        if self.socket.closing {
            // Without room nothing is read, so that an error would not show.
            self.socket.broken()?;
        }
        while self.socket.readable && !self.heard_all {
            let room = streams.room(self.stream).min(buffer.len()).min(*most);
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
                    *most -= count;
                }
            }
        }
        while self.socket.writable && *most > 0 && !streams.peek(self.stream).is_empty() {
            let piece = streams.peek(self.stream);
            if let Some(count) = self.socket.write(&piece[..piece.len().min(*most)])? {
                streams.consume(self.stream, count);
                *most -= count;
            }
        }
        if !self.said_all && streams.is_ended(self.stream) {
            self.said_all = true;
            self.socket.finish();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::now;
    use std::net::TcpListener;

    /// A client is gone and its last bytes are not read: that ends sooner than silence.
    #[test]
    fn what_is_half_over_ends_sooner() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client =
            std::net::TcpStream::connect(listener.local_addr().expect("it has one")).expect("it listens");
        client.set_nonblocking(true).expect("it can be set");
        let poll = mio::Poll::new().expect("the system has one");
        let socket = Socket::new(poll.registry(), TcpStream::from_std(client), 1).expect("it is registered");
        let start = now();
        let mut pipe = Pipe::new(start, socket, 0);
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        assert!(!pipe.is_idle(after(2 * 3_600 + 239), IDLE) && pipe.is_idle(after(2 * 3_600 + 240), IDLE));
        pipe.socket.note(Ready { readable: true, writable: false, closing: true });
        assert!(!pipe.is_idle(after(239), IDLE) && pipe.is_idle(after(240), IDLE));
        assert!(pipe.is_idle(after(30), Duration::from_secs(30)), "a shorter time holds for all");
    }
}
