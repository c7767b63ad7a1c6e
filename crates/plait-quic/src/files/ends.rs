//! The two ends of every connection: the one that opens paths, and the one that listens.

use super::{Local, Record, Sockets, Term};
use crate::clients::{Client, Clients, Limits};
use crate::error::Error;
use crate::identity::{self, Fingerprint, Identity, Secret};
use crate::settings::Settings;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The end that opens paths: its peer, and its own addresses.
#[derive(Clone, Debug)]
pub struct Connect {
    /// The peer's address, `HOST:PORT`.
    pub to: String,
    /// The SHA-256 of the peer's certificate.
    pub fingerprint: Fingerprint,
    /// The secret that the peer asks for.
    pub secret: Secret,
    /// Local addresses, each a path.
    pub locals: Vec<Local>,
    /// Interfaces, each a path. Without these and addresses, every interface with a route to the peer is one.
    pub interfaces: Vec<String>,
    /// Costs, budgets and backup paths, by interface, address or `ADDRESS%INTERFACE`.
    pub terms: Vec<(String, Term)>,
    /// A recording of the packets and decisions of this end. Its paths are those of the beginning.
    pub record: Option<Record>,
    /// Everything else.
    pub settings: Settings,
}

/// The end that listens.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address; port 0 is any that is free. The unspecified one of IPv6 takes IPv4, too.
    pub address: SocketAddr,
    /// The secret that peers have to know; `None` makes one, unless there are clients.
    pub secret: Option<String>,
    /// Clients with a secret each, beside those that know the one above.
    pub clients: Vec<Client>,
    /// The file that keeps certificate and key; `None` makes new ones each time.
    pub key: Option<PathBuf>,
    /// Everything else.
    pub settings: Settings,
}

/// A listening end's socket, certificate and secret.
pub(crate) struct Listening {
    pub(crate) sockets: Sockets,
    pub(crate) address: SocketAddr,
    pub(crate) identity: Identity,
    /// Empty if clients have their own.
    pub(crate) secret: String,
    pub(crate) clients: Clients,
}

impl Listen {
    /// Whether nobody has named a secret, so that one is made.
    pub fn is_open(&self) -> bool {
        self.secret.is_none() && self.clients.is_empty()
    }

    /// Makes the certificate, and binds the socket.
    pub(crate) fn open(self) -> Result<Listening, Error> {
        let Self { address, secret, mut clients, key, settings } = self;
        settings.check()?;
        let secret = match secret {
            Some(secret) => secret,
            None if clients.is_empty() => identity::hexadecimal(&identity::random::<16>()?),
            None => String::new(),
        };
        if !secret.is_empty() {
            let (name, secret, limits) = (String::new(), Secret::new(&secret), Limits::default());
            clients.push(Client { name, secret, limits });
        }
        let clients = Clients::new(clients)?;
        let identity = key.as_deref().map_or_else(Identity::generate, Identity::kept)?;
        let mut sockets = Sockets::new()?;
        let refused = |error| Error::Setting(format!("{address}: {error}"));
        let address = sockets.add(address, None).map_err(refused)?;
        Ok(Listening { sockets, address, identity, secret, clients })
    }
}
