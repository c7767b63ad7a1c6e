//! The receiver's side of a transfer's [records](super::records). It compares each offered entry
//! with the receiver's folder and writes the wanted files.

mod existing;

use super::hashing::Hasher;
use super::partial::{self, Partial};
use super::receive_folder::{FinalSteps, Modes, ReceivedFile, SharedFolder, StoredFiles};
use super::receive_folder::{name_taken, names, time_of};
use super::records::{
    Digest, Entry, MAX_OPEN, Piece, ReceiverRecord, SenderRecord, SenderRecordReader, UNKNOWN, Verdict,
};
use crate::clients::Allowance;
use crate::error::Error;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{Instant, SystemTime};

enum Stage {
    /// Another transfer is using the name since this time.
    Blocked(Instant),
    /// Both ends hash bytes that the receiver already has, of the file itself or of its part.
    Compare { is_part: bool, bytes: u64, own: Option<Sha256>, theirs: Option<Digest> },
    /// The receiver has asked for the file.
    Wanted,
}

struct IncomingEntry {
    entry: Entry,
    stage: Stage,
    part: Option<Partial>,
    hash: Sha256,
    received: u64,
    resumed: u64,
}

/// The receiving application of a transfer.
pub struct Download {
    shared: SharedFolder,
    /// Counts the sizes of offered entries, and the received bytes of entries without a size.
    allowance: Allowance,
    entries: BTreeMap<u32, IncomingEntry>,
    final_steps: FinalSteps,
    /// Number of entries so far, and their total once the sender has announced it.
    next: u32,
    count: Option<u32>,
    hasher: Hasher,
    reader: SenderRecordReader,
    answers: Vec<u8>,
    finished: bool,
    received_files: Vec<ReceivedFile>,
    failed: Vec<(Vec<u8>, Error)>,
    stored: StoredFiles,
    /// Number of entries that failed, and the error of the first one.
    failures: usize,
    error: Option<Error>,
    carried: u64,
    kept_bytes: u64,
}

impl Download {
    pub(crate) fn new(shared: SharedFolder, allowance: Allowance) -> Self {
        Self {
            shared,
            allowance,
            entries: BTreeMap::new(),
            final_steps: FinalSteps::default(),
            next: 0,
            count: None,
            hasher: Hasher::default(),
            reader: SenderRecordReader::default(),
            answers: Vec::new(),
            finished: false,
            received_files: Vec::new(),
            failed: Vec::new(),
            stored: StoredFiles::default(),
            failures: 0,
            error: None,
            carried: 0,
            kept_bytes: 0,
        }
    }

    /// Receives files into this folder, which must exist. Files are not forced to the disk.
    ///
    /// # Errors
    /// Returns the error of opening the folder.
    pub fn into_folder(folder: PathBuf) -> io::Result<Self> {
        let shared = SharedFolder::open(Some(folder), Modes::Private, false, SystemTime::UNIX_EPOCH)?;
        Ok(Self::new(SharedFolder { syncs: false, ..shared }, Allowance::default()))
    }

    /// Takes the next bytes of the sender's stream.
    ///
    /// # Errors
    /// Returns an error if they break the protocol or cannot be kept. The transfer is then refused.
    pub fn take(&mut self, now: Instant, mut bytes: &[u8]) -> Result<(), Error> {
        while let Some(piece) = self.reader.next(&mut bytes)? {
            match piece {
                Piece::Bytes { entry, bytes } => self.write(entry, bytes)?,
                Piece::Record(record) => self.handle(now, record)?,
            }
        }
        Ok(())
    }

    fn handle(&mut self, now: Instant, record: SenderRecord) -> Result<(), Error> {
        const WRONG: Error = Error::Violation("a record that was not requested");
        match record {
            SenderRecord::Entry(entry) => {
                if self.entries.len() >= MAX_OPEN || self.count.is_some() {
                    return Err(Error::Violation("more entries than may be open"));
                }
                let known = Some(entry.size).filter(|size| *size != UNKNOWN);
                self.allowance.add(known.unwrap_or(0)).map_err(Error::NotStored)?;
                let number = self.next;
                self.next += 1;
                if number == 0 {
                    self.stored.path.clone_from(&entry.path);
                }
                self.begin(now, number, entry);
            }
            SenderRecord::Prefix { entry, digest } => {
                let Some(incoming) = self.entries.get_mut(&entry) else { return Ok(()) }; // refused meanwhile
                let Stage::Compare { theirs, .. } = &mut incoming.stage else { return Err(WRONG) };
                *theirs = Some(digest);
                self.compare(entry);
            }
            SenderRecord::Data { .. } => {}
            SenderRecord::End { entry, sound, digest } => {
                let wanted = |incoming: &IncomingEntry| matches!(incoming.stage, Stage::Wanted);
                match self.entries.get(&entry).map(wanted) {
                    Some(true) if sound => self.end(entry, digest),
                    Some(_) if !sound => {
                        let error = Error::NotStored("the sender could not read it".to_owned());
                        self.fail(entry, error, [0; 32]);
                    }
                    Some(_) => return Err(WRONG),
                    None => {}
                }
            }
            SenderRecord::Finish { count } => {
                if count != self.next {
                    return Err(Error::Violation("the number of entries"));
                }
                self.count = Some(count);
            }
        }
        Ok(())
    }

    fn answer(&mut self, answer: &ReceiverRecord) {
        answer.encode(&mut self.answers);
    }

    fn send_verdict(&mut self, entry: u32, verdict: Verdict, digest: Digest, reason: String) {
        self.answer(&ReceiverRecord::Verdict { entry, verdict, digest, reason });
    }

    fn request(&mut self, number: u32) {
        let from = self.entries.get(&number).map_or(0, |incoming| incoming.resumed);
        self.carried += from;
        self.answer(&ReceiverRecord::Want { entry: number, from });
    }

    /// Writes received bytes of a file.
    fn write(&mut self, number: u32, bytes: &[u8]) -> Result<(), Error> {
        let incoming = self.entries.get_mut(&number);
        if incoming.as_ref().is_none_or(|one| one.entry.size == UNKNOWN) {
            self.allowance.add(bytes.len() as u64).map_err(Error::NotStored)?;
        }
        // Bytes of a failed entry still arrive until its end, and are dropped.
        let Some(incoming) = incoming else { return Ok(()) };
        incoming.received += bytes.len() as u64;
        if !matches!(incoming.stage, Stage::Wanted) || incoming.received > incoming.entry.size {
            return Err(Error::Violation("bytes that were not asked for"));
        }
        self.carried += bytes.len() as u64;
        incoming.hash.update(bytes);
        let written = match &self.shared.folder {
            None => io::stdout().lock().write_all(bytes),
            Some(root) => match &mut incoming.part {
                Some(part) => part.write(bytes),
                empty => Partial::open(root, partial::name_of(&incoming.entry.path), incoming.resumed)
                    .and_then(|part| empty.insert(part).write(bytes)),
            },
        };
        // Bytes after a gap are useless, so a write error ends the transfer.
        written.map_err(|error| Error::NotStored(error.to_string()))
    }

    /// Completes a file after its end record.
    fn end(&mut self, number: u32, digest: Digest) {
        let Some(incoming) = self.entries.get_mut(&number) else { return };
        let own: Digest = incoming.hash.clone().finalize().into();
        let whole = incoming.entry.size == UNKNOWN || incoming.received == incoming.entry.size;
        if own != digest || !whole {
            return self.fail(number, Error::Differs, own);
        }
        match self.move_to_name(number) {
            Ok(()) => self.finish(number, own),
            Err(error) => self.fail(number, Error::NotStored(error.to_string()), own),
        }
    }

    /// Moves a complete file to its final name.
    fn move_to_name(&mut self, number: u32) -> io::Result<()> {
        let Some(incoming) = self.entries.get_mut(&number) else { return Ok(()) };
        let Some(root) = &self.shared.folder else { return io::stdout().lock().flush() };
        let mut part = match incoming.part.take() {
            Some(part) => part,
            None => Partial::open(root, partial::name_of(&incoming.entry.path), incoming.resumed)?,
        };
        let names = names(&incoming.entry.path);
        let (name, above) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        let (mode, modified) = (self.shared.modes.of(&incoming.entry), time_of(&incoming.entry));
        let (above, syncs) =
            (root.inner(above)?, self.final_steps.syncs(&self.shared, self.next, incoming.received));
        part.complete(mode, modified, syncs)?;
        part.persist(root, (&above, name), self.shared.replaces).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => name_taken(&incoming.entry.path),
            _ => error,
        })
    }

    fn finish(&mut self, number: u32, digest: Digest) {
        let Some(incoming) = self.entries.remove(&number) else { return };
        self.release(&incoming.entry.path);
        let (bytes, resumed) = (incoming.received, incoming.resumed);
        let received_file = ReceivedFile { path: incoming.entry.path, bytes, resumed, digest };
        self.stored.files += 1;
        self.stored.bytes += bytes;
        self.stored.resumed += resumed;
        self.stored.only = (self.next == 1).then(|| received_file.clone());
        self.received_files.push(received_file);
        self.send_verdict(number, Verdict::Stored, digest, String::new());
    }

    /// Reports a failed entry and releases its path.
    fn fail(&mut self, number: u32, error: Error, digest: Digest) {
        if let Some(incoming) = self.entries.get(&number)
            && !matches!(incoming.stage, Stage::Blocked(_))
        {
            let path = incoming.entry.path.clone();
            self.release(&path);
        }
        self.drop_entry(number, error, digest);
    }

    fn drop_entry(&mut self, number: u32, error: Error, digest: Digest) {
        let Some(incoming) = self.entries.remove(&number) else { return };
        let discards = matches!(error, Error::Differs) || incoming.entry.size == UNKNOWN;
        self.drop_part(incoming.part, discards);
        let (verdict, reason) = match &error {
            Error::Differs => (Verdict::Differs, String::new()),
            Error::NotStored(reason) => (Verdict::NotStored, reason.clone()),
            other => (Verdict::NotStored, other.to_string()),
        };
        self.send_verdict(number, verdict, digest, reason);
        self.failures += 1;
        self.error.get_or_insert(match &error {
            Error::NotStored(reason) => Error::NotStored(reason.clone()),
            _ => Error::Differs,
        });
        self.failed.push((incoming.entry.path, error));
    }

    fn drop_part(&mut self, part: Option<Partial>, discards: bool) {
        if let (Some(part), Some(root)) = (part, &self.shared.folder) {
            if discards {
                part.discard(root);
            } else {
                self.kept_bytes += part.leave(root);
            }
        }
    }

    fn release(&self, path: &[u8]) {
        self.shared.names.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    /// Does the work that needs no new bytes. Call it in every turn, and after [`Download::take`].
    ///
    /// # Errors
    /// Returns an error if the folder cannot store more. The transfer is then refused.
    pub fn advance(&mut self, now: Instant) -> Result<(), Error> {
        for (number, hash) in self.hasher.poll() {
            let Some(incoming) = self.entries.get_mut(&number) else { continue };
            let Stage::Compare { own, .. } = &mut incoming.stage else { continue };
            match hash {
                Ok(hash) => {
                    *own = Some(hash);
                    self.compare(number);
                }
                Err(error) => self.fail(number, Error::NotStored(error.to_string()), [0; 32]),
            }
        }
        let blocked = self.entries.iter().filter(|(_, one)| matches!(one.stage, Stage::Blocked(_)));
        let blocked: Vec<u32> = blocked.map(|(number, _)| *number).collect();
        blocked.into_iter().for_each(|number| self.claim(now, number));
        for part in self.entries.values_mut().filter_map(|incoming| incoming.part.as_mut()) {
            part.flush().map_err(|error| Error::NotStored(error.to_string()))?;
        }
        if self.count.is_some()
            && self.entries.is_empty()
            && !self.finished
            && self.final_steps.is_done(&self.shared)
        {
            self.finished = true;
            self.answer(&ReceiverRecord::Finished);
        }
        Ok(())
    }

    /// Takes the encoded answers for the sender.
    pub fn answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answers)
    }

    /// Returns the outcome after the end. With several entries, each also has its own verdict.
    pub fn outcome(&mut self) -> Option<Result<(), Error>> {
        if !self.finished {
            return None;
        }
        if self.failures == 0 {
            return Some(Ok(()));
        }
        let (failures, all) = (self.failures, self.next);
        let several = || Error::NotStored(format!("{failures} of {all} entries did not arrive"));
        Some(Err(self.error.take().filter(|_| self.next == 1).unwrap_or_else(several)))
    }

    /// Takes the files that arrived and the entries that failed since the last call.
    pub(crate) fn take_results(&mut self) -> (Vec<ReceivedFile>, Vec<(Vec<u8>, Error)>) {
        (std::mem::take(&mut self.received_files), std::mem::take(&mut self.failed))
    }

    /// Returns a summary of the files that were received completely.
    pub(crate) fn stored(&self) -> StoredFiles {
        self.stored.clone()
    }

    /// Returns the number of entries so far.
    pub(crate) fn entries(&self) -> u32 {
        self.next
    }

    /// Returns the number of file bytes that arrived or were already present.
    pub fn carried(&self) -> u64 {
        self.carried
    }

    /// Ends the transfer in any state. Parts stay on the disk. Returns the number of their bytes.
    pub fn keep_parts(&mut self) -> u64 {
        for (_, incoming) in std::mem::take(&mut self.entries) {
            if !matches!(incoming.stage, Stage::Blocked(_)) {
                self.release(&incoming.entry.path);
            }
            self.drop_part(incoming.part, incoming.entry.size == UNKNOWN);
        }
        self.kept_bytes
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.keep_parts();
    }
}
