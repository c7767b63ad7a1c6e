//! A TCP connection and its stream.

use crate::files::sockets::Ready;
use crate::streams::{Reason, Streams};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::TcpKeepalive;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Size in bytes of one read from a connection.
pub(super) const READ_BYTES: usize = 64 << 10;

/// Default time after which an idle connection is ended (RFC 5382 REQ-5: at least 2 hours and 4
/// minutes).
pub const IDLE: Duration = Duration::from_secs(2 * 3_600 + 4 * 60);

/// Time after which an idle connection is ended if one direction has ended (RFC 5382 REQ-5: at
/// least 4 minutes).
const CLOSING: Duration = Duration::from_secs(4 * 60);

/// Idle time before the system probes the peer, and interval of the probes. A peer without answers
/// is given up.
const PROBE: Duration = Duration::from_secs(300);
const AGAIN: Duration = Duration::from_secs(30);

/// A TCP connection and its readiness as reported by the system.
#[derive(Debug)]
pub(super) struct Socket {
    io: TcpStream,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// True if the peer sends no more data. Its last bytes may still be unread.
    pub(super) closing: bool,
}

impl Socket {
    /// Registers a connection for readiness events.
    pub(super) fn new(registry: &Registry, mut io: TcpStream, token: usize) -> io::Result<Self> {
        registry.register(&mut io, Token(token), Interest::READABLE | Interest::WRITABLE)?;
        // Data arrives in segments of the transport already, so Nagle's algorithm would only delay
        // it.
        let _ = io.set_nodelay(true);
        let probes = TcpKeepalive::new().with_time(PROBE).with_interval(AGAIN);
        let _ = socket2::SockRef::from(&io).set_tcp_keepalive(&probes);
        Ok(Self { io, readable: false, writable: false, closing: false })
    }

    /// Adds reported readiness.
    pub(super) fn note(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.writable |= ready.writable;
        self.closing |= ready.closing;
    }

    /// Reads bytes. Returns `None` if there are none now, and 0 at the end of the data.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        retried(&mut self.readable, || self.io.read(buffer))
    }

    /// Reads and drops all bytes. Returns true at the end of the connection.
    pub(super) fn skip(&mut self, buffer: &mut [u8]) -> bool {
        while self.readable {
            if let Ok(Some(0)) | Err(_) = self.read(buffer) {
                return true;
            }
        }
        false
    }

    /// Writes bytes. Returns the number written, or `None` if the system takes none now.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retried(&mut self.writable, || self.io.write(bytes))
    }

    /// Returns the result of connecting, or `None` while it is unknown.
    pub(super) fn connected(&self) -> Option<io::Result<()>> {
        match (self.io.take_error(), self.io.peer_addr()) {
            (Ok(Some(error)) | Err(error), _) => Some(Err(error)),
            (_, Ok(_)) => Some(Ok(())),
            (_, Err(error)) if error.kind() == io::ErrorKind::NotConnected => None,
            (_, Err(error)) => Some(Err(error)),
        }
    }

    /// Returns the local address and the peer's address.
    pub(super) fn addresses(&self) -> io::Result<[std::net::SocketAddr; 2]> {
        Ok([self.io.local_addr()?, self.io.peer_addr()?])
    }

    /// Returns the error that broke the connection, once.
    fn take_error(&self) -> io::Result<()> {
        self.io.take_error()?.map_or(Ok(()), Err)
    }

    /// Closes the socket with RST, so that the peer sees an abort instead of an end of the data.
    pub(super) fn abort(self) {
        self.set_abort_on_close(true);
    }

    /// Sets whether the peer gets RST when the socket closes, including when this process ends.
    fn set_abort_on_close(&self, aborts: bool) {
        let _ = socket2::SockRef::from(&self.io).set_linger(aborts.then_some(Duration::ZERO));
    }

    fn finish(&self) {
        let _ = self.io.shutdown(std::net::Shutdown::Write);
    }
}

/// Repeats an interrupted call. If the call would block, clears `ready` and returns `None`.
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

/// State of a pipe after some work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PipeState {
    /// Still open.
    Open,
    /// Both directions have ended.
    Closed,
    /// The TCP connection broke, and its stream was reset.
    Broken,
}

/// A TCP connection joined with its stream. If it is dropped before both directions have ended, the
/// TCP connection is reset. Otherwise the program at the other end would take the exit of this
/// process for the end of the data.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) socket: Socket,
    pub(super) stream: u32,
    read_finished: bool,
    write_finished: bool,
    /// Time of the last progress.
    progress_at: Instant,
}

impl Pipe {
    pub(super) fn new(now: Instant, socket: Socket, stream: u32) -> Self {
        socket.set_abort_on_close(true);
        Self { socket, stream, read_finished: false, write_finished: false, progress_at: now }
    }

    /// Carries bytes in both directions as far as there is room, at most `most` in total. `most` is
    /// reduced by that number.
    pub(super) fn pump(
        &mut self,
        now: Instant,
        streams: &mut Streams,
        buffer: &mut [u8],
        most: &mut usize,
    ) -> PipeState {
        let before = (*most, self.read_finished, self.write_finished);
        let carried = self.carry(streams, buffer, most);
        if before != (*most, self.read_finished, self.write_finished) {
            self.progress_at = now;
        }
        match carried {
            Err(_) => {
                streams.reset(self.stream, Reason::Broken);
                PipeState::Broken
            }
            Ok(()) if self.read_finished && self.write_finished => {
                self.socket.set_abort_on_close(false);
                PipeState::Closed
            }
            Ok(()) => PipeState::Open,
        }
    }

    /// Whether the pipe has been idle for too long. The limit is shorter if one direction has
    /// ended.
    pub(super) fn is_idle(&self, now: Instant, idle: Duration) -> bool {
        let closing = self.read_finished || self.write_finished || self.socket.closing;
        let most = if closing { idle.min(CLOSING) } else { idle };
        now.saturating_duration_since(self.progress_at) >= most
    }

    fn carry(&mut self, streams: &mut Streams, buffer: &mut [u8], most: &mut usize) -> io::Result<()> {
        if self.socket.closing {
            // Without room nothing is read, and the error would stay unnoticed.
            self.socket.take_error()?;
        }
        while self.socket.readable && !self.read_finished {
            let room = streams.room(self.stream).min(buffer.len()).min(*most);
            if room == 0 {
                break;
            }
            match self.socket.read(&mut buffer[..room])? {
                None => {}
                Some(0) => {
                    self.read_finished = true;
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
        if !self.write_finished && streams.is_ended(self.stream) {
            self.write_finished = true;
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

    /// The client is gone and its last bytes are unread. The shorter idle time applies.
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
