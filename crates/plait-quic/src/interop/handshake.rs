//! Beginning of a connection: handshakes from one local address after the other until one is done,
//! and noq's configuration.

use super::connection::{Connection, ConnectionEvent};
use super::controller::{SharedController, SharedControllerFactory};
use super::noq_connection::NoqConnection;
use super::slot::{KEEP_ALIVE, NO_MULTIPATH};
use crate::error::Error;
use crate::settings::{BASE_MTU, MAX_PATHS, Settings};
use bytes::Bytes;
use noq_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::{ConnectionError, Endpoint, MtuDiscoveryConfig, TransportConfig, VarInt};
use plait_sched::Scheduler;
use plait_transport::congestion::Algorithm;
use plait_transport::wire::quic::{self, TransportParameters};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which the handshake is tried from the next local address (RFC 8305 §5). After the
/// last address the first one is next.
const NEXT_ADDRESS: Duration = Duration::from_millis(250);

impl<W: Scheduler> Connection<W> {
    /// Begins another handshake, from the next local address.
    pub(super) fn attempt(&mut self, now: Instant) {
        let Some((_, first)) = self.next_attempt.filter(|(due, _)| *due <= now) else { return };
        if !self.attempts.iter().any(|attempt| attempt.first == first) {
            let config = Arc::new(self.settings.endpoint(first as u8));
            let mut endpoint = Endpoint::new(config, None, true);
            let remote = self.slots[first].remote;
            match endpoint.connect(now, self.client.clone(), remote, &self.peer.name) {
                Ok(connected) => self.attempts.push(NoqConnection::new(endpoint, connected, first)),
                Err(error) => self.slots[first].trouble = Some(error.to_string()),
            }
        }
        self.next_attempt = Some((now + NEXT_ADDRESS, (first + 1) % self.locals.len()));
    }

    /// Makes the first finished handshake the connection, and gives up the others.
    pub(super) fn handle_handshakes(&mut self, now: Instant) {
        let mut done = None;
        for (at, attempt) in self.attempts.iter_mut().enumerate() {
            let mut lost = None;
            attempt.work(now, |event| match event {
                noq_proto::Event::Connected => done = done.or(Some(at)),
                noq_proto::Event::ConnectionLost { reason } => lost = Some(reason),
                noq_proto::Event::HandshakeDataReady
                | noq_proto::Event::HandshakeConfirmed
                | noq_proto::Event::Stream(_)
                | noq_proto::Event::DatagramReceived
                | noq_proto::Event::DatagramsUnblocked
                | noq_proto::Event::Path(_)
                | noq_proto::Event::NatTraversal(_) => {}
            });
            if let Some(reason) = lost {
                self.slots[attempt.first].trouble = Some(reason.to_string());
                if is_final(&reason) {
                    self.events.push_back(ConnectionEvent::Lost(reason));
                    self.next_attempt = None;
                }
            }
        }
        if let Some(done) = done {
            let connection = self.attempts.swap_remove(done);
            for attempt in &mut self.attempts {
                attempt.noq.close(now, VarInt::from_u32(0), Bytes::from_static(b"another path was first"));
            }
            self.connected(now, connection);
        }
        self.attempts.retain(|attempt| !attempt.noq.is_drained());
    }

    fn connected(&mut self, now: Instant, connection: NoqConnection) {
        let first = connection.first;
        let parameters = connection.noq.crypto_session().transport_parameters().ok().flatten();
        let mut bytes = Vec::new();
        if let Some(parameters) = parameters {
            parameters.write(&mut bytes);
        }
        let parameters = TransportParameters::decode(&bytes).unwrap_or_default();
        let least = |limits: [Option<_>; 2]| {
            limits.into_iter().flatten().map(|limit: quic::VarInt| limit.get()).min()
        };
        self.window = least([parameters.max_data, parameters.max_stream_data_remote]).unwrap_or(0);
        let multipath = connection.noq.is_multipath_negotiated();
        let controller =
            connection.noq.congestion_state(noq_proto::PathId::ZERO).and_then(SharedController::of);
        self.connection = Some(connection);
        for (index, slot) in self.slots.iter_mut().enumerate() {
            slot.retry_at = (index != first && multipath).then_some(now);
            if index != first && !multipath {
                slot.trouble = Some(NO_MULTIPATH.to_owned());
            }
        }
        if let Some(controller) = controller {
            // The end of the handshake acknowledges its data in flight.
            controller.lock().waiting_since = None;
            self.slots[first].open = Some((noq_proto::PathId::ZERO, controller));
            self.path_up(now, first);
        }
        self.events.push_front(ConnectionEvent::Connected);
        self.open_paths(now);
    }
}

/// noq's configuration.
pub(super) fn transport(settings: &Settings) -> Result<TransportConfig, Error> {
    let window = VarInt::from_u64(settings.window).unwrap_or(VarInt::MAX);
    let idle = u32::try_from(settings.patience.as_millis()).unwrap_or(u32::MAX);
    let mut search = MtuDiscoveryConfig::default();
    search.upper_bound(settings.mtu);
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(Arc::new(SharedControllerFactory(controller(settings)?)))
        .max_concurrent_multipath_paths(MAX_PATHS as u32 + 1)
        .default_path_max_idle_timeout(None)
        .default_path_keep_alive_interval(Some(KEEP_ALIVE))
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(settings.window)
        .initial_mtu(settings.mtu.min(BASE_MTU))
        .min_mtu(settings.mtu.min(BASE_MTU))
        .mtu_discovery_config(Some(search))
        .max_idle_timeout(Some(VarInt::from_u32(idle).into()));
    Ok(config)
}

/// Returns one of noq's own controllers, which are told of noq's losses.
fn controller(settings: &Settings) -> Result<Arc<dyn ControllerFactory + Send + Sync>, Error> {
    match settings.congestion {
        Algorithm::Cubic => {
            let mut cubic = CubicConfig::default();
            cubic.initial_window(10 * u64::from(settings.mtu));
            Ok(Arc::new(cubic))
        }
        Algorithm::Reno => {
            let mut reno = NewRenoConfig::default();
            reno.initial_window(10 * u64::from(settings.mtu));
            Ok(Arc::new(reno))
        }
        other => {
            let name = other.info().name;
            Err(Error::Setting(format!(
                "congestion control \"{name}\" is not to be had in interop: choose cubic or newreno"
            )))
        }
    }
}

/// True if TLS, or the peer's program, has decided: another local address changes nothing.
fn is_final(reason: &ConnectionError) -> bool {
    matches!(
        reason,
        ConnectionError::ApplicationClosed(_)
            | ConnectionError::TransportError(_)
            | ConnectionError::VersionMismatch
    ) || matches!(reason, ConnectionError::ConnectionClosed(close) if (0x100..0x200).contains(&u64::from(close.error_code)))
}
