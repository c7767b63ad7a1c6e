//! Folders of the receiver, accessed through open handles.
//!
//! Other users may write into these folders. So no symbolic link is followed, and only ordinary
//! files and folders of the receiver's own user are used.

use crate::names::shown_name;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, geteuid, linkat, unlinkat};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder(File);

/// The error for a name that belongs to a file or folder of another kind or another user.
fn in_the_way(name: &[u8], what: &str) -> io::Error {
    let text = format!("{} is in the way: no {what} of the receiver's own", shown_name(name));
    io::Error::new(io::ErrorKind::AlreadyExists, text)
}

impl Folder {
    /// Opens the folder that the user named.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    pub(super) fn file(&self) -> &File {
        &self.0
    }

    /// Opens the folder at a path relative to this one. Creates missing folders.
    pub(super) fn inner(&self, path: &[&[u8]]) -> io::Result<Self> {
        let mut folder = Self(self.0.try_clone()?);
        for name in path {
            folder = folder.child(name)?;
        }
        Ok(folder)
    }

    fn child(&self, name: &[u8]) -> io::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let open = || openat(&self.0, name, flags, Mode::empty());
        let found = match open() {
            Err(Errno::ENOENT) => {
                match mkdirat(&self.0, name, Mode::S_IRWXU) {
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                open()
            }
            found => found,
        };
        let found = File::from(found.map_err(|error| match error {
            Errno::ENOTDIR | Errno::ELOOP => in_the_way(name, "folder"),
            error => error.into(),
        })?);
        if found.metadata()?.uid() != geteuid().as_raw() {
            return Err(in_the_way(name, "folder"));
        }
        Ok(Self(found))
    }

    /// Opens an ordinary file of the receiver's own user with a single hard link. Returns `None` if
    /// the file does not exist and `makes` is false.
    pub(super) fn own_file(&self, name: &[u8], makes: bool) -> io::Result<Option<File>> {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let more = if makes { OFlag::O_RDWR | OFlag::O_APPEND | OFlag::O_CREAT } else { OFlag::O_RDONLY };
        let file = match openat(&self.0, name, flags | more, Mode::S_IRUSR | Mode::S_IWUSR) {
            Ok(file) => File::from(file),
            Err(Errno::ENOENT) if !makes => return Ok(None),
            Err(Errno::ELOOP | Errno::ENXIO | Errno::EISDIR) => {
                return Err(in_the_way(name, "ordinary file"));
            }
            Err(error) => return Err(error.into()),
        };
        let found = file.metadata()?;
        let own = found.is_file() && found.nlink() == 1 && found.uid() == geteuid().as_raw();
        if own { Ok(Some(file)) } else { Err(in_the_way(name, "ordinary file")) }
    }

    /// Forces the file system of this folder to the disk.
    pub(super) fn sync(&self) {
        #[cfg(target_os = "linux")]
        let _ = nix::unistd::syncfs(&self.0);
        #[cfg(not(target_os = "linux"))]
        let _ = self.0.sync_all();
    }

    pub(super) fn remove(&self, name: &[u8]) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Moves a file of this folder to a name in another folder. With `replaces`, it may replace a
    /// file there.
    pub(super) fn rename(&self, from: &[u8], other: &Self, to: &[u8], replaces: bool) -> io::Result<()> {
        if !replaces {
            match linkat(&self.0, from, &other.0, to, AtFlags::empty()) {
                Ok(()) => return self.remove(from),
                // These errors come from file systems without hard links.
                Err(Errno::EPERM | Errno::EOPNOTSUPP | Errno::EMLINK) => {
                    if fstatat(&other.0, to, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok() {
                        return Err(Errno::EEXIST.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(renameat(&self.0, from, &other.0, to)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_never_followed_on_the_way() {
        let directory = tempfile::tempdir().expect("a folder");
        let (inbox, outside) = (directory.path().join("inbox"), directory.path().join("outside"));
        std::fs::create_dir_all(&inbox).expect("it is new");
        std::fs::create_dir_all(&outside).expect("it is new");
        symlink(&outside, inbox.join("link")).expect("a link");
        std::fs::write(inbox.join("file"), "kept").expect("there is room");
        let folder = Folder::open(&inbox).expect("it is there");
        for name in ["link", "file"] {
            let error = folder.inner(&[name.as_bytes(), b"a"]).expect_err("it is no folder").to_string();
            assert!(error.contains("in the way"), "{error}");
        }
        folder.inner(&[b"a", b"b", b"c"]).expect("they are made");
        assert!(inbox.join("a/b/c").is_dir());
        assert_eq!(std::fs::read_dir(&outside).expect("it is there").count(), 0);
    }

    #[test]
    fn links_pipes_and_folders_are_no_files() {
        let directory = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(directory.path()).expect("it is there");
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("victim"), "kept").expect("there is room");
        std::fs::write(at("other"), "kept").expect("there is room");
        symlink(at("victim"), at("link")).expect("a link");
        symlink("nowhere", at("dangling")).expect("a link");
        std::fs::hard_link(at("other"), at("hard")).expect("a link");
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRWXU).expect("a pipe");
        std::fs::create_dir(at("folder")).expect("it is new");
        for name in ["link", "dangling", "hard", "pipe", "folder"] {
            for makes in [false, true] {
                let error = folder.own_file(name.as_bytes(), makes).expect_err("it is none").to_string();
                assert!(error.contains("in the way"), "{name}: {error}");
            }
        }
        assert!(folder.own_file(b"victim", false).is_ok_and(|file| file.is_some()));
        assert!(folder.own_file(b"none", false).is_ok_and(|file| file.is_none()));
        assert!(folder.rename(b"victim", &folder, b"other", false).is_err(), "the name is taken");
        folder.rename(b"victim", &folder, b"free", false).expect("it is free");
        assert_eq!(std::fs::read(at("free")).expect("it is there"), b"kept");
    }
}
