//! The default of Linux ("default", its burst scheduler): a burst goes to the subflow that empties
//! first.
//!
//! # Source
//! Linux 6.12, net/mptcp/protocol.c (`mptcp_subflow_get_send`), sched.c; constants from there, from
//! net/ipv4/tcp_input.c (`tcp_sndbuf_expand`, `tcp_update_pacing_rate`) and tcp.c. Of the usable
//! paths the one with the least
//!
//! > linger = memory / p
//!
//! takes a burst of 65,428 bytes at most. `memory` is the memory of the data in the subflow's send
//! buffer, in flight and unsent. p is its mean pacing rate: at every burst, the present pacing rate
//! has the weight of the burst, and the mean so far has the weight of the memory. If that path's
//! send buffer is full, nothing is sent; there is no second choice. The congestion window has no
//! influence: assigned data waits on the subflow, and stays there.
//!
//! # Readings
//! * The pacing rate is mss · max(cwnd, outstanding) / srtt, times 2 while cwnd < ssthresh / 2 and
//!   times 1.2 after that (the defaults of `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
//! * Of equals the first in the list of subflows is taken. The initial subflow is the first;
//!   subflows that join follow in the order of their SYNs (`__mptcp_subflow_connect` in
//!   net/mptcp/subflow.c).
//! * A burst is a number of whole fragments, in which the connection keeps the data. The last
//!   fragment may exceed the burst and the send buffer (`__subflow_push_pending`). A fragment that
//!   begins behind another has a page to itself, and so 32,728 bytes. Only the first one may be
//!   shorter ([`Connection::fragment_left`]).
//! * The send buffer grows by itself: 2 · `segment_memory` bytes for each segment of the window, 10
//!   at least, up to 4 MiB (`net.ipv4.tcp_wmem`, third number). It grows while the application
//!   waits for room and a packet leaves that does not fill the congestion window
//!   (`tcp_event_new_data_sent`, `tcp_check_space`, `tcp_should_expand_sndbuf`; SOCK_NOSPACE is the
//!   connection's). It never shrinks. `buffer` gives it a fixed size instead.
//! * A packet takes mss + 832 bytes of the send buffer, in flight or not: the kernel of the lab has
//!   no segmentation offload. With offload, packets share memory, and the same buffer holds up to
//!   half as much again.
//! * `segment_memory` depends on the kernel's configuration: 2,304 bytes for a full packet of 1,500
//!   bytes in the lab's kernel, 4,352 in kernels of distributions, whose packets have room for the
//!   headers of radio networks.
//! * The application may fill 4,096 bytes and the send buffers of all subflows. A subflow that is
//!   not open has 16,384 bytes. The kernel updates the sum when the SYN of a joining subflow is
//!   answered (`__mptcp_sync_sndbuf`), and when a packet is acknowledged while the application
//!   waits (`subflow_write_space`). So the first bytes are written into 20,480 bytes. The engine
//!   asks for the sum ([`Scheduler::send_memory`]) where it counts memory and the scenario gives no
//!   send buffer.
//! * There are no copies and no penalties. The engine retransmits data of a failed path, as the
//!   kernel's timer does.
//!
//! # Departures
//! * A path without a round-trip sample takes as many segments as its window admits. The kernel has
//!   measured every subflow when the subflow is opened.
//! * A path in loss recovery takes nothing where the protocol says so (CMT-SCTP). TCP's subflows go
//!   on.
//! * In the kernel a path is stale after four timeouts without an answer while another answers.
//!   Here it is stale when the engine says that it potentially failed.
//! * If the engine does not count the memory of a path ([`Path::memory`], [`Path::outstanding`]),
//!   all its packets in flight and queued are assumed to be full, and none to be selectively
//!   acknowledged.
//!
//! # Progress
//! It waits for data, for the receiver's window, or because the buffer of the chosen path is full:
//! then data is in flight or queued there.

mod buffer_size;

use self::buffer_size::BufferSize;
use super::{clip, room};
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, PathState, usable};

/// The longest burst, in bytes: MPTCP_SEND_BURST_SIZE.
const BURST: u64 = 65_428;
/// Bytes of a fragment: the connection keeps written data in pages of 32 KiB, each with a `struct
/// mptcp_data_frag`.
const FRAGMENT: u64 = 32_768 - 40;
/// Memory of a connection besides its subflows' buffers: the first number of net.ipv4.tcp_wmem.
const LEAST_BUFFER: u64 = 4096;
/// Bytes of memory that a packet takes besides its payload.
const PACKET_MEMORY: u64 = 832;
/// Bounds of rates and amounts for 64-bit arithmetic: 4 GB/s, 2 GiB, 2²⁰ segments.
const MOST_RATE: u64 = 1 << 32;
const MOST_MEMORY: u64 = 1 << 31;
const MOST_SEGMENTS: u32 = 1 << 20;

/// The state of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Subflow {
    /// The mean pacing rate, in bytes per second; 0 before the first calculation.
    rate: u64,
    /// Its send buffer, in bytes; 0 before the first calculation.
    buffer: u64,
    /// Its share of the connection's send buffer (`cached_sndbuf`), in bytes.
    counted: u64,
    /// True if it has a socket, with a rate and a buffer, although it is not usable: it is stale,
    /// or its SYN was answered.
    waits: bool,
    /// Its place in the list of subflows; 0 before it was opened. The initial subflow is first, and
    /// joining subflows follow in the order of their SYNs (`__mptcp_subflow_connect` in
    /// net/mptcp/subflow.c).
    place: u32,
}

impl Subflow {
    const fn is_open(&self) -> bool {
        self.place > 0 || self.buffer > 0
    }
}

/// The buffer before the acknowledgement in progress. The freed memory is assigned before the
/// acknowledgement makes the buffer larger (`mptcp_incoming_options` comes before
/// `tcp_data_snd_check` in `tcp_rcv_established`).
#[derive(Clone, Copy, Debug)]
struct Growing {
    path: PathId,
    buffer: u64,
    /// Segments written until then. Later writes use the larger buffer.
    written: u64,
    /// The time of the first decision after the acknowledgement; `None` before it.
    at: Option<Time>,
}

/// The state of Linux' default.
#[derive(Clone, Debug)]
pub struct LinuxDefault {
    size: BufferSize,
    subflows: [Subflow; MAX_PATHS],
    growing: Option<Growing>,
    /// Number of subflows that were ever opened.
    count: u32,
    /// Number of subflows that are open or being opened: the first one, and all once data was
    /// acknowledged.
    paths: usize,
}

/// The kernel's pacing rate in bytes per second: that of congestion control, or else the one of
/// `tcp_update_pacing_rate`. The path has been measured.
fn pacing_rate(path: &Path) -> u64 {
    if let Some(rate) = path.pacing_rate {
        return (rate / 8).clamp(1, MOST_RATE);
    }
    let outstanding = path.outstanding.unwrap_or(path.in_flight.saturating_add(path.lost));
    let segments = u64::from(path.cwnd.max(outstanding).min(MOST_SEGMENTS));
    let percent = if path.cwnd < path.ssthresh / 2 { 200 } else { 120 };
    // At most 2^20 segments of 2^16 bytes, in units of 10 ms.
    let bytes = segments * u64::from(path.mss.min(1 << 16)) * percent;
    (bytes.saturating_mul(10_000_000) / path.srtt.as_nanos()).clamp(1, MOST_RATE)
}

/// Bytes in the path's send buffer.
fn memory(path: &Path) -> u64 {
    let packets = || path.in_flight.saturating_add(path.lost).saturating_add(path.queued).min(MOST_SEGMENTS);
    let full = || u64::from(packets()) * (u64::from(path.mss) + PACKET_MEMORY);
    path.memory.unwrap_or_else(full).min(MOST_MEMORY)
}

/// Segments that the application has written.
const fn written(connection: &Connection) -> u64 {
    connection.next_segment.saturating_add(connection.unassigned)
}

/// Number of segments in the whole fragments of a burst. Only between two fragments does the kernel
/// check whether the burst is over or the subflow's memory is full (`__subflow_push_pending`).
fn fragments(connection: &Connection, mss: u64, burst: u64, free: u64) -> u64 {
    // An engine without fragments has full segments. A segment at the end of a fragment then
    // includes the beginning of the next fragment, which the kernel counts to the next burst.
    let begun = connection.next_segment.saturating_mul(mss) % FRAGMENT;
    let mut bytes = connection.fragment_left.unwrap_or(FRAGMENT - begun);
    let uncounted = if connection.fragment_left.is_none() && begun < mss { begun } else { 0 };
    loop {
        let segments = bytes.div_ceil(mss);
        if bytes + uncounted >= burst || bytes + segments * PACKET_MEMORY >= free {
            return segments;
        }
        bytes += FRAGMENT;
    }
}

impl LinuxDefault {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "linux-default",
        title: "Linux' default",
        summary: "A burst of 64 KB goes to the subflow whose send buffer empties first; nothing is sent while that buffer is full.",
        source: "Linux 6.12, net/mptcp/protocol.c, mptcp_subflow_get_send",
        needs: Capabilities { assign_ahead: true, ..Capabilities::NONE },
        parameters: &[
            ParameterInfo {
                name: "segment_memory",
                doc: "Half of the send buffer's memory per segment of the largest window so far, in bytes: 2304 in the lab's kernel, 4352 in kernels of distributions.",
                default: Value::Integer(2304),
                domain: Domain::Integer { min: 1, max: 1 << 20 },
            },
            ParameterInfo {
                name: "buffer",
                doc: "The fixed send buffer of a subflow, in bytes, as net.ipv4.tcp_wmem can set it. With 0 the buffer grows with the window up to 4 MiB, as in Linux.",
                default: Value::Integer(0),
                domain: Domain::Integer { min: 0, max: 1 << 30 },
            },
        ],
    };

    /// Creates the state, with the memory of a segment and a fixed send buffer in bytes (0: the
    /// buffer grows).
    pub const fn new(segment_memory: u64, buffer: u64) -> Self {
        let none = Subflow { rate: 0, buffer: 0, counted: 0, waits: false, place: 0 };
        let size = BufferSize::new(segment_memory, buffer);
        Self { size, subflows: [none; MAX_PATHS], growing: None, count: 0, paths: 0 }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(parameters.integer("segment_memory") as u64, parameters.integer("buffer") as u64)
    }

    /// The time that the path needs for its data, in units of 2⁻³² s.
    fn linger(&mut self, path: &Path, held: u64) -> u64 {
        let subflow = &mut self.subflows[path.id.index()];
        if subflow.rate == 0 {
            subflow.rate = pacing_rate(path);
        }
        (held << 32) / subflow.rate
    }

    /// The send buffer of the subflow.
    fn buffer(&mut self, path: &Path) -> u64 {
        let first = self.size.most(path.cwnd);
        let subflow = &mut self.subflows[path.id.index()];
        if subflow.buffer == 0 {
            subflow.buffer = first;
        }
        subflow.buffer
    }

    /// Opens another subflow.
    fn open(&mut self, path: PathId) {
        self.paths = self.paths.max(path.index() + 1);
        let place = if self.count == 0 { 1 } else { path.index() as u32 + 2 };
        self.count += 1;
        self.subflows[path.index()] = Subflow { place, ..Subflow::default() };
        // The first subflow is counted before it has its buffer (`subflow_finish_connect`).
        if self.count > 1 {
            self.count_buffers();
        }
    }

    /// Updates the connection's send buffer from those of its subflows (`__mptcp_sync_sndbuf`).
    fn count_buffers(&mut self) {
        for index in 0..self.paths {
            let one = self.subflows[index];
            let counted = if one.is_open() { self.size.open(one.buffer) } else { self.size.first() };
            self.subflows[index].counted = counted;
        }
    }

    /// Notes a decision. The effect of an acknowledgement ends when time passes, or when more data
    /// was written.
    fn note_look(&mut self, now: Time, connection: &Connection) {
        let written = written(connection);
        self.growing = self
            .growing
            .filter(|growing| growing.written == written && growing.at.is_none_or(|at| at == now))
            .map(|growing| Growing { at: Some(now), ..growing });
    }

    /// Makes the buffer of the path larger after an acknowledgement.
    fn grow(&mut self, path: &Path, written: u64) {
        let most = self.size.most(path.cwnd);
        let buffer = &mut self.subflows[path.id.index()].buffer;
        let before = core::mem::replace(buffer, most.max(*buffer));
        let known = self.growing.is_some_and(|growing| growing.path == path.id && growing.at.is_none());
        if !known {
            self.growing =
                (before > 0).then_some(Growing { path: path.id, buffer: before, written, at: None });
        }
    }

    /// Adds the present pacing rate to the mean.
    fn average(&mut self, path: &Path, held: u64, burst: u64) {
        let rate = &mut self.subflows[path.id.index()].rate;
        *rate = ((*rate * held + pacing_rate(path) * burst) / (held + burst)).max(1);
    }
}

impl Default for LinuxDefault {
    fn default() -> Self {
        Self::new(2304, 0)
    }
}

impl Scheduler for LinuxDefault {
    #[inline]
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.note_look(now, connection);
        let sendable = connection.sendable();
        if sendable == 0 {
            return Decision::WAIT;
        }
        let mut best: Option<((u64, u32), &Path, u64)> = None;
        for path in usable(paths).filter(|path| !path.in_recovery) {
            if !path.has_rtt() {
                match room(path) {
                    0 => continue,
                    segments => {
                        return Decision::Assign { path: path.id, segments: clip(segments, sendable) };
                    }
                }
            }
            let held = memory(path);
            // Of equals the first in the kernel's list of subflows.
            let linger = (self.linger(path, held), self.subflows[path.id.index()].place);
            if best.is_none_or(|(least, _, _)| linger < least) {
                best = Some((linger, path, held));
            }
        }
        let Some((_, path, held)) = best else { return Decision::WAIT };
        let own = self.growing.filter(|growing| growing.path == path.id);
        let buffer = own.map_or_else(|| self.buffer(path), |growing| growing.buffer);
        if held >= buffer {
            return Decision::WAIT;
        }
        // Another subflow sends after the acknowledgement has been processed
        // (`mptcp_subflow_delegate`).
        self.growing = own;
        let mss = u64::from(path.mss);
        // For the mean, the end of the receiver's window shortens the burst; the end of the data
        // does not.
        let burst = BURST.min(connection.window_left.saturating_mul(mss));
        self.average(path, held, burst);
        let segments = fragments(connection, mss, burst, buffer - held);
        Decision::Assign { path: path.id, segments: clip(segments as u32, sendable) }
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        match *event {
            Event::PathDown { path } => {
                let state = paths[path.index()].state;
                self.subflows[path.index()].waits = state == PathState::PotentiallyFailed;
            }
            Event::PathUp { path } if self.subflows[path.index()].waits => {
                self.subflows[path.index()].waits = false;
            }
            Event::PathUp { path } => self.open(path),
            Event::Acked { path, segments: 0, .. } if paths[path.index()].state == PathState::Failed => {
                self.open(path);
                self.subflows[path.index()].waits = true;
            }
            Event::Acked { path, .. } if connection.writer_waits => {
                let path = &paths[path.index()];
                // The kernel checks after each packet that leaves: the first queued packet counts.
                if path.in_flight.saturating_add(path.queued.min(1)) < path.cwnd {
                    self.grow(path, written(connection));
                }
                let subflow = self.subflows[path.id.index()];
                if subflow.counted != self.size.open(subflow.buffer) {
                    self.count_buffers();
                }
            }
            _ => {}
        }
        // The other subflows are opened once data was acknowledged.
        if matches!(event, Event::Acked { .. }) {
            self.paths = paths.len();
        }
    }

    fn send_memory(&self) -> Option<u64> {
        let sum: u64 = self.subflows[..self.paths].iter().map(|one| one.counted).sum();
        Some(LEAST_BUFFER + sum.max(self.size.first()))
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

#[cfg(test)]
mod tests;
