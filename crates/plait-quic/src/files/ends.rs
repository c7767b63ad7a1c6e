//! The two ends of every connection: the end that opens paths, and the end that listens.

use super::{Local, RecordSettings, Sockets, Term};
use crate::clients::{Client, Clients, Limits};
use crate::error::Error;
use crate::identity::{self, Fingerprint, Identity, Secret};
use crate::settings::Settings;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Settings of the end that opens paths: its peer and its local addresses.
#[derive(Clone, Debug)]
pub struct Connect {
    /// Address of the peer, `HOST:PORT`.
    pub to: String,
    /// The SHA-256 of the peer's certificate.
    pub fingerprint: Fingerprint,
    /// The secret that the peer requires.
    pub secret: Secret,
    /// Local addresses, each used for one path.
    pub locals: Vec<Local>,
    /// Interfaces, each used for one path. If no interface or address is given, every interface
    /// with a route to the peer is used.
    pub interfaces: Vec<String>,
    /// Costs, budgets and backup paths, by interface, address or `ADDRESS%INTERFACE`.
    pub terms: Vec<(String, Term)>,
    /// Recording of the packets and decisions of this end. It covers only the initial paths.
    pub record: Option<RecordSettings>,
    /// All other settings.
    pub settings: Settings,
}

/// Settings of the end that listens.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The local address. With port 0, the system chooses a free port. The unspecified IPv6 address
    /// also accepts IPv4.
    pub address: SocketAddr,
    /// The secret that peers must know. With `None` and no clients, a random one is made.
    pub secret: Option<String>,
    /// Clients with their own secrets, in addition to peers that know `secret`.
    pub clients: Vec<Client>,
    /// File for the certificate and its key. With `None`, new ones are made each time.
    pub key: Option<PathBuf>,
    /// All other settings.
    pub settings: Settings,
}

/// A listening end's socket, certificate and secret.
pub(crate) struct Listening {
    pub(crate) sockets: Sockets,
    pub(crate) address: SocketAddr,
    pub(crate) identity: Identity,
    /// Empty if each client has its own secret.
    pub(crate) secret: String,
    pub(crate) clients: Clients,
}

impl Listen {
    /// Whether no secret is given, so that a random one is made.
    pub fn is_open(&self) -> bool {
        self.secret.is_none() && self.clients.is_empty()
    }

    /// Makes the certificate and binds the socket.
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
        let identity = key.as_deref().map_or_else(Identity::generate, Identity::load_or_generate)?;
        let mut sockets = Sockets::new()?;
        let address =
            sockets.add(address, None).map_err(|error| Error::unbound("--listen", address, &error))?;
        Ok(Listening { sockets, address, identity, secret, clients })
    }
}
