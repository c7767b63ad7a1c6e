//! Opening subflows: the first one, then the others join.
//!
//! For the data's sender, a subflow is open one round trip after its SYN left. For a join this is
//! the server's view, and the server sends most data. RFC 8684 §3.2 lets the opening side wait for
//! a fourth packet, as [`Joins::Confirmed`] does.

use super::rules::{Joins, Losses};
use super::sender::Sender;
use super::subflow::Phase;
use super::wheel;
use crate::observer::Observer;
use crate::packet::tcp::Packet;
use crate::protocol::Side;
use plait_sched::{Duration, PathId, Scheduler, Time};

impl<S: Scheduler> Sender<S> {
    /// Sends the SYN of a subflow, or the packet that authenticates the subflow.
    fn open(&mut self, now: Time, index: usize, first: bool, confirming: bool) {
        let rtt = &self.core.paths[index].rtt;
        let by_wheel = self.config.rules.losses == Losses::ByTime;
        let period = match rtt.smoothed() {
            smoothed if self.repeats_confirmation(confirming) && smoothed > Duration::ZERO => smoothed * 2,
            _ => rtt.rto(),
        };
        let retry = now.saturating_add(period);
        let retry = if by_wheel { wheel::runs_out(now, retry) } else { retry };
        self.core.paths[index].recovery.phase = Phase::Opening { sent_at: now, first, retry, confirming };
        let timestamp = self.config.clock.at_sender(now);
        let packet = if confirming { Packet::Confirm { timestamp } } else { Packet::Syn { timestamp } };
        self.control.push_back((PathId(index as u8), packet));
    }

    /// True if a packet that authenticates a subflow is repeated after two round trips, without a
    /// longer period each time (`schedule_3rdack_retransmission` in net/mptcp/options.c).
    fn repeats_confirmation(&self, confirming: bool) -> bool {
        confirming && self.config.rules.losses == Losses::ByTime
    }

    /// Records that the peer's SYN on a subflow was answered.
    pub(super) fn note_answered(&mut self, now: Time, path: PathId) {
        if let Some(path) = self.core.paths.get_mut(path.index()) {
            let subflow = &mut path.recovery;
            match subflow.phase {
                Phase::Closed => subflow.phase = Phase::Answered(Some(now)),
                Phase::Answered(_) => subflow.phase = Phase::Answered(None),
                Phase::Opening { .. } | Phase::Open => {}
            }
        }
    }

    /// Opens a subflow for this end too, because a packet came that requires the SYN/ACK. The time
    /// since the SYN/ACK is the first round trip (`tcp_synack_rtt_meas` in net/ipv4/tcp_input.c).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_accepted(&mut self, now: Time, path: PathId, observer: &mut impl Observer) {
        if matches!(self.core.paths[path.index()].recovery.phase, Phase::Answered(_)) {
            self.accept(now, path.index(), observer);
        }
    }

    #[inline(never)]
    fn accept(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let Phase::Answered(at) = self.core.paths[index].recovery.phase else { return };
        self.core.paths[index].recovery.phase = Phase::Open;
        self.core.set_open(true);
        let path = &mut self.core.paths[index];
        if let Some(at) = at {
            path.note_handshake(now, now.since(at));
        }
        let state = path.open(now);
        self.core.set_state(now, index, state, observer);
    }

    /// Opens the first subflow at the start, and the others once the first one is open.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn open_subflows(&mut self, now: Time) {
        if self.unopened && self.side == Side::Client {
            self.open_closed(now);
        }
    }

    #[inline(never)]
    fn open_closed(&mut self, now: Time) {
        let first = self.config.initial_path.index();
        if self.core.paths[first].recovery.phase == Phase::Closed {
            self.open(now, first, true, false);
        }
        let proved = self.config.rules.joins == Joins::AtOnce || self.core.stream.first() > 0;
        if self.core.paths[first].recovery.phase == Phase::Open && proved && self.is_multipath() {
            for index in 0..self.core.paths.len() {
                if self.core.paths[index].recovery.phase == Phase::Closed {
                    self.open(now, index, true, false);
                }
            }
        }
        self.unopened = self.core.paths.iter().any(|path| path.recovery.phase == Phase::Closed);
    }

    /// Retransmits the SYN of a subflow, or its confirmation, after a timeout.
    pub(super) fn retry_open(&mut self, now: Time, index: usize) {
        let Phase::Opening { retry, confirming, .. } = self.core.paths[index].recovery.phase else { return };
        if retry <= now {
            if !self.repeats_confirmation(confirming) {
                self.core.counters.timeouts += 1;
                self.core.paths[index].rtt.back_off();
                self.core.paths[index].silence += 1;
            }
            self.core.paths[index].recovery.ecn.agreed &= confirming;
            self.open(now, index, false, confirming);
        }
    }

    /// Handles the answer to a SYN, with its timestamp and its echo.
    pub(super) fn handle_syn_ack(
        &mut self,
        now: Time,
        path: PathId,
        (timestamp, echo): (u32, u32),
        window: u64,
        observer: &mut impl Observer,
    ) {
        self.hear(path);
        self.note_opening(path.index(), window, timestamp);
        self.finish_opening(now, path.index(), (timestamp, echo), observer);
    }

    /// Opens a subflow after the answer to its SYN, or to the packet that authenticated it.
    pub(super) fn finish_opening(
        &mut self,
        now: Time,
        index: usize,
        (timestamp, echo): (u32, u32),
        observer: &mut impl Observer,
    ) {
        let Phase::Opening { sent_at, first, confirming, .. } = self.core.paths[index].recovery.phase else {
            return;
        };
        let is_join = index != self.config.initial_path.index();
        let confirmed = confirming || !is_join || self.config.rules.joins == Joins::AtOnce;
        self.core.paths[index].recovery.phase = Phase::Open;
        self.core.set_open(true);
        let path = &mut self.core.paths[index];
        if first && !confirming {
            path.note_handshake(now, now.since(sent_at));
            self.config.clock.sample(&mut path.delays, now, timestamp, echo);
        } else if !confirming
            && self.config.rules.losses == Losses::ByTime
            && let Some(round_trip) = self.config.clock.since_sent(now, echo)
        {
            // The answer echoes the timestamp of its SYN (`tcp_rtt_tsopt_us` in net/ipv4/tcp_input.c).
            path.note_handshake(now, round_trip);
        }
        if !confirmed {
            self.core.note_answer(now.since(sent_at), index);
            self.open(now, index, true, true);
            return;
        }
        let state = path.open(now);
        let confirms = self.config.rules.joins == Joins::Confirmed;
        if !is_join && confirms || self.config.two_way && !confirming {
            let packet = Packet::Confirm { timestamp: self.config.clock.at_sender(now) };
            self.control.push_back((PathId(index as u8), packet));
        }
        self.core.set_state(now, index, state, observer);
        self.open_subflows(now);
    }
}
