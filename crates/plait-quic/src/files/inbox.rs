//! The receiver's folder: permissions and paths of its files, and the state that its transfers share.

use super::folder::Folder;
use super::partial;
use super::records::{Digest, Entry, Kind, UNKNOWN};
use crate::names::{shown_name, trouble};
use std::collections::BTreeSet;
use std::fs::{FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

/// Names of a path at most.
const MAX_DEPTH: usize = 128;

/// Which permissions received files have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Modes {
    /// Those of the sender's, for the owner alone.
    Private,
    /// Those of the sender's.
    Sent,
    /// These, and of folders also the right to enter them.
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

/// The common state of all transfers into a folder.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Where the folder is, for people.
    pub(crate) place: PathBuf,
    /// `None`: one file, to standard output.
    pub(super) folder: Option<Arc<Folder>>,
    pub(super) modes: Modes,
    pub(super) replaces: bool,
    /// Whether files are forced to the disk.
    pub(super) syncs: bool,
    /// The paths of files that arrive.
    pub(super) names: Arc<Mutex<BTreeSet<Vec<u8>>>>,
}

impl Shared {
    /// Files go into this folder, which is there; `None` is standard output.
    pub(crate) fn open(
        place: Option<PathBuf>,
        modes: Modes,
        replaces: bool,
        now: SystemTime,
    ) -> io::Result<Self> {
        let folder = place.as_deref().map(Folder::open).transpose()?.map(Arc::new);
        if let (Some(place), Some(folder)) = (&place, &folder) {
            partial::expire(place, folder, now);
        }
        let place = place.unwrap_or_default();
        Ok(Self { place, folder, modes, replaces, syncs: true, names: Arc::default() })
    }
}

/// A file that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// Its path in the folder.
    pub path: Vec<u8>,
    /// Its bytes, and how many of them were there before.
    pub bytes: u64,
    /// See above.
    pub resumed: u64,
    /// Its SHA-256.
    pub digest: Digest,
}

/// In a transfer of more entries, files below a size are not forced to the disk one by one, but together at the end.
const FEW: u32 = 64;
const SMALL: u64 = 1 << 20;

/// The end of a transfer: permissions and times of folders, and small files on the disk.
#[derive(Default)]
pub(super) struct Ending {
    pub(super) folders: Vec<Entry>,
    /// Some small files are perhaps not on the disk.
    unsynced: bool,
    syncing: Option<mpsc::Receiver<()>>,
}

impl Ending {
    /// Whether a file of so many bytes is to be forced to the disk at once, after so many entries.
    pub(super) fn syncs(&mut self, shared: &Shared, entries: u32, bytes: u64) -> bool {
        let at_once = entries <= FEW || bytes >= SMALL;
        self.unsynced |= shared.syncs && !at_once;
        shared.syncs && at_once
    }

    /// Whether everything is on the disk, with its times and permissions. A thread does that.
    pub(super) fn is_done(&mut self, shared: &Shared) -> bool {
        let Some(root) = shared.folder.clone() else { return true };
        // Nothing more is written into folders: the innermost are first.
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
        // A system that has no thread for it closes the channel.
        let _ = std::thread::Builder::new().name("plait-sync".to_owned()).spawn(work);
        self.syncing = Some(syncing);
        false
    }
}

/// The files of a transfer that are there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) resumed: u64,
    /// The file, if there is one alone.
    pub(crate) only: Option<Arrived>,
    /// The path of the first entry.
    pub(crate) path: Vec<u8>,
}

/// Why a path leads to no place in the folder.
pub(super) fn path_trouble(path: &[u8]) -> Option<String> {
    let names = names(path);
    let wrong = |name: &&[u8]| Some(format!("its name cannot be kept: {}", trouble(name)?));
    match names.len() {
        1..=MAX_DEPTH => names.iter().find_map(wrong),
        count => Some(format!("it is {count} folders deep, more than {MAX_DEPTH}")),
    }
}

/// The names of a path.
pub(super) fn names(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == b'/').collect()
}

/// When the sender's file was modified; a stream was not.
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

/// Another file has the name.
pub(super) fn taken(path: &[u8]) -> io::Error {
    let name = shown_name(path);
    let text = format!(
        "it has another file {name} already: send it --as another NAME, or let the receiver --replace files"
    );
    io::Error::new(io::ErrorKind::AlreadyExists, text)
}
