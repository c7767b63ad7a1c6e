//! `send`.

use super::sockets::Sockets;
use super::{Local, SendOptions, hexadecimal, megabits, now, print, say, told};
use crate::error::Error;
use crate::hello::{Offer, is_plain};
use crate::identity;
use crate::sender::{Order, Sender};
use crate::session::Session;
use crate::settings::Settings;
use plait_sched::Builtin;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// Between two looks at progress.
const STEP: Duration = Duration::from_millis(500);

pub(super) fn run(options: &SendOptions) -> Result<(), Error> {
    let secret = told(&options.common)?;
    let scheduler =
        Builtin::new(&options.scheduler, &[]).map_err(|error| Error::Setting(error.to_string()))?;
    let remote = resolve(&options.to, &options.local)?;
    let locals = match &options.local[..] {
        [] => vec![Local { address: chosen(remote)?, interface: None }],
        given => given.to_vec(),
    };
    let path = &options.file;
    let of_file = |error: std::io::Error| Error::Setting(format!("{}: {error}", path.display()));
    let mut file = File::open(path).map_err(of_file)?;
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| is_plain(name));
    let name = name.ok_or_else(|| Error::Setting(format!("{}: its name cannot be sent", path.display())))?;
    let (size, digest) = hash(&mut file).map_err(of_file)?;
    let settings = Settings { congestion: options.congestion, ..options.common.settings() };
    let mut sockets = Sockets::new()?;
    for local in &locals {
        let refused = |error| Error::Setting(format!("local address {}: {error}", local.address));
        sockets.add(SocketAddr::new(local.address, 0), local.interface.as_deref()).map_err(refused)?;
    }
    let order = Order {
        remote,
        locals: locals.iter().map(|local| local.address).collect(),
        fingerprint: options.fingerprint,
        secret,
        session: identity::random()?,
        offer: Offer { name: name.to_owned(), size, digest },
        scheduler,
    };
    let begun = now();
    let mut sender = Sender::new(begun, settings, order, file)?;
    let shown = !options.common.quiet;
    drive(&mut sender, &mut sockets, begun, size, shown)?;
    let duration = now().duration_since(begun);
    let (progress, counters) = (sender.progress(), sender.session().map(Session::counters));
    let oversized = sender.oversized();
    sender.into_outcome().unwrap_or(Ok(()))?;
    let counters = counters.unwrap_or_default();
    if options.common.json {
        let paths = progress.iter().map(|path| {
            let srtt = path.srtt.map(|srtt| srtt.as_secs_f64() * 1e3);
            json!({"local": path.local, "sent_bytes": path.sent, "srtt_ms": srtt, "opened": path.opened, "trouble": path.trouble})
        });
        let line = json!({
            "event": "sent", "file": name, "bytes": size, "sha256": hexadecimal(&digest), "seconds": duration.as_secs_f64(),
            "goodput_bps": megabits(size, duration) * 1e6, "scheduler": options.scheduler, "paths": paths.collect::<Vec<_>>(),
            "retransmissions": counters.retransmissions, "reinjections": counters.reinjections, "oversized": oversized,
        });
        print(&line.to_string())
    } else {
        let sent: Vec<String> =
            progress.iter().map(|path| format!("{} {:.1} MB", path.local, path.sent as f64 / 1e6)).collect();
        let (seconds, rate) = (duration.as_secs_f64(), megabits(size, duration));
        print(&format!(
            "{name}: {size} bytes in {seconds:.2} s, {rate:.1} Mbit/s, SHA-256 equal; {}",
            sent.join(", ")
        ))
    }
}

/// Until there is an outcome.
fn drive(
    sender: &mut Sender<File>,
    sockets: &mut Sockets,
    begun: Instant,
    size: u64,
    shown: bool,
) -> Result<(), Error> {
    let mut out = Vec::new();
    let (mut shown_at, mut before) = (begun, Vec::new());
    let terminal = std::io::stderr().is_terminal();
    loop {
        let moment = now();
        for path in 0..sockets.len() {
            sockets
                .receive(path, |remote, _, datagram| sender.handle_datagram(moment, path, remote, datagram));
        }
        sender.handle_timeout(moment);
        sender.transmit(moment, &mut out);
        for path in 0..sockets.len() {
            sockets.send(path, None);
        }
        for outgoing in out.drain(..) {
            let path = outgoing.path;
            if let Some(trouble) = sockets.send(path, Some(outgoing)) {
                sender.handle_failure(path, &trouble.to_string());
            }
        }
        if shown && moment.duration_since(shown_at) >= STEP {
            show(sender, size, moment.duration_since(shown_at), &mut before, terminal);
            shown_at = moment;
        }
        if sender.outcome().is_some() {
            if shown && terminal {
                say("\r\x1b[K");
            }
            return Ok(());
        }
        let due = sender.next_wakeup().map_or(STEP, |due| due.saturating_duration_since(now()));
        sockets.wait(due.min(STEP))?;
    }
}

fn show(sender: &Sender<File>, size: u64, over: Duration, before: &mut Vec<u64>, terminal: bool) {
    let progress = sender.progress();
    before.resize(progress.len(), 0);
    let done = sender.session().map_or(0, Session::acknowledged);
    let rates = progress.iter().zip(before.iter_mut()).map(|(path, before)| {
        let rate = megabits(path.sent - *before, over);
        *before = path.sent;
        match (path.usable, &path.trouble) {
            (true, _) => format!("{} {rate:.1} Mbit/s", path.local),
            (false, Some(trouble)) => format!("{} down ({trouble})", path.local),
            (false, None) => format!("{} down", path.local),
        }
    });
    let share = 100.0 * done as f64 / size.max(1) as f64;
    let line = format!("{share:5.1} %  {}", rates.collect::<Vec<_>>().join("  "));
    say(&if terminal { format!("\r\x1b[K{line}") } else { format!("{line}\n") });
}

/// The size of a file and its SHA-256.
fn hash(file: &mut File) -> std::io::Result<(u64, [u8; 32])> {
    let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((size, hash.finalize().into()));
        }
        hash.update(&buffer[..count]);
        size += count as u64;
    }
}

/// The receiver's address, of the family that the local addresses have.
fn resolve(to: &str, locals: &[Local]) -> Result<SocketAddr, Error> {
    let failed = |error: std::io::Error| Error::Setting(format!("{to}: {error}"));
    let mut found = to.to_socket_addrs().map_err(failed)?;
    let suits = |remote: &SocketAddr| locals.iter().all(|local| local.address.is_ipv4() == remote.is_ipv4());
    found
        .find(suits)
        .ok_or_else(|| Error::Setting(format!("{to}: no address of the local addresses' family")))
}

/// The local address that the system would take.
fn chosen(remote: SocketAddr) -> Result<IpAddr, Error> {
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(remote)?;
    Ok(socket.local_addr()?.ip())
}
