//! An offered entry, and the files that the receiver already has.

use super::{Download, IncomingEntry, Stage};
use crate::error::Error;
use crate::files::partial;
use crate::files::receive_folder::{invalid_path, name_taken, names};
use crate::files::records::{Entry, Kind, ReceiverRecord, UNKNOWN, Verdict};
use crate::names::shown_name;
use sha2::{Digest as _, Sha256};
use std::io;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How long a file waits for its name if another transfer is using that name.
const NAME_TIMEOUT: Duration = Duration::from_secs(4);

impl Download {
    /// Checks a new entry and looks for it in the receiver's folder.
    pub(super) fn begin(&mut self, now: Instant, number: u32, entry: Entry) {
        let refusal = match (invalid_path(&entry.path), &self.shared.folder) {
            (Some(trouble), _) => Some(trouble),
            (None, None) if number > 0 || entry.kind == Kind::Folder => {
                Some("the receiver writes one file to its standard output".to_owned())
            }
            _ => None,
        };
        let kind = entry.kind;
        let incoming = IncomingEntry {
            entry,
            stage: Stage::Blocked(now),
            part: None,
            hash: Sha256::new(),
            received: 0,
            resumed: 0,
        };
        self.entries.insert(number, incoming);
        if let Some(reason) = refusal {
            return self.fail(number, Error::NotStored(reason), [0; 32]);
        }
        if kind == Kind::File {
            return self.claim(now, number);
        }
        let Some(incoming) = self.entries.remove(&number) else { return };
        let Some(folder) = self.shared.folder.clone() else { return };
        match folder.inner(&names(&incoming.entry.path)) {
            Ok(_) => {
                self.final_steps.folders.push(incoming.entry);
                self.send_verdict(number, Verdict::Stored, [0; 32], String::new());
            }
            Err(error) => {
                self.entries.insert(number, incoming);
                self.fail(number, Error::NotStored(error.to_string()), [0; 32]);
            }
        }
    }

    /// Claims the entry's path, unless another transfer is using it.
    pub(super) fn claim(&mut self, now: Instant, number: u32) {
        let Some(incoming) = self.entries.get(&number) else { return };
        let Stage::Blocked(since) = incoming.stage else { return };
        let path = &incoming.entry.path;
        let mut taken = self.shared.names.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.insert(path.clone()) {
            drop(taken);
            self.find_existing(number, false);
        } else if now.saturating_duration_since(since) >= NAME_TIMEOUT {
            drop(taken);
            let reason = format!("another file {} is arriving", shown_name(path));
            self.drop_entry(number, Error::NotStored(reason), [0; 32]);
        }
    }

    /// Looks for a file of this name (unless `knows_file`: it differs), or else for its part.
    fn find_existing(&mut self, number: u32, knows_file: bool) {
        match self.try_find_existing(number, knows_file) {
            Ok(true) => self.request(number),
            Ok(false) => {}
            Err(error) => self.fail(number, Error::NotStored(error.to_string()), [0; 32]),
        }
    }

    /// Returns true if the file is wanted without a comparison. Otherwise the comparison begins.
    fn try_find_existing(&mut self, number: u32, knows_file: bool) -> io::Result<bool> {
        let Some(incoming) = self.entries.get_mut(&number) else { return Ok(false) };
        incoming.stage = Stage::Wanted;
        let Some(root) = self.shared.folder.clone() else { return Ok(true) };
        let (size, path) = (incoming.entry.size, &incoming.entry.path);
        let names = names(path);
        let (name, above) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        let mut found = None;
        if !knows_file && let Some(file) = root.inner(above)?.own_file(name, false)? {
            if file.metadata()?.len() == size {
                found = Some((false, size, file));
            } else if !self.shared.replaces {
                return Err(name_taken(path));
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
        incoming.stage = Stage::Compare { is_part, bytes, own: None, theirs: None };
        self.hasher.request(number, bytes, Box::new(file));
        self.answer(&ReceiverRecord::Have { entry: number, bytes });
        Ok(false)
    }

    /// Compares the hashes of the present bytes, once both ends have computed them.
    pub(super) fn compare(&mut self, number: u32) {
        let Some(incoming) = self.entries.get_mut(&number) else { return };
        let Stage::Compare { is_part, bytes, own: Some(own), theirs: Some(theirs) } = &incoming.stage else {
            return;
        };
        let (is_part, bytes, digest) = (*is_part, *bytes, own.clone().finalize());
        let is_same = digest[..] == theirs[..];
        if is_part {
            if is_same {
                incoming.hash = own.clone();
                (incoming.resumed, incoming.received) = (bytes, bytes);
            }
            incoming.stage = Stage::Wanted;
            self.request(number);
        } else if is_same {
            (incoming.resumed, incoming.received) = (bytes, bytes);
            self.carried += bytes;
            self.finish(number, digest.into());
        } else if self.shared.replaces {
            self.find_existing(number, true);
        } else {
            let error = name_taken(&incoming.entry.path);
            self.fail(number, Error::NotStored(error.to_string()), [0; 32]);
        }
    }
}
