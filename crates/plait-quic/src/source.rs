//! Sources of the sent data.

use crate::error::Error;
use std::io;
use std::time::Instant;

/// Data of a sending end. It is read when it leaves, and again for each retransmission.
pub trait Source {
    /// Fills the buffer with the data at this offset.
    ///
    /// # Errors
    /// If the data cannot be read any more, which ends the transfer.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Fills the buffer for a retransmission. Data that is never retransmitted reads as zeros.
    ///
    /// # Errors
    /// Those of [`Source::read_at`].
    fn read_again(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_at(offset, buffer)
    }

    /// True if the data at this offset is of no use any more. Its segment leaves without payload,
    /// which tells the peer that it is over.
    fn is_void(&self, _offset: u64) -> bool {
        false
    }

    /// True if the data just read at this offset is to be sent on every path.
    fn is_redundant(&self, _offset: u64) -> bool {
        false
    }
}

impl Source for std::fs::File {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }
}

/// Application of a transfer at the sending end. It writes one ordered byte stream, and reads the
/// peer's stream.
pub trait Application: Source {
    /// Takes the next bytes of the peer's stream.
    ///
    /// # Errors
    /// If they break the protocol, which ends the transfer.
    fn receive(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Writes more data, if there is room, and fills up the last `unit` of so many bytes. Returns
    /// the length of the stream, of which the peer has `acknowledged` bytes.
    fn advance(&mut self, now: Instant, acknowledged: u64, unit: u64) -> u64;

    /// Returns the time at which [`Application::advance`] must be called next.
    fn next_wakeup(&self) -> Option<Instant>;

    /// Returns the outcome, once the peer has sent its last message.
    fn outcome(&mut self) -> Option<Result<(), Error>>;

    /// Bytes of all files, as far as known.
    fn size(&self) -> u64;

    /// Bytes of the files that the peer has, as far as known.
    fn carried(&self) -> u64;

    /// Bytes of the files that the peer had before the transfer.
    fn resumed(&self) -> u64;
}

/// A source with read-ahead, because segments mostly leave in order.
#[derive(Debug)]
pub struct ReadAhead<S> {
    source: S,
    /// Bytes of the source.
    size: u64,
    from: u64,
    /// Bytes that were read ahead, beginning at `from`.
    read: Vec<u8>,
}

/// Bytes of one read.
const READ_AHEAD: u64 = 64 << 10;

impl<S> ReadAhead<S> {
    /// Wraps a source of `size` bytes.
    pub fn new(source: S, size: u64) -> Self {
        Self { source, size, from: 0, read: Vec::new() }
    }
}

impl<S: Source> Source for ReadAhead<S> {
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
        // Retransmissions lie before the bytes read ahead. They are read separately, and do not
        // displace these bytes.
        if offset < self.from || end > self.size {
            return self.source.read_at(offset, buffer);
        }
        let bytes = READ_AHEAD.min(self.size - offset).max(buffer.len() as u64);
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

    /// Counts its reads.
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
        let mut ahead = ReadAhead::new(Counted(content.clone(), 0), 200_000);
        let mut buffer = [0; 1_000];
        let mut is_right = |ahead: &mut ReadAhead<Counted>, offset: usize| {
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
        let mut ahead = ReadAhead::new(Counted(content(), 0), 200_000);
        let mut buffer = [0; 1_000];
        for offset in [100_000, 5_000, 101_000, 6_000, 102_000] {
            ahead.read_at(offset, &mut buffer).expect("it is there");
        }
        assert_eq!(ahead.source.1, 3);
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        let mut ahead = ReadAhead::new(Counted(vec![7; 100], 0), 1_000);
        assert!(ahead.read_at(0, &mut [0; 50]).is_err(), "it is shorter than it was");
        assert!(ahead.read_at(0, &mut [0; 50]).is_err());
        let mut ahead = ReadAhead::new(Counted(vec![7; 100], 0), 100);
        assert!(ahead.read_at(90, &mut [0; 20]).is_err(), "beyond the end");
    }
}
