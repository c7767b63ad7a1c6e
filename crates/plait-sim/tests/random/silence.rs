//! Whether the network gave reason to give the peer up: what was sent and not answered, seen on the wire.

use crate::account::round_trip;
use plait_sched::{Duration, Time};
use plait_sim::application::Place;
use plait_sim::scenario::{Scenario, Way};
use plait_sim::simulation::{Origin, PacketId, Sighting, Tap};
use plait_transport::packet::Packet;
use std::collections::BTreeMap;

/// What either end has reason for: the near one, and the far one where it sends, too.
pub(crate) struct Silences([Silence; 2]);

impl Silences {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self([Way::Forward, Way::Backward].map(|way| Silence::new(scenario, way)))
    }

    /// One of the ends that send had reason to give the other up.
    pub(crate) fn check_given_up(&self, scenario: &Scenario, at: Time) -> Result<(), String> {
        let near = self.0[0].check_given_up(scenario, at);
        match scenario.workload.client() {
            Place::Near => near,
            Place::Far => near.or_else(|_| self.0[1].check_given_up(scenario, at)),
        }
    }
}

impl Tap for Silences {
    fn sent(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        self.0.iter_mut().for_each(|silence| silence.sent(seen, origin));
    }

    fn arrived(&mut self, seen: &Sighting<'_>) {
        self.0.iter_mut().for_each(|silence| silence.arrived(seen));
    }

    fn gone(&mut self, id: PacketId) {
        self.0.iter_mut().for_each(|silence| silence.gone(id));
    }
}

/// A packet of the sender that arrived.
#[derive(Clone)]
struct Arrived {
    sent: Time,
    at: Time,
    /// Only its own answer answers it.
    heartbeat: bool,
}

/// What happened on each path since the sender heard of the peer there for the last time.
struct Silence {
    /// Which way the sender's packets go.
    way: Way,
    heard: Time,
    /// Packets sent on each path since something came back on it.
    unanswered: Vec<u64>,
    /// When that was.
    heard_on: Vec<Time>,
    /// When those were sent that are under way, by path, kind and number.
    under_way: BTreeMap<(u8, bool, u64), Time>,
    /// When those were sent on each path that got lost.
    lost: Vec<Vec<Time>>,
    /// Those that arrived on each path and whose answer has not come back: it may wait in a queue.
    arrived: Vec<Vec<Arrived>>,
    /// When what comes back was sent, by path, kind and number.
    answers: BTreeMap<(u8, bool, u64), Time>,
    /// Paths on which anything was ever sent.
    begun: Vec<bool>,
    /// Something arrived at the receiver that it has not answered, since then.
    owed: Option<Time>,
    most: u64,
}

impl Silence {
    fn new(scenario: &Scenario, way: Way) -> Self {
        let paths = scenario.paths.len();
        Self {
            way,
            heard: Time::ZERO,
            unanswered: vec![0; paths],
            heard_on: vec![Time::ZERO; paths],
            under_way: BTreeMap::new(),
            lost: vec![Vec::new(); paths],
            arrived: vec![Vec::new(); paths],
            answers: BTreeMap::new(),
            begun: vec![false; paths],
            owed: None,
            most: u64::from(scenario.transport.association_max_retransmissions),
        }
    }

    /// The peer may be given up after more unanswered packets than are allowed, some on each path that was begun; and the receiver
    /// must have answered all that it got, so that it was the network that kept the answers back. Nothing is asked of a path whose
    /// longest timeout is shorter than three round trips, or whose shortest one is shorter than the longest round trip, delayed
    /// acknowledgements and jitter included: its timer may run out on anything. What comes back answers what had arrived when
    /// it left; a HEARTBEAT though is answered by its path's HEARTBEAT ACK alone, which answers nothing else (RFC 9260, section
    /// 8.3). One that had got lost, waits in a queue or is answered by what waits there, and left so lately that its timer was
    /// still running, is unanswered too; the timer goes by one of them.
    pub(crate) fn check_given_up(&self, scenario: &Scenario, at: Time) -> Result<(), String> {
        let Self { heard, heard_on, begun, owed, most, .. } = self;
        let transport = &scenario.transport;
        let hasty = |path: usize| {
            let round_trip = round_trip(scenario, path);
            transport.rto_max <= round_trip * 3 || transport.rto_min <= round_trip
        };
        let before = |path: usize| {
            let timed = |sent: &Time| *sent <= heard_on[path] && *sent + transport.rto_max >= heard_on[path];
            let under_way = self.under_way.iter().filter(|((on, ..), _)| usize::from(*on) == path);
            let arrived = self.arrived[path].iter().map(|packet| &packet.sent);
            u64::from(self.lost[path].iter().chain(under_way.map(|(_, sent)| sent)).chain(arrived).any(timed))
        };
        let unanswered: Vec<u64> =
            self.unanswered.iter().enumerate().map(|(path, since)| since + before(path)).collect();
        let paths = || (0..unanswered.len()).filter(|&path| begun[path]);
        let silent = paths().all(|path| unanswered[path] > 0 || hasty(path));
        let enough = unanswered.iter().sum::<u64>() > *most || paths().any(hasty);
        if !silent || !enough {
            return Err(format!(
                "the peer was given up at {at}, heard of at {heard}, {unanswered:?} packets unanswered"
            ));
        }
        let patience = scenario.transport.ack_delay + Duration::from_millis(1);
        match owed {
            Some(since) if at.since(*since) > patience => {
                Err(format!("the peer was given up at {at}, but it owed an answer since {since}"))
            }
            _ => Ok(()),
        }
    }
}

impl Tap for Silence {
    fn sent(&mut self, seen: &Sighting<'_>, _origin: Origin<'_>) {
        match seen.id.way == self.way {
            true => {
                self.unanswered[seen.id.path.index()] += 1;
                self.begun[seen.id.path.index()] = true;
                self.under_way.insert(key(seen.id), seen.time);
            }
            false => {
                self.owed = None;
                self.answers.insert(key(seen.id), seen.time);
            }
        }
    }

    fn arrived(&mut self, seen: &Sighting<'_>) {
        let (own, path) = (seen.id.way == self.way, seen.id.path.index());
        if own && let Some(sent) = self.under_way.remove(&key(seen.id)) {
            let heartbeat = matches!(seen.packet, Packet::Heartbeat { .. });
            self.arrived[path].push(Arrived { sent, at: seen.time, heartbeat });
        }
        if !own && let Some(left) = self.answers.remove(&key(seen.id)) {
            let echo = matches!(seen.packet, Packet::HeartbeatAck { .. });
            for (other, arrived) in self.arrived.iter_mut().enumerate() {
                let answers = |packet: &Arrived| if packet.heartbeat { echo && other == path } else { !echo };
                arrived.retain(|packet| packet.at > left || !answers(packet));
            }
        }
        match own {
            // What ends a handshake need not be answered, nor what answers.
            true if is_answer(seen.packet) => {}
            true => {
                self.owed.get_or_insert(seen.time);
            }
            false => {
                self.heard = seen.time;
                self.unanswered[path] = 0;
                self.heard_on[path] = seen.time;
            }
        }
    }

    fn gone(&mut self, id: PacketId) {
        if id.way == self.way
            && let Some(sent) = self.under_way.remove(&key(id))
        {
            self.lost[id.path.index()].push(sent);
        }
        if id.way != self.way {
            self.answers.remove(&key(id));
        }
    }
}

const fn key(id: PacketId) -> (u8, bool, u64) {
    (id.path.0, id.data, id.number)
}

fn is_answer(packet: &Packet) -> bool {
    match packet {
        Packet::Confirm { .. } | Packet::Ack(_) | Packet::Sack(_) | Packet::HeartbeatAck { .. } => true,
        Packet::SynAck { .. } | Packet::InitialReply { .. } => true,
        Packet::OneRtt(packet) => !packet.wants_acknowledgement(),
        _ => false,
    }
}
