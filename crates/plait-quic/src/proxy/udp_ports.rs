//! UDP at the near end: ports with one target each, and relays of SOCKS5's UDP ASSOCIATE.

use super::datagram_socket::{CHECK_INTERVAL, DatagramSocket, IDLE, LONGEST, MAX_RECEIVES};
use super::{NearEvent, Target, socks};
use crate::streams::{Class, MAX_DATAGRAM, MAX_FLOWS, Near, Reason};
use mio::Registry;
use plait_sched::Scheduler;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Time after which a refused flow may be requested again.
const REFUSED: Duration = Duration::from_secs(10);

/// Largest number of clients in memory, including those of refused flows.
const MAX_CLIENTS: usize = 4 * MAX_FLOWS;

/// The target of a port's datagrams.
#[derive(Debug)]
pub(super) enum PortTarget {
    /// One target for all datagrams.
    Fixed(Target),
    /// The target in the header of each datagram (RFC 1928 §7). A single client is served, known by
    /// its address, and by its port after the first datagram.
    FromHeader { client: IpAddr, port: Option<u16> },
}

/// A port, the source of the datagrams, and their target.
type Key = (usize, SocketAddr, Target);

#[derive(Debug)]
struct ClientFlow {
    /// `None` if the flow was refused.
    flow: Option<u32>,
    used: Instant,
    /// Whether a datagram that is too large was reported.
    told: bool,
}

/// All UDP ports of a near end.
#[derive(Debug)]
pub(super) struct UdpPorts {
    ports: BTreeMap<usize, (DatagramSocket, PortTarget)>,
    clients: BTreeMap<Key, ClientFlow>,
    by_flow: BTreeMap<u32, Key>,
    checked_at: Option<Instant>,
    buffer: Vec<u8>,
}

impl UdpPorts {
    pub(super) fn new() -> Self {
        let (ports, clients, by_flow) = Default::default();
        Self { ports, clients, by_flow, checked_at: None, buffer: vec![0; LONGEST] }
    }

    /// Adds a port. Returns its bound address.
    pub(super) fn add(
        &mut self,
        registry: &Registry,
        address: SocketAddr,
        token: usize,
        port_target: PortTarget,
    ) -> io::Result<SocketAddr> {
        let port = DatagramSocket::bind(registry, address, token)?;
        let bound = port.address()?;
        self.ports.insert(token, (port, port_target));
        Ok(bound)
    }

    /// Closes a port and ends its flows.
    pub(super) fn remove<W: Scheduler>(&mut self, token: usize, near: &mut Near<W>) {
        self.ports.remove(&token);
        self.end(near, |key, _| key.0 == token);
    }

    /// Marks a port as readable.
    pub(super) fn mark_readable(&mut self, token: usize) {
        if let Some((port, _)) = self.ports.get_mut(&token) {
            port.readable = true;
        }
    }

    /// Whether a port may have more datagrams to read.
    pub(super) fn has_more(&self) -> bool {
        self.ports.values().any(|(port, _)| port.readable)
    }

    /// Forgets all flows after the loss of the far end, and closes the relays of SOCKS clients.
    pub(super) fn forget_flows(&mut self) {
        self.ports.retain(|_, (_, port_target)| matches!(port_target, PortTarget::Fixed(_)));
        self.clients.clear();
        self.by_flow.clear();
    }

    /// Handles the end of a flow by the far end. Returns the target of the flow, if it exists.
    pub(super) fn reset(&mut self, moment: Instant, flow: u32, reason: Reason) -> Option<Target> {
        let key = self.by_flow.remove(&flow)?;
        let target = key.2.clone();
        if reason == Reason::Broken {
            self.clients.remove(&key);
        } else if let Some(client) = self.clients.get_mut(&key) {
            (client.flow, client.used) = (None, moment);
        }
        Some(target)
    }

    /// Carries datagrams in both directions. Calls `tell` for flows beyond the limit, and for the
    /// first datagram of a flow that is too large.
    pub(super) fn carry<W: Scheduler>(
        &mut self,
        moment: Instant,
        near: &mut Near<W>,
        class: impl Fn(&Target) -> Class,
        mut tell: impl FnMut(&NearEvent<'_>),
    ) {
        while let Some((flow, bytes)) = near.streams().receive_datagram() {
            self.deliver(moment, flow, &bytes);
        }
        for token in self.ports.keys().copied().collect::<Vec<_>>() {
            for _ in 0..MAX_RECEIVES {
                let Some((key, from, count)) = self.next(token) else { break };
                let is_full = self.clients.len() >= MAX_CLIENTS;
                let bytes = count - from;
                let large = (bytes > MAX_DATAGRAM).then(|| (key.1, key.2.clone()));
                let client = match self.clients.get_mut(&key) {
                    Some(client) => client,
                    None if is_full => continue,
                    None => {
                        let opened = near.streams().open_flow(&key.2.to_string(), class(&key.2));
                        match opened {
                            Ok(flow) => self.by_flow.insert(flow, key.clone()),
                            Err(reason) => {
                                tell(&NearEvent::Refused { target: &key.2, reason });
                                None
                            }
                        };
                        let (flow, used) = (opened.ok(), moment);
                        self.clients.entry(key).or_insert(ClientFlow { flow, used, told: false })
                    }
                };
                if let Some(flow) = client.flow {
                    client.used = moment;
                    if let Some((from, target)) = large.filter(|_| !client.told) {
                        client.told = true;
                        tell(&NearEvent::TooLarge { from, target: &target, bytes });
                    }
                    near.send_datagram(moment, flow, &self.buffer[from..count]);
                }
            }
        }
        if self.checked_at.is_none_or(|at| moment.duration_since(at) >= CHECK_INTERVAL) {
            self.checked_at = Some(moment);
            self.end(near, |_, client| {
                let most = if client.flow.is_some() { IDLE } else { REFUSED };
                moment.duration_since(client.used) >= most
            });
        }
    }

    /// Forgets the clients for which `over` is true, and resets their flows.
    fn end<W: Scheduler>(&mut self, near: &mut Near<W>, over: impl Fn(&Key, &ClientFlow) -> bool) {
        let Self { clients, by_flow, .. } = self;
        clients.retain(|key, client| {
            let gone = over(key, client);
            if let Some(flow) = client.flow.filter(|_| gone) {
                by_flow.remove(&flow);
                near.streams().reset(flow, Reason::Broken);
            }
            !gone
        });
    }

    /// Receives the next datagram of a port. Returns its key, and the range of its payload in the
    /// buffer.
    fn next(&mut self, token: usize) -> Option<(Key, usize, usize)> {
        let (port, port_target) = self.ports.get_mut(&token)?;
        for _ in 0..MAX_RECEIVES {
            let (count, from) = port.receive(&mut self.buffer)?;
            match port_target {
                PortTarget::Fixed(target) => return Some(((token, from, target.clone()), 0, count)),
                PortTarget::FromHeader { client, port } => {
                    let is_client =
                        from.ip().to_canonical() == *client && port.is_none_or(|port| port == from.port());
                    let Some((target, begin)) = socks::datagram(&self.buffer[..count]).filter(|_| is_client)
                    else {
                        continue;
                    };
                    *port = Some(from.port());
                    return Some(((token, from, target), begin, count));
                }
            }
        }
        None
    }

    /// Sends a datagram from the far end to its client.
    fn deliver(&mut self, moment: Instant, flow: u32, bytes: &[u8]) {
        let Some(key) = self.by_flow.get(&flow) else { return };
        if let Some(client) = self.clients.get_mut(key) {
            client.used = moment;
        }
        match self.ports.get(&key.0) {
            Some((port, PortTarget::Fixed(_))) => port.send(bytes, Some(key.1)),
            Some((port, PortTarget::FromHeader { .. })) => {
                port.send(&socks::wrapped(&key.2, bytes), Some(key.1));
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::SessionConfig;
    use crate::files::now;
    use crate::hello::Offer;
    use crate::streams::StreamEvent;
    use crate::{Identity, Secret, Settings};
    use plait_sched::Builtin;
    use std::net::UdpSocket;

    fn near(moment: Instant) -> Near {
        let config = SessionConfig {
            remote: "127.0.0.1:9".parse().expect("it is one"),
            locals: vec!["127.0.0.1".parse().expect("it is one")],
            terms: Vec::new(),
            fingerprint: Identity::generate().expect("a key").fingerprint(),
            secret: Secret::new("told"),
            session: [7; 16],
            offer: Offer::STREAMS,
        };
        let scheduler = Builtin::new("lowest-rtt", &[]).expect("it is built in");
        Near::new(moment, Settings::default(), config, scheduler).expect("an end")
    }

    struct Fixture {
        poll: mio::Poll,
        ports: UdpPorts,
        near: Near,
        refused: Vec<Reason>,
    }

    impl Fixture {
        fn new(moment: Instant) -> Self {
            let (poll, ports, refused) =
                (mio::Poll::new().expect("it can wait"), UdpPorts::new(), Vec::new());
            Self { poll, ports, near: near(moment), refused }
        }

        fn add(&mut self, token: usize, port_target: PortTarget) -> SocketAddr {
            let local = "127.0.0.1:0".parse().expect("it is one");
            self.ports.add(self.poll.registry(), local, token, port_target).expect("a port")
        }

        /// Carries all datagrams in the ports' buffers.
        fn carry(&mut self, moment: Instant) -> usize {
            self.ports
                .ports
                .keys()
                .copied()
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|token| self.ports.mark_readable(token));
            let refused = &mut self.refused;
            self.ports.carry(
                moment,
                &mut self.near,
                |_| Class::Bulk,
                |event| match event {
                    NearEvent::Refused { reason, .. } => refused.push(*reason),
                    other => panic!("{other:?}"),
                },
            );
            self.near.streams().flows()
        }
    }

    fn client(to: SocketAddr) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(to).expect("it is an address");
        socket
    }

    #[test]
    fn a_flow_lasts_as_long_as_it_is_used() {
        let begun = now();
        let mut fixture = Fixture::new(begun);
        let at = fixture.add(1, PortTarget::Fixed("example.org:53".parse().expect("it is one")));
        let (one, other) = (client(at), client(at));
        one.send(b"a").expect("it is taken");
        other.send(b"a").expect("it is taken");
        assert_eq!(fixture.carry(begun), 2);
        one.send(b"b").expect("it is taken");
        assert_eq!(fixture.carry(begun + IDLE - CHECK_INTERVAL), 2);
        assert_eq!(fixture.carry(begun + IDLE), 1, "the other one was idle");
        assert_eq!(fixture.carry(begun + 2 * IDLE), 0);
        assert!(fixture.ports.by_flow.is_empty() && fixture.ports.clients.is_empty());
    }

    #[test]
    fn what_was_refused_is_asked_for_again_later() {
        let begun = now();
        let mut fixture = Fixture::new(begun);
        let at = fixture.add(1, PortTarget::Fixed("example.org:53".parse().expect("it is one")));
        let one = client(at);
        one.send(b"a").expect("it is taken");
        assert_eq!(fixture.carry(begun), 1);
        let flow = *fixture.ports.by_flow.keys().next().expect("there is one");
        // The far end resets the flow.
        fixture.near.streams().reset(flow, Reason::Denied);
        let target = fixture.ports.reset(begun, flow, Reason::Denied).expect("it led there");
        assert_eq!(target.to_string(), "example.org:53");
        for (after, flows) in [(1, 0), (9, 0), (11, 0), (12, 1)] {
            one.send(b"a").expect("it is taken");
            assert_eq!(fixture.carry(begun + Duration::from_secs(after)), flows, "after {after} s");
        }
        assert!(
            fixture.near.streams().poll().is_none_or(|event| !matches!(event, StreamEvent::Opened { .. }))
        );
    }

    #[test]
    fn there_are_so_many_flows_at_once() {
        let begun = now();
        let mut fixture = Fixture::new(begun);
        let at = fixture.add(1, PortTarget::Fixed("example.org:53".parse().expect("it is one")));
        let clients: Vec<UdpSocket> = (0..MAX_FLOWS + 2).map(|_| client(at)).collect();
        for _ in 0..2 {
            clients.iter().for_each(|one| assert!(one.send(b"a").is_ok()));
            assert!(fixture.carry(begun) <= MAX_FLOWS);
            assert!(fixture.carry(begun) <= MAX_FLOWS);
        }
        assert_eq!(fixture.carry(begun), MAX_FLOWS);
        assert_eq!(fixture.refused, [Reason::Busy; 2], "each is told once");
    }
}
