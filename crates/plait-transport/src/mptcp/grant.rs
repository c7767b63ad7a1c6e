//! The receive window as Linux 6.12 computes it: in memory, per subflow, with one right edge for
//! all subflows.
//!
//! A window depends on three quantities. First, the memory of packets in addition to their payload,
//! which Linux learns from arriving packets (the *scaling ratio*). Second, the data that waits in
//! the buffer. Third, the limit to which the subflow has opened its window (`rcv_ssthresh`). With
//! MPTCP, the waiting data is that of the *connection*, out of order or unread: a subflow's own
//! gaps hold nothing back. Subflows may shrink windows that they granted ("mptcp: allow subflow rcv
//! wnd to shrink", 6.12.94). Only the edge, which is the furthest that any acknowledgement granted,
//! never moves back.
//! Sources: `__tcp_select_window` and `tcp_select_window` in net/ipv4/tcp_output.c,
//! `tcp_measure_rcv_mss` and `tcp_grow_window` in net/ipv4/tcp_input.c, `tcp_cleanup_rbuf` in
//! net/ipv4/tcp.c, `mptcp_established_options_dss` and `mptcp_set_rwin` in net/mptcp/options.c,
//! `mptcp_cleanup_rbuf` and `mptcp_rcv_space_adjust` in net/mptcp/protocol.c.
//!
//! Not modelled: the buffer does not grow automatically (`tcp_moderate_rcvbuf` is off in the lab),
//! and memory is never short.

use plait_sched::{Duration, Time};

/// Memory of a packet in the receive buffer in addition to its payload, in bytes, for a packet sent
/// on the same machine. Real network cards merge packets, so the same buffer gives larger windows.
pub(super) const PACKET_MEMORY: u64 = 832;

/// Ratios are in parts of 256 (`TCP_RMEM_TO_WIN_SCALE`).
const RATIO_BITS: u32 = 8;
/// Ratio before a subflow has received a packet (`TCP_DEFAULT_SCALING_RATIO`).
const DEFAULT_RATIO: u64 = 128;
/// Assumed segment size before a segment has arrived (`TCP_MSS_DEFAULT`), in bytes.
const DEFAULT_SEGMENT: u64 = 536;
/// Smaller segments in order do not open the window (`tcp_event_data_recv`).
const SMALLEST_OPENING: u64 = 128;
/// Smallest buffer for which the window scale is computed (`net.core.rmem_max`), in bytes.
const SCALED_MEMORY: u64 = 212_992;
/// Headers of IP and TCP without options, and the timestamps option.
const PLAIN_HEADERS: u64 = 40;
const TIMESTAMPS: u64 = 12;
/// Largest window in a SYN/ACK, which is not scaled.
const UNSCALED: u64 = 65_535;

/// Returns the window for a socket's memory at `ratio`.
const fn granted(memory: i64, ratio: u64) -> i64 {
    (memory * ratio as i64) >> RATIO_BITS
}

/// Returns the size of the buffer, in memory, whose window is `window` bytes when it is empty and
/// packets have `payload` bytes.
pub(super) fn receive_memory(window: u64, payload: u64) -> u64 {
    let ratio = ((payload << RATIO_BITS) / (payload + PACKET_MEMORY)).max(1);
    (u128::from(window) << RATIO_BITS).div_ceil(u128::from(ratio)).clamp(4096, (1 << 30) - 1) as u64
}

/// Returns the window scale of a buffer (`tcp_select_initial_window`).
fn scale(memory: u64) -> u8 {
    (memory.max(SCALED_MEMORY).ilog2() - 15).min(14) as u8
}

/// Returns the window scale of a buffer whose window is `window` bytes for full packets of
/// `payload` bytes.
pub(super) fn window_scale(window: u64, payload: u64) -> u8 {
    scale(receive_memory(window, payload))
}

/// Returns the largest window that a receiver by Linux' rules grants, in bytes. `window` and
/// `payload` are those of `receive_memory`.
pub fn largest_window(window: u64, payload: u64) -> u64 {
    let memory = receive_memory(window, payload);
    let ratio = ((payload << RATIO_BITS) / (payload + PACKET_MEMORY)).max(DEFAULT_RATIO);
    granted(memory as i64, ratio) as u64 + (1 << scale(memory))
}

/// State of one subflow.
#[derive(Clone, Debug)]
struct SubflowGrant {
    /// True once the subflow's handshake is over.
    open: bool,
    ratio: u64,
    /// `window_clamp`.
    clamp: u64,
    /// `rcv_ssthresh`: the limit to which the window has opened.
    threshold: u64,
    /// `rcv_mss`: the estimated segment size of the peer.
    typical: u64,
    /// `last_seg_size`: size of the last segment that was smaller than the estimate.
    smaller: u64,
    /// `rcv_wnd`: the last granted window from `acknowledged` (`rcv_wup`) on, in bytes of the
    /// subflow.
    window: u64,
    acknowledged: u64,
    /// The edge when that window was granted (`rcv_wnd_sent`).
    edge: u64,
    /// The receiver's estimate of the round-trip time, in eighths of microseconds; 0 without a
    /// sample (`rcv_rtt_est`).
    round_trip: u64,
    /// The last echoed timestamp that gave a sample.
    echo: Option<u32>,
}

impl SubflowGrant {
    /// Returns the granted bytes of the subflow beyond `next` (`tcp_receive_window`).
    fn left(&self, next: u64) -> u64 {
        (self.acknowledged + self.window).saturating_sub(next)
    }
}

/// The window of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Granted {
    /// Bytes beyond the data acknowledgement, as the window field expresses them.
    pub(super) window: u64,
    /// True if memory is scarce, so that acknowledgements are delayed again.
    pub(super) scarce: bool,
}

/// The receive buffer and the granted windows.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    multipath: bool,
    /// `sk_rcvbuf`, the same for the connection and each subflow.
    memory: u64,
    /// Windows are multiples of this (two to the power of the window scale).
    unit: u64,
    /// `advmss`.
    segment: u64,
    /// The connection's ratio: the smallest of the subflows.
    ratio: u64,
    subflows: Vec<SubflowGrant>,
    /// The stream offset up to which data was granted (`rcv_wnd_sent`).
    edge: u64,
    /// The last advertised window, on any subflow (`old_wspace`).
    last: u64,
    /// The longest round-trip time of the subflows when the ratio was last updated, in the same
    /// unit.
    round_trip: u64,
    /// Start of the current interval, in which the ratio is not updated again.
    measured: Option<Time>,
}

impl Grants {
    /// Creates the state for a buffer of `memory` bytes and packets of at most `packet` bytes.
    pub(super) fn new(memory: u64, packet: u64, paths: usize, multipath: bool) -> Self {
        let unit = 1 << scale(memory);
        let segment = packet.saturating_sub(PLAIN_HEADERS + TIMESTAMPS).max(1);
        let window = initial_window(memory, segment);
        // tcp_init_buffer_space: a segment is held back.
        let full = granted(memory as i64, DEFAULT_RATIO) as u64;
        let clamp = if full > 2 * segment { (full - segment).max(2 * segment) } else { full };
        let subflow = SubflowGrant {
            open: false,
            ratio: DEFAULT_RATIO,
            clamp,
            threshold: window.min(clamp),
            typical: DEFAULT_SEGMENT.min(segment).min((window / 2).max(1)),
            smaller: 0,
            window,
            acknowledged: 0,
            edge: 0,
            round_trip: 0,
            echo: None,
        };
        let subflows = vec![subflow; paths];
        Self {
            multipath,
            memory,
            unit,
            segment,
            ratio: DEFAULT_RATIO,
            subflows,
            edge: 0,
            last: 0,
            round_trip: 0,
            measured: None,
        }
    }

    /// Records that a subflow's handshake is over.
    pub(super) fn open(&mut self, index: usize) {
        self.subflows[index].open = true;
    }

    /// Returns the size of the buffer, in bytes of memory.
    pub(super) const fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns the window of a SYN/ACK.
    pub(super) fn first_window(&self) -> u64 {
        initial_window(self.memory, self.segment).min(UNSCALED)
    }

    /// Returns the stream offset up to which data was granted.
    pub(super) const fn edge(&self) -> u64 {
        self.edge
    }

    /// True if the subflow may accept a segment that begins `ahead` bytes beyond its first missing
    /// one, `next` (`tcp_data_queue`). If the segment does not fit, windows granted by other
    /// subflows since then count too (`rwin_update`).
    pub(super) fn admits(&mut self, index: usize, next: u64, ahead: u64, bytes: u64) -> bool {
        let (edge, multipath) = (self.edge, self.multipath);
        let subflow = &mut self.subflows[index];
        if multipath && bytes >= subflow.left(next) && edge > subflow.edge {
            subflow.window += edge - subflow.edge;
            subflow.edge = edge;
        }
        ahead < subflow.left(next)
    }

    /// Records a segment queued on its subflow, which now holds `held` bytes of memory. Returns
    /// true if the window opened; then the next acknowledgement is not delayed.
    pub(super) fn note_segment(&mut self, index: usize, bytes: u64, held: u64, in_order: bool) -> bool {
        let (memory, advertised) = (self.memory, self.segment);
        let subflow = &mut self.subflows[index];
        subflow.measure(bytes, memory, advertised);
        if in_order && bytes < SMALLEST_OPENING {
            return false;
        }
        let free = granted(memory as i64 - held as i64, subflow.ratio);
        let room = (subflow.clamp as i64).min(free) - subflow.threshold as i64;
        if room <= 0 {
            return false;
        }
        // truesize_adjust: in order, a packet counts without its descriptor.
        let taken = if in_order { bytes } else { bytes + PACKET_MEMORY };
        let increase = subflow.increase(bytes, taken, memory, advertised);
        subflow.threshold += (room as u64).min(increase);
        increase > 0
    }

    /// Selects a window like `__tcp_select_window`, with `used` bytes of memory in use.
    fn select(&self, index: usize, used: u64) -> Granted {
        let subflow = &self.subflows[index];
        let ratio = if self.multipath { self.ratio } else { subflow.ratio };
        let mut free = granted(self.memory as i64 - used as i64, ratio);
        let allowed = granted(self.memory as i64, ratio);
        let full = allowed.min(subflow.clamp as i64);
        let unit = self.unit as i64;
        let scarce = free < full >> 1;
        if scarce {
            free &= -unit;
            if free < allowed >> 4 || free < (subflow.typical as i64).min(full) {
                return Granted { window: 0, scarce };
            }
        }
        let window = (free.max(0) as u64).min(subflow.threshold);
        Granted { window: window.next_multiple_of(self.unit), scarce }
    }

    /// Grants a window for an acknowledgement on a subflow. `next` is the first missing byte of the
    /// subflow, and `data` that of the stream.
    pub(super) fn advertise(&mut self, index: usize, next: u64, data: u64, used: u64) -> Granted {
        let mut granted = self.select(index, used);
        let (unit, edge) = (self.unit, self.edge);
        let subflow = &mut self.subflows[index];
        if self.multipath {
            // If another acknowledgement granted more, this one advertises the common edge.
            self.edge = edge.max(data + granted.window);
            granted.window = self.edge - data;
        } else {
            let current = subflow.left(next);
            if granted.window < current {
                granted.window = current.next_multiple_of(unit);
            }
        }
        (subflow.window, subflow.acknowledged, subflow.edge) = (granted.window, next, self.edge);
        self.last = granted.window;
        Granted { window: granted.window / unit * unit, ..granted }
    }

    /// True if a subflow's window would be at least as large as the last granted one. Then two
    /// segments are acknowledged even before the application has read them (`__tcp_ack_snd_check`).
    pub(super) fn keeps_up(&self, index: usize, used: u64) -> bool {
        self.select(index, used).window >= self.subflows[index].window
    }

    /// True if the application's reading released enough memory to check every subflow
    /// (`mptcp_cleanup_rbuf`). `used` is the memory still in use.
    pub(super) fn reopens(&self, used: u64) -> bool {
        let free = granted(self.memory as i64 - used as i64, self.ratio);
        !self.multipath || (free > 0 && free as u64 >= 2 * self.last)
    }

    /// True if a subflow can grant at least twice the rest of its window (`__tcp_cleanup_rbuf`).
    pub(super) fn would_double(&self, index: usize, next: u64, used: u64) -> bool {
        let subflow = &self.subflows[index];
        let left = subflow.left(next);
        if !subflow.open || 2 * left > subflow.clamp {
            return false;
        }
        let window = self.select(index, used).window;
        window > 0 && window >= 2 * left
    }

    /// True if more than a segment arrived in order since the last acknowledgement.
    pub(super) fn owes(&self, index: usize, next: u64) -> bool {
        next - self.subflows[index].acknowledged > self.subflows[index].typical
    }

    /// Returns the receiver's estimate of the round-trip time; zero without a sample.
    pub(super) fn round_trip(&self, index: usize) -> Duration {
        Duration::from_nanos(self.subflows[index].round_trip * 1_000 / 8)
    }

    /// Takes a sample from a segment of `bytes` that echoes the timestamp `echo` of `age` ago
    /// (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`).
    pub(super) fn note_echo(&mut self, index: usize, bytes: u64, echo: u32, age: Duration) {
        let subflow = &mut self.subflows[index];
        let sample = age.as_nanos() / 1_000;
        if subflow.echo.replace(echo) == Some(echo) || bytes < subflow.typical || sample == 0 {
            return;
        }
        let known = &mut subflow.round_trip;
        *known =
            if *known == 0 || sample << 3 < *known { sample << 3 } else { *known - (*known >> 3) + sample };
    }

    /// Records the packet that ends the first handshake, which starts the first interval
    /// (`mptcp_sk_clone_init`).
    pub(super) fn note_confirmed(&mut self, now: Time) {
        self.measured.get_or_insert(now);
    }

    /// Records that the application has read. The subflow with the least favourable packets
    /// determines the memory of a window. A subflow without packets counts with the default ratio.
    /// The update happens once per round-trip time.
    pub(super) fn note_read(&mut self, now: Time) {
        // Without a handshake, or if its last packet was lost, the first data starts the interval.
        let measured = *self.measured.get_or_insert(now);
        let passed = now.since(measured).as_nanos() / 1_000;
        if self.round_trip > 0 && passed < self.round_trip >> 3 {
            return;
        }
        let open = || self.subflows.iter().filter(|subflow| subflow.open);
        self.ratio = open().map(|subflow| subflow.ratio).min().unwrap_or(DEFAULT_RATIO);
        self.round_trip = open().map(|subflow| subflow.round_trip).max().unwrap_or(0);
        if self.round_trip > 0 && passed >= self.round_trip >> 3 {
            self.measured = Some(now);
        }
    }
}

impl SubflowGrant {
    /// Updates the estimated segment size, and the payload's share of a packet's memory
    /// (`tcp_measure_rcv_mss`).
    fn measure(&mut self, bytes: u64, memory: u64, advertised: u64) {
        let before = core::mem::take(&mut self.smaller);
        if bytes < self.typical {
            if bytes >= DEFAULT_SEGMENT {
                self.smaller = bytes;
                if bytes == before {
                    self.typical = bytes;
                }
            }
            return;
        }
        if bytes > self.typical {
            let ratio = ((bytes << RATIO_BITS) / (bytes + PACKET_MEMORY)).max(1);
            if ratio != self.ratio {
                self.ratio = ratio;
                self.clamp = granted(memory as i64, ratio) as u64;
            }
        }
        self.typical = bytes.min(advertised);
    }

    /// Returns the growth of the window after a packet with `taken` bytes of memory
    /// (`tcp_grow_window`, `__tcp_grow_window`).
    fn increase(&self, bytes: u64, taken: u64, memory: u64, advertised: u64) -> u64 {
        let taken = granted(taken as i64, self.ratio) as u64;
        if taken <= bytes {
            return 2 * advertised.max(bytes);
        }
        let (mut taken, mut window) = (taken >> 1, (granted(memory as i64, self.ratio) as u64) >> 1);
        while self.threshold <= window {
            if taken <= bytes {
                return 2 * self.typical.max(bytes);
            }
            (taken, window) = (taken >> 1, window >> 1);
        }
        0
    }
}

/// Returns the window of a passive socket before its first packet (`tcp_select_initial_window`):
/// half of its memory, in whole segments.
fn initial_window(memory: u64, segment: u64) -> u64 {
    let space = granted(memory as i64, DEFAULT_RATIO) as u64;
    if space > segment { space / segment * segment } else { space }
}

/// Returns the window that the sender knows after the handshake, limited by the unscaled field of
/// the SYN/ACK.
pub(super) fn first_window(window: u64, payload: u64, packet: u64) -> u64 {
    let segment = packet.saturating_sub(PLAIN_HEADERS + TIMESTAMPS).max(1);
    initial_window(receive_memory(window, payload), segment).min(UNSCALED)
}

#[cfg(test)]
mod tests;
