//! A client's limit of bytes, against senders that offer less than they send.

use crate::network::end::End;
use crate::running::{PROGRAM, Service, private};
use plait_quic::files::records::{Entry, Kind, SenderRecord, UNKNOWN};
use plait_quic::files::{EntryContent, Upload};
use plait_quic::sender::SessionConfig;
use plait_quic::source::{Application, Source};
use plait_quic::{Error, Fingerprint, Offer, Secret, Settings};
use plait_sched::Builtin;
use sha2::Digest;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SECRET: &str = "the secret of the van";
const MOST: usize = 1_000_000;

/// A receiver whose client "van" may send a million bytes in a transfer.
struct Limited {
    _folder: tempfile::TempDir,
    directory: PathBuf,
    out: PathBuf,
    service: Service,
    /// Number of sessions of lying senders. Each has its own identifier, because a finished session
    /// cannot restart.
    lies: u8,
}

impl Limited {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (directory, out) = (folder.path().to_owned(), folder.path().join("out"));
        let config = format!(
            "listen = \"127.0.0.1:0\"\nout = \"{}\"\n[[client]]\nname = \"van\"\nsecret = \"{SECRET}\"\nbytes = \"1MB\"\n",
            out.display()
        );
        let config = private(&directory, "recv.toml", &config);
        let service = Service::start(&["recv", "--config", &config], None);
        Self { _folder: folder, directory, out, service, lies: 0 }
    }

    fn file(&self, name: &str, bytes: usize) -> PathBuf {
        PathBuf::from(private(&self.directory, name, &"x".repeat(bytes)))
    }

    /// Sends with the program. `input` goes to its standard input.
    fn send(&self, files: &[&Path], more: &[&str], input: &[u8]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("send").args(files).arg(self.service.word("address"));
        command.args(["--quiet", "--fingerprint", &self.service.word("fingerprint")]).args(more);
        command.env("PLAIT_SECRET", SECRET).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
        // The program may end before it has read all of the input.
        let _ = child.stdin.take().expect("it is piped").write_all(input);
        child.wait_with_output().expect("it ends")
    }

    /// Sends with an application of the test, whose greeting offers nothing. Returns the error.
    fn lie(&mut self, interop: bool, application: impl Application) -> String {
        self.lies += 1;
        let remote: SocketAddr = self.service.word("address").parse().expect("an address");
        let fingerprint: Fingerprint = self.service.word("fingerprint").parse().expect("it is one");
        let config = SessionConfig {
            remote,
            locals: vec![IpAddr::from(Ipv4Addr::LOCALHOST)],
            terms: Vec::new(),
            fingerprint,
            secret: Secret::new(SECRET),
            session: [self.lies; 16],
            offer: Offer { name: "lie".to_owned(), size: 0, identity: [7; 32] },
        };
        let scheduler = Builtin::new("lowest-rtt", &[]).expect("it is one");
        let settings = Settings::default();
        let mut sender =
            End::new(now(), interop, settings, config, scheduler, application).expect("a sender");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(Duration::from_millis(2))).expect("it can be set");
        let (mut out, mut buffer) = (Vec::new(), [0; 65_536]);
        while !sender.is_over() {
            sender.handle_timeout(now());
            sender.transmit(now(), &mut out);
            for outgoing in out.drain(..) {
                let each = outgoing.segment.unwrap_or(outgoing.bytes.len()).max(1);
                for piece in outgoing.bytes.chunks(each) {
                    let _ = socket.send_to(piece, remote);
                }
            }
            if let Ok(length) = socket.recv(&mut buffer) {
                sender.handle_datagram(now(), 0, remote, &buffer[..length]);
            }
        }
        sender.into_outcome().expect("it has ended").expect_err("it is too much").to_string()
    }

    /// Returns the error in the receiver's log.
    fn failure(&mut self) -> String {
        let failed = self.service.event("failed");
        let from = failed["from"].as_str().unwrap_or_default();
        assert!(from.starts_with("127.0.0.1:") && failed["client"] == "van", "{failed}");
        failed["error"].as_str().expect("it is text").to_owned()
    }
}

#[expect(clippy::disallowed_methods, reason = "the receiver is a process with real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

fn entry(name: &str, size: u64) -> Entry {
    let modified = (1_000_000_000, 0);
    Entry { kind: Kind::File, mode: 0o100_644, modified, size, path: name.as_bytes().to_vec() }
}

/// Records that the receiver has not asked for, followed by endless bytes of an entry.
struct Flood {
    records: Vec<u8>,
    written: u64,
}

impl Flood {
    fn of(entry: u32) -> Self {
        let mut records = Vec::new();
        SenderRecord::Data { entry, length: 1 << 40 }.encode(&mut records);
        Self { records, written: 0 }
    }
}

impl Source for Flood {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        for (directory, byte) in buffer.iter_mut().enumerate() {
            *byte = self.records.get(offset as usize + directory).copied().unwrap_or(1);
        }
        Ok(())
    }
}

impl Application for Flood {
    fn receive(&mut self, _bytes: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn advance(&mut self, _now: Instant, acknowledged: u64, unit: u64) -> u64 {
        self.written = self.written.max((acknowledged + 4_000_000) / unit * unit);
        self.written
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }

    fn outcome(&mut self) -> Option<Result<(), Error>> {
        None
    }

    fn size(&self) -> u64 {
        0
    }

    fn carried(&self) -> u64 {
        0
    }

    fn resumed(&self) -> u64 {
        0
    }
}

/// One file, several files, a folder and standard input have the same limit, exact to the byte.
#[test]
fn a_transfer_has_no_more_bytes_than_its_client_may_send() {
    let mut receiver = Limited::new();
    let (half, more) = (receiver.file("half", MOST / 2), receiver.file("more", MOST / 2 + 1));
    let whole = receiver.file("whole", MOST);
    let folder = receiver.directory.join("folder");
    std::fs::create_dir(&folder).expect("it is new");
    for file in [&half, &more] {
        std::fs::copy(file, folder.join(file.file_name().expect("a name"))).expect("there is room");
    }
    let too_much: [(&[&Path], &[&str], usize); 3] =
        [(&[&half, &more], &[], 0), (&[&folder], &[], 0), (&[Path::new("-")], &["--as", "input"], MOST + 1)];
    for interop in [false, true] {
        let mode: &[&str] = if interop { &["--interop"] } else { &[] };
        for (files, options, input) in too_much {
            let output = receiver.send(files, &[options, mode].concat(), &vec![7; input]);
            let words = String::from_utf8(output.stderr).expect("it is text");
            let allowed = "1000000 are allowed to this client";
            assert!(!output.status.success() && words.contains(allowed), "{files:?}: {words}");
            assert!(words.contains("a transfer of at least 1000"), "{words}");
        }
    }
    assert!(receiver.failure().contains("1000000 are allowed"), "standard input ends under way");
    let count = || std::fs::read_dir(&receiver.out).map_or(0, Iterator::count);
    assert_eq!(count(), 0, "nothing is kept");
    assert!(receiver.send(&[&whole], &[], &[]).status.success());
    let output = receiver.send(&[Path::new("-")], &["--as", "input"], &vec![7; MOST]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(count(), 2);
}

/// The receiver does not trust the sizes in a greeting: neither for files, nor for parts that it
/// has, nor for streams.
#[test]
fn a_sender_that_offers_less_than_it_has_is_ended() {
    let file = |name: &str, size: usize| (entry(name, size as u64), EntryContent::Memory(vec![7; size]));
    let mut receiver = Limited::new();
    std::fs::create_dir_all(&receiver.out).expect("it can be made");
    // Most of a file came from another client.
    let name =
        sha2::Sha256::digest(b"part")[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let part = receiver.out.join(format!(".plait-{name}.part"));
    std::fs::write(&part, vec![7; MOST]).expect("there is room");
    for interop in [false, true] {
        let lies = [
            vec![file("one", MOST + 1)],
            vec![file("first", MOST / 2), file("second", MOST), file("third", MOST / 2)],
            vec![file("part", MOST + 1)],
        ];
        for entries in lies {
            let words = receiver.lie(interop, Upload::new(entries));
            assert!(words.contains("1000000 are allowed to this client"), "{words}");
            assert!(receiver.failure().contains("1000000 are allowed"));
        }
        let mut endless = Flood::of(0);
        let mut records = Vec::new();
        SenderRecord::Entry(entry("endless", UNKNOWN)).encode(&mut records);
        endless.records = [records, endless.records].concat();
        // Bytes of an entry without an offer count, too.
        for flood in [endless, Flood::of(9)] {
            let words = receiver.lie(interop, flood);
            assert!(words.contains("1000000 are allowed to this client"), "{words}");
            assert!(receiver.failure().contains("1000000 are allowed"));
        }
    }
    let kept: u64 = std::fs::read_dir(&receiver.out)
        .expect("it is there")
        .map(|file| file.and_then(|file| file.metadata()).expect("it is there").len())
        .sum();
    assert!(kept <= 2 * MOST as u64, "the part, and a transfer within the limit: {kept}");
    assert_eq!(std::fs::metadata(&part).expect("it stays").len(), MOST as u64);
}
