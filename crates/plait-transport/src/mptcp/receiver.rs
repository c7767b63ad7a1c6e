//! The receiver: subflows in their own order, the stream in its own, and when to acknowledge.

mod due;

use super::ack_delay::AckDelay;
use super::grant::{Granted, Grants, PACKET_MEMORY, receive_memory};
use super::incoming::{Incoming, Place};
use super::merging::{Merging, Queued};
use super::reinjection::pages;
use super::{Config, Grant, Joins};
use crate::observer::Observer;
use crate::packet::{Ack, Packet, TcpSegment};
use crate::reassembly::{Arrival, Reassembly};
use crate::run_set::RunSet;
use crate::sink::{Origin, Sink, Transmit};
use plait_sched::{PathId, Time};
use std::collections::VecDeque;

/// One end of a connection, receiving.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub(super) config: Config,
    reassembly: Reassembly,
    pub(super) subflows: Vec<Incoming>,
    /// By [`Grant::Free`].
    pub(super) grants: Option<Grants>,
    /// Memory of what waits out of order: of the connection, or of a single TCP subflow.
    waiting: Merging,
    /// Segments of the stream that have arrived on some subflow, and of which the observer knows.
    announced: RunSet,
    /// What leaves next.
    pub(super) outgoing: VecDeque<(PathId, Answer)>,
    /// Nothing has come since the SYN that proves that the peer speaks MPTCP.
    pub(super) unproved: bool,
    /// Where [`Receiver::grants`] are none: what acknowledgements tell.
    window: u64,
    /// Data has come, so that there is something to acknowledge.
    pub(super) heard: bool,
}

/// What the receiver sends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Ack(Ack),
    SynAck { timestamp: u32, echo: u32, window: u64 },
}

impl Receiver {
    /// A receiver over `paths` subflows that has got nothing yet.
    pub fn new(config: &Config, paths: usize) -> Self {
        Self::with_packets(config, paths, config.packet_bytes())
    }

    /// Likewise, for packets of at most `packet` bytes.
    pub(super) fn with_packets(config: &Config, paths: usize, packet: u64) -> Self {
        let connection = &config.connection;
        let grants = (config.rules.grant == Grant::Free).then(|| {
            let payload = u64::from(connection.segment_bytes);
            let memory = receive_memory(connection.receive_window, payload);
            let mut grants = Grants::new(memory, packet, paths, config.multipath);
            if !config.handshake {
                (0..paths).for_each(|index| grants.open(index));
            }
            grants
        });
        let refuses = grants.is_none();
        // mptcp_try_coalesce; TCP has no such limit.
        let longest =
            grants.as_ref().filter(|_| config.multipath).map_or(u64::MAX, |grants| grants.memory() >> 3);
        Self {
            config: *config,
            reassembly: Reassembly::new(connection.receive_window, connection.counted_overhead, refuses),
            subflows: vec![Incoming::new(AckDelay::new(config.ack_delay, &connection.rto)); paths],
            grants,
            waiting: Merging::new(longest),
            announced: RunSet::new(),
            outgoing: VecDeque::new(),
            unproved: config.multipath && config.handshake && config.rules.falls_back,
            window: config.tellable(connection.receive_window),
            heard: false,
        }
    }

    /// Of the end that opens subflows: what it is answered proves all there is to prove.
    pub(super) fn of_client(self) -> Self {
        Self { unproved: false, ..self }
    }

    /// The peer has answered the SYN of a subflow, so it may carry data this way, too.
    pub(super) fn note_opened(&mut self, path: PathId) {
        if let Some(grants) = self.grants.as_mut().filter(|_| path.index() < self.subflows.len()) {
            grants.open(path.index());
        }
    }

    /// The buffer.
    pub fn reassembly(&self) -> &Reassembly {
        &self.reassembly
    }

    /// Takes a packet from the network; afterwards, call [`Receiver::transmit`].
    pub fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        if path.index() >= self.subflows.len() {
            return;
        }
        match packet {
            Packet::Segment(segment) => self.handle_segment(now, path, segment, observer),
            Packet::Syn { timestamp } => self.handle_syn(now, path, *timestamp),
            Packet::Confirm { .. } => self.handle_confirmation(now, path),
            _ => {}
        }
    }

    fn handle_syn(&mut self, now: Time, path: PathId, echo: u32) {
        let window = match &mut self.grants {
            None => self.reassembly.capacity(),
            Some(grants) => {
                // A join counts once it is authenticated.
                if path == self.config.initial_path || self.config.rules.joins == Joins::AtOnce {
                    grants.open(path.index());
                }
                grants.first_window()
            }
        };
        let timestamp = self.config.clock.at_receiver(now);
        self.subflows[path.index()].delay.note_answer(now);
        self.outgoing.push_back((path, Answer::SynAck { timestamp, echo, window }));
    }

    /// The third packet of a handshake. That of a join is answered by an acknowledgement as any other, with all that it tells
    /// (RFC 8684 §3.2).
    fn handle_confirmation(&mut self, now: Time, path: PathId) {
        let joins = path != self.config.initial_path;
        self.subflows[path.index()].delay.note_confirmed(now, &self.config.connection.rto);
        if let Some(grants) = &mut self.grants {
            if joins {
                grants.open(path.index());
            } else {
                grants.note_confirmed(now);
            }
        }
        self.unproved &= joins;
        if joins {
            self.acknowledge(now, path.index(), 0);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_segment(
        &mut self,
        now: Time,
        path: PathId,
        segment: &TcpSegment,
        observer: &mut impl Observer,
    ) {
        let index = path.index();
        self.heard = true;
        // A number absurdly far ahead can only come from a broken peer; it must not make the set huge.
        let beyond = |number: u64, next: u64| number > next.saturating_add(4 * crate::MAX_QUEUED as u64);
        let next = self.subflows[index].next();
        if beyond(segment.number, next) || beyond(segment.data.segment, self.reassembly.next_expected()) {
            observer.refused(now, path, segment.data.segment);
            return;
        }
        if self.subflows[index].is_outdated(now, segment, &self.config) {
            self.reject_outdated(now, path, segment, observer);
            return;
        }
        let subflow = &mut self.subflows[index];
        subflow.note_taken(now);
        subflow.delay.note_confirmed(now, &self.config.connection.rto);
        subflow.ecn.note(segment, &self.config.rules, &mut subflow.delay);
        if self.unproved {
            self.look_for_proof(now, path, segment);
        }
        if self.grants.is_some() {
            self.take_in_order(now, path, segment, observer);
        } else {
            self.take_at_once(now, path, segment, observer);
        }
    }

    /// A segment that PAWS rejects is answered, and otherwise as if it had never come (tcp_send_dupack).
    fn reject_outdated(
        &mut self,
        now: Time,
        path: PathId,
        segment: &TcpSegment,
        observer: &mut impl Observer,
    ) {
        let subflow = &mut self.subflows[path.index()];
        if segment.number < subflow.next() {
            subflow.report_again(segment.number, &self.config.rules);
            observer.duplicate(now, path, segment.data.segment);
        } else {
            observer.refused(now, path, segment.data.segment);
        }
        self.acknowledge(now, path.index(), 0);
    }

    /// What arrives goes to the connection at once, whatever its subflow lacks.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_at_once(&mut self, now: Time, path: PathId, segment: &TcpSegment, observer: &mut impl Observer) {
        let arrival = self.reassembly.accept(now, path, &segment.data, observer);
        let subflow = &mut self.subflows[path.index()];
        // What the buffer had no room for has not arrived on its subflow either.
        if arrival == Arrival::Refused {
            self.acknowledge(now, path.index(), 0);
            return;
        }
        self.config.rules.adapt(&mut subflow.delay, now);
        let place = subflow.place(segment.number);
        subflow.take(place, segment, false, &self.config.rules);
        if self.is_due(path.index(), place) {
            self.acknowledge(now, path.index(), 0);
        } else {
            self.delay_acknowledgement(now, path.index());
        }
    }

    /// What arrives goes to the connection in the order of its subflow, and is acknowledged before the
    /// application has read it (tcp_data_queue in net/ipv4/tcp_input.c, __mptcp_move_skbs_from_subflow in
    /// net/mptcp/protocol.c).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_in_order(&mut self, now: Time, path: PathId, segment: &TcpSegment, observer: &mut impl Observer) {
        let Some(grants) = &mut self.grants else { return };
        let index = path.index();
        let subflow = &mut self.subflows[index];
        let (place, bytes) = (subflow.place(segment.number), u64::from(segment.data.bytes));
        let ahead = segment.number.saturating_sub(subflow.next()) * self.config.segment_bytes();
        if place != Place::Known && !grants.admits(index, subflow.bytes, ahead, bytes) {
            observer.refused(now, path, segment.data.segment);
            self.config.rules.hurry(&mut subflow.delay);
            self.acknowledge(now, index, 0);
            return;
        }
        let in_order = matches!(place, Place::Next { .. });
        if in_order {
            self.config.rules.adapt(&mut subflow.delay, now);
        }
        let age = self.config.clock.age(now, segment.echo);
        grants.note_echo(index, bytes, segment.echo, age);
        if place != Place::Known {
            let waiting = if self.config.multipath { subflow.held_memory() } else { self.waiting.memory() };
            let held = waiting + if in_order { bytes + PACKET_MEMORY } else { 0 };
            if grants.note_segment(index, bytes, held, in_order) {
                subflow.delay.quick |= 1;
            }
        }
        let reports_first = place == Place::Ahead && subflow.must_report_first(segment.number);
        if reports_first {
            self.acknowledge(now, index, 0);
        }
        let subflow = &mut self.subflows[index];
        subflow.take(place, segment, true, &self.config.rules);
        // A short one ends what was written (tcp_measure_rcv_mss).
        subflow.pushed |= segment.push || bytes < self.config.segment_bytes();
        if place == Place::Ahead && !self.config.multipath {
            self.waiting.insert(segment.data.segment, bytes, pages(segment));
        }
        if place == Place::Known || self.announced.insert(segment.data.segment).is_none() {
            observer.duplicate(now, path, segment.data.segment);
        } else {
            observer.arrived(now, path, segment.data.segment, segment.data.bytes);
        }
        // That acknowledgement takes the place of this segment's own, which nothing asks for any more
        // (`inet_csk_ack_scheduled` in tcp_ack_snd_check): its block is told if no other one comes before.
        if reports_first {
            return;
        }
        let unread = if in_order { self.hand_up_all(now, path, segment, observer) } else { 0 };
        let due = self.is_due(index, place);
        let now_due = if due {
            self.is_hasty(index, place) || self.keeps_up(index, unread)
        } else {
            self.compresses(now, index)
        };
        if now_due {
            self.acknowledge(now, index, unread);
        } else if !due {
            self.delay_acknowledgement(now, index);
        }
        if unread > 0 {
            self.read(now);
        }
    }

    /// A segment is the next one of its subflow: it and what waited for it go to the connection. Returns the
    /// memory that is taken by what the application can read now.
    fn hand_up_all(
        &mut self,
        now: Time,
        path: PathId,
        segment: &TcpSegment,
        observer: &mut impl Observer,
    ) -> u64 {
        // What becomes readable at once, in the memory of a queue that merges packets with the one before.
        let mut readable = Queued::default();
        let mut segment = Some(*segment);
        while let Some(current) = segment {
            let before = self.reassembly.next_expected();
            self.hand_up(now, path, &current, observer);
            let next = self.reassembly.next_expected();
            // Plain TCP's own queue waits in `waiting`, with all but the one that came now.
            if next > before && (readable.memory == 0 || self.config.multipath) {
                readable.push(u64::from(current.data.bytes), pages(&current));
            }
            readable.memory += self.waiting.advance(next);
            segment = self.subflows[path.index()].released();
        }
        self.announced.advance(self.reassembly.next_expected());
        readable.memory
    }

    /// What lies beyond the edge is dropped, although its subflow has acknowledged it (mptcp_data_queue_ofo
    /// in net/mptcp/protocol.c).
    fn hand_up(&mut self, now: Time, path: PathId, segment: &TcpSegment, observer: &mut impl Observer) {
        let edge = self.grants.as_ref().map_or(0, Grants::edge);
        let end = segment.offset.saturating_add(u64::from(segment.data.bytes));
        let waits = segment.data.segment > self.reassembly.next_expected();
        if self.config.multipath && waits && end > edge {
            observer.refused(now, path, segment.data.segment);
            return;
        }
        if waits && self.config.multipath {
            self.waiting.insert(segment.data.segment, u64::from(segment.data.bytes), pages(segment));
        }
        self.reassembly.accept(now, path, &segment.data, &mut Deliveries(observer));
    }

    /// Memory that the window is reckoned with, but for what is unread.
    fn used(&self) -> u64 {
        self.waiting.memory()
    }

    /// The application reads all there is, and who can grant much more than before says so
    /// (mptcp_cleanup_rbuf, tcp_cleanup_rbuf).
    fn read(&mut self, now: Time) {
        let used = self.used();
        let Some(grants) = &mut self.grants else { return };
        grants.note_read(now);
        let reopens = grants.reopens(used);
        let all_read = used == 0 && self.config.rules.pushes;
        for index in 0..self.subflows.len() {
            let (Some(grants), subflow) = (&self.grants, &self.subflows[index]) else { return };
            let owes = subflow.unacknowledged > 0
                && (grants.owes(index, subflow.bytes) || all_read && subflow.pushed);
            if owes || reopens && grants.would_double(index, subflow.bytes, used) {
                self.acknowledge(now, index, 0);
            }
        }
    }

    /// An acknowledgement leaves, while the application has not read `unread` bytes of memory.
    fn acknowledge(&mut self, now: Time, index: usize, unread: u64) {
        let ack = self.compose(now, index, unread, self.config.ack_blocks());
        self.outgoing.push_back((PathId(index as u8), Answer::Ack(ack)));
    }

    /// True if data has come.
    #[inline]
    pub(super) fn has_heard(&self) -> bool {
        self.heard
    }

    /// The acknowledgement that rides on a segment which leaves now on `path`. Beside a mapping there is no room for selective blocks;
    /// one that would acknowledge nothing cannot be told from none.
    pub(super) fn ride(&mut self, now: Time, path: PathId) -> Option<Ack> {
        let room = if self.config.multipath { 0 } else { self.config.ack_blocks() };
        let subflow = &self.subflows[path.index()];
        let tells = subflow.next() > 0
            || self.reassembly.next_expected() > 0
            || room > 0 && subflow.runs().next().is_some();
        tells.then(|| self.compose(now, path.index(), 0, room))
    }

    /// What there is to acknowledge, with at most so many selective `blocks`.
    fn compose(&mut self, now: Time, index: usize, unread: u64, blocks: usize) -> Ack {
        let used = self.used() + unread;
        let offset = self.reassembly.delivered_bytes();
        let subflow = &mut self.subflows[index];
        let window = match &mut self.grants {
            None => self.window,
            Some(grants) => {
                let Granted { window, scarce } = grants.advertise(index, subflow.bytes, offset, used);
                if scarce {
                    subflow.delay.quick = 0;
                }
                window
            }
        };
        let timestamp = self.config.clock.at_receiver(now);
        let data = self.reassembly.next_expected();
        let mut ack = Ack::new(subflow.next(), data, timestamp, subflow.echo).with_window(offset, window);
        ack.plain = !self.config.multipath;
        ack.congested = subflow.ecn.demands;
        if blocks > 0 {
            subflow.report(&mut ack, blocks);
        }
        subflow.note_acknowledgement();
        ack
    }

    /// Call when [`Receiver::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        for index in 0..self.subflows.len() {
            let subflow = &mut self.subflows[index];
            if subflow.deadline.is_some_and(|deadline| deadline <= now) {
                if !subflow.is_compressing() {
                    self.config.rules.note_waited(&mut subflow.delay);
                }
                self.acknowledge(now, index, 0);
            }
        }
    }

    /// Sends what there is to send: call after every input.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn transmit(&mut self, sink: &mut impl Sink) {
        while let Some((path, answer)) = self.outgoing.pop_front() {
            let packet = match answer {
                Answer::Ack(ack) => Packet::Ack(ack),
                Answer::SynAck { timestamp, echo, window } => Packet::SynAck { timestamp, echo, window },
            };
            let origin = Origin::Receiver(&self.reassembly);
            sink.send(&Transmit { path, packet: &packet, transmission: 0, origin });
        }
    }

    /// When [`Receiver::handle_timeout`] must be called next.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.subflows.iter().filter_map(|subflow| subflow.deadline).min()
    }
}

/// Passes on what is delivered: arrivals and duplicates were told of when they came.
struct Deliveries<'a, O>(&'a mut O);

impl<O: Observer> Observer for Deliveries<'_, O> {
    fn delivered(&mut self, now: Time, segment: u64, bytes: u32) {
        self.0.delivered(now, segment, bytes);
    }
}
