//! The paths of a connection: opening, giving up, and opening anew. This end and its peer also tell
//! each other which paths are backups (draft-ietf-quic-multipath-21, PATH_STATUS_BACKUP and
//! PATH_STATUS_AVAILABLE).

use super::connection::{Connection, Event};
use super::gate::Shared;
use super::lane::{Lane, NO_MULTIPATH, RETRY, SOON};
use crate::reroute::{NO_ROUTE, Reroute};
use crate::settings::MTUS;
use crate::terms::Terms;
use noq_proto::{ClosePathError, FourTuple, PathError, PathEvent, PathStatus, VarInt};
use plait_sched::{Event as Told, PathId, Scheduler};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// PATH_UNSTABLE_OR_POOR (draft-ietf-quic-multipath-21 §"Error Codes").
const UNSTABLE: VarInt = VarInt::from_u32(0x3e76);

impl<W: Scheduler> Connection<W> {
    /// Handles a change of local addresses: see [`Reroute`].
    pub fn reroute(&mut self, now: Instant, reroute: &Reroute) {
        match *reroute {
            Reroute::Added(local, terms) => self.add(now, local, terms),
            Reroute::Moved(path, local) => self.relocate(now, path, local, None),
            Reroute::Aimed(path, local, remote) => self.relocate(now, path, local, Some(remote)),
            Reroute::Replaced(path, local, terms) => {
                self.terms[path] = terms;
                self.relocate(now, path, local, None);
            }
            Reroute::Gone(path) => self.lose(now, path),
            // noq itself searches the MTU of each path.
            Reroute::Limited { path, bytes, .. } if bytes < *MTUS.start() => {
                self.handle_failure(path, &format!("it carries {bytes} bytes; QUIC needs {}", MTUS.start()));
            }
            Reroute::Unreachable(path) => self.handle_failure(path, NO_ROUTE),
            Reroute::Limited { .. } => {}
            Reroute::Back(path) => {
                if let Some(lane) = self.lanes.get_mut(path) {
                    lane.retry_at = lane.retry_at.map(|at| at.min(now));
                }
                self.open_paths(now);
            }
        }
    }

    fn add(&mut self, now: Instant, local: IpAddr, terms: Terms) {
        let mut lane = Lane::new(local, self.peer.remote);
        match &self.line {
            None => {}
            Some(line) if line.noq.is_multipath_negotiated() => lane.retry_at = Some(now),
            Some(_) => lane.trouble = Some(NO_MULTIPATH.to_owned()),
        }
        self.locals.push(local);
        self.terms.resize(self.lanes.len(), Terms::default());
        self.terms.push(terms);
        self.lanes.push(lane);
        self.open_paths(now);
    }

    /// Gives up a path at once that is gone, as this machine knows, if another path works.
    fn lose(&mut self, now: Instant, path: usize) {
        let others = self.lanes.iter().enumerate().any(|(other, lane)| other != path && lane.works);
        let Some(lane) = self.lanes.get_mut(path).filter(|lane| others && lane.works) else { return };
        lane.left = lane.id();
        self.fails(now, path, "its interface or address is gone".to_owned());
        self.open_paths(now);
    }

    fn relocate(&mut self, now: Instant, path: usize, local: IpAddr, remote: Option<SocketAddr>) {
        let Some(lane) = self.lanes.get_mut(path) else { return };
        lane.remote = remote.unwrap_or(lane.remote);
        (self.locals[path], lane.local) = (local, local);
        lane.left = lane.id().or(lane.left);
        if lane.works {
            self.events.push_back(Event::Closed(path));
        }
        lane.close(now, "its address has changed".to_owned());
        self.attempts.retain(|attempt| attempt.first != path);
        self.open_paths(now);
    }

    /// Notes that a path carries data from now on.
    pub(super) fn works(&mut self, now: Instant, path: usize) {
        let lane = &mut self.lanes[path];
        (lane.works, lane.trouble) = (true, None);
        lane.opened += 1;
        // The peer must learn that the path works, too, and may have asked already.
        lane.due = Some(now);
        self.events.push_back(Event::Opened(path));
        self.untold.push(Told::PathUp { path: PathId(path as u8) });
    }

    /// Notes that a path carries no data any more.
    fn fails(&mut self, now: Instant, path: usize, trouble: String) {
        let lane = &mut self.lanes[path];
        if std::mem::take(&mut lane.works) {
            self.events.push_back(Event::Closed(path));
            self.untold.push(Told::PathDown { path: PathId(path as u8) });
        }
        lane.close(now + RETRY, trouble);
        self.urgent = true;
    }

    pub(super) fn handle_path(&mut self, now: Instant, event: PathEvent) {
        let find = |lanes: &[Lane], id| lanes.iter().position(|lane| lane.id() == Some(id));
        match event {
            PathEvent::Established { id, .. } => {
                if let Some(path) = find(&self.lanes, id).filter(|path| !self.lanes[*path].works) {
                    self.works(now, path);
                }
            }
            PathEvent::Abandoned { id, reason, .. } => {
                if let Some(path) = find(&self.lanes, id) {
                    self.fails(now, path, format!("given up: {reason:?}"));
                }
            }
            PathEvent::RemoteStatus { id, .. } => {
                // Frames may arrive out of order: noq knows the newest one.
                let status = self.line.as_ref().and_then(|line| line.noq.remote_path_status(id));
                if let Some(path) = find(&self.lanes, id) {
                    self.lanes[path].set_back = status == Some(PathStatus::Backup);
                }
            }
            _ => {}
        }
    }

    /// Tells the peer which paths are backups while another path works. noq itself sends no data on
    /// backups, so the last working paths are none.
    pub(super) fn tell_statuses(&mut self, now: Instant) {
        if !self.terms.iter().any(|terms| terms.backup) {
            return;
        }
        let doubtful = self.doubtful(now);
        let is_backup = |path: usize| self.terms.get(path).is_some_and(|terms| terms.backup);
        let lanes = self.lanes.iter().zip(&doubtful).enumerate();
        let any = lanes.clone().any(|(path, (lane, doubtful))| lane.works && !doubtful && !is_backup(path));
        let wanted: Vec<bool> = (0..self.lanes.len()).map(|path| any && is_backup(path)).collect();
        let Some(line) = &mut self.line else { return };
        for (lane, wanted) in self.lanes.iter_mut().zip(wanted).filter(|(lane, _)| lane.works) {
            let status = if wanted { PathStatus::Backup } else { PathStatus::Available };
            if lane.stands_by != wanted
                && let Some(id) = lane.id()
                && line.noq.set_path_status(id, status).is_ok()
            {
                lane.stands_by = wanted;
                self.urgent = true;
            }
        }
    }

    /// Opens paths that are due, and closes former ones.
    pub(super) fn open_paths(&mut self, now: Instant) {
        let Some(line) = &mut self.line else { return };
        for lane in &mut self.lanes {
            if lane.open.is_none() && lane.retry_at.is_some_and(|at| at <= now) {
                let tuple = FourTuple::new(lane.remote, Some(lane.local));
                match line.noq.open_path(tuple, PathStatus::Available, now) {
                    Ok(id) => {
                        let gate = line.noq.congestion_state(id).and_then(Shared::of);
                        lane.open = gate.map(|gate| (id, gate));
                        lane.retry_at = None;
                    }
                    Err(PathError::RemoteCidsExhausted | PathError::MaxPathIdReached) => {
                        lane.retry_at = Some(now + SOON);
                    }
                    Err(error) => lane.close(now + RETRY, error.to_string()),
                }
            }
            // The last path is not closed before another one is open.
            if let Some(left) = lane.left
                && !matches!(line.noq.close_path(now, left, UNSTABLE), Err(ClosePathError::LastOpenPath))
            {
                lane.left = None;
                self.urgent = true;
            }
        }
    }

    /// Gives up paths that owe an acknowledgement for too long. If all paths do, only the lowest
    /// one is given up, because a peer may send all acknowledgements there. The other paths then
    /// get more time.
    pub(super) fn give_up_silent(&mut self, now: Instant) {
        let working = self.lanes.iter().filter(|lane| lane.works).count();
        let silent = |lane: &Lane| lane.silent_at().is_some_and(|at| at <= now);
        let mut found: Vec<usize> = (0..self.lanes.len()).filter(|path| silent(&self.lanes[*path])).collect();
        if working < 2 || found.is_empty() {
            return;
        }
        if found.len() == working {
            found.sort_by_key(|path| self.lanes[*path].id());
            for path in found.drain(1..) {
                if let Some(gate) = self.lanes[path].gate() {
                    gate.lock().waiting_since = Some(now);
                }
            }
        }
        for path in found {
            let Some((line, id)) = self.line.as_mut().zip(self.lanes[path].id()) else { continue };
            if line.noq.close_path(now, id, UNSTABLE).is_ok() {
                self.untold.push(Told::Timeout { path: PathId(path as u8) });
                self.fails(now, path, "silent".to_owned());
            }
        }
    }
}
