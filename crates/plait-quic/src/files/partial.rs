//! Files that are not whole yet: `.plait-SHA256.part`, by the hash that was offered. What an interrupted transfer leaves is
//! there for the next one that offers the same.

use crate::hello::Offer;
use crate::identity::hexadecimal;
use crate::receiver::Prefix;
use nix::fcntl::{Flock, FlockArg};
use sha2::Digest;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file that arrives. Nobody else writes it: it is locked.
pub(super) struct Partial {
    file: Flock<File>,
    path: PathBuf,
    /// What is to be written with the next [`Partial::flush`].
    buffer: Vec<u8>,
}

/// Bytes that are written at once: what came in one turn of the loop, which may be hundreds of packets.
const CHUNK: usize = 256 << 10;

impl Partial {
    /// What there is of an offered file, which may be nothing.
    pub(super) fn open(folder: &Path, offer: &Offer) -> io::Result<Self> {
        if folder.join(&offer.name).exists() {
            let text = format!("the receiver has a file {} already", offer.name);
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let path = folder.join(format!(".plait-{}.part", hexadecimal(&offer.digest)));
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "this file is arriving already"))?;
        if file.metadata()?.len() > offer.size {
            file.set_len(0)?;
        }
        Ok(Self { file, path, buffer: Vec::new() })
    }

    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// What hashes it as it is now, on any thread.
    pub(super) fn hashing(&self) -> io::Result<impl FnOnce() -> io::Result<Prefix> + Send + 'static> {
        let (file, bytes) = (self.file.try_clone()?, self.length());
        Ok(move || {
            let (mut prefix, mut buffer) = (Prefix::default(), vec![0; 1 << 20]);
            while prefix.bytes < bytes {
                let most =
                    usize::try_from(bytes - prefix.bytes).map_or(buffer.len(), |left| left.min(buffer.len()));
                file.read_exact_at(&mut buffer[..most], prefix.bytes)?;
                prefix.hash.update(&buffer[..most]);
                prefix.bytes += most as u64;
            }
            Ok(prefix)
        })
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

    /// It is whole: it gets its name, if no file has it.
    pub(super) fn keep(mut self, place: &Path) -> io::Result<()> {
        self.flush()?;
        self.file.sync_all()?;
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
        second.keep(&folder.path().join("film")).expect("the name is free");
        assert_eq!(std::fs::read(folder.path().join("film")).expect("it is there"), b"abcdef");
        assert!(open(6).is_err_and(|error| error.to_string().contains("has a file film already")));
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
        assert!(file.keep(&folder.path().join("film")).is_err());
        assert_eq!(std::fs::read(folder.path().join("film")).expect("it is there"), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 2, "it is kept beside");
    }
}
