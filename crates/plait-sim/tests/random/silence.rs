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

/// A packet of the sender that nothing has answered yet, as far as the sender can know.
#[derive(Clone)]
struct Unanswered {
    id: PacketId,
    sent: Time,
    /// When the timer started for the last time while this one was under way.
    timed: Time,
    /// Where in the stream its payload begins.
    offset: Option<u64>,
    /// Only its own answer answers it.
    heartbeat: bool,
    fate: Fate,
}

/// Where a packet is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Lost,
    Arrived(Time),
}

/// What happened on each path since the sender heard of the peer there for the last time.
struct Silence {
    /// Which way the sender's packets go.
    way: Way,
    heard: Time,
    /// Packets sent on each path since something came back on it.
    since: Vec<u64>,
    /// When that was.
    heard_on: Vec<Time>,
    /// What each path carried and nothing has answered, in the order in which it was sent.
    unanswered: Vec<Vec<Unanswered>>,
    /// When what comes back was sent, by path, kind and number.
    answers: BTreeMap<(u8, bool, u64), Time>,
    /// Paths on which anything was ever sent.
    begun: Vec<bool>,
    /// Something arrived at the receiver that it has not answered, since then.
    owed: Option<Time>,
    longest_timeout: Duration,
    most: u64,
}

impl Silence {
    fn new(scenario: &Scenario, way: Way) -> Self {
        let paths = scenario.paths.len();
        Self {
            way,
            heard: Time::ZERO,
            since: vec![0; paths],
            heard_on: vec![Time::ZERO; paths],
            unanswered: vec![Vec::new(); paths],
            answers: BTreeMap::new(),
            begun: vec![false; paths],
            owed: None,
            longest_timeout: scenario.transport.rto_max,
            most: u64::from(scenario.transport.association_max_retransmissions),
        }
    }

    /// The peer may be given up after more unanswered packets than are allowed, some on each path that was begun; and the receiver
    /// must have answered all that it got, so that it was the network that kept the answers back. Nothing is asked of a path whose
    /// longest timeout is shorter than three round trips, or whose shortest one is shorter than the longest round trip, delayed
    /// acknowledgements and jitter included: its timer may run out on anything. One that left before the path's last answer is
    /// unanswered, too, if the timer was still running that had started when it was sent, or when an earlier one was answered or
    /// sent again; the timer goes by one of them.
    fn check_given_up(&self, scenario: &Scenario, at: Time) -> Result<(), String> {
        let Self { heard, heard_on, begun, owed, most, .. } = self;
        let transport = &scenario.transport;
        let hasty = |path: usize| {
            let round_trip = round_trip(scenario, path);
            transport.rto_max <= round_trip * 3 || transport.rto_min <= round_trip
        };
        let before = |path: usize| {
            let heard = heard_on[path];
            let timed =
                |packet: &Unanswered| packet.sent <= heard && packet.timed + transport.rto_max >= heard;
            u64::from(self.unanswered[path].iter().any(timed))
        };
        let unanswered: Vec<u64> =
            self.since.iter().enumerate().map(|(path, since)| since + before(path)).collect();
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

    /// The timer of the path starts anew for what was sent after `earlier`.
    fn start_timer(&mut self, path: usize, earlier: Time, now: Time) {
        self.unanswered[path]
            .iter_mut()
            .filter(|packet| packet.sent >= earlier)
            .for_each(|packet| packet.timed = now);
    }

    /// The sender sent a packet, perhaps payload that it had sent here before.
    fn watch(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        let path = seen.id.path.index();
        let offset = if let Origin::Sender { offset } = origin { offset } else { None };
        let earlier = |packet: &&Unanswered| offset.is_some() && packet.offset == offset;
        if let Some(earlier) = self.unanswered[path].iter().find(earlier).map(|packet| packet.sent) {
            self.start_timer(path, earlier, seen.time);
        }
        self.unanswered[path].push(Unanswered {
            id: seen.id,
            sent: seen.time,
            timed: seen.time,
            offset,
            heartbeat: matches!(seen.packet, Packet::Heartbeat { .. }),
            fate: Fate::UnderWay,
        });
    }

    /// Something came back that had left at `left`. It answers what had arrived by then; a HEARTBEAT though is answered by its
    /// path's HEARTBEAT ACK alone, which answers nothing else (RFC 9260, section 8.3).
    fn answer(&mut self, seen: &Sighting<'_>, left: Time) {
        let echo = matches!(seen.packet, Packet::HeartbeatAck { .. });
        for path in 0..self.unanswered.len() {
            let here = path == seen.id.path.index();
            let mut first = None;
            self.unanswered[path].retain(|packet| {
                let arrived = matches!(packet.fate, Fate::Arrived(at) if at <= left);
                let answered = arrived && if packet.heartbeat { echo && here } else { !echo };
                if answered {
                    first.get_or_insert(packet.sent);
                }
                let forgotten = packet.fate == Fate::Lost && packet.timed + self.longest_timeout < seen.time;
                !answered && !forgotten
            });
            if let Some(first) = first {
                self.start_timer(path, first, seen.time);
            }
        }
    }

    fn set_fate(&mut self, id: PacketId, fate: Fate) {
        let under_way = |packet: &&mut Unanswered| packet.id == id && packet.fate == Fate::UnderWay;
        if let Some(packet) = self.unanswered[id.path.index()].iter_mut().find(under_way) {
            packet.fate = fate;
        }
    }
}

impl Tap for Silence {
    fn sent(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        match seen.id.way == self.way {
            true => {
                self.since[seen.id.path.index()] += 1;
                self.begun[seen.id.path.index()] = true;
                self.watch(seen, origin);
            }
            false => {
                self.owed = None;
                self.answers.insert(key(seen.id), seen.time);
            }
        }
    }

    fn arrived(&mut self, seen: &Sighting<'_>) {
        let path = seen.id.path.index();
        if seen.id.way == self.way {
            self.set_fate(seen.id, Fate::Arrived(seen.time));
            // What ends a handshake need not be answered, nor what answers.
            if !is_answer(seen.packet) {
                self.owed.get_or_insert(seen.time);
            }
        } else {
            if let Some(left) = self.answers.remove(&key(seen.id)) {
                self.answer(seen, left);
            }
            self.heard = seen.time;
            self.since[path] = 0;
            self.heard_on[path] = seen.time;
        }
    }

    fn gone(&mut self, id: PacketId) {
        if id.way == self.way {
            self.set_fate(id, Fate::Lost);
        } else {
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
