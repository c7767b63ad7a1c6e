//! Both applications of a transfer, without a network: arbitrary entries, interrupted anywhere.

use crate::network::links::some_moment;
use plait_quic::files::records::{Entry, Kind};
use plait_quic::files::{Download, EntryContent, EntryOutcome, Upload};
use plait_quic::source::{Application, Source};
use plait_quic::{Error, files};
use proptest::prelude::*;
use std::path::Path;
use std::time::Duration;

fn content(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes as u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ seed).collect()
}

fn file(path: &[u8], bytes: &[u8]) -> (Entry, EntryContent) {
    let size = bytes.len() as u64;
    let entry =
        Entry { kind: Kind::File, mode: 0o100_644, modified: (1_000_000_000, 7), size, path: path.to_vec() };
    (entry, EntryContent::Memory(bytes.to_vec()))
}

fn folder(path: &[u8]) -> (Entry, EntryContent) {
    let entry = Entry {
        kind: Kind::Folder,
        mode: 0o40_755,
        modified: (1_000_000_000, 7),
        size: 0,
        path: path.to_vec(),
    };
    (entry, EntryContent::Nothing)
}

/// Carries at most this many bytes from one end to the other, in pieces. Returns the outcome, if
/// the transfer ended.
fn talk(
    upload: &mut Upload,
    download: &mut Download,
    most: u64,
    piece: usize,
    unit: u64,
) -> Option<Result<(), Error>> {
    let mut now = some_moment();
    let mut read = 0;
    // A transfer of this size needs fewer turns.
    for _ in 0..2_000 {
        let end = upload.advance(now, read, unit);
        while read < end.min(most) {
            let mut buffer = vec![0; piece.min((end.min(most) - read) as usize)];
            upload.read_at(read, &mut buffer).expect("it was written");
            read += buffer.len() as u64;
            download.take(now, &buffer).expect("it is well formed");
        }
        download.advance(now).expect("there is room");
        upload.receive(&download.answers()).expect("it is well formed");
        if let Some(outcome) = upload.outcome() {
            assert!(download.outcome().is_some(), "both are over");
            return Some(outcome);
        }
        if read == most {
            return None;
        }
        now += Duration::from_millis(200);
    }
    panic!("nothing goes on");
}

fn all_kept(upload: &Upload) -> bool {
    upload.outcomes().all(|(_, outcome)| matches!(outcome, Some(EntryOutcome::Stored(_))))
}

fn receiver(directory: &Path) -> Download {
    Download::into_folder(directory.to_owned()).expect("it is there")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_sent_and_wherever_it_is_interrupted_all_arrives(
        sizes in prop::collection::vec(prop_oneof![Just(0), 1..3_000_usize, 200_000..600_000_usize], 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        piece in prop_oneof![Just(1_153_usize), 1..9_000_usize],
        unit in prop_oneof![Just(1_u64), Just(1_153)],
    ) {
        let directory = tempfile::tempdir().expect("a folder");
        let contents: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(at, size)| content(*size, at as u8)).collect();
        let items = || {
            let files = contents.iter().enumerate().map(|(at, bytes)| file(format!("top/{at}").as_bytes(), bytes));
            [folder(b"top")].into_iter().chain(files).collect()
        };
        let whole = sizes.iter().sum::<usize>() as u64 + 1;
        for cut in cuts {
            let (mut upload, mut download) = (Upload::new(items()), receiver(directory.path()));
            let outcome = talk(&mut upload, &mut download, cut.index(whole as usize) as u64, piece, unit);
            prop_assert!(outcome.is_none_or(|outcome| outcome.is_ok()));
        }
        let (mut upload, mut download) = (Upload::new(items()), receiver(directory.path()));
        let outcome = talk(&mut upload, &mut download, u64::MAX, piece, unit);
        prop_assert!(matches!(outcome, Some(Ok(()))) && all_kept(&upload));
        for (at, bytes) in contents.iter().enumerate() {
            let path = directory.path().join(format!("top/{at}"));
            let found = std::fs::read(path).expect("it is there");
            prop_assert!(found == *bytes);
        }
        prop_assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 1, "no part is left");
        let (mut upload, mut download) = (Upload::new(items()), receiver(directory.path()));
        prop_assert!(matches!(talk(&mut upload, &mut download, u64::MAX, piece, unit), Some(Ok(()))));
        // Empty files have nothing to compare.
        prop_assert_eq!(upload.resumed(), sizes.iter().sum::<usize>() as u64, "equal files are not carried");
    }
}

#[test]
fn paths_that_lead_elsewhere_are_refused_by_the_receiver() {
    let directory = tempfile::tempdir().expect("a folder");
    let inbox = directory.path().join("inbox");
    std::fs::create_dir(&inbox).expect("it is new");
    for path in
        ["../x", "/x", "a/../../x", "a//x", "", ".", "a/./x", ".plait-x.part", "a\0", "e\u{202e}x", "a\u{1b}"]
    {
        for item in [file(path.as_bytes(), b"x"), folder(path.as_bytes())] {
            let (mut upload, mut download) = (Upload::new(vec![item]), receiver(&inbox));
            let outcome = talk(&mut upload, &mut download, u64::MAX, 100, 1);
            assert!(matches!(outcome, Some(Err(Error::NotStored(_)))), "{path:?}");
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 1);
    assert_eq!(std::fs::read_dir(&inbox).expect("it is there").count(), 0);
    let deep = [b"a/".repeat(200), b"x".to_vec()].concat();
    let (mut upload, mut download) = (Upload::new(vec![file(&deep, b"x")]), receiver(&inbox));
    assert!(matches!(talk(&mut upload, &mut download, u64::MAX, 100, 1), Some(Err(Error::NotStored(_)))));
}

#[test]
fn another_file_of_the_name_is_refused_before_its_content_is_sent() {
    let directory = tempfile::tempdir().expect("a folder");
    for there in [content(300_000, 1), content(200_000, 1)] {
        std::fs::write(directory.path().join("x"), &there).expect("there is room");
        let mut upload = Upload::new(vec![file(b"x", &content(300_000, 2))]);
        let outcome = talk(&mut upload, &mut receiver(directory.path()), 1_000, 100, 1);
        let reason = outcome.and_then(Result::err).map(|error| error.to_string());
        assert!(
            reason.as_ref().is_some_and(|reason| reason.contains("another file has the name x:")),
            "{reason:?}"
        );
        assert!(std::fs::read(directory.path().join("x")).expect("it is there") == there);
    }
    assert_eq!(files::STREAM, "-");
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_is_told() {
    let directory = tempfile::tempdir().expect("a folder");
    for size in [1_000, 600_000] {
        let (mut entry, content) = file(b"x", &content(size, 1));
        entry.size += 1;
        let (mut upload, mut download) = (Upload::new(vec![(entry, content)]), receiver(directory.path()));
        let outcome = talk(&mut upload, &mut download, u64::MAX, 10_000, 1);
        let reason = outcome.and_then(Result::err).map(|error| error.to_string());
        assert!(reason.as_ref().is_some_and(|reason| reason.contains("cannot be read")), "{reason:?}");
        assert!(!directory.path().join("x").exists());
    }
}
