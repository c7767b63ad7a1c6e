//! The sender's side of a transfer's [records](super::records): the offered, wanted and sent files.
//!
//! All entries are offered ahead, so a small file costs no round trip of its own. The receiver asks
//! for a file from an offset on. If it already has a file of the same name, or a part, it first
//! asks for the SHA-256 of as many bytes.

use super::entry_content::{EntryContent, read_input};
use super::hashing::Hasher;
use super::records::{
    Digest, Entry, Kind, MAX_OPEN, ReceiverRecord, ReceiverRecordReader, SenderRecord, UNKNOWN, Verdict,
};
use super::spans::Spans;
use crate::error::Error;
use crate::source::{Application, Source};
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Files up to this size are read as a whole.
const SMALL: u64 = 256 << 10;

/// Limit of unacknowledged bytes in the stream, larger than the windows of common paths.
const MAX_UNACKNOWLEDGED: u64 = 32 << 20;

/// After this time without data, an end sends a segment of padding, so that each end
/// receives packets of the other.
const IDLE: Duration = Duration::from_secs(5);

/// The outcome of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntryOutcome {
    /// The receiver has the entry, with this SHA-256.
    Stored(Digest),
    /// The receiver has other content at this path.
    Differs,
    /// The receiver does not have the entry, for this reason.
    Failed(String),
}

struct Item {
    entry: Entry,
    content: EntryContent,
    /// The offset from which the receiver wants the file.
    from: Option<u64>,
    /// Number of first bytes whose hash the receiver asked for, and this hash.
    prefix_bytes: u64,
    prefix: Option<Sha256>,
    /// The SHA-256 of the sent file.
    digest: Option<Digest>,
    /// The read error, if there was one.
    read_error: Option<String>,
    outcome: Option<EntryOutcome>,
}

/// Standard input, read by a thread.
struct Input {
    entry: u32,
    pieces: mpsc::Receiver<io::Result<Vec<u8>>>,
    hash: Sha256,
}

/// The sending application of a transfer.
pub struct Upload {
    items: Vec<Item>,
    spans: Spans,
    /// Number of offered entries, and number of entries with a verdict.
    offered: usize,
    decided: usize,
    finished: bool,
    /// True after the receiver's `finished` record.
    receiver_finished: bool,
    /// Wanted files, in the order of sending.
    send_queue: VecDeque<u32>,
    hasher: Hasher,
    input: Option<Input>,
    reader: ReceiverRecordReader,
    /// Bytes read from standard input.
    streamed: u64,
    /// Bytes that the receiver had before, and bytes of the files that it has kept.
    resumed: u64,
    stored: u64,
    wrote_at: Option<Instant>,
}

impl Upload {
    /// Prepares the upload of these entries.
    pub fn new(items: Vec<(Entry, EntryContent)>) -> Self {
        let item = |(entry, content)| Item {
            entry,
            content,
            from: None,
            prefix_bytes: 0,
            prefix: None,
            digest: None,
            read_error: None,
            outcome: None,
        };
        Self {
            items: items.into_iter().map(item).collect(),
            spans: Spans::default(),
            offered: 0,
            decided: 0,
            finished: false,
            receiver_finished: false,
            send_queue: VecDeque::new(),
            hasher: Hasher::default(),
            input: None,
            reader: ReceiverRecordReader::default(),
            streamed: 0,
            resumed: 0,
            stored: 0,
            wrote_at: None,
        }
    }

    /// Returns each entry with its outcome, in the order of the entries.
    pub fn outcomes(&self) -> impl Iterator<Item = (&Entry, Option<&EntryOutcome>)> {
        self.items.iter().map(|item| (&item.entry, item.outcome.as_ref()))
    }

    /// Returns the size in bytes of the files that the receiver has kept.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    fn take(&mut self, answer: ReceiverRecord) -> Result<(), Error> {
        const WRONG: Error = Error::Violation("an answer about an entry that was not offered");
        let entry = match answer {
            ReceiverRecord::Want { entry, .. }
            | ReceiverRecord::Have { entry, .. }
            | ReceiverRecord::Verdict { entry, .. } => entry,
            ReceiverRecord::Finished if self.decided < self.items.len() => return Err(WRONG),
            ReceiverRecord::Finished => {
                self.receiver_finished = true;
                return Ok(());
            }
        };
        let offered = usize::try_from(entry).ok().filter(|entry| *entry < self.offered).ok_or(WRONG)?;
        let item = &mut self.items[offered];
        let size = if item.entry.size == UNKNOWN { 0 } else { item.entry.size };
        if item.outcome.is_some() {
            return Err(WRONG);
        }
        match answer {
            ReceiverRecord::Want { from, .. } => {
                let known = from == 0 || item.prefix.is_some() && item.prefix_bytes == from;
                if item.from.is_some() || from > size || !known || item.entry.kind == Kind::Folder {
                    return Err(WRONG);
                }
                item.from = Some(from);
                self.resumed += from;
                self.send_queue.push_back(entry);
            }
            ReceiverRecord::Have { bytes, .. } => {
                if item.from.is_some() || bytes > size {
                    return Err(WRONG);
                }
                (item.prefix_bytes, item.prefix) = (bytes, None);
                match item.content.open() {
                    Ok(content) => self.hasher.request(entry, bytes, content),
                    Err(error) => self.give_up(entry, &error),
                }
            }
            ReceiverRecord::Verdict { verdict, digest, reason, .. } => {
                let (was_present, is_file) = (item.from.is_none(), item.entry.kind == Kind::File);
                let read = self.spans.take_read(entry);
                let read_error = item.read_error.take().or(read.as_ref().and_then(|read| read.clone().err()));
                // A file that the receiver already had was compared by a prefix of its full length.
                let prefix = item.prefix.take().map(|hash| hash.finalize().into());
                let own = item.digest.or(read.and_then(Result::ok)).or(prefix);
                let same = !is_file || own == Some(digest);
                item.outcome = Some(match (read_error, verdict) {
                    (Some(read_error), _) => EntryOutcome::Failed(read_error),
                    (None, Verdict::Stored) if same => EntryOutcome::Stored(digest),
                    (None, Verdict::NotStored) => EntryOutcome::Failed(reason),
                    (None, _) => EntryOutcome::Differs,
                });
                if matches!(item.outcome, Some(EntryOutcome::Stored(_))) {
                    self.resumed += if was_present { size } else { 0 };
                    self.stored += if item.entry.size == UNKNOWN { self.streamed } else { size };
                }
                self.decided += 1;
            }
            ReceiverRecord::Finished => {}
        }
        Ok(())
    }

    /// Tells the receiver that a file cannot be read.
    fn give_up(&mut self, entry: u32, error: &io::Error) {
        self.items[entry as usize].read_error.get_or_insert_with(|| format!("it cannot be read: {error}"));
        self.spans.push_record(&SenderRecord::End { entry, sound: false, digest: [0; 32] });
    }

    /// Offers further entries.
    fn offer(&mut self) {
        while self.offered - self.decided < MAX_OPEN
            && let Some(item) = self.items.get(self.offered)
        {
            self.spans.push_record(&SenderRecord::Entry(item.entry.clone()));
            self.offered += 1;
        }
        if self.offered == self.items.len() && !self.finished {
            self.finished = true;
            self.spans.push_record(&SenderRecord::Finish { count: self.offered as u32 });
        }
    }

    /// Sends completed hashes that the receiver asked for.
    fn hash(&mut self) {
        for (entry, hash) in self.hasher.poll() {
            match hash {
                Ok(hash) => {
                    let digest = hash.clone().finalize().into();
                    self.spans.push_record(&SenderRecord::Prefix { entry, digest });
                    self.items[entry as usize].prefix = Some(hash);
                }
                Err(error) => self.give_up(entry, &error),
            }
        }
    }

    /// Sends a wanted file.
    fn send(&mut self, entry: u32) {
        let item = &mut self.items[entry as usize];
        if item.outcome.is_some() {
            return;
        }
        let (size, from) = (item.entry.size, item.from.unwrap_or(0));
        if matches!(item.content, EntryContent::Input) {
            self.input = Some(Input { entry, pieces: read_input(), hash: Sha256::new() });
            return;
        }
        let mut content = match item.content.open() {
            Ok(content) => content,
            Err(error) => return self.give_up(entry, &error),
        };
        if size > SMALL {
            let hash = item.prefix.take().filter(|_| from > 0).unwrap_or_default();
            return self.spans.push_large(entry, content, size, (from, hash));
        }
        let mut bytes = vec![0; size as usize];
        if let Err(error) = content.read_at(0, &mut bytes) {
            return self.give_up(entry, &error);
        }
        let digest = Sha256::digest(&bytes).into();
        item.digest = Some(digest);
        bytes.drain(..from as usize);
        self.spans.push_bytes(entry, bytes);
        self.spans.push_record(&SenderRecord::End { entry, sound: true, digest });
    }

    /// Sends new bytes of standard input.
    fn stream(&mut self) {
        while self.spans.unacknowledged() < MAX_UNACKNOWLEDGED
            && let Some(input) = &mut self.input
        {
            let entry = input.entry;
            if self.items[entry as usize].outcome.is_some() {
                self.input = None;
                return;
            }
            match input.pieces.try_recv() {
                Ok(Ok(bytes)) if !bytes.is_empty() => {
                    input.hash.update(&bytes);
                    self.streamed += bytes.len() as u64;
                    self.spans.push_bytes(entry, bytes);
                }
                Ok(Err(error)) => {
                    self.input = None;
                    self.give_up(entry, &error);
                }
                Err(mpsc::TryRecvError::Empty) => return,
                Ok(Ok(_)) | Err(mpsc::TryRecvError::Disconnected) => {
                    let digest = input.hash.clone().finalize().into();
                    self.items[entry as usize].digest = Some(digest);
                    self.spans.push_record(&SenderRecord::End { entry, sound: true, digest });
                    self.input = None;
                }
            }
        }
    }
}

impl Source for Upload {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.spans.read_at(offset, buffer)
    }
}

impl Application for Upload {
    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while let Some(answer) = self.reader.next(&mut bytes)? {
            self.take(answer)?;
        }
        Ok(())
    }

    fn advance(&mut self, now: Instant, acknowledged: u64, unit: u64) -> u64 {
        self.spans.acknowledge(acknowledged);
        let before = self.spans.end();
        self.offer();
        self.hash();
        self.stream();
        while self.input.is_none()
            && self.spans.unacknowledged() < MAX_UNACKNOWLEDGED
            && let Some(entry) = self.send_queue.pop_front()
        {
            self.send(entry);
        }
        self.spans.pad(unit);
        let wrote_at = *self.wrote_at.get_or_insert(now);
        if self.spans.unacknowledged() == 0 && now.saturating_duration_since(wrote_at) >= IDLE {
            self.spans.push_padding(unit);
        }
        if self.spans.end() > before || self.spans.unacknowledged() > 0 {
            self.wrote_at = Some(now);
        }
        self.spans.end()
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let wrote_at = self.wrote_at?;
        Some(if self.hasher.is_due() { wrote_at } else { wrote_at + IDLE })
    }

    fn outcome(&mut self) -> Option<Result<(), Error>> {
        if !self.receiver_finished {
            return None;
        }
        // With several entries, each has its own outcome.
        let only = self.items.first().filter(|_| self.items.len() == 1);
        Some(match only.and_then(|item| item.outcome.as_ref()) {
            Some(EntryOutcome::Differs) => Err(Error::Differs),
            Some(EntryOutcome::Failed(reason)) => Err(Error::NotStored(reason.clone())),
            _ => Ok(()),
        })
    }

    fn size(&self) -> u64 {
        self.items.iter().filter(|item| item.entry.size < UNKNOWN).map(|item| item.entry.size).sum()
    }

    fn carried(&self) -> u64 {
        self.resumed + self.spans.carried()
    }

    fn resumed(&self) -> u64 {
        self.resumed
    }
}
