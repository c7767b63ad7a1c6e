//! Checks from packets on the wire whether the network gave reason to give the peer up: packets
//! that were sent and not answered.

use super::account::round_trip;
use plait_sched::{Duration, Time};
use plait_sim::application::ConnectionEnd;
use plait_sim::scenario::{Direction, Scenario};
use plait_sim::simulation::{Origin, PacketId, Sighting, Tap};
use plait_transport::packet::{PacketRef, quic, sctp, tcp};
use std::collections::{BTreeMap, VecDeque};

/// Reasons of both ends: of the near end, and of the far end if it sends data, too.
pub(crate) struct Silences([Silence; 2]);

impl Silences {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self([Direction::Forward, Direction::Backward].map(|direction| Silence::new(scenario, direction)))
    }

    /// Checks that one of the ends that send data had reason to give the other up.
    pub(crate) fn check_given_up(&self, scenario: &Scenario, at: Time) -> Result<(), String> {
        let near = self.0[0].check_given_up(scenario, at);
        match scenario.workload.client() {
            ConnectionEnd::Near => near,
            ConnectionEnd::Far => near.or_else(|_| self.0[1].check_given_up(scenario, at)),
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
struct SentPacket {
    at: Time,
    /// Whether it is a heartbeat, which only its own acknowledgement answers.
    heartbeat: bool,
}

/// The times at which a path's timer may have started.
#[derive(Clone, Default)]
struct Timer {
    /// Pairs (a, b): at time b, the timer started for packets sent at a or later. Both ascend; a
    /// later start replaces earlier ones with the same or a later a.
    started: VecDeque<(Time, Time)>,
}

impl Timer {
    fn start(&mut self, for_what_was_sent_from: Time, now: Time) {
        while self.started.back().is_some_and(|(from, _)| *from >= for_what_was_sent_from) {
            self.started.pop_back();
        }
        self.started.push_back((for_what_was_sent_from, now));
    }

    /// Removes starts that are longer ago than the timer can run.
    fn forget(&mut self, now: Time, longest: Duration) {
        while self.started.front().is_some_and(|(_, at)| *at + longest < now) {
            self.started.pop_front();
        }
    }

    /// The time of the timer's last start for a packet that was sent at `sent`.
    fn of(&self, sent: Time) -> Time {
        let later = self.started.partition_point(|(from, _)| *from <= sent);
        later.checked_sub(1).map_or(sent, |last| self.started[last].1.max(sent))
    }
}

/// The events of each path since the sender last received an answer there.
struct Silence {
    /// The direction of the sender's packets.
    direction: Direction,
    heard: Time,
    /// Packets sent on each path since the last answer there.
    since: Vec<u64>,
    /// The time of the last answer on each path.
    heard_on: Vec<Time>,
    /// Packets in flight, by path, kind and number.
    under_way: BTreeMap<(u8, bool, u64), SentPacket>,
    /// Lost packets of each path.
    lost: Vec<VecDeque<SentPacket>>,
    /// Packets of each path that arrived and are not answered yet: sending time and arrival time.
    /// The answer may wait in a queue.
    arrived: Vec<VecDeque<(Time, Time)>>,
    /// Heartbeats of each path that arrived and are not answered yet.
    heartbeats: Vec<VecDeque<(Time, Time)>>,
    timers: Vec<Timer>,
    /// The last time at which a path carried the payload at an offset of the stream.
    payload: BTreeMap<(u8, u64), Time>,
    /// The sending times of the peer's packets in flight, by path, kind and number.
    answers: BTreeMap<(u8, bool, u64), Time>,
    /// Whether a packet was ever sent on a path.
    begun: Vec<bool>,
    /// Since this time, a packet at the receiver waits for an answer.
    owed: Option<Time>,
    longest_timeout: Duration,
    most: u64,
}

impl Silence {
    fn new(scenario: &Scenario, direction: Direction) -> Self {
        let paths = scenario.paths.len();
        Self {
            direction,
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

    /// Checks the reasons for giving up the peer at `at`. The number of unanswered packets must
    /// exceed the limit, with at least one on each path that was used. The receiver must have
    /// answered all packets that it received: then the network kept the answers back.
    ///
    /// A path is exempt if its longest timeout is shorter than three round trips. It is also exempt
    /// if its shortest timeout is shorter than the longest round trip, with delayed
    /// acknowledgements and jitter: its timer may expire for any packet. With an exempt path, the
    /// number of unanswered packets does not count.
    ///
    /// A packet sent before the path's last answer also counts as unanswered if its timer was still
    /// running. The timer starts when the packet is sent, or when an earlier packet is answered or
    /// retransmitted. A path has two timers, for data and for heartbeats, and each counts one such
    /// packet.
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

    /// Records a packet of the sender, which may repeat payload of this path.
    fn watch(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        let path = seen.id.path;
        if let Origin::Sender { offset: Some(offset) } = origin
            && let Some(earlier) = self.payload.insert((path.0, offset), seen.time)
        {
            self.timers[path.index()].start(earlier, seen.time);
        }
        let heartbeat = matches!(seen.packet, PacketRef::Sctp(sctp::Packet::Heartbeat { .. }));
        self.under_way.insert(key(seen.id), SentPacket { at: seen.time, heartbeat });
    }

    /// Handles an answer that left at `left`. It answers the packets that had arrived by then. A
    /// HEARTBEAT is answered only by its path's HEARTBEAT ACK, which answers no other packet (RFC
    /// 9260, section 8.3).
    fn answer(&mut self, seen: &Sighting<'_>, left: Time) {
        let echo = matches!(seen.packet, PacketRef::Sctp(sctp::Packet::HeartbeatAck { .. }));
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
            let old = |sent: &SentPacket| timer.of(sent.at) + self.longest_timeout < seen.time;
            while self.lost[path].front().is_some_and(old) {
                self.lost[path].pop_front();
            }
            timer.forget(seen.time, self.longest_timeout);
        }
    }
}

impl Tap for Silence {
    fn sent(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        match seen.id.direction == self.direction {
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
        if seen.id.direction == self.direction {
            if let Some(sent) = self.under_way.remove(&key(seen.id)) {
                let unanswered = if sent.heartbeat { &mut self.heartbeats } else { &mut self.arrived };
                unanswered[path].push_back((sent.at, seen.time));
                // The end of a handshake, an acknowledgement and a copy need no answer.
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
        if id.direction == self.direction {
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

/// Whether a packet shows that the peer is there. SCTP's data and its own heartbeats do not (RFC
/// 9260, section 8.1).
const fn answers(packet: PacketRef<'_>) -> bool {
    match packet {
        PacketRef::Sctp(packet) => {
            matches!(packet, sctp::Packet::Sack(_) | sctp::Packet::HeartbeatAck { .. })
        }
        PacketRef::Tcp(_) | PacketRef::Quic(_) => true,
    }
}

const fn is_answer(packet: PacketRef<'_>) -> bool {
    match packet {
        PacketRef::Sctp(packet) => {
            matches!(packet, sctp::Packet::Sack(_) | sctp::Packet::HeartbeatAck { .. })
        }
        PacketRef::Tcp(packet) => !matches!(packet, tcp::Packet::Segment(_) | tcp::Packet::Syn { .. }),
        PacketRef::Quic(quic::Packet::OneRtt(packet)) => !packet.wants_acknowledgement(),
        PacketRef::Quic(packet) => matches!(packet, quic::Packet::InitialReply { .. }),
    }
}
