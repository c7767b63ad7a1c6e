//! The receiver's folder: permissions and paths of its files, and the shared state of its
//! transfers.

use super::folder::Folder;
use super::partial;
use super::records::{Digest, Entry, Kind, UNKNOWN};
use crate::names::{invalid_name, shown_name};
use std::collections::BTreeSet;
use std::fs::{FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

/// Largest number of names in a path.
const MAX_DEPTH: usize = 128;

/// Permissions of received files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Modes {
    /// The sender's permissions for the owner, none for others.
    Private,
    /// The sender's permissions.
    Sent,
    /// These permissions. For folders, each right to read also grants the right to enter.
    Fixed(u32),
}

impl Modes {
    pub(super) fn of(self, entry: &Entry) -> u32 {
        match (self, entry.kind) {
            (Self::Private, Kind::File) => entry.mode & 0o700 | 0o600,
            (Self::Private, Kind::Folder) => 0o700,
            (Self::Sent, _) => entry.mode & 0o777,
            (Self::Fixed(mode), Kind::File) => mode,
            (Self::Fixed(mode), Kind::Folder) => mode | (mode & 0o444) >> 2,
        }
    }
}

/// The shared state of all transfers into a folder.
#[derive(Clone)]
pub(crate) struct SharedFolder {
    /// Path of the folder, for display.
    pub(crate) path: PathBuf,
    /// The open folder; `None` for one file to standard output.
    pub(super) folder: Option<Arc<Folder>>,
    pub(super) modes: Modes,
    pub(super) replaces: bool,
    /// Whether files are forced to the disk.
    pub(super) syncs: bool,
    /// Paths of the files that are arriving now.
    pub(super) names: Arc<Mutex<BTreeSet<Vec<u8>>>>,
}

impl SharedFolder {
    /// Opens an existing folder and removes expired parts. With `None`, files go to standard
    /// output.
    pub(crate) fn open(
        path: Option<PathBuf>,
        modes: Modes,
        replaces: bool,
        now: SystemTime,
    ) -> io::Result<Self> {
        let folder = path.as_deref().map(Folder::open).transpose()?.map(Arc::new);
        if let (Some(path), Some(folder)) = (&path, &folder) {
            partial::expire(path, folder, now);
        }
        let path = path.unwrap_or_default();
        Ok(Self { path, folder, modes, replaces, syncs: true, names: Arc::default() })
    }
}

/// A received file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedFile {
    /// Its path in the folder.
    pub path: Vec<u8>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes of these that were present before the transfer.
    pub resumed: u64,
    /// Its SHA-256.
    pub digest: Digest,
}

/// In a transfer with more than `FEW` entries, files smaller than `SMALL` bytes are not forced to
/// the disk one by one, but together at the end.
const FEW: u32 = 64;
const SMALL: u64 = 1 << 20;

/// The last steps of a transfer: permissions and times of folders, and forcing small files to the
/// disk.
#[derive(Default)]
pub(super) struct FinalSteps {
    pub(super) folders: Vec<Entry>,
    /// True if some small files may not be on the disk yet.
    unsynced: bool,
    syncing: Option<mpsc::Receiver<()>>,
}

impl FinalSteps {
    /// Whether to force a file of this size to the disk at once. `entries` is the number of entries
    /// so far.
    pub(super) fn syncs(&mut self, shared: &SharedFolder, entries: u32, bytes: u64) -> bool {
        let at_once = entries <= FEW || bytes >= SMALL;
        self.unsynced |= shared.syncs && !at_once;
        shared.syncs && at_once
    }

    /// Sets times and permissions of folders, and forces small files to the disk on a thread.
    /// Returns true once this is done.
    pub(super) fn is_done(&mut self, shared: &SharedFolder) -> bool {
        let Some(root) = shared.folder.clone() else { return true };
        // No more files are written into these folders. The innermost folders come first.
        for entry in self.folders.drain(..).rev() {
            let Ok(folder) = root.inner(&names(&entry.path)) else { continue };
            if let Some(modified) = time_of(&entry) {
                let _ = folder.file().set_times(FileTimes::new().set_modified(modified));
            }
            let _ = folder.file().set_permissions(Permissions::from_mode(shared.modes.of(&entry)));
        }
        if let Some(syncing) = &self.syncing {
            return !matches!(syncing.try_recv(), Err(mpsc::TryRecvError::Empty));
        }
        if !self.unsynced {
            return true;
        }
        let (done, syncing) = mpsc::channel();
        let work = move || {
            root.sync();
            let _ = done.send(());
        };
        // If the system starts no thread, the channel closes.
        let _ = std::thread::Builder::new().name("plait-sync".to_owned()).spawn(work);
        self.syncing = Some(syncing);
        false
    }
}

/// Summary of the completely received files of a transfer.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredFiles {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) resumed: u64,
    /// The file, if it is the only one.
    pub(crate) only: Option<ReceivedFile>,
    /// Path of the first entry.
    pub(crate) path: Vec<u8>,
}

/// Explains why a path cannot be used in the folder. Returns `None` if it can.
pub(super) fn invalid_path(path: &[u8]) -> Option<String> {
    let names = names(path);
    let wrong = |name: &&[u8]| Some(format!("its name cannot be kept: {}", invalid_name(name)?));
    match names.len() {
        1..=MAX_DEPTH => names.iter().find_map(wrong),
        count => Some(format!("it is {count} folders deep, more than {MAX_DEPTH}")),
    }
}

/// Splits a path into its names.
pub(super) fn names(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == b'/').collect()
}

/// Returns the modification time of the sender's file; `None` for a stream.
pub(super) fn time_of(entry: &Entry) -> Option<SystemTime> {
    let (seconds, nanos) = entry.modified;
    if entry.size == UNKNOWN {
        return None;
    }
    let (whole, part) = (Duration::from_secs(seconds.unsigned_abs()), Duration::from_nanos(nanos.into()));
    let base = match seconds {
        ..0 => SystemTime::UNIX_EPOCH.checked_sub(whole),
        _ => SystemTime::UNIX_EPOCH.checked_add(whole),
    };
    base?.checked_add(part)
}

/// The error for a name that another file has.
pub(super) fn name_taken(path: &[u8]) -> io::Error {
    let name = shown_name(path);
    let text = format!(
        "another file has the name {name}: send it with --as NAME, or start the receiver with --replace"
    );
    io::Error::new(io::ErrorKind::AlreadyExists, text)
}
