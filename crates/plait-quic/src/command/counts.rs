//! Counters of a service, computed from its events.

use super::metrics::{Registry, labels};
use crate::clients::ConnectedClient;
use crate::files::{ReceiveEvent, Status};
use crate::identity::hexadecimal;
use crate::proxy::{self, FarEvent, NearEvent, PeerStatus};
use crate::session::PathCounts;
use std::collections::BTreeMap;

/// Clients of arriving files, by file name. Progress events do not name the client.
#[derive(Debug, Default)]
pub(super) struct Counts {
    arriving: BTreeMap<String, ConnectedClient>,
}

impl Counts {
    /// Counts an event of a receiving end.
    pub(super) fn received(&mut self, registry: &mut Registry, event: &ReceiveEvent<'_>) {
        match event {
            ReceiveEvent::Begun { offer, from } => {
                registry.add("plait_transfers", of(from, &[]), 1.0);
                registry.add("plait_transfers_kept_total", of(from, &[]), 0.0);
                registry.add("plait_transfers_failed_total", of(from, &[]), 0.0);
                self.arriving.insert(offer.name.clone(), (*from).clone());
            }
            ReceiveEvent::Status(Status { name, paths, .. }) => {
                let Some(from) = self.arriving.get(name) else { return };
                let counts: Vec<u64> = paths.iter().map(|path| path.bytes).collect();
                arrived(registry, name, from, &counts);
            }
            ReceiveEvent::Completed { offer, from, transferred } => {
                arrived(registry, &offer.name, from, &transferred.summary.paths);
                self.ended(registry, &offer.name, from, "plait_transfers_kept_total");
            }
            ReceiveEvent::Failed { offer, from, .. } => {
                self.ended(registry, &offer.name, from, "plait_transfers_failed_total");
            }
            ReceiveEvent::File { .. } => {}
            ReceiveEvent::Rejected { .. } => rejected(registry),
        }
    }

    fn ended(&mut self, registry: &mut Registry, name: &str, from: &ConnectedClient, total: &'static str) {
        registry.forget(name);
        // A transfer may also end without a `Begun` event.
        if self.arriving.remove(name).is_some() {
            registry.add("plait_transfers", of(from, &[]), -1.0);
        }
        registry.add(total, of(from, &[]), 1.0);
    }
}

fn rejected(registry: &mut Registry) {
    registry.add("plait_rejected_secrets_total", labels(&[]), 1.0);
}

/// Counts the bytes of a file so far, by path.
fn arrived(registry: &mut Registry, file: &str, from: &ConnectedClient, paths: &[u64]) {
    registry.follow(file, "plait_received_bytes_total", of(from, &[]), paths.iter().sum());
    for (path, bytes) in paths.iter().enumerate() {
        let labels = of(from, &[("path", &path.to_string())]);
        registry.follow(file, "plait_path_received_bytes_total", labels, *bytes);
    }
}

/// Returns the labels of a client's series.
fn of(from: &ConnectedClient, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    labels(&[&[("client", &*from.name)], more].concat())
}

/// Counts an event of a proxy's far end.
pub(super) fn far(registry: &mut Registry, event: &FarEvent<'_>) {
    match event {
        FarEvent::ClientConnected { from } => registry.add("plait_near_ends_total", of(from, &[]), 1.0),
        FarEvent::Rejected { .. } => rejected(registry),
        FarEvent::Refused { from, reason, .. } => {
            let labels = of(from, &[("reason", &reason.to_string())]);
            registry.add("plait_connections_refused_total", labels, 1.0);
        }
        FarEvent::Idle { from, .. } => registry.add("plait_connections_idle_total", of(from, &[]), 1.0),
        FarEvent::Status(statuses) => {
            for gauge in ["plait_near_ends", "plait_connections", "plait_path_up", "plait_path_srtt_seconds"]
            {
                registry.clear(gauge);
            }
            for status in *statuses {
                set_near_end(registry, status);
            }
        }
        FarEvent::ClientDisconnected { status, .. } => {
            count_near_end(registry, status);
            registry.forget(&hexadecimal(&status.id));
        }
        FarEvent::Changed { .. } | FarEvent::TargetConnected { .. } | FarEvent::TooLarge { .. } => {}
    }
}

/// Sets the gauges and counters of a connected near end.
fn set_near_end(registry: &mut Registry, status: &PeerStatus) {
    let PeerStatus { from, streams, paths, .. } = status;
    registry.add("plait_near_ends", of(from, &[]), 1.0);
    registry.add("plait_connections", of(from, &[]), *streams as f64);
    let remote = from.remote.to_string();
    for (number, path) in paths.iter().enumerate() {
        set_path(registry, of(from, &[("near_end", &remote), ("path", &number.to_string())]), path);
    }
    count_near_end(registry, status);
}

/// Updates the counters of a near end. The counters of its paths are summed by client and outlive
/// the near end.
fn count_near_end(registry: &mut Registry, status: &PeerStatus) {
    let PeerStatus { id, from, opened, sent, received, paths, .. } = status;
    let source = hexadecimal(id);
    for (name, count) in [
        ("plait_connections_total", u64::from(*opened)),
        ("plait_sent_bytes_total", *sent),
        ("plait_received_bytes_total", *received),
    ] {
        registry.follow(&source, name, of(from, &[]), count);
    }
    for (number, path) in paths.iter().enumerate() {
        count_path(registry, &source, &of(from, &[("path", &number.to_string())]), path);
    }
}

/// Updates the counters of a path.
fn count_path(registry: &mut Registry, source: &str, labels: &[(&'static str, String)], path: &PathCounts) {
    for (name, count) in [
        ("plait_path_sent_bytes_total", path.sent),
        ("plait_path_received_bytes_total", path.received),
        ("plait_path_sent_packets_total", path.packets),
        ("plait_path_lost_packets_total", path.lost),
    ] {
        registry.follow(source, name, labels.to_vec(), count);
    }
}

/// Sets the gauges of a path.
fn set_path(registry: &mut Registry, labels: Vec<(&'static str, String)>, path: &PathCounts) {
    if let Some(srtt) = path.srtt {
        registry.set("plait_path_srtt_seconds", labels.clone(), srtt.as_secs_f64());
    }
    registry.set("plait_path_up", labels, f64::from(u8::from(path.usable)));
}

/// Name of the far end as a source of counters at the near end.
const FAR: &str = "far end";

/// Counts an event of a proxy's near end.
pub(super) fn near(registry: &mut Registry, event: &NearEvent<'_>) {
    match event {
        NearEvent::Open { .. } => registry.set("plait_far_end_up", labels(&[]), 1.0),
        NearEvent::Lost { .. } => {
            registry.set("plait_far_end_up", labels(&[]), 0.0);
            registry.add("plait_far_end_losses_total", labels(&[]), 1.0);
            registry.set("plait_connections", labels(&[]), 0.0);
            registry.forget(FAR);
        }
        NearEvent::Refused { reason, .. } => {
            let labels = labels(&[("reason", &reason.to_string())]);
            registry.add("plait_connections_refused_total", labels, 1.0);
        }
        NearEvent::Idle { .. } => registry.add("plait_connections_idle_total", labels(&[]), 1.0),
        NearEvent::Status(proxy::NearStatus { streams, opened, sent, received, paths, counts, .. }) => {
            registry.clear("plait_path_up");
            registry.clear("plait_path_srtt_seconds");
            registry.set("plait_connections", labels(&[]), *streams as f64);
            for (name, count) in [
                ("plait_connections_total", u64::from(*opened)),
                ("plait_sent_bytes_total", *sent),
                ("plait_received_bytes_total", *received),
            ] {
                registry.follow(FAR, name, labels(&[]), count);
            }
            for (path, counts) in paths.iter().zip(counts) {
                let labels = labels(&[("path", &path.name)]);
                count_path(registry, FAR, &labels, counts);
                set_path(registry, labels, counts);
            }
        }
        NearEvent::Changed(_) | NearEvent::TooLarge { .. } | NearEvent::Unrecorded(_) => {}
    }
}
