//! The receiver: decides when to acknowledge and on which path, and reports received segments.

use super::changes::Changes;
use super::{Config, WindowAccounting};
use crate::observer::Observer;
use crate::packet::Data;
use crate::packet::sctp::{Packet, Sack};
use crate::reassembly::{Arrival, Reassembly};
use crate::sink::{Origin, SinkOf, Transmit};
use plait_sched::{PathId, Time};

/// The receiving half of an endpoint.
#[derive(Clone, Debug)]
pub struct Receiver {
    reassembly: Reassembly,
    accounting: WindowAccounting,
    ack_every: u8,
    ack_delay: plait_sched::Duration,
    reordering_waits: bool,
    /// Number of data packets since the last acknowledgement.
    unacknowledged: u8,
    /// Latest time for a delayed acknowledgement.
    deadline: Option<Time>,
    /// The path of the newest data packet, which also carries the acknowledgement.
    path: PathId,
    acknowledge: bool,
    duplicates: [Option<u64>; crate::packet::sctp::MAX_DUPLICATES],
    changes: Changes,
    /// The last acknowledgement. The next one overwrites it.
    sack: Packet,
    /// Path and transmission time of a heartbeat to be answered.
    reply: Option<(PathId, Time)>,
}

impl Receiver {
    /// Creates a receiver that has received nothing yet.
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
            duplicates: [None; crate::packet::sctp::MAX_DUPLICATES],
            changes: Changes::NONE,
            sack: Packet::Sack(Sack::new(0, 0, 0)),
            reply: None,
        }
    }

    /// Returns the receive buffer.
    pub fn reassembly(&self) -> &Reassembly {
        &self.reassembly
    }

    /// Handles a heartbeat, to be answered on its path. Call [`Receiver::transmit`] afterwards.
    pub const fn handle_heartbeat(&mut self, path: PathId, sent_at: Time) {
        self.reply = Some((path, sent_at));
    }

    /// Handles data. Call [`Receiver::transmit`] afterwards.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn handle_data(&mut self, now: Time, path: PathId, data: &Data, observer: &mut impl Observer) {
        self.path = path;
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        let arrival = self.reassembly.accept(now, path, data, observer);
        let at_once = match arrival {
            // A sender in recovery waits for filled gaps. Without tolerance of reordering a filled
            // gap is acknowledged at once.
            Arrival::InOrder => !self.reordering_waits && !self.reassembly.waiting().is_empty(),
            Arrival::OutOfOrder { first, last } => {
                self.changes.note(data.segment, (first, last));
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

    /// Handles the timeout. Call at the time of [`Receiver::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.acknowledge = true;
        }
    }

    /// Sends pending packets. Call after every input.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn transmit(&mut self, sink: &mut impl SinkOf<Packet>) {
        if self.reply.is_some() {
            self.transmit_reply(sink);
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
        if let Packet::Sack(sack) = &mut self.sack {
            sack.restart(self.reassembly.next_expected(), window, self.unacknowledged.min(Sack::MAX_PACKETS));
            self.changes.report(self.path, &mut self.reassembly, sack);
            self.duplicates
                .iter_mut()
                .filter_map(Option::take)
                .for_each(|segment| sack.push_duplicate(segment));
        }
        self.unacknowledged = 0;
        let (packet, origin) = (&self.sack, Origin::Receiver(&self.reassembly));
        sink.send(&Transmit { path: self.path, packet, transmission: 0, origin });
    }

    #[inline(never)]
    fn transmit_reply(&mut self, sink: &mut impl SinkOf<Packet>) {
        if let Some((path, sent_at)) = self.reply.take() {
            let (packet, origin) = (&Packet::HeartbeatAck { sent_at }, Origin::Receiver(&self.reassembly));
            sink.send(&Transmit { path, packet, transmission: 0, origin });
        }
    }

    /// Returns the time of the next call of [`Receiver::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }
}
