//! The paths of a connection: opening, giving up, and opening anew. This end and its peer also tell
//! each other which paths are backups (draft-ietf-quic-multipath-21, PATH_STATUS_BACKUP and
//! PATH_STATUS_AVAILABLE).

use super::connection::{Connection, ConnectionEvent};
use super::controller::SharedController;
use super::slot::{NO_MULTIPATH, PathSlot, RETRY, SOON};
use crate::address_change::{AddressChange, NO_ROUTE};
use crate::settings::MTUS;
use crate::terms::Terms;
use noq_proto::{ClosePathError, FourTuple, PathError, PathEvent, PathStatus, VarInt};
use plait_sched::{Event as SchedulerEvent, PathId, Scheduler};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// PATH_UNSTABLE_OR_POOR (draft-ietf-quic-multipath-21 §"Error Codes").
const UNSTABLE: VarInt = VarInt::from_u32(0x3e76);

impl<W: Scheduler> Connection<W> {
    /// Handles a change of local addresses: see [`AddressChange`].
    pub fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange) {
        match *address_change {
            AddressChange::Added(local, terms) => self.add(now, local, terms),
            AddressChange::Moved(path, local) => self.relocate(now, path, local, None),
            AddressChange::Redirected(path, local, remote) => self.relocate(now, path, local, Some(remote)),
            AddressChange::Replaced(path, local, terms) => {
                self.terms[path] = terms;
                self.relocate(now, path, local, None);
            }
            AddressChange::Removed(path) => self.handle_removal(now, path),
            // noq itself searches the MTU of each path.
            AddressChange::MtuLimited { path, bytes, .. } if bytes < *MTUS.start() => {
                self.handle_failure(path, &format!("it carries {bytes} bytes; QUIC needs {}", MTUS.start()));
            }
            AddressChange::Unreachable(path) => self.handle_failure(path, NO_ROUTE),
            AddressChange::MtuLimited { .. } => {}
            AddressChange::Restored(path) => {
                if let Some(slot) = self.slots.get_mut(path) {
                    slot.retry_at = slot.retry_at.map(|at| at.min(now));
                }
                self.open_paths(now);
            }
        }
    }

    fn add(&mut self, now: Instant, local: IpAddr, terms: Terms) {
        let mut slot = PathSlot::new(local, self.peer.remote);
        match &self.connection {
            None => {}
            Some(connection) if connection.noq.is_multipath_negotiated() => slot.retry_at = Some(now),
            Some(_) => slot.trouble = Some(NO_MULTIPATH.to_owned()),
        }
        self.locals.push(local);
        self.terms.resize(self.slots.len(), Terms::default());
        self.terms.push(terms);
        self.slots.push(slot);
        self.open_paths(now);
    }

    /// Gives up a path at once that is gone, as this machine knows, if another path works.
    fn handle_removal(&mut self, now: Instant, path: usize) {
        let others = self.slots.iter().enumerate().any(|(other, slot)| other != path && slot.works);
        let Some(slot) = self.slots.get_mut(path).filter(|slot| others && slot.works) else { return };
        slot.former = slot.id();
        self.path_down(now, path, "its interface or address is gone".to_owned());
        self.open_paths(now);
    }

    fn relocate(&mut self, now: Instant, path: usize, local: IpAddr, remote: Option<SocketAddr>) {
        let Some(slot) = self.slots.get_mut(path) else { return };
        slot.remote = remote.unwrap_or(slot.remote);
        (self.locals[path], slot.local) = (local, local);
        slot.former = slot.id().or(slot.former);
        if slot.works {
            self.events.push_back(ConnectionEvent::Closed(path));
        }
        slot.close(now, "its address has changed".to_owned());
        self.attempts.retain(|attempt| attempt.first != path);
        self.open_paths(now);
    }

    /// Notes that a path carries data from now on.
    pub(super) fn path_up(&mut self, now: Instant, path: usize) {
        let slot = &mut self.slots[path];
        (slot.works, slot.trouble) = (true, None);
        slot.opened += 1;
        // The peer must learn that the path works, too, and may have asked already.
        slot.keep_alive_at = Some(now);
        self.events.push_back(ConnectionEvent::Opened(path));
        self.pending_events.push(SchedulerEvent::PathUp { path: PathId(path as u8) });
    }

    /// Notes that a path carries no data any more.
    fn path_down(&mut self, now: Instant, path: usize, trouble: String) {
        let slot = &mut self.slots[path];
        if std::mem::take(&mut slot.works) {
            self.events.push_back(ConnectionEvent::Closed(path));
            self.pending_events.push(SchedulerEvent::PathDown { path: PathId(path as u8) });
        }
        slot.close(now + RETRY, trouble);
        self.urgent = true;
    }

    pub(super) fn handle_path(&mut self, now: Instant, event: PathEvent) {
        let find = |slots: &[PathSlot], id| slots.iter().position(|slot| slot.id() == Some(id));
        match event {
            PathEvent::Established { id, .. } => {
                if let Some(path) = find(&self.slots, id).filter(|path| !self.slots[*path].works) {
                    self.path_up(now, path);
                }
            }
            PathEvent::Abandoned { id, reason, .. } => {
                if let Some(path) = find(&self.slots, id) {
                    self.path_down(now, path, format!("given up: {reason:?}"));
                }
            }
            PathEvent::RemoteStatus { id, .. } => {
                // Frames may arrive out of order: noq knows the newest one.
                let status =
                    self.connection.as_ref().and_then(|connection| connection.noq.remote_path_status(id));
                if let Some(path) = find(&self.slots, id) {
                    self.slots[path].peer_backup = status == Some(PathStatus::Backup);
                }
            }
            // noq may add events: the enumeration is not exhaustive.
            _ => {}
        }
    }

    /// Tells the peer which paths are backups while another path works. noq itself sends no data on
    /// backups, so the last working paths are none.
    pub(super) fn send_path_statuses(&mut self, now: Instant) {
        if !self.terms.iter().any(|terms| terms.backup) {
            return;
        }
        let doubtful = self.doubtful(now);
        let is_backup = |path: usize| self.terms.get(path).is_some_and(|terms| terms.backup);
        let slots = self.slots.iter().zip(&doubtful).enumerate();
        let any = slots.clone().any(|(path, (slot, doubtful))| slot.works && !doubtful && !is_backup(path));
        let wanted: Vec<bool> = (0..self.slots.len()).map(|path| any && is_backup(path)).collect();
        let Some(connection) = &mut self.connection else { return };
        for (slot, wanted) in self.slots.iter_mut().zip(wanted).filter(|(slot, _)| slot.works) {
            let status = if wanted { PathStatus::Backup } else { PathStatus::Available };
            if slot.reported_backup != wanted
                && let Some(id) = slot.id()
                && connection.noq.set_path_status(id, status).is_ok()
            {
                slot.reported_backup = wanted;
                self.urgent = true;
            }
        }
    }

    /// Opens paths that are due, and closes former ones.
    pub(super) fn open_paths(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        for slot in &mut self.slots {
            if slot.open.is_none() && slot.retry_at.is_some_and(|at| at <= now) {
                let tuple = FourTuple::new(slot.remote, Some(slot.local));
                match connection.noq.open_path(tuple, PathStatus::Available, now) {
                    Ok(id) => {
                        let controller = connection.noq.congestion_state(id).and_then(SharedController::of);
                        slot.open = controller.map(|controller| (id, controller));
                        slot.retry_at = None;
                    }
                    Err(PathError::RemoteCidsExhausted | PathError::MaxPathIdReached) => {
                        slot.retry_at = Some(now + SOON);
                    }
                    Err(error) => slot.close(now + RETRY, error.to_string()),
                }
            }
            // The last path is not closed before another one is open.
            if let Some(left) = slot.former
                && !matches!(
                    connection.noq.close_path(now, left, UNSTABLE),
                    Err(ClosePathError::LastOpenPath)
                )
            {
                slot.former = None;
                self.urgent = true;
            }
        }
    }

    /// Gives up paths that owe an acknowledgement for too long. If all paths do, only the lowest
    /// one is given up, because a peer may send all acknowledgements there. The other paths then
    /// get more time.
    pub(super) fn give_up_silent(&mut self, now: Instant) {
        let working = self.slots.iter().filter(|slot| slot.works).count();
        let silent = |slot: &PathSlot| slot.silent_at().is_some_and(|at| at <= now);
        let mut found: Vec<usize> = (0..self.slots.len()).filter(|path| silent(&self.slots[*path])).collect();
        if working < 2 || found.is_empty() {
            return;
        }
        if found.len() == working {
            found.sort_by_key(|path| self.slots[*path].id());
            for path in found.drain(1..) {
                if let Some(controller) = self.slots[path].controller() {
                    controller.lock().waiting_since = Some(now);
                }
            }
        }
        for path in found {
            let Some((connection, id)) = self.connection.as_mut().zip(self.slots[path].id()) else {
                continue;
            };
            if connection.noq.close_path(now, id, UNSTABLE).is_ok() {
                self.pending_events.push(SchedulerEvent::Timeout { path: PathId(path as u8) });
                self.path_down(now, path, "silent".to_owned());
            }
        }
    }
}
