//! Whether the network gave reason to give the peer up: what was sent and not answered, seen on the wire.

use super::account::round_trip;
use plait_sched::{Duration, Time};
use plait_sim::application::Place;
use plait_sim::scenario::{Scenario, Way};
use plait_sim::simulation::{Origin, PacketId, Sighting, Tap};
use plait_transport::packet::Packet;
use std::collections::{BTreeMap, VecDeque};

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

/// A packet of the sender.
#[derive(Clone, Copy)]
struct Sent {
    at: Time,
    /// Only its own answer answers it.
    heartbeat: bool,
}

/// When a path's timer may have started.
#[derive(Clone, Default)]
struct Timer {
    /// At the second time for what was sent at the first one or later; both ascend, of equal worth is only the last.
    started: VecDeque<(Time, Time)>,
}

impl Timer {
    fn start(&mut self, for_what_was_sent_from: Time, now: Time) {
        while self.started.back().is_some_and(|(from, _)| *from >= for_what_was_sent_from) {
            self.started.pop_back();
        }
        self.started.push_back((for_what_was_sent_from, now));
    }

    /// Starts that were longer ago than the timer can run.
    fn forget(&mut self, now: Time, longest: Duration) {
        while self.started.front().is_some_and(|(_, at)| *at + longest < now) {
            self.started.pop_front();
        }
    }

    /// When it started for the last time for what was sent then.
    fn of(&self, sent: Time) -> Time {
        let later = self.started.partition_point(|(from, _)| *from <= sent);
        later.checked_sub(1).map_or(sent, |last| self.started[last].1.max(sent))
    }
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
    /// What is under way, by path, kind and number.
    under_way: BTreeMap<(u8, bool, u64), Sent>,
    /// When what each path lost was sent.
    lost: Vec<VecDeque<Sent>>,
    /// When what arrived on each path was sent, and when it arrived, if no answer has come back: it may wait in a queue.
    arrived: Vec<VecDeque<(Time, Time)>>,
    /// Of heartbeats the same.
    heartbeats: Vec<VecDeque<(Time, Time)>>,
    timers: Vec<Timer>,
    /// When each path carried what begins there in the stream, for the last time.
    payload: BTreeMap<(u8, u64), Time>,
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
            under_way: BTreeMap::new(),
            lost: vec![VecDeque::new(); paths],
            arrived: vec![VecDeque::new(); paths],
            heartbeats: vec![VecDeque::new(); paths],
            timers: vec![Timer::default(); paths],
            payload: BTreeMap::new(),
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
    /// sent again; each of a path's two timers, of data and of heartbeats, goes by one of them.
    fn check_given_up(&self, scenario: &Scenario, at: Time) -> Result<(), String> {
        let Self { heard, heard_on, begun, owed, most, .. } = self;
        let transport = &scenario.transport;
        let hasty = |path: usize| {
            let round_trip = round_trip(scenario, path);
            transport.rto_max <= round_trip * 3 || transport.rto_min <= round_trip
        };
        let before = |path: usize| {
            let heard = heard_on[path];
            let timed = |sent: Time| sent <= heard && self.timers[path].of(sent) + transport.rto_max >= heard;
            let under_way = self.under_way.iter().filter(|((on, ..), _)| usize::from(*on) == path);
            let on_the_way = under_way.map(|(_, sent)| *sent).chain(self.lost[path].iter().copied());
            let runs = |heartbeat: bool, arrived: &VecDeque<(Time, Time)>| {
                let lost = on_the_way.clone().filter(|sent| sent.heartbeat == heartbeat).map(|sent| sent.at);
                u64::from(lost.chain(arrived.iter().map(|(sent, _)| *sent)).any(timed))
            };
            runs(false, &self.arrived[path]) + runs(true, &self.heartbeats[path])
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

    /// The sender sent a packet, perhaps payload that it had sent here before.
    fn watch(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        let path = seen.id.path;
        if let Origin::Sender { offset: Some(offset) } = origin
            && let Some(earlier) = self.payload.insert((path.0, offset), seen.time)
        {
            self.timers[path.index()].start(earlier, seen.time);
        }
        let heartbeat = matches!(seen.packet, Packet::Heartbeat { .. });
        self.under_way.insert(key(seen.id), Sent { at: seen.time, heartbeat });
    }

    /// Something came back that had left at `left`. It answers what had arrived by then; a HEARTBEAT though is answered by its
    /// path's HEARTBEAT ACK alone, which answers nothing else (RFC 9260, section 8.3).
    fn answer(&mut self, seen: &Sighting<'_>, left: Time) {
        let echo = matches!(seen.packet, Packet::HeartbeatAck { .. });
        for path in 0..self.timers.len() {
            let unanswered = if echo { &mut self.heartbeats[path] } else { &mut self.arrived[path] };
            let here = path == seen.id.path.index();
            let mut first = None;
            while let Some((sent, _)) =
                unanswered.front().copied().filter(|(_, at)| *at <= left && (here || !echo))
            {
                unanswered.pop_front();
                first = Some(first.map_or(sent, |first: Time| first.min(sent)));
            }
            let timer = &mut self.timers[path];
            if let Some(first) = first {
                timer.start(first, seen.time);
            }
            let old = |sent: &Sent| timer.of(sent.at) + self.longest_timeout < seen.time;
            while self.lost[path].front().is_some_and(old) {
                self.lost[path].pop_front();
            }
            timer.forget(seen.time, self.longest_timeout);
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
            if let Some(sent) = self.under_way.remove(&key(seen.id)) {
                let unanswered = if sent.heartbeat { &mut self.heartbeats } else { &mut self.arrived };
                unanswered[path].push_back((sent.at, seen.time));
                // The end of a handshake, an answer and a copy need no answer.
                if !is_answer(seen.packet) {
                    self.owed.get_or_insert(seen.time);
                }
            }
        } else if let Some(left) = self.answers.remove(&key(seen.id))
            && answers(seen.packet)
        {
            self.answer(seen, left);
            self.heard = seen.time;
            self.since[path] = 0;
            self.heard_on[path] = seen.time;
        }
    }

    fn gone(&mut self, id: PacketId) {
        if id.way == self.way {
            if let Some(sent) = self.under_way.remove(&key(id)) {
                self.lost[id.path.index()].push_back(sent);
            }
        } else {
            self.answers.remove(&key(id));
        }
    }
}

const fn key(id: PacketId) -> (u8, bool, u64) {
    (id.path.0, id.data, id.number)
}

/// Whether it says that the peer is there. SCTP's data and questions of its own do not (RFC 9260, section 8.1).
const fn answers(packet: &Packet) -> bool {
    !matches!(packet, Packet::Data(_) | Packet::Bundle(..) | Packet::Heartbeat { .. })
}

fn is_answer(packet: &Packet) -> bool {
    match packet {
        Packet::Confirm { .. } | Packet::Ack(_) | Packet::Sack(_) | Packet::HeartbeatAck { .. } => true,
        Packet::SynAck { .. } | Packet::InitialReply { .. } => true,
        Packet::OneRtt(packet) => !packet.wants_acknowledgement(),
        _ => false,
    }
}
