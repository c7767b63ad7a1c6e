//! A stream at the far end, and its TCP connection to a target.

use super::outward::Connecting;
use super::pipe::{Pipe, Socket};
use super::target::Scope;
use crate::clients::Guest;
use crate::streams::far::Id;

/// State of the TCP connection.
pub(super) enum Outward {
    /// The addresses of the target are being looked up.
    Looking,
    Connecting(Connecting),
    Joined(Pipe),
}

pub(super) struct Connection {
    pub(super) peer: Id,
    pub(super) from: Guest,
    pub(super) stream: u32,
    pub(super) target: String,
    pub(super) scope: Scope,
    pub(super) outward: Outward,
}

impl Connection {
    pub(super) fn socket(&mut self) -> Option<&mut Socket> {
        match &mut self.outward {
            Outward::Looking => None,
            Outward::Connecting(connecting) => connecting.socket(),
            Outward::Joined(pipe) => Some(&mut pipe.socket),
        }
    }

    pub(super) fn break_off(self) {
        match self.outward {
            Outward::Looking => {}
            // The target may have accepted the connection already.
            Outward::Connecting(connecting) => connecting.break_off(),
            Outward::Joined(pipe) => pipe.socket.break_off(),
        }
    }
}
