//! A small engine in virtual time: enough of a transport to meet every situation, without its cost.
//!
//! The receiver's window is a credit of segments sent and not yet delivered in order. Like SCTP's
//! it always admits one segment when nothing is in flight. The engine retransmits lost segments on
//! any path with room.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::messages::Messages;
use super::random::Random;
use super::sender::{self, CopyInFlight, Sender};
use crate::{Capabilities, Connection, Duration, Event, Outstanding, Path, PathId, PathSet, PathState, Time};

/// Segments of a case at most, by default.
pub(super) const FEW: u64 = 200;

pub(super) struct Model {
    pub(super) now: Time,
    pub(super) paths: Vec<Path>,
    /// Events not yet reported to the scheduler.
    pub(super) events: Vec<Event>,
    senders: Vec<Sender>,
    random: Random,
    /// Segments are numbered from 0: `total` will be written, `written` have been.
    total: u64,
    written: u64,
    /// Recalled segments, which return to their place in the order.
    recalled: BTreeSet<u64>,
    /// Data that was never assigned, and the message of each segment.
    messages: Messages,
    /// Lost segments that wait for retransmission.
    lost: BTreeSet<u64>,
    /// Whether each segment was sent at least once, and whether it is acknowledged, by number.
    sent: Vec<bool>,
    acked: Vec<bool>,
    /// All segments below this number have been delivered in order.
    delivered: u64,
    window: u64,
    /// The largest congestion window.
    largest: u32,
    /// Number of segments that were sent at least once.
    ever_sent: u64,
    /// One more than the largest number that was ever sent.
    sent_end: u64,
    /// The paths on which each segment is in flight.
    carriers: Vec<PathSet>,
    /// Whether the facts include [`Path::uncarried`].
    tells_uncarried: bool,
    /// True after the end of path failures and losses.
    calm: bool,
}

impl Model {
    /// Creates a model with at most `most` segments. More than [`FEW`] come with windows to match.
    pub(super) fn new(seed: u64, most: u64, needs: Capabilities) -> Self {
        let mut random = Random::new(seed);
        let total = random.between(if most > FEW { most / 2 } else { 1 }, most);
        let (mut paths, senders) = sender::draw(&mut random, seed);
        let window = if random.one_in(3) { random.between(1, 4) } else { random.between(5, 100) };
        let many = most > FEW;
        for path in paths.iter_mut().filter(|_| many) {
            path.cwnd = random.between(1, 4_000) as u32;
        }
        let mut model = Self {
            now: Time::ZERO,
            paths,
            events: Vec::new(),
            senders,
            random,
            total,
            written: 0,
            recalled: BTreeSet::new(),
            messages: Messages::new(seed, needs),
            lost: BTreeSet::new(),
            sent: Vec::new(),
            acked: Vec::new(),
            delivered: 0,
            window: if many { total } else { window },
            largest: if many { 8_000 } else { 64 },
            ever_sent: 0,
            sent_end: 0,
            carriers: Vec::new(),
            tells_uncarried: needs.uncarried,
            calm: false,
        };
        let first = model.random.between(1, total);
        model.write(first);
        model
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    pub(super) const fn is_done(&self) -> bool {
        self.delivered == self.total
    }

    /// True if the sender has nothing in flight and nothing that it will send by itself.
    pub(super) fn is_idle(&self) -> bool {
        self.lost.is_empty()
            && self.senders.iter().all(|sender| sender.flight.is_empty() && sender.queue.is_empty())
    }

    pub(super) fn connection(&self) -> Connection {
        let oldest =
            (self.delivered..self.written).take_while(|&segment| segment < self.sent_end).find(|&segment| {
                !self.acked[segment as usize] && self.carriers[segment as usize] != PathSet::EMPTY
            });
        let (message, streams, due) = self.messages.facts(&self.recalled);
        Connection {
            unassigned: self.recalled.len() as u64 + self.messages.uncut(),
            next_segment: self.recalled.first().copied().unwrap_or(self.messages.cut_end()),
            window_left: self.window_left(),
            window: self.window,
            send_buffer_left: self.total - self.written,
            oldest_unacked: oldest.map(|segment| self.outstanding(segment)),
            finished: self.written == self.total,
            message,
            streams,
            due,
            writer_waits: self.written < self.total,
            ..Connection::default()
        }
    }

    fn outstanding(&self, segment: u64) -> Outstanding {
        let carried = self.carriers[segment as usize];
        Outstanding { segment, path: PathId(carried.0.trailing_zeros() as u8), carried }
    }

    /// True if the segment was sent and has not been delivered in order.
    pub(super) fn is_outstanding(&self, segment: u64) -> bool {
        segment >= self.delivered && self.sent.get(segment as usize) == Some(&true)
    }

    /// True if a copy of the segment is in flight on the path.
    pub(super) fn carries(&self, path: PathId, segment: u64) -> bool {
        self.carriers[segment as usize].contains(path)
    }

    pub(super) fn assign(&mut self, path: PathId, segments: u32) {
        for _ in 0..segments {
            let segment = self.recalled.pop_first().unwrap_or_else(|| self.messages.cut());
            self.senders[path.index()].queue.push_back(segment);
        }
        self.transmit();
    }

    pub(super) fn recall(&mut self, path: PathId) {
        self.recalled.extend(self.senders[path.index()].queue.drain(..));
        self.update();
    }

    /// Moves the message at the head of the data queue behind the others.
    pub(super) fn defer(&mut self) {
        if self.recalled.is_empty() {
            self.messages.defer();
        }
    }

    pub(super) fn limit(&mut self, path: PathId, in_flight: u32) {
        self.paths[path.index()].limit = in_flight;
        self.transmit();
    }

    /// Sends a copy, unless it would be useless.
    pub(super) fn reinject(&mut self, path: PathId, segment: u64) {
        if !self.acked[segment as usize] && !self.carries(path, segment) && !self.lost.contains(&segment) {
            self.send(path.index(), segment);
        }
        self.update();
    }

    pub(super) fn penalize(&mut self, path: PathId) {
        let path = &mut self.paths[path.index()];
        path.cwnd = (path.cwnd / 2).max(1);
    }

    /// From now on every path works, no packet is lost, and all data has been written.
    pub(super) fn calm(&mut self) {
        self.calm = true;
        for (i, path) in self.paths.iter_mut().enumerate() {
            path.in_recovery = false;
            if !path.is_usable() {
                path.state = if i % 3 == 2 { PathState::Backup } else { PathState::Active };
                self.events.push(Event::PathUp { path: path.id });
            }
        }
        self.write(self.total - self.written);
        self.transmit();
    }

    /// Lets time pass until the next event, or until `until`. False if no event will ever happen.
    pub(super) fn step(&mut self, until: Option<Time>) -> bool {
        let news = self.senders.iter().flat_map(|sender| &sender.flight).map(|packet| packet.news).min();
        let next = news.into_iter().chain(until).min();
        let nudge = self.now + Duration::from_millis(self.random.between(1, 20));
        self.now = match next {
            Some(next) if self.calm => next.max(self.now),
            Some(next) => next.min(nudge).max(self.now),
            None if self.calm => return false,
            None => nudge,
        };
        for i in 0..self.senders.len() {
            self.hear(i);
        }
        if !self.calm {
            self.disturb();
        }
        self.transmit();
        true
    }

    fn window_left(&self) -> u64 {
        let outstanding = self.ever_sent - self.delivered;
        let in_flight = self.senders.iter().any(|sender| !sender.flight.is_empty());
        self.window.saturating_sub(outstanding).max(u64::from(!in_flight))
    }

    fn write(&mut self, segments: u64) {
        self.messages.write(self.now, segments);
        self.written += segments;
        self.sent.resize(self.written as usize, false);
        self.acked.resize(self.written as usize, false);
        self.carriers.resize(self.written as usize, PathSet::EMPTY);
    }

    /// Processes the acknowledgements and losses of a path.
    fn hear(&mut self, i: usize) {
        let now = self.now;
        let (heard, flight): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.senders[i].flight).into_iter().partition(|packet| packet.news <= now);
        self.senders[i].flight = flight;
        heard.iter().for_each(|packet| self.carriers[packet.segment as usize].remove(PathId(i as u8)));
        let lost: Vec<u64> = heard.iter().filter(|packet| packet.lost).map(|packet| packet.segment).collect();
        let arrived = (heard.len() - lost.len()) as u32;
        let id = self.paths[i].id;
        if let Some(last) = heard.iter().rfind(|packet| !packet.lost) {
            let sample = now.since(last.sent);
            for packet in heard.iter().filter(|packet| !packet.lost) {
                self.acked[packet.segment as usize] = true;
                self.lost.remove(&packet.segment);
            }
            while self.acked.get(self.delivered as usize) == Some(&true) {
                self.messages.delivered(self.delivered);
                self.delivered += 1;
            }
            let path = &mut self.paths[i];
            path.cwnd =
                if path.in_slow_start() { path.cwnd + arrived } else { path.cwnd + 1 }.min(self.largest);
            let measured = self.random.one_in(2);
            if measured {
                sender::measure(path, sample);
            }
            self.events.push(Event::Acked { path: id, segments: arrived, rtt: measured.then_some(sample) });
        }
        self.paths[i].in_recovery &= self.random.one_in(2) && !self.senders[i].flight.is_empty();
        if !lost.is_empty() {
            self.paths[i].cwnd = (self.paths[i].cwnd / 2).max(1);
            self.paths[i].ssthresh = self.paths[i].cwnd;
            self.paths[i].in_recovery = self.random.one_in(2) && !self.senders[i].flight.is_empty();
            let segments = lost.len() as u32;
            self.paths[i].loss_ppm = (self.paths[i].loss_ppm + 50_000).min(1_000_000);
            self.lose(lost);
            self.events.push(Event::Lost { path: id, segments });
        }
    }

    /// Marks segments for retransmission, except those of which another copy arrived or still may.
    fn lose(&mut self, segments: Vec<u64>) {
        for segment in segments {
            let elsewhere = self.paths.iter().any(|path| self.carries(path.id, segment));
            if !self.acked[segment as usize] && !elsewhere {
                self.lost.insert(segment);
            }
        }
    }

    /// Causes a disturbance now and then.
    fn disturb(&mut self) {
        let i = self.random.between(0, self.senders.len() as u64 - 1) as usize;
        let id = self.paths[i].id;
        match self.random.between(0, 15) {
            0 if self.paths[i].is_usable() => {
                let failed = self.random.one_in(2);
                self.paths[i].state = if failed { PathState::Failed } else { PathState::PotentiallyFailed };
                self.abandon(i);
                let stranded = core::mem::take(&mut self.senders[i].queue);
                self.recalled.extend(stranded);
                self.events.push(Event::PathDown { path: id });
            }
            0..=2 if !self.paths[i].is_usable() => {
                let backup = self.random.one_in(3);
                self.paths[i].state = if backup { PathState::Backup } else { PathState::Active };
                self.events.push(Event::PathUp { path: id });
            }
            1 if !self.senders[i].flight.is_empty() => {
                self.paths[i].cwnd = 1;
                self.abandon(i);
                self.events.push(Event::Timeout { path: id });
            }
            2 => self.paths[i].cwnd = self.random.between(1, 20) as u32,
            3 => self.window = self.random.between(1, 60),
            4 => self.senders[i].rtt = Duration::from_millis(self.random.between(1, 300)),
            5 | 6 => {
                let segments = self.random.between(0, (self.total - self.written).min(20));
                self.write(segments);
            }
            _ => {}
        }
    }

    /// Gives up all segments in flight on a path.
    fn abandon(&mut self, i: usize) {
        let flight = core::mem::take(&mut self.senders[i].flight);
        flight.iter().for_each(|packet| self.carriers[packet.segment as usize].remove(PathId(i as u8)));
        self.paths[i].in_recovery = false;
        self.lose(flight.into_iter().map(|packet| packet.segment).collect());
    }

    /// Sends as many segments as the windows admit: lost ones first, then the queues.
    fn transmit(&mut self) {
        for i in 0..self.senders.len() {
            if !self.paths[i].is_usable() {
                continue;
            }
            while self.senders[i].flight.len() < self.paths[i].cwnd as usize {
                if let Some(segment) = self.lost.pop_first() {
                    self.send(i, segment);
                } else if self.window_left() > 0
                    && self.senders[i].flight.len() < self.paths[i].limit as usize
                    && let Some(segment) = self.senders[i].queue.pop_front()
                {
                    self.send(i, segment);
                } else {
                    break;
                }
            }
        }
        self.update();
    }

    fn send(&mut self, i: usize, segment: u64) {
        let lost = !self.calm && self.random.one_in(10);
        let news = self.now + self.senders[i].rtt + Duration::from_micros(self.random.between(0, 2_000));
        // With many segments in flight, reports arrive together, because each moment costs a walk
        // over all of them.
        let news = if self.largest > 64 {
            Time::ZERO + Duration::from_millis(news.as_nanos() / 1_000_000 + 1)
        } else {
            news
        };
        self.senders[i].flight.push(CopyInFlight { segment, sent: self.now, news, lost });
        let retransmission = core::mem::replace(&mut self.sent[segment as usize], true);
        self.ever_sent += u64::from(!retransmission);
        self.sent_end = self.sent_end.max(segment + 1);
        self.carriers[segment as usize].insert(PathId(i as u8));
        self.events.push(Event::Sent { path: self.paths[i].id, segment, retransmission });
    }

    /// The oldest segment in flight that this path does not carry.
    fn uncarried(&self, i: usize) -> Option<u64> {
        let lacks = |&segment: &u64| {
            let carriers = self.carriers[segment as usize];
            !self.acked[segment as usize] && carriers != PathSet::EMPTY && !carriers.contains(PathId(i as u8))
        };
        (self.delivered..self.sent_end.min(self.written)).find(lacks)
    }

    fn update(&mut self) {
        for (path, sender) in self.paths.iter_mut().zip(&self.senders) {
            path.in_flight = sender.flight.len() as u32;
            path.queued = sender.queue.len() as u32;
        }
        for i in 0..self.paths.len() {
            self.paths[i].uncarried = self.tells_uncarried.then(|| self.uncarried(i)).flatten();
        }
    }
}
