//! The receiver: when to acknowledge, on which path, and what to report.

use super::{Config, WindowAccounting};
use crate::observer::Observer;
use crate::packet::{Data, MAX_GAP_BLOCKS, Packet, Sack};
use crate::reassembly::{Arrival, Reassembly};
use crate::sink::{Origin, Sink, Transmit};
use plait_sched::{MAX_PATHS, PathId, Time};

/// Changes of runs that are remembered for the next acknowledgements; one block is kept for an older run.
const REMEMBERED: u64 = MAX_GAP_BLOCKS as u64 - 1;

/// Every change is reported at least this often, and in three acknowledgements of every path: some get lost.
const REPEATED: u64 = 6;

/// Gap blocks that fit a packet of 1500 bytes: (1500 − 48) / 4.
const MAX_WIRE_BLOCKS: usize = 363;

/// Slots that one acknowledgement looks through for an older run to repeat.
const REPEAT_SEARCH: u64 = 64;

/// One end of a connection, receiving.
#[derive(Clone, Debug)]
pub struct Receiver {
    reassembly: Reassembly,
    accounting: WindowAccounting,
    ack_every: u8,
    ack_delay: plait_sched::Duration,
    reordering_waits: bool,
    /// Data packets since the last acknowledgement.
    unacknowledged: u8,
    /// When a delayed acknowledgement must leave at the latest.
    deadline: Option<Time>,
    /// The path of the newest data packet: acknowledgements take it back.
    path: PathId,
    acknowledge: bool,
    duplicates: [Option<u64>; crate::packet::MAX_DUPLICATES],
    /// The newest changes of runs; the change with number n is at `n % MAX_GAP_BLOCKS`.
    changed: [(u64, u64); MAX_GAP_BLOCKS],
    /// How many changes of runs there were.
    changes: u64,
    /// How many there had been when the last three acknowledgements left on each path, newest first.
    reported: [[u64; 3]; MAX_PATHS],
    /// Where the search for an older run to repeat goes on.
    repeat_from: u64,
    /// A heartbeat to be answered: its path, and when it was sent.
    reply: Option<(PathId, Time)>,
}

impl Receiver {
    /// A receiver that has got nothing yet.
    pub fn new(config: &Config) -> Self {
        let enforce = config.accounting == WindowAccounting::Buffer;
        let connection = &config.connection;
        Self {
            reassembly: Reassembly::new(connection.receive_window, connection.counted_overhead, enforce),
            accounting: config.accounting,
            ack_every: config.ack_every.max(1),
            ack_delay: config.ack_delay,
            reordering_waits: config.delayed_ack_for_cmt,
            unacknowledged: 0,
            deadline: None,
            path: PathId(0),
            acknowledge: false,
            duplicates: [None; crate::packet::MAX_DUPLICATES],
            changed: [(0, 0); MAX_GAP_BLOCKS],
            changes: 0,
            reported: [[0; 3]; MAX_PATHS],
            repeat_from: 0,
            reply: None,
        }
    }

    /// The buffer.
    pub fn reassembly(&self) -> &Reassembly {
        &self.reassembly
    }

    /// Takes a packet from the network; afterwards, call [`Receiver::transmit`].
    pub fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        match packet {
            Packet::Data(data) => self.handle_data(now, path, data, observer),
            Packet::Heartbeat { sent_at } => {
                self.reply = Some((path, *sent_at));
            }
            _ => {}
        }
    }

    fn handle_data(&mut self, now: Time, path: PathId, data: &Data, observer: &mut impl Observer) {
        self.path = path;
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        let arrival = self.reassembly.accept(now, path, data, observer);
        let at_once = match arrival {
            // Filling a gap is news that a sender in recovery waits for; without reordering tolerance it is urgent too.
            Arrival::InOrder => !self.reordering_waits && !self.reassembly.waiting().is_empty(),
            Arrival::OutOfOrder { first, last } => {
                self.note_run(first, last);
                !self.reordering_waits
            }
            Arrival::Duplicate => {
                if let Some(place) = self.duplicates.iter_mut().find(|place| place.is_none()) {
                    *place = Some(data.segment);
                }
                true
            }
            Arrival::Refused => true,
        };
        if at_once || self.unacknowledged >= self.ack_every {
            self.acknowledge = true;
        } else if self.deadline.is_none() {
            self.deadline = Some(now.saturating_add(self.ack_delay));
        }
    }

    /// Call when [`Receiver::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.acknowledge = true;
        }
    }

    /// Sends what there is to send: call after every input.
    pub fn transmit(&mut self, sink: &mut impl Sink) {
        if let Some((path, sent_at)) = self.reply.take() {
            let (packet, origin) = (&Packet::HeartbeatAck { sent_at }, Origin::Receiver(&self.reassembly));
            sink.send(&Transmit { path, packet, transmission: 0, origin });
        }
        if !self.acknowledge {
            return;
        }
        self.acknowledge = false;
        self.deadline = None;
        let window = match self.accounting {
            WindowAccounting::Buffer => self.reassembly.free(),
            WindowAccounting::Outstanding => self.reassembly.capacity(),
        };
        let sack = Sack::new(self.reassembly.next_expected(), window, self.unacknowledged);
        self.unacknowledged = 0;
        // Filled in where it lies: it is large.
        let mut packet = Packet::Sack(sack);
        if let Packet::Sack(sack) = &mut packet {
            self.report(sack);
        }
        let (packet, origin) = (&packet, Origin::Receiver(&self.reassembly));
        sink.send(&Transmit { path: self.path, packet, transmission: 0, origin });
    }

    /// When [`Receiver::handle_timeout`] must be called next.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn note_run(&mut self, first: u64, last: u64) {
        self.changed[self.changes as usize % MAX_GAP_BLOCKS] = (first, last);
        self.changes += 1;
    }

    /// Writes gap blocks and duplicates into a SACK.
    fn report(&mut self, sack: &mut Sack) {
        let next = self.reassembly.next_expected();
        let waiting = self.reassembly.waiting();
        sack.gap_blocks = waiting.runs().min(MAX_WIRE_BLOCKS) as u16;
        let reported = &mut self.reported[self.path.index()];
        let news = (self.changes - reported[2]).clamp(REPEATED, REMEMBERED).min(self.changes);
        *reported = [self.changes, reported[0], reported[1]];
        for change in (self.changes - news..self.changes).rev() {
            let (first, last) = self.changed[change as usize % MAX_GAP_BLOCKS];
            // A run that was delivered or has grown since is no run any more; the newer change reports it.
            let whole = first > next && !waiting.contains(first - 1) && !waiting.contains(last + 1);
            if whole {
                sack.push_block(first, last);
            }
        }
        sack.changes_end = self.changes;
        if waiting.runs() > sack.blocks().len() {
            sack.changes_from = self.changes - news;
            self.push_older_run(sack);
        }
        for duplicate in &mut self.duplicates {
            if let Some(segment) = duplicate.take() {
                sack.push_duplicate(segment);
            }
        }
    }

    /// Repeats one older run per acknowledgement, in turn, so that even a long loss of acknowledgements is made good.
    fn push_older_run(&mut self, sack: &mut Sack) {
        let waiting = self.reassembly.waiting_mut();
        let mut from = self.repeat_from.max(sack.cumulative + 1);
        for _ in 0..REPEAT_SEARCH {
            if waiting.contains(from) {
                // Only a run's start is sure to be whole; `from` follows an absent number, so it is one.
                let end = waiting.first_absent(from);
                if !waiting.contains(from - 1) {
                    sack.push_block(from, end - 1);
                }
                self.repeat_from = end + 1;
                return;
            }
            from += 1;
        }
        self.repeat_from = if from >= self.reassembly.end() { 0 } else { from };
    }
}
