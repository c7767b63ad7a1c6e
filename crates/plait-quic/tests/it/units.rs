//! The systemd units of `packaging/systemd`.

use crate::running::{PROGRAM, Service, private};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The units start the program: all their options exist, and the configuration files beside them
/// are valid. Only their secrets are refused, because everybody knows them.
#[test]
fn the_units_of_systemd_start_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    let units: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("it is there")
        .map(|entry| entry.expect("it is there").path())
        .filter(|path| path.extension().is_some_and(|end| end == "service"))
        .collect();
    assert_eq!(units.len(), 3);
    for unit in units {
        let text = std::fs::read_to_string(&unit).expect("it is text");
        let given = |key: &str| text.lines().filter_map(|line| line.strip_prefix(key)).collect::<Vec<_>>();
        let [start] = given("ExecStart=")[..] else { panic!("{}", unit.display()) };
        let credential =
            given("LoadCredential=").pop().and_then(|one| one.split(':').next()).expect("a configuration");
        assert_eq!((given("Restart=").pop(), given("NoNewPrivileges=").pop()), (Some("always"), Some("yes")));
        let state = tempfile::tempdir().expect("a folder");
        let config = std::fs::read_to_string(folder.join(credential)).expect("it is beside");
        let config = config.replace("/srv/plait", &state.path().join("inbox").display().to_string());
        let config = config.replace("vps.example.org", "127.0.0.1");
        // Examples of further keys are comments.
        let lines = config.lines().map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.starts_with("[[") || rest.contains(" = ") => rest,
            _ => line,
        });
        let all = lines.filter(|line| !line.starts_with("interface")).collect::<Vec<_>>().join("\n");
        private(state.path(), credential, &all);
        let directory = state.path().to_str().expect("it is text");
        let start =
            start.replace("${CREDENTIALS_DIRECTORY}", directory).replace("${STATE_DIRECTORY}", directory);
        let words: Vec<&str> = start.split(' ').collect();
        assert_eq!(words[0], "/usr/local/bin/plait-quic");
        let near = unit.file_name().is_some_and(|name| name == "plait-proxy-near.service");
        let local = if near {
            [
                "--socks",
                "127.0.0.1:0",
                "--forward",
                "127.0.0.1:0=127.0.0.1:9",
                "--udp",
                "127.0.0.1:0=127.0.0.1:9",
            ]
        } else {
            ["--listen", "127.0.0.1:0", "--mtu", "1232", "--window", "1000000"]
        };
        let arguments = [&words[1..], &local, &["--metrics", "0"]].concat();
        let published = Command::new(PROGRAM).args(&arguments).output().expect("it starts");
        let message = String::from_utf8_lossy(&published.stderr).into_owned();
        assert_eq!(published.status.code(), Some(2), "systemd does not try again: {message}");
        assert!(message.contains("secret is that of a published example"), "{message}");
        private(state.path(), credential, &all.replace("replace-this", "a-long"));
        let mut service = Service::start(&arguments, None);
        assert_eq!(state.path().join("key.pem").exists(), !near);
        service.end();
    }
}
