//! One connection of noq's, with its endpoint.

use crate::link::Outgoing;
use bytes::BytesMut;
use noq_proto::{Connection, ConnectionHandle, DatagramEvent, Endpoint, Event, FourTuple};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct Line {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    pub(super) noq: Connection,
    /// The local address that the handshake leaves from.
    pub(super) first: usize,
}

impl Line {
    pub(super) fn new(
        endpoint: Endpoint,
        (handle, noq): (ConnectionHandle, Connection),
        first: usize,
    ) -> Self {
        Self { endpoint, handle, noq, first }
    }

    /// Takes a UDP datagram; whether it was for this connection.
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

    /// After any input: timers, and what noq has to tell its endpoint and us.
    pub(super) fn work(&mut self, now: Instant, mut tell: impl FnMut(Event)) {
        if self.noq.poll_timeout().is_some_and(|due| due <= now) {
            self.noq.handle_timeout(now);
        }
        while let Some(event) = self.noq.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(self.handle, event) {
                self.noq.handle_event(answer);
            }
        }
        while let Some(event) = self.noq.poll() {
            tell(event);
        }
    }

    /// What leaves next, of so many packets at most, and from which of these local addresses; `false` if that is nothing.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        most: NonZeroUsize,
        locals: &[IpAddr],
        out: &mut Vec<Outgoing>,
    ) -> bool {
        let mut bytes = Vec::new();
        let Some(transmit) = self.noq.poll_transmit(now, most, &mut bytes) else { return false };
        let path = match transmit.src_ip {
            None => Some(self.first),
            Some(ip) => locals.iter().position(|local| *local == ip),
        };
        // An address that is there no more: whatever leaves from it is lost.
        if let Some(path) = path {
            let segment = transmit.segment_size;
            out.push(Outgoing { path, remote: transmit.destination, source: None, bytes, segment });
        }
        true
    }
}
