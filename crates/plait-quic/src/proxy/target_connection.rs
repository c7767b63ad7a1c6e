//! A stream at the far end, and its TCP connection to a target.

use super::connecting::Connecting;
use super::pipe::{Pipe, Socket};
use super::target::Scope;
use crate::clients::ConnectedClient;
use crate::streams::far::Id;

/// State of the TCP connection.
pub(super) enum TargetState {
    /// The addresses of the target are being looked up.
    Resolving,
    Connecting(Connecting),
    Connected(Pipe),
}

pub(super) struct TargetConnection {
    pub(super) peer: Id,
    pub(super) from: ConnectedClient,
    pub(super) stream: u32,
    pub(super) target: String,
    pub(super) scope: Scope,
    pub(super) state: TargetState,
}

impl TargetConnection {
    pub(super) fn socket(&mut self) -> Option<&mut Socket> {
        match &mut self.state {
            TargetState::Resolving => None,
            TargetState::Connecting(connecting) => connecting.socket(),
            TargetState::Connected(pipe) => Some(&mut pipe.socket),
        }
    }

    pub(super) fn abort(self) {
        match self.state {
            TargetState::Resolving => {}
            // The target may have accepted the connection already.
            TargetState::Connecting(connecting) => connecting.abort(),
            TargetState::Connected(pipe) => pipe.socket.abort(),
        }
    }
}
