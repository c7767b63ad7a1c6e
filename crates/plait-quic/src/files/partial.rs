//! Incomplete files: `.plait-HASH.part` in the receiver's folder, where HASH comes from the SHA-256
//! of the path. An interrupted transfer leaves its part for the next transfer of the same path.

use super::folder::Folder;
use crate::identity::hexadecimal;
use crate::names::PART;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::statvfs::fstatvfs;
use sha2::{Digest as _, Sha256};
use std::fs::{File, FileTimes, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Suffix of the name of a part.
const END: &str = ".part";

/// Parts that were not written for this long are removed.
pub(super) const EXPIRES: Duration = Duration::from_secs(14 * 24 * 3_600);

/// Bytes that are written at once: those of one turn of the loop, which may be hundreds of packets.
const CHUNK: usize = 256 << 10;

/// Returns the name of the part for the file at this path.
pub(super) fn name_of(path: &[u8]) -> Vec<u8> {
    let digest: [u8; 32] = Sha256::digest(path).into();
    format!("{PART}{}{END}", hexadecimal(&digest[..16])).into_bytes()
}

/// Returns an error if the folder has less free space than the missing bytes.
pub(super) fn check_room(folder: &Folder, missing: u64) -> io::Result<()> {
    let space = fstatvfs(folder.file())?;
    // The types of these values differ between systems.
    let free = space.blocks_available() as u64 * space.fragment_size() as u64;
    if missing > free {
        let text = format!("there is room for {free} of {missing} bytes");
        return Err(io::Error::new(io::ErrorKind::StorageFull, text));
    }
    Ok(())
}

/// A file that is arriving. Its lock keeps other processes from writing it.
pub(super) struct Partial {
    file: Flock<File>,
    name: Vec<u8>,
    /// Bytes for the next [`Partial::flush`].
    buffer: Vec<u8>,
}

impl Partial {
    /// Opens the part of this name and truncates it to the first `bytes`.
    pub(super) fn open(folder: &Folder, name: Vec<u8>, bytes: u64) -> io::Result<Self> {
        let file = folder.own_file(&name, true)?.ok_or(io::ErrorKind::NotFound)?;
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "this file is arriving already"))?;
        file.set_len(bytes)?;
        Ok(Self { file, name, buffer: Vec::new() })
    }

    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Appends bytes. They reach the file with the next [`Partial::flush`] at the latest.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < CHUNK { Ok(()) } else { self.flush() }
    }

    /// Writes all buffered bytes to the file.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.buffer);
        // After an error, a later write would put the bytes at a wrong offset, so they are dropped.
        self.buffer.clear();
        written
    }

    /// Writes the rest of the file and sets its permissions and modification time. With `syncs`,
    /// also forces it to the disk.
    pub(super) fn complete(
        &mut self,
        mode: u32,
        modified: Option<SystemTime>,
        syncs: bool,
    ) -> io::Result<()> {
        self.flush()?;
        self.file.set_permissions(Permissions::from_mode(mode))?;
        if let Some(modified) = modified {
            self.file.set_times(FileTimes::new().set_modified(modified))?;
        }
        if syncs { self.file.sync_all() } else { Ok(()) }
    }

    /// Moves the complete file to its name in a folder. With `replaces`, it may replace a file
    /// there.
    pub(super) fn persist(self, folder: &Folder, target: (&Folder, &[u8]), replaces: bool) -> io::Result<()> {
        folder.rename(&self.name, target.0, target.1, replaces)
    }

    /// Removes a part that is wrong or empty.
    pub(super) fn discard(self, folder: &Folder) {
        let _ = folder.remove(&self.name);
    }

    /// Keeps the part for a later transfer. Returns its length in bytes.
    pub(super) fn leave(mut self, folder: &Folder) -> u64 {
        // Bytes that cannot be written are lost.
        let _ = self.flush();
        let length = self.length();
        if length == 0 {
            self.discard(folder);
        }
        length
    }
}

/// Removes parts that have expired by `now`. A part that is arriving is locked and stays.
pub(super) fn expire(directory: &Path, folder: &Folder, now: SystemTime) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_bytes();
        let old = |file: &File| {
            let written = file.metadata().and_then(|found| found.modified()).ok()?;
            Some(now.duration_since(written).ok()? >= EXPIRES)
        };
        if name.starts_with(PART.as_bytes())
            && name.ends_with(END.as_bytes())
            && let Ok(Some(file)) = folder.own_file(name, false)
            && old(&file) == Some(true)
            && Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok()
        {
            let _ = folder.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let directory = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(directory.path()).expect("it is there");
        (directory, folder)
    }

    fn open(folder: &Folder, bytes: u64) -> io::Result<Partial> {
        Partial::open(folder, name_of(b"film"), bytes)
    }

    fn count(directory: &tempfile::TempDir) -> usize {
        std::fs::read_dir(directory.path()).expect("it is there").count()
    }

    #[test]
    fn what_was_left_is_found_again_and_becomes_the_file() {
        let (directory, folder) = folder();
        let mut first = open(&folder, 0).expect("it is made");
        assert!(open(&folder, 0).is_err_and(|error| error.to_string().contains("arriving already")));
        first.write(b"abc").expect("there is room");
        assert_eq!(first.leave(&folder), 3);
        let mut second = open(&folder, 3).expect("it is there");
        second.write(b"def").expect("there is room");
        let modified = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 7_000);
        second.complete(0o640, Some(modified), true).expect("there is room");
        second.persist(&folder, (&folder, b"film"), false).expect("the name is free");
        let film = directory.path().join("film");
        assert_eq!(std::fs::read(&film).expect("it is there"), b"abcdef");
        let found = std::fs::metadata(film).expect("it is there");
        assert_eq!(
            (found.permissions().mode() & 0o777, found.modified().expect("a time")),
            (0o640, modified)
        );
        assert_eq!(count(&directory), 1);
    }

    #[test]
    fn what_came_in_a_turn_is_in_the_file_behind_it() {
        let (directory, folder) = folder();
        let mut file = open(&folder, 0).expect("it is made");
        for piece in [&[1; 3][..], &[2; 4]] {
            file.write(piece).expect("there is room");
        }
        file.flush().expect("there is room");
        let part = directory.path().join(String::from_utf8_lossy(&file.name).into_owned());
        assert_eq!(std::fs::read(part).expect("it is there"), [1, 1, 1, 2, 2, 2, 2]);
        file.write(&vec![3; CHUNK]).expect("there is room");
        assert_eq!(file.length(), 7 + CHUNK as u64, "no more than a chunk waits");
        file.flush().expect("there is room");
        assert_eq!(file.leave(&folder), 7 + CHUNK as u64, "once");
    }

    #[test]
    fn nothing_is_not_kept_and_no_file_is_overwritten() {
        let (directory, folder) = folder();
        assert_eq!(open(&folder, 0).expect("it is made").leave(&folder), 0);
        assert_eq!(count(&directory), 0);
        let mut file = open(&folder, 0).expect("it is made");
        file.write(b"new").expect("there is room");
        std::fs::write(directory.path().join("film"), "old").expect("there is room");
        file.complete(0o600, None, false).expect("there is room");
        assert!(file.persist(&folder, (&folder, b"film"), false).is_err());
        assert_eq!(std::fs::read(directory.path().join("film")).expect("it is there"), b"old");
        assert_eq!(count(&directory), 2, "it is kept beside");
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        let (_place, folder) = folder();
        let error = check_room(&folder, 1 << 59).expect_err("nobody has so much").to_string();
        assert!(error.contains("room for"), "{error}");
        assert!(check_room(&folder, 0).is_ok());
    }

    #[test]
    fn parts_expire_and_other_files_do_not() {
        let (directory, folder) = folder();
        let mut file = open(&folder, 0).expect("it is made");
        file.write(b"abc").expect("there is room");
        std::fs::write(directory.path().join("film"), "old").expect("there is room");
        let later = crate::files::system_now() + 2 * EXPIRES;
        expire(directory.path(), &folder, later);
        assert_eq!(count(&directory), 2, "it arrives");
        assert_eq!(file.leave(&folder), 3);
        expire(directory.path(), &folder, crate::files::system_now());
        assert_eq!(count(&directory), 2, "it is new");
        expire(directory.path(), &folder, later);
        assert_eq!(count(&directory), 1);
    }
}
