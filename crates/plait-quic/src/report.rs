//! Events of transfers and proxies as JSON: lines of `--json`, which the Python package reads, too.

use crate::clients::ConnectedClient;
use crate::files::{CompletedTransfer, Local, PathStatus, ReceiveEvent, SendOutcome, Status};
use crate::identity::hexadecimal;
use crate::pilot::SchedulerChange;
use crate::proxy::{self, FarEvent, NearEvent, PeerStatus};
use crate::receiver::Summary;
use crate::sender::Progress;
use crate::streams::MAX_DATAGRAM;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;

/// Reason of a rejection.
pub const WRONG_SECRET: &str = "the secret is wrong";

/// Returns the rate of a transfer in bit/s, without the bytes of an earlier transfer.
pub fn goodput(bytes: u64, resumed: u64, duration: Duration) -> f64 {
    bytes.saturating_sub(resumed) as f64 * 8.0 / duration.as_secs_f64().max(1e-9)
}

/// Converts changes of the scheduler.
pub fn changes(changes: &[SchedulerChange], names: &[String]) -> Value {
    changes.iter().map(|change| change.to_json(names)).collect()
}

/// Converts the progress of a file.
pub fn progress(status: &Status) -> Value {
    json!({
        "event": "progress", "file": status.name, "bytes": status.bytes, "size": status.size,
        "seconds": status.elapsed.as_secs_f64(), "paths": paths(&status.paths),
    })
}

/// Converts the result of a transfer; `names` are the names of its first paths.
pub fn sent(sent: &SendOutcome, scheduler: &str, names: &[String]) -> Value {
    let path = |(local, path): &(Local, Progress)| {
        json!({
            "name": local.to_string(), "bytes": path.sent, "srtt_s": path.srtt.map(|srtt| srtt.as_secs_f64()),
            "opened": path.opened, "trouble": path.trouble,
        })
    };
    json!({
        "event": "sent", "file": sent.name, "files": sent.files, "bytes": sent.bytes, "resumed_bytes": sent.resumed,
        "sha256": sent.digest.as_ref().map(|digest| hexadecimal(digest)), "skipped": sent.skipped,
        "failed": sent.failed.iter().map(failure).collect::<Vec<_>>(), "seconds": sent.duration.as_secs_f64(),
        "goodput_bps": goodput(sent.bytes, sent.resumed, sent.duration), "scheduler": scheduler,
        "paths": sent.paths.iter().map(path).collect::<Vec<_>>(),
        "retransmissions": sent.counters.retransmissions, "reinjections": sent.counters.reinjections,
        "unrecorded": sent.unrecorded, "changes": changes(&sent.changes, names),
    })
}

fn failure((file, error): &(String, String)) -> Value {
    json!({"file": file, "error": error})
}

/// Converts the first use, failure or recovery of a path.
pub fn path(name: &str, works: bool, trouble: Option<&str>) -> Value {
    json!({"event": "path", "path": name, "usable": works, "trouble": trouble})
}

/// Converts an event of an end that receives files.
pub fn received(event: &ReceiveEvent<'_>) -> Value {
    match event {
        ReceiveEvent::Begun { offer, from } => json!({
            "event": "begun", "file": offer.name, "size": offer.size, "from": from.remote, "client": client(from),
        }),
        ReceiveEvent::Status(status) => progress(status),
        ReceiveEvent::File { path, outcome: Ok(arrived) } => json!({
            "event": "file", "file": path, "bytes": arrived.bytes, "resumed_bytes": arrived.resumed,
            "sha256": hexadecimal(&arrived.digest),
        }),
        ReceiveEvent::File { path, outcome: Err(error) } => {
            json!({"event": "file", "file": path, "error": error.to_string()})
        }
        ReceiveEvent::Completed { offer, from, transferred } => {
            let CompletedTransfer { path, files, bytes, resumed, digest, summary } = transferred;
            let Summary { duration, paths, longest_gap } = summary;
            json!({
                "event": "received", "file": offer.name, "path": path.to_string_lossy(), "files": files, "bytes": bytes,
                "resumed_bytes": resumed, "sha256": digest.as_ref().map(|digest| hexadecimal(digest)),
                "seconds": duration.as_secs_f64(), "paths": paths, "longest_gap_s": longest_gap.as_secs_f64(),
                "from": from.remote, "client": client(from),
            })
        }
        ReceiveEvent::Rejected { remote } => rejected(remote),
        ReceiveEvent::Failed { offer, from, error, kept_bytes } => json!({
            "event": "failed", "file": offer.name, "error": error.to_string(), "kept_bytes": kept_bytes,
            "from": from.remote, "client": client(from),
        }),
    }
}

/// Converts an event of a proxy's near end.
pub fn near(event: &NearEvent<'_>, names: &[String]) -> Value {
    match event {
        NearEvent::Changed(change) => change.to_json(names),
        NearEvent::Open { after, paths } => {
            json!({"event": "open", "after_s": after.map(|after| after.as_secs_f64()), "paths": paths})
        }
        NearEvent::Status(status) => {
            let proxy::NearStatus {
                streams,
                opened,
                sent,
                received,
                flows,
                datagrams,
                elapsed,
                paths: found,
                ..
            } = status;
            json!({
                "event": "progress", "connections": streams, "opened": opened, "sent_bytes": sent,
                "received_bytes": received, "flows": flows, "datagrams": {
                    "sent": datagrams.sent, "received": datagrams.received, "dropped_late": datagrams.late,
                    "dropped_large": datagrams.large, "dropped_incomplete": datagrams.incomplete,
                },
                "seconds": elapsed.as_secs_f64(), "paths": paths(found),
            })
        }
        NearEvent::Refused { target, reason } => {
            json!({"event": "refused", "target": target.to_string(), "reason": reason.to_string()})
        }
        NearEvent::TooLarge { from, target, bytes } => {
            too_large(json!({"source": from, "target": target.to_string()}), *bytes)
        }
        NearEvent::Unrecorded(error) => json!({"event": "unrecorded", "error": error.to_string()}),
        NearEvent::Lost { error, pause } => {
            json!({"event": "lost", "error": error.to_string(), "pause_s": pause.as_secs_f64()})
        }
        NearEvent::Idle { target } => json!({"event": "idle", "target": target.to_string()}),
    }
}

/// Converts an event of a proxy's far end.
pub fn far(event: &FarEvent<'_>) -> Value {
    match event {
        FarEvent::Changed { from, change } => of(from, change.to_json(&[])),
        FarEvent::ClientConnected { from } => of(from, json!({"event": "came"})),
        FarEvent::ClientDisconnected { status, error } => {
            of(&status.from, json!({"event": "left", "reason": error.to_string()}))
        }
        FarEvent::Rejected { remote } => rejected(remote),
        FarEvent::TargetConnected { from, target, udp } => {
            of(from, json!({"event": "connected", "target": target, "udp": udp}))
        }
        FarEvent::Idle { from, target } => of(from, json!({"event": "idle", "target": target})),
        FarEvent::Refused { from, target, reason } => {
            of(from, json!({"event": "refused", "target": target, "reason": reason.to_string()}))
        }
        FarEvent::TooLarge { from, target, bytes } => of(from, too_large(json!({"target": target}), *bytes)),
        FarEvent::Status(statuses) => {
            let one = |status: &PeerStatus| {
                let PeerStatus { from, streams, opened, sent, received, .. } = status;
                of(
                    from,
                    json!({"connections": streams, "opened": opened, "sent_bytes": sent, "received_bytes": received}),
                )
            };
            json!({"event": "progress", "near_ends": statuses.iter().map(one).collect::<Vec<_>>()})
        }
    }
}

/// Completes the event of a datagram that is too large.
fn too_large(mut event: Value, bytes: usize) -> Value {
    event["event"] = json!("too-large");
    event["bytes"] = json!(bytes);
    event["limit"] = json!(MAX_DATAGRAM);
    event
}

/// Adds the client to an event.
pub fn of(from: &ConnectedClient, mut event: Value) -> Value {
    event["from"] = json!(from.remote);
    event["client"] = client(from);
    event
}

/// Returns a client's name, or null if it has none.
fn client(from: &ConnectedClient) -> Value {
    if from.name.is_empty() { Value::Null } else { json!(&*from.name) }
}

fn rejected(remote: &SocketAddr) -> Value {
    json!({"event": "rejected", "from": remote, "reason": WRONG_SECRET})
}

fn paths(paths: &[PathStatus]) -> Value {
    let path = |path: &PathStatus| {
        json!({
            "name": path.name, "usable": path.usable, "bytes": path.bytes, "rate_bps": path.rate_bps,
            "srtt_s": path.srtt.map(|srtt| srtt.as_secs_f64()), "trouble": path.trouble,
        })
    };
    paths.iter().map(path).collect()
}
