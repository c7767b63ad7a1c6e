//! The receiver: restores the order of subflows and of the stream, and decides when to acknowledge.

mod delivery;
mod due;
mod outbox;

use super::ack_delay::AckDelay;
use super::grant::{Granted, Grants, PACKET_MEMORY, receive_memory};
use super::incoming::{Incoming, Place};
use super::merging::Merging;
use super::reinjection::pages;
use super::{Config, Grant, Joins};
use crate::core::{moment, timer};
use crate::observer::Observer;
use crate::packet::tcp::{Ack, Packet, TcpSegment};
use crate::reassembly::{Arrival, Reassembly};
use crate::run_set::RunSet;
use crate::sink::{Origin, SinkOf, Transmit};
use outbox::Outbox;
use plait_sched::{PathId, Time};

/// The receiving half of an endpoint.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub(super) config: Config,
    reassembly: Reassembly,
    pub(super) subflows: Vec<Incoming>,
    /// Present with [`Grant::Free`].
    pub(super) grants: Option<Grants>,
    /// Memory of data out of order, of the connection or of a single TCP subflow.
    waiting: Merging,
    /// Segments of the stream that have arrived on any subflow and were reported to the observer.
    announced: RunSet,
    /// Packets that leave next.
    pub(super) outgoing: Outbox,
    /// True until a packet after the SYN proves that the peer uses MPTCP.
    pub(super) unproved: bool,
    /// The advertised window without [`Receiver::grants`].
    window: u64,
    /// True if data has arrived, so that there is something to acknowledge.
    pub(super) heard: bool,
}

impl Receiver {
    /// Creates a receiver over `paths` subflows that has received nothing yet.
    pub fn new(config: &Config, paths: usize) -> Self {
        Self::with_packets(config, paths, config.packet_bytes())
    }

    /// Creates a receiver for packets of at most `packet` bytes.
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
            config: config.clone(),
            reassembly: Reassembly::new(connection.receive_window, connection.counted_overhead, refuses),
            subflows: vec![Incoming::new(AckDelay::new(config.ack_delay, &connection.rto)); paths],
            grants,
            waiting: Merging::new(longest),
            announced: RunSet::new(),
            outgoing: Outbox::default(),
            unproved: config.multipath && config.handshake && config.rules.falls_back,
            window: config.tellable(connection.receive_window),
            heard: false,
        }
    }

    /// Adapts the receiver to the end that opens subflows: the answers to its SYNs are sufficient
    /// proof.
    pub(super) fn of_client(self) -> Self {
        Self { unproved: false, ..self }
    }

    /// Records that the peer has answered the SYN of a subflow, which may now also carry data in
    /// this direction.
    pub(super) fn note_opened(&mut self, path: PathId) {
        if let Some(grants) = &mut self.grants {
            grants.open(path.index());
        }
    }

    /// Returns the receive buffer.
    pub fn reassembly(&self) -> &Reassembly {
        &self.reassembly
    }

    /// Answers a SYN, with its timestamp as the `echo`. Call [`Receiver::transmit`] afterwards.
    pub fn handle_syn(&mut self, now: Time, path: PathId, echo: u32) {
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
        self.outgoing.push(path, Packet::SynAck { timestamp, echo, window });
    }

    /// Processes the third packet of a handshake. That of a join is answered by a regular
    /// acknowledgement (RFC 8684 §3.2). Call [`Receiver::transmit`] afterwards.
    pub fn handle_confirmation(&mut self, now: Time, path: PathId) {
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

    /// Processes data. Call [`Receiver::transmit`] afterwards.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn handle_segment(
        &mut self,
        now: Time,
        path: PathId,
        segment: &TcpSegment,
        observer: &mut impl Observer,
    ) {
        let index = path.index();
        self.heard = true;
        // A number very far ahead can only come from a broken peer; it must not make the set huge.
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

    /// Answers a segment that PAWS rejects, and otherwise ignores it (tcp_send_dupack).
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

    /// Passes a segment to the connection at once, even if earlier segments of its subflow are
    /// missing.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_at_once(&mut self, now: Time, path: PathId, segment: &TcpSegment, observer: &mut impl Observer) {
        let arrival = self.reassembly.accept(now, path, &segment.data, observer);
        let subflow = &mut self.subflows[path.index()];
        // A segment without buffer space has not arrived on its subflow either.
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

    /// Passes segments to the connection in the order of their subflow, and acknowledges them
    /// before the application has read them (tcp_data_queue in net/ipv4/tcp_input.c,
    /// __mptcp_move_skbs_from_subflow in net/mptcp/protocol.c).
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
        // A short segment ends a write (tcp_measure_rcv_mss).
        subflow.pushed |= segment.push || bytes < self.config.segment_bytes();
        if place == Place::Ahead && !self.config.multipath {
            self.waiting.insert(segment.data.segment, bytes, pages(segment.offset, segment.data.bytes));
        }
        if place == Place::Known || self.announced.insert(segment.data.segment).is_none() {
            observer.duplicate(now, path, segment.data.segment);
        } else {
            observer.arrived(now, path, segment.data.segment, segment.data.bytes);
        }
        // That acknowledgement replaces the segment's own, which is no longer scheduled
        // (`inet_csk_ack_scheduled` in tcp_ack_snd_check). The next acknowledgement reports the
        // segment's block.
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

    /// Returns the memory in use for the computation of the window, without unread data.
    fn used(&self) -> u64 {
        self.waiting.memory()
    }

    /// Queues an acknowledgement, while `unread` bytes of memory are not yet read by the
    /// application.
    fn acknowledge(&mut self, now: Time, index: usize, unread: u64) {
        let (ack, blocks) = (self.compose(now, index, unread), self.config.ack_blocks());
        let subflow = &mut self.subflows[index];
        self.outgoing.acknowledge(PathId(index as u8), ack, |ack| subflow.report(ack, blocks));
        subflow.note_acknowledgement();
    }

    /// True if data has arrived.
    #[inline]
    pub(super) fn has_heard(&self) -> bool {
        self.heard
    }

    /// Returns the acknowledgement to piggyback on a segment that leaves now on `path`. A segment
    /// with a mapping has no space for selective blocks. Returns `None` if there is nothing to
    /// acknowledge, because the peer could not tell such an acknowledgement from none.
    #[inline(never)]
    pub(super) fn ride(&mut self, now: Time, path: PathId) -> Option<Ack> {
        let room = if self.config.multipath { 0 } else { self.config.ack_blocks() };
        let subflow = &self.subflows[path.index()];
        let tells = subflow.next() > 0
            || self.reassembly.next_expected() > 0
            || room > 0 && subflow.runs().next().is_some();
        if !tells {
            return None;
        }
        let mut ack = self.compose(now, path.index(), 0);
        let subflow = &mut self.subflows[path.index()];
        subflow.report(&mut ack, room);
        subflow.note_acknowledgement();
        Some(ack)
    }

    /// Creates an acknowledgement without selective blocks.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn compose(&mut self, now: Time, index: usize, unread: u64) -> Ack {
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
        ack
    }

    /// Handles the timeout. Call at the time of [`Receiver::poll_timeout`].
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

    /// Sends pending packets. Call after every input.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn transmit(&mut self, sink: &mut impl SinkOf<Packet>) {
        let origin = Origin::Receiver(&self.reassembly);
        if let Some((path, packet)) = self.outgoing.take_first() {
            sink.send(&Transmit { path, packet, transmission: 0, origin });
        }
        if self.outgoing.has_others() {
            self.transmit_others(sink);
        }
    }

    #[inline(never)]
    fn transmit_others(&mut self, sink: &mut impl SinkOf<Packet>) {
        let origin = Origin::Receiver(&self.reassembly);
        for (path, packet) in self.outgoing.others.drain(..) {
            sink.send(&Transmit { path, packet: &packet, transmission: 0, origin });
        }
    }

    /// Returns the time of the next call of [`Receiver::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        timer(self.next_timer())
    }

    /// Returns the time of [`Receiver::poll_timeout`]; [`Time::MAX`] for never.
    #[inline]
    pub(super) fn next_timer(&self) -> Time {
        if !self.heard {
            return Time::MAX;
        }
        self.subflows.iter().fold(Time::MAX, |next, subflow| next.min(moment(subflow.deadline)))
    }
}
