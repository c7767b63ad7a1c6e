//! The receiver's window as Linux 6.12 reckons it: in memory, by each subflow for itself, with one edge for
//! all of them.
//!
//! What a window may be depends on how much memory packets take beside their payload, which Linux learns from
//! those that arrive (the *scaling ratio*); on what waits; and on how far the subflow has opened
//! (`rcv_ssthresh`). With MPTCP what waits is what the *connection* holds, out of order or unread: a
//! subflow's own gaps hold nothing back. Subflows may take back what they granted ("mptcp: allow subflow rcv
//! wnd to shrink", 6.12.94); only the edge, which is the furthest that any acknowledgement granted, never
//! moves back. Sources: `__tcp_select_window` and `tcp_select_window` in net/ipv4/tcp_output.c,
//! `tcp_measure_rcv_mss` and `tcp_grow_window` in net/ipv4/tcp_input.c, `tcp_cleanup_rbuf` in net/ipv4/tcp.c,
//! `mptcp_established_options_dss` and `mptcp_set_rwin` in net/mptcp/options.c, `mptcp_cleanup_rbuf` and
//! `mptcp_rcv_space_adjust` in net/mptcp/protocol.c.
//!
//! Not modelled: the buffer does not grow by itself (`tcp_moderate_rcvbuf` is off in the lab), and memory is
//! never short.

use plait_sched::{Duration, Time};

/// What a packet takes in the receive buffer beside its payload, in bytes: of one that was sent on the same
/// machine. On real cards packets arrive merged, and windows are larger for the same buffer.
pub(super) const PACKET_MEMORY: u64 = 832;

/// Ratios are in parts of 256 (`TCP_RMEM_TO_WIN_SCALE`).
const RATIO_BITS: u32 = 8;
/// Before a subflow has seen a packet (`TCP_DEFAULT_SCALING_RATIO`).
const DEFAULT_RATIO: u64 = 128;
/// How large segments are thought to be before one has arrived (`TCP_MSS_DEFAULT`), in bytes.
const DEFAULT_SEGMENT: u64 = 536;
/// Smaller ones that arrive in order do not open the window (`tcp_event_data_recv`).
const SMALLEST_OPENING: u64 = 128;
/// The least that the window's scale makes room for (`net.core.rmem_max`), in bytes.
const SCALED_MEMORY: u64 = 212_992;
/// Headers of IP and TCP without options, and the timestamps' option.
const PLAIN_HEADERS: u64 = 40;
const TIMESTAMPS: u64 = 12;
/// The largest window that a SYN's answer tells, which is not scaled.
const UNSCALED: u64 = 65_535;

/// What a socket's memory grants by `ratio`.
const fn granted(memory: i64, ratio: u64) -> i64 {
    (memory * ratio as i64) >> RATIO_BITS
}

/// The buffer in memory whose window, full packets of `payload` bytes assumed, is `window` bytes when it is
/// empty.
pub(super) fn receive_memory(window: u64, payload: u64) -> u64 {
    let ratio = ((payload << RATIO_BITS) / (payload + PACKET_MEMORY)).max(1);
    (u128::from(window) << RATIO_BITS).div_ceil(u128::from(ratio)).clamp(4096, (1 << 30) - 1) as u64
}

/// The scale of windows of a buffer (`tcp_select_initial_window`).
fn scale(memory: u64) -> u8 {
    (memory.max(SCALED_MEMORY).ilog2() - 15).min(14) as u8
}

/// Likewise, of one whose window is `window` bytes when full packets of `payload` bytes come.
pub(super) fn window_scale(window: u64, payload: u64) -> u8 {
    scale(receive_memory(window, payload))
}

/// One subflow's part.
#[derive(Clone, Debug)]
struct SubflowGrant {
    /// It takes part: its handshake is over.
    open: bool,
    ratio: u64,
    /// `window_clamp`.
    clamp: u64,
    /// `rcv_ssthresh`: how far it has opened.
    threshold: u64,
    /// `rcv_mss`: how large the peer's segments are.
    typical: u64,
    /// `last_seg_size`: the last one that was smaller.
    smaller: u64,
    /// `rcv_wnd`: what it granted last, from `acknowledged` (`rcv_wup`) on, in bytes of the subflow.
    window: u64,
    acknowledged: u64,
    /// The edge that it knew then (`rcv_wnd_sent`).
    edge: u64,
    /// The round trip as the receiver sees it, in eighths of microseconds; 0 if it has seen none
    /// (`rcv_rtt_est`).
    round_trip: u64,
    /// The last timestamp that told one.
    echo: Option<u32>,
}

impl SubflowGrant {
    /// The bytes of the subflow beyond `next` that it has granted (`tcp_receive_window`).
    fn left(&self, next: u64) -> u64 {
        (self.acknowledged + self.window).saturating_sub(next)
    }
}

/// What an acknowledgement grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Granted {
    /// Bytes beyond the data acknowledgement, as the field says it.
    pub(super) window: u64,
    /// Memory is scarce: acknowledgements are delayed again.
    pub(super) scarce: bool,
}

/// The buffer, and what was granted.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    multipath: bool,
    /// `sk_rcvbuf`, the same for the connection and each subflow.
    memory: u64,
    /// Windows are multiples of this (two to the power of the window's scale).
    unit: u64,
    /// `advmss`.
    segment: u64,
    /// The connection's ratio: the least of the subflows'.
    ratio: u64,
    subflows: Vec<SubflowGrant>,
    /// The stream's offset up to which was granted (`rcv_wnd_sent`).
    edge: u64,
    /// The window that went out last, on any subflow (`old_wspace`).
    last: u64,
    /// The longest round trip when the ratio was looked at, as those of the subflows.
    round_trip: u64,
    /// The beginning of the measurement during which it is not looked at again.
    measured: Option<Time>,
}

impl Grants {
    /// For a buffer of `memory` bytes and packets of at most `packet` bytes.
    pub(super) fn new(memory: u64, packet: u64, paths: usize, multipath: bool) -> Self {
        let unit = 1 << scale(memory);
        let segment = packet.saturating_sub(PLAIN_HEADERS + TIMESTAMPS).max(1);
        let window = initial_window(memory, segment);
        // tcp_init_buffer_space: a segment is kept back.
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

    /// A subflow's handshake is over.
    pub(super) fn open(&mut self, index: usize) {
        self.subflows[index].open = true;
    }

    /// The buffer, in bytes of memory.
    pub(super) const fn memory(&self) -> u64 {
        self.memory
    }

    /// What the answer to a SYN tells.
    pub(super) fn first_window(&self) -> u64 {
        initial_window(self.memory, self.segment).min(UNSCALED)
    }

    /// Up to where in the stream was granted.
    pub(super) const fn edge(&self) -> u64 {
        self.edge
    }

    /// True if the subflow may take a segment that begins `ahead` bytes beyond its first missing one, `next`
    /// (`tcp_data_queue`). What other subflows granted meanwhile counts if it would not fit (`rwin_update`).
    pub(super) fn admits(&mut self, index: usize, next: u64, ahead: u64, bytes: u64) -> bool {
        let (edge, multipath) = (self.edge, self.multipath);
        let subflow = &mut self.subflows[index];
        if multipath && bytes >= subflow.left(next) && edge > subflow.edge {
            subflow.window += edge - subflow.edge;
            subflow.edge = edge;
        }
        ahead < subflow.left(next)
    }

    /// A segment was queued on its subflow, which now holds `held` bytes of memory. True if its window
    /// opened: the next acknowledgement is not delayed.
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
        // truesize_adjust: in order, a packet counts without its description.
        let taken = if in_order { bytes } else { bytes + PACKET_MEMORY };
        let increase = subflow.increase(bytes, taken, memory, advertised);
        subflow.threshold += (room as u64).min(increase);
        increase > 0
    }

    /// `__tcp_select_window` with `used` bytes of memory taken.
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

    /// An acknowledgement leaves on a subflow whose first missing byte is `next`; that of the stream is
    /// `data`.
    pub(super) fn advertise(&mut self, index: usize, next: u64, data: u64, used: u64) -> Granted {
        let mut granted = self.select(index, used);
        let (unit, edge) = (self.unit, self.edge);
        let subflow = &mut self.subflows[index];
        if self.multipath {
            // The edge is told, not the window, if another acknowledgement granted more.
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

    /// True if a subflow's window would be at least as large as what it granted last: then two segments are
    /// acknowledged even before the application has read them (`__tcp_ack_snd_check`).
    pub(super) fn keeps_up(&self, index: usize, used: u64) -> bool {
        self.select(index, used).window >= self.subflows[index].window
    }

    /// True if the application's reading gave so much memory back that every subflow is looked at
    /// (`mptcp_cleanup_rbuf`); `used` is what is still taken.
    pub(super) fn reopens(&self, used: u64) -> bool {
        let free = granted(self.memory as i64 - used as i64, self.ratio);
        !self.multipath || (free > 0 && free as u64 >= 2 * self.last)
    }

    /// True if a subflow can grant at least twice what is left of its window (`__tcp_cleanup_rbuf`).
    pub(super) fn would_double(&self, index: usize, next: u64, used: u64) -> bool {
        let subflow = &self.subflows[index];
        let left = subflow.left(next);
        if !subflow.open || 2 * left > subflow.clamp {
            return false;
        }
        let window = self.select(index, used).window;
        window > 0 && window >= 2 * left
    }

    /// More than a segment arrived in order since the last acknowledgement.
    pub(super) fn owes(&self, index: usize, next: u64) -> bool {
        next - self.subflows[index].acknowledged > self.subflows[index].typical
    }

    /// The round trip as the receiver sees it; zero if it has seen none.
    pub(super) fn round_trip(&self, index: usize) -> Duration {
        Duration::from_nanos(self.subflows[index].round_trip * 1_000 / 8)
    }

    /// A segment of `bytes` echoes the timestamp `echo`, `age` ago (`tcp_rcv_rtt_measure_ts`,
    /// `tcp_rcv_rtt_update`).
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

    /// The packet that ends the first handshake has come: the first measurement begins (`mptcp_sk_clone_init`).
    pub(super) fn note_confirmed(&mut self, now: Time) {
        self.measured.get_or_insert(now);
    }

    /// The application has read. The subflow with the least favourable packets decides how much memory a
    /// window takes; one that has had none yet counts as at the start. That is looked at once in a round
    /// trip.
    pub(super) fn note_read(&mut self, now: Time) {
        // Without a handshake, or if its last packet got lost, the first data stands for it.
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
    /// Learns how large segments are, and what of a packet is payload (`tcp_measure_rcv_mss`).
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

    /// By how much the window may open after a packet that takes so much memory (`tcp_grow_window`,
    /// `__tcp_grow_window`).
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

/// What a passive socket is ready for before it has seen a packet (`tcp_select_initial_window`): half of its
/// memory, in whole segments.
fn initial_window(memory: u64, segment: u64) -> u64 {
    let space = granted(memory as i64, DEFAULT_RATIO) as u64;
    if space > segment { space / segment * segment } else { space }
}

/// The window that the sender knows when the handshake is over: the answer to its SYN tells no larger one.
pub(super) fn first_window(window: u64, payload: u64, packet: u64) -> u64 {
    let segment = packet.saturating_sub(PLAIN_HEADERS + TIMESTAMPS).max(1);
    initial_window(receive_memory(window, payload), segment).min(UNSCALED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_half_is_rounded_down_and_less_than_a_sixteenth_is_nothing() {
        let mut grants = Grants::new(458_904, 1_528, 1, true);
        grants.open(0);
        // A full segment: 162 parts of 256 of the memory are payload, which is seen at the next reading.
        grants.note_segment(0, 1_452, 2_284, true);
        grants.note_read(Time::ZERO + Duration::from_secs(1));
        grants.subflows[0].threshold = 290_400;
        let window = |used| grants.select(0, used).window;
        // 358,904 · 162 / 256 = 227,118, up to a multiple of 8; 218,904 bytes are less than half, 17,904 less than a 16th.
        assert_eq!(window(100_000), 227_120);
        assert_eq!(window(240_000), 138_520);
        assert_eq!(window(441_000), 0);
    }

    #[test]
    fn a_short_segment_in_order_opens_the_window_by_two_full_ones() {
        let mut grants = Grants::new(458_904, 1_528, 1, true);
        grants.open(0);
        let mut open = |bytes, in_order| {
            let before = grants.subflows[0].threshold;
            let opens = grants.note_segment(0, bytes, bytes + 832, in_order);
            (opens, grants.subflows[0].threshold - before)
        };
        open(1_452, true);
        // Out of order, 1,032 bytes of memory are too many for 200 bytes of payload.
        assert_eq!(open(200, true), (true, 2 * 1_476));
        assert_eq!(open(200, false), (false, 0));
        // One below 128 bytes does not count.
        assert_eq!(open(127, true), (false, 0));
    }

    #[test]
    fn the_buffer_of_full_packets_has_the_window_that_was_asked_for() {
        assert_eq!(receive_memory(290_400, 1_452), 458_904);
        // The least and the most that Linux takes.
        assert_eq!(receive_memory(1, 1_452), 4_096);
        assert_eq!(receive_memory(u64::MAX / 2, 1_452), (1 << 30) - 1);
    }
}
