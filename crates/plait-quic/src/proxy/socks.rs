//! SOCKS5 (RFC 1928), the server's side, without I/O. Supports CONNECT and UDP ASSOCIATE, without
//! authentication.

use super::target::Target;
use crate::streams::Reason;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const VERSION: u8 = 5;

/// Largest number of bytes that a client may send before its target is known, and again before its
/// request is answered.
pub(super) const MAX_REQUEST: usize = 2 << 10;

/// The next action for the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Wait for more bytes.
    Wait,
    /// Send this reply and continue.
    Reply([u8; 2]),
    /// Connect to this target.
    Connect(Target),
    /// Open a relay for datagrams. The client sends them from this port, if it gives one.
    Associate(Option<u16>),
    /// Send this reply and close. The reply is empty if the client does not use SOCKS5.
    Refuse(Vec<u8>),
}

/// A client whose request is not complete.
#[derive(Debug, Default)]
pub(super) struct PendingRequest {
    received: Vec<u8>,
    greeted: bool,
}

impl PendingRequest {
    /// Adds received bytes. Returns false if there are too many.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> bool {
        self.received.extend_from_slice(bytes);
        self.received.len() <= MAX_REQUEST
    }

    /// Returns the next action. Call it until it returns [`Step::Wait`].
    pub(super) fn step(&mut self) -> Step {
        if self.received.first().is_some_and(|version| *version != VERSION) {
            return Step::Refuse(Vec::new());
        }
        let step = if self.greeted { self.request() } else { self.greeting() };
        step.unwrap_or(Step::Wait)
    }

    /// Returns the bytes that followed the request.
    pub(super) fn into_rest(self) -> Vec<u8> {
        self.received
    }

    fn greeting(&mut self) -> Option<Step> {
        let count = usize::from(*self.received.get(1)?);
        let methods = self.received.get(2..2 + count)?;
        if !methods.contains(&0) {
            // Reply: no acceptable method.
            return Some(Step::Refuse(vec![VERSION, 0xff]));
        }
        self.received.drain(..2 + count);
        self.greeted = true;
        Some(Step::Reply([VERSION, 0]))
    }

    fn request(&mut self) -> Option<Step> {
        let [_, command, _, ..] = self.received[..] else { return None };
        let (target, length) = match destination(&self.received[3..])? {
            Ok(destination) => destination,
            // Reply: address type not supported.
            Err(()) => return Some(Step::Refuse(reply(8))),
        };
        let port = u16::from_be_bytes([self.received[1 + length], self.received[2 + length]]);
        match command {
            1 => {}
            3 => return Some(Step::Associate(Some(port).filter(|port| *port != 0))),
            // Reply: command not supported.
            _ => return Some(Step::Refuse(reply(7))),
        }
        self.received.drain(..3 + length);
        Some(target.map_or_else(|| Step::Refuse(refusal(Reason::Unresolved)), Step::Connect))
    }
}

/// A target (`None` if invalid), and the number of bytes from its type to the end of its port.
type Destination = (Option<Target>, usize);

/// Reads type, address and port. Returns `None` if bytes are missing, and `Err` for an unknown
/// type.
fn destination(bytes: &[u8]) -> Option<Result<Destination, ()>> {
    let (&kind, rest) = bytes.split_first()?;
    let length = match kind {
        1 => 4,
        3 => 1 + usize::from(*rest.first()?),
        4 => 16,
        _ => return Some(Err(())),
    };
    let (address, port) = (rest.get(..length)?, rest.get(length..length + 2)?);
    let host = match kind {
        1 => <[u8; 4]>::try_from(address).ok().map(|bytes| Ipv4Addr::from(bytes).to_string()),
        4 => <[u8; 16]>::try_from(address).ok().map(|bytes| IpAddr::from(Ipv6Addr::from(bytes)).to_string()),
        _ => std::str::from_utf8(&address[1..]).ok().map(str::to_owned),
    };
    let port = u16::from_be_bytes([port[0], port[1]]);
    Some(Ok((host.and_then(|host| Target::new(&host, port)), 1 + length + 2)))
}

/// Writes type, address and port of a target.
fn encode_address(target: &Target, out: &mut Vec<u8>) {
    match target.host.parse() {
        Ok(IpAddr::V4(ip)) => {
            out.push(1);
            out.extend(ip.octets());
        }
        Ok(IpAddr::V6(ip)) => {
            out.push(4);
            out.extend(ip.octets());
        }
        Err(_) => {
            out.extend([3, target.host.len() as u8]);
            out.extend(target.host.as_bytes());
        }
    }
    out.extend(target.port.to_be_bytes());
}

/// Parses a client's datagram (RFC 1928 §7). Returns its target and the offset of its payload.
/// Fragments are not supported.
pub(super) fn datagram(bytes: &[u8]) -> Option<(Target, usize)> {
    let [_, _, 0, rest @ ..] = bytes else { return None };
    let (target, length) = destination(rest)?.ok()?;
    Some((target?, 3 + length))
}

/// Encodes a datagram for a client, from this target.
pub(super) fn wrapped(target: &Target, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 3];
    encode_address(target, &mut out);
    out.extend(bytes);
    out
}

/// Encodes the reply for a relay that is bound to this address.
pub(super) fn associated(address: SocketAddr) -> Vec<u8> {
    let mut out = vec![VERSION, 0, 0];
    let host = address.ip().to_canonical().to_string();
    encode_address(&Target { host, port: address.port() }, &mut out);
    out
}

/// Encodes the reply for an established connection. Data follows it.
pub(super) fn granted() -> Vec<u8> {
    reply(0)
}

/// Encodes the reply for a refused connection.
pub(super) fn refusal(reason: Reason) -> Vec<u8> {
    reply(match reason {
        Reason::Broken | Reason::Busy => 1,
        Reason::Denied => 2,
        Reason::Unreachable => 3,
        Reason::Unresolved | Reason::Silent => 4,
        Reason::Refused => 5,
    })
}

/// Encodes a reply. It does not disclose the address of the outgoing connection.
fn reply(code: u8) -> Vec<u8> {
    vec![VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GREETING: &[u8] = &[5, 2, 0, 2];

    /// Returns all steps until the client waits or is done.
    fn steps(client: &mut PendingRequest, bytes: &[u8]) -> Vec<Step> {
        assert!(client.receive(bytes));
        let mut steps = Vec::new();
        loop {
            match client.step() {
                Step::Wait => return steps,
                step @ Step::Reply(_) => steps.push(step),
                step => {
                    steps.push(step);
                    return steps;
                }
            }
        }
    }

    fn request(command: u8, kind: u8, address: &[u8]) -> Vec<u8> {
        [&[5, command, 0, kind][..], address, &[1, 187]].concat()
    }

    fn target(host: &str) -> Step {
        Step::Connect(Target::new(host, 443).expect("it is one"))
    }

    #[test]
    fn targets_are_addresses_and_names() {
        let v6: Vec<u8> = "2001:db8::1".parse::<Ipv6Addr>().expect("it is one").octets().to_vec();
        for (request, expected) in [
            (request(1, 1, &[10, 0, 0, 1]), target("10.0.0.1")),
            (request(1, 4, &v6), target("2001:db8::1")),
            (request(1, 3, b"\x0bexample.org"), target("example.org")),
            (request(1, 3, b"\x00"), Step::Refuse(reply(4))),
            (request(1, 3, b"\x03a b"), Step::Refuse(reply(4))),
            (request(2, 1, &[10, 0, 0, 1]), Step::Refuse(reply(7))),
            (request(3, 1, &[0, 0, 0, 0]), Step::Associate(Some(443))),
            (request(3, 3, b"\x00"), Step::Associate(Some(443))),
            (request(1, 2, &[10, 0, 0, 1]), Step::Refuse(reply(8))),
        ] {
            let all = [GREETING, &request].concat();
            let expected = vec![Step::Reply([5, 0]), expected];
            assert_eq!(steps(&mut PendingRequest::default(), &all), expected, "{request:?}");
            // Single bytes give the same steps.
            let mut client = PendingRequest::default();
            let slowly: Vec<Step> = all
                .iter()
                .flat_map(|byte| {
                    if matches!(client.step(), Step::Wait) {
                        steps(&mut client, &[*byte])
                    } else {
                        Vec::new()
                    }
                })
                .collect();
            assert!(slowly.starts_with(&expected), "{request:?}: {slowly:?}");
        }
    }

    #[test]
    fn what_is_said_behind_the_target_is_kept() {
        let mut client = PendingRequest::default();
        steps(&mut client, &[GREETING, &request(1, 1, &[10, 0, 0, 1]), b"GET /"].concat());
        assert_eq!(client.into_rest(), b"GET /");
    }

    #[test]
    fn datagrams_have_their_target_before_them() {
        for host in ["10.0.0.1", "2001:db8::1", "example.org"] {
            let target = Target::new(host, 53).expect("it is one");
            let bytes = wrapped(&target, b"abc");
            let read = datagram(&bytes).expect("it is one");
            assert_eq!((read.0, &bytes[read.1..]), (target, &b"abc"[..]));
            (0..bytes.len() - 3).for_each(|length| assert_eq!(datagram(&bytes[..length]), None, "{length}"));
            let fragment = [&[0, 0, 1], &bytes[3..]].concat();
            assert_eq!(datagram(&fragment), None);
        }
        let address = "127.0.0.1:1081".parse().expect("it is one");
        assert_eq!(associated(address), [5, 0, 0, 1, 127, 0, 0, 1, 4, 57]);
    }

    #[test]
    fn who_speaks_something_else_is_refused() {
        assert_eq!(steps(&mut PendingRequest::default(), b"GET / HTTP/1.1"), [Step::Refuse(Vec::new())]);
        assert_eq!(steps(&mut PendingRequest::default(), &[4, 1, 0, 80]), [Step::Refuse(Vec::new())]);
        assert_eq!(steps(&mut PendingRequest::default(), &[5, 1, 2]), [Step::Refuse(vec![5, 0xff])]);
        assert!(!PendingRequest::default().receive(&[5; MAX_REQUEST + 1]));
    }

    #[test]
    fn every_reason_has_a_code() {
        assert!(Reason::ALL.iter().all(|reason| (1..=5).contains(&refusal(*reason)[1])));
        assert_eq!(granted(), [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_nothing_panics_and_pieces_make_no_difference(
            bytes in prop::collection::vec(prop_oneof![0..6u8, any::<u8>()], 0..400),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let all = |pieces: &[&[u8]]| {
                let (mut client, mut steps) = (PendingRequest::default(), Vec::new());
                for piece in pieces {
                    assert!(client.receive(piece));
                    loop {
                        match client.step() {
                            Step::Wait => break,
                            step @ Step::Reply(_) => steps.push(step),
                            step => {
                                steps.push(step);
                                return steps;
                            }
                        }
                    }
                }
                steps
            };
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(all(&pieces), all(&[&bytes]));
        }
    }
}
