//! The sender's stream, from the first unacknowledged byte: records, small files, and references to
//! large files. A retransmission reads its bytes again.
//!
//! A large file is hashed while it is sent. Bytes mostly leave in order, but a scheduler that
//! assigns packets ahead may send later bytes first. So the hash follows at a distance and reads
//! skipped bytes again.

use super::hashing::Content;
use super::records::{Digest, SenderRecord};
use crate::source::{ReadAhead, Source};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Distance in bytes at which the hash follows the highest offset read.
const LAG: u64 = 1 << 20;

/// Length of an end record in bytes.
const END: u64 = 38;

/// A large file that is being sent.
struct Large {
    content: ReadAhead<Content>,
    /// Size in bytes.
    size: u64,
    hash: Sha256,
    /// Number of bytes hashed so far.
    hashed: u64,
    /// The first read error. Zeros are sent in place of unreadable bytes.
    failed: Option<io::Error>,
    /// The encoded end record, after its first use.
    end: Option<Vec<u8>>,
}

impl Large {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) {
        if let Err(error) = self.content.read_at(offset, buffer) {
            self.failed.get_or_insert(error);
            buffer.fill(0);
        }
        let end = offset + buffer.len() as u64;
        if offset > self.hashed + LAG {
            self.follow(offset);
        }
        if (offset..end).contains(&self.hashed) {
            self.hash.update(&buffer[(self.hashed - offset) as usize..]);
            self.hashed = end;
        }
    }

    /// Hashes the file up to this offset.
    fn follow(&mut self, until: u64) {
        let mut buffer = vec![0; 1 << 16];
        while self.hashed < until && self.failed.is_none() {
            let count = (until - self.hashed).min(buffer.len() as u64) as usize;
            if let Err(error) = self.content.read_at(self.hashed, &mut buffer[..count]) {
                self.failed = Some(error);
            }
            self.hash.update(&buffer[..count]);
            self.hashed += count as u64;
        }
    }

    /// Returns the digest or the read error, once the whole file has been sent.
    fn outcome(&self) -> Option<Result<Digest, String>> {
        self.end.as_ref()?;
        let failed = self.failed.as_ref().map(|error| format!("it cannot be read: {error}"));
        Some(failed.map_or_else(|| Ok(self.hash.clone().finalize().into()), Err))
    }

    fn end(&mut self, entry: u32) -> &[u8] {
        if self.end.is_none() {
            self.follow(self.size);
            let (sound, digest) = (self.failed.is_none(), self.hash.clone().finalize().into());
            let mut bytes = Vec::new();
            SenderRecord::End { entry, sound, digest }.encode(&mut bytes);
            self.end = Some(bytes);
        }
        self.end.as_deref().unwrap_or_default()
    }
}

enum SpanSource {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// Zeros that fill a segment.
    Padding,
    /// Bytes of a large file, by its entry and the offset in it.
    Large(u32, u64),
    /// The end record of a large file, by its entry.
    End(u32),
}

struct Span {
    start: u64,
    length: u64,
    /// Whether the span holds bytes of a file.
    content: bool,
    source: SpanSource,
}

/// The sender's stream.
#[derive(Default)]
pub(super) struct Spans {
    spans: VecDeque<Span>,
    larges: BTreeMap<u32, Large>,
    /// Results of large files whose end record is acknowledged.
    read: BTreeMap<u32, Result<Digest, String>>,
    /// Length of the stream so far, in bytes.
    end: u64,
    /// Acknowledged bytes.
    acknowledged: u64,
    /// File bytes in fully acknowledged spans.
    carried: u64,
}

impl Spans {
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of unacknowledged bytes.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.end - self.acknowledged
    }

    /// Returns the number of acknowledged file bytes.
    pub(super) fn carried(&self) -> u64 {
        let first = self.spans.front().filter(|span| span.content);
        self.carried + first.map_or(0, |span| self.acknowledged.saturating_sub(span.start))
    }

    /// Handles an acknowledgement of the first `bytes` of the stream and drops fully acknowledged
    /// spans.
    pub(super) fn acknowledge(&mut self, bytes: u64) {
        self.acknowledged = bytes.clamp(self.acknowledged, self.end);
        while self.spans.front().is_some_and(|span| span.start + span.length <= bytes) {
            let Some(span) = self.spans.pop_front() else { break };
            self.carried += if span.content { span.length } else { 0 };
            if let SpanSource::End(entry) = span.source
                && let Some(read) = self.larges.remove(&entry).and_then(|large| large.outcome())
            {
                self.read.insert(entry, read);
            }
        }
    }

    fn push(&mut self, length: u64, content: bool, source: SpanSource) {
        if length > 0 {
            self.spans.push_back(Span { start: self.end, length, content, source });
            self.end += length;
        }
    }

    pub(super) fn push_record(&mut self, record: &SenderRecord) {
        // Consecutive records share one span.
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        let length = bytes.len() as u64;
        if let Some(Span { length: before, content: false, source: SpanSource::Bytes(last), .. }) =
            self.spans.back_mut()
            && last.len() < 4_096
        {
            last.extend(bytes);
            *before += length;
            self.end += length;
        } else {
            self.push(length, false, SpanSource::Bytes(bytes));
        }
    }

    /// Appends file bytes that are in memory.
    pub(super) fn push_bytes(&mut self, entry: u32, bytes: Vec<u8>) {
        let length = bytes.len() as u64;
        if length > 0 {
            self.push_record(&SenderRecord::Data { entry, length });
            self.push(length, true, SpanSource::Bytes(bytes));
        }
    }

    /// Appends a large file from an offset on, and its end record. `from` has the offset and the
    /// hash of the bytes before it.
    pub(super) fn push_large(&mut self, entry: u32, content: Content, size: u64, from: (u64, Sha256)) {
        let (from, hash) = from;
        let content = ReadAhead::new(content, size);
        self.larges.insert(entry, Large { content, size, hash, hashed: from, failed: None, end: None });
        self.push_record(&SenderRecord::Data { entry, length: size - from });
        self.push(size - from, true, SpanSource::Large(entry, from));
        self.push(END, false, SpanSource::End(entry));
    }

    /// Pads the stream to a multiple of `unit` bytes, so that its last segment is full.
    pub(super) fn pad(&mut self, unit: u64) {
        self.push(self.end.next_multiple_of(unit) - self.end, false, SpanSource::Padding);
    }

    /// Appends a segment of padding.
    pub(super) fn push_padding(&mut self, bytes: u64) {
        self.push(bytes, false, SpanSource::Padding);
    }

    /// Takes the SHA-256 of a large file, or its read error. Returns `None` until all of the file
    /// has been sent.
    pub(super) fn take_read(&mut self, entry: u32) -> Option<Result<Digest, String>> {
        self.read.remove(&entry).or_else(|| self.larges.get(&entry)?.outcome())
    }
}

impl Source for Spans {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut at = self.spans.partition_point(|span| span.start + span.length <= offset);
        let (mut offset, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let span = self.spans.get(at).filter(|span| span.start <= offset);
            let span = span.ok_or(io::ErrorKind::UnexpectedEof)?;
            let within = offset - span.start;
            let count = (span.length - within).min(rest.len() as u64) as usize;
            let (part, more) = rest.split_at_mut(count);
            match &span.source {
                SpanSource::Bytes(bytes) => part.copy_from_slice(&bytes[within as usize..][..count]),
                SpanSource::Padding => part.fill(0),
                SpanSource::Large(entry, from) => match self.larges.get_mut(entry) {
                    Some(large) => large.read(from + within, part),
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                },
                SpanSource::End(entry) => match self.larges.get_mut(entry) {
                    Some(large) => part.copy_from_slice(&large.end(*entry)[within as usize..][..count]),
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                },
            }
            offset += count as u64;
            rest = more;
            at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: usize) -> Vec<u8> {
        (0..bytes as u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
    }

    /// Reads segments out of order, as schedulers that assign packets ahead do.
    #[test]
    fn the_hash_is_that_of_the_whole_file_in_whichever_order_it_leaves() {
        let file = content(5_000_000);
        for order in [1_u64, 7, 4_999] {
            let mut spans = Spans::default();
            let from = (1_000, Sha256::new_with_prefix(&file[..1_000]));
            spans.push_large(3, Box::new(file.clone()), 5_000_000, from);
            spans.pad(1_000);
            let segments = spans.end() / 1_000;
            assert_eq!((spans.end() % 1_000, segments), (0, 5_000));
            let mut stream = vec![0; spans.end() as usize];
            for turn in 0..segments {
                let at = (turn * order % segments * 1_000) as usize;
                spans.read_at(at as u64, &mut stream[at..at + 1_000]).expect("it is there");
            }
            assert_eq!(&stream[13..13 + 4_999_000], &file[1_000..]);
            let digest: Digest = Sha256::digest(&file).into();
            let end = &stream[13 + 4_999_000..][..38];
            assert_eq!((end[5], &end[6..]), (1, &digest[..]));
            assert_eq!(spans.take_read(3), Some(Ok(digest)));
        }
    }

    #[test]
    fn what_is_acknowledged_is_forgotten_and_counted() {
        let mut spans = Spans::default();
        spans.push_bytes(0, vec![7; 100]);
        spans.push_large(1, Box::new(content(1_000)), 1_000, (0, Sha256::new()));
        spans.acknowledge(13 + 40);
        assert_eq!(spans.carried(), 40);
        spans.acknowledge(13 + 100 + 13 + 500);
        assert_eq!((spans.carried(), spans.unacknowledged()), (600, 538));
        assert!(spans.read_at(20, &mut [0; 4]).is_err(), "nobody asks for it again");
        spans.acknowledge(spans.end());
        assert_eq!((spans.carried(), spans.unacknowledged(), spans.larges.len()), (1_100, 0, 0));
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_is_not_sound() {
        let mut spans = Spans::default();
        spans.push_large(0, Box::new(content(500)), 1_000, (0, Sha256::new()));
        let mut stream = vec![0; spans.end() as usize];
        spans.read_at(0, &mut stream).expect("zeros take its place");
        assert_eq!(stream[13 + 1_000 + 5], 0);
        assert!(spans.take_read(0).is_some_and(|read| read.is_err()));
    }
}
