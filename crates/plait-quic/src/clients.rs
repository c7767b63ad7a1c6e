//! Clients of a listening end, each with a secret and limits.

use crate::error::Error;
use crate::identity::Secret;
use crate::settings::MAX_PATHS;
use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// A client of a listening end.
#[derive(Clone, Debug)]
pub struct Client {
    /// Name in events, logs and metrics; empty if all clients share one secret.
    pub name: String,
    /// Secret that the client presents.
    pub secret: Secret,
    /// Limits of the client.
    pub limits: Limits,
}

/// Limits of one client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Concurrent transfers, or concurrent near ends of a proxy. Default 4.
    pub at_once: usize,
    /// Paths of each transfer or near end. Default [`MAX_PATHS`].
    pub paths: usize,
    /// Concurrent streams and datagram flows of a near end; `None`: as many as a connection allows.
    pub streams: Option<usize>,
    /// Rate in bit/s of all streams and datagram flows of the client, both directions together;
    /// `None`: no limit.
    pub rate: Option<u64>,
    /// Bytes of all files of a transfer; `None`: no limit.
    pub bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { at_once: 4, paths: MAX_PATHS, streams: None, rate: None, bytes: None }
    }
}

/// Bytes of one transfer so far, and the client's limit.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Allowance {
    most: Option<u64>,
    used: u64,
}

impl Allowance {
    /// Creates an unused allowance.
    pub(crate) fn of(limits: Limits) -> Self {
        Self { most: limits.bytes, used: 0 }
    }

    /// Adds bytes to the transfer.
    ///
    /// # Errors
    /// A message for the sender with both numbers, if the transfer exceeds the limit.
    pub(crate) fn add(&mut self, bytes: u64) -> Result<(), String> {
        self.used = self.used.saturating_add(bytes);
        match self.most {
            Some(most) if self.used > most => {
                Err(format!("a transfer of at least {} bytes: {most} are allowed to this client", self.used))
            }
            _ => Ok(()),
        }
    }
}

/// All clients. [`Secret`] becomes one client without a name.
#[derive(Clone, Debug)]
pub struct Clients(Vec<Client>);

impl From<Secret> for Clients {
    fn from(secret: Secret) -> Self {
        Self(vec![Client { name: String::new(), secret, limits: Limits::default() }])
    }
}

impl Clients {
    /// Creates the list of clients. Their names and secrets must differ.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first client whose name or secret is not unique.
    pub fn new(clients: Vec<Client>) -> Result<Self, Error> {
        let mut names = BTreeSet::new();
        for (index, client) in clients.iter().enumerate() {
            if !names.insert(client.name.as_str()) {
                return Err(Error::Setting(format!("client {}: another client has this name", client.name)));
            }
            if clients[..index].iter().any(|other| other.secret.agrees(&client.secret)) {
                return Err(Error::Setting(format!(
                    "client {}: another client has this secret",
                    client.name
                )));
            }
        }
        Ok(Self(clients))
    }

    /// Returns the index of the client with this secret. The run time does not depend on the
    /// client.
    pub(crate) fn find(&self, secret: &Secret) -> Option<usize> {
        let all = self.0.iter().enumerate();
        all.fold(
            None,
            |found, (index, client)| if client.secret.agrees(secret) { Some(index) } else { found },
        )
    }

    pub(crate) fn limits(&self, client: usize) -> Limits {
        self.0.get(client).map_or_else(Limits::default, |client| client.limits)
    }

    /// Describes a client that connects from `remote`.
    pub(crate) fn connected(&self, client: usize, remote: SocketAddr) -> ConnectedClient {
        let name = self.0.get(client).map_or("", |client| &client.name);
        ConnectedClient { name: name.into(), number: client, remote }
    }
}

/// A connected client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectedClient {
    /// Name of the client; empty if it has none.
    pub name: Arc<str>,
    /// Index among the clients.
    pub(crate) number: usize,
    /// Remote address of its first path.
    pub remote: SocketAddr,
}

impl fmt::Display for ConnectedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, remote, .. } = self;
        if name.is_empty() { write!(f, "{remote}") } else { write!(f, "{name} at {remote}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str, secret: &str) -> Client {
        Client { name: name.to_owned(), secret: Secret::new(secret), limits: Limits::default() }
    }

    #[test]
    fn a_secret_belongs_to_one_client() {
        let clients = Clients::new(vec![client("lab", "one"), client("van", "two")]).expect("they differ");
        assert_eq!(clients.find(&Secret::new("one")), Some(0));
        assert_eq!(clients.find(&Secret::new("two")), Some(1));
        assert_eq!(clients.find(&Secret::new("three")), None);
        let remote = "192.0.2.1:9".parse().expect("an address");
        assert_eq!(clients.connected(1, remote).to_string(), "van at 192.0.2.1:9");
        let nameless = Clients::from(Secret::new("one"));
        assert_eq!(nameless.connected(0, remote).to_string(), "192.0.2.1:9");
        for (second, wrong) in [(client("lab", "two"), "this name"), (client("van", "one"), "this secret")] {
            let error = Clients::new(vec![client("lab", "one"), second]).expect_err("they do not");
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}
