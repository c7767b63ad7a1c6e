//! Scans for changes of the paths: errors of sent packets, addresses of the peer, and interfaces.

use super::{Awaited, LocalPaths, SCAN_INTERVAL, bind, terms_of};
use crate::address_change::AddressChange;
use crate::files::address_pairs::AddressPairs;
use crate::files::error_queue::QueuedError;
use crate::files::interface_changes::{
    InterfaceChange, ScannedPath, index_for_new_path, interface_changes, is_taken,
};
use crate::files::interfaces::{self, Snapshot};
use std::time::{Duration, Instant};

/// Shortest interval between two scans, because one change causes several notices.
const MIN_SCAN_INTERVAL: Duration = Duration::from_millis(20);

impl LocalPaths {
    /// Handles errors and peer addresses, and scans the interfaces when a scan is due. Returns the
    /// changes of the paths. A path that needs another socket already has it.
    pub(crate) fn rescan(&mut self, now: Instant) -> Vec<AddressChange> {
        let mut address_changes = Vec::new();
        self.handle_packet_errors(now, &mut address_changes);
        self.advance(now, &mut address_changes);
        if let Some(notices) = self.notices.as_mut().filter(|_| self.sockets.has_notice()) {
            notices.clear();
            self.scan_at = self.scan_at.min(self.scanned_at + MIN_SCAN_INTERVAL);
        }
        if now < self.scan_at {
            return address_changes;
        }
        (self.scanned_at, self.scan_at) = (now, now + SCAN_INTERVAL);
        let found = Snapshot::take(&self.remotes);
        if found.is_empty() {
            return address_changes;
        }
        let find = |scanned: &ScannedPath| match &scanned.local().interface {
            Some(name) => {
                let pairs = found.working(name)?.starting_with(scanned.pairs.current().remote);
                Some((pairs, interfaces::number(name)))
            }
            None => found.has(scanned.local().address).then(|| (scanned.pairs.clone(), 0)),
        };
        for change in interface_changes(&self.scanned_paths, find) {
            address_changes.extend(self.apply(now, change));
        }
        for (path, scanned) in self.scanned_paths.iter_mut().enumerate() {
            let has_route = found.is_routed(&scanned.pairs);
            if std::mem::replace(&mut scanned.has_route, has_route) && !has_route {
                address_changes.push(AddressChange::Unreachable(path));
            }
        }
        if self.may_grow {
            self.open_awaited(&found, &mut address_changes);
        }
        address_changes
    }

    /// Reads the queued errors of sent packets.
    fn handle_packet_errors(&mut self, now: Instant, address_changes: &mut Vec<AddressChange>) {
        for (path, scanned) in self.scanned_paths.iter_mut().enumerate() {
            let headers = if scanned.local().address.is_ipv4() { 28 } else { 48 };
            for error in self.sockets.take_errors(path) {
                match error {
                    QueuedError::Refused(remote) => scanned.pairs.refuse(now, remote),
                    QueuedError::TooLarge { bytes, own } => {
                        let bytes = u16::try_from(bytes.saturating_sub(headers)).unwrap_or(u16::MAX);
                        address_changes.push(AddressChange::MtuLimited { path, bytes, own });
                    }
                    QueuedError::NoRoute => address_changes.push(AddressChange::Unreachable(path)),
                }
            }
        }
    }

    /// Moves each path without an answer on to the peer's next address, if its time is over.
    fn advance(&mut self, now: Instant, address_changes: &mut Vec<AddressChange>) {
        let answered = self.scanned_paths.iter().find(|scanned| scanned.pairs.has_answered());
        let known = answered.map(|scanned| scanned.pairs.current().remote);
        for path in 0..self.scanned_paths.len() {
            let scanned = &mut self.scanned_paths[path];
            if scanned.pairs.has_answered() {
                continue;
            }
            let before = scanned.local().clone();
            let kept_host = known.is_some_and(|remote| scanned.pairs.keep_host(remote));
            if kept_host || scanned.pairs.advance(now) {
                let local = scanned.local().clone();
                if local == before || bind(&mut self.sockets, path, &local).is_ok() {
                    address_changes.push(self.redirected(path));
                }
            }
        }
    }

    pub(super) fn apply(&mut self, now: Instant, change: InterfaceChange) -> Option<AddressChange> {
        match change {
            InterfaceChange::Moved(path, pairs, number) => {
                bind(&mut self.sockets, path, &pairs.current().local).ok()?;
                let before = self.scanned_paths[path].pairs.current().remote;
                let has_budget = self.scanned_paths[path].has_budget;
                self.scanned_paths[path] = ScannedPath { number, has_budget, ..ScannedPath::new(pairs) };
                let pair = self.scanned_paths[path].pairs.current();
                let moved = AddressChange::Moved(path, pair.local.address);
                Some(if pair.remote == before { moved } else { self.redirected(path) })
            }
            InterfaceChange::Removed(path) => {
                self.scanned_paths[path].gone_at = Some(now);
                Some(AddressChange::Removed(path))
            }
            InterfaceChange::Restored(path) => {
                (self.scanned_paths[path].gone_at, self.scanned_paths[path].send_failed) = (None, false);
                Some(AddressChange::Restored(path))
            }
        }
    }

    /// Opens paths for new interfaces and for awaited ones.
    fn open_awaited(&mut self, found: &Snapshot, address_changes: &mut Vec<AddressChange>) {
        for pairs in if self.all_interfaces { found.usable() } else { Vec::new() } {
            self.add(pairs, address_changes);
        }
        for one in std::mem::take(&mut self.awaited) {
            let pairs = match &one {
                Awaited::Local(local) => found.from(local).filter(|_| found.has(local.address)),
                Awaited::Interface(name) => found.working(name),
            };
            if !pairs.is_some_and(|pairs| self.add(pairs, address_changes)) {
                self.awaited.push(one);
            }
        }
    }

    /// Adds a path, if an index is free. Returns whether a path from this local end exists now.
    pub(super) fn add(&mut self, pairs: AddressPairs, address_changes: &mut Vec<AddressChange>) -> bool {
        let local = pairs.current().local.clone();
        if is_taken(&self.scanned_paths, &local) {
            return true;
        }
        let Some(path) = index_for_new_path(&self.scanned_paths) else { return false };
        // An address that is not ready yet is tried again at the next scan.
        if bind(&mut self.sockets, path, &local).is_err() {
            return false;
        }
        let (address, terms) = (local.address, terms_of(&self.named_terms, &pairs));
        let scanned = ScannedPath { has_budget: terms.budget.is_some(), ..ScannedPath::new(pairs) };
        if path == self.scanned_paths.len() {
            self.scanned_paths.push(scanned);
            self.terms.push(terms);
            address_changes.push(AddressChange::Added(address, terms));
        } else {
            self.scanned_paths[path] = scanned;
            self.terms[path] = terms;
            address_changes.push(AddressChange::Replaced(path, address, terms));
        }
        if self.remotes.len() > 1 {
            address_changes.push(self.redirected(path));
        }
        true
    }
}
