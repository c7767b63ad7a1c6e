//! The sending half: reading acknowledgements, timers, and the next packet.

use super::loss::{PROBE_CANDIDATES, PROBES};
use super::receiver::Receiver;
use super::space::{Phase, Space};
use super::{CAPABILITIES, Config};
use crate::core::{Core, NEVER, Outgoing, PathConfig};
use crate::error::Error;
use crate::observer::{Observer, SendReason};
use crate::packet::quic::{OneRtt, Packet, PathAck, Stream};
use crate::protocol::Side;
use crate::sink::{Origin, SinkOf, Transmit};
use plait_sched::{PathId, Scheduler, Time};
use std::collections::VecDeque;

/// The sending half of an end.
#[derive(Clone, Debug)]
pub(super) struct Sender<S> {
    pub(super) core: Core<S, Space>,
    pub(super) config: Config,
    pub(super) side: Side,
    /// Packets that open paths.
    pub(super) control: VecDeque<(PathId, Packet)>,
    /// Packets that the acknowledgement at hand settles: numbers and segments.
    settled: Vec<(u64, u64)>,
    /// The last packet with data. The next one overwrites it.
    data: Packet,
    pub(super) started: bool,
}

impl<S: Scheduler> Sender<S> {
    pub(super) fn new(
        config: &Config,
        side: Side,
        paths: &[PathConfig],
        scheduler: S,
    ) -> Result<Self, Error> {
        let space = || Space::new(config);
        let rules = config.core_rules();
        let mut core = Core::new(config.connection.clone(), rules, paths, space, scheduler, CAPABILITIES)?;
        if config.handshake {
            core.close_paths();
        }
        Ok(Self {
            core,
            config: config.clone(),
            side,
            control: VecDeque::new(),
            settled: Vec::with_capacity(64),
            data: Packet::OneRtt(OneRtt::new(0)),
            started: !config.handshake,
        })
    }

    /// The peer has room up to `limit` of the stream.
    pub(super) fn extend(&mut self, limit: u64) {
        if self.core.window.extend(limit) {
            for path in &mut self.core.paths {
                (path.recovery.asked, path.recovery.questions) = (false, 0);
            }
        }
        self.core.note_opportunity();
    }

    /// The number of a packet that leaves on `path` and is not kept track of.
    pub(super) fn number(&mut self, now: Time, path: PathId) -> u64 {
        self.core.paths[path.index()].flight.skip(now)
    }

    /// Reads an acknowledgement that came on a path. If it acknowledges packets of another path, it
    /// does not show whether that path works.
    pub(super) fn handle_ack(&mut self, now: Time, on: PathId, ack: &PathAck, observer: &mut impl Observer) {
        let (index, own) = (ack.path.index(), on == ack.path);
        let Some(largest) = ack.largest() else { return };
        let known = self.core.paths.get(index).filter(|path| path.may_acknowledge(ack));
        let Some(largest_sent) = known.map(|path| path.flight.get(largest).map(|sent| sent.sent_at)) else {
            return;
        };
        // After the peer's PATH_STATUS_BACKUP, acknowledgements of older packets show nothing.
        if own && self.core.paths[index].recovery.withdrawn_until.is_none_or(|from| largest >= from) {
            self.hear(now, index, observer);
        }
        self.core.begin_acknowledgement();
        let late = self.read_late(now, index, ack, observer);
        let (path, mut settled) = (&mut self.core.paths[index], core::mem::take(&mut self.settled));
        let newly = path.read_ranges(own, ack, |number, segment| settled.push((number, segment)));
        // The path's own acknowledgements may have overtaken one that came over a slower path.
        let outdated = Some(largest) < path.recovery.largest;
        let advances = Some(largest).filter(|_| path.recovery.largest < Some(largest));
        path.recovery.largest = path.recovery.largest.max(Some(largest));
        path.read_marks(now, ack, newly, advances);
        if own {
            // RFC 9002 §5.1: the largest number gives a sample, if it is newly acknowledged with an
            // ack-eliciting packet. A packet declared lost before gives a sample, too: each number
            // is sent once. Otherwise a timeout below the round trip never grows.
            let newest = largest_sent.filter(|_| newly > 0).or(late).filter(|_| advances.is_some());
            path.hear_answer(now, ack, largest, newly > 0 || advances.is_some(), newest);
        }
        for (number, segment) in settled.drain(..) {
            self.core.settle_on(index, segment);
            observer.acknowledged(now, ack.path, number, ack.delay);
        }
        self.settled = settled;
        self.core.release_acknowledged();
        self.detect_losses(now, index, observer);
        self.core.finish_acknowledgement(now, |_| true);
        if !own && !outdated {
            let path = &mut self.core.paths[index];
            path.recovery.silent = true;
            path.heed_silence(now);
        }
        self.core.paths[index].touch();
        self.arm(index);
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
        if self.core.paths[index].recovery.believed_lost.is_empty() {
            return None;
        }
        let mut believed_lost = core::mem::take(&mut self.core.paths[index].recovery.believed_lost);
        let mut largest = None;
        for &(from, to) in ack.ranges() {
            for late in believed_lost.take(from, to) {
                self.core.settle(late.segment);
                observer.acknowledged(now, ack.path, late.number, ack.delay);
                self.core.paths[index].late += 1;
                largest = Some(late.sent_at).filter(|_| Some(late.number) == ack.largest()).or(largest);
            }
        }
        let known = self.core.paths[index].recovery.largest;
        believed_lost.forget(known, |segment| !self.core.is_outstanding(segment));
        self.core.paths[index].recovery.believed_lost = believed_lost;
        largest
    }

    /// See [`crate::endpoint::Endpoint::handle_timeout`].
    pub(super) fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        for index in 0..self.core.paths.len() {
            self.retry_open(now, index);
            if self.core.paths[index].recovery.verdict <= now {
                self.core.paths[index].recovery.verdict = NEVER;
                self.set_aside(now, index, observer);
                self.arm(index);
            }
            if self.core.paths[index].recovery.loss_timer <= now {
                self.detect_losses(now, index, observer);
                self.core.paths[index].heed_silence(now);
                self.arm(index);
            } else if self.core.paths[index].retransmission_timer <= now {
                self.probe_timeout(now, index, observer);
                self.arm(index);
            }
        }
        self.core.wake_scheduler(now);
        let most = self.config.connection.association_max_retransmissions;
        // Nothing is asked of a path that is spent.
        let asked =
            (self.core.paths.iter()).filter(|path| path.recovery.phase != Phase::Closed && !path.is_spent());
        if self.started && asked.map(|path| path.silence).min().is_some_and(|fewest| fewest > most) {
            return Err(Error::PeerUnreachable { at: now });
        }
        Ok(())
    }

    fn has_probes(&self) -> bool {
        self.core.paths.iter().any(|path| path.recovery.probes > 0)
    }

    /// True if [`Sender::transmit`] sends nothing.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.core.is_silent() && self.started && self.control.is_empty() && !self.has_probes()
    }

    /// See [`crate::endpoint::Endpoint::transmit`].
    pub(super) fn transmit(
        &mut self,
        now: Time,
        receiver: &mut Receiver,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        self.core.look_at_pacers(now);
        if !self.started {
            self.started = true;
            self.open_paths(now);
        }
        if !self.control.is_empty() {
            self.transmit_control(now, receiver, sink);
        }
        let probes = self.has_probes();
        if !probes && self.core.is_silent() {
            return Ok(());
        }
        self.core.may_copy = probes;
        loop {
            self.core.run_scheduler(now, observer)?;
            let at_once = if probes { None } else { self.core.send_at_once(now, observer) };
            if let Some(out) = at_once {
                self.leave(now, &out, receiver, sink);
            } else if !(probes || self.core.has_other_data())
                || !self.send_other(now, receiver, sink, observer)
            {
                break;
            }
        }
        self.core.note_limits();
        let blocked_at = self.core.blocked_at();
        if blocked_at.is_some() {
            self.ask_for_room();
        }
        if probes || blocked_at.is_some() {
            self.ping(now, blocked_at, receiver, sink);
        }
        Ok(())
    }

    /// Sends the next probe, or data that is not the first of an assignment that leaves at once.
    #[inline(never)]
    fn send_other(
        &mut self,
        now: Time,
        receiver: &mut Receiver,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> bool {
        let Some(out) = self.next_probe(now, observer).or_else(|| self.core.next_data(now, observer)) else {
            return false;
        };
        self.leave(now, &out, receiver, sink);
        true
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leave(&mut self, now: Time, out: &Outgoing, receiver: &mut Receiver, sink: &mut impl SinkOf<Packet>) {
        let &Outgoing { path, data, offset, number, transmission, reason, .. } = out;
        let ecn = self.core.paths[path.index()].recovery.marking.of_new();
        if let Packet::OneRtt(packet) = &mut self.data {
            (packet.number, packet.stream, packet.ecn) = (number, Some(Stream { data, offset }), ecn);
            (packet.ack, packet.max_data) = (None, None);
            receiver.acknowledge(now, path, packet);
        }
        let origin = Origin::Sender { offset: Some(offset) };
        let transmit = Transmit { path, packet: &self.data, transmission, origin };
        match reason {
            SendReason::New | SendReason::Reinjection => sink.send(&transmit),
            SendReason::Retransmission => sink.send_again(&transmit),
        }
        self.arm(path.index());
    }

    /// If flow control alone blocks all data, sends DATA_BLOCKED on the path with the shortest
    /// round trip, unless one has reported it already (RFC 9000 §4.1). It is repeated, at doubling
    /// intervals, until the limit moves.
    fn ask_for_room(&mut self) {
        let usable = self.core.facts().iter().filter(|path| path.is_usable());
        let shortest = usable.min_by_key(|path| path.srtt).map(|path| path.id.index());
        let told = self
            .core
            .facts()
            .iter()
            .any(|path| path.is_usable() && self.core.paths[path.id.index()].recovery.asked);
        if let Some(index) = shortest.filter(|_| !told) {
            let space = &mut self.core.paths[index].recovery;
            space.asked = true;
            space.probes = space.probes.max(1);
        }
    }

    fn transmit_control(&mut self, now: Time, receiver: &mut Receiver, sink: &mut impl SinkOf<Packet>) {
        while let Some((path, mut packet)) = self.control.pop_front() {
            if let Packet::OneRtt(packet) = &mut packet {
                receiver.acknowledge(now, path, packet);
            }
            let origin = Origin::Sender { offset: None };
            sink.send(&Transmit { path, packet: &packet, transmission: 0, origin });
        }
    }

    /// Sends a probe: a path's oldest data in flight again, in a new packet. A second probe repeats
    /// other data, if there is any (RFC 9002 §6.2.4).
    fn next_probe(&mut self, now: Time, observer: &mut impl Observer) -> Option<Outgoing> {
        for index in 0..self.core.paths.len() {
            if self.core.paths[index].recovery.probes == 0 {
                continue;
            }
            let flight = &self.core.paths[index].flight;
            let mut outstanding = (flight.first()..flight.next())
                .take(PROBE_CANDIDATES)
                .filter_map(|number| flight.get(number))
                .filter(|sent| sent.is_in_flight() && self.core.is_outstanding(sent.segment))
                .map(|sent| sent.segment);
            let oldest = outstanding.next();
            let probed = self.core.paths[index]
                .recovery
                .probed
                .filter(|_| self.core.paths[index].recovery.probes < PROBES);
            let other = || outstanding.find(|&segment| Some(segment) != probed);
            if let Some(segment) = oldest.filter(|_| oldest != probed).or_else(other).or(oldest) {
                let path = &mut self.core.paths[index];
                path.recovery.probes -= 1;
                path.recovery.probed = Some(segment);
                path.counters.tail_probes += 1;
                return Some(self.core.send(now, index, segment, SendReason::Retransmission, observer));
            }
        }
        None
    }

    /// Probes paths without data by empty ack-eliciting packets. Data goes first: if paths share a
    /// queue with one place, one path's probe must not displace another path's data.
    fn ping(
        &mut self,
        now: Time,
        blocked_at: Option<u64>,
        receiver: &mut Receiver,
        sink: &mut impl SinkOf<Packet>,
    ) {
        for index in 0..self.core.paths.len() {
            if core::mem::take(&mut self.core.paths[index].recovery.probes) > 0 {
                let path = PathId(index as u8);
                let (number, blocked) =
                    (self.number(now, path), blocked_at.filter(|_| self.core.paths[index].recovery.asked));
                let ping = blocked.is_none();
                let space = &mut self.core.paths[index].recovery;
                space.questions += u32::from(!ping);
                space.pinged_at = now;
                space.time_later(number, now);
                let mut packet = OneRtt { blocked, ping, ..OneRtt::new(number) };
                receiver.acknowledge(now, path, &mut packet);
                let packet = &Packet::OneRtt(packet);
                let origin = Origin::Sender { offset: None };
                sink.send(&Transmit { path, packet, transmission: 0, origin });
                self.arm(index);
            }
        }
    }

    /// When the next timer runs out; [`Time::MAX`] for never.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_timer(&self) -> Time {
        self.core.next_timer(Space::next_timer)
    }

    pub(super) fn looks(&self) -> u64 {
        self.core.paths.iter().map(|path| path.recovery.acknowledged.looks()).sum()
    }
}
