//! Targets of connections, and the rules that allow them.

use crate::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A host, given by name or address, and a port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Target {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Target {
    /// Returns `None` if the host is neither a name nor an address.
    pub fn new(host: &str, port: u16) -> Option<Self> {
        let is_address = host.parse::<IpAddr>().is_ok();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte) || byte >= 0x80;
        let is_name = !host.is_empty() && host.len() <= 255 && host.bytes().all(allowed);
        (is_address || is_name).then(|| Self { host: host.to_owned(), port })
    }
}

/// Splits a text at its last colon into host and port. A host with colons needs brackets, which are
/// removed.
fn halves(text: &str) -> Option<(&str, &str)> {
    let (host, port) = text.rsplit_once(':')?;
    match host.strip_prefix('[') {
        Some(host) => Some((host.strip_suffix(']').filter(|host| host.contains(':'))?, port)),
        None => Some((host, port)).filter(|_| !host.contains(':')),
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let read = || {
            let (host, port) = halves(text)?;
            Self::new(host, port.parse().ok()?)
        };
        read().ok_or_else(|| Error::Setting(format!("\"{text}\": HOST:PORT is needed")))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// A rule that allows targets: one host or all hosts, and one port or all ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allowed {
    host: Option<String>,
    port: Option<u16>,
}

/// Addresses to which an allowed target may resolve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// Any address, because the rule names the host.
    All,
    /// Any address except those of this machine, and link-local, multicast, broadcast and
    /// unspecified ones. This applies to rules for all hosts.
    Others,
}

impl FromStr for Allowed {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let read = || {
            let (host, port) = halves(text)?;
            let port = if port == "*" { None } else { Some(port.parse().ok()?) };
            let host = if host == "*" { None } else { Some(Target::new(host, 0)?.host) };
            Some(Self { host, port })
        };
        read()
            .ok_or_else(|| Error::Setting(format!("\"{text}\": HOST:PORT is needed, of which each may be *")))
    }
}

impl Allowed {
    fn scope(&self, target: &Target) -> Option<Scope> {
        let port = self.port.is_none_or(|port| port == target.port);
        match &self.host {
            _ if !port => None,
            None => Some(Scope::Others),
            Some(host) => is_same(host, &target.host).then_some(Scope::All),
        }
    }
}

/// Returns the widest scope that these rules give to a target, or `None` if no rule allows it.
pub(super) fn scope(allowed: &[Allowed], target: &Target) -> Option<Scope> {
    let found: Vec<Scope> = allowed.iter().filter_map(|one| one.scope(target)).collect();
    found.iter().find(|scope| **scope == Scope::All).or(found.first()).copied()
}

fn is_same(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one.to_canonical() == other.to_canonical(),
        (Err(_), Err(_)) => one.trim_end_matches('.').eq_ignore_ascii_case(other.trim_end_matches('.')),
        _ => false,
    }
}

impl Scope {
    /// Whether a target may have this address. `machine` has the addresses of this machine.
    pub(super) fn admits(self, address: IpAddr, machine: &[IpAddr]) -> bool {
        let address = address.to_canonical();
        let own = machine.contains(&address)
            || match address {
                IpAddr::V4(ip) => {
                    ip.octets()[0] == 0
                        || ip.is_loopback()
                        || ip.is_link_local()
                        || ip.is_multicast()
                        || ip.is_broadcast()
                }
                IpAddr::V6(ip) => {
                    ip.is_unspecified() || ip.is_loopback() || ip.is_unicast_link_local() || ip.is_multicast()
                }
            };
        self == Self::All || !own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().expect("it is one")
    }

    #[test]
    fn hosts_and_ports() {
        for text in ["example.org:80", "10.0.0.1:1", "[::1]:443", "müller.example:65535"] {
            assert_eq!(target(text).to_string(), text);
        }
        let long = format!("{}:80", "a".repeat(256));
        for text in [
            "",
            ":80",
            "host",
            "host:",
            "host:65536",
            "::1:80",
            "[host]:80",
            "*:80",
            "a b:80",
            "a/b:80",
            "a\n:80",
            "[::1:80",
            &long,
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
        let longest = Target::new(&"a".repeat(255), 65_535).expect("it is one").to_string();
        assert_eq!(longest.len(), crate::streams::MAX_TARGET);
    }

    #[test]
    fn only_what_is_told_is_allowed() {
        let allowed = |patterns: &[&str], text: &str| {
            let patterns: Vec<Allowed> = patterns.iter().map(|one| one.parse().expect("it is one")).collect();
            scope(&patterns, &target(text))
        };
        assert_eq!(allowed(&[], "example.org:80"), None);
        assert_eq!(allowed(&["example.org:80"], "Example.ORG.:80"), Some(Scope::All));
        assert_eq!(allowed(&["example.org:80"], "example.org:81"), None);
        assert_eq!(allowed(&["example.org:80"], "www.example.org:80"), None);
        assert_eq!(allowed(&["[::1]:*"], "[0:0::1]:9"), Some(Scope::All));
        assert_eq!(allowed(&["127.0.0.1:*"], "[::ffff:127.0.0.1]:9"), Some(Scope::All));
        assert_eq!(allowed(&["*:443"], "localhost:443"), Some(Scope::Others));
        assert_eq!(allowed(&["*:*", "localhost:443"], "localhost:443"), Some(Scope::All));
        for wrong in ["", "*", "host", "*:", "ho*st:80", "::1:80"] {
            assert!(wrong.parse::<Allowed>().is_err(), "{wrong}");
        }
    }

    /// Without this, a proxy for all targets would give access to its own machine, and to services
    /// that trust its address.
    #[test]
    fn all_hosts_are_all_others() {
        let own = [
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "169.254.169.254",
            "fe80::1",
            "::ffff:127.0.0.1",
            "224.0.0.1",
        ];
        for address in own.map(|text| text.parse::<IpAddr>().expect("it is one")) {
            assert!(!Scope::Others.admits(address, &[]) && Scope::All.admits(address, &[]), "{address}");
        }
        for address in ["10.0.0.1", "8.8.8.8", "2001:db8::1"].map(|text| text.parse().expect("it is one")) {
            assert!(Scope::Others.admits(address, &[]));
            assert!(!Scope::Others.admits(address, &[address]), "the machine's own");
        }
    }
}
