//! Random facts of all sizes, beyond those of the model engine: the arithmetic must handle them
//! too.

use std::vec::Vec;

use super::random::Random;
use crate::{
    Connection, Decision, Duration, Event, Message, Outstanding, Path, PathId, PathSet, PathState, Scheduler,
    Time,
};

/// Decisions at one moment at most: with some facts a scheduler would never wait.
const ASKED: u32 = 24;

pub(super) struct Extremes {
    now: Time,
    connection: Connection,
    paths: Vec<Path>,
    /// Times are below 2^`scale` ns: where they are a few nanoseconds, many are equal.
    scale: u64,
    random: Random,
    /// For messages and later facts: the other facts stay as they were without them.
    later: Random,
}

impl Extremes {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        // With few paths, all of them are steady at once more often.
        let count = if random.one_in(2) { random.between(2, 3) } else { random.between(1, 8) };
        let paths = (0..count).map(|id| Path::new(PathId(id as u8), 1460)).collect();
        let scale = [4, 12, 40, 52][random.between(0, 3) as usize];
        let mut extremes = Self {
            now: Time::ZERO,
            connection: Connection::default(),
            paths,
            scale,
            random,
            later: Random::new(!seed),
        };
        // Most facts are drawn in the first few rounds.
        for _ in 0..4 {
            extremes.change();
        }
        extremes
    }

    /// Changes facts, reports events, and asks the scheduler until it waits.
    pub(super) fn opportunity(&mut self, scheduler: &mut impl Scheduler) {
        self.change();
        for _ in 0..self.random.between(0, 4) {
            if self.random.one_in(8) {
                self.change();
            }
            let event = self.event();
            scheduler.on_event(&event, &self.connection, &self.paths);
        }
        for _ in 0..ASKED {
            let decision = scheduler.decide(self.now, &self.connection, &self.paths);
            if matches!(decision, Decision::Wait { .. }) {
                break;
            }
            self.carry_out(decision);
            // Facts also change within an opportunity, without an event.
            if self.random.one_in(16) {
                self.change();
            }
        }
    }

    /// A number of any size up to 2^`bits`.
    fn number(&mut self, bits: u64) -> u64 {
        let size = self.random.between(0, bits);
        // The generator gives 48 bits.
        let drawn = size.min(40);
        self.random.between(0, 1 << drawn) << (size - drawn)
    }

    fn amount(&mut self, bits: u64) -> u32 {
        self.number(bits) as u32
    }

    fn time(&mut self) -> Duration {
        Duration::from_nanos(self.number(self.scale))
    }

    /// Draws one fact in four again.
    fn change(&mut self) {
        if self.random.one_in(2) {
            let passed = self.time();
            self.now += passed;
        }
        for i in 0..self.paths.len() {
            let mut path = self.paths[i].clone();
            self.change_state(&mut path);
            self.change_amounts(&mut path);
            self.change_times(&mut path);
            self.paths[i] = path;
        }
        self.change_connection();
        self.change_messages();
        self.change_later();
    }

    fn change_state(&mut self, path: &mut Path) {
        if self.random.one_in(4) {
            path.state = match self.random.between(0, 9) {
                0 => PathState::Failed,
                1 => PathState::PotentiallyFailed,
                2 | 3 => PathState::Backup,
                _ => PathState::Active,
            };
        }
        if self.random.one_in(4) {
            path.in_recovery = self.random.one_in(8);
            path.repairing = path.in_recovery || self.random.one_in(8);
        }
    }

    fn change_amounts(&mut self, path: &mut Path) {
        if self.random.one_in(4) {
            path.mss = self.random.between(1, 9_000) as u32;
        }
        if self.random.one_in(4) {
            path.cwnd = if self.random.one_in(2) { self.amount(5) } else { self.amount(20) };
        }
        if self.random.one_in(4) {
            path.ssthresh = if self.random.one_in(4) { u32::MAX } else { self.amount(4) };
        }
        if self.random.one_in(4) {
            // The interesting cases are close to the window.
            path.in_flight = self.random.between(0, u64::from(path.cwnd) + 2) as u32;
        }
        if self.random.one_in(4) {
            path.queued = if self.random.one_in(2) { 0 } else { self.amount(30) };
        }
        if self.random.one_in(4) {
            path.loss_ppm =
                [0, 1, 999_999, 1_000_000, 1_000_001, self.amount(20)][self.random.between(0, 5) as usize];
        }
        if self.random.one_in(4) {
            path.cost = self.amount(8);
        }
    }

    fn change_times(&mut self, path: &mut Path) {
        if self.random.one_in(4) {
            path.srtt = match self.random.between(0, 15) {
                0 => Duration::ZERO,
                1..=4 => Duration::from_millis(10 * self.random.between(1, 6)),
                _ => Duration::from_nanos(1) + self.time(),
            };
        }
        if self.random.one_in(4) {
            path.rttvar = path.srtt / 4;
            path.latest_rtt = self.time();
            path.min_rtt = self.time();
            path.own_rtt = if self.random.one_in(3) { path.srtt } else { self.time() };
        }
        if self.random.one_in(4) {
            path.rto = self.time();
        }
        if self.random.one_in(4) {
            let size = if self.scale == 4 { 4 } else { 50 };
            let offset = self.number(size) as i64 - (1 << (size - 1));
            path.forward_delay = (!self.random.one_in(3)).then_some(offset);
        }
        if self.random.one_in(4) {
            path.delivery_rate = if self.random.one_in(8) { 0 } else { self.number(38) };
            path.pacing_rate = Some(path.delivery_rate).filter(|rate| rate % 2 == 1);
        }
    }

    fn change_connection(&mut self) {
        if self.random.one_in(4) {
            self.connection.unassigned = if self.random.one_in(8) { u64::MAX } else { self.number(24) };
        }
        if self.random.one_in(2) {
            self.connection.window_left = if self.random.one_in(3) { 0 } else { self.number(24) };
        }
        if self.random.one_in(4) {
            self.connection.window = self.connection.window_left + self.number(24);
        }
        if self.random.one_in(4) {
            self.connection.next_segment = self.number(40);
            self.connection.send_buffer_left = self.number(24);
            self.connection.finished = self.random.one_in(2);
        }
        if self.random.one_in(4) {
            let path = self.path();
            // A segment whose only carriers are gone has no carrier.
            let carried = PathSet(self.random.between(0, (1 << self.paths.len()) - 1) as u32);
            let oldest = Outstanding { segment: self.number(2), path, carried };
            self.connection.oldest_unacked = (!self.random.one_in(8)).then_some(oldest);
        }
    }

    fn change_messages(&mut self) {
        let random = &mut self.later;
        let size = random.between(0, 40);
        let number = |random: &mut Random| random.between(0, 1 << size);
        let deadline = random.one_in(2).then(|| Time::from_nanos(number(random) << self.scale.min(20)));
        let message = Message {
            number: number(random),
            stream: number(random) as u32,
            segments_left: if random.one_in(8) { u64::MAX } else { number(random) },
            priority: number(random) as u8,
            deadline,
        };
        self.connection.message = (!random.one_in(8)).then_some(message);
        self.connection.streams = random.between(0, 4) as u32;
        self.connection.due = deadline;
    }

    fn change_later(&mut self) {
        for path in &mut self.paths {
            if self.later.one_in(4) {
                let weights = [0, 1, 2, 3, 65_535, 65_536, u32::MAX];
                path.weight = weights[self.later.between(0, weights.len() as u64 - 1) as usize];
            }
            if self.later.one_in(4) {
                path.uncarried = (!self.later.one_in(3)).then_some(self.later.between(0, 9));
            }
        }
    }

    fn path(&mut self) -> PathId {
        PathId(self.random.between(0, self.paths.len() as u64 - 1) as u8)
    }

    fn event(&mut self) -> Event {
        let path = self.path();
        match self.random.between(0, 15) {
            0 => Event::Timeout { path },
            1 => Event::PathDown { path },
            2 => Event::PathUp { path },
            3 => Event::Lost { path, segments: self.amount(8) },
            4..=7 => Event::Sent {
                path,
                segment: self.connection.next_segment,
                retransmission: self.random.one_in(4),
            },
            8 => Event::Acked { path, segments: self.amount(8), rtt: None },
            _ => {
                // Within about a tenth of the last sample.
                let last = self.paths[path.index()].latest_rtt.as_nanos();
                let sample = if self.random.one_in(8) {
                    self.number(self.scale)
                } else {
                    last - last / 8 + self.random.between(0, last / 4)
                };
                let rtt = Duration::from_nanos(sample.max(1));
                self.paths[path.index()].latest_rtt = rtt;
                Event::Acked { path, segments: self.amount(8), rtt: Some(rtt) }
            }
        }
    }

    /// Carries out a decision roughly as an engine does.
    fn carry_out(&mut self, decision: Decision) {
        let connection = &mut self.connection;
        match decision {
            Decision::Assign { path, segments } => {
                let path = &mut self.paths[path.index()];
                path.queued = path.queued.saturating_add(segments);
                connection.unassigned = connection.unassigned.saturating_sub(u64::from(segments));
                connection.window_left = connection.window_left.saturating_sub(u64::from(segments));
            }
            Decision::Recall { path } => self.paths[path.index()].queued = 0,
            Decision::Limit { path, in_flight } => self.paths[path.index()].limit = in_flight,
            Decision::Penalize { path } => self.paths[path.index()].cwnd /= 2,
            Decision::Defer => {}
            Decision::Reinject { path, .. } => {
                if let Some(oldest) = &mut connection.oldest_unacked {
                    oldest.carried.insert(path);
                }
            }
            Decision::Wait { .. } => {}
        }
    }
}
