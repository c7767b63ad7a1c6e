//! A client of a near end: a TCP connection and its target.

use super::Target;
use super::pipe::{Pipe, Socket};
use super::socks;
use crate::streams::Reason;
use std::time::Instant;

/// A client.
pub(super) enum Client {
    /// Says where it wants to go.
    Greeting { socket: Socket, socks: socks::Client, since: Instant },
    /// The far end looks for its target. Bytes that came meanwhile are kept.
    Asked { socket: Socket, stream: u32, target: Target, rest: Vec<u8> },
    /// It is joined with its stream.
    Joined { pipe: Pipe, target: Target },
}

impl Client {
    pub(super) fn socket(&mut self) -> &mut Socket {
        match self {
            Self::Greeting { socket, .. } | Self::Asked { socket, .. } => socket,
            Self::Joined { pipe, .. } => &mut pipe.socket,
        }
    }

    pub(super) fn target(&self) -> Option<&Target> {
        match self {
            Self::Greeting { .. } => None,
            Self::Asked { target, .. } | Self::Joined { target, .. } => Some(target),
        }
    }

    pub(super) fn break_off(self) {
        match self {
            Self::Greeting { socket, .. } | Self::Asked { socket, .. } => socket.break_off(),
            Self::Joined { pipe, .. } => pipe.socket.break_off(),
        }
    }

    /// Its stream is over: a client that waits for it is answered.
    pub(super) fn refuse(self, reason: Reason) {
        match self {
            Self::Asked { mut socket, .. } => {
                let _ = socket.write(&socks::refusal(reason));
            }
            other => other.break_off(),
        }
    }
}
