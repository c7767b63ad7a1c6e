//! Several files, folders, standard input and output, sent by the program over loopback.

use crate::program::Receiver;
use crate::running::{PROGRAM, line};
use std::fs::{create_dir_all, read, symlink_metadata, write};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn sent(output: &Output) -> serde_json::Value {
    line(&mut output.stdout.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).unwrap_or_default())
}

/// Lists all files and folders below a folder, with content, permissions and modification time.
fn listing(top: &Path) -> Vec<(PathBuf, Vec<u8>, u32, i64)> {
    let mut found = Vec::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        let metadata = symlink_metadata(&directory).expect("it is there");
        let content = if metadata.is_file() { read(&directory).expect("it is ours") } else { Vec::new() };
        let path = directory.strip_prefix(top).expect("it is below").to_owned();
        found.push((
            path,
            content,
            metadata.mode() & 0o7777,
            metadata.mtime_nsec() + metadata.mtime() * 1_000_000_000,
        ));
        if metadata.is_dir() {
            waiting.extend(
                std::fs::read_dir(&directory).expect("it is ours").map(|one| one.expect("an entry").path()),
            );
        }
    }
    found.sort();
    found
}

/// Makes a folder with all kinds of entries.
fn tree(directory: &Path) -> PathBuf {
    let top = directory.join("photos");
    create_dir_all(top.join("2024/empty")).expect("it is new");
    write(top.join("2024/large"), vec![7; 3_000_000]).expect("there is room");
    write(top.join("2024/05-01T12:00:00?.log"), "a log").expect("there is room");
    write(top.join(".hidden"), "").expect("there is room");
    write(top.join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "Latin-1").expect("there is room");
    for count in 0..300 {
        write(top.join(format!("small {count}")), format!("{count}").repeat(count)).expect("there is room");
    }
    std::fs::set_permissions(top.join("small 1"), PermissionsExt::from_mode(0o755)).expect("it is ours");
    std::fs::set_permissions(top.join("2024"), PermissionsExt::from_mode(0o750)).expect("it is ours");
    for name in ["2024/large", "2024/empty", "2024", ""] {
        let file = std::fs::File::open(top.join(name)).expect("it is there");
        let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 123_456_789);
        file.set_times(std::fs::FileTimes::new().set_modified(time)).expect("it is ours");
    }
    top
}

#[test]
fn a_folder_arrives_with_times_and_permissions_and_again_nothing_is_carried() {
    for mode in [&[][..], &["--interop"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let (top, out) = (tree(folder.path()), folder.path().join("out"));
        let receiver = Receiver::start(&out, &["--mode", "keep"]);
        let first = receiver.send(&top, mode);
        let report = sent(&first);
        assert!(first.status.success(), "{report} {}", String::from_utf8_lossy(&first.stderr));
        assert_eq!((&report["files"], &report["resumed_bytes"]), (&304.into(), &0.into()));
        assert_eq!(listing(&out.join("photos")), listing(&top));
        let again = receiver.send(&top, mode);
        let report = sent(&again);
        assert!(again.status.success(), "{report}");
        assert_eq!(report["resumed_bytes"], report["bytes"]);
        let carried: u64 = report["paths"]
            .as_array()
            .expect("they are listed")
            .iter()
            .filter_map(|path| path["bytes"].as_u64())
            .sum();
        assert!(carried < report["bytes"].as_u64().expect("a number") / 10, "{report}");
        assert_eq!(listing(&out.join("photos")), listing(&top));
    }
}

#[test]
fn several_files_and_other_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let receiver = Receiver::start(&out, &[]);
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    write(&one, "1").expect("there is room");
    write(&two, "2").expect("there is room");
    std::fs::set_permissions(&one, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let report = receiver.send_all(&[&one, &two], &[]);
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    assert_eq!(
        (read(out.join("one")).expect("it is there"), read(out.join("two")).expect("it is there")),
        (b"1".to_vec(), b"2".to_vec())
    );
    let modes =
        ["one", "two"].map(|name| symlink_metadata(out.join(name)).expect("it is there").mode() & 0o777);
    assert_eq!(modes, [0o700, 0o600], "nobody else's");
    create_dir_all(folder.path().join("d/e")).expect("it is new");
    write(folder.path().join("d/e/f"), "3").expect("there is room");
    assert!(receiver.send(&folder.path().join("d"), &["--as", "other"]).status.success());
    assert_eq!(read(out.join("other/e/f")).expect("it is there"), b"3");
    let refused = receiver.send_all(&[&one, &two], &["--as", "x"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(sent(&refused)["event"], "failed");
}

#[test]
fn what_does_not_arrive_is_told_and_all_else_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let (top, out) = (folder.path().join("top"), folder.path().join("out"));
    create_dir_all(&top).expect("it is new");
    write(top.join("a"), "a").expect("there is room");
    write(top.join("b\u{1b}[2J"), "b").expect("there is room");
    write(top.join("c"), "c").expect("there is room");
    symlink("/etc/passwd", top.join("link")).expect("a link");
    create_dir_all(out.join("top")).expect("it is new");
    write(out.join("top/c"), "another").expect("there is room");
    let mut receiver = Receiver::start(&out, &["--once"]);
    let output = receiver.send(&top, &[]);
    let report = sent(&output);
    assert_eq!((output.status.code(), &report["files"]), (Some(1), &1.into()), "{report}");
    assert_eq!(report["failed"].as_array().map(Vec::len), Some(2), "{report}");
    assert_eq!(report["skipped"][0], "top/link: a symbolic link");
    assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b), "no terminal obeys");
    let text = String::from_utf8(output.stderr).expect("it is text");
    assert!(
        text.contains("U+001B")
            && text.contains("another file has the name top/c:")
            && text.contains("symbolic link"),
        "{text}"
    );
    assert_eq!(line(&mut receiver.lines)["event"], "failed");
    assert_eq!(receiver.child.wait().expect("it ends").code(), Some(1));
    assert_eq!(read(out.join("top/a")).expect("it is there"), b"a");
    assert!(!out.join("top/link").exists());
}

/// Another user of the folder cannot redirect files to another place.
#[test]
fn links_in_the_inbox_lead_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let (top, out, outside) =
        (folder.path().join("top"), folder.path().join("out"), folder.path().join("outside"));
    create_dir_all(&top).expect("it is new");
    create_dir_all(&out).expect("it is new");
    create_dir_all(&outside).expect("it is new");
    write(top.join("a"), "a").expect("there is room");
    symlink(&outside, out.join("top")).expect("a link");
    let receiver = Receiver::start(&out, &["--replace"]);
    let output = receiver.send(&top, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in the way"), "{}", sent(&output));
    assert_eq!(std::fs::read_dir(&outside).expect("it is there").count(), 0);
}

#[test]
fn an_interrupted_folder_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (top, out) = (folder.path().join("top"), folder.path().join("out"));
    create_dir_all(&top).expect("it is new");
    for count in 0..40_u8 {
        write(top.join(format!("{count}")), vec![count; 10_000_000]).expect("there is room");
    }
    let mut receiver = Receiver::start(&out, &[]);
    let mut sending = receiver.command(&[&top], &[]).stdout(Stdio::piped()).spawn().expect("it starts");
    while std::fs::read_dir(out.join("top")).map_or(0, Iterator::count) < 5 {
        std::thread::yield_now();
    }
    sending.kill().expect("it runs");
    sending.wait().expect("it ends");
    let output = receiver.send(&top, &[]);
    let report = sent(&output);
    assert!(output.status.success(), "{report} {}", String::from_utf8_lossy(&output.stderr));
    assert!(report["resumed_bytes"].as_u64() >= Some(50_000_000), "{report}");
    assert_eq!(listing(&out.join("top")).len(), 41);
    assert_eq!(line(&mut receiver.lines)["event"], "failed", "the first one");
}

#[test]
fn standard_input_and_output_are_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let receiver = Receiver::start(&out, &[]);
    let content: Vec<u8> =
        (0..5_000_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    for more in [&["--as", "dump.sql"][..], &["--as", "other", "--interop"]] {
        let mut command = receiver.command(&[Path::new("-")], more);
        let mut sending = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut input = sending.stdin.take().expect("it is piped");
        for piece in content.chunks(77_777) {
            input.write_all(piece).expect("it is read");
        }
        drop(input);
        let output = sending.wait_with_output().expect("it ends");
        let report = sent(&output);
        assert!(output.status.success(), "{report}");
        assert_eq!(report["bytes"], 5_000_000);
        assert!(read(out.join(more[1])).expect("it is there") == content, "{more:?}");
    }
    let nameless = receiver.send(Path::new("-"), &[]);
    assert!(String::from_utf8_lossy(&nameless.stderr).contains("--as NAME"));
    let file = folder.path().join("file");
    write(&file, &content).expect("there is room");
    let mut command = Command::new(PROGRAM);
    command.args(["recv", "--out", "-", "--json", "--listen", "127.0.0.1:0", "--secret", "told"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut events = std::io::BufReader::new(child.stderr.take().expect("it is piped"));
    let hello = line(&mut events);
    let piped = std::thread::spawn(move || child.wait_with_output().expect("it ends"));
    let word = |key: &str| hello[key].as_str().expect("it is text").to_owned();
    let mut command = Command::new(PROGRAM);
    command.arg("send").arg(&file).arg(word("address")).args([
        "--secret",
        "told",
        "--fingerprint",
        &word("fingerprint"),
    ]);
    assert!(command.status().expect("it starts").success());
    let output = piped.join().expect("nobody panicked");
    assert!(output.status.success() && output.stdout == content);
}

/// The second of two senders is refused before any byte of its file is sent.
#[test]
fn a_second_file_of_the_same_name_is_refused_before_it_is_carried() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let receiver = Receiver::start(&out, &[]);
    let mut slow = receiver.command(&[Path::new("-")], &["--as", "x"]);
    let mut slow = slow.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = slow.stdin.take().expect("it is piped");
    input.write_all(&[1; 300_000]).expect("it is read");
    while !std::fs::read_dir(&out).is_ok_and(|mut parts| parts.next().is_some()) {
        std::thread::yield_now();
    }
    let file = folder.path().join("x");
    write(&file, vec![2; 30_000_000]).expect("there is room");
    let output = receiver.send(&file, &[]);
    assert_eq!((output.status.code(), &sent(&output)["event"]), (Some(1), &"failed".into()));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another file x is arriving"));
    assert_eq!(std::fs::read_dir(&out).expect("it is there").count(), 1, "no second part");
    drop(input);
    assert!(slow.wait().expect("it ends").success());
    assert_eq!(read(out.join("x")).expect("it is there"), [1; 300_000]);
}

/// The receiver's JSON reports the kept bytes of a failed transfer.
#[test]
fn bytes_that_are_kept_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (folder.path().join("f"), folder.path().join("out"));
    write(&file, vec![7; 300_000_000]).expect("there is room");
    let mut receiver = Receiver::start(&out, &[]);
    let mut sending = receiver.command(&[&file], &[]).stdout(Stdio::piped()).spawn().expect("it starts");
    let part = || {
        let mut found = std::fs::read_dir(&out).into_iter().flatten().flatten();
        found.next().and_then(|part| part.metadata().ok()).map_or(0, |part| part.len())
    };
    while part() < 2_000_000 {
        std::thread::yield_now();
    }
    sending.kill().expect("it runs");
    sending.wait().expect("it ends");
    let pid = nix::unistd::Pid::from_raw(receiver.child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("it runs");
    let report = line(&mut receiver.lines);
    assert_eq!(report["event"], "failed");
    assert_eq!(report["kept_bytes"], part(), "{report}");
}
