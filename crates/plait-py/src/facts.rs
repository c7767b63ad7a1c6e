//! The facts that a scheduler written in Python sees, and the decisions that it returns.

use plait_sched as sched;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Path>()?;
    module.add_class::<Connection>()?;
    module.add_class::<Event>()?;
    module.add_class::<Assign>()?;
    module.add_class::<Reinject>()?;
    module.add_class::<Recall>()?;
    module.add_class::<Limit>()?;
    module.add_class::<Penalize>()?;
    module.add_class::<Defer>()?;
    module.add_class::<Message>()?;
    module.add_class::<Wait>()
}

/// Returns the name of a path's state in Python and in tables.
pub(crate) fn state_name(state: sched::PathState) -> &'static str {
    match state {
        sched::PathState::Active => "active",
        sched::PathState::Backup => "backup",
        sched::PathState::PotentiallyFailed => "potentially-failed",
        sched::PathState::Failed => "failed",
    }
}

/// The facts of one path at the time of a decision; times in seconds, amounts in segments.
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
    /// Number of segments that would leave at once; 0 unless open.
    room: u32,
    /// Smoothed round-trip time in seconds; None before the first sample.
    srtt: Option<f64>,
    /// Mean deviation of the round-trip time in seconds; None before the first sample.
    rttvar: Option<f64>,
    /// The latest sample of the round-trip time in seconds; None before the first.
    latest_rtt: Option<f64>,
    /// Smoothed round-trip time in seconds of packets whose acknowledgement also came back on this
    /// path; None before the first sample.
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
    /// True while losses are being repaired, by any mechanism.
    repairing: bool,
    /// Payload acknowledged recently, in bit/s; 0 until measured.
    delivery_rate: u64,
    /// Share of segments lost, from 0 to 1.
    loss_rate: f64,
    /// Cost of using the path, in units of the scenario's choice.
    cost: u32,
    /// The path's share of the traffic, relative to the weights of the other paths; no unit, 1
    /// unless the scenario sets another.
    weight: u32,
    /// Number of the oldest segment in flight on other paths that this path lacks; for schedulers
    /// that need `uncarried`.
    uncarried: Option<u64>,
    /// Memory of the packets in flight, lost and queued, in bytes, as Linux accounts it to a
    /// socket; None if the engine does not count it.
    memory: Option<u64>,
    /// Packets sent and not yet acknowledged without a gap; None if the engine does not count
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
            state: state_name(path.state),
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

/// Properties of the message to which the next segment belongs.
#[pyclass(frozen, get_all, module = "plait._core")]
#[derive(Clone)]
pub(crate) struct Message {
    /// Messages are numbered from 0 in the order of writing; no unit.
    number: u64,
    /// The number of its stream; no unit.
    stream: u32,
    /// Segments of the message in the data queue.
    segments_left: u64,
    /// A higher priority goes first, between streams; no unit.
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

/// The facts of the connection at the time of a decision; times in seconds, amounts in segments.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Connection {
    /// Segments in the data queue, not assigned to any path yet.
    unassigned: u64,
    /// Number of the next segment to be assigned, from 0.
    next_segment: u64,
    /// Bytes from that segment to the end of the fragment in which Linux' MPTCP keeps it; None
    /// without fragments.
    fragment_left: Option<u64>,
    /// Segments that the receiver's window still admits.
    window_left: u64,
    /// Segments that the receiver's window admits from the oldest unacknowledged one on, sent or
    /// not.
    window: u64,
    /// Segments that the application can still write.
    send_buffer_left: u64,
    /// Number of the oldest segment in flight; None without data in flight.
    oldest_unacked: Option<u64>,
    /// Whether the application has written everything.
    finished: bool,
    /// The message to which the next segment belongs. This field and the following ones are
    /// for schedulers that need `messages`.
    message: Option<Message>,
    /// Number of streams of this priority with data in the data queue: `Defer` chooses between
    /// these.
    streams: u32,
    /// The earliest deadline of messages that are not wholly acknowledged, in seconds from the
    /// start; None without a deadline.
    due: Option<f64>,
    /// True while the application has more to write than there is space for; false if the engine
    /// does not know.
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
    /// Kind of the event, in a word.
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

/// Assigns the next segments to a path.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Assign {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// Number of segments.
    pub(crate) segments: u32,
}

#[pymethods]
impl Assign {
    #[new]
    #[pyo3(signature = (path, segments = None), text_signature = "(path, segments=1)")]
    fn new(path: &Bound<'_, PyAny>, segments: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let place = "plait.Assign: segments";
        let segments = segments.map_or(Ok(1), |segments| whole(segments, place, u32::MAX))?;
        Ok(Self { path: number(path, "Assign")?, segments })
    }

    fn __repr__(&self) -> String {
        format!("Assign(path={}, segments={})", self.path, self.segments)
    }
}

/// Converts a whole number of Python. `place` names the argument, and `most` is its largest value.
fn whole<T>(value: &Bound<'_, PyAny>, place: &str, most: T) -> PyResult<T>
where
    T: Copy + for<'a, 'py> FromPyObject<'a, 'py> + PartialOrd + std::fmt::Display,
{
    match value.extract::<T>() {
        Ok(number) if number <= most => Ok(number),
        Err(_) if !value.is_instance_of::<PyInt>() => {
            Err(PyTypeError::new_err(format!("{place}: expected a whole number, got {}", value.repr()?)))
        }
        _ => {
            let got = value.repr()?;
            Err(PyValueError::new_err(format!("{place}: expected a number from 0 to {most}, got {got}")))
        }
    }
}

/// Returns the number of the path in a decision.
fn number(path: &Bound<'_, PyAny>, decision: &str) -> PyResult<u8> {
    // The message is built only in case of an error, because this function is called for every
    // decision.
    let most = sched::MAX_PATHS as u8 - 1;
    path.extract::<u8>().or_else(|_| whole(path, &format!("plait.{decision}: path"), most))
}

/// Sends a copy of a segment in flight on another path.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Reinject {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// Number of the segment, from 0.
    pub(crate) segment: u64,
}

#[pymethods]
impl Reinject {
    #[new]
    fn new(path: &Bound<'_, PyAny>, segment: &Bound<'_, PyAny>) -> PyResult<Self> {
        let segment = whole(segment, "plait.Reinject: segment", u64::MAX)?;
        Ok(Self { path: number(path, "Reinject")?, segment })
    }

    fn __repr__(&self) -> String {
        format!("Reinject(path={}, segment={})", self.path, self.segment)
    }
}

/// Takes back the unsent segments of a path.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Recall {
    /// Number of the path, from 0.
    pub(crate) path: u8,
}

#[pymethods]
impl Recall {
    #[new]
    fn new(path: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { path: number(path, "Recall")? })
    }

    fn __repr__(&self) -> String {
        format!("Recall(path={})", self.path)
    }
}

/// Limits the segments in flight of a path below its congestion window.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Limit {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// Fewer segments than this may be in flight; None lifts the limit.
    pub(crate) in_flight: Option<u32>,
}

#[pymethods]
impl Limit {
    #[new]
    fn new(path: &Bound<'_, PyAny>, in_flight: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let place = "plait.Limit: in_flight";
        let in_flight = in_flight.map(|segments| whole(segments, place, u32::MAX)).transpose()?;
        Ok(Self { path: number(path, "Limit")?, in_flight })
    }

    fn __repr__(&self) -> String {
        let in_flight = self.in_flight.map_or("None".to_owned(), |segments| segments.to_string());
        format!("Limit(path={}, in_flight={in_flight})", self.path)
    }
}

/// Halves the congestion window of a path that holds up the others.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Penalize {
    /// Number of the path, from 0.
    pub(crate) path: u8,
}

#[pymethods]
impl Penalize {
    #[new]
    fn new(path: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { path: number(path, "Penalize")? })
    }

    fn __repr__(&self) -> String {
        format!("Penalize(path={})", self.path)
    }
}

/// Lets the other streams go first.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Defer;

#[pymethods]
impl Defer {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __repr__(&self) -> &'static str {
        "Defer()"
    }
}

/// Sends nothing now.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Wait {
    /// Latest time of the next call, in seconds from the start; None: at the next event.
    pub(crate) until: Option<f64>,
}

#[pymethods]
impl Wait {
    #[new]
    #[pyo3(signature = (until = None))]
    fn new(until: Option<f64>) -> PyResult<Self> {
        match until {
            Some(seconds) if seconds.is_nan() => Err(PyValueError::new_err(
                "plait.Wait: until: expected seconds from the start of the run, or None, got nan",
            )),
            _ => Ok(Self { until }),
        }
    }

    fn __repr__(&self) -> String {
        match self.until {
            Some(until) => format!("Wait(until={until})"),
            None => "Wait()".to_owned(),
        }
    }
}
