//! The facts and events that a scheduler written in Python sees.
//!
//! `make reference` writes the same classes, with this documentation, into `_core.pyi`.

use plait_sched as sched;
use pyo3::prelude::*;

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Path>()?;
    module.add_class::<Connection>()?;
    module.add_class::<Message>()?;
    module.add_class::<Event>()
}

/// The facts of one path at the time of a decision.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Path {
    /// The path's number, from 0 in the scenario's order; no unit.
    index: u8,
    /// The path's name in the scenario.
    name: String,
    /// `active`, `backup`, `potentially-failed` or `failed`.
    state: &'static str,
    /// Whether the path may take new data now, the rule for backups included.
    usable: bool,
    /// Whether a segment assigned now would leave at once: the path is usable, and both windows
    /// have room.
    open: bool,
    /// Number of segments that would leave at once; 0 unless `open`.
    room: u32,
    /// Smoothed round-trip time in seconds; None before the first sample.
    srtt: Option<f64>,
    /// Mean deviation of the round-trip time in seconds; None before the first sample.
    rttvar: Option<f64>,
    /// The latest sample of the round-trip time in seconds; None before the first.
    latest_rtt: Option<f64>,
    /// Smoothed round-trip time in seconds of packets whose acknowledgement also came back on this
    /// path; None before the first sample. Over MPTCP it equals `srtt`. Over CMT-SCTP, `srtt` is
    /// smaller, because acknowledgements of packets of a long path arrive over a short path first.
    own_rtt: Option<f64>,
    /// The smallest sample of `own_rtt`, in seconds; None before the first.
    min_rtt: Option<f64>,
    /// Retransmission timeout in seconds, back-off included.
    rto: f64,
    /// Payload bytes of a full segment.
    mss: u32,
    /// Congestion window in segments.
    cwnd: u32,
    /// Slow-start threshold in segments; None while there is none.
    ssthresh: Option<u32>,
    /// Segments in flight.
    in_flight: u32,
    /// Segments considered lost that wait for retransmission on this path; they leave before new
    /// data.
    lost: u32,
    /// Segments assigned and not yet sent.
    queued: u32,
    /// Limit of the scheduler for segments in flight (`Limit`); None without a limit.
    limit: Option<u32>,
    /// Estimated one-way delay towards the receiver in seconds, with one clock offset common to all
    /// paths; None if not measured.
    forward_delay: Option<f64>,
    /// True after a timeout, until its losses are repaired: the path takes no new data.
    in_recovery: bool,
    /// True while losses are being repaired, after a timeout or not.
    repairing: bool,
    /// Recent delivery rate: acknowledged payload in bit/s; 0 until measured.
    delivery_rate: u64,
    /// Share of segments lost, from 0 to 1.
    loss_rate: f64,
    /// Cost of using the path, in units of the scenario's choice.
    cost: u32,
    /// The path's share of the data, relative to the weights of the other paths; 1 unless the
    /// scenario sets it.
    weight: u32,
    /// Number of the oldest segment in flight on other paths that this path does not carry; None
    /// unless the scheduler needs `uncarried`.
    uncarried: Option<u64>,
    /// Memory of the packets in flight, lost and queued, in bytes, as Linux counts it for a
    /// socket; None if the engine does not count it.
    memory: Option<u64>,
    /// Packets sent and not yet cumulatively acknowledged; None if the engine does not count
    /// `memory`.
    outstanding: Option<u32>,
    /// Rate at which congestion control lets packets leave, in bits per second; None if they leave
    /// as soon as the window admits them.
    pacing_rate: Option<u64>,
}

impl Path {
    /// `usable`: whether the path may take new data now, the backup rule included. `sendable`:
    /// number of segments in the data queue that the receiver's window admits. In Python, `open`
    /// and `room` describe segments that would leave at once.
    pub(crate) fn new(path: &sched::Path, name: &str, usable: bool, sendable: u64) -> Self {
        let open = usable && path.is_open() && sendable > 0;
        let measured = |span: sched::Duration| (!span.is_zero()).then(|| span.as_secs_f64());
        Self {
            index: path.id.0,
            name: name.to_owned(),
            state: path.state.name(),
            usable,
            open,
            room: if open { u64::from(path.room()).min(sendable) as u32 } else { 0 },
            srtt: measured(path.srtt),
            rttvar: measured(path.rttvar),
            latest_rtt: measured(path.latest_rtt),
            own_rtt: measured(path.own_rtt),
            min_rtt: measured(path.min_rtt),
            rto: path.rto.as_secs_f64(),
            mss: path.mss,
            cwnd: path.cwnd,
            ssthresh: (path.ssthresh != u32::MAX).then_some(path.ssthresh),
            in_flight: path.in_flight,
            lost: path.lost,
            queued: path.queued,
            limit: (path.limit != u32::MAX).then_some(path.limit),
            forward_delay: path.forward_delay.map(|nanos| nanos as f64 / 1e9),
            in_recovery: path.in_recovery,
            repairing: path.repairing,
            delivery_rate: path.delivery_rate,
            loss_rate: f64::from(path.loss_ppm) / 1e6,
            cost: path.cost,
            weight: path.weight,
            uncarried: path.uncarried,
            memory: path.memory,
            outstanding: path.outstanding,
            pacing_rate: path.pacing_rate,
        }
    }
}

#[pymethods]
impl Path {
    fn __repr__(&self) -> String {
        let srtt = self.srtt.map_or("unmeasured".to_owned(), |srtt| format!("{:.1} ms", srtt * 1e3));
        format!(
            "Path(index={}, name='{}', state='{}', srtt={srtt}, cwnd={}, in_flight={}, queued={}, room={})",
            self.index, self.name, self.state, self.cwnd, self.in_flight, self.queued, self.room
        )
    }
}

/// The application message that contains the next segment.
#[pyclass(frozen, get_all, module = "plait._core")]
#[derive(Clone)]
pub(crate) struct Message {
    /// Number of the message, counted from 0 in the order of writing.
    number: u64,
    /// The number of its stream; no unit.
    stream: u32,
    /// Segments of the message that are still in the data queue.
    segments_left: u64,
    /// Priority between streams: a higher one goes first; no unit.
    priority: u8,
    /// Time by which the whole message should have arrived, in seconds from the start; None without
    /// a deadline.
    deadline: Option<f64>,
}

impl From<sched::Message> for Message {
    fn from(message: sched::Message) -> Self {
        Self {
            number: message.number,
            stream: message.stream,
            segments_left: message.segments_left,
            priority: message.priority,
            deadline: message.deadline.map(sched::Time::as_secs_f64),
        }
    }
}

#[pymethods]
impl Message {
    fn __repr__(&self) -> String {
        let deadline = self.deadline.map_or("None".to_owned(), |seconds| seconds.to_string());
        format!(
            "Message(number={}, stream={}, segments_left={}, priority={}, deadline={deadline})",
            self.number, self.stream, self.segments_left, self.priority
        )
    }
}

/// The facts of the connection at the time of a decision.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Connection {
    /// Segments in the data queue, which no path has been assigned yet.
    unassigned: u64,
    /// Number of the next segment to be assigned, from 0.
    next_segment: u64,
    /// Bytes from the next segment to the end of the fragment in which Linux' MPTCP keeps them;
    /// None without fragments.
    fragment_left: Option<u64>,
    /// Segments that the receiver's window still admits.
    window_left: u64,
    /// Segments that the receiver's window admits, counted from the oldest unacknowledged segment,
    /// sent or not.
    window: u64,
    /// Segments that the application can still write.
    send_buffer_left: u64,
    /// Number of the oldest segment in flight; None without data in flight.
    oldest_unacked: Option<u64>,
    /// Whether the application has written everything.
    finished: bool,
    /// The message that contains the next segment. This field, `streams` and `due` have values only
    /// for schedulers that need `messages`.
    message: Option<Message>,
    /// Number of streams of the same priority with data in the data queue: `Defer` chooses between
    /// them.
    streams: u32,
    /// The earliest deadline of the messages that are not fully acknowledged, in seconds from the
    /// start; None without a deadline.
    due: Option<f64>,
    /// True while the application waits because it has more data to write than there is room for;
    /// False if the engine does not know.
    writer_waits: bool,
}

impl From<&sched::Connection> for Connection {
    fn from(connection: &sched::Connection) -> Self {
        Self {
            unassigned: connection.unassigned,
            next_segment: connection.next_segment,
            fragment_left: connection.fragment_left,
            window_left: connection.window_left,
            window: connection.window,
            send_buffer_left: connection.send_buffer_left,
            oldest_unacked: connection.oldest_unacked.map(|oldest| oldest.segment),
            finished: connection.finished,
            message: connection.message.map(Message::from),
            streams: connection.streams,
            due: connection.due.map(sched::Time::as_secs_f64),
            writer_waits: connection.writer_waits,
        }
    }
}

#[pymethods]
impl Connection {
    fn __repr__(&self) -> String {
        format!(
            "Connection(unassigned={}, next_segment={}, window_left={})",
            self.unassigned, self.next_segment, self.window_left
        )
    }
}

/// An event on a path.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Event {
    /// Kind of the event: `sent`, `acked`, `lost`, `timeout`, `path-down` or `path-up`.
    kind: &'static str,
    /// Number of the path, from 0.
    path: u8,
}

impl From<&sched::Event> for Event {
    fn from(event: &sched::Event) -> Self {
        Self { kind: event.kind(), path: event.path().0 }
    }
}

#[pymethods]
impl Event {
    fn __repr__(&self) -> String {
        format!("Event(kind='{}', path={})", self.kind, self.path)
    }
}
