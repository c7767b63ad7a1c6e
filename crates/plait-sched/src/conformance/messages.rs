//! The messages of the model engine: each has a stream of its own.

use std::collections::{BTreeSet, VecDeque};
use std::vec::Vec;

use super::random::Random;
use crate::{Capabilities, Duration, Message, Time};

/// A message that is not fully assigned.
struct Writing {
    number: usize,
    left: u64,
}

/// The delivery state of a message.
struct Fate {
    deadline: Option<Time>,
    /// Segments of the message that have not been delivered.
    undelivered: u64,
}

pub(super) struct Messages {
    waiting: VecDeque<Writing>,
    all: Vec<Fate>,
    /// The message of each segment.
    message_of: Vec<usize>,
    deadlines: BTreeSet<(Time, usize)>,
    uncut: u64,
    /// False for schedulers that do not need messages: they see none.
    shown: bool,
    shortest_first: bool,
    /// A separate generator, so that all other events are the same without messages.
    random: Random,
}

impl Messages {
    pub(super) fn new(seed: u64, needs: Capabilities) -> Self {
        Self {
            waiting: VecDeque::new(),
            all: Vec::new(),
            message_of: Vec::new(),
            deadlines: BTreeSet::new(),
            uncut: 0,
            shown: needs.messages,
            shortest_first: needs.shortest_first,
            random: Random::new(!seed),
        }
    }

    /// Writes `segments` segments, as messages of up to 30.
    pub(super) fn write(&mut self, now: Time, segments: u64) {
        self.uncut += segments;
        let mut left = segments;
        while left > 0 {
            let (size, number) = (self.random.between(1, 30).min(left), self.all.len());
            // Some deadlines have passed, as when the application writes more than the paths carry.
            let deadline = now + Duration::from_millis(self.random.between(0, 500));
            let deadline = self.random.one_in(2).then_some(deadline);
            self.deadlines.extend(deadline.map(|deadline| (deadline, number)));
            self.all.push(Fate { deadline, undelivered: size });
            self.waiting.push_back(Writing { number, left: size });
            left -= size;
        }
        if self.shortest_first {
            self.waiting.make_contiguous().sort_by_key(|message| message.left);
        }
    }

    /// Number of segments that were never assigned.
    pub(super) const fn uncut(&self) -> u64 {
        self.uncut
    }

    /// Gives the next segment its number.
    pub(super) fn cut(&mut self) -> u64 {
        let head = self.waiting.front_mut().expect("the amount was checked");
        (head.left, self.uncut) = (head.left - 1, self.uncut - 1);
        self.message_of.push(head.number);
        if head.left == 0 {
            self.waiting.pop_front();
        }
        self.cut_end() - 1
    }

    /// The first segment without a number.
    pub(super) fn cut_end(&self) -> u64 {
        self.message_of.len() as u64
    }

    pub(super) fn defer(&mut self) {
        if !self.waiting.is_empty() {
            self.waiting.rotate_left(1);
        }
    }

    /// Records that the segment was delivered in order.
    pub(super) fn delivered(&mut self, segment: u64) {
        let number = self.message_of[segment as usize];
        let fate = &mut self.all[number];
        fate.undelivered -= 1;
        if let Some(deadline) = fate.deadline.filter(|_| fate.undelivered == 0) {
            self.deadlines.remove(&(deadline, number));
        }
    }

    /// The message of the next segment, the number of waiting streams, and the earliest deadline.
    pub(super) fn facts(&self, recalled: &BTreeSet<u64>) -> (Option<Message>, u32, Option<Time>) {
        if !self.shown {
            return (None, 0, None);
        }
        let of = |segment: &u64| self.message_of[*segment as usize];
        let number = recalled.first().map(of).or_else(|| self.waiting.front().map(|head| head.number));
        let message = number.map(|number| {
            let uncut =
                self.waiting.iter().find(|other| other.number == number).map_or(0, |other| other.left);
            let back = recalled.iter().filter(|segment| of(segment) == number).count() as u64;
            Message {
                number: number as u64,
                stream: number as u32,
                segments_left: uncut + back,
                priority: 0,
                deadline: self.all[number].deadline,
            }
        });
        (message, self.waiting.len() as u32, self.deadlines.first().map(|(deadline, _)| *deadline))
    }
}
