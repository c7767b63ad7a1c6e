//! A path of the sender's: its address, and the connection over it.

use crate::identity::NAME;
use crate::link::{Link, REFUSED};
use noq_proto::{ClientConfig, ConnectionError, Endpoint};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// A path that could not be opened is tried again after so long.
pub(super) const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Way {
    pub(super) local: IpAddr,
    pub(super) endpoint: Endpoint,
    pub(super) link: Option<Link>,
    pub(super) greeted: bool,
    pub(super) joined: bool,
    pub(super) retry_at: Option<Instant>,
    /// The peer, or TLS, will not have it: it is not tried again.
    pub(super) refused: bool,
    pub(super) trouble: Option<String>,
    pub(super) opened: u32,
}

impl Way {
    pub(super) fn new(now: Instant, local: IpAddr, endpoint: Endpoint) -> Self {
        Self {
            local,
            endpoint,
            link: None,
            greeted: false,
            joined: false,
            retry_at: Some(now),
            refused: false,
            trouble: None,
            opened: 0,
        }
    }

    pub(super) fn open(&mut self, now: Instant, client: &ClientConfig, remote: SocketAddr) {
        self.greeted = false;
        self.joined = false;
        match self.endpoint.connect(now, client.clone(), remote, NAME) {
            Ok(connected) => {
                self.link = Some(Link::new(connected));
                self.retry_at = None;
            }
            Err(error) => {
                self.trouble = Some(error.to_string());
                self.retry_at = Some(now + RETRY);
            }
        }
    }
}

/// What TLS says, or the peer's program, of everything is meant; silence, restarts and what concerns one connection are not.
pub(super) fn is_meant(reason: &ConnectionError) -> bool {
    match reason {
        ConnectionError::ApplicationClosed(close) => close.error_code.into_inner() <= u64::from(REFUSED),
        ConnectionError::TransportError(_) => true,
        // CRYPTO_ERROR (RFC 9000 §20.1): TLS' alerts.
        ConnectionError::ConnectionClosed(close) => (0x100..0x200).contains(&u64::from(close.error_code)),
        _ => false,
    }
}
