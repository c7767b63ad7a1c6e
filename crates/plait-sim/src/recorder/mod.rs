//! Records a run: metrics always, tables only on request.
//!
//! Every engine reports its events to a [`Recorder`], so that each metric has one definition. An
//! engine that handles whole segments uses it as an [`Observer`]. An engine that sees bytes, in
//! pieces that may differ from the sent segments, reports bytes and completed segments.
//!
//! `verdict` judges as a pure function why a decision chose a path or did not. `plait explain` puts
//! its reasons into words.

pub(crate) mod blocks;
pub(crate) mod deadlines;
pub mod decisions;
pub mod frames;
pub(crate) mod requests;
pub mod verdict;

use crate::application::{ConnectionEnd, File, Workload};
use crate::statistics::{Level, Spans};
use blocks::BlockRecord;
use deadlines::Deadlines;
use decisions::DecisionLog;
use frames::{NEVER, PacketFrame, nanos};
use plait_sched::{Connection, Decision, Duration, Path, PathId, Time};
use plait_transport::ring::Ring;
use plait_transport::{Observer, SendReason, Sent};
use requests::Requests;

/// Requests for records beyond the metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordOptions {
    /// One row per transmission.
    pub packets: bool,
    /// Windows, round-trip times and occupancies, sampled at this interval.
    pub series: Option<Duration>,
    /// One row per decision, and one per decision and path.
    pub decisions: bool,
    /// Of the decisions before this time, record only the last one.
    pub decisions_from: Time,
}

/// Counters of one path since the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathRecord {
    pub(crate) packets_sent: u64,
    pub(crate) retransmissions: u64,
    /// Copies that the scheduler requested.
    pub(crate) reinjections: u64,
    /// Payload bytes that arrived for the first time.
    pub(crate) arrived_bytes: u64,
    pub(crate) arrived_bytes_since_start: u64,
}

/// The record of a run so far.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// Metrics count from here on.
    warmup_end: Time,
    /// The transmission that is arriving.
    arriving: u64,
    /// Times of the first transmission and of the first arrival of each undelivered segment;
    /// [`Time::MAX`] for one that was not observed. The first entry is the next segment to be
    /// delivered.
    undelivered: Ring<(Time, Time)>,
    /// The transmission that arrived first, per undelivered segment, if packets are recorded.
    transmissions: Ring<u64>,
    pub(crate) paths: Vec<PathRecord>,
    pub(crate) app_delay: Spans,
    pub(crate) blocking: Spans,
    pub(crate) blocks: Option<BlockRecord>,
    pub(crate) requests: Option<Requests>,
    /// A file's size, writing time and deadline.
    file: Option<(u64, Time, Time)>,
    /// Number and bytes of the messages of an application that has ended.
    ended: Option<(u64, u64)>,
    deadlines: Option<Deadlines>,
    waiting_packets: u64,
    waiting_bytes: u64,
    pub(crate) buffer_packets: Level,
    pub(crate) buffer_bytes: Level,
    pub(crate) delivered_bytes: u64,
    pub(crate) delivered_packets: u64,
    /// Payload bytes delivered up to the end of the warm-up.
    pub(crate) delivered_in_warmup: u64,
    pub(crate) delivered_packets_in_warmup: u64,
    pub(crate) last_delivery: Time,
    pub(crate) duplicates: u64,
    pub(crate) refused: u64,
    pub(crate) packets: Option<PacketFrame>,
    pub(crate) decisions: Option<DecisionLog>,
}

impl Recorder {
    /// Creates an empty record for this number of `paths`.
    pub fn new(paths: usize, warmup: Duration, workload: &Workload, options: &RecordOptions) -> Self {
        let asks = workload.client() == ConnectionEnd::Far;
        Self {
            warmup_end: Time::ZERO + warmup,
            arriving: 0,
            undelivered: Ring::default(),
            transmissions: Ring::default(),
            paths: vec![PathRecord::default(); paths],
            app_delay: Spans::new(),
            blocking: Spans::new(),
            blocks: workload.blocks().map(BlockRecord::new),
            requests: asks.then(|| Requests::new(Time::ZERO + warmup)),
            file: match workload {
                Workload::File(File { size, start, deadline: Some(deadline) }) => {
                    Some((*size, Time::ZERO + *start, Time::ZERO + *start + *deadline))
                }
                _ => None,
            },
            ended: None,
            deadlines: workload.has_deadlines().then(|| Deadlines::new(Time::ZERO + warmup)),
            waiting_packets: 0,
            waiting_bytes: 0,
            buffer_packets: Level::default(),
            buffer_bytes: Level::default(),
            delivered_bytes: 0,
            delivered_packets: 0,
            delivered_in_warmup: 0,
            delivered_packets_in_warmup: 0,
            last_delivery: Time::ZERO,
            duplicates: 0,
            refused: 0,
            packets: options.packets.then(PacketFrame::default),
            decisions: options.decisions.then(|| DecisionLog::new(options.decisions_from)),
        }
    }

    /// To be called once, at the end of the warm-up: restarts the levels.
    pub fn end_warmup(&mut self) {
        let now = self.warmup_end.as_nanos();
        self.buffer_packets.restart(now);
        self.buffer_bytes.restart(now);
        self.delivered_in_warmup = self.delivered_bytes;
        self.delivered_packets_in_warmup = self.delivered_packets;
    }

    /// Records that the application wrote a block with a deadline relative to now, if it has one.
    pub fn block_written(&mut self, now: Time, bytes: u64, deadline: Option<Duration>) {
        self.expect(deadline);
        if let Some(blocks) = &mut self.blocks {
            blocks.written(now, bytes, deadline);
        }
    }

    /// Records that the block of this number, counted from 0, was delivered wholly. Only blocks that
    /// may arrive in any order are reported.
    pub(crate) fn block_arrived(&mut self, now: Time, number: u64) {
        let measured = self.measures(now);
        if let Some(blocks) = &mut self.blocks {
            blocks.delivered(now, number, measured, self.deadlines.as_mut());
        }
    }

    /// Records that a client wrote a request. The sizes of request and response are in bytes. The
    /// deadline of the response is relative to now.
    pub fn requested(&mut self, now: Time, request: u64, response: u64, deadline: Option<Duration>) {
        self.expect(deadline);
        if let Some(requests) = &mut self.requests {
            requests.requested(now, request, response, deadline);
        }
    }

    /// Judges messages from the first deadline on.
    fn expect(&mut self, deadline: Option<Duration>) {
        if deadline.is_some() {
            self.deadlines.get_or_insert(Deadlines::new(self.warmup_end));
        }
    }

    /// Records that the application has written all its messages.
    pub(crate) fn ended(&mut self, messages: u64, bytes: u64) {
        self.ended = Some((messages, bytes));
    }

    /// Records that the next request arrived wholly, and that its response was written.
    pub fn answered(&mut self, now: Time) {
        if let Some(requests) = &mut self.requests {
            requests.answered(now);
        }
    }

    /// Records that the response to the oldest open request was delivered wholly.
    pub fn responded(&mut self, now: Time) {
        let oldest = self.requests.as_ref().map_or(0, Requests::oldest);
        self.responded_to(now, oldest);
    }

    /// Records that the response to `request`, counted from 0, was delivered wholly.
    pub fn responded_to(&mut self, now: Time, request: u64) {
        let deadline = self.requests.as_mut().and_then(|requests| requests.responded(now, request as usize));
        self.judge(deadline, now);
    }

    /// Judges a file or a response with this deadline that is delivered wholly.
    fn judge(&mut self, deadline: Option<Time>, now: Time) {
        if let (Some(deadline), Some(deadlines)) = (deadline, &mut self.deadlines) {
            deadlines.delivered(deadline, now);
        }
    }

    /// Returns the judged messages of a run that ends at `end`, if they have deadlines.
    pub(crate) fn deadlines(&self, end: Time) -> Option<Deadlines> {
        let mut deadlines = self.deadlines?;
        let file = self.file.filter(|&(size, written, _)| self.delivered_bytes < size && written <= end);
        let open =
            self.requests.iter().flat_map(Requests::missing).chain(file.map(|(.., deadline)| deadline));
        let missing = self.blocks.iter().flat_map(BlockRecord::missing).chain(open);
        missing.for_each(|deadline| deadlines.abandoned(deadline, end));
        Some(deadlines)
    }

    /// Updates the receive buffer's occupancy. To be called after the receiver has processed a
    /// packet: packets that were delivered at once do not occupy the buffer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn settle(&mut self, now: Time) {
        self.buffer_packets.set(now.as_nanos(), self.waiting_packets);
        self.buffer_bytes.set(now.as_nanos(), self.waiting_bytes);
    }

    /// Packets and bytes that arrived and wait for their delivery.
    pub fn waiting(&self) -> (u64, u64) {
        (self.waiting_packets, self.waiting_bytes)
    }

    fn measures(&self, now: Time) -> bool {
        now >= self.warmup_end
    }

    /// Sets the transmission that is arriving. The following events refer to it.
    pub fn arriving(&mut self, transmission: u64) {
        self.arriving = transmission;
    }

    /// Records the first transmission of a segment. As an observer, the recorder learns only the
    /// first segment of each transmission.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn first_sent(&mut self, now: Time, segment: u64) {
        if segment == self.undelivered.next() {
            self.undelivered.push((now, Time::MAX));
        } else if let Some((sent, _)) = self.undelivered.reach(segment, (Time::MAX, Time::MAX)) {
            *sent = now;
        }
    }

    /// Records payload bytes that arrived over `path` for the first time.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn bytes_arrived(&mut self, now: Time, path: PathId, bytes: u64) {
        self.waiting_bytes += bytes;
        let measured = self.measures(now);
        let record = &mut self.paths[path.index()];
        record.arrived_bytes_since_start += bytes;
        if measured {
            record.arrived_bytes += bytes;
        }
    }

    /// Records that the arriving transmission completed a segment.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn segment_arrived(&mut self, now: Time, segment: u64) {
        if let Some((_, arrived)) = self.undelivered.reach(segment, (Time::MAX, Time::MAX)) {
            *arrived = now;
        }
        if let Some(packets) = &mut self.packets {
            let arriving = self.arriving;
            packets.arrived[arriving as usize] = nanos(now);
            self.transmissions.set(segment, arriving, u64::MAX);
        }
        self.waiting_packets += 1;
    }

    /// Records payload bytes that were delivered to the application.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn bytes_delivered(&mut self, now: Time, bytes: u64) {
        self.waiting_bytes -= bytes;
        self.delivered_bytes += bytes;
        self.last_delivery = now;
        let measured = self.measures(now);
        if let Some(blocks) = &mut self.blocks {
            blocks.delivered_up_to(now, self.delivered_bytes, measured, self.deadlines.as_mut());
        }
        if self.deadlines.is_some() {
            let file = self.file.filter(|&(size, ..)| size == self.delivered_bytes);
            self.judge(file.map(|(.., deadline)| deadline), now);
        }
    }

    /// Records the delivery of a segment's last byte to the application.
    ///
    /// # Panics
    /// If the segment is not the next one in order.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn segment_delivered(&mut self, now: Time, segment: u64) {
        assert_eq!(segment, self.undelivered.first(), "the receiver delivered out of order");
        self.waiting_packets -= 1;
        self.delivered_packets += 1;
        let Some((sent, arrived)) = self.undelivered.pop_front() else { return };
        if let (Some(packets), Some(transmission)) = (&mut self.packets, self.transmissions.pop_front()) {
            packets.delivered[transmission as usize] = nanos(now);
        }
        if self.measures(now) {
            self.app_delay.add(now.since(sent));
            self.blocking.add(now.since(arrived));
        }
    }

    /// Payload bytes delivered since the start.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Payload bytes that arrived for the first time over `path` since the start.
    pub fn arrived_bytes(&self, path: PathId) -> u64 {
        self.paths[path.index()].arrived_bytes_since_start
    }

    /// Data packets without new data, since the end of the warm-up: all their data had already
    /// arrived.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The delivery time of the last byte of a finite workload, if it was delivered.
    pub fn completed(&self, workload: &Workload) -> Option<Time> {
        let answered = self.requests.as_ref().map_or(0, Requests::responses);
        let ended = self.ended.is_some_and(|(messages, bytes)| {
            self.delivered_bytes == bytes && (self.requests.is_none() || answered == messages)
        });
        (ended || workload.is_complete(self.delivered_bytes, answered)).then_some(self.last_delivery)
    }
}

impl Observer for Recorder {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sent(&mut self, now: Time, sent: &Sent) {
        if let Some(packets) = &mut self.packets {
            packets.sent(now, sent);
        }
        if self.measures(now) {
            let path = &mut self.paths[sent.path.index()];
            path.packets_sent += 1;
            path.retransmissions += u64::from(sent.reason == SendReason::Retransmission);
            path.reinjections += u64::from(sent.reason == SendReason::Reinjection);
        }
        if sent.reason == SendReason::New {
            self.first_sent(now, sent.segment);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn decided(&mut self, now: Time, decision: &Decision, connection: &Connection, paths: &[Path]) {
        if let Some(decisions) = &mut self.decisions {
            decisions.push(now, decision, connection, paths);
        }
    }

    #[inline]
    fn hears_decisions(&self) -> bool {
        self.decisions.is_some()
    }

    #[inline]
    fn reason(&mut self) -> Option<&mut String> {
        self.decisions.as_mut().map(DecisionLog::reason)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn arrived(&mut self, now: Time, path: PathId, segment: u64, bytes: u32) {
        self.segment_arrived(now, segment);
        self.bytes_arrived(now, path, u64::from(bytes));
    }

    fn duplicate(&mut self, now: Time, _path: PathId, _segment: u64) {
        self.duplicates += u64::from(self.measures(now));
        let arriving = self.arriving as usize;
        if let Some(packets) = &mut self.packets
            && packets.arrived[arriving] == NEVER
        {
            packets.duplicate[arriving] = nanos(now);
        }
    }

    fn refused(&mut self, now: Time, _path: PathId, _segment: u64) {
        self.refused += u64::from(self.measures(now));
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn delivered(&mut self, now: Time, segment: u64, bytes: u32) {
        self.segment_delivered(now, segment);
        self.bytes_delivered(now, u64::from(bytes));
    }
}
