//! Content of the entries that are sent.

use super::hashing::Content;
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::mpsc;

/// Size in bytes of one read from standard input, and number of such reads ahead.
const READ_BYTES: usize = 256 << 10;
const READS_AHEAD: usize = 16;

/// Where the content of an entry is.
#[derive(Clone, Debug)]
pub enum EntryContent {
    /// A file. It may be a symbolic link only if the user named it.
    File {
        /// The local path of the file.
        path: PathBuf,
        /// Whether the user named the file.
        named: bool,
    },
    /// Standard input.
    Input,
    /// Content in memory.
    Memory(Vec<u8>),
    /// No content, for a folder.
    Nothing,
}

impl EntryContent {
    /// Opens the content of an entry without blocking.
    pub(super) fn open(&self) -> io::Result<Content> {
        match self {
            Self::File { path, named } => {
                let flags = if *named { O_NONBLOCK } else { O_NONBLOCK | O_NOFOLLOW };
                let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
                if !file.metadata()?.is_file() {
                    return Err(io::Error::other("it is no file any more"));
                }
                Ok(Box::new(file))
            }
            Self::Memory(bytes) => Ok(Box::new(bytes.clone())),
            Self::Input | Self::Nothing => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Reads standard input in pieces on a thread. The thread ends at the end of the input, or when its
/// receiver is dropped.
pub(super) fn read_input() -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (pieces, read) = mpsc::sync_channel(READS_AHEAD);
    let work = move || {
        let mut input = io::stdin().lock();
        loop {
            let mut piece = vec![0; READ_BYTES];
            let count = match input.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count,
            };
            let ends = !matches!(count, Ok(1..));
            let piece = count.map(|count| {
                piece.truncate(count);
                piece
            });
            if pieces.send(piece).is_err() || ends {
                return;
            }
        }
    };
    // If the system starts no thread, the channel closes, which ends the file.
    let _ = std::thread::Builder::new().name("plait-input".to_owned()).spawn(work);
    read
}
