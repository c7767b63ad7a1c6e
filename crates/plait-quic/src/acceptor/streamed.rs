//! Connections that carry a file on a stream, over QUIC's own paths: mode interop.

use super::Acceptor;
use crate::error::Error;
use crate::identity::Identity;
use crate::interop::PROTOCOL;
use bytes::Bytes;
use noq_proto::{ConnectionHandle, Incoming, PathId, ServerConfig};
use std::sync::Arc;

/// True if the client names the application protocol for files on a stream.
pub(super) fn is_requested(incoming: &Incoming) -> bool {
    let named = incoming.decrypt().and_then(|initial| initial.alpns());
    named.is_some_and(|mut named| named.any(|name| name.is_ok_and(|name| name == PROTOCOL)))
}

impl Acceptor {
    /// Accepts files on streams, too.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub(crate) fn with_streams(mut self, identity: &Identity) -> Result<Self, Error> {
        let mut config = ServerConfig::with_crypto(Arc::new(identity.server_of(PROTOCOL)?));
        config.transport_config(self.settings.stream_transport());
        self.streamed = Some(Arc::new(config));
        Ok(self)
    }

    /// True if the connection carries a file on a stream.
    pub(crate) fn is_streamed(&self, handle: ConnectionHandle) -> bool {
        self.connections.get(&handle).is_some_and(|accepted| accepted.streamed)
    }

    /// Begins the file: all further bytes of the connection's stream belong to it.
    pub(crate) fn begin_stream(&mut self, handle: ConnectionHandle) {
        if let Some(accepted) = self.connections.get_mut(&handle) {
            accepted.connection.set_stream_window(self.settings.stream_window());
        }
    }

    /// Passes the new bytes of the stream to `take`. Returns the UDP bytes received on each path.
    pub(crate) fn drain(&mut self, handle: ConnectionHandle, take: impl FnMut(Bytes)) -> Vec<(PathId, u64)> {
        let Some(accepted) = self.connections.get_mut(&handle) else { return Vec::new() };
        accepted.connection.drain(take);
        accepted.connection.received_by_path()
    }

    /// Writes as many bytes to the sender as there is room for, and returns their number.
    pub(crate) fn write(&mut self, handle: ConnectionHandle, bytes: &[u8]) -> usize {
        self.connections.get_mut(&handle).map_or(0, |accepted| accepted.connection.write(bytes))
    }
}
