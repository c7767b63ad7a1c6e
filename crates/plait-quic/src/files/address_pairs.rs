//! Addresses of the peer. A host name may have several addresses, of both families. A path tries
//! one after the other until one answers (RFC 8305, but from one socket at a time).

use super::Local;
use crate::error::Error;
use nix::net::if_::{if_indextoname, if_nametoindex};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// Default UDP port of a listening end.
const PORT: u16 = 4433;

/// Time for the first attempts at an address. It doubles in each further round. RFC 8305 §5 has 250
/// ms, for attempts that run in parallel.
const ATTEMPT_TIME: Duration = Duration::from_millis(600);

/// Number of times that the interval doubles.
const DOUBLINGS: usize = 3;

/// A local address, and the peer's address that it reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AddressPair {
    pub(super) local: Local,
    pub(super) remote: SocketAddr,
}

/// All address pairs that a path can try.
#[derive(Clone, Debug)]
pub(super) struct AddressPairs {
    /// Never empty.
    all: Vec<AddressPair>,
    index: usize,
    /// Number of abandoned attempts.
    abandoned: usize,
    /// Start of the present attempt.
    since: Option<Instant>,
    answered: bool,
    /// Addresses that refused a connection according to the network, and the time since which all
    /// of them have.
    refused: Vec<SocketAddr>,
    refused_at: Option<Instant>,
}

impl AddressPairs {
    /// Returns `None` if there are no pairs.
    pub(super) fn new(all: Vec<AddressPair>) -> Option<Self> {
        let pairs = Self {
            all,
            index: 0,
            abandoned: 0,
            since: None,
            answered: false,
            refused: Vec::new(),
            refused_at: None,
        };
        (!pairs.all.is_empty()).then_some(pairs)
    }

    /// Starts with this address of the peer, if it is one of the pairs.
    pub(super) fn starting_with(mut self, remote: SocketAddr) -> Self {
        self.index = self.all.iter().position(|pair| pair.remote == remote).unwrap_or(self.index);
        self
    }

    /// Returns the pair in use, or the one being tried.
    pub(super) fn current(&self) -> &AddressPair {
        &self.all[self.index]
    }

    /// Returns the local address of every pair.
    pub(super) fn locals(&self) -> impl Iterator<Item = &Local> {
        self.all.iter().map(|pair| &pair.local)
    }

    /// Handles a datagram from this address.
    pub(super) fn note_answer(&mut self, remote: SocketAddr) {
        self.answered |= remote == self.current().remote;
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answered
    }

    /// Starts the search for the peer again.
    pub(super) fn restart(&mut self) {
        self.answered = false;
        self.refused.clear();
        (self.since, self.refused_at) = (None, None);
    }

    /// Handles an error of the network: no socket listens on this address.
    pub(super) fn refuse(&mut self, now: Instant, remote: SocketAddr) {
        if !self.answered && !self.refused.contains(&remote) {
            self.refused.push(remote);
            if self.all.iter().all(|pair| self.refused.contains(&pair.remote)) {
                self.refused_at = Some(now);
            }
        }
    }

    /// Returns the time since which all addresses have refused.
    pub(super) fn refused_at(&self) -> Option<Instant> {
        self.refused_at.filter(|_| !self.answered)
    }

    /// Handles an answer from `remote` on another path. The peer's other addresses of that family
    /// are dropped, because they may be other machines. Returns true if the path changes to another
    /// pair.
    pub(super) fn keep_host(&mut self, remote: SocketAddr) -> bool {
        let before = self.current().clone();
        let suits = |pair: &AddressPair| pair.remote == remote || pair.remote.is_ipv4() != remote.is_ipv4();
        if self.answered || !self.all.iter().any(suits) {
            return false;
        }
        self.all.retain(suits);
        self.index = self.all.iter().position(|pair| *pair == before).unwrap_or(0);
        *self.current() != before
    }

    /// Moves on to the next pair if the time for this one is over, or if its address refused.
    /// Returns true if the pair changes.
    pub(super) fn advance(&mut self, now: Instant) -> bool {
        let since = *self.since.get_or_insert(now);
        if self.answered || self.all.len() < 2 {
            return false;
        }
        let interval = ATTEMPT_TIME * (1 << (self.abandoned / self.all.len()).min(DOUBLINGS));
        let is_refused = |pair: &AddressPair| self.refused.contains(&pair.remote);
        if now < since + interval && (!is_refused(self.current()) || self.refused_at.is_some()) {
            return false;
        }
        self.index = (self.index + 1) % self.all.len();
        self.abandoned += 1;
        self.since = Some(now);
        true
    }
}

/// Checks the form `HOST:PORT`. An IPv6 address needs brackets.
fn check_form(to: &str) -> Result<(), Error> {
    let (host, port) = to.rsplit_once(':').unwrap_or((to, ""));
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    if port.parse::<u16>().is_ok_and(|port| port > 0)
        && !host.is_empty()
        && (is_bracketed || !host.contains(':'))
    {
        return Ok(());
    }
    let host = to.trim_end_matches(':');
    let example = match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]:{PORT}"),
        Err(_) if host.contains(':') || host.is_empty() => format!("example.org:{PORT}"),
        Err(_) => format!("{host}:{PORT}"),
    };
    Err(Error::Setting(format!("{to}: write HOST:PORT, such as {example}")))
}

/// Resolves `HOST:PORT`. Keeps the system's order, but alternates the families (RFC 8305 §4).
///
/// # Errors
/// Returns [`Error::Setting`] for another form, and [`Error::Absent`] if the name or the interface
/// is missing now.
pub(super) fn resolve(to: &str) -> Result<Vec<SocketAddr>, Error> {
    check_form(to)?;
    let failed = |reason: String| Error::Absent(format!("{to}: {reason}"));
    if let Some(address) = scoped(to) {
        return Ok(vec![address.map_err(failed)?]);
    }
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in to.to_socket_addrs().map_err(|error| failed(error.to_string()))? {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    let is_first = |address: &SocketAddr| address.is_ipv4() == found[0].is_ipv4();
    let (first, other): (Vec<_>, Vec<_>) = found.iter().copied().partition(is_first);
    let mut ordered = Vec::new();
    for at in 0..found.len() {
        ordered.extend(first.get(at));
        ordered.extend(other.get(at));
    }
    if ordered.is_empty() { Err(failed("no address".to_owned())) } else { Ok(ordered) }
}

/// Parses an address with a port, `[fe80::1%eth0]:4433` for a link-local address.
///
/// # Errors
/// Returns a text with the expected form.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let expected = |_| "expected ADDRESS:PORT, such as 0.0.0.0:4433 or [fe80::1%eth0]:4433".to_owned();
    scoped(text).unwrap_or_else(|| text.parse().map_err(expected))
}

/// Returns UDP port 4433 on all addresses of this machine: of both families if it has IPv6,
/// otherwise IPv4.
pub fn anywhere() -> SocketAddr {
    match UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)) {
        Ok(_) => (Ipv6Addr::UNSPECIFIED, PORT).into(),
        Err(_) => (Ipv4Addr::UNSPECIFIED, PORT).into(),
    }
}

/// Parses an IPv6 address with an interface. Returns `None` for other forms.
fn scoped(text: &str) -> Option<Result<SocketAddr, String>> {
    let (inside, port) = text.strip_prefix('[')?.split_once("]:")?;
    let (ip, interface) = inside.split_once('%')?;
    let (ip, port) = (ip.parse::<Ipv6Addr>().ok()?, port.parse::<u16>().ok()?);
    let index = if_nametoindex(interface).ok().or_else(|| interface.parse().ok());
    let index = index.ok_or_else(|| format!("interface {interface}: there is none"));
    Some(index.map(|index| SocketAddrV6::new(ip, port, 0, index).into()))
}

/// Returns the interface of an address that has one.
pub(super) fn interface_of(address: SocketAddr) -> Option<String> {
    match address {
        SocketAddr::V6(address) if address.scope_id() != 0 => {
            if_indextoname(address.scope_id()).ok()?.into_string().ok()
        }
        _ => None,
    }
}

/// Formats an address as users write it, with the name of its interface.
pub(super) fn display(address: SocketAddr) -> String {
    match interface_of(address) {
        Some(name) => format!("[{}%{name}]:{}", address.ip(), address.port()),
        None => address.to_string(),
    }
}

/// Whether an address is link-local.
pub(super) fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::now;

    fn pairs(pairs: &[(&str, &str)]) -> AddressPairs {
        let pair = |(local, remote): &(&str, &str)| AddressPair {
            local: local.parse().expect("an address"),
            remote: remote.parse().expect("an address"),
        };
        AddressPairs::new(pairs.iter().map(pair).collect()).expect("there are some")
    }

    const BOTH: [(&str, &str); 2] = [("2001:db8::1", "[2001:db8::9]:9"), ("10.0.0.1", "192.0.2.9:9")];

    #[test]
    fn addresses_are_tried_in_turns_until_one_answers() {
        let (start, mut pairs) = (now(), pairs(&BOTH));
        assert!(!pairs.advance(start) && !pairs.advance(start + ATTEMPT_TIME / 2));
        assert!(pairs.advance(start + ATTEMPT_TIME), "it has had its time");
        assert_eq!(pairs.current().remote, "192.0.2.9:9".parse().expect("an address"));
        pairs.note_answer("[2001:db8::9]:9".parse().expect("an address"));
        assert!(!pairs.has_answered(), "that address is not tried any more");
        assert!(
            pairs.advance(start + 2 * ATTEMPT_TIME) && !pairs.advance(start + 3 * ATTEMPT_TIME),
            "the second round takes longer"
        );
        assert!(pairs.advance(start + 4 * ATTEMPT_TIME));
        pairs.note_answer(pairs.current().remote);
        assert!(!pairs.advance(start + 100 * ATTEMPT_TIME), "it has answered");
    }

    #[test]
    fn an_address_at_which_nothing_listens_is_left_at_once_and_all_of_them_are_an_end() {
        let (start, mut pairs) = (now(), pairs(&BOTH));
        assert!(!pairs.advance(start));
        pairs.refuse(start, pairs.current().remote);
        assert!(pairs.advance(start) && pairs.refused_at().is_none());
        pairs.refuse(start, pairs.current().remote);
        assert_eq!(pairs.refused_at(), Some(start));
        assert!(!pairs.advance(start), "no race around the addresses");
        pairs.note_answer(pairs.current().remote);
        assert_eq!(pairs.refused_at(), None, "somebody is there all the same");
    }

    #[test]
    fn the_machine_that_has_answered_another_path_is_the_one() {
        let three = [("10.0.0.1", "192.0.2.8:9"), ("10.0.0.1", "192.0.2.9:9"), BOTH[0]];
        let mut pairs = pairs(&three);
        assert!(pairs.keep_host("192.0.2.9:9".parse().expect("an address")));
        assert_eq!(pairs.current().remote, "192.0.2.9:9".parse().expect("an address"));
        assert_eq!(pairs.all.len(), 2, "the other family may be its, too");
        assert!(!pairs.keep_host("192.0.2.7:9".parse().expect("an address")) || pairs.all.len() == 1);
    }

    #[test]
    fn names_and_addresses_of_a_link_are_read() {
        assert_eq!(resolve("127.0.0.1:9").expect("an address"), ["127.0.0.1:9".parse().expect("an address")]);
        let SocketAddr::V6(found) = address("[fe80::1%lo]:4433").expect("it is one") else { panic!("IPv6") };
        assert_eq!((found.scope_id(), found.port()), (if_nametoindex("lo").expect("it is there"), 4433));
        assert_eq!(resolve("[fe80::1%lo]:4433").expect("it is one"), [found.into()]);
        assert_eq!(display(found.into()), "[fe80::1%lo]:4433");
        assert_eq!(display("192.0.2.1:9".parse().expect("an address")), "192.0.2.1:9");
        assert_eq!(address("[fe80::1%7]:1").expect("it is one").to_string(), "[fe80::1%7]:1");
        assert!(address("[fe80::1%wlan99]:1").expect_err("there is none").contains("wlan99"));
        assert!(address("4433").expect_err("no address").contains("ADDRESS:PORT"));
    }

    #[test]
    fn a_form_is_wrong_input_and_a_missing_name_or_interface_may_come() {
        for (to, example) in [
            ("192.0.2.1", "192.0.2.1:4433"),
            ("vps.example.org:", "vps.example.org:4433"),
            ("vps.example.org:x", "example.org:4433"),
            ("fe80::1", "[fe80::1]:4433"),
            ("host:0", "example.org:4433"),
        ] {
            let error = resolve(to).expect_err("it is refused");
            assert!(error.is_bad_input(), "{error}");
            assert_eq!(error.to_string(), format!("{to}: write HOST:PORT, such as {example}"));
        }
        for to in ["plait.invalid:4433", "[fe80::1%wlan99]:4433"] {
            let error = resolve(to).expect_err("it is missing");
            assert!(matches!(error, Error::Absent(_)) && !error.is_bad_input(), "{error}");
        }
    }
}
