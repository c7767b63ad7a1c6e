//! The sending half: reading acknowledgements, timers, and what leaves next.

use super::ecn::Marking;
use super::late::BelievedLost;
use super::loss::PROBES;
use super::{CAPABILITIES, CORE_RULES, Config};
use crate::core::{Core, Outgoing, PathConfig, PathSender, moment};
use crate::error::Error;
use crate::observer::{Observer, SendReason};
use crate::packet::{OneRtt, Packet, PathAck, Stream};
use crate::protocol::Side;
use crate::run_set::RunSet;
use crate::sink::{Origin, Sink, Transmit};
use plait_sched::{Duration, PathId, Scheduler, Time};
use std::collections::VecDeque;

/// How far a path is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing was sent on it.
    Closed,
    /// A question is on its way, which is repeated at this moment.
    Opening { retry: Time },
    /// Carries data.
    Open,
}

/// The packet numbers of one path.
#[derive(Clone, Debug)]
pub(super) struct Space {
    pub(super) phase: Phase,
    /// Numbers that were acknowledged, from the oldest packet in flight on.
    acknowledged: RunSet,
    /// The largest of them.
    pub(super) largest: Option<u64>,
    /// Taken for lost.
    pub(super) believed_lost: BelievedLost,
    /// When packets that others overtook count as lost.
    pub(super) loss_timer: Option<Time>,
    /// When the path is set aside, unless its probes are answered.
    pub(super) verdict: Option<Time>,
    /// The peer hears nothing on it, and said so on another path.
    pub(super) silent: bool,
    /// DATA_BLOCKED left on it, and the limit has not moved since.
    pub(super) asked: bool,
    /// How often it left since the limit moved.
    pub(super) questions: u32,
    /// Packets that leave now whatever the window says, so that something is answered.
    pub(super) probes: u8,
    /// When the last packet left that carries nothing and wants to be answered.
    pub(super) pinged_at: Time,
    /// Numbers and sending times of packets that are not in the flight, for round-trip samples: packets without data,
    /// and packets that another path's acknowledgement reported first.
    pub(super) untimed: VecDeque<(u64, Time)>,
    /// The segment that the last probe repeated.
    probed: Option<u64>,
    pub(super) marking: Marking,
}

/// Packets whose round trip is not known yet that are remembered per path: the path may answer no more.
const MOST_UNTIMED: usize = 1 << 12;

/// The sending half of an end.
#[derive(Clone, Debug)]
pub(super) struct Sender<S> {
    pub(super) core: Core<S>,
    pub(super) config: Config,
    pub(super) side: Side,
    pub(super) spaces: Vec<Space>,
    /// What opens paths.
    pub(super) control: VecDeque<(PathId, Packet)>,
    /// Packets found lost at the moment.
    pub(super) lost: Vec<u64>,
    pub(super) started: bool,
}

impl Space {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            phase: if config.handshake { Phase::Closed } else { Phase::Open },
            acknowledged: RunSet::new(),
            largest: None,
            believed_lost: BelievedLost::default(),
            loss_timer: None,
            verdict: None,
            silent: false,
            asked: false,
            questions: 0,
            probes: 0,
            pinged_at: Time::ZERO,
            untimed: VecDeque::new(),
            probed: None,
            marking: Marking::new(config.ecn),
        }
    }

    /// This packet's acknowledgement, when it comes on the path, tells a round trip.
    pub(super) fn time_later(&mut self, number: u64, sent_at: Time) {
        let place = self.untimed.partition_point(|packet| packet.0 < number);
        self.untimed.insert(place, (number, sent_at));
        let beyond = self.untimed.len().saturating_sub(MOST_UNTIMED);
        self.untimed.drain(..beyond);
    }
}

impl<S: Scheduler> Sender<S> {
    pub(super) fn new(config: Config, side: Side, paths: &[PathConfig], scheduler: S) -> Result<Self, Error> {
        let mut core = Core::new(config.connection, CORE_RULES, paths, scheduler, CAPABILITIES)?;
        if config.handshake {
            core.close_paths();
        }
        Ok(Self {
            core,
            config,
            side,
            spaces: vec![Space::new(&config); paths.len()],
            control: VecDeque::new(),
            lost: Vec::with_capacity(64),
            started: !config.handshake,
        })
    }

    /// The peer has room up to `limit` of the stream.
    pub(super) fn extend(&mut self, limit: u64) {
        if self.core.window_mut().extend(limit) {
            self.spaces.iter_mut().for_each(|space| (space.asked, space.questions) = (false, 0));
        }
        self.core.note_opportunity();
    }

    /// The number of a packet that leaves on `path` and is not kept track of.
    pub(super) fn number(&mut self, now: Time, path: PathId) -> u64 {
        self.core.path_mut(path.index()).flight_mut().skip(now)
    }

    /// Reads an acknowledgement that came on a path, which need not be the one whose packets it acknowledges: then it tells nothing of whether that works.
    pub(super) fn handle_ack(&mut self, now: Time, on: PathId, ack: &PathAck, observer: &mut impl Observer) {
        let index = ack.path.index();
        let Some(flight) = self.core.paths().get(index).map(PathSender::flight) else { return };
        // What acknowledges the unsent is not believed in anything.
        let Some(largest) = ack.largest().filter(|&largest| largest < flight.next()) else { return };
        let largest_sent_at = flight.get(largest).map(|sent| sent.sent_at);
        if on == ack.path {
            self.hear(now, index, observer);
        }
        self.core.begin_acknowledgement();
        let late = self.read_late(now, index, ack, observer);
        let newly = self.read_ranges(now, on, ack, observer);
        // The path's own acknowledgements may have overtaken one that came over a slower path.
        let outdated = Some(largest) < self.spaces[index].largest;
        let advances = Some(largest).filter(|_| self.spaces[index].largest < Some(largest));
        self.spaces[index].largest = self.spaces[index].largest.max(Some(largest));
        self.read_marks(now, index, ack, newly, advances);
        // RFC 9002 §5.1: the largest number gives a sample, if it is newly acknowledged with an
        // ack-eliciting packet. A packet declared lost before gives a sample, too: each number is
        // sent once. Otherwise a timeout below the round trip never grows.
        let newest = largest_sent_at.filter(|_| newly > 0).or(late).filter(|_| advances.is_some());
        if on == ack.path {
            let untimed = self.take_untimed(index, largest);
            if newly > 0 || advances.is_some() {
                // RFC 9002 §6.2.1: the path answers, so its probe timeout is no more than its round trips say.
                self.core.path_mut(index).rtt_mut().end_back_off();
            }
            if let Some(sent_at) = newest.or(untimed) {
                self.sample(index, now.since(sent_at), ack);
            }
        }
        self.core.release_acknowledged();
        self.detect_losses(now, index, observer);
        self.core.finish_acknowledgement(now, |_| true);
        if on != ack.path && !outdated {
            self.spaces[index].silent = true;
            self.heed_silence(now, index);
        }
        self.core.touch(index);
        self.arm(index);
    }

    /// The sending time of the packet with this number, if it is untimed. Forgets it and all earlier ones.
    fn take_untimed(&mut self, index: usize, largest: u64) -> Option<Time> {
        let untimed = &mut self.spaces[index].untimed;
        let mut newest = None;
        while let Some(&(number, sent_at)) = untimed.front().filter(|packet| packet.0 <= largest) {
            newest = Some(sent_at).filter(|_| number == largest);
            untimed.pop_front();
        }
        newest
    }

    /// Acknowledges packets that were declared lost. The congestion window was cut for them and
    /// stays so. Returns when the packet with the acknowledgement's largest number left, if it was
    /// one of them.
    fn read_late(
        &mut self,
        now: Time,
        index: usize,
        ack: &PathAck,
        observer: &mut impl Observer,
    ) -> Option<Time> {
        let Self { core, spaces, .. } = self;
        let space = &mut spaces[index];
        if space.believed_lost.is_empty() {
            return None;
        }
        let mut largest = None;
        for &(from, to) in ack.ranges() {
            for late in space.believed_lost.take(from, to) {
                core.settle(late.segment);
                observer.acknowledged(now, ack.path, late.number, ack.delay);
                core.path_mut(index).note_late();
                largest = Some(late.sent_at).filter(|_| Some(late.number) == ack.largest()).or(largest);
            }
        }
        space.believed_lost.forget(space.largest, |segment| !core.is_outstanding(segment));
        largest
    }

    /// Reads the ranges. Returns the number of packets with data that they acknowledge for the first time. Packets
    /// acknowledged over another path stay untimed, or a slow path would never get a round-trip sample.
    fn read_ranges(&mut self, now: Time, on: PathId, ack: &PathAck, observer: &mut impl Observer) -> u64 {
        let index = ack.path.index();
        let first = self.core.path(index).flight().first();
        self.spaces[index].acknowledged.advance(first);
        let mut newly = 0;
        for &(from, to) in ack.ranges() {
            if to < first {
                break;
            }
            let mut number = self.spaces[index].acknowledged.first_absent(from.max(first));
            while number <= to {
                self.spaces[index].acknowledged.insert(number);
                let sent = self.core.path(index).flight().get(number).filter(|_| on != ack.path);
                if let Some(sent_at) = sent.filter(|sent| sent.bytes() > 0).map(|sent| sent.sent_at) {
                    self.spaces[index].time_later(number, sent_at);
                }
                if self.core.acknowledge_transmission(index, number).is_some() {
                    newly += 1;
                    observer.acknowledged(now, ack.path, number, ack.delay);
                }
                number = self.spaces[index].acknowledged.first_absent(number + 1);
            }
        }
        newly
    }

    /// RFC 9002 §5.3: the time that the peer waited is taken off, unless that leaves less than the shortest round trip.
    fn sample(&mut self, index: usize, round_trip: Duration, ack: &PathAck) {
        let waited = ack.delay.min(self.config.ack_delay);
        self.core.path_mut(index).rtt_mut().sample_delayed(round_trip, waited);
        let (cumulative, next) =
            (self.core.path(index).flight().first(), self.core.path(index).flight().next());
        self.core.path_mut(index).rtt_mut().note_progress(cumulative, next);
        self.core.note_round_trip(index, round_trip);
    }

    /// See [`crate::endpoint::Endpoint::handle_timeout`].
    pub(super) fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        for index in 0..self.spaces.len() {
            self.retry_open(now, index);
            let due = |timer: Option<Time>| timer.is_some_and(|timer| timer <= now);
            if due(self.spaces[index].verdict) {
                self.spaces[index].verdict = None;
                self.set_aside(now, index, observer);
                self.arm(index);
            }
            if due(self.spaces[index].loss_timer) {
                self.detect_losses(now, index, observer);
                self.heed_silence(now, index);
                self.arm(index);
            } else if due(self.core.path(index).retransmission_timer()) {
                self.probe_timeout(now, index, observer);
                self.arm(index);
            }
        }
        self.core.wake_scheduler(now);
        let most = self.config.connection.association_max_retransmissions;
        // Nothing is asked of a path that is spent.
        let asked = (self.core.paths().iter().zip(&self.spaces))
            .filter(|(path, space)| space.phase != Phase::Closed && !path.is_spent());
        if self.started && asked.map(|(path, _)| path.silence()).min().is_some_and(|fewest| fewest > most) {
            return Err(Error::PeerUnreachable { at: now });
        }
        Ok(())
    }

    /// See [`crate::endpoint::Endpoint::transmit`].
    pub(super) fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl Sink,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        if !self.started {
            self.started = true;
            self.open_paths(now);
        }
        self.transmit_control(sink);
        self.core.may_copy = self.spaces.iter().any(|space| space.probes > 0);
        loop {
            self.core.run_scheduler(now, observer)?;
            let probe = self.next_probe(now, observer);
            let Some(out) = probe.or_else(|| self.core.next_data(now, observer)) else { break };
            let Outgoing { path, data, offset, number, transmission, reason, .. } = out;
            let ecn = self.spaces[path.index()].marking.of_new();
            let packet = OneRtt { stream: Some(Stream { data, offset }), ecn, ..OneRtt::new(number) };
            let (packet, origin) = (&Packet::OneRtt(packet), Origin::Sender { offset: Some(offset) });
            let transmit = Transmit { path, packet, transmission, origin };
            match reason {
                SendReason::New | SendReason::Reinjection => sink.send(&transmit),
                SendReason::Retransmission => sink.send_again(&transmit),
            }
            self.arm(path.index());
        }
        self.core.note_limits();
        let blocked_at = self.core.blocked_at();
        if blocked_at.is_some() {
            self.ask_for_room();
        }
        self.ping(now, blocked_at, sink);
        Ok(())
    }

    /// Flow control alone holds everything back: says so on the path with the shortest round trip, unless one has been told already
    /// (RFC 9000 §4.1). It is repeated until the limit
    /// moves, after twice the time each time.
    fn ask_for_room(&mut self) {
        let usable = self.core.facts().iter().filter(|path| path.is_usable());
        let shortest = usable.min_by_key(|path| path.srtt).map(|path| path.id.index());
        let told =
            self.core.facts().iter().any(|path| path.is_usable() && self.spaces[path.id.index()].asked);
        if let Some(index) = shortest.filter(|_| !told) {
            self.spaces[index].asked = true;
            self.spaces[index].probes = self.spaces[index].probes.max(1);
        }
    }

    fn transmit_control(&mut self, sink: &mut impl Sink) {
        while let Some((path, packet)) = self.control.pop_front() {
            let origin = Origin::Sender { offset: None };
            sink.send(&Transmit { path, packet: &packet, transmission: 0, origin });
        }
    }

    /// A probe: the oldest data that is on its way on a path once more, in a new packet. A second one repeats other data, if there is
    /// some (RFC 9002 §6.2.4).
    fn next_probe(&mut self, now: Time, observer: &mut impl Observer) -> Option<Outgoing> {
        for index in 0..self.spaces.len() {
            if self.spaces[index].probes == 0 {
                continue;
            }
            let flight = self.core.path(index).flight();
            let mut outstanding = (flight.first()..flight.next())
                .filter_map(|number| flight.get(number))
                .filter(|sent| sent.is_in_flight() && self.core.is_outstanding(sent.segment))
                .map(|sent| sent.segment);
            let oldest = outstanding.next();
            let probed = self.spaces[index].probed.filter(|_| self.spaces[index].probes < PROBES);
            let other = || outstanding.find(|&segment| Some(segment) != probed);
            if let Some(segment) = oldest.filter(|_| oldest != probed).or_else(other).or(oldest) {
                self.spaces[index].probes -= 1;
                self.spaces[index].probed = Some(segment);
                self.core.counters_mut().tail_probes += 1;
                return Some(self.core.send(now, index, segment, SendReason::Retransmission, observer));
            }
        }
        None
    }

    /// Paths without data are probed by packets that only want to be answered. Data goes first: where paths share a queue with one place,
    /// the probe of one must not take it from the data of another.
    fn ping(&mut self, now: Time, blocked_at: Option<u64>, sink: &mut impl Sink) {
        for index in 0..self.spaces.len() {
            if core::mem::take(&mut self.spaces[index].probes) > 0 {
                let path = PathId(index as u8);
                let (number, blocked) =
                    (self.number(now, path), blocked_at.filter(|_| self.spaces[index].asked));
                let ping = blocked.is_none();
                self.spaces[index].questions += u32::from(!ping);
                let packet = &Packet::OneRtt(OneRtt { blocked, ping, ..OneRtt::new(number) });
                self.spaces[index].pinged_at = now;
                self.spaces[index].time_later(number, now);
                let origin = Origin::Sender { offset: None };
                sink.send(&Transmit { path, packet, transmission: 0, origin });
                self.arm(index);
            }
        }
    }

    /// When the next timer runs out; [`Time::MAX`] for never.
    pub(super) fn next_timer(&self) -> Time {
        let own = self.spaces.iter().map(|space| {
            let timers = moment(space.loss_timer).min(moment(space.verdict));
            match space.phase {
                Phase::Opening { retry } => retry.min(timers),
                Phase::Closed | Phase::Open => timers,
            }
        });
        own.fold(self.core.next_timer(), Time::min)
    }

    pub(super) fn looks(&self) -> u64 {
        self.spaces.iter().map(|space| space.acknowledged.looks()).sum()
    }
}
