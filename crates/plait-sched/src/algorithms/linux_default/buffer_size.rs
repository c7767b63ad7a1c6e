//! The size of a subflow's send buffer, which the kernel makes larger with the congestion window.

/// The buffer of a smaller window is that of a window of this many segments: TCP_INIT_CWND.
const LEAST_WINDOW: u32 = 10;
/// The send buffer of a subflow that is not open: the second number of net.ipv4.tcp_wmem.
const FIRST: u64 = 16_384;
/// The limit of a growing buffer: the default third number of net.ipv4.tcp_wmem.
const MOST: u64 = 4 << 20;

/// The rule of `tcp_sndbuf_expand`, or a fixed size. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferSize {
    /// Half of the memory for each segment of the window.
    segment_memory: u64,
    /// The size of every buffer, if it is not 0.
    fixed: u64,
}

impl BufferSize {
    pub(super) const fn new(segment_memory: u64, fixed: u64) -> Self {
        Self { segment_memory, fixed }
    }

    /// The size for a congestion window, in segments.
    pub(super) fn most(self, window: u32) -> u64 {
        let grown = (u64::from(window.max(LEAST_WINDOW)) * 2 * self.segment_memory).min(MOST);
        if self.fixed > 0 { self.fixed } else { grown }
    }

    /// The size for a subflow that is not open.
    pub(super) const fn first(self) -> u64 {
        if self.fixed > 0 { self.fixed } else { FIRST }
    }

    /// The size for an open subflow whose buffer has grown to `reached`.
    pub(super) fn open(self, reached: u64) -> u64 {
        reached.max(self.most(LEAST_WINDOW))
    }
}
