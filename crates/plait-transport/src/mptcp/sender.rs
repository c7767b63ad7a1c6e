//! The sender: reading acknowledgements, and timers.

use super::marks::Marks;
use super::reinjection::Reinjections;
use super::rules::Losses;
use super::subflow::{Phase, Subflow};
use super::window::Seen;
use super::{CAPABILITIES, Config};
use crate::congestion::CongestionEvent;
use crate::core::{Core, OneWayDelays, PathConfig};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::tcp::{Ack, Packet};
use crate::protocol::Side;
use plait_sched::{PathId, PathSet, Scheduler, Time};
use std::collections::VecDeque;

/// The sending part of an end of a connection.
///
/// After every input ([`Sender::handle_ack`], [`Sender::handle_timeout`]), the caller must call
/// [`Sender::transmit`] and check [`Sender::next_timer`].
#[derive(Clone, Debug)]
pub(crate) struct Sender<S> {
    pub(super) core: Core<S, Subflow>,
    pub(super) config: Config,
    /// Segments of the stream that a silent subflow has not delivered, ascending. Any subflow that
    /// has not carried them may.
    pub(super) reinjections: VecDeque<u64>,
    /// The connection's own retransmissions.
    pub(super) repeats: Reinjections,
    /// Last information from the peer on each subflow.
    pub(super) seen: Vec<Seen>,
    /// Reinjections that no usable subflow may carry, and the subflows that were usable then.
    pub(super) parked: VecDeque<u64>,
    pub(super) parked_without: PathSet,
    /// Packets of handshakes.
    pub(super) control: VecDeque<(PathId, Packet)>,
    /// The subflow whose write queue is being filled.
    pub(super) committing: Option<usize>,
    /// State of the PSH marks of plain TCP.
    pub(super) marks: Marks,
    pub(super) started: bool,
    /// Some subflow has not begun its handshake.
    pub(super) unopened: bool,
    /// Lost segments or probes waited when [`Sender::transmit`] began. It adds none.
    pub(super) repairs: bool,
    pub(super) side: Side,
    /// True if the connection fell back to TCP.
    pub(super) fallen_back: bool,
}

impl<S: Scheduler> Sender<S> {
    /// Creates a sender over `paths`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the scheduler needs a feature that MPTCP does not offer;
    /// [`Error::SegmentSize`] if segments have more than 65,535 bytes.
    pub(super) fn new(
        config: &Config,
        side: Side,
        paths: &[PathConfig],
        scheduler: S,
    ) -> Result<Self, Error> {
        let subflow = || Subflow::new(config);
        let (connection, rules) = (config.connection.clone(), config.core_rules());
        let mut core = Core::new(connection, rules, paths, subflow, scheduler, CAPABILITIES)?;
        if config.handshake {
            core.close_paths();
        }
        let mut sender = Self {
            core,
            config: config.clone(),
            reinjections: VecDeque::new(),
            repeats: Reinjections::new(paths.len()),
            seen: vec![Seen::default(); paths.len()],
            parked: VecDeque::new(),
            parked_without: PathSet::EMPTY,
            control: VecDeque::new(),
            committing: None,
            marks: Marks::default(),
            started: !config.handshake || side == Side::Server,
            unopened: config.handshake,
            repairs: false,
            side,
            fallen_back: false,
        };
        sender.begin_window();
        Ok(sender)
    }

    /// Returns a path's one-way delays by timestamps.
    pub(super) fn delays(&self, path: PathId) -> Option<OneWayDelays> {
        self.core.paths[path.index()].delays
    }

    /// Records any packet of the peer on `path`: the peer is reachable there.
    #[inline]
    pub(super) fn hear(&mut self, path: PathId) {
        if path.index() < self.core.paths.len() {
            self.core.paths[path.index()].silence = 0;
        }
    }

    /// Handles an acknowledgement that came back on `path`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn handle_ack(&mut self, now: Time, path: PathId, ack: &Ack, observer: &mut impl Observer) {
        let index = path.index();
        self.hear(path);
        if matches!(self.core.paths[index].recovery.phase, Phase::Opening { confirming: true, .. }) {
            self.finish_opening(now, index, (ack.timestamp, ack.echo), observer);
        }
        let flight = &self.core.paths[index].flight;
        // An acknowledgement of unsent data is ignored completely.
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
        // RFC 7323 §4.1: only an acknowledgement that advances measures a delay; others echo an
        // older timestamp.
        if progress {
            self.core.paths[index].sample_delays(now, ack.timestamp, ack.echo);
        }
        self.carry_out_penalty(now, index);
    }

    /// Applies the penalty that the scheduler asked for since the last acknowledgement. It applies
    /// once, and not during loss recovery (plait_acked and halve in linux/schedulers/subflow.c: the
    /// window is written under the subflow's lock).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_out_penalty(&mut self, now: Time, index: usize) {
        let path = &mut self.core.paths[index];
        if core::mem::take(&mut path.penalty) && !path.recovery.linux.is_repairing() {
            path.note_congestion(now, CongestionEvent::Penalty);
        }
    }

    /// Records an arrival on the subflow: the subflow and the peer work.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_alive(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let path = &mut self.core.paths[index];
        path.errors = 0;
        path.note_delivery(now, path.news.ack.bytes);
        let working = path.working_state();
        self.core.set_state(now, index, working, observer);
    }

    /// Handles expired timers. Call it when [`Sender::next_timer`] has come; it is harmless at
    /// any other time.
    ///
    /// # Errors
    /// [`Error::PeerUnreachable`] after too many timeouts in a row.
    pub(super) fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        for index in 0..self.core.paths.len() {
            self.retry_open(now, index);
            if self.core.paths[index].retransmission_timer <= now {
                self.retransmission_timeout(now, index, observer);
                continue;
            }
            let by_time = self.config.rules.losses == Losses::ByTime;
            if self.core.paths[index].recovery.loss_timer <= now {
                if by_time {
                    self.loss_timer_ran_out(now, index);
                } else {
                    let losses = self.core.paths[index].find_lost(now);
                    if losses > 0 {
                        self.core.tell_lost(index, losses);
                    }
                    self.core.paths[index].touch();
                }
            }
            if self.core.paths[index].recovery.probe_timer <= now {
                if by_time {
                    self.probe_timer_ran_out(now, index);
                } else {
                    self.core.paths[index].probe_timeout();
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

    /// True once every opened subflow has been silent too often. A subflow that answers, or that
    /// was sent nothing, shows that the peer is alive, even if another one has long been dead.
    /// Linux agrees: each subflow gives up by itself, and the connection ends with the last one.
    fn is_peer_silent(&self) -> bool {
        let most = self.config.connection.association_max_retransmissions;
        let begun = self.core.paths.iter().filter(|path| path.recovery.phase != Phase::Closed);
        self.started && begun.map(|path| path.silence).min().is_some_and(|fewest| fewest > most)
    }

    pub(super) fn looks(&self) -> u64 {
        self.core.paths.iter().map(|path| path.recovery.arrived.looks()).sum()
    }

    /// Returns the time of the next call of [`Sender::handle_timeout`]; [`NEVER`] if none is set.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_timer(&self) -> Time {
        self.core.next_timer(Subflow::next_timer).min(self.repeats.timer())
    }

    /// True if this end has no data to send and opens no subflows.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.side == Side::Server && !self.core.has_written()
    }
}
