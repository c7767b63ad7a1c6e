//! Where what is sent comes from.

use crate::error::Error;
use std::io;
use std::time::Instant;

/// What an end sends: looked up when it leaves, and again when it leaves again.
pub trait Source {
    /// Fills the buffer from this place on.
    ///
    /// # Errors
    /// If it cannot be read any more, which ends the transfer.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Fills the buffer after a loss. Parts that leave once are zeros then.
    ///
    /// # Errors
    /// As [`Source::read_at`]'s.
    fn read_again(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_at(offset, buffer)
    }

    /// The bytes at this place are of no use any more. The peer is told that they are over.
    fn is_void(&self, _offset: u64) -> bool {
        false
    }

    /// What was read from this place is to be on every path.
    fn is_redundant(&self, _offset: u64) -> bool {
        false
    }
}

impl Source for std::fs::File {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }
}

/// The application of a transfer at the end that sends: it writes one ordered stream of bytes, and reads the peer's.
pub trait Application: Source {
    /// Takes the next bytes of the peer's stream.
    ///
    /// # Errors
    /// If they break the protocol, which ends the transfer.
    fn hear(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Writes more, if there is room for it, and fills up the last `unit` of so many bytes. Returns the bytes of the
    /// stream in all, of which the peer has `acknowledged`.
    fn advance(&mut self, now: Instant, acknowledged: u64, unit: u64) -> u64;

    /// When [`Application::advance`] must be called next.
    fn next_wakeup(&self) -> Option<Instant>;

    /// How it ended, once the peer has said its last.
    fn outcome(&mut self) -> Option<Result<(), Error>>;

    /// Bytes of files in all, as far as that is known.
    fn size(&self) -> u64;

    /// Of these, bytes that the peer has, as far as that is known.
    fn carried(&self) -> u64;

    /// Of these, bytes that it had before.
    fn resumed(&self) -> u64;
}

/// A file that is read ahead, because what leaves next is mostly what follows what left last.
#[derive(Debug)]
pub struct Ahead<S> {
    source: S,
    /// Bytes of it in all.
    size: u64,
    from: u64,
    /// What is there from that place on.
    read: Vec<u8>,
}

/// Bytes that are read at once.
const AHEAD: u64 = 64 << 10;

impl<S> Ahead<S> {
    /// Of what has so many bytes.
    pub fn new(source: S, size: u64) -> Self {
        Self { source, size, from: 0, read: Vec::new() }
    }
}

impl<S: Source> Source for Ahead<S> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        let mut there = |from: u64, read: &[u8]| {
            let start = usize::try_from(offset.checked_sub(from)?).ok()?;
            buffer.copy_from_slice(read.get(start..)?.get(..buffer.len())?);
            Some(())
        };
        if there(self.from, &self.read).is_some() {
            return Ok(());
        }
        // What is sent again is behind what was read last: it is read for itself, and does not push that away.
        if offset < self.from || end > self.size {
            return self.source.read_at(offset, buffer);
        }
        let bytes = AHEAD.min(self.size - offset).max(buffer.len() as u64);
        self.read.resize(bytes as usize, 0);
        self.from = offset;
        if let Err(error) = self.source.read_at(offset, &mut self.read) {
            self.read.clear();
            return Err(error);
        }
        buffer.copy_from_slice(&self.read[..buffer.len()]);
        Ok(())
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, buffer)
    }
}

impl Source for Vec<u8> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = self.get(from..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how often it is read.
    struct Counted(Vec<u8>, usize);

    impl Source for Counted {
        fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            self.1 += 1;
            self.0.read_at(offset, buffer)
        }
    }

    fn content() -> Vec<u8> {
        (0..200_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
    }

    #[test]
    fn what_follows_is_read_seldom_and_whatever_is_asked_for_is_right() {
        let content = content();
        let mut ahead = Ahead::new(Counted(content.clone(), 0), 200_000);
        let mut buffer = [0; 1_000];
        let mut is_right = |ahead: &mut Ahead<Counted>, offset: usize| {
            ahead.read_at(offset as u64, &mut buffer).expect("it is there");
            assert!(buffer == content[offset..offset + 1_000], "{offset}");
        };
        for offset in (0..200_000).step_by(1_000) {
            is_right(&mut ahead, offset);
        }
        assert_eq!(ahead.source.1, 4, "65,000 bytes can be used of each 64 KiB");
        for offset in [0, 150_000, 3, 199_000, 100_000, 64_500, 65_536] {
            is_right(&mut ahead, offset);
        }
    }

    #[test]
    fn what_is_sent_again_does_not_push_away_what_leaves_next() {
        let mut ahead = Ahead::new(Counted(content(), 0), 200_000);
        let mut buffer = [0; 1_000];
        for offset in [100_000, 5_000, 101_000, 6_000, 102_000] {
            ahead.read_at(offset, &mut buffer).expect("it is there");
        }
        assert_eq!(ahead.source.1, 3);
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        let mut ahead = Ahead::new(Counted(vec![7; 100], 0), 1_000);
        assert!(ahead.read_at(0, &mut [0; 50]).is_err(), "it is shorter than it was");
        assert!(ahead.read_at(0, &mut [0; 50]).is_err());
        let mut ahead = Ahead::new(Counted(vec![7; 100], 0), 100);
        assert!(ahead.read_at(90, &mut [0; 20]).is_err(), "beyond the end");
    }
}
