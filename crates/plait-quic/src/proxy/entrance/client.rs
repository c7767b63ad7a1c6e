//! Clients of listeners.

use super::Entrance;
use crate::proxy::Target;
use crate::proxy::pipe::{Pipe, Socket};
use crate::proxy::ports::Leads;
use crate::proxy::socks;
use crate::streams::Reason;
use std::net::SocketAddr;
use std::time::Instant;

/// A client.
pub(super) enum Client {
    /// Says where it wants to go.
    Greeting { socket: Socket, socks: socks::Client, since: Instant },
    /// The far end looks for its target; what it said meanwhile is kept.
    Asked { socket: Socket, stream: u32, target: Target, rest: Vec<u8> },
    /// It is joined with its stream.
    Joined { pipe: Pipe, target: Target },
    /// It has a relay for datagrams, which lasts as long as this connection.
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

    /// Its stream is none any more: who has asked for it is answered.
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
    /// A client of SOCKS gets a relay for datagrams at the address that it has connected to.
    pub(super) fn associate(&mut self, token: usize, mut socket: Socket, port: Option<u16>) {
        let (relay, registry) = (self.tokens.next(), self.routes.sockets.registry());
        let bound = socket.addresses().and_then(|[own, client]| {
            let leads = Leads::Anywhere { client: client.ip().to_canonical(), port };
            self.ports.add(registry, SocketAddr::new(own.ip(), 0), relay, leads)
        });
        match bound {
            Ok(address) => {
                // Few bytes go into an empty buffer at once.
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
