//! The packet number space of a path: evaluation of its acknowledgements.

use super::Config;
use super::ecn::Marking;
use super::late::BelievedLost;
use crate::core::{NEVER, PathSender};
use crate::packet::quic::PathAck;
use crate::run_set::RunSet;
use plait_sched::{Duration, Time};
use std::collections::VecDeque;

/// How far a path is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing was sent on it.
    Closed,
    /// An opening packet is in flight; it is repeated at this time.
    Opening { retry: Time },
    /// Carries data.
    Open,
}

/// The packet numbers of one path.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(super) phase: Phase,
    /// Numbers that were acknowledged, from the oldest packet in flight on.
    pub(super) acknowledged: RunSet,
    /// The largest of them.
    pub(super) largest: Option<u64>,
    /// Taken for lost.
    pub(super) believed_lost: BelievedLost,
    /// When packets that others overtook count as lost.
    pub(super) loss_timer: Time,
    /// When the path is set aside, unless its probes are answered.
    pub(super) verdict: Time,
    /// The peer hears nothing on it, and said so on another path.
    pub(super) silent: bool,
    /// Number of PATH_STATUS_BACKUP frames that this end sent for the path.
    pub(super) backups_sent: u32,
    /// The largest sequence number of the peer's PATH_STATUS_BACKUP frames for the path.
    pub(super) backup_received: Option<u32>,
    /// The peer cannot use the path, until it acknowledges a packet from this number on.
    pub(super) withdrawn_until: Option<u64>,
    /// DATA_BLOCKED left on it, and the limit has not moved since.
    pub(super) asked: bool,
    /// How often it left since the limit moved.
    pub(super) questions: u32,
    /// Probe packets that leave now with any window, to get an answer.
    pub(super) probes: u8,
    /// When the last packet left that carries nothing and wants to be answered.
    pub(super) pinged_at: Time,
    /// Numbers and sending times of packets that are not in the flight, for round-trip samples:
    /// packets without data, and packets that another path's acknowledgement reported first.
    pub(super) untimed: VecDeque<(u64, Time)>,
    /// The segment that the last probe repeated.
    pub(super) probed: Option<u64>,
    pub(super) marking: Marking,
    /// The longest that the peer delays an acknowledgement.
    pub(super) ack_delay: Duration,
    /// Packets found lost at the moment.
    pub(super) lost: Vec<u64>,
}

/// Maximum number of packets without a round-trip sample that are remembered per path: the path may
/// have stopped answering.
const MOST_UNTIMED: usize = 1 << 12;

impl Space {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            phase: if config.handshake { Phase::Closed } else { Phase::Open },
            acknowledged: RunSet::new(),
            largest: None,
            believed_lost: BelievedLost::default(),
            loss_timer: NEVER,
            verdict: NEVER,
            silent: false,
            backups_sent: 0,
            backup_received: None,
            withdrawn_until: None,
            asked: false,
            questions: 0,
            probes: 0,
            pinged_at: Time::ZERO,
            untimed: VecDeque::new(),
            probed: None,
            marking: Marking::new(config.ecn),
            ack_delay: config.ack_delay,
            lost: Vec::with_capacity(64),
        }
    }

    /// When the first of the path's own timers runs out; [`NEVER`] if none is set.
    #[inline]
    pub(super) fn next_timer(&self) -> Time {
        let timers = self.loss_timer.min(self.verdict);
        match self.phase {
            Phase::Opening { retry } => retry.min(timers),
            Phase::Closed | Phase::Open => timers,
        }
    }

    /// Notes that this packet's acknowledgement gives a round-trip sample, if it comes on the path.
    pub(super) fn time_later(&mut self, number: u64, sent_at: Time) {
        let place = self.untimed.partition_point(|packet| packet.0 < number);
        self.untimed.insert(place, (number, sent_at));
        let beyond = self.untimed.len().saturating_sub(MOST_UNTIMED);
        self.untimed.drain(..beyond);
    }
}

impl PathSender<Space> {
    /// True if the acknowledgement names only sent packets. Otherwise it is ignored.
    pub(super) fn may_acknowledge(&self, ack: &PathAck) -> bool {
        ack.largest().is_some_and(|largest| largest < self.flight.next())
    }

    /// Reads the ranges of an acknowledgement. `own`: it came on this path. Calls `settled` for
    /// each packet with data that it newly acknowledges, with its number and its segment.
    ///
    /// Packets acknowledged over another path stay untimed, or a slow path would never get a
    /// round-trip sample.
    pub(super) fn read_ranges(&mut self, own: bool, ack: &PathAck, mut settled: impl FnMut(u64, u64)) -> u64 {
        let first = self.flight.first();
        self.recovery.acknowledged.advance(first);
        let mut newly = 0;
        for &(from, to) in ack.ranges() {
            if to < first {
                break;
            }
            // Nothing before the end of such a range remains in flight.
            let in_order = from <= first;
            let mut number = self.recovery.acknowledged.first_absent(from.max(first));
            while number <= to {
                if !in_order {
                    self.recovery.acknowledged.insert(number);
                }
                let sent = self.flight.get(number).filter(|_| !own);
                if let Some(sent_at) = sent.filter(|sent| sent.bytes() > 0).map(|sent| sent.sent_at) {
                    self.recovery.time_later(number, sent_at);
                }
                if let Some(sent) = self.acknowledge(number) {
                    newly += 1;
                    settled(number, sent.segment);
                }
                number = self.recovery.acknowledged.first_absent(number + 1);
            }
            if in_order {
                self.recovery.acknowledged.advance(to + 1);
            }
        }
        newly
    }

    /// Handles an answer on the path: takes the round trip of the acknowledgement's largest packet,
    /// if it was sent at `newest` or is untimed, and ends the back-off if the acknowledgement
    /// `tells` something new.
    pub(super) fn hear_answer(
        &mut self,
        now: Time,
        ack: &PathAck,
        largest: u64,
        tells: bool,
        newest: Option<Time>,
    ) {
        let untimed = self.take_untimed(largest);
        if tells {
            // RFC 9002 §6.2.1: the path answers, so its probe timeout follows from its round trips
            // alone.
            self.rtt.end_back_off();
        }
        if let Some(sent_at) = newest.or(untimed) {
            let round_trip = now.since(sent_at);
            // RFC 9002 §5.3: the acknowledgement delay is subtracted, unless the result is less
            // than the shortest round trip.
            self.rtt.sample_delayed(round_trip, ack.delay.min(self.recovery.ack_delay));
            self.note_progress();
            (self.news.ack.rtt, self.news.ack.newest_rtt) = (Some(round_trip), Some(round_trip));
        }
    }

    /// Returns the sending time of the packet with this number, if it is untimed. Forgets it and
    /// all earlier ones.
    fn take_untimed(&mut self, largest: u64) -> Option<Time> {
        let untimed = &mut self.recovery.untimed;
        let mut newest = None;
        while let Some(&(number, sent_at)) = untimed.front().filter(|packet| packet.0 <= largest) {
            newest = Some(sent_at).filter(|_| number == largest);
            untimed.pop_front();
        }
        newest
    }
}
