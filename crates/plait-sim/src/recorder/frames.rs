//! Tables that are recorded only on request: plain columns, one `Vec` each.

use super::verdict::Verdict;
use plait_sched::{Connection, Decision, Duration, Path, PathState, Time};

/// In a column of times: the event did not happen.
pub const NEVER: i64 = -1;

/// One row per transmission of a segment; the row's index is the transmission's number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketFrame {
    /// The segment's number in the stream.
    pub sequence: Vec<u64>,
    /// The path that carried it.
    pub path: Vec<u8>,
    /// Payload bytes.
    pub bytes: Vec<u32>,
    /// Time of entry into the queue of the path's first link, in nanoseconds.
    pub sent: Vec<i64>,
    /// Time of arrival if this was the first copy of its segment to arrive, else [`NEVER`].
    pub arrived: Vec<i64>,
    /// Time of arrival if all data had arrived before, else [`NEVER`]. A packet without either time
    /// was lost or refused, or was on its way at the end of the run.
    pub duplicate: Vec<i64>,
    /// Time of the segment's in-order delivery, in the row of the copy that arrived first; else
    /// [`NEVER`].
    pub delivered: Vec<i64>,
    /// True if the segment had been sent before.
    pub retransmission: Vec<bool>,
    /// True for a copy of a segment in flight, sent because the scheduler requested it or because a
    /// subflow fell silent.
    pub reinjection: Vec<bool>,
}

impl PacketFrame {
    pub(super) fn sent(&mut self, now: Time, sent: &plait_transport::Sent) {
        self.sequence.push(sent.segment);
        self.path.push(sent.path.0);
        self.bytes.push(sent.bytes);
        self.sent.push(nanos(now));
        self.arrived.push(NEVER);
        self.duplicate.push(NEVER);
        self.delivered.push(NEVER);
        self.retransmission.push(sent.reason != plait_transport::SendReason::New);
        self.reinjection.push(sent.reason == plait_transport::SendReason::Reinjection);
    }

    /// Number of recorded transmissions.
    pub fn len(&self) -> usize {
        self.sequence.len()
    }

    /// True if no transmission was recorded.
    pub fn is_empty(&self) -> bool {
        self.sequence.is_empty()
    }
}

/// One row per request, in the order of writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFrame {
    /// Time at which the client wrote the request, in nanoseconds.
    pub written: Vec<i64>,
    /// Time at which the request had arrived wholly and the server wrote the response, or
    /// [`NEVER`].
    pub answered: Vec<i64>,
    /// Time at which the response's last byte was delivered to the client, or [`NEVER`].
    pub delivered: Vec<i64>,
    /// Payload bytes of the request.
    pub request_bytes: Vec<u64>,
    /// Payload bytes of the response.
    pub response_bytes: Vec<u64>,
}

/// One row per path and sampling time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathSeries {
    /// The time in nanoseconds.
    pub time: Vec<i64>,
    /// The path.
    pub path: Vec<u8>,
    /// Congestion window in packets (bytes divided by the counted bytes of a full packet).
    pub cwnd: Vec<f64>,
    /// Slow-start threshold in packets; infinite while unset.
    pub ssthresh: Vec<f64>,
    /// Smoothed round-trip time in nanoseconds; [`NEVER`] before the first sample.
    pub srtt: Vec<i64>,
    /// Packets in flight.
    pub in_flight: Vec<u32>,
    /// Packets assigned and not sent.
    pub queued: Vec<u32>,
    /// Packets of all senders in the queues along the path's forward route; `u32::MAX` if the
    /// engine cannot know it.
    pub link_queue: Vec<u32>,
    /// Payload bytes that arrived for the first time over this path since the start.
    pub arrived_bytes: Vec<u64>,
}

/// One row per sampling time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionSeries {
    /// The time in nanoseconds.
    pub time: Vec<i64>,
    /// Packets waiting at the receiver for in-order delivery.
    pub buffer_packets: Vec<u32>,
    /// Payload bytes waiting at the receiver for in-order delivery.
    pub buffer_bytes: Vec<u64>,
    /// Payload bytes delivered since the start.
    pub delivered_bytes: Vec<u64>,
    /// Packets that the receiver's window still admits.
    pub window_left: Vec<u64>,
}

/// One row per decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionFrame {
    /// The time in nanoseconds.
    pub time: Vec<i64>,
    /// The kind of decision, an index into [`DECISION_NAMES`].
    pub decision: Vec<u8>,
    /// The path, if the decision names one.
    pub path: Vec<Option<u8>>,
    /// Segments assigned, or the limit of those in flight (`u32::MAX`: lifted).
    pub segments: Vec<Option<u32>>,
    /// The first segment of an assignment, or the segment of a reinjection.
    pub segment: Vec<Option<u64>>,
    /// The time at which a decision to wait expires, in nanoseconds.
    pub wait_until: Vec<Option<i64>>,
    /// Segments in the data queue before the decision; saturates for endless streams.
    pub unassigned: Vec<u64>,
    /// Segments that the receiver's window admitted before the decision.
    pub window_left: Vec<u64>,
    /// Segments that the receiver's window admitted from the oldest unacknowledged one on, sent or
    /// not.
    pub window: Vec<u64>,
    /// Segments for which the send buffer still had room; saturates without a limit.
    pub send_buffer_left: Vec<u64>,
    /// The oldest unacknowledged segment in flight, if any.
    pub oldest_unacked: Vec<Option<u64>>,
    /// The path that carried this segment.
    pub oldest_unacked_path: Vec<Option<u8>>,
    /// The scheduler's reason, which has paths as `{0}`; empty without one.
    pub reason: Vec<String>,
}

/// The names of the decisions in [`DecisionFrame::decision`].
pub const DECISION_NAMES: [&str; 7] = ["assign", "reinject", "recall", "wait", "limit", "penalize", "defer"];

impl DecisionFrame {
    pub(super) fn push(&mut self, now: Time, decision: &Decision, connection: &Connection, reason: String) {
        self.reason.push(reason);
        let (kind, path, segments, segment) = match *decision {
            Decision::Assign { path, segments } => {
                (0, Some(path.0), Some(segments), Some(connection.next_segment))
            }
            Decision::Reinject { path, segment } => (1, Some(path.0), None, Some(segment)),
            Decision::Recall { path } => (2, Some(path.0), None, None),
            Decision::Wait { .. } => (3, None, None, None),
            Decision::Limit { path, in_flight } => (4, Some(path.0), Some(in_flight), None),
            Decision::Penalize { path } => (5, Some(path.0), None, None),
            Decision::Defer => (6, None, None, None),
        };
        let wait_until = if let Decision::Wait { until } = decision { *until } else { None };
        self.time.push(nanos(now));
        self.decision.push(kind);
        self.path.push(path);
        self.segments.push(segments);
        self.segment.push(segment);
        self.wait_until.push(wait_until.map(nanos));
        self.unassigned.push(connection.unassigned);
        self.window_left.push(connection.window_left);
        self.window.push(connection.window);
        self.send_buffer_left.push(connection.send_buffer_left);
        self.oldest_unacked.push(connection.oldest_unacked.map(|oldest| oldest.segment));
        self.oldest_unacked_path.push(connection.oldest_unacked.map(|oldest| oldest.path.0));
    }

    /// Number of recorded decisions.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// True if no decision was recorded.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
}

/// One row per decision and path: the path's facts before the decision, and the reason why it was
/// chosen or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionPaths {
    /// The row of the decision in [`DecisionFrame`].
    pub decision: Vec<u64>,
    /// The path.
    pub path: Vec<u8>,
    /// The reason why the path was chosen or not.
    pub verdict: Vec<Verdict>,
    /// The path's state, which determines its use.
    pub state: Vec<PathState>,
    /// Smoothed round-trip time in nanoseconds; [`NEVER`] before the first sample.
    pub srtt: Vec<i64>,
    /// Variation of the round-trip time in nanoseconds; [`NEVER`] before the first sample.
    pub rttvar: Vec<i64>,
    /// Smoothed round-trip time of packets whose acknowledgements came back on the path itself, in
    /// nanoseconds; [`NEVER`] before the first sample.
    pub own_rtt: Vec<i64>,
    /// The smallest sample of `own_rtt` in nanoseconds; [`NEVER`] before the first sample.
    pub min_rtt: Vec<i64>,
    /// Newest round-trip sample in nanoseconds; [`NEVER`] before the first sample.
    pub latest_rtt: Vec<i64>,
    /// One-way delay towards the receiver in nanoseconds, if measured. One clock offset is common
    /// to all paths.
    pub forward_delay: Vec<Option<i64>>,
    /// Retransmission timeout in nanoseconds, back-off included.
    pub rto: Vec<i64>,
    /// Congestion window in segments.
    pub cwnd: Vec<u32>,
    /// Slow-start threshold in segments; `u32::MAX` while unset.
    pub ssthresh: Vec<u32>,
    /// Segments in flight.
    pub in_flight: Vec<u32>,
    /// Segments assigned and not sent.
    pub queued: Vec<u32>,
    /// The scheduler's limit of segments in flight; `u32::MAX` while there is none.
    pub limit: Vec<u32>,
    /// Congestion window less segments in flight, lost and queued.
    pub cwnd_left: Vec<u32>,
    /// Lost share of the segments sent, in parts per million.
    pub loss_ppm: Vec<u32>,
    /// Recent delivery rate in bits per second of payload; zero until measured.
    pub delivery_rate: Vec<u64>,
}

impl DecisionPaths {
    pub(super) fn push(&mut self, decision: usize, path: &Path, verdict: Verdict) {
        let measured = |rtt: Duration| if path.has_rtt() { span_nanos(rtt) } else { NEVER };
        let own = |rtt: Duration| if rtt.is_zero() { NEVER } else { span_nanos(rtt) };
        self.decision.push(decision as u64);
        self.path.push(path.id.0);
        self.verdict.push(verdict);
        self.state.push(path.state);
        self.srtt.push(measured(path.srtt));
        self.rttvar.push(measured(path.rttvar));
        self.own_rtt.push(own(path.own_rtt));
        self.min_rtt.push(own(path.min_rtt));
        self.latest_rtt.push(measured(path.latest_rtt));
        self.forward_delay.push(path.forward_delay);
        self.rto.push(span_nanos(path.rto));
        self.cwnd.push(path.cwnd);
        self.ssthresh.push(path.ssthresh);
        self.in_flight.push(path.in_flight);
        self.queued.push(path.queued);
        self.limit.push(path.limit);
        self.cwnd_left.push(path.room());
        self.loss_ppm.push(path.loss_ppm);
        self.delivery_rate.push(path.delivery_rate);
    }
}

/// An amount of segments in the form of the tables: `None` for more than any run sends, which is
/// without a limit.
pub fn limited(amount: u64) -> Option<u64> {
    (amount <= 1 << 40).then_some(amount)
}

/// A time in the form of the tables.
pub fn nanos(time: Time) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

fn span_nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
