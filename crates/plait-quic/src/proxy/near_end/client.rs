//! Clients of listeners.

use super::{NearEnd, Watch};
use crate::files::now;
use crate::proxy::Target;
use crate::proxy::near_settings::NearEvent;
use crate::proxy::pipe::{Pipe, Socket};
use crate::proxy::socks::{self, Step};
use crate::proxy::udp_ports::PortTarget;
use crate::streams::{Near, Reason};
use plait_sched::Scheduler;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Instant;

/// A client of a listener.
pub(super) enum LocalClient {
    /// Has not sent its target yet.
    Greeting { socket: Socket, socks: socks::PendingRequest, since: Instant },
    /// The far end is connecting to the target. `rest` has the bytes that the client has sent
    /// meanwhile.
    Requested { socket: Socket, stream: u32, target: Target, rest: Vec<u8> },
    /// Joined with its stream.
    Connected { pipe: Pipe, target: Target },
    /// Has a relay for datagrams, which lasts as long as this connection.
    Associated { socket: Socket, relay: usize },
}

impl LocalClient {
    pub(super) fn socket(&mut self) -> &mut Socket {
        match self {
            Self::Greeting { socket, .. }
            | Self::Requested { socket, .. }
            | Self::Associated { socket, .. } => socket,
            Self::Connected { pipe, .. } => &mut pipe.socket,
        }
    }

    pub(super) fn target(&self) -> Option<&Target> {
        match self {
            Self::Greeting { .. } | Self::Associated { .. } => None,
            Self::Requested { target, .. } | Self::Connected { target, .. } => Some(target),
        }
    }

    pub(super) fn abort(self) {
        match self {
            Self::Greeting { socket, .. }
            | Self::Requested { socket, .. }
            | Self::Associated { socket, .. } => {
                socket.abort();
            }
            Self::Connected { pipe, .. } => pipe.socket.abort(),
        }
    }

    /// Handles the reset of its stream. A SOCKS client that still waits gets a reply.
    pub(super) fn refuse(self, reason: Reason) {
        match self {
            Self::Requested { mut socket, .. } => {
                let _ = socket.write(&socks::refusal(reason));
            }
            other => other.abort(),
        }
    }
}

impl NearEnd {
    /// Continues the handshake of a SOCKS client.
    pub(super) fn greet<W: Scheduler>(
        &mut self,
        token: usize,
        client: LocalClient,
        near: &mut Near<W>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let LocalClient::Greeting { mut socket, mut socks, since } = client else {
            return ControlFlow::Continue(());
        };
        loop {
            match socks.step() {
                Step::Wait => {
                    match socket.readable.then(|| socket.read(&mut self.buffer[..socks::MAX_REQUEST])) {
                        None | Some(Ok(None)) => {
                            self.clients.insert(token, LocalClient::Greeting { socket, socks, since });
                            break;
                        }
                        Some(Ok(Some(count))) if count > 0 && socks.receive(&self.buffer[..count]) => {}
                        _ => break,
                    }
                }
                Step::Reply(answer) => {
                    let _ = socket.write(&answer);
                }
                Step::Refuse(answer) => {
                    let _ = socket.write(&answer);
                    break;
                }
                Step::Associate(port) => {
                    self.associate(token, socket, port);
                    break;
                }
                Step::Connect(target) => {
                    match near.streams().open(&target.to_string(), self.settings.class(&target)) {
                        Ok(stream) => {
                            self.by_stream.insert(stream, token);
                            let rest = socks.into_rest();
                            self.clients
                                .insert(token, LocalClient::Requested { socket, stream, target, rest });
                            self.due.insert(token);
                            break;
                        }
                        Err(reason) => {
                            let _ = socket.write(&socks::refusal(reason));
                            return watch(now(), Some(&NearEvent::Refused { target: &target, reason }));
                        }
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Opens a datagram relay for a SOCKS client, on the local address of its connection.
    pub(super) fn associate(&mut self, token: usize, mut socket: Socket, port: Option<u16>) {
        let (relay, registry) = (self.tokens.next(), self.paths.sockets.registry());
        let bound = socket.addresses().and_then(|[own, client]| {
            let port_target = PortTarget::FromHeader { client: client.ip().to_canonical(), port };
            self.udp_ports.add(registry, SocketAddr::new(own.ip(), 0), relay, port_target)
        });
        match bound {
            Ok(address) => {
                // An empty buffer takes these few bytes at once.
                let _ = socket.write(&socks::associated(address));
                self.clients.insert(token, LocalClient::Associated { socket, relay });
                self.due.insert(token);
            }
            Err(_) => {
                let _ = socket.write(&socks::refusal(Reason::Busy));
            }
        }
    }
}
