//! The receiver: subflows in their own order, the stream in its own, and when to acknowledge.

use super::{Config, Grant, Rules};
use crate::core::Transmit;
use crate::observer::Observer;
use crate::packet::{Ack, MAX_ACK_BLOCKS, Packet, Segment};
use crate::reassembly::{Arrival, Reassembly};
use crate::run_set::RunSet;
use plait_sched::{Duration, PathId, Time};

/// The receiving side of one subflow.
#[derive(Clone, Debug)]
struct Subflow {
    arrived: RunSet,
    /// Runs beyond a gap, the one that changed last first (RFC 2018 §4).
    recent: [Option<(u64, u64)>; MAX_ACK_BLOCKS],
    /// Segments since the last acknowledgement.
    unacknowledged: u8,
    /// When a delayed acknowledgement must leave at the latest.
    deadline: Option<Time>,
    acknowledge: bool,
    /// A segment that arrived again.
    duplicate: Option<u64>,
    /// The timestamp to echo: that of the earliest segment in order that is not acknowledged (RFC 7323 §4.3).
    echo: u32,
    /// The SYN that is to be answered, by its timestamp.
    opening: Option<u32>,
    delay: AckDelay,
    /// The most that it grants, see [`Grant::Free`].
    most: u64,
    /// What it granted last, beyond what it had got in order.
    window: u64,
    /// The first segment of the subflow that had not arrived then.
    granted_from: u64,
}

/// What decides how long acknowledgements wait, see [`Rules`].
#[derive(Clone, Copy, Debug)]
struct AckDelay {
    /// So many more are not delayed.
    quick: u8,
    /// How long one waits.
    wait: Duration,
    /// When the last segment arrived.
    last: Option<Time>,
}

/// A pause after which acknowledgements are not delayed: the sender starts anew. Linux takes its retransmission timeout, which
/// the receiver of a stream knows from the handshake only.
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// What Linux takes for the share of payload in the buffer, in parts of 256, before it has seen a packet
/// (TCP_DEFAULT_SCALING_RATIO), and after full ones.
const DEFAULT_SHARE: u64 = 128;
const LEARNED_SHARE: u64 = 161;

impl Subflow {
    fn new(most: u64) -> Self {
        Self {
            arrived: RunSet::new(),
            recent: [None; MAX_ACK_BLOCKS],
            unacknowledged: 0,
            deadline: None,
            acknowledge: false,
            duplicate: None,
            echo: 0,
            opening: None,
            delay: AckDelay { quick: 0, wait: Duration::ZERO, last: None },
            most,
            window: most,
            granted_from: 0,
        }
    }

    /// Notes the run that a segment now belongs to; runs that it swallowed or that are in order are forgotten.
    fn note_run(&mut self, first: u64, last: u64) {
        let mut kept = [None; MAX_ACK_BLOCKS];
        kept[0] = Some((first, last));
        let others = self.recent.iter().flatten().filter(|run| run.0 > last || run.1 < first);
        for (place, run) in kept[1..].iter_mut().zip(others) {
            *place = Some(*run);
        }
        self.recent = kept;
    }
}

/// One end of a connection, receiving.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Config,
    reassembly: Reassembly,
    subflows: Vec<Subflow>,
    /// The offset of the stream up to which the window was granted.
    granted: u64,
}

impl Rules {
    /// A segment arrived. How long acknowledgements wait follows the spacing of segments, as far as they come closer together
    /// than that (tcp_event_data_recv in net/ipv4/tcp_input.c).
    fn adapt(&self, delay: &mut AckDelay, now: Time, least: Duration) {
        let gap = delay.last.map(|last| now.since(last));
        delay.last = Some(now);
        match (gap, self.longest_ack_delay) {
            (Some(gap), Some(longest)) if gap <= least / 2 => {
                delay.wait = (delay.wait / 2 + least / 2).min(longest);
            }
            (Some(gap), Some(longest)) if gap < delay.wait => {
                delay.wait = (delay.wait / 2 + gap).min(longest);
            }
            (Some(gap), _) if gap < LONG_PAUSE => {}
            (Some(_), _) => delay.quick = self.quick_acks,
            (None, _) => (delay.quick, delay.wait) = (self.quick_acks, least),
        }
    }
}

impl Receiver {
    /// A receiver over `paths` subflows that has got nothing yet.
    pub fn new(config: &Config, paths: usize) -> Self {
        let connection = &config.connection;
        let most = match config.rules.grant {
            Grant::Buffer => connection.receive_window,
            Grant::Free => (connection.receive_window / LEARNED_SHARE * DEFAULT_SHARE)
                .max(2 * u64::from(connection.segment_bytes))
                .min(connection.receive_window),
        };
        Self {
            config: *config,
            reassembly: Reassembly::new(connection.receive_window, connection.counted_overhead, true),
            subflows: (0..paths).map(|_| Subflow::new(most)).collect(),
            granted: 0,
        }
    }

    /// The buffer.
    pub fn reassembly(&self) -> &Reassembly {
        &self.reassembly
    }

    /// Takes a packet from the network; afterwards, drain [`Receiver::poll_transmit`].
    pub fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        let Some(subflow) = self.subflows.get_mut(path.index()) else { return };
        match packet {
            Packet::Segment(segment) => self.handle_segment(now, path, segment, observer),
            Packet::Syn { timestamp } => subflow.opening = Some(*timestamp),
            _ => {}
        }
    }

    fn handle_segment(&mut self, now: Time, path: PathId, segment: &Segment, observer: &mut impl Observer) {
        // A number absurdly far ahead can only come from a broken peer; it must not make the set huge.
        let next = self.subflows[path.index()].arrived.base();
        if segment.subflow > next.saturating_add(4 * crate::MAX_QUEUED as u64) {
            observer.refused(now, path, segment.data.segment);
            return;
        }
        let arrival = self.reassembly.accept(now, path, &segment.data, observer);
        let subflow = &mut self.subflows[path.index()];
        // What the buffer had no room for has not arrived on its subflow either.
        if arrival == Arrival::Refused {
            subflow.acknowledge = true;
            return;
        }
        self.config.rules.adapt(&mut subflow.delay, now, self.config.ack_delay);
        if subflow.most < self.reassembly.capacity() {
            let more = 2 * u64::from(self.config.connection.segment_bytes.max(segment.data.bytes));
            subflow.most = (subflow.most + more).min(self.reassembly.capacity());
            subflow.delay.quick = subflow.delay.quick.max(self.config.rules.quick_acks).saturating_add(1);
        }
        let known = segment.subflow < next || subflow.arrived.contains(segment.subflow);
        subflow.unacknowledged = subflow.unacknowledged.saturating_add(1);
        let at_once = if known {
            subflow.duplicate = Some(segment.subflow);
            subflow.delay.quick = self.config.rules.quick_acks;
            true
        } else if segment.subflow == next {
            if subflow.unacknowledged == 1 || !subflow.arrived.is_empty() {
                subflow.echo = segment.timestamp;
            }
            // RFC 5681 §4.2: what fills a gap is acknowledged at once.
            let fills_gap = !subflow.arrived.is_empty();
            let end = subflow.arrived.first_absent(next + 1);
            subflow.arrived.advance(end);
            for run in &mut subflow.recent {
                *run = run.filter(|run| run.0 > end);
            }
            fills_gap
        } else {
            if let Some((first, last)) = subflow.arrived.insert(segment.subflow) {
                subflow.note_run(first, last);
            }
            true
        };
        if at_once || subflow.delay.quick > 0 || subflow.unacknowledged >= self.config.ack_every {
            subflow.acknowledge = true;
        } else if subflow.deadline.is_none() {
            subflow.deadline = Some(now.saturating_add(subflow.delay.wait));
        }
    }

    /// Call when [`Receiver::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        for subflow in &mut self.subflows {
            if subflow.deadline.is_some_and(|deadline| deadline <= now) {
                subflow.acknowledge = true;
            }
        }
    }

    /// The next packet to send, if any. Call after every input until it answers `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let clock = self.config.clock;
        let (free, delivered) = (self.free(), self.reassembly.delivered_bytes());
        let (index, subflow) = (self.subflows.iter_mut().enumerate())
            .find(|(_, subflow)| subflow.acknowledge || subflow.opening.is_some())?;
        let path = PathId(index as u8);
        let timestamp = clock.at_receiver(now);
        if let Some(echo) = subflow.opening.take() {
            return Some(Transmit { path, packet: Packet::SynAck { timestamp, echo }, transmission: 0 });
        }
        subflow.acknowledge = false;
        subflow.deadline = None;
        subflow.unacknowledged = 0;
        subflow.delay.quick = subflow.delay.quick.saturating_sub(1);
        let next = subflow.arrived.base();
        // No subflow takes back what it granted, so that what it got since is all that its window shrinks by.
        let taken = (next - subflow.granted_from) * u64::from(self.config.connection.segment_bytes);
        let window = free.min(subflow.most).max(subflow.window.saturating_sub(taken));
        // None grants less than another did.
        self.granted = self.granted.max(delivered + window);
        let window_end = self.granted;
        (subflow.window, subflow.granted_from) = (window_end - delivered, next);
        let mut ack = Ack::new(next, self.reassembly.next_expected(), window_end, timestamp, subflow.echo);
        ack.duplicate = core::mem::take(&mut subflow.duplicate);
        // The report of a duplicate takes a block's place.
        let room = self.config.ack_blocks().saturating_sub(usize::from(ack.duplicate.is_some()));
        for (first, last) in subflow.recent.iter().flatten().take(room) {
            ack.push_block(*first, *last);
        }
        Some(Transmit { path, packet: Packet::Ack(ack), transmission: 0 })
    }

    /// What the window may be, whatever the subflow grants.
    fn free(&self) -> u64 {
        match self.config.rules.grant {
            Grant::Buffer => self.reassembly.capacity(),
            Grant::Free if self.config.multipath => {
                // What waits for its own subflow is in that one's buffer, which nobody else needs.
                let waiting: u64 = self.subflows.iter().map(|subflow| subflow.arrived.len()).sum();
                let waiting = waiting * u64::from(self.config.connection.segment_bytes);
                let charged = self.reassembly.buffered().saturating_sub(waiting);
                self.reassembly.capacity().saturating_sub(charged)
            }
            Grant::Free => self.reassembly.free(),
        }
    }

    /// When [`Receiver::handle_timeout`] must be called next.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.subflows.iter().filter_map(|subflow| subflow.deadline).min()
    }
}
