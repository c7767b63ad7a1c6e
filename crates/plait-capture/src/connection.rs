//! One connection, replayed from both captures into a recorder.

use crate::error::ObservationError;
use crate::packet::TcpSegment;
use crate::ranges::Ranges;
use crate::receiving::SubflowReceiver;
use crate::segments::Segments;
use crate::sending::{CapturedSender, Payload, RecordPosition};
use plait_sched::{PathId, Time};
use plait_sim::recorder::Recorder;
use plait_transport::{Observer as _, SendReason, Sent};

/// Number of different IPv4 identifications.
const IDENTIFICATIONS: usize = 1 << 16;

/// A transmission that may still arrive.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    payload: Payload,
    /// Number of the transmission in the connection.
    transmission: u64,
    /// Number of the transmission on the path.
    number: u64,
    arrived: bool,
}

/// Transmissions and arrivals on one subflow.
#[derive(Clone, Debug)]
struct SubflowArrivals {
    receiver: SubflowReceiver,
    /// Transmissions by IPv4 identification, which the sender increments. An arriving packet thus
    /// matches its own transmission, and not another transmission of the same bytes.
    in_flight: Vec<Option<InFlight>>,
    /// End of the data sent so far.
    sent: u64,
}

impl SubflowArrivals {
    fn new() -> Self {
        Self { receiver: SubflowReceiver::default(), in_flight: vec![None; IDENTIFICATIONS], sent: 0 }
    }
}

/// Number of lost transmissions: those that never arrived and were overtaken. Packets in flight at
/// the end are not lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    /// The first transmission that counts.
    from: u64,
    /// The number after the newest transmission that arrived.
    newest: u64,
    arrived: u64,
}

impl Losses {
    /// Restarts the count, with transmission `from` as the first that counts.
    pub(crate) fn restart(&mut self, from: u64) {
        *self = Self { from, newest: from, arrived: 0 };
    }

    /// Records the first arrival of a transmission.
    pub(crate) fn arrived(&mut self, number: u64) {
        if number >= self.from {
            self.newest = self.newest.max(number + 1);
            self.arrived += 1;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.newest - self.from - self.arrived
    }
}

/// A connection in progress.
pub(crate) struct CapturedConnection {
    pub(crate) recorder: Recorder,
    sender: CapturedSender,
    segments: Segments,
    subflows: Vec<Vec<SubflowArrivals>>,
    sent: Ranges,
    arrived: Ranges,
    /// Bytes that the subflows delivered to the connection and that the connection kept.
    ready: Ranges,
    /// Time of the current drops, and the ranges of arriving data that the connection drops at that
    /// time.
    dropped: (Time, Vec<(u64, u64)>),
    /// The next segment to be delivered.
    next_segment: usize,
    transmissions: u64,
    losses: Vec<Losses>,
    /// Number of transmissions per path.
    on_path: Vec<u64>,
    /// True if the application's reads determine which data is delivered. If false, all data that
    /// is in order is delivered.
    pub(crate) by_reads: bool,
    /// End of the data sent so far.
    end: u64,
    /// Scratch buffer for the new bytes of an arrival.
    fresh: Vec<(u64, u64)>,
    /// Stream offset up to which the receiver has buffer space, and the window scales of its
    /// subflows.
    window_end: u64,
    scales: Vec<u8>,
}

impl CapturedConnection {
    /// Creates a connection that has sent nothing yet and whose stream will consist of `segments`.
    pub(crate) fn new(sender: CapturedSender, segments: Segments, recorder: Recorder) -> Self {
        let paths = sender.paths();
        Self {
            recorder,
            sender,
            segments,
            subflows: vec![Vec::new(); paths],
            sent: Ranges::default(),
            arrived: Ranges::default(),
            ready: Ranges::default(),
            dropped: (Time::ZERO, Vec::new()),
            next_segment: 0,
            transmissions: 0,
            losses: vec![Losses::default(); paths],
            on_path: vec![0; paths],
            by_reads: false,
            end: 0,
            fresh: Vec::new(),
            window_end: 0,
            scales: vec![0; paths],
        }
    }

    /// Ends the warm-up.
    pub(crate) fn end_warmup(&mut self) {
        self.recorder.end_warmup();
        for (losses, &sent) in self.losses.iter_mut().zip(&self.on_path) {
            losses.restart(sent);
        }
    }

    /// Returns the number of transmissions lost since the end of the warm-up.
    pub(crate) fn lost(&self) -> u64 {
        self.losses.iter().map(Losses::count).sum()
    }

    /// Whether the connection fell back to TCP.
    pub(crate) fn fell_back(&self) -> bool {
        self.sender.fell_back
    }

    /// Returns the number of bytes that the receiver's window still admits.
    pub(crate) fn window_left(&self) -> u64 {
        self.window_end.saturating_sub(self.end)
    }

    /// Records that a packet leaves the sender.
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        position: RecordPosition<'_>,
        path: usize,
        id: u16,
        tcp: &TcpSegment,
    ) -> Result<(), ObservationError> {
        let Some(payload) = self.sender.read(position, path, tcp)? else { return Ok(()) };
        let subflows = &mut self.subflows[path];
        while subflows.len() <= payload.subflow {
            subflows.push(SubflowArrivals::new());
        }
        let subflow = &mut subflows[payload.subflow];
        let (offset, end) = (payload.offset, payload.offset + u64::from(payload.length));
        self.end = self.end.max(end);
        let (mut first, segments, recorder) = (None, &self.segments, &mut self.recorder);
        self.sent.insert(offset, end, |from, _| {
            let segment = segments.find(from);
            recorder.first_sent(now, segment as u64);
            first.get_or_insert(segment);
        });
        let reason = if first.is_some() {
            SendReason::New
        } else if payload.start < subflow.sent {
            SendReason::Retransmission
        } else {
            SendReason::Reinjection
        };
        let (transmission, number) = (self.transmissions, self.on_path[path]);
        self.recorder.sent(
            now,
            &Sent {
                path: PathId(path as u8),
                transmission,
                number,
                segment: first.unwrap_or_else(|| self.segments.find(offset)) as u64,
                bytes: payload.length,
                reason,
            },
        );
        subflow.sent = subflow.sent.max(payload.start + u64::from(payload.length));
        subflow.in_flight[usize::from(id)] = Some(InFlight { payload, transmission, number, arrived: false });
        self.transmissions += 1;
        self.on_path[path] += 1;
        Ok(())
    }

    /// Records that a packet reaches the receiver.
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        position: RecordPosition<'_>,
        path: usize,
        id: u16,
        tcp: &TcpSegment,
    ) -> Result<(), ObservationError> {
        if tcp.payload == 0 || tcp.syn {
            return Ok(());
        }
        let unknown = || {
            position.mismatch(format!(
                "the sender's capture has no such packet (identification {}, sequence number {})",
                id, tcp.sequence
            ))
        };
        let index = self.sender.subflow(path, tcp.source_port).ok_or_else(unknown)?;
        let start = self.sender.start(path, index, tcp.sequence);
        let subflow = self.subflows[path].get_mut(index).ok_or_else(unknown)?;
        let in_flight = subflow.in_flight[usize::from(id)].as_mut().ok_or_else(unknown)?;
        let Payload { offset, length, .. } = in_flight.payload;
        if in_flight.payload.start != start || length != tcp.payload {
            return Err(unknown());
        }
        self.recorder.arriving(in_flight.transmission);
        if !in_flight.arrived {
            in_flight.arrived = true;
            self.losses[path].arrived(in_flight.number);
        }
        if subflow.receiver.rejects(start, u64::from(length), tcp.options.timestamp) {
            let segment = self.segments.find(offset) as u64;
            self.recorder.refused(now, PathId(path as u8), segment);
            self.recorder.settle(now);
            return Ok(());
        }
        let (ready, (dropped_at, dropped)) = (&mut self.ready, &self.dropped);
        let dropped = if *dropped_at == now { dropped.as_slice() } else { &[] };
        subflow.receiver.accept(start, offset, u64::from(length), |from, to| {
            each_rest(dropped, from, to, |from, to| ready.insert(from, to, |_, _| {}));
        });
        self.note_arrival(now, PathId(path as u8), offset, offset + u64::from(length));
        if !self.by_reads {
            self.deliver(now, self.ready.floor());
        }
        self.recorder.settle(now);
        Ok(())
    }

    /// Records that the connection drops these data sequence numbers at `now`, although the subflow
    /// accepts them. They lie beyond the window that all subflows share, or memory is short. The
    /// sender will retransmit them.
    pub(crate) fn drop(&mut self, now: Time, start: u64, end: u64) {
        let Some(offset) = self.sender.offset(start) else { return };
        let (at, dropped) = &mut self.dropped;
        if *at != now {
            *at = now;
            dropped.clear();
        }
        dropped.push((offset, offset + end.wrapping_sub(start)));
        self.recorder.refused(now, PathId(0), self.segments.find(offset) as u64);
    }

    /// Records the bytes of `offset..end` that arrive for the first time, and the segments that
    /// they complete.
    fn note_arrival(&mut self, now: Time, path: PathId, offset: u64, end: u64) {
        self.fresh.clear();
        self.arrived.insert(offset, end, |from, to| self.fresh.push((from, to)));
        if self.fresh.is_empty() {
            self.recorder.duplicate(now, path, self.segments.find(offset) as u64);
            return;
        }
        let mut number = 0;
        for &(from, to) in &self.fresh {
            self.recorder.bytes_arrived(now, path, to - from);
            number = self.segments.find(from).max(number);
            while let Some((first, last)) = self.segments.get(number).filter(|&(first, _)| first < to) {
                if self.arrived.contains(first, last) {
                    self.recorder.segment_arrived(now, number as u64);
                } else if last > to {
                    break;
                }
                number += 1;
            }
        }
    }

    /// Records that the application has read everything below `offset`.
    pub(crate) fn read_up_to(
        &mut self,
        now: Time,
        position: RecordPosition<'_>,
        offset: u64,
    ) -> Result<(), ObservationError> {
        let ready = self.ready.floor();
        if offset > ready {
            return Err(position.mismatch(format!(
                "{offset} bytes were read at {now}, when {ready} had arrived in order by the captures"
            )));
        }
        self.deliver(now, offset);
        self.recorder.settle(now);
        Ok(())
    }

    fn deliver(&mut self, now: Time, end: u64) {
        let before = self.recorder.delivered_bytes();
        if end <= before {
            return;
        }
        while let Some((_, last)) = self.segments.get(self.next_segment).filter(|&(_, last)| last <= end) {
            debug_assert!(last > before, "a segment is delivered once");
            self.recorder.segment_delivered(now, self.next_segment as u64);
            self.next_segment += 1;
        }
        self.recorder.bytes_delivered(now, end - before);
    }

    /// Records that a packet from the receiver reaches the sender.
    pub(crate) fn acknowledge(&mut self, path: usize, tcp: &TcpSegment) {
        if tcp.syn {
            self.scales[path] = tcp.options.window_scale.unwrap_or(0);
        } else if let Some(acknowledged) = self.sender.acknowledged(path, tcp) {
            let window = u64::from(tcp.window) << self.scales[path].min(14);
            self.window_end = self.window_end.max(acknowledged.saturating_add(window));
        }
    }
}

/// Calls `each` for the parts of `from..to` that are in none of the ranges `without`.
fn each_rest(without: &[(u64, u64)], from: u64, to: u64, mut each: impl FnMut(u64, u64)) {
    let mut from = from;
    while from < to {
        // The first range that begins after `from`, or the range that covers `from`.
        match without.iter().filter(|(start, end)| *end > from && *start < to).min() {
            None => return each(from, to),
            Some(&(start, end)) => {
                if start > from {
                    each(from, start);
                }
                from = end;
            }
        }
    }
}
