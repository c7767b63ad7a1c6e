//! Files that are not whole yet: `.plait-HASH.part` in the receiver's folder, by the SHA-256 of their path. An
//! interrupted transfer leaves its part for the next one of the same name.

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

/// The end of a part's name.
const END: &str = ".part";

/// A part that was not written for so long is removed.
pub(super) const EXPIRES: Duration = Duration::from_secs(14 * 24 * 3_600);

/// Bytes that are written at once: those of one turn of the loop, which may be hundreds of packets.
const CHUNK: usize = 256 << 10;

/// The name of the part of the file at this path.
pub(super) fn name_of(path: &[u8]) -> Vec<u8> {
    let digest: [u8; 32] = Sha256::digest(path).into();
    format!("{PART}{}{END}", hexadecimal(&digest[..16])).into_bytes()
}

/// Refuses more bytes than are free in a folder.
pub(super) fn check_room(folder: &Folder, missing: u64) -> io::Result<()> {
    let space = fstatvfs(folder.file())?;
    // Their types differ between systems.
    let free = space.blocks_available() as u64 * space.fragment_size() as u64;
    if missing > free {
        let text = format!("there is room for {free} of {missing} bytes");
        return Err(io::Error::new(io::ErrorKind::StorageFull, text));
    }
    Ok(())
}

/// A file that arrives. It is locked, so that nobody else writes it.
pub(super) struct Partial {
    file: Flock<File>,
    name: Vec<u8>,
    /// The bytes of the next [`Partial::flush`].
    buffer: Vec<u8>,
}

impl Partial {
    /// The part of this name, of which the first `bytes` are of use.
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

    /// More of it, which is in the file after [`Partial::flush`] at the latest.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < CHUNK { Ok(()) } else { self.flush() }
    }

    /// Puts all written data into the file.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.buffer);
        // Data without room now would miss its place later, too.
        self.buffer.clear();
        written
    }

    /// The whole file gets its permissions and time of modification; `syncs`: and is on the disk.
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

    /// Gives the complete file its name in a folder. `replaces`: another file may have it.
    pub(super) fn keep(self, folder: &Folder, place: (&Folder, &[u8]), replaces: bool) -> io::Result<()> {
        folder.rename(&self.name, place.0, place.1, replaces)
    }

    /// It is wrong, or empty.
    pub(super) fn discard(self, folder: &Folder) {
        let _ = folder.remove(&self.name);
    }

    /// It stays for another transfer; how much that is.
    pub(super) fn leave(mut self, folder: &Folder) -> u64 {
        // Data that cannot be written is not kept.
        let _ = self.flush();
        let length = self.length();
        if length == 0 {
            self.discard(folder);
        }
        length
    }
}

/// Removes the parts that expired by `now`. One that arrives at the moment is locked, and stays.
pub(super) fn expire(place: &Path, folder: &Folder, now: SystemTime) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
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
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(place.path()).expect("it is there");
        (place, folder)
    }

    fn open(folder: &Folder, bytes: u64) -> io::Result<Partial> {
        Partial::open(folder, name_of(b"film"), bytes)
    }

    fn count(place: &tempfile::TempDir) -> usize {
        std::fs::read_dir(place.path()).expect("it is there").count()
    }

    #[test]
    fn what_was_left_is_found_again_and_becomes_the_file() {
        let (place, folder) = folder();
        let mut first = open(&folder, 0).expect("it is made");
        assert!(open(&folder, 0).is_err_and(|error| error.to_string().contains("arriving already")));
        first.write(b"abc").expect("there is room");
        assert_eq!(first.leave(&folder), 3);
        let mut second = open(&folder, 3).expect("it is there");
        second.write(b"def").expect("there is room");
        let modified = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 7_000);
        second.complete(0o640, Some(modified), true).expect("there is room");
        second.keep(&folder, (&folder, b"film"), false).expect("the name is free");
        let film = place.path().join("film");
        assert_eq!(std::fs::read(&film).expect("it is there"), b"abcdef");
        let found = std::fs::metadata(film).expect("it is there");
        assert_eq!(
            (found.permissions().mode() & 0o777, found.modified().expect("a time")),
            (0o640, modified)
        );
        assert_eq!(count(&place), 1);
    }

    #[test]
    fn what_came_in_a_turn_is_in_the_file_behind_it() {
        let (place, folder) = folder();
        let mut file = open(&folder, 0).expect("it is made");
        for piece in [&[1; 3][..], &[2; 4]] {
            file.write(piece).expect("there is room");
        }
        file.flush().expect("there is room");
        let part = place.path().join(String::from_utf8_lossy(&file.name).into_owned());
        assert_eq!(std::fs::read(part).expect("it is there"), [1, 1, 1, 2, 2, 2, 2]);
        file.write(&vec![3; CHUNK]).expect("there is room");
        assert_eq!(file.length(), 7 + CHUNK as u64, "no more than a chunk waits");
        file.flush().expect("there is room");
        assert_eq!(file.leave(&folder), 7 + CHUNK as u64, "once");
    }

    #[test]
    fn nothing_is_not_kept_and_no_file_is_overwritten() {
        let (place, folder) = folder();
        assert_eq!(open(&folder, 0).expect("it is made").leave(&folder), 0);
        assert_eq!(count(&place), 0);
        let mut file = open(&folder, 0).expect("it is made");
        file.write(b"new").expect("there is room");
        std::fs::write(place.path().join("film"), "old").expect("there is room");
        file.complete(0o600, None, false).expect("there is room");
        assert!(file.keep(&folder, (&folder, b"film"), false).is_err());
        assert_eq!(std::fs::read(place.path().join("film")).expect("it is there"), b"old");
        assert_eq!(count(&place), 2, "it is kept beside");
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
        let (place, folder) = folder();
        let mut file = open(&folder, 0).expect("it is made");
        file.write(b"abc").expect("there is room");
        std::fs::write(place.path().join("film"), "old").expect("there is room");
        let later = crate::files::system_now() + 2 * EXPIRES;
        expire(place.path(), &folder, later);
        assert_eq!(count(&place), 2, "it arrives");
        assert_eq!(file.leave(&folder), 3);
        expire(place.path(), &folder, crate::files::system_now());
        assert_eq!(count(&place), 2, "it is new");
        expire(place.path(), &folder, later);
        assert_eq!(count(&place), 1);
    }
}
