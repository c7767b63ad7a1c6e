//! Clients of listeners.

use super::{Entrance, Watch};
use crate::files::now;
use crate::proxy::Target;
use crate::proxy::pipe::{Pipe, Socket};
use crate::proxy::plan::Told;
use crate::proxy::ports::Leads;
use crate::proxy::socks::{self, Step};
use crate::streams::{Near, Reason};
use plait_sched::Scheduler;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Instant;

/// A client of a listener.
pub(super) enum Client {
    /// Has not sent its target yet.
    Greeting { socket: Socket, socks: socks::Client, since: Instant },
    /// The far end is connecting to the target. `rest` has the bytes that the client has sent
    /// meanwhile.
    Asked { socket: Socket, stream: u32, target: Target, rest: Vec<u8> },
    /// Joined with its stream.
    Joined { pipe: Pipe, target: Target },
    /// Has a relay for datagrams, which lasts as long as this connection.
    Associated { socket: Socket, relay: usize },
}

impl Client {
    pub(super) fn socket(&mut self) -> &mut Socket {
        match self {
            Self::Greeting { socket, .. } | Self::Asked { socket, .. } | Self::Associated { socket, .. } => {
                socket
            }
            Self::Joined { pipe, .. } => &mut pipe.socket,
        }
    }

    pub(super) fn target(&self) -> Option<&Target> {
        match self {
            Self::Greeting { .. } | Self::Associated { .. } => None,
            Self::Asked { target, .. } | Self::Joined { target, .. } => Some(target),
        }
    }

    pub(super) fn break_off(self) {
        match self {
            Self::Greeting { socket, .. } | Self::Asked { socket, .. } | Self::Associated { socket, .. } => {
                socket.break_off();
            }
            Self::Joined { pipe, .. } => pipe.socket.break_off(),
        }
    }

    /// Handles the reset of its stream. A SOCKS client that still waits gets a reply.
    pub(super) fn refuse(self, reason: Reason) {
        match self {
            Self::Asked { mut socket, .. } => {
                let _ = socket.write(&socks::refusal(reason));
            }
            other => other.break_off(),
        }
    }
}

impl Entrance {
    /// Continues the handshake of a SOCKS client.
    pub(super) fn greet<W: Scheduler>(
        &mut self,
        token: usize,
        client: Client,
        near: &mut Near<W>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let Client::Greeting { mut socket, mut socks, since } = client else {
            return ControlFlow::Continue(());
        };
        loop {
            match socks.step() {
                Step::Wait => match socket.readable.then(|| socket.read(&mut self.buffer[..socks::MOST])) {
                    None | Some(Ok(None)) => {
                        self.clients.insert(token, Client::Greeting { socket, socks, since });
                        break;
                    }
                    Some(Ok(Some(count))) if count > 0 && socks.hear(&self.buffer[..count]) => {}
                    _ => break,
                },
                Step::Say(answer) => {
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
                    match near.streams().open(&target.to_string(), self.plan.class(&target)) {
                        Ok(stream) => {
                            self.by_stream.insert(stream, token);
                            let rest = socks.into_rest();
                            self.clients.insert(token, Client::Asked { socket, stream, target, rest });
                            self.due.insert(token);
                            break;
                        }
                        Err(reason) => {
                            let _ = socket.write(&socks::refusal(reason));
                            return watch(now(), Some(&Told::Refused { target: &target, reason }));
                        }
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Opens a datagram relay for a SOCKS client, on the local address of its connection.
    pub(super) fn associate(&mut self, token: usize, mut socket: Socket, port: Option<u16>) {
        let (relay, registry) = (self.tokens.next(), self.routes.sockets.registry());
        let bound = socket.addresses().and_then(|[own, client]| {
            let leads = Leads::Anywhere { client: client.ip().to_canonical(), port };
            self.ports.add(registry, SocketAddr::new(own.ip(), 0), relay, leads)
        });
        match bound {
            Ok(address) => {
                // An empty buffer takes these few bytes at once.
                let _ = socket.write(&socks::associated(address));
                self.clients.insert(token, Client::Associated { socket, relay });
                self.due.insert(token);
            }
            Err(_) => {
                let _ = socket.write(&socks::refusal(Reason::Busy));
            }
        }
    }
}
