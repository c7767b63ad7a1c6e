//! The sender: reading acknowledgements, and timers.

use super::marks::Marks;
use super::reinjection::Reinjections;
use super::rules::Losses;
use super::subflow::{Phase, Subflow};
use super::window::Seen;
use super::{CAPABILITIES, Config};
use crate::congestion::{CongestionController, CongestionEvent};
use crate::core::{Core, OneWayDelays, PathConfig, PathSender, moment};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::{Ack, Packet};
use crate::protocol::Side;
use plait_sched::{PathId, PathSet, Scheduler, Time};
use std::collections::VecDeque;

/// One end of a connection, sending.
///
/// Every input ([`Sender::write`], [`Sender::handle_packet`], [`Sender::handle_timeout`]) is to be followed by
/// [`Sender::transmit`] and a look at [`Sender::poll_timeout`].
#[derive(Clone, Debug)]
pub(crate) struct Sender<S> {
    pub(super) core: Core<S, Subflow>,
    pub(super) config: Config,
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
        let subflow = || Subflow::new(&config);
        let (connection, rules) = (config.connection, config.core_rules());
        let mut core = Core::new(connection, rules, paths, subflow, scheduler, CAPABILITIES)?;
        if config.handshake {
            core.close_paths();
        }
        let mut sender = Self {
            core,
            config,
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
        self.core.path(path.index()).delays
    }

    /// The peer sent something on `path`: it is there, whatever that says.
    #[inline]
    pub(super) fn hear(&mut self, path: PathId) {
        if path.index() < self.core.paths().len() {
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
                if matches!(
                    self.core.path(path.index()).recovery.phase,
                    Phase::Opening { confirming: true, .. }
                ) {
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
        let flight = &self.core.path(index).flight;
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
            let path = self.core.path_mut(index);
            self.config.clock.sample(&mut path.delays, now, ack.timestamp, ack.echo);
            path.touch();
        }
        self.carry_out_penalty(now, index);
    }

    /// What the scheduler asked for since the last acknowledgement, once and not while losses are repaired (plait_acked and halve in
    /// linux/schedulers/subflow.c: the window is written under the subflow's lock).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_out_penalty(&mut self, now: Time, index: usize) {
        let path = self.core.path_mut(index);
        if path.take_penalty() && !path.recovery.linux.is_repairing() {
            path.control.on_event(now, CongestionEvent::Penalty);
            path.touch();
        }
    }

    /// Something arrived on the subflow: it works, and so does the peer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_alive(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let path = self.core.path_mut(index);
        path.forgive();
        path.note_delivery(now, path.news.bytes);
        let working = path.working_state();
        self.core.set_state(now, index, working, observer);
    }

    /// Call when [`Sender::poll_timeout`] has come; harmless at any other time.
    ///
    /// # Errors
    /// [`Error::PeerUnreachable`] once too many timeouts came in a row.
    pub(super) fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        for index in 0..self.core.paths().len() {
            self.retry_open(now, index);
            let due = |timer: Option<Time>| timer.is_some_and(|timer| timer <= now);
            if due(self.core.path(index).retransmission_timer) {
                self.retransmission_timeout(now, index, observer);
                continue;
            }
            let by_time = self.config.rules.losses == Losses::ByTime;
            if due(self.core.path(index).recovery.loss_timer) {
                if by_time {
                    self.loss_timer_ran_out(now, index);
                } else {
                    let losses = self.core.path_mut(index).find_lost(now);
                    if losses > 0 {
                        self.core.tell_lost(index, losses);
                    }
                    self.core.touch(index);
                }
            }
            if due(self.core.path(index).recovery.probe_timer) {
                if by_time {
                    self.probe_timer_ran_out(now, index);
                } else {
                    self.core.path_mut(index).probe_timeout();
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
        let begun = self.core.paths().iter().filter(|path| path.recovery.phase != Phase::Closed);
        self.started && begun.map(PathSender::silence).min().is_some_and(|fewest| fewest > most)
    }

    pub(super) fn looks(&self) -> u64 {
        self.core.paths().iter().map(|path| path.recovery.arrived.looks()).sum()
    }

    /// When [`Sender::handle_timeout`] must be called next; [`Time::MAX`] for never.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_timer(&self) -> Time {
        let own = self.core.next_timer().min(moment(self.repeats.timer()));
        self.core.paths().iter().fold(own, |next, path| next.min(path.recovery.next_timer()))
    }

    /// True if this end has nothing to send and opens nothing.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.side == Side::Server && !self.core.has_written()
    }
}
