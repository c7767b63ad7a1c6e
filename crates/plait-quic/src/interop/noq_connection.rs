//! A connection of noq's, with its endpoint.

use crate::connection::DatagramBatch;
use bytes::BytesMut;
use noq_proto::{Connection, ConnectionHandle, DatagramEvent, Endpoint, Event, FourTuple};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct NoqConnection {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    pub(super) noq: Connection,
    /// Index of the local address of the handshake.
    pub(super) first: usize,
}

impl NoqConnection {
    pub(super) fn new(
        endpoint: Endpoint,
        (handle, noq): (ConnectionHandle, Connection),
        first: usize,
    ) -> Self {
        Self { endpoint, handle, noq, first }
    }

    /// Handles a UDP datagram. Returns true if it belongs to this connection.
    pub(super) fn handle_datagram(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: SocketAddr,
        datagram: BytesMut,
    ) -> bool {
        let tuple = FourTuple::new(remote, Some(local));
        let mut answer = Vec::new();
        match self.endpoint.handle(now, tuple, None, datagram, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.noq.handle_event(event);
                true
            }
            _ => false,
        }
    }

    /// Handles timers and noq's events, after any input. Events for the caller go to `on_event`.
    pub(super) fn work(&mut self, now: Instant, mut on_event: impl FnMut(Event)) {
        if self.noq.poll_timeout().is_some_and(|due| due <= now) {
            self.noq.handle_timeout(now);
        }
        while let Some(event) = self.noq.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(self.handle, event) {
                self.noq.handle_event(answer);
            }
        }
        while let Some(event) = self.noq.poll() {
            on_event(event);
        }
    }

    /// Appends the next datagrams, at most `most`, with the index of their local address. Returns
    /// false if there are none.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        most: NonZeroUsize,
        locals: &[IpAddr],
        out: &mut Vec<DatagramBatch>,
    ) -> bool {
        let mut bytes = Vec::new();
        let Some(transmit) = self.noq.poll_transmit(now, most, &mut bytes) else { return false };
        let path = match transmit.src_ip {
            None => Some(self.first),
            Some(ip) => locals.iter().position(|local| *local == ip),
        };
        // Datagrams from an address that no longer exists are lost.
        if let Some(path) = path {
            let segment = transmit.segment_size;
            out.push(DatagramBatch { path, remote: transmit.destination, source: None, bytes, segment });
        }
        true
    }
}
