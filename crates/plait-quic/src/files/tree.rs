//! The user's files and folders as entries, including all files inside folders, and standard input.

use super::entry_content::EntryContent;
use super::records::{Digest, Entry, Kind, UNKNOWN};
use crate::error::Error;
use crate::identity;
use crate::names::{invalid_name, shown, shown_name};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Path and name that stand for standard input.
pub const STREAM: &str = "-";

/// Largest number of entries in a transfer.
const MAX_ENTRIES: usize = 4_000_000;

/// All files and folders to send.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) entries: Vec<(Entry, EntryContent)>,
    /// Links, devices and pipes, which are not sent.
    pub(super) skipped: Vec<String>,
    /// Unreadable files and files with invalid names, each with the reason.
    pub(super) failed: Vec<(String, String)>,
}

impl Tree {
    /// Collects the entries of all paths. `name` replaces the name of a single path at the
    /// receiver.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] if a path that the user named cannot be sent.
    pub(super) fn of(paths: &[PathBuf], name: Option<&str>) -> Result<Self, Error> {
        let (mut tree, mut names) = (Self::default(), BTreeSet::new());
        if let Some(name) = name.filter(|_| paths.len() > 1) {
            return Err(Error::Setting(format!(
                "--as {}: it names one file or folder, and {} are given",
                shown(name),
                paths.len()
            )));
        }
        for path in paths {
            let refused =
                |why: String| Error::Setting(format!("{}: {why}", shown_name(path.as_os_str().as_bytes())));
            let own = || own_name(path);
            let name = name.map(|name| name.as_bytes().to_vec()).map_or_else(own, Ok).map_err(refused)?;
            if let Some(why) = invalid_name(&name) {
                return Err(refused(format!(
                    "its name cannot be sent: {why}; choose another one: --as NAME"
                )));
            }
            if !names.insert(name.clone()) {
                return Err(refused("two of its name are given".to_owned()));
            }
            if path.as_os_str() == STREAM {
                let entry =
                    Entry { kind: Kind::File, mode: 0o600, modified: (0, 0), size: UNKNOWN, path: name };
                tree.entries.push((entry, EntryContent::Input));
                continue;
            }
            let found = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?;
            if !found.is_file() && !found.is_dir() {
                return Err(refused(
                    "it is neither a file nor a folder: pipe its content into - with --as NAME".to_owned(),
                ));
            }
            if found.is_file() {
                // A file that the user named must be readable now.
                std::fs::File::open(path).map_err(|error| refused(error.to_string()))?;
            }
            tree.add(path, name, &found, true)?;
        }
        Ok(tree)
    }

    fn add(&mut self, source: &Path, path: Vec<u8>, found: &Metadata, named: bool) -> Result<(), Error> {
        if self.entries.len() >= MAX_ENTRIES {
            return Err(Error::Setting(format!(
                "more than {MAX_ENTRIES} files and folders: send them in parts"
            )));
        }
        let (mode, modified) = (found.mode(), (found.mtime(), found.mtime_nsec() as u32));
        if !found.is_dir() {
            let entry = Entry { kind: Kind::File, mode, modified, size: found.len(), path };
            self.entries.push((entry, EntryContent::File { path: source.to_owned(), named }));
            return Ok(());
        }
        let entry = Entry { kind: Kind::Folder, mode, modified, size: 0, path: path.clone() };
        self.entries.push((entry, EntryContent::Nothing));
        let inner = std::fs::read_dir(source).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let mut inner = match inner {
            Ok(inner) => inner,
            Err(error) => {
                self.failed.push((shown_name(&path), error.to_string()));
                return Ok(());
            }
        };
        inner.sort_by_key(std::fs::DirEntry::file_name);
        for one in inner {
            let name = one.file_name().into_vec();
            let inner_path = [&path[..], b"/", &name].concat();
            let shown = shown_name(&inner_path);
            match one.metadata() {
                Err(error) => self.failed.push((shown, error.to_string())),
                Ok(found) if found.is_symlink() => self.skipped.push(format!("{shown}: a symbolic link")),
                Ok(found) if !found.is_file() && !found.is_dir() => {
                    self.skipped.push(format!("{shown}: neither a file nor a folder"));
                }
                Ok(found) => match invalid_name(&name) {
                    Some(why) => self.failed.push((shown, format!("its name cannot be sent: {why}"))),
                    None => self.add(&one.path(), inner_path, &found, false)?,
                },
            }
        }
        Ok(())
    }

    /// Returns a hash that is equal for equal, unchanged files. A stream gets a random one.
    pub(super) fn identity(&self) -> Result<Digest, Error> {
        let mut hash = Sha256::new();
        for (entry, _) in &self.entries {
            if entry.size == UNKNOWN {
                hash.update(identity::random::<32>()?);
            }
            let mut bytes = Vec::new();
            super::records::SenderRecord::Entry(entry.clone()).encode(&mut bytes);
            hash.update(&bytes);
        }
        Ok(hash.finalize().into())
    }

    /// Returns a name for display: the name of the first path, and the number of further ones.
    pub(super) fn name(&self) -> String {
        let tops: Vec<&Entry> =
            self.entries.iter().map(|(entry, _)| entry).filter(|entry| !entry.path.contains(&b'/')).collect();
        let first = tops.first().map_or(String::new(), |entry| shown_name(&entry.path));
        let more = if tops.len() > 1 { format!(" and {} more", tops.len() - 1) } else { String::new() };
        // A name in a Hello message has at most 255 bytes.
        let most = (0..=255 - more.len()).rev().find(|length| first.is_char_boundary(*length)).unwrap_or(0);
        format!("{}{more}", first.get(..most).unwrap_or(&first))
    }
}

/// Returns the last name of a path. For `.` and `..` it is the name of the resolved path.
fn own_name(path: &Path) -> Result<Vec<u8>, String> {
    if path.as_os_str() == STREAM {
        return Err("standard input needs a name: --as NAME".to_owned());
    }
    let whole = match path.file_name() {
        Some(_) => path.to_owned(),
        None => path.canonicalize().map_err(|error| error.to_string())?,
    };
    let name = whole.file_name().map(|name| name.as_bytes().to_vec());
    name.ok_or_else(|| "it has no name: --as NAME".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    fn paths(tree: &Tree) -> Vec<String> {
        tree.entries.iter().map(|(entry, _)| shown_name(&entry.path)).collect()
    }

    #[test]
    fn folders_are_entries_before_what_is_in_them_and_links_are_not_followed() {
        let directory = tempfile::tempdir().expect("a folder");
        let top = directory.path().join("photos");
        create_dir_all(top.join("b/empty")).expect("it is new");
        write(top.join("b/2"), "two").expect("there is room");
        write(top.join(".a"), "").expect("there is room");
        std::os::unix::fs::symlink("/etc", top.join("link")).expect("a link");
        write(top.join("e\u{202e}x"), "").expect("there is room");
        let tree = Tree::of(std::slice::from_ref(&top), None).expect("it is there");
        assert_eq!(paths(&tree), ["photos", "photos/.a", "photos/b", "photos/b/2", "photos/b/empty"]);
        assert_eq!(tree.skipped, ["photos/link: a symbolic link"]);
        assert_eq!(tree.failed.len(), 1);
        assert!(tree.failed[0].1.contains("U+202E"), "{:?}", tree.failed);
        let renamed = Tree::of(&[top.join("b").join("..")], Some("other")).expect("it is there");
        assert_eq!(paths(&renamed)[1], "other/.a");
        assert_eq!(tree.name(), "photos");
        let [one, other] = [&tree, &renamed].map(|tree| tree.identity().expect("no stream is in it"));
        assert!(
            one == Tree::of(&[top], None).expect("it is there").identity().expect("no stream")
                && one != other
        );
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anything_is() {
        let directory = tempfile::tempdir().expect("a folder");
        let [one, pipe] = ["one", "pipe"].map(|name| directory.path().join(name));
        write(&one, "").expect("there is room");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let refused = |paths: &[PathBuf], name: Option<&str>| {
            Tree::of(paths, name).expect_err("it is refused").to_string()
        };
        assert!(refused(&["-".into()], None).contains("--as NAME"));
        assert!(refused(std::slice::from_ref(&one), Some("a/b")).contains("U+002F"));
        assert!(refused(&[one.clone(), one.clone()], None).contains("two of its name"));
        assert!(refused(&[one.clone(), pipe.clone()], Some("x")).contains("2 are given"));
        assert!(refused(&[pipe], None).contains("neither"));
        assert!(refused(&[directory.path().join("none")], None).contains("No such file"));
        assert_eq!(Tree::of(&["-".into()], Some("x")).expect("it is named").entries[0].0.size, UNKNOWN);
    }
}
