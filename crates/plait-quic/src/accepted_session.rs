//! A client's session at the accepting end, with the connections of its paths.

use crate::acceptor::Acceptor;
use crate::clients::ConnectedClient;
use crate::connection::DatagramBatch;
use crate::error::Error;
use crate::hello::Hello;
use crate::session::{Agreed, Delivery, Session};
use crate::settings::Settings;
use bytes::Bytes;
use noq_proto::ConnectionHandle;
use plait_sched::{Builtin, PathId, Scheduler, Time};
use plait_transport::endpoint::Side;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A session with the state `S` of its payload, and the scheduler `W`.
#[derive(Debug)]
pub(crate) struct AcceptedSession<S, W = Builtin> {
    pub(crate) client: ConnectedClient,
    pub(crate) hello: Hello,
    pub(crate) session: Session<W>,
    /// Connection of each path.
    handles: Vec<Option<ConnectionHandle>>,
    /// The client's address on each path, as its last connection began.
    remotes: Vec<Option<SocketAddr>>,
    pub(crate) epoch: Instant,
    /// Time at which the client was last heard.
    pub(crate) heard_at: Instant,
    pub(crate) state: S,
}

impl<S, W: Scheduler> AcceptedSession<S, W> {
    /// Creates a session that has no path yet.
    ///
    /// # Errors
    /// If the scheduler needs a feature that the transport does not offer.
    pub(crate) fn new(
        now: Instant,
        settings: &Settings,
        (hello, client): (Hello, ConnectedClient),
        delivery: Delivery,
        scheduler: W,
        state: S,
    ) -> Result<Self, Error> {
        let agreed = Agreed {
            paths: hello.paths.into(),
            initial: hello.path.into(),
            segment: hello.segment,
            window: settings.window,
            delivery,
        };
        let session = Session::new(Side::Server, settings, agreed, scheduler)?;
        let (handles, remotes) = (vec![None; agreed.paths], vec![None; agreed.paths]);
        Ok(Self { client, hello, session, handles, remotes, epoch: now, heard_at: now, state })
    }

    pub(crate) fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    /// Handles a connection that has greeted: the path's first one, or a new one.
    pub(crate) fn join(
        &mut self,
        now: Instant,
        path: usize,
        handle: ConnectionHandle,
        acceptor: &mut Acceptor,
    ) {
        let time = self.time(now);
        self.heard_at = now;
        self.session.join(time, path, &[]);
        self.session.measure(time, path, acceptor.round_trip(handle));
        self.handles.resize(self.handles.len().max(path + 1), None);
        self.remotes.resize(self.handles.len(), None);
        self.remotes[path] = acceptor.remote(handle);
        acceptor.replace(now, &mut self.handles[path], handle);
    }

    /// Forgets a lost connection of a path.
    pub(crate) fn leave(&mut self, path: usize, handle: ConnectionHandle) {
        if let Some(current) = self.handles.get_mut(path).filter(|current| **current == Some(handle)) {
            *current = None;
        }
    }

    /// Takes the connection of a path.
    pub(crate) fn take_handle(&mut self, path: usize) -> Option<ConnectionHandle> {
        self.handles[path].take()
    }

    /// Returns the client's address on each path; `None` for a path that never had a connection.
    pub(crate) fn remotes(&self) -> &[Option<SocketAddr>] {
        &self.remotes
    }

    /// True if a path has a connection.
    pub(crate) fn has_connection(&self, path: usize) -> bool {
        self.handles.get(path).is_some_and(Option::is_some)
    }

    /// Handles the packets that arrived on a path. Returns true if there were any.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        path: usize,
        handle: ConnectionHandle,
        acceptor: &mut Acceptor,
    ) -> bool {
        let (time, mut any) = (self.time(now), false);
        while let Some(packet) = acceptor.receive(handle) {
            self.session.handle(time, PathId(path as u8), &packet);
            (self.heard_at, any) = (now, true);
        }
        any
    }

    /// Sends packets on the connections of their paths.
    pub(crate) fn send(
        &self,
        now: Instant,
        packets: &mut Vec<(PathId, Bytes)>,
        acceptor: &mut Acceptor,
        out: &mut Vec<DatagramBatch>,
    ) {
        for (path, packet) in packets.drain(..) {
            if let Some(handle) = self.handles[path.index()] {
                acceptor.send(now, handle, packet, out);
            }
        }
    }

    pub(crate) fn is_silent(&self, now: Instant, patience: Duration) -> bool {
        now.saturating_duration_since(self.heard_at) >= patience
    }

    /// Returns the time at which the session handles timers next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        self.session.next_wakeup().map(|time| self.epoch + Duration::from_nanos(time.as_nanos()))
    }
}
