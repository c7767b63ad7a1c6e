//! Opening paths: a handshake on the first, validation of the others (RFC 9000 §8.2,
//! draft-ietf-quic-multipath-21 §3.1).

use super::sender::Sender;
use super::space::Phase;
use crate::observer::Observer;
use crate::packet::quic::{Challenge, OneRtt, Packet};
use crate::protocol::Side;
use plait_sched::{PathId, Scheduler, Time};

/// The peer's packet that opens a path, and its sending time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    Initial(Time),
    Challenge(Time),
}

impl<S: Scheduler> Sender<S> {
    /// The client starts the handshake; paths are validated after it. If paths may be cut, all
    /// start at once.
    pub(super) fn open_paths(&mut self, now: Time) {
        if self.side == Side::Server {
            return;
        }
        let first = self.config.initial_path.index();
        if self.core.paths[first].recovery.phase == Phase::Closed {
            self.open(now, first);
        }
        if self.config.watchful || self.core.paths.iter().any(|path| path.recovery.phase == Phase::Open) {
            for index in 0..self.core.paths.len() {
                if self.core.paths[index].recovery.phase == Phase::Closed {
                    self.open(now, index);
                }
            }
        }
    }

    pub(super) fn open(&mut self, now: Time, index: usize) {
        let retry = now.saturating_add(self.core.paths[index].rtt.rto());
        self.core.paths[index].recovery.phase = Phase::Opening { retry };
        let path = PathId(index as u8);
        let packet = if path == self.config.initial_path {
            Packet::Initial { sent_at: now }
        } else {
            let number = self.number(now, path);
            Packet::OneRtt(OneRtt { challenge: Some(Challenge::Asked(now)), ..OneRtt::new(number) })
        };
        self.control.push_back((path, packet));
    }

    /// Repeats an opening packet that was not answered.
    pub(super) fn retry_open(&mut self, now: Time, index: usize) {
        if let Phase::Opening { retry } = self.core.paths[index].recovery.phase
            && retry <= now
        {
            let path = &mut self.core.paths[index];
            path.counters.timeouts += 1;
            path.rtt.back_off();
            path.silence += 1;
            self.open(now, index);
        }
    }

    /// Answers the peer's opening of a path, which may be used from then on. (The limit on data
    /// sent before the client's address is validated, RFC 9000 §8.1, is not modelled.)
    pub(super) fn answer(
        &mut self,
        now: Time,
        path: PathId,
        question: Question,
        observer: &mut impl Observer,
    ) {
        let Some(index) = self.known(path) else { return };
        let answer = match question {
            Question::Initial(sent_at) => Packet::InitialReply { sent_at },
            Question::Challenge(asked) => {
                let number = self.number(now, path);
                // Its acknowledgement gives this end a round-trip sample, as the answer gives the
                // other end one.
                self.core.paths[index].recovery.time_later(number, now);
                Packet::OneRtt(OneRtt { challenge: Some(Challenge::Answered(asked)), ..OneRtt::new(number) })
            }
        };
        self.control.push_back((path, answer));
        if self.core.paths[index].recovery.phase != Phase::Open {
            self.begin(now, index, observer);
        }
    }

    /// The answer: `sent_at` is when the question left, as it says itself.
    pub(super) fn opened(&mut self, now: Time, path: PathId, sent_at: Time, observer: &mut impl Observer) {
        let Some(index) = self.known(path) else { return };
        if matches!(self.core.paths[index].recovery.phase, Phase::Opening { .. }) {
            self.core.paths[index].note_handshake(now, now.since(sent_at));
            self.begin(now, index, observer);
            self.open_paths(now);
        }
    }

    fn begin(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        self.core.paths[index].recovery.phase = Phase::Open;
        let path = &mut self.core.paths[index];
        path.silence = 0;
        let state = path.open(now);
        self.core.set_state(now, index, state, observer);
    }

    /// The place of a path that there is.
    fn known(&self, path: PathId) -> Option<usize> {
        Some(path.index()).filter(|&index| index < self.core.paths.len())
    }
}
