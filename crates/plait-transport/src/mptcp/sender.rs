//! The sender: reading acknowledgements, timers, and what leaves next.

use super::marks::Marks;
use super::reinjection::Reinjections;
use super::rules::Losses;
use super::subflow::{Phase, Repair, Resent, Subflow};
use super::window::Seen;
use super::{CAPABILITIES, Config, Grant};
use crate::congestion::CongestionController;
use crate::core::{
    Core, OneWayDelays, Outgoing, PathConfig, PathNews, SegmentState, Transmission, TransmissionState,
    merge_ascending, moment,
};
use crate::endpoint::Side;
use crate::error::Error;
use crate::observer::{Observer, SendReason};
use crate::packet::{Ack, Data, Packet, SegmentEcn, TcpSegment};
use crate::sink::{Origin, Sink, Transmit};
use plait_sched::{Event, Path, PathId, PathSet, Scheduler, Time};
use std::collections::VecDeque;

/// When the segments were sent that an acknowledgement settles and that tell a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    oldest: Option<Time>,
    newest: Option<Time>,
    /// The latest in the order of sending that had arrived before.
    highest: Option<u64>,
    /// The latest in the order of sending among those that arrived now.
    latest: Option<u64>,
    /// Something that was sent once and was in flight when the repair began is among them.
    original: bool,
}

/// A segment that leaves on a subflow, without what may ride on it.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    path: PathId,
    data: Data,
    /// Its number on the subflow.
    number: u64,
    offset: u64,
    timestamp: u32,
    echo: u32,
    push: bool,
    ecn: SegmentEcn,
    transmission: u64,
    /// For the first time there.
    fresh: bool,
}

impl Leaving {
    fn leave(&self, sink: &mut impl Sink) {
        let &Self { path, data, number, offset, timestamp, echo, push, ecn, transmission, .. } = self;
        let packet =
            &Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn });
        sink.send(&Transmit { path, packet, transmission, origin: Origin::Sender { offset: Some(offset) } });
    }
}

/// One end of a connection, sending.
///
/// Every input ([`Sender::write`], [`Sender::handle_packet`], [`Sender::handle_timeout`]) is to be followed by
/// [`Sender::transmit`] and a look at [`Sender::poll_timeout`].
#[derive(Clone, Debug)]
pub(crate) struct Sender<S> {
    pub(super) core: Core<S>,
    pub(super) config: Config,
    pub(super) subflows: Vec<Subflow>,
    /// Segments of the stream that a silent subflow has not delivered, ascending: any subflow that has not carried them
    /// may.
    pub(super) reinjections: VecDeque<u64>,
    /// What the connection sends again by itself.
    pub(super) repeats: Reinjections,
    /// What came back on each subflow last.
    pub(super) seen: Vec<Seen>,
    /// Those of them that no usable subflow may carry, and the subflows that were usable then.
    parked: VecDeque<u64>,
    parked_without: PathSet,
    /// Packets of handshakes.
    pub(super) control: VecDeque<(PathId, Packet)>,
    /// Which segments of plain TCP are marked.
    pub(super) marks: Marks,
    started: bool,
    pub(super) side: Side,
    /// The peer speaks TCP.
    pub(super) fallen_back: bool,
}

impl<S: Scheduler> Sender<S> {
    /// A sender over `paths`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the scheduler needs what MPTCP does not offer.
    pub(super) fn new(config: Config, side: Side, paths: &[PathConfig], scheduler: S) -> Result<Self, Error> {
        let phase = if config.handshake { Phase::Closed } else { Phase::Open };
        let mut core = Core::new(config.connection, paths, scheduler, CAPABILITIES)?;
        if config.rules.buffer_of_memory {
            core.reckon_memory(config.multipath);
        }
        core.penalties_wait = config.rules.losses == Losses::ByTime;
        core.commits = config.multipath && config.rules.grant == Grant::Free;
        if config.handshake {
            core.close_paths();
        }
        let mut sender = Self {
            core,
            config,
            subflows: paths.iter().map(|_| Subflow::new(phase, config.ecn)).collect(),
            reinjections: VecDeque::new(),
            repeats: Reinjections::new(paths.len()),
            seen: vec![Seen::default(); paths.len()],
            parked: VecDeque::new(),
            parked_without: PathSet::EMPTY,
            control: VecDeque::new(),
            marks: Marks::default(),
            started: !config.handshake || side == Side::Server,
            side,
            fallen_back: false,
        };
        sender.begin_window();
        Ok(sender)
    }

    /// A path's one-way delays as timestamps tell them.
    pub(super) fn delays(&self, path: PathId) -> Option<OneWayDelays> {
        self.core.paths[path.index()].delays
    }

    /// Takes a packet that came back on `path`.
    pub(super) fn handle_packet(
        &mut self,
        now: Time,
        path: PathId,
        packet: &Packet,
        observer: &mut impl Observer,
    ) {
        if matches!(packet, Packet::Ack(_) | Packet::SynAck { .. }) {
            self.core.paths[path.index()].silence = 0;
        }
        match packet {
            Packet::Ack(ack) => {
                if matches!(self.subflows[path.index()].phase, Phase::Opening { confirming: true, .. }) {
                    self.handle_syn_ack(now, path.index(), ack.timestamp, ack.echo, observer);
                }
                self.handle_ack(now, path.index(), ack, observer);
            }
            Packet::SynAck { timestamp, echo, window } => {
                self.note_opening(path.index(), *window, *timestamp);
                self.handle_syn_ack(now, path.index(), *timestamp, *echo, observer);
            }
            _ => {}
        }
    }

    fn handle_ack(&mut self, now: Time, index: usize, ack: &Ack, observer: &mut impl Observer) {
        let flight = &self.core.paths[index].flight;
        // What acknowledges the unsent is not believed in anything.
        if ack.cumulative > flight.next() || ack.data > self.core.sent_end {
            return;
        }
        if ack.plain && self.is_multipath() {
            self.fall_back();
        }
        self.note_window(index, ack);
        self.note_heard(now, index, observer);
        let data = self.core.stream.first();
        self.core.release(ack.data);
        self.note_data_acknowledged(now, data);
        if self.config.handshake {
            self.open_subflows(now);
        }
        self.core.note_opportunity();
        self.core.counters.spurious_retransmissions += u64::from(ack.duplicate.is_some());
        let progress = match self.config.rules.losses {
            Losses::ByTime => self.acknowledged_as_linux(now, index, ack, observer),
            Losses::ByOrder => self.acknowledged_by_order(now, index, ack, observer),
        };
        // RFC 7323 §4.1: only an acknowledgement that advances tells a delay; others echo an older timestamp.
        if progress {
            let delays = &mut self.core.paths[index].delays;
            self.config.clock.sample(delays, now, ack.timestamp, ack.echo);
            self.core.touch(index);
        }
        self.carry_out_penalty(index);
    }

    /// What the scheduler asked for since the last acknowledgement, once and not while losses are repaired (plait_acked and halve in
    /// linux/schedulers/subflow.c: the window is written under the subflow's lock).
    fn carry_out_penalty(&mut self, index: usize) {
        if core::mem::take(&mut self.core.paths[index].penalty) && !self.subflows[index].linux.is_repairing()
        {
            self.core.paths[index].control.on_penalty();
            self.core.touch(index);
        }
    }

    /// Reads an acknowledgement by the standard rules, and brings the facts up to date. Returns whether the cumulative one
    /// advanced.
    fn acknowledged_by_order(
        &mut self,
        now: Time,
        index: usize,
        ack: &Ack,
        observer: &mut impl Observer,
    ) -> bool {
        let before = self.core.paths[index].flight.first();
        let mut news = PathNews::before(&self.core.paths[index]);
        self.note_duplicate(index, ack);
        let (latest, original) = self.read_numbers(now, index, ack, &mut news);
        self.subflows[index].linux.rack.adapt(latest, self.core.paths[index].sent);
        let progress = self.core.paths[index].flight.first() > before;
        self.judge_reduction(index, ack, progress, original);
        if self.hears_congestion(index, ack) {
            self.react_to_echo(now, index);
        }
        if news.segments > 0 {
            self.take_news(now, index, &news, progress, observer);
        } else {
            self.core.touch(index);
        }
        self.judge_probe(now, index, ack.duplicate.is_some());
        if progress || news.segments > 0 {
            self.arm_timers(now, index, progress);
        }
        progress
    }

    /// Which transmissions of the subflow the acknowledgement settles. Returns which of them was sent last, in the order of
    /// sending, and whether one of them was in flight when a repair began, and sent once.
    fn read_numbers(
        &mut self,
        now: Time,
        index: usize,
        ack: &Ack,
        news: &mut PathNews,
    ) -> (Option<u64>, bool) {
        let (first, next) = {
            let flight = &self.core.paths[index].flight;
            (flight.first(), flight.next())
        };
        let mut sample = Sample { highest: self.subflows[index].latest_arrived[0], ..Sample::default() };
        for number in first..ack.cumulative {
            self.settle(now, index, number, news, &mut sample);
        }
        self.subflows[index].arrived.advance(ack.cumulative.max(first));
        for (from, to) in ack.blocks() {
            let end = to.saturating_add(1).min(next);
            let mut number = self.subflows[index].arrived.first_absent(from.max(first));
            while number < end {
                self.subflows[index].arrived.insert(number);
                self.settle(now, index, number, news, &mut sample);
                number = self.subflows[index].arrived.first_absent(number + 1);
            }
        }
        if let Some(sent_at) = sample.oldest {
            let rtt = now.since(sent_at);
            let path = &mut self.core.paths[index];
            path.rtt.sample(rtt);
            path.rtt.note_progress(path.flight.first(), path.flight.next());
            news.rtt = Some(rtt);
            news.newest_rtt = sample.newest.map(|sent_at| now.since(sent_at));
        }
        (sample.latest, sample.original)
    }

    /// The receiver has the transmission with this number. Only one that was never sent again tells a round trip (Karn).
    fn settle(&mut self, now: Time, index: usize, number: u64, news: &mut PathNews, sample: &mut Sample) {
        let path = &mut self.core.paths[index];
        let left = path.flight.leave(number, TransmissionState::Acknowledged).map(|(sent, _)| sent);
        let Some(sent) = left.or_else(|| path.flight.revive(number)) else { return };
        news.bytes += u64::from(sent.bytes);
        news.segments += 1;
        sample.latest = sample.latest.max(Some(sent.order));
        sample.original |= sent.first_time && number < path.recovery_end;
        let plausible = sent.first_time || now.since(sent.sent_at) >= path.rtt.min();
        if sent.first_time && left.is_some() {
            sample.oldest = Some(sample.oldest.map_or(sent.sent_at, |oldest| oldest.min(sent.sent_at)));
            sample.newest = sample.newest.max(Some(sent.sent_at));
            let late = Some(sent.order) < sample.highest;
            self.subflows[index].linux.rack.reordered |= late;
            self.core.counters.reorderings += u64::from(late);
        }
        // An answer that comes sooner than any round trip is that of an earlier copy.
        if plausible {
            let subflow = &mut self.subflows[index];
            // RFC 8985 §6.2: the round trip of the one that was sent last.
            if Some(sent.order) >= subflow.latest_arrived[0] {
                subflow.latest_round_trip = now.since(sent.sent_at);
            }
            subflow.note_arrival(sent.order);
        }
    }

    /// Something arrived on the subflow: it works, its window may grow, and what was overtaken is lost.
    fn take_news(
        &mut self,
        now: Time,
        index: usize,
        news: &PathNews,
        progress: bool,
        observer: &mut impl Observer,
    ) {
        self.note_alive(now, index, news, observer);
        self.note_repaired(index);
        self.find_lost(now, index);
        self.grow_window(now, index, news, progress);
        if self.core.paths[index].flight.segments() == 0 {
            self.core.paths[index].control.on_drained();
        }
        self.core.touch(index);
        self.tell_acknowledged(index, news);
    }

    /// Something arrived on the subflow: it works, and so does the peer.
    pub(super) fn note_alive(
        &mut self,
        now: Time,
        index: usize,
        news: &PathNews,
        observer: &mut impl Observer,
    ) {
        let path = &mut self.core.paths[index];
        path.errors = 0;
        path.note_delivery(now, news.bytes);
        let working = path.working_state();
        self.core.set_state(now, index, working, observer);
    }

    /// The scheduler hears of what was acknowledged; the facts are up to date.
    pub(super) fn tell_acknowledged(&mut self, index: usize, news: &PathNews) {
        let path = PathId(index as u8);
        self.core.notify(&Event::Acked { path, segments: news.segments, rtt: news.rtt });
    }

    /// Duplicate acknowledgements do not grow the window (RFC 5681 §3.2, step 1: it MUST NOT change before the third one). What
    /// they report grows it once an acknowledgement advances, if it was reordering and no loss.
    fn grow_window(&mut self, now: Time, index: usize, news: &PathNews, progress: bool) {
        let subflow = &mut self.subflows[index];
        if self.config.connection.grow_in_recovery {
            self.core.grow_window(now, index, news);
        } else if subflow.repair == Repair::Fast {
            let withheld = core::mem::take(&mut subflow.withheld);
            self.core.paths[index].control.on_repaired(news.bytes + withheld);
        } else if progress {
            let withheld = core::mem::take(&mut subflow.withheld);
            let news = PathNews { bytes: news.bytes + withheld, ..*news };
            self.core.grow_window(now, index, &news);
        } else {
            subflow.withheld += news.bytes;
        }
    }

    /// Call when [`Sender::poll_timeout`] has come; harmless at any other time.
    ///
    /// # Errors
    /// [`Error::PeerUnreachable`] once too many timeouts came in a row.
    pub(super) fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        for index in 0..self.subflows.len() {
            self.retry_open(now, index);
            let due = |timer: Option<Time>| timer.is_some_and(|timer| timer <= now);
            if due(self.core.paths[index].retransmission_timer) {
                self.retransmission_timeout(now, index, observer);
                continue;
            }
            let by_time = self.config.rules.losses == Losses::ByTime;
            if due(self.subflows[index].loss_timer) {
                if by_time {
                    self.look_for_losses(now, index);
                } else {
                    self.overdue(now, index);
                }
            }
            if due(self.subflows[index].probe_timer) {
                if by_time {
                    self.probe_as_linux(now, index);
                } else {
                    self.probe_timeout(index);
                }
            }
        }
        self.handle_connection_timer(now, observer);
        self.core.wake_scheduler(now);
        if self.is_peer_silent() {
            return Err(Error::PeerUnreachable { at: now });
        }
        Ok(())
    }

    /// True once every subflow that was begun has been silent too often: one that answers what it is asked, or is asked
    /// nothing, speaks for the peer, however long another one has been dead. (Linux likewise: each subflow gives up by itself,
    /// and the connection ends with the last one.)
    fn is_peer_silent(&self) -> bool {
        let most = self.config.connection.association_max_retransmissions;
        let begun = (self.subflows.iter().zip(&self.core.paths))
            .filter(|(subflow, _)| subflow.phase != Phase::Closed);
        self.started && begun.map(|(_, path)| path.silence).min().is_some_and(|fewest| fewest > most)
    }

    /// Sends all that there is to send now.
    ///
    /// # Errors
    /// [`Error::Scheduler`] if the scheduler broke its contract.
    pub(super) fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl Sink,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        if !self.started {
            self.started = true;
            self.open_subflows(now);
        }
        while let Some((path, packet)) = self.control.pop_front() {
            let origin = Origin::Sender { offset: None };
            sink.send(&Transmit { path, packet: &packet, transmission: 0, origin });
        }
        if self.config.rules.pushes && self.config.multipath {
            return self.transmit_bursts(now, sink, observer);
        }
        while let Some(mut leaving) = self.next_segment(now, observer)? {
            if self.config.rules.pushes && leaving.fresh {
                leaving.push = self.marks(leaving.offset, leaving.data.bytes);
            }
            leaving.leave(sink);
        }
        Ok(())
    }

    /// Likewise, where the end of each burst is marked: a segment leaves once it is known whether another one follows.
    fn transmit_bursts(
        &mut self,
        now: Time,
        sink: &mut impl Sink,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        let mut held_back: Option<Leaving> = None;
        loop {
            let next = self.next_segment(now, observer)?;
            if let Some(mut last) = held_back.take() {
                last.push = last.fresh && next.is_none_or(|next| !next.fresh || next.path != last.path);
                last.leave(sink);
                if next.is_none() && self.core.has_opportunity() {
                    continue;
                }
            }
            match next {
                Some(next) if next.fresh => held_back = Some(next),
                Some(other) => other.leave(sink),
                None => break,
            }
        }
        Ok(())
    }

    fn next_segment(&mut self, now: Time, observer: &mut impl Observer) -> Result<Option<Leaving>, Error> {
        loop {
            let next = self.next_of_written(now, observer)?;
            if next.is_some() || !self.core.write_on() {
                return Ok(next);
            }
        }
    }

    /// The next segment of what the application has written.
    fn next_of_written(&mut self, now: Time, observer: &mut impl Observer) -> Result<Option<Leaving>, Error> {
        // Linux' engine asks for a decision once no path's queue has anything that may leave, and then for the next one
        // (`get_send` in linux/schedulers/engine.c): so a queue leaves by the limit of before.
        loop {
            if self.core.commits {
                self.core.begin_asking(now);
            } else {
                self.core.run_scheduler(now, observer)?;
            }
            if let Some(leaving) = self.next_retransmission(now, observer) {
                return Ok(Some(leaving));
            }
            if let Some(outgoing) = self.core.send_committed(now, observer) {
                return Ok(Some(self.wrap(now, &outgoing)));
            }
            // A subflow has no other new data to try than what it took.
            if self.core.commits
                && self.stop_preferring_new()
                && let Some(leaving) = self.next_retransmission(now, observer)
            {
                return Ok(Some(leaving));
            }
            // What the connection's own timer sends again does not set that timer.
            let timed = self.next_timed_copy();
            let copy = timed.or_else(|| self.next_copy()).map(|next| (next, SendReason::Reinjection));
            if copy.is_none()
                && let Some(outgoing) = self.core.send_at_once(now, observer)
            {
                self.note_burst(outgoing.path.index());
                self.share_window(outgoing.path.index(), outgoing.offset);
                self.note_given(now);
                return Ok(Some(self.wrap(now, &outgoing)));
            }
            let next = copy.or_else(|| self.core.next_new(now).map(|next| (next, SendReason::New)));
            let wanted = || self.next_wanted_copy().map(|next| (next, SendReason::Reinjection));
            let Some(((index, segment), reason)) = next.or_else(wanted) else {
                if self.core.commits && self.core.ask(now, observer)? {
                    continue;
                }
                break;
            };
            self.note_burst(index);
            let outgoing = if self.core.holds_back(index, segment) {
                let offset = self.core.commit(index, segment, reason);
                self.share_window(index, offset);
                None
            } else {
                let outgoing = self.core.send(now, index, segment, reason, observer);
                self.share_window(index, outgoing.offset);
                Some(self.wrap(now, &outgoing))
            };
            if timed.is_none() {
                self.note_given(now);
            }
            if outgoing.is_some() {
                return Ok(outgoing);
            }
        }
        if self.stop_preferring_new() {
            return Ok(self.next_retransmission(now, observer));
        }
        self.repeats.end_burst();
        if self.config.rules.losses == Losses::ByTime {
            self.tell_use(now);
        }
        Ok(None)
    }

    /// A segment that leaves for the first time on its subflow.
    #[inline]
    fn wrap(&mut self, now: Time, outgoing: &Outgoing) -> Leaving {
        let index = outgoing.path.index();
        if self.config.rules.losses == Losses::ByTime {
            self.note_sent_as_linux(now, index, outgoing.number);
        } else {
            if self.subflows[index].probe_due {
                self.note_probe(now, index, false);
            }
            self.arm_timers(now, index, false);
        }
        let timestamp = self.config.clock.at_sender(now);
        let echo = self.seen[index].echo;
        let ecn = self.subflows[index].ecn.of_new();
        let &Outgoing { path, data, offset, number, transmission } = outgoing;
        Leaving { path, data, number, offset, timestamp, echo, push: false, ecn, transmission, fresh: true }
    }

    /// What is lost is sent again first, on its own subflow; then a probe, if one is due and no new data will do.
    fn next_retransmission(&mut self, now: Time, observer: &mut impl Observer) -> Option<Leaving> {
        for index in 0..self.subflows.len() {
            let subflow = &self.subflows[index];
            if subflow.lost.is_empty() && !subflow.probe_due {
                continue;
            }
            self.skip_settled(index);
            let path = &self.core.paths[index];
            let subflow = &mut self.subflows[index];
            if let Some(&number) = subflow.lost.front()
                && !subflow.linux.withheld
                && !subflow.linux.prefers_new
                && (path.has_window() || subflow.exempt > 0)
            {
                subflow.lost.pop_front();
                subflow.exempt = subflow.exempt.saturating_sub(1);
                return self.resend(now, index, number, observer);
            }
            if subflow.probe_due
                && let Some(leaving) = self.send_probe(now, index, observer)
            {
                return Some(leaving);
            }
        }
        None
    }

    /// RFC 8985 §7.3: a probe is the next new segment if the path has one and the window of the receiver admits it, else
    /// the last one that was sent.
    fn send_probe(&mut self, now: Time, index: usize, observer: &mut impl Observer) -> Option<Leaving> {
        let path = &self.core.paths[index];
        let fresh = match self.core.commits {
            true => self.core.admits_committed(index),
            false => path.queue.front().is_some_and(|&segment| self.core.admits(segment)),
        };
        if fresh && path.has_window() {
            // It leaves by itself, and will be noted as the probe.
            return None;
        }
        if self.config.rules.losses == Losses::ByTime {
            let (number, sent) = self.repeat_last(now, index)?;
            return Some(self.transmit_again(now, index, number, &sent, observer));
        }
        let flight = &mut self.core.paths[index].flight;
        let last = (flight.first()..flight.next())
            .rev()
            .find(|&number| flight.get(number).is_some_and(|sent| sent.state == TransmissionState::InFlight));
        let Some(last) = last else {
            self.subflows[index].probe_due = false;
            return None;
        };
        flight.leave(last, TransmissionState::Lost);
        self.note_probe(now, index, true);
        self.resend(now, index, last, observer)
    }

    fn skip_settled(&mut self, index: usize) {
        let flight = &self.core.paths[index].flight;
        let lost = &mut self.subflows[index].lost;
        while lost.front().is_some_and(|&number| {
            flight.get(number).is_none_or(|sent| sent.state != TransmissionState::Lost)
        }) {
            lost.pop_front();
        }
    }

    fn resend(
        &mut self,
        now: Time,
        index: usize,
        number: u64,
        observer: &mut impl Observer,
    ) -> Option<Leaving> {
        let order = self.core.paths[index].sent;
        let sent = self.core.paths[index].flight.resend(now, order, number)?;
        let leaving = self.transmit_again(now, index, number, &sent, observer);
        if self.config.rules.losses == Losses::ByTime {
            self.note_resent_as_linux(now, index, number);
        } else {
            self.subflows[index].resent.push_back(Resent { number, order });
            self.note_repetition(now, index);
            self.arm_timers(now, index, false);
        }
        Some(leaving)
    }

    /// A segment leaves once more under its number on the subflow.
    fn transmit_again(
        &mut self,
        now: Time,
        index: usize,
        number: u64,
        sent: &Transmission,
        observer: &mut impl Observer,
    ) -> Leaving {
        let path = PathId(index as u8);
        let data = Data { segment: sent.segment, bytes: sent.bytes };
        let transmission = self.core.note_sent_again(now, path, data, observer);
        let timestamp = self.config.clock.at_sender(now);
        let offset = self.core.stream.get(data.segment).map_or(0, |entry| entry.offset);
        let echo = self.seen[index].echo;
        let ecn = SegmentEcn::default();
        Leaving { path, data, number, offset, timestamp, echo, push: false, ecn, transmission, fresh: false }
    }

    /// Nothing new left: where new data was to be tried first, losses are repaired. True if there are such subflows.
    fn stop_preferring_new(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.subflows.len() {
            if self.subflows[index].linux.prefers_new {
                self.judge_preference(index);
                any = true;
            }
        }
        any
    }

    /// A copy that leaves now: first what a silent subflow holds back, then what the scheduler wants.
    fn next_copy(&mut self) -> Option<(usize, u64)> {
        self.unpark();
        if let Some(repeat) = self.next_stale() {
            return Some(repeat);
        }
        if !self.reinjections.is_empty() {
            self.core.update_facts();
        }
        while let Some(&segment) = self.reinjections.front() {
            let entry = self.core.stream.get(segment).filter(|s| s.state == SegmentState::InFlight);
            let Some(entry) = entry else {
                self.reinjections.pop_front();
                continue;
            };
            let carried = entry.carried;
            let fresh = |path: &&Path| !carried.contains(path.id);
            // Nobody takes it now. Unless all carry it already and deliver it themselves, it waits for one that does.
            if !plait_sched::usable(self.core.facts()).any(|path| fresh(&path)) {
                self.reinjections.pop_front();
                if self.core.facts().iter().any(|path| fresh(&path)) {
                    self.parked.push_back(segment);
                    self.parked_without = self.usable();
                }
                continue;
            }
            let open = plait_sched::usable(self.core.facts()).filter(fresh).filter(|path| {
                let index = path.id.index();
                self.core.paths[index].has_window()
                    && self.core.admits_on(index, segment)
                    && !self.core.has_awaited(index)
            });
            let Some(path) = open.min_by_key(|path| path.srtt) else { break };
            let index = path.id.index();
            self.reinjections.pop_front();
            return Some((index, segment));
        }
        // Linux' engine asks for a decision once no path's queue has anything that may leave (`get_send` in
        // linux/schedulers/engine.c), so that a copy never goes before that.
        if self.core.commits { None } else { self.next_wanted_copy() }
    }

    /// A copy that the scheduler wants.
    fn next_wanted_copy(&mut self) -> Option<(usize, u64)> {
        if self.core.wants_copies() { self.core.next_reinjection() } else { None }
    }

    /// What found no subflow looks for one again as soon as others are usable than were then.
    fn unpark(&mut self) {
        if !self.parked.is_empty() && self.parked_without != self.usable() {
            merge_ascending(&mut self.reinjections, self.parked.drain(..));
        }
    }

    fn usable(&self) -> PathSet {
        let mut usable = PathSet::EMPTY;
        plait_sched::usable(self.core.facts()).for_each(|path| usable.insert(path.id));
        usable
    }

    pub(super) fn looks(&self) -> u64 {
        self.subflows.iter().map(|subflow| subflow.arrived.looks()).sum()
    }

    /// When [`Sender::handle_timeout`] must be called next; [`Time::MAX`] for never.
    #[inline]
    pub(super) fn next_timer(&self) -> Time {
        let own = self.core.next_timer().min(moment(self.repeats.timer()));
        self.subflows.iter().fold(own, |next, subflow| next.min(subflow.next_timer()))
    }

    /// True if this end has nothing to send and opens nothing.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.side == Side::Server && !self.core.has_written()
    }
}
