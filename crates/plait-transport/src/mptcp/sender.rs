//! The sender: reading acknowledgements, and timers.

use super::marks::Marks;
use super::reinjection::Reinjections;
use super::rules::Losses;
use super::subflow::{Phase, Repair, Subflow};
use super::window::Seen;
use super::{CAPABILITIES, Config};
use crate::congestion::CongestionController;
use crate::core::{Core, OneWayDelays, PathConfig, PathNews, TransmissionState, moment};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::{Ack, Packet};
use crate::protocol::Side;
use plait_sched::{Duration, Event, PathId, PathSet, Scheduler, Time};
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
    pub(super) parked: VecDeque<u64>,
    pub(super) parked_without: PathSet,
    /// Packets of handshakes.
    pub(super) control: VecDeque<(PathId, Packet)>,
    /// The subflow into whose write queue data goes just now.
    pub(super) committing: Option<usize>,
    /// Which segments of plain TCP are marked.
    pub(super) marks: Marks,
    pub(super) started: bool,
    pub(super) side: Side,
    /// The peer speaks TCP.
    pub(super) fallen_back: bool,
}

impl<S: Scheduler> Sender<S> {
    /// A sender over `paths`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the scheduler needs what MPTCP does not offer;
    /// [`Error::SegmentSize`] if segments have more than 65,535 bytes.
    pub(super) fn new(config: Config, side: Side, paths: &[PathConfig], scheduler: S) -> Result<Self, Error> {
        let phase = if config.handshake { Phase::Closed } else { Phase::Open };
        let mut core = Core::new(config.connection, config.core_rules(), paths, scheduler, CAPABILITIES)?;
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
            committing: None,
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
        self.core.path(path.index()).delays()
    }

    /// The peer sent something on `path`: it is there, whatever that says.
    #[inline]
    pub(super) fn hear(&mut self, path: PathId) {
        if path.index() < self.subflows.len() {
            self.core.path_mut(path.index()).hear();
        }
    }

    /// Takes a packet that came back on `path`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn handle_packet(
        &mut self,
        now: Time,
        path: PathId,
        packet: &Packet,
        observer: &mut impl Observer,
    ) {
        match packet {
            Packet::Ack(ack) => {
                self.hear(path);
                if matches!(self.subflows[path.index()].phase, Phase::Opening { confirming: true, .. }) {
                    self.handle_syn_ack(now, path.index(), ack.timestamp, ack.echo, observer);
                }
                self.handle_ack(now, path.index(), ack, observer);
            }
            Packet::SynAck { timestamp, echo, window } => {
                self.hear(path);
                self.note_opening(path.index(), *window, *timestamp);
                self.handle_syn_ack(now, path.index(), *timestamp, *echo, observer);
            }
            _ => {}
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_ack(&mut self, now: Time, index: usize, ack: &Ack, observer: &mut impl Observer) {
        let flight = self.core.path(index).flight();
        // What acknowledges the unsent is not believed in anything.
        if ack.cumulative > flight.next() || ack.data > self.core.sent_end() {
            return;
        }
        if ack.plain && self.is_multipath() {
            self.fall_back();
        }
        self.note_window(index, ack);
        self.note_heard(now, index, observer);
        let data = self.core.first_unacknowledged();
        self.core.release(ack.data);
        self.note_data_acknowledged(now, data);
        if self.config.handshake {
            self.open_subflows(now);
        }
        self.core.note_opportunity();
        self.core.counters_mut().spurious_retransmissions += u64::from(ack.duplicate.is_some());
        let progress = match self.config.rules.losses {
            Losses::ByTime => self.acknowledged_as_linux(now, index, ack, observer),
            Losses::ByOrder => self.acknowledged_by_order(now, index, ack, observer),
        };
        // RFC 7323 §4.1: only an acknowledgement that advances tells a delay; others echo an older timestamp.
        if progress {
            let delays = self.core.path_mut(index).delays_mut();
            self.config.clock.sample(delays, now, ack.timestamp, ack.echo);
            self.core.touch(index);
        }
        self.carry_out_penalty(index);
    }

    /// What the scheduler asked for since the last acknowledgement, once and not while losses are repaired (plait_acked and halve in
    /// linux/schedulers/subflow.c: the window is written under the subflow's lock).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_out_penalty(&mut self, index: usize) {
        if self.core.path_mut(index).take_penalty() && !self.subflows[index].linux.is_repairing() {
            self.core.path_mut(index).control_mut().on_penalty();
            self.core.touch(index);
        }
    }

    /// Reads an acknowledgement by the standard rules, and brings the facts up to date. Returns whether the cumulative one
    /// advanced.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn acknowledged_by_order(
        &mut self,
        now: Time,
        index: usize,
        ack: &Ack,
        observer: &mut impl Observer,
    ) -> bool {
        let before = self.core.path(index).flight().first();
        let mut news = PathNews::before(self.core.path(index));
        self.note_duplicate(index, ack);
        let (latest, original) = self.read_numbers(now, index, ack, &mut news);
        self.subflows[index].linux.rack.adapt(latest, self.core.path(index).sent());
        let progress = self.core.path(index).flight().first() > before;
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
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_numbers(
        &mut self,
        now: Time,
        index: usize,
        ack: &Ack,
        news: &mut PathNews,
    ) -> (Option<u64>, bool) {
        let (first, next) = {
            let flight = self.core.path(index).flight();
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
        let progress = self.core.path(index).flight().first() > first;
        if let Some(rtt) = self.round_trip(now, ack.echo, sample.oldest, progress) {
            let path = self.core.path_mut(index);
            path.rtt_mut().sample(rtt);
            path.note_progress();
            news.rtt = Some(rtt);
            news.newest_rtt = sample.newest.map(|sent_at| now.since(sent_at));
        }
        (sample.latest, sample.original)
    }

    /// The round trip that an acknowledgement tells, if it acknowledges something new. `oldest`: when the oldest left that it
    /// acknowledges and that was sent once.
    ///
    /// RFC 7323 §4.1 takes it from the echoed timestamp, which is that of the segment that caused the acknowledgement: so it has no
    /// ambiguity (Karn) where that was a retransmission, and ends the back-off. If the oldest left at that tick or later, its own time
    /// says the same without the clock's granularity.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn round_trip(&self, now: Time, echo: u32, oldest: Option<Time>, progress: bool) -> Option<Duration> {
        let clock = &self.config.clock;
        let exact = oldest.filter(|&sent_at| !progress || clock.is_sent_since(echo, sent_at));
        let echoed = || progress.then(|| clock.since_sent(now, echo)).flatten();
        exact.map(|sent_at| now.since(sent_at)).or_else(echoed)
    }

    /// The receiver has the transmission with this number. Only one that was never sent again tells a round trip (Karn).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn settle(&mut self, now: Time, index: usize, number: u64, news: &mut PathNews, sample: &mut Sample) {
        let path = self.core.path_mut(index);
        let left = path.flight_mut().leave(number, TransmissionState::Acknowledged).map(|(sent, _)| sent);
        let Some(sent) = left.or_else(|| path.flight_mut().revive(number)) else { return };
        news.bytes += u64::from(sent.bytes());
        news.segments += 1;
        sample.latest = sample.latest.max(Some(sent.order(number)));
        sample.original |= sent.first_time() && number < path.recovery_end();
        let plausible = sent.first_time() || now.since(sent.sent_at) >= path.rtt().min();
        if sent.first_time() && left.is_some() {
            sample.oldest = Some(sample.oldest.map_or(sent.sent_at, |oldest| oldest.min(sent.sent_at)));
            sample.newest = sample.newest.max(Some(sent.sent_at));
            let late = Some(sent.order(number)) < sample.highest;
            self.subflows[index].linux.rack.reordered |= late;
            self.core.counters_mut().reorderings += u64::from(late);
        }
        // An answer that comes sooner than any round trip is that of an earlier copy.
        if plausible {
            let subflow = &mut self.subflows[index];
            // RFC 8985 §6.2: the round trip of the one that was sent last.
            if Some(sent.order(number)) >= subflow.latest_arrived[0] {
                subflow.latest_round_trip = now.since(sent.sent_at);
            }
            subflow.note_arrival(sent.order(number));
        }
    }

    /// Something arrived on the subflow: it works, its window may grow, and what was overtaken is lost.
    #[cfg_attr(not(debug_assertions), inline(always))]
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
        if self.core.path(index).flight().segments() == 0 {
            self.core.path_mut(index).control_mut().on_drained();
        }
        self.core.touch(index);
        self.tell_acknowledged(index, news);
    }

    /// Something arrived on the subflow: it works, and so does the peer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_alive(
        &mut self,
        now: Time,
        index: usize,
        news: &PathNews,
        observer: &mut impl Observer,
    ) {
        let path = self.core.path_mut(index);
        path.forgive();
        path.note_delivery(now, news.bytes);
        let working = path.working_state();
        self.core.set_state(now, index, working, observer);
    }

    /// The scheduler hears of what was acknowledged; the facts are up to date.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn tell_acknowledged(&mut self, index: usize, news: &PathNews) {
        let path = PathId(index as u8);
        self.core.notify(&Event::Acked { path, segments: news.segments, rtt: news.rtt });
    }

    /// Duplicate acknowledgements do not grow the window (RFC 5681 §3.2, step 1: it MUST NOT change before the third one). What
    /// they report grows it once an acknowledgement advances, if it was reordering and no loss.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn grow_window(&mut self, now: Time, index: usize, news: &PathNews, progress: bool) {
        let subflow = &mut self.subflows[index];
        if self.config.connection.grow_in_recovery {
            self.core.grow_window(now, index, news);
        } else if subflow.repair == Repair::Fast {
            let withheld = core::mem::take(&mut subflow.withheld);
            self.core.path_mut(index).control_mut().on_repaired(news.bytes + withheld);
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
            if due(self.core.path(index).retransmission_timer()) {
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
        let begun = (self.subflows.iter().zip(self.core.paths()))
            .filter(|(subflow, _)| subflow.phase != Phase::Closed);
        self.started && begun.map(|(_, path)| path.silence()).min().is_some_and(|fewest| fewest > most)
    }

    pub(super) fn looks(&self) -> u64 {
        self.subflows.iter().map(|subflow| subflow.arrived.looks()).sum()
    }

    /// When [`Sender::handle_timeout`] must be called next; [`Time::MAX`] for never.
    #[cfg_attr(not(debug_assertions), inline(always))]
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
