//! A path's connection through the simulated links, with both ends.

use crate::connection::{DatagramBatch, Egress, PathConnection};
use crate::error::Error;
use crate::identity::{self, Identity, NAME};
use crate::settings::Settings;
use bytes::BytesMut;
use noq_proto::{
    ClientConfig, DatagramEvent, Endpoint, EndpointConfig, FourTuple, ServerConfig, TransportConfig,
};
use plait_sched::Time;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time for opening a connection, in addition to its round trips.
const OPENING: Duration = Duration::from_secs(10);

/// One datagram at a time, because each has its own place in a link's queue.
pub(super) const SINGLE: Egress = Egress { path: 0, burst: NonZeroUsize::MIN };

/// One end of a path's connection.
#[derive(Debug)]
pub(super) struct TunnelEnd {
    endpoint: Endpoint,
    pub(super) connection: Option<PathConnection>,
    remote: SocketAddr,
    local: SocketAddr,
}

impl TunnelEnd {
    /// Handles a datagram, and accepts the first connection.
    pub(super) fn handle(&mut self, now: Instant, datagram: &[u8]) -> Result<(), Error> {
        let tuple = FourTuple::new(self.remote, Some(self.local.ip()));
        let mut answer = Vec::new();
        match self.endpoint.handle(now, tuple, None, BytesMut::from(datagram), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some(connection) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection =
                    Some(PathConnection::new(accepted.map_err(|error| Error::Tls(error.cause.to_string()))?));
            }
            Some(DatagramEvent::NewConnection(_) | DatagramEvent::Response(_)) | None => {}
        }
        self.work(now);
        Ok(())
    }

    pub(super) fn work(&mut self, now: Instant) {
        if let Some(connection) = &mut self.connection {
            connection.work(now, &mut self.endpoint, 0);
        }
    }

    pub(super) fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        if let Some(connection) = &mut self.connection {
            connection.transmit(now, SINGLE, out);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(PathConnection::next_wakeup)
    }

    fn is_connected(&self) -> bool {
        self.connection.as_ref().is_some_and(PathConnection::is_connected)
    }
}

/// A path's connection: its near end and its far end.
#[derive(Debug)]
pub(super) struct Tunnel {
    pub(super) ends: [TunnelEnd; 2],
    /// Beginning of the run, as noq sees it.
    epoch: Instant,
}

impl Tunnel {
    /// Creates a path's connection, which is not open yet.
    #[expect(clippy::disallowed_methods, reason = "noq counts from some moment; which one has no effect")]
    pub(super) fn new(
        path: usize,
        seed: &[u8],
        identity: &Identity,
        transport: &dyn Fn() -> Arc<TransportConfig>,
    ) -> Result<Self, Error> {
        let address = |end: u8| SocketAddr::new(Ipv4Addr::new(10, end, 0, path as u8 + 1).into(), 4_433);
        let config = |end: usize| -> EndpointConfig {
            let mut bytes = [0; 32];
            bytes[..seed.len()].copy_from_slice(seed);
            Settings { seed: Some(bytes), ..Settings::default() }.endpoint((2 * path + end) as u8)
        };
        let mut server = ServerConfig::with_crypto(Arc::new(identity.server()?));
        server.transport_config(transport());
        let mut client = ClientConfig::new(Arc::new(identity::client(identity.fingerprint())?));
        client.transport_config(transport());
        let end = |number: usize, server: Option<Arc<ServerConfig>>| TunnelEnd {
            endpoint: Endpoint::new(Arc::new(config(number)), server, false),
            connection: None,
            remote: address(1 - number as u8),
            local: address(number as u8),
        };
        let epoch = Instant::now();
        let mut near = end(0, None);
        let connected = near.endpoint.connect(epoch, client, near.remote, NAME);
        near.connection =
            Some(PathConnection::new(connected.map_err(|error| Error::Tls(error.to_string()))?));
        Ok(Self { ends: [near, end(1, Some(Arc::new(server)))], epoch })
    }

    pub(super) fn instant(&self, now: Time) -> Instant {
        self.epoch + Duration::from_nanos(now.as_nanos())
    }

    pub(super) fn next_wakeup(&self) -> Option<Time> {
        let due = self.ends.iter().filter_map(TunnelEnd::next_wakeup).min()?;
        Some(Time::from_nanos(due.saturating_duration_since(self.epoch).as_nanos() as u64))
    }

    /// Opens the connection, over the delays of both directions alone.
    pub(super) fn open(&mut self, path: usize, delays: [Duration; 2]) -> Result<(), Error> {
        let mut now = self.epoch;
        let until = now + OPENING + 20 * (delays[0] + delays[1]);
        let mut in_flight: BTreeMap<(Instant, u64), (usize, Vec<u8>)> = BTreeMap::new();
        let (mut count, mut out) = (0, Vec::new());
        loop {
            for (end, own) in self.ends.iter_mut().enumerate() {
                own.work(now);
                own.transmit(now, &mut out);
                for batch in out.drain(..) {
                    in_flight.insert((now + delays[end], count), (1 - end, batch.bytes));
                    count += 1;
                }
            }
            if in_flight.is_empty() && self.ends.iter().all(TunnelEnd::is_connected) {
                self.epoch = now;
                return Ok(());
            }
            let arrival = in_flight.first_key_value().map(|(key, _)| key.0);
            let timer = self.ends.iter().filter_map(TunnelEnd::next_wakeup).min();
            let next = arrival.into_iter().chain(timer).min();
            now = next.filter(|next| *next <= until).ok_or(Error::Silent(OPENING.as_secs()))?.max(now);
            while let Some(first) = in_flight.first_entry()
                && first.key().0 <= now
            {
                let (end, datagram) = first.remove();
                self.ends[end].handle(now, &datagram)?;
            }
            if let Some(reason) = self.lost() {
                return Err(Error::Tls(format!("path {path}: {reason}")));
            }
        }
    }

    /// Returns the reason if the connection is lost.
    pub(super) fn lost(&self) -> Option<String> {
        let lost =
            |end: &TunnelEnd| end.connection.as_ref().and_then(PathConnection::lost).map(ToString::to_string);
        self.ends.iter().find_map(lost)
    }
}
