//! Clients of listeners.

use super::{ListenerTarget, NearEnd, Watch};
use crate::files::now;
use crate::proxy::Target;
use crate::proxy::near_settings::NearEvent;
use crate::proxy::pipe::{Pipe, PipeState, Socket};
use crate::proxy::socks::{self, Step};
use crate::proxy::udp_ports::PortTarget;
use crate::streams::{MAX_STREAMS, Near, Reason};
use plait_sched::Scheduler;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Instant;

/// Largest number of connections accepted from one listener in a turn.
const ACCEPTED: usize = 64;

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
    /// Accepts connections of a listener.
    pub(super) fn accept_connections<W: Scheduler>(
        &mut self,
        moment: Instant,
        token: usize,
        near: &mut Near<W>,
    ) {
        for _ in 0..ACCEPTED {
            let Some((listener, target)) = self.listeners.get(&token) else { return };
            // Errors other than an empty queue pass: the client is gone already, or the system has
            // no room.
            let Ok((io, _)) = listener.accept() else { return };
            let number = self.tokens.next();
            let Ok(socket) = Socket::new(self.paths.sockets.registry(), io, number) else { continue };
            if self.clients.len() >= MAX_STREAMS {
                socket.abort();
                continue;
            }
            let client = match target {
                ListenerTarget::Socks => {
                    LocalClient::Greeting { socket, socks: socks::PendingRequest::default(), since: moment }
                }
                ListenerTarget::Forward(target) => {
                    let target = target.clone();
                    match near.streams().open(&target.to_string(), self.settings.class(&target)) {
                        Ok(stream) => {
                            self.by_stream.insert(stream, number);
                            LocalClient::Connected { pipe: Pipe::new(moment, socket, stream), target }
                        }
                        Err(_) => {
                            socket.abort();
                            continue;
                        }
                    }
                }
            };
            self.clients.insert(number, client);
        }
    }

    /// Ends idle connections.
    pub(super) fn expire<W: Scheduler>(
        &mut self,
        moment: Instant,
        near: &mut Near<W>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let is_idle = |client: &LocalClient| matches!(client, LocalClient::Connected { pipe, .. } if pipe.is_idle(moment, self.settings.idle));
        let idle = self.clients.iter().filter(|(_, client)| is_idle(client)).map(|(token, _)| *token);
        for token in idle.collect::<Vec<_>>() {
            if let Some(LocalClient::Connected { pipe, target }) = self.clients.remove(&token) {
                self.by_stream.remove(&pipe.stream);
                near.streams().reset(pipe.stream, Reason::Broken);
                pipe.socket.abort();
                watch(moment, Some(&NearEvent::Idle { target: &target }))?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Does the pending work of a client.
    pub(super) fn work<W: Scheduler>(
        &mut self,
        token: usize,
        near: &mut Near<W>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let Some(client) = self.clients.remove(&token) else { return ControlFlow::Continue(()) };
        let open_client = match client {
            LocalClient::Greeting { .. } => return self.greet(token, client, near, watch),
            LocalClient::Associated { mut socket, relay } => {
                let ended = socket.skip(&mut self.buffer);
                if ended {
                    self.udp_ports.remove(relay, near);
                }
                (!ended).then_some(LocalClient::Associated { socket, relay })
            }
            LocalClient::Requested { mut socket, stream, target, mut rest } => {
                // Bytes that the client sends before the answer are buffered, most of them by the
                // system.
                let mut disconnected = false;
                while socket.readable && rest.len() < socks::MAX_REQUEST && !disconnected {
                    match socket.read(&mut self.buffer[..socks::MAX_REQUEST]) {
                        Ok(None) => {}
                        Ok(Some(0)) | Err(_) => disconnected = true,
                        Ok(Some(count)) => rest.extend_from_slice(&self.buffer[..count]),
                    }
                }
                if disconnected {
                    near.streams().reset(stream, Reason::Broken);
                    None
                } else {
                    Some(LocalClient::Requested { socket, stream, target, rest })
                }
            }
            LocalClient::Connected { mut pipe, target } => {
                match pipe.pump(now(), near.streams(), &mut self.buffer, &mut { usize::MAX }) {
                    PipeState::Open => Some(LocalClient::Connected { pipe, target }),
                    PipeState::Closed | PipeState::Broken => {
                        self.by_stream.remove(&pipe.stream);
                        None
                    }
                }
            }
        };
        if let Some(client) = open_client {
            self.clients.insert(token, client);
        }
        ControlFlow::Continue(())
    }

    /// Continues the handshake of a SOCKS client.
    fn greet<W: Scheduler>(
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
    fn associate(&mut self, token: usize, mut socket: Socket, port: Option<u16>) {
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
