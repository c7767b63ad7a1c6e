//! The sender: reading acknowledgements, timers, and what leaves next.

use super::subflow::{Phase, Repair, Resent, Subflow};
use super::{CAPABILITIES, Config, Reduction};
use crate::congestion::CongestionControl;
use crate::core::{
    Core, OneWayDelays, Outgoing, PathConfig, PathNews, SegmentState, TransmissionState, Transmit,
    common_to_senders, merge_ascending,
};
use crate::error::Error;
use crate::observer::{Observer, SendReason};
use crate::packet::{Ack, Data, Packet, Segment};
use plait_sched::{Event, Path, PathId, PathSet, PathState, Scheduler, Time};
use std::collections::VecDeque;

/// When the segments were sent that an acknowledgement settles and that tell a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    oldest: Option<Time>,
    newest: Option<Time>,
    /// The latest in the order of sending that had arrived before.
    highest: Option<u64>,
}

/// One end of a connection, sending.
///
/// Every input ([`Sender::write`], [`Sender::handle_packet`], [`Sender::handle_timeout`]) is to be followed by
/// [`Sender::poll_transmit`] until it answers `None`, and by a look at [`Sender::poll_timeout`].
#[derive(Clone, Debug)]
pub struct Sender<S> {
    pub(super) core: Core<S>,
    pub(super) config: Config,
    pub(super) subflows: Vec<Subflow>,
    /// Segments of the stream that a silent subflow has not delivered, ascending: any subflow that has not carried them
    /// may.
    pub(super) reinjections: VecDeque<u64>,
    /// Those of them that no usable subflow may carry, and the subflows that were usable then.
    parked: VecDeque<u64>,
    parked_without: PathSet,
    /// Packets of handshakes.
    pub(super) control: VecDeque<Transmit>,
    spurious_retransmissions: u64,
    started: bool,
}

impl<S: Scheduler> Sender<S> {
    /// A sender over `paths`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the scheduler needs what MPTCP does not offer.
    pub fn new(config: Config, paths: &[PathConfig], scheduler: S) -> Result<Self, Error> {
        let phase = if config.handshake { Phase::Closed } else { Phase::Open };
        let mut core = Core::new(config.connection, paths, scheduler, CAPABILITIES)?;
        if config.handshake {
            core.facts.iter_mut().for_each(|path| path.state = PathState::Failed);
        }
        Ok(Self {
            core,
            config,
            subflows: paths.iter().map(|_| Subflow::new(phase)).collect(),
            reinjections: VecDeque::new(),
            parked: VecDeque::new(),
            parked_without: PathSet::EMPTY,
            control: VecDeque::new(),
            spurious_retransmissions: 0,
            started: !config.handshake,
        })
    }

    common_to_senders!();

    /// A path's one-way delays as timestamps tell them.
    pub fn delays(&self, path: PathId) -> Option<OneWayDelays> {
        self.core.paths[path.index()].delays
    }

    /// Takes a packet that came back on `path`.
    pub fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        if matches!(packet, Packet::Ack(_) | Packet::SynAck { .. }) {
            self.core.paths[path.index()].silence = 0;
        }
        match packet {
            Packet::Ack(ack) => self.handle_ack(now, path.index(), ack, observer),
            Packet::SynAck { timestamp, echo } => {
                self.handle_syn_ack(now, path.index(), *timestamp, *echo, observer);
            }
            _ => {}
        }
    }

    fn handle_ack(&mut self, now: Time, index: usize, ack: &Ack, observer: &mut impl Observer) {
        let flight = &self.core.paths[index].flight;
        // What acknowledges the unsent is not believed in anything.
        if ack.subflow > flight.next() || ack.data > self.core.sent_end {
            return;
        }
        self.core.window.extend(ack.window_end);
        self.core.release(ack.data);
        if self.config.handshake {
            self.open_subflows(now);
        }
        self.core.note_opportunity();
        let before = self.core.paths[index].flight.first();
        let mut news = PathNews::before(&self.core.paths[index]);
        self.read_numbers(now, index, ack, &mut news);
        self.spurious_retransmissions += u64::from(ack.duplicate);
        let progress = self.core.paths[index].flight.first() > before;
        // RFC 7323 §4.1: only an acknowledgement that advances tells a delay; others echo an older timestamp.
        if progress {
            let delays = &mut self.core.paths[index].delays;
            self.config.clock.sample(delays, now, ack.timestamp, ack.echo);
        }
        if news.segments > 0 {
            self.take_news(now, index, &news, progress, observer);
        }
        self.judge_probe(now, index, ack.duplicate);
        if progress || news.segments > 0 {
            self.arm_timers(now, index, progress);
        }
        self.core.refresh(index);
    }

    /// Which transmissions of the subflow the acknowledgement settles.
    fn read_numbers(&mut self, now: Time, index: usize, ack: &Ack, news: &mut PathNews) {
        let (first, next) = {
            let flight = &self.core.paths[index].flight;
            (flight.first(), flight.next())
        };
        let mut sample = Sample { highest: self.subflows[index].latest_arrived[0], ..Sample::default() };
        for number in first..ack.subflow {
            self.settle(now, index, number, news, &mut sample);
        }
        self.subflows[index].arrived.advance(ack.subflow.max(first));
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
    }

    /// The receiver has the transmission with this number. Only one that was never sent again tells a round trip (Karn).
    fn settle(&mut self, now: Time, index: usize, number: u64, news: &mut PathNews, sample: &mut Sample) {
        let path = &mut self.core.paths[index];
        let left = path.flight.leave(number, TransmissionState::Acknowledged).map(|(sent, _)| sent);
        let Some(sent) = left.or_else(|| path.flight.revive(number)) else { return };
        news.bytes += u64::from(sent.bytes);
        news.segments += 1;
        let plausible = sent.first_time || now.since(sent.sent_at) >= path.rtt.min();
        if sent.first_time && left.is_some() {
            sample.oldest = Some(sample.oldest.map_or(sent.sent_at, |oldest| oldest.min(sent.sent_at)));
            sample.newest = sample.newest.max(Some(sent.sent_at));
            self.subflows[index].reordered |= Some(sent.order) < sample.highest;
        }
        // An answer that comes sooner than any round trip is that of an earlier copy.
        if plausible {
            self.subflows[index].note_arrival(sent.order);
            self.subflows[index].latest_round_trip = now.since(sent.sent_at);
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
        let id = PathId(index as u8);
        let path = &mut self.core.paths[index];
        path.errors = 0;
        path.note_delivery(now, news.bytes);
        let working = path.working_state();
        self.core.set_state(now, index, working, observer);
        self.note_repaired(index);
        let losses = self.find_lost(now, index);
        self.grow_window(now, index, news, progress, losses);
        if self.core.paths[index].flight.segments() == 0 {
            self.core.paths[index].control.on_drained();
        }
        self.core.refresh(index);
        self.core.notify(&Event::Acked { path: id, segments: news.segments, rtt: news.rtt });
    }

    /// Duplicate acknowledgements do not grow the window (RFC 5681 §3.2, step 1: it MUST NOT change before the third one). What
    /// they report grows it once an acknowledgement advances, if it was reordering and no loss.
    fn grow_window(&mut self, now: Time, index: usize, news: &PathNews, progress: bool, losses: u32) {
        if self.config.rules.reduction == Reduction::Proportional {
            if self.subflows[index].reduction.is_some() {
                self.reduce_further(index, news.segments, progress && losses == 0);
            } else if progress {
                // Nothing is made up for later: what duplicate acknowledgements reported never grows the window.
                self.core.grow_window(now, index, news);
            }
            return;
        }
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
    pub fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        for index in 0..self.subflows.len() {
            self.retry_open(now, index);
            let due = |timer: Option<Time>| timer.is_some_and(|timer| timer <= now);
            if due(self.core.paths[index].retransmission_timer) {
                self.retransmission_timeout(now, index, observer);
                continue;
            }
            if due(self.subflows[index].loss_timer) {
                self.overdue(now, index);
            }
            if due(self.subflows[index].probe_timer) {
                self.probe_timeout(index);
            }
        }
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

    /// The next packet to send now, if any.
    ///
    /// # Errors
    /// [`Error::Scheduler`] if the scheduler broke its contract.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        observer: &mut impl Observer,
    ) -> Result<Option<Transmit>, Error> {
        if !self.started {
            self.started = true;
            self.open_subflows(now);
        }
        if let Some(transmit) = self.control.pop_front() {
            return Ok(Some(transmit));
        }
        self.core.run_scheduler(now, observer)?;
        if let Some(transmit) = self.next_retransmission(now, observer) {
            return Ok(Some(transmit));
        }
        let outgoing = match self.next_copy() {
            Some((index, segment)) => {
                Some(self.core.send(now, index, segment, SendReason::Reinjection, observer))
            }
            None => (self.core.next_new())
                .map(|(index, segment)| self.core.send(now, index, segment, SendReason::New, observer)),
        };
        Ok(outgoing.map(|outgoing| self.wrap(now, &outgoing)))
    }

    /// A segment that leaves for the first time on its subflow.
    fn wrap(&mut self, now: Time, outgoing: &Outgoing) -> Transmit {
        let index = outgoing.path.index();
        if self.subflows[index].probe_due {
            self.note_probe(now, index, false);
        }
        self.arm_timers(now, index, false);
        let timestamp = self.config.clock.at_sender(now);
        let packet = Packet::Segment(Segment { data: outgoing.data, subflow: outgoing.number, timestamp });
        Transmit { path: outgoing.path, packet, transmission: outgoing.transmission }
    }

    /// What is lost is sent again first, on its own subflow; then a probe, if one is due and no new data will do.
    fn next_retransmission(&mut self, now: Time, observer: &mut impl Observer) -> Option<Transmit> {
        for index in 0..self.subflows.len() {
            self.skip_settled(index);
            let path = &self.core.paths[index];
            let subflow = &mut self.subflows[index];
            if let Some(&number) = subflow.lost.front()
                && (path.has_window() || subflow.exempt > 0)
            {
                subflow.lost.pop_front();
                subflow.exempt = subflow.exempt.saturating_sub(1);
                return self.resend(now, index, number, observer);
            }
            if subflow.probe_due
                && let Some(transmit) = self.send_probe(now, index, observer)
            {
                return Some(transmit);
            }
        }
        None
    }

    /// RFC 8985 §7.3: a probe is the next new segment if the path has one and the window of the receiver admits it, else
    /// the last one that was sent.
    fn send_probe(&mut self, now: Time, index: usize, observer: &mut impl Observer) -> Option<Transmit> {
        let path = &self.core.paths[index];
        let fresh = path.queue.front().is_some_and(|&segment| self.core.admits(segment));
        if fresh && path.has_window() {
            // It leaves by itself, and will be noted as the probe.
            return None;
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
    ) -> Option<Transmit> {
        let path = PathId(index as u8);
        let order = self.core.paths[index].sent;
        let sent = self.core.paths[index].flight.resend(now, order, number)?;
        self.subflows[index].resent.push_back(Resent { number, order });
        let reason = SendReason::Retransmission;
        let bytes = sent.bytes;
        let data = Data { segment: sent.segment, bytes };
        let transmission = self.core.note_sent(now, path, data, reason, false, observer);
        let subflow = &mut self.core.paths[index];
        if self.config.rules.timer_restarts && number == subflow.flight.first() {
            subflow.retransmission_timer = Some(now.saturating_add(subflow.rtt.rto()));
        }
        self.arm_timers(now, index, false);
        let packet =
            Packet::Segment(Segment { data, subflow: number, timestamp: self.config.clock.at_sender(now) });
        Some(Transmit { path, packet, transmission })
    }

    /// A copy that leaves now: first what a silent subflow holds back, then what the scheduler wants.
    fn next_copy(&mut self) -> Option<(usize, u64)> {
        self.unpark();
        while let Some(&segment) = self.reinjections.front() {
            let entry = self.core.stream.get(segment).filter(|s| s.state == SegmentState::InFlight);
            let Some(entry) = entry else {
                self.reinjections.pop_front();
                continue;
            };
            let carried = entry.carried;
            let fresh = |path: &&Path| !carried.contains(path.id);
            // Nobody takes it now. Unless all carry it already and deliver it themselves, it waits for one that does.
            if !plait_sched::usable(&self.core.facts).any(|path| fresh(&path)) {
                self.reinjections.pop_front();
                if self.core.facts.iter().any(|path| fresh(&path)) {
                    self.parked.push_back(segment);
                    self.parked_without = self.usable();
                }
                continue;
            }
            let open = plait_sched::usable(&self.core.facts).filter(fresh).filter(|path| {
                let index = path.id.index();
                self.core.paths[index].has_window() && !self.core.has_awaited(index)
            });
            let Some(path) = open.min_by_key(|path| path.srtt) else { break };
            let index = path.id.index();
            self.reinjections.pop_front();
            return Some((index, segment));
        }
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
        plait_sched::usable(&self.core.facts).for_each(|path| usable.insert(path.id));
        usable
    }

    fn sets_looks(&self) -> u64 {
        self.subflows.iter().map(|subflow| subflow.arrived.looks()).sum()
    }

    /// When [`Sender::handle_timeout`] must be called next.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.subflows.iter().filter_map(Subflow::next_timer).chain(self.core.next_timer()).min()
    }
}
