//! Files that are not whole yet: `.plait-SHA256.part`, by the hash that was offered. An interrupted transfer leaves its
//! part for the next one that offers the same.
//!
//! Others may write into the folder. So a part has to be an ordinary file of ours with one name: no symbolic link, pipe or
//! hard link leads to another file.

use crate::hello::{Offer, PART};
use crate::identity::hexadecimal;
use crate::receiver::Prefix;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::sys::statvfs::fstatvfs;
use nix::unistd::geteuid;
use sha2::Digest;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The end of a part's name.
const END: &str = ".part";

/// A part that was not written for so long is removed.
pub(super) const EXPIRES: Duration = Duration::from_secs(14 * 24 * 3_600);

/// A file that arrives. It is locked, so that nobody else writes it.
pub(super) struct Partial {
    file: Flock<File>,
    path: PathBuf,
    /// The bytes of the next [`Partial::flush`].
    buffer: Vec<u8>,
}

/// Bytes that are written at once: those of one turn of the loop, which may be hundreds of packets.
const CHUNK: usize = 256 << 10;

impl Partial {
    /// The part of an offered file, which may be empty.
    pub(super) fn open(folder: &Path, offer: &Offer) -> io::Result<Self> {
        let path = folder.join(format!("{PART}{}{END}", hexadecimal(&offer.digest)));
        let file = open_own(&path, true)?;
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "this file is arriving already"))?;
        if file.metadata()?.len() > offer.size {
            file.set_len(0)?;
        }
        let partial = Self { file, path, buffer: Vec::new() };
        let missing = offer.size - partial.length();
        let space = fstatvfs(&*partial.file)?;
        let free = space.blocks_available() as u64 * space.fragment_size() as u64;
        if missing > free {
            partial.leave();
            let text = format!("the receiver has room for {free} of {missing} bytes");
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        Ok(partial)
    }

    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// The hash of the part as it is now, on any thread.
    pub(super) fn hashing(&self) -> io::Result<impl FnOnce() -> io::Result<Prefix> + Send + 'static> {
        Ok(hashing(self.file.try_clone()?, self.length()))
    }

    /// More of it, which is in the file after [`Partial::flush`] at the latest.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < CHUNK { Ok(()) } else { self.flush() }
    }

    /// What was written is in the file.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.buffer);
        // What did not find room would not find its place later, either.
        self.buffer.clear();
        written
    }

    /// Gives the whole file its name and permissions. `replaces`: another file may have the name.
    pub(super) fn keep(mut self, place: &Path, mode: u32, replaces: bool) -> io::Result<()> {
        self.flush()?;
        self.file.set_permissions(Permissions::from_mode(mode))?;
        self.file.sync_all()?;
        if replaces {
            return std::fs::rename(&self.path, place);
        }
        let path = tempfile::TempPath::try_from_path(&self.path)?;
        path.persist_noclobber(place).map_err(|failed| {
            // It stays for another time, which `TempPath` would not do.
            let _ = failed.path.keep();
            failed.error
        })
    }

    /// It is wrong, or empty.
    pub(super) fn discard(self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// It stays for another transfer; how much that is.
    pub(super) fn leave(mut self) -> u64 {
        // What cannot be written is not kept.
        let _ = self.flush();
        let length = self.length();
        if length == 0 {
            self.discard();
        }
        length
    }
}

/// Opens an ordinary file of ours that has one name; makes it if `write`.
fn open_own(path: &Path, write: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(write).create(write).mode(0o600).custom_flags(O_NOFOLLOW | O_NONBLOCK);
    let foreign = || {
        let text = format!("{} is in the way: no ordinary file of the receiver's own", path.display());
        io::Error::new(io::ErrorKind::AlreadyExists, text)
    };
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(nix::libc::ELOOP | nix::libc::ENXIO) => foreign(),
        _ => error,
    })?;
    let found = file.metadata()?;
    let own = found.is_file() && found.nlink() == 1 && found.uid() == geteuid().as_raw();
    if own { Ok(file) } else { Err(foreign()) }
}

/// The file that has the offered name; `None` if there is none.
///
/// # Errors
/// If something else has the name.
pub(super) fn present(place: &Path) -> io::Result<Option<File>> {
    match open_own(place, false) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The hash of the first `bytes` of a file, on any thread.
pub(super) fn hashing(file: File, bytes: u64) -> impl FnOnce() -> io::Result<Prefix> + Send + 'static {
    move || {
        let (mut prefix, mut buffer) = (Prefix::default(), vec![0; 1 << 20]);
        while prefix.bytes < bytes {
            let most =
                usize::try_from(bytes - prefix.bytes).map_or(buffer.len(), |left| left.min(buffer.len()));
            file.read_exact_at(&mut buffer[..most], prefix.bytes)?;
            prefix.hash.update(&buffer[..most]);
            prefix.bytes += most as u64;
        }
        Ok(prefix)
    }
}

/// Removes the parts that expired by `now`. One that arrives at the moment is locked, and stays.
pub(super) fn expire(folder: &Path, now: SystemTime) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let old = |file: &File| {
            let written = file.metadata().and_then(|found| found.modified()).ok()?;
            Some(now.duration_since(written).ok()? >= EXPIRES)
        };
        if name.starts_with(PART)
            && name.ends_with(END)
            && let Ok(file) = open_own(&entry.path(), false)
            && old(&file) == Some(true)
            && Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(size: u64) -> Offer {
        Offer { name: "film".to_owned(), size, digest: [0xab; 32] }
    }

    #[test]
    fn what_was_left_is_found_again_and_becomes_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |size| Partial::open(folder.path(), &offer(size));
        let mut first = open(6).expect("it is made");
        assert!(open(6).is_err_and(|error| error.to_string().contains("arriving already")));
        first.write(b"abc").expect("there is room");
        assert_eq!(first.leave(), 3);
        let mut second = open(6).expect("it is there");
        let prefix = second.hashing().expect("a handle")().expect("it is read");
        let expected: [u8; 32] = sha2::Sha256::digest(b"abc").into();
        assert_eq!((prefix.bytes, <[u8; 32]>::from(prefix.hash.finalize())), (3, expected));
        second.write(b"def").expect("there is room");
        second.keep(&folder.path().join("film"), 0o640, false).expect("the name is free");
        assert_eq!(std::fs::read(folder.path().join("film")).expect("it is there"), b"abcdef");
        let mode = std::fs::metadata(folder.path().join("film")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }

    #[test]
    fn what_came_in_a_turn_is_in_the_file_behind_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = Partial::open(folder.path(), &offer(1 << 30)).expect("it is made");
        for piece in [&[1; 3][..], &[2; 4]] {
            file.write(piece).expect("there is room");
        }
        file.flush().expect("there is room");
        assert_eq!(std::fs::read(&file.path).expect("it is there"), [1, 1, 1, 2, 2, 2, 2]);
        file.write(&vec![3; CHUNK]).expect("there is room");
        assert_eq!(file.length(), 7 + CHUNK as u64, "no more than a chunk waits");
        file.flush().expect("there is room");
        assert_eq!(file.leave(), 7 + CHUNK as u64, "once");
    }

    #[test]
    fn nothing_and_too_much_are_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = Partial::open(folder.path(), &offer(6)).expect("it is made");
        file.write(b"abcd").expect("there is room");
        file.leave();
        assert_eq!(Partial::open(folder.path(), &offer(3)).expect("it is there").leave(), 0);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn no_file_is_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = Partial::open(folder.path(), &offer(3)).expect("it is made");
        file.write(b"new").expect("there is room");
        std::fs::write(folder.path().join("film"), "old").expect("there is room");
        assert!(file.keep(&folder.path().join("film"), 0o600, false).is_err());
        assert_eq!(std::fs::read(folder.path().join("film")).expect("it is there"), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 2, "it is kept beside");
    }

    #[test]
    fn links_and_pipes_are_no_parts() {
        let folder = tempfile::tempdir().expect("a folder");
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "kept").expect("there is room");
        let part = folder.path().join(format!("{PART}{}{END}", "ab".repeat(32)));
        let refused = || {
            let error = Partial::open(folder.path(), &offer(3)).err().expect("it is refused").to_string();
            assert!(error.contains("in the way"), "{error}");
            std::fs::remove_file(&part).expect("it is there");
        };
        std::os::unix::fs::symlink(&victim, &part).expect("a link");
        refused();
        std::fs::hard_link(&victim, &part).expect("a link");
        refused();
        nix::unistd::mkfifo(&part, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        refused();
        std::os::unix::fs::symlink("nowhere", &part).expect("a link");
        refused();
        assert_eq!(std::fs::read(&victim).expect("it is there"), b"kept");
        assert!(present(&victim).is_ok_and(|found| found.is_some()));
        assert!(present(&folder.path().join("none")).is_ok_and(|found| found.is_none()));
        assert!(present(folder.path()).is_err(), "a folder");
    }

    #[test]
    fn more_than_there_is_room_for_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let error =
            Partial::open(folder.path(), &offer(1 << 59)).err().expect("nobody has so much").to_string();
        assert!(error.contains("room for"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn parts_expire_and_other_files_do_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = Partial::open(folder.path(), &offer(6)).expect("it is made");
        file.write(b"abc").expect("there is room");
        std::fs::write(folder.path().join("film"), "old").expect("there is room");
        let later = crate::files::system_now() + 2 * EXPIRES;
        expire(folder.path(), later);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 2, "it arrives");
        assert_eq!(file.leave(), 3);
        expire(folder.path(), crate::files::system_now());
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 2, "it is new");
        expire(folder.path(), later);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }
}
