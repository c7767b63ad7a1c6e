//! Clients of an end that listens, each with a secret and limits.

use crate::error::Error;
use crate::identity::Secret;
use crate::settings::MAX_LINKS;
use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// A client of an end that listens.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its name in events, logs and metrics; empty where there is one secret for everybody.
    pub name: String,
    /// The secret that it says.
    pub secret: Secret,
    /// Its limits.
    pub limits: Limits,
}

/// Limits of one client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Transfers, or near ends of a proxy, at once. Default 4.
    pub at_once: usize,
    /// Paths of each of these. Default [`MAX_LINKS`].
    pub paths: usize,
    /// Streams and flows of datagrams of a near end at once; `None`: as many as a connection has.
    pub streams: Option<usize>,
    /// Bits per second of all its streams and flows of datagrams, both directions together; `None`: no limit.
    pub rate: Option<u64>,
    /// Bytes of a transfer, of all its files; `None`: no limit.
    pub bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { at_once: 4, paths: MAX_LINKS, streams: None, rate: None, bytes: None }
    }
}

/// The bytes of one transfer, and its client's limit.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Allowance {
    most: Option<u64>,
    used: u64,
}

impl Allowance {
    /// An unused one.
    pub(crate) fn of(limits: Limits) -> Self {
        Self { most: limits.bytes, used: 0 }
    }

    /// Adds bytes to the transfer.
    ///
    /// # Errors
    /// Both numbers for the sender, if its transfer has more than it may.
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
    /// Clients whose names and secrets differ.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first that does not.
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

    /// The client that has this secret. The time that it takes does not depend on which one.
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

    /// A client at an address.
    pub(crate) fn guest(&self, client: usize, remote: SocketAddr) -> Guest {
        let name = self.0.get(client).map_or("", |client| &client.name);
        Guest { client: name.into(), number: client, remote }
    }
}

/// A client that has connected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guest {
    /// Its name; empty where it has none.
    pub client: Arc<str>,
    /// Its place among the clients.
    pub(crate) number: usize,
    /// The address of its first path.
    pub remote: SocketAddr,
}

impl fmt::Display for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, remote, .. } = self;
        if client.is_empty() { write!(f, "{remote}") } else { write!(f, "{client} at {remote}") }
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
        assert_eq!(clients.guest(1, remote).to_string(), "van at 192.0.2.1:9");
        let nameless = Clients::from(Secret::new("one"));
        assert_eq!(nameless.guest(0, remote).to_string(), "192.0.2.1:9");
        for (second, wrong) in [(client("lab", "two"), "this name"), (client("van", "one"), "this secret")] {
            let error = Clients::new(vec![client("lab", "one"), second]).expect_err("they do not");
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}
