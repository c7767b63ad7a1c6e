//! Counters of a service in the text format of Prometheus (exposition format 0.0.4). One thread
//! serves them over HTTP.

use crate::error::Error;
use crate::files::{now, system_now};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};

/// Time for an HTTP client to send its request, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Largest size of a request in bytes.
const MOST: usize = 8 << 10;

/// Families of series: name, type and help.
const FAMILIES: [(&str, &str, &str); 22] = [
    ("plait_info", "gauge", "Version and command of the program."),
    ("plait_start_time_seconds", "gauge", "Start of the program since the Unix epoch in seconds."),
    ("plait_rejected_secrets_total", "counter", "Connections with a wrong secret."),
    ("plait_transfers", "gauge", "Files that arrive now."),
    ("plait_transfers_kept_total", "counter", "Files that were received and kept."),
    ("plait_transfers_failed_total", "counter", "Files that were offered and are not kept."),
    ("plait_near_ends", "gauge", "Near ends that are connected now."),
    ("plait_near_ends_total", "counter", "Near ends that have connected."),
    ("plait_far_end_up", "gauge", "Whether the far end is there (1) or is looked for (0)."),
    ("plait_far_end_losses_total", "counter", "Times that the far end was lost or not found."),
    ("plait_connections", "gauge", "TCP connections now."),
    ("plait_connections_total", "counter", "TCP connections that were opened."),
    ("plait_connections_refused_total", "counter", "TCP connections that were refused, by reason."),
    ("plait_connections_idle_total", "counter", "TCP connections that were ended because nothing moved."),
    ("plait_sent_bytes_total", "counter", "Payload bytes that were sent, without copies."),
    ("plait_received_bytes_total", "counter", "Payload bytes that arrived, without copies."),
    ("plait_path_up", "gauge", "Whether a path works (1) or not (0); a backup works while it answers."),
    ("plait_path_srtt_seconds", "gauge", "Smoothed round-trip time of a path in seconds."),
    ("plait_path_sent_bytes_total", "counter", "Payload bytes that were sent on a path, copies included."),
    ("plait_path_received_bytes_total", "counter", "Payload bytes that arrived first on a path."),
    ("plait_path_sent_packets_total", "counter", "Data packets that were sent on a path."),
    ("plait_path_lost_packets_total", "counter", "Data packets that were sent on a path and lost."),
];

/// Names and values of a series' labels.
type Labels = Vec<(&'static str, String)>;

/// All series.
#[derive(Debug, Default)]
pub(super) struct Registry {
    series: BTreeMap<&'static str, BTreeMap<Labels, f64>>,
    /// The last count of each source's counters. Sources come and go, and their counters restart
    /// from 0.
    seen: BTreeMap<String, BTreeMap<(&'static str, Labels), u64>>,
}

/// Makes labels from names and values.
pub(super) fn labels(pairs: &[(&'static str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

impl Registry {
    /// Sets the value of a series.
    pub(super) fn set(&mut self, name: &'static str, labels: Labels, value: f64) {
        self.series.entry(name).or_default().insert(labels, value);
    }

    /// Adds to the value of a series.
    pub(super) fn add(&mut self, name: &'static str, labels: Labels, more: f64) {
        *self.series.entry(name).or_default().entry(labels).or_default() += more;
    }

    /// Adds the growth of a source's counter since the last call. A smaller count means that the
    /// counter has restarted.
    pub(super) fn follow(&mut self, source: &str, name: &'static str, labels: Labels, count: u64) {
        let seen = self.seen.entry(source.to_owned()).or_default();
        let before = seen.insert((name, labels.clone()), count).unwrap_or(0);
        let more = if count < before { count } else { count - before };
        self.add(name, labels, more as f64);
    }

    /// Forgets the counts of a source.
    pub(super) fn forget(&mut self, source: &str) {
        self.seen.remove(source);
    }

    /// Removes all series of a family, because their labels may change.
    pub(super) fn clear(&mut self, name: &'static str) {
        self.series.remove(name);
    }

    /// Formats all series.
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, kind, help) in FAMILIES {
            let Some(series) = self.series.get(name).filter(|series| !series.is_empty()) else { continue };
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in series {
                let pairs = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
                let pairs = pairs.collect::<Vec<_>>().join(",");
                let braces = if pairs.is_empty() { String::new() } else { format!("{{{pairs}}}") };
                let _ = writeln!(text, "{name}{braces} {value}");
            }
        }
        text
    }
}

/// Escapes backslash, quotation mark and line feed in a label value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Parses the address to serve: `ADDR:PORT`, or a port on the loopback address.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    port.or_else(|_| text.parse()).map_err(|_| "expected ADDR:PORT, or a port of 127.0.0.1".to_owned())
}

/// The HTTP server, which runs until this is dropped.
pub(super) struct Metrics {
    registry: Arc<Mutex<Registry>>,
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Starts the server at an address.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if the address cannot be used.
    pub(super) fn open(address: SocketAddr, command: &str) -> Result<Self, Error> {
        let listener =
            TcpListener::bind(address).map_err(|error| Error::unbound("--metrics", address, &error))?;
        let address = listener.local_addr()?;
        let (registry, ended) = (Arc::new(Mutex::new(Registry::default())), Arc::new(AtomicBool::new(false)));
        let (shared, over) = (Arc::clone(&registry), Arc::clone(&ended));
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                // Errors are ignored: the client is gone and gets no answer.
                let _ = stream.and_then(|stream| answer(stream, &shared));
            }
        })?;
        let metrics = Self { registry, address, ended, thread: Some(thread) };
        metrics.count(|registry| {
            let about = [("version", env!("CARGO_PKG_VERSION")), ("command", command)];
            registry.set("plait_info", labels(&about), 1.0);
            let start = system_now().duration_since(UNIX_EPOCH).unwrap_or_default();
            registry.set("plait_start_time_seconds", labels(&[]), start.as_secs_f64());
            registry.add("plait_rejected_secrets_total", labels(&[]), 0.0);
        });
        Ok(metrics)
    }

    /// Returns the address of the server.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes counters.
    pub(super) fn count(&self, change: impl FnOnce(&mut Registry)) {
        change(&mut locked(&self.registry));
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // The thread blocks until a client connects, so this connection wakes it.
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn locked(registry: &Mutex<Registry>) -> MutexGuard<'_, Registry> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads and answers one request.
fn answer(mut stream: TcpStream, registry: &Mutex<Registry>) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let until = now() + PATIENCE;
    let (mut request, mut piece) = (Vec::new(), [0; 1_024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MOST {
        // The system would take a timeout of zero as no timeout.
        stream.set_read_timeout(Some((until - now()).max(Duration::from_millis(1))))?;
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            count => request.extend_from_slice(&piece[..count]),
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let asked = (words.next().unwrap_or_default(), words.next().unwrap_or_default().split('?').next());
    let (status, body) = match asked {
        ("GET" | "HEAD", Some("/metrics")) => ("200 OK", locked(registry).text()),
        ("GET" | "HEAD", _) => ("404 Not Found", "the counters are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "choose GET\n".to_owned()),
    };
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let shown = if asked.0 == "HEAD" { "" } else { body.as_str() };
    stream.write_all(head.as_bytes())?;
    stream.write_all(shown.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_what_comes_and_goes_never_fall() {
        let mut registry = Registry::default();
        let name = "plait_sent_bytes_total";
        let lab = || labels(&[("client", "lab \"1\"\\\n")]);
        registry.follow("first", name, lab(), 100);
        registry.follow("first", name, lab(), 150);
        registry.follow("second", name, lab(), 7);
        registry.forget("first");
        registry.follow("first", name, lab(), 3);
        let expected = "# HELP plait_sent_bytes_total Payload bytes that were sent, without copies.\n\
                        # TYPE plait_sent_bytes_total counter\n\
                        plait_sent_bytes_total{client=\"lab \\\"1\\\"\\\\\\n\"} 160\n";
        assert_eq!(registry.text(), expected);
        registry.set("plait_path_srtt_seconds", labels(&[]), 0.02);
        assert!(registry.text().contains("\nplait_path_srtt_seconds 0.02\n"));
        registry.clear("plait_path_srtt_seconds");
        assert_eq!(registry.text(), expected);
    }

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        assert_eq!(address("9100"), Ok("127.0.0.1:9100".parse().expect("an address")));
        assert_eq!(address("0.0.0.0:9100"), Ok("0.0.0.0:9100".parse().expect("an address")));
        assert!(address("host").is_err_and(|error| error.contains("ADDR:PORT")));
    }

    #[test]
    fn it_answers_over_http() {
        let metrics = Metrics::open(address("0").expect("it is one"), "recv").expect("a port");
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(metrics.address()).expect("it listens");
            stream.write_all(request.as_bytes()).expect("it is taken");
            let mut text = String::new();
            stream.read_to_string(&mut text).expect("it is text");
            text
        };
        let text = ask("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{text}");
        assert!(text.contains("\nplait_rejected_secrets_total 0\n"), "{text}");
        assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    }
}
