//! New connections, and their limits before they present the secret.

use super::handshakes::BURST;
use super::{AcceptedConnection, Acceptor, MAX_UNAUTHENTICATED, streamed};
use crate::connection::{BROKEN, PathConnection};
use noq_proto::{ConnectionHandle, Incoming};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Instant;

/// Most connections without the secret from one address: as many as it may begin at once.
const MAX_PER_ADDRESS: usize = BURST as usize;

/// Number of connections without the secret from which on a client must validate its address before
/// any state is kept for it (RFC 9000 §8.1.2).
const MAX_UNVALIDATED: usize = 8;

/// Returns the address, or for IPv6 the /64 network that one host has for itself.
pub(super) fn network(remote: SocketAddr) -> IpAddr {
    match remote.ip().to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from(u128::from(ip) >> 64 << 64)),
        ip => ip,
    }
}

impl Acceptor {
    /// Handles a new connection attempt.
    pub(super) fn handle_incoming(&mut self, now: Instant, incoming: Incoming) -> Option<ConnectionHandle> {
        let mut bytes = Vec::new();
        let remote = incoming.remote_address();
        let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
        let address = network(remote);
        if !self.handshakes.has_room(now, address) {
            // An answer would cost time, and the client would retry at once. Without an answer it
            // waits.
            self.endpoint.ignore(incoming);
            return None;
        }
        let unauthenticated =
            self.connections.values().filter(|accepted| accepted.is_unauthenticated()).count();
        if unauthenticated >= MAX_UNVALIDATED && !incoming.remote_address_validated() && incoming.may_retry()
        {
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut bytes) {
                self.reply(&transmit, bytes);
            }
        } else {
            self.handshakes.begin(now, address);
            self.make_room(now, address);
            let config = self.streamed.clone().filter(|_| streamed::is_requested(&incoming));
            let streamed = config.is_some();
            match self.endpoint.accept(incoming, now, &mut bytes, config) {
                Ok(accepted) => {
                    let (handle, connection) = (accepted.0, PathConnection::new(accepted));
                    let accepted = AcceptedConnection {
                        connection,
                        remote,
                        accepted_at: now,
                        answered: false,
                        streamed,
                        joined: None,
                    };
                    self.connections.insert(handle, accepted);
                    return Some(handle);
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.reply(&transmit, bytes);
                    }
                }
            }
        }
        None
    }

    /// Closes a connection without the secret if another one would exceed a limit. The oldest one
    /// is closed: of this address if it has reached its limit, or else of the address with the most
    /// such connections. So an address with few of them always gets in.
    fn make_room(&mut self, now: Instant, address: IpAddr) {
        let unauthenticated =
            || self.connections.iter().filter(|(_, accepted)| accepted.is_unauthenticated());
        let mut by_address: BTreeMap<IpAddr, usize> = BTreeMap::from([(address, 0)]);
        for (_, accepted) in unauthenticated() {
            *by_address.entry(network(accepted.remote)).or_default() += 1;
        }
        let crowded = if by_address[&address] >= MAX_PER_ADDRESS {
            address
        } else if by_address.values().sum::<usize>() >= MAX_UNAUTHENTICATED {
            by_address.into_iter().max_by_key(|(_, count)| *count).map_or(address, |(most, _)| most)
        } else {
            return;
        };
        let own = unauthenticated().filter(|(_, accepted)| network(accepted.remote) == crowded);
        if let Some(handle) = own.min_by_key(|(_, accepted)| accepted.accepted_at).map(|(handle, _)| *handle)
        {
            self.close(now, handle, BROKEN, "too many connections without the secret");
        }
    }
}
