//! The receiver's side of a transfer's [records](super::records). It compares each offered entry
//! with the inbox and writes the wanted files.

use super::hashing::Hasher;
use super::inbox::{Arrived, Ending, Kept, Modes, Shared, names, path_trouble, taken, time_of};
use super::partial::{self, Partial};
use super::records::{
    Answer, Digest, Entry, Kind, MAX_OPEN, Offered, OfferedReader, Piece, UNKNOWN, Verdict,
};
use crate::clients::Allowance;
use crate::error::Error;
use crate::names::shown_name;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

/// How long a file waits for its name if another transfer is using that name.
const NAME: Duration = Duration::from_secs(4);

enum Stage {
    /// Another transfer is using the name since this time.
    Blocked(Instant),
    /// Both ends hash bytes that the receiver already has, of the file itself or of its part.
    Compare { is_part: bool, bytes: u64, own: Option<Sha256>, theirs: Option<Digest> },
    /// The receiver has asked for the file.
    Wanted,
}

struct Arriving {
    entry: Entry,
    stage: Stage,
    part: Option<Partial>,
    hash: Sha256,
    got: u64,
    resumed: u64,
}

/// The receiving application of a transfer.
pub struct Download {
    shared: Shared,
    /// Counts the sizes of offered entries, and the received bytes of entries without a size.
    allowance: Allowance,
    entries: BTreeMap<u32, Arriving>,
    ending: Ending,
    /// Number of entries so far, and their total once the sender has announced it.
    next: u32,
    count: Option<u32>,
    hasher: Hasher,
    reader: OfferedReader,
    answers: Vec<u8>,
    finished: bool,
    arrived: Vec<Arrived>,
    failed: Vec<(Vec<u8>, Error)>,
    kept: Kept,
    /// Number of entries that failed, and the error of the first one.
    lost: usize,
    error: Option<Error>,
    carried: u64,
    left: u64,
}

impl Download {
    pub(crate) fn new(shared: Shared, allowance: Allowance) -> Self {
        Self {
            shared,
            allowance,
            entries: BTreeMap::new(),
            ending: Ending::default(),
            next: 0,
            count: None,
            hasher: Hasher::default(),
            reader: OfferedReader::default(),
            answers: Vec::new(),
            finished: false,
            arrived: Vec::new(),
            failed: Vec::new(),
            kept: Kept::default(),
            lost: 0,
            error: None,
            carried: 0,
            left: 0,
        }
    }

    /// Receives files into this folder, which must exist. Files are not forced to the disk.
    ///
    /// # Errors
    /// Returns the error of opening the folder.
    pub fn into_folder(place: PathBuf) -> io::Result<Self> {
        let shared = Shared::open(Some(place), Modes::Private, false, SystemTime::UNIX_EPOCH)?;
        Ok(Self::new(Shared { syncs: false, ..shared }, Allowance::default()))
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

    fn handle(&mut self, now: Instant, record: Offered) -> Result<(), Error> {
        const WRONG: Error = Error::Violation("a record of what was not asked for");
        match record {
            Offered::Entry(entry) => {
                if self.entries.len() >= MAX_OPEN || self.count.is_some() {
                    return Err(Error::Violation("more entries than may be open"));
                }
                let known = Some(entry.size).filter(|size| *size != UNKNOWN);
                self.allowance.add(known.unwrap_or(0)).map_err(Error::NotKept)?;
                let number = self.next;
                self.next += 1;
                if number == 0 {
                    self.kept.path.clone_from(&entry.path);
                }
                self.begin(now, number, entry);
            }
            Offered::Prefix { entry, digest } => {
                let Some(arriving) = self.entries.get_mut(&entry) else { return Ok(()) }; // refused meanwhile
                let Stage::Compare { theirs, .. } = &mut arriving.stage else { return Err(WRONG) };
                *theirs = Some(digest);
                self.compare(entry);
            }
            Offered::Data { .. } => {}
            Offered::End { entry, sound, digest } => {
                let wanted = |arriving: &Arriving| matches!(arriving.stage, Stage::Wanted);
                match self.entries.get(&entry).map(wanted) {
                    Some(true) if sound => self.end(entry, digest),
                    Some(_) if !sound => {
                        let error = Error::NotKept("the sender could not read it".to_owned());
                        self.fail(entry, error, [0; 32]);
                    }
                    Some(_) => return Err(WRONG),
                    None => {}
                }
            }
            Offered::Finish { count } => {
                if count != self.next {
                    return Err(Error::Violation("the number of entries"));
                }
                self.count = Some(count);
            }
        }
        Ok(())
    }

    /// Checks a new entry and looks for it in the inbox.
    fn begin(&mut self, now: Instant, number: u32, entry: Entry) {
        let refusal = match (path_trouble(&entry.path), &self.shared.folder) {
            (Some(trouble), _) => Some(trouble),
            (None, None) if number > 0 || entry.kind == Kind::Folder => {
                Some("the receiver writes one file to its standard output".to_owned())
            }
            _ => None,
        };
        let kind = entry.kind;
        let arriving = Arriving {
            entry,
            stage: Stage::Blocked(now),
            part: None,
            hash: Sha256::new(),
            got: 0,
            resumed: 0,
        };
        self.entries.insert(number, arriving);
        if let Some(reason) = refusal {
            return self.fail(number, Error::NotKept(reason), [0; 32]);
        }
        if kind == Kind::File {
            return self.claim(now, number);
        }
        let Some(arriving) = self.entries.remove(&number) else { return };
        let Some(folder) = self.shared.folder.clone() else { return };
        match folder.inner(&names(&arriving.entry.path)) {
            Ok(_) => {
                self.ending.folders.push(arriving.entry);
                self.judge(number, Verdict::Kept, [0; 32], String::new());
            }
            Err(error) => {
                self.entries.insert(number, arriving);
                self.fail(number, Error::NotKept(error.to_string()), [0; 32]);
            }
        }
    }

    fn answer(&mut self, answer: &Answer) {
        answer.encode(&mut self.answers);
    }

    fn judge(&mut self, entry: u32, verdict: Verdict, digest: Digest, reason: String) {
        self.answer(&Answer::Verdict { entry, verdict, digest, reason });
    }

    /// Claims the entry's path, unless another transfer is using it.
    fn claim(&mut self, now: Instant, number: u32) {
        let Some(arriving) = self.entries.get(&number) else { return };
        let Stage::Blocked(since) = arriving.stage else { return };
        let path = &arriving.entry.path;
        let mut taken = self.shared.names.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.insert(path.clone()) {
            drop(taken);
            self.look(number, false);
        } else if now.saturating_duration_since(since) >= NAME {
            drop(taken);
            let reason = format!("another file {} is arriving", shown_name(path));
            self.drop_entry(number, Error::NotKept(reason), [0; 32]);
        }
    }

    /// Looks for a file of this name (unless `knows_file`: it differs), or else for its part.
    fn look(&mut self, number: u32, knows_file: bool) {
        match self.try_look(number, knows_file) {
            Ok(true) => self.want(number),
            Ok(false) => {}
            Err(error) => self.fail(number, Error::NotKept(error.to_string()), [0; 32]),
        }
    }

    /// Returns true if the file is wanted without a comparison. Otherwise the comparison begins.
    fn try_look(&mut self, number: u32, knows_file: bool) -> io::Result<bool> {
        let Some(arriving) = self.entries.get_mut(&number) else { return Ok(false) };
        arriving.stage = Stage::Wanted;
        let Some(root) = self.shared.folder.clone() else { return Ok(true) };
        let (size, path) = (arriving.entry.size, &arriving.entry.path);
        let names = names(path);
        let (name, above) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        let mut found = None;
        if !knows_file && let Some(file) = root.inner(above)?.own_file(name, false)? {
            if file.metadata()?.len() == size {
                found = Some((false, size, file));
            } else if !self.shared.replaces {
                return Err(taken(path));
            }
        }
        let part = partial::name_of(path);
        if found.is_none()
            && size != UNKNOWN
            && let Some(file) = root.own_file(&part, false)?
        {
            let bytes = file.metadata()?.len();
            found = (1..=size).contains(&bytes).then_some((true, bytes, file));
        }
        let there = found.as_ref().map_or(0, |found| found.1);
        if size != UNKNOWN {
            partial::check_room(&root, size - there)?;
        }
        let Some((is_part, bytes, file)) = found else { return Ok(true) };
        arriving.stage = Stage::Compare { is_part, bytes, own: None, theirs: None };
        self.hasher.ask(number, bytes, Box::new(file));
        self.answer(&Answer::Have { entry: number, bytes });
        Ok(false)
    }

    fn want(&mut self, number: u32) {
        let from = self.entries.get(&number).map_or(0, |arriving| arriving.resumed);
        self.carried += from;
        self.answer(&Answer::Want { entry: number, from });
    }

    /// Compares the hashes of the present bytes, once both ends have computed them.
    fn compare(&mut self, number: u32) {
        let Some(arriving) = self.entries.get_mut(&number) else { return };
        let Stage::Compare { is_part, bytes, own: Some(own), theirs: Some(theirs) } = &arriving.stage else {
            return;
        };
        let (is_part, bytes, digest) = (*is_part, *bytes, own.clone().finalize());
        let is_same = digest[..] == theirs[..];
        if is_part {
            if is_same {
                arriving.hash = own.clone();
                (arriving.resumed, arriving.got) = (bytes, bytes);
            }
            arriving.stage = Stage::Wanted;
            self.want(number);
        } else if is_same {
            (arriving.resumed, arriving.got) = (bytes, bytes);
            self.carried += bytes;
            self.keep(number, digest.into());
        } else if self.shared.replaces {
            self.look(number, true);
        } else {
            let error = taken(&arriving.entry.path);
            self.fail(number, Error::NotKept(error.to_string()), [0; 32]);
        }
    }

    /// Writes received bytes of a file.
    fn write(&mut self, number: u32, bytes: &[u8]) -> Result<(), Error> {
        let arriving = self.entries.get_mut(&number);
        if arriving.as_ref().is_none_or(|one| one.entry.size == UNKNOWN) {
            self.allowance.add(bytes.len() as u64).map_err(Error::NotKept)?;
        }
        // Bytes of a failed entry still arrive until its end, and are dropped.
        let Some(arriving) = arriving else { return Ok(()) };
        arriving.got += bytes.len() as u64;
        if !matches!(arriving.stage, Stage::Wanted) || arriving.got > arriving.entry.size {
            return Err(Error::Violation("bytes that were not asked for"));
        }
        self.carried += bytes.len() as u64;
        arriving.hash.update(bytes);
        let written = match &self.shared.folder {
            None => io::stdout().lock().write_all(bytes),
            Some(root) => match &mut arriving.part {
                Some(part) => part.write(bytes),
                empty => Partial::open(root, partial::name_of(&arriving.entry.path), arriving.resumed)
                    .and_then(|part| empty.insert(part).write(bytes)),
            },
        };
        // Bytes after a gap are useless, so a write error ends the transfer.
        written.map_err(|error| Error::NotKept(error.to_string()))
    }

    /// Completes a file after its end record.
    fn end(&mut self, number: u32, digest: Digest) {
        let Some(arriving) = self.entries.get_mut(&number) else { return };
        let own: Digest = arriving.hash.clone().finalize().into();
        let whole = arriving.entry.size == UNKNOWN || arriving.got == arriving.entry.size;
        if own != digest || !whole {
            return self.fail(number, Error::Differs, own);
        }
        match self.name(number) {
            Ok(()) => self.keep(number, own),
            Err(error) => self.fail(number, Error::NotKept(error.to_string()), own),
        }
    }

    /// Moves a complete file to its final name.
    fn name(&mut self, number: u32) -> io::Result<()> {
        let Some(arriving) = self.entries.get_mut(&number) else { return Ok(()) };
        let Some(root) = &self.shared.folder else { return io::stdout().lock().flush() };
        let mut part = match arriving.part.take() {
            Some(part) => part,
            None => Partial::open(root, partial::name_of(&arriving.entry.path), arriving.resumed)?,
        };
        let names = names(&arriving.entry.path);
        let (name, above) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        let (mode, modified) = (self.shared.modes.of(&arriving.entry), time_of(&arriving.entry));
        let (above, syncs) = (root.inner(above)?, self.ending.syncs(&self.shared, self.next, arriving.got));
        part.complete(mode, modified, syncs)?;
        part.keep(root, (&above, name), self.shared.replaces).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => taken(&arriving.entry.path),
            _ => error,
        })
    }

    fn keep(&mut self, number: u32, digest: Digest) {
        let Some(arriving) = self.entries.remove(&number) else { return };
        self.release(&arriving.entry.path);
        let (bytes, resumed) = (arriving.got, arriving.resumed);
        let arrived = Arrived { path: arriving.entry.path, bytes, resumed, digest };
        self.kept.files += 1;
        self.kept.bytes += bytes;
        self.kept.resumed += resumed;
        self.kept.only = (self.next == 1).then(|| arrived.clone());
        self.arrived.push(arrived);
        self.judge(number, Verdict::Kept, digest, String::new());
    }

    /// Reports a failed entry and releases its path.
    fn fail(&mut self, number: u32, error: Error, digest: Digest) {
        if let Some(arriving) = self.entries.get(&number)
            && !matches!(arriving.stage, Stage::Blocked(_))
        {
            let path = arriving.entry.path.clone();
            self.release(&path);
        }
        self.drop_entry(number, error, digest);
    }

    fn drop_entry(&mut self, number: u32, error: Error, digest: Digest) {
        let Some(arriving) = self.entries.remove(&number) else { return };
        let discards = matches!(error, Error::Differs) || arriving.entry.size == UNKNOWN;
        self.drop_part(arriving.part, discards);
        let (verdict, reason) = match &error {
            Error::Differs => (Verdict::Differs, String::new()),
            Error::NotKept(reason) => (Verdict::NotKept, reason.clone()),
            other => (Verdict::NotKept, other.to_string()),
        };
        self.judge(number, verdict, digest, reason);
        self.lost += 1;
        self.error.get_or_insert(match &error {
            Error::NotKept(reason) => Error::NotKept(reason.clone()),
            _ => Error::Differs,
        });
        self.failed.push((arriving.entry.path, error));
    }

    fn drop_part(&mut self, part: Option<Partial>, discards: bool) {
        if let (Some(part), Some(root)) = (part, &self.shared.folder) {
            if discards {
                part.discard(root);
            } else {
                self.left += part.leave(root);
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
            let Some(arriving) = self.entries.get_mut(&number) else { continue };
            let Stage::Compare { own, .. } = &mut arriving.stage else { continue };
            match hash {
                Ok(hash) => {
                    *own = Some(hash);
                    self.compare(number);
                }
                Err(error) => self.fail(number, Error::NotKept(error.to_string()), [0; 32]),
            }
        }
        let blocked = self.entries.iter().filter(|(_, one)| matches!(one.stage, Stage::Blocked(_)));
        for number in blocked.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.claim(now, number);
        }
        for arriving in self.entries.values_mut() {
            if let Some(part) = &mut arriving.part {
                part.flush().map_err(|error| Error::NotKept(error.to_string()))?;
            }
        }
        if self.count.is_some()
            && self.entries.is_empty()
            && !self.finished
            && self.ending.is_done(&self.shared)
        {
            self.finished = true;
            self.answer(&Answer::Finished);
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
        if self.lost == 0 {
            return Some(Ok(()));
        }
        let several = || Error::NotKept(format!("{} of {} entries did not arrive", self.lost, self.next));
        Some(Err(self.error.take().filter(|_| self.next == 1).unwrap_or_else(several)))
    }

    /// Takes the files that arrived and the entries that failed since the last call.
    pub(crate) fn news(&mut self) -> (Vec<Arrived>, Vec<(Vec<u8>, Error)>) {
        (std::mem::take(&mut self.arrived), std::mem::take(&mut self.failed))
    }

    /// Returns a summary of the files that were received completely.
    pub(crate) fn kept(&self) -> Kept {
        self.kept.clone()
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
    pub fn leave(&mut self) -> u64 {
        for (_, arriving) in std::mem::take(&mut self.entries) {
            if !matches!(arriving.stage, Stage::Blocked(_)) {
                self.release(&arriving.entry.path);
            }
            self.drop_part(arriving.part, arriving.entry.size == UNKNOWN);
        }
        self.left
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.leave();
    }
}
