//! The send buffer: limits the written data by payload, or by memory as Linux accounts it.

use super::fragments::Fragments;
use std::collections::VecDeque;

/// Memory of a packet in a send queue in addition to its payload, in Linux 6.12 on 64 bits. It
/// consists of `struct sk_buff` (256 bytes, aligned) and of the packet's head with headers and
/// `struct skb_shared_info`. The latter are a power of two (192 + 320) and therefore take 64 more
/// (`SKB_SMALL_HEAD_CACHE_SIZE` in net/core/skbuff.c). The payload lies in separate pages: each
/// byte counts as one (`mptcp_sendmsg_frag`, `tcp_sendmsg_locked`: `sk_wmem_queued_add`).
pub(crate) const PACKET_MEMORY: u64 = 832;

/// The smallest send buffer, `SOCK_MIN_SNDBUF` in include/net/sock.h.
const LEAST: u64 = 4608;

/// Bytes that the application hands over at once. The scheduler runs before the application hands
/// over more (`mptcp_sendmsg` ends with `__mptcp_push_pending`).
pub(crate) const WRITE: u64 = 1 << 16;

/// Memory that is written before the writer waits, in a buffer without a limit. Linux has no such
/// buffer; the kernel used for comparisons has this size (`net.ipv4.tcp_wmem`).
const UNLIMITED: u64 = 1 << 24;

/// TCP's packets, in which the buffer stores the application's data (`tcp_sendmsg_locked` in
/// net/ipv4/tcp.c).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packets {
    /// Payload of a packet.
    payload: u64,
    /// Memory of a packet in addition to its payload.
    overhead: u64,
}

impl Packets {
    fn memory(self) -> u64 {
        self.payload + self.overhead
    }

    /// Returns the memory freed by acknowledgements up to `offset`. A packet is freed with its last
    /// byte.
    fn freed(self, offset: u64) -> u64 {
        offset + self.overhead * (offset / self.payload)
    }

    /// Returns the stream offset up to which data fits the memory.
    fn payload_of(self, memory: u64) -> u64 {
        let begun = (memory % self.memory()).saturating_sub(self.overhead);
        memory / self.memory() * self.payload + begun
    }

    /// Returns the memory of the stream up to `offset`. An incomplete packet counts with its
    /// overhead.
    fn taken(self, offset: u64) -> u64 {
        offset + self.overhead * offset.div_ceil(self.payload)
    }
}

/// Accounting of memory.
#[derive(Clone, Debug)]
enum Memory {
    /// Only payload counts.
    Payload,
    /// No limit. In Linux, an application that blocks in `connect` writes its messages one by one
    /// afterwards, so these writes are tracked.
    Unlimited,
    Packets {
        packets: Packets,
        /// The stream offset up to which there is space, rounded up to whole packets.
        edge: u64,
        /// The stream offset at which all memory is used: no write begins from here on.
        full: u64,
    },
    Fragments {
        fragments: Fragments,
        /// True if the buffer was full, and not enough memory is free since then to wake a waiting
        /// writer.
        full: bool,
    },
}

/// A send buffer.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    size: u64,
    memory: Memory,
    /// True if memory counts, and not payload.
    of_memory: bool,
    /// True if the application has an open connection to write into.
    open: bool,
    /// Stream offset up to which the application has written.
    written: u64,
    /// Start of the message that is being written. The application hands over [`WRITE`] bytes of a
    /// message at once.
    begun: u64,
    /// Ends of the messages that are not wholly written.
    ends: VecDeque<u64>,
}

impl SendBuffer {
    /// Creates a buffer of `size` bytes of payload; `u64::MAX` for no limit.
    pub(crate) fn of_payload(size: u64) -> Self {
        Self { written: size, ..Self::new(size, Memory::Payload) }
    }

    /// Creates a buffer of `size` bytes of memory, as in Linux' TCP, with packets of `payload`
    /// bytes; `u64::MAX` for no limit.
    pub(crate) fn of_packets(size: u64, payload: u32) -> Self {
        Self::with_packets(size, Packets { payload: u64::from(payload.max(1)), overhead: PACKET_MEMORY })
    }

    fn with_packets(size: u64, packets: Packets) -> Self {
        let mut buffer = Self::of_memory(size, Memory::Packets { packets, edge: 0, full: 0 });
        buffer.release(0);
        buffer
    }

    /// Creates a buffer of `size` bytes of memory, as in Linux' MPTCP; `u64::MAX` for no limit.
    pub(crate) fn of_fragments(size: u64) -> Self {
        Self::of_memory(size, Memory::Fragments { fragments: Fragments::default(), full: false })
    }

    fn of_memory(size: u64, memory: Memory) -> Self {
        match size {
            u64::MAX => Self { written: u64::MAX, ..Self::new(size, Memory::Unlimited) },
            _ => Self::new(size.max(LEAST), memory),
        }
    }

    fn new(size: u64, memory: Memory) -> Self {
        let of_memory = !matches!(memory, Memory::Payload | Memory::Unlimited);
        Self { size, memory, of_memory, open: true, written: 0, begun: 0, ends: VecDeque::new() }
    }

    /// Returns the bytes beyond `assigned` that are in the buffer or fit into it.
    pub(crate) fn left(&self, assigned: u64) -> u64 {
        self.written.saturating_sub(assigned)
    }

    /// Returns these bytes as a number of segments of `bytes` bytes. Each write ends with a short
    /// one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn segments_left(&self, assigned: u64, bytes: u64) -> u64 {
        let left = self.left(assigned);
        if self.tells_writes() {
            return left.div_ceil(bytes);
        }
        if self.size == u64::MAX { left } else { left / bytes }
    }

    /// Sets whether the connection is open. Before, the application writes nothing.
    pub(crate) fn set_open(&mut self, open: bool) {
        self.open = open;
    }

    /// Sets the size of the buffer's memory, which may grow and shrink.
    pub(crate) fn resize(&mut self, size: u64) {
        self.size = size.max(LEAST);
    }

    /// Adds a message up to stream offset `end` behind the messages that are being written. The
    /// stream up to `assigned` is assigned to paths. Returns true if the application writes a part
    /// of the message now.
    pub(crate) fn begin(&mut self, end: u64, assigned: u64) -> bool {
        match self.memory {
            Memory::Payload => return false,
            Memory::Unlimited if self.ends.is_empty() && self.open => return false,
            Memory::Unlimited if self.ends.is_empty() => self.written = assigned,
            Memory::Unlimited | Memory::Packets { .. } | Memory::Fragments { .. } => {}
        }
        self.ends.push_back(end);
        self.ends.len() == 1 && self.write_on(assigned)
    }

    /// Continues writing, up to the end of a call. Returns false if the application must wait or
    /// has no more data.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn write_on(&mut self, assigned: u64) -> bool {
        match self.ends.front() {
            Some(&end) => self.write_to(end, assigned),
            None => false,
        }
    }

    #[inline(never)]
    fn write_to(&mut self, end: u64, assigned: u64) -> bool {
        if !self.open || self.is_full() {
            return false;
        }
        let handed_over = (self.written - self.begun) / WRITE;
        let call = end.min(self.begun + (handed_over + 1) * WRITE);
        match &mut self.memory {
            Memory::Payload => {}
            Memory::Unlimited => self.written = end,
            Memory::Packets { edge, .. } => self.written = call.min(*edge),
            Memory::Fragments { fragments, full } => {
                while self.written < call && !*full {
                    fragments.append(call - self.written, self.written > assigned);
                    self.written = fragments.end();
                    *full = fragments.held() >= self.size;
                }
            }
        }
        if self.written == end {
            self.ends.pop_front();
            self.begun = end;
        }
        if !self.tells_writes() {
            self.written = u64::MAX;
        }
        true
    }

    /// True if the buffer was full, and not enough memory is free since then to wake a waiting
    /// writer.
    const fn is_full(&self) -> bool {
        match &self.memory {
            Memory::Payload | Memory::Unlimited => false,
            Memory::Packets { full, .. } => self.written >= *full,
            Memory::Fragments { full, .. } => *full,
        }
    }

    /// Returns the offset up to which the application has written, or `None` if writes are not
    /// tracked.
    pub(crate) fn written(&self) -> Option<u64> {
        self.tells_writes().then_some(self.written)
    }

    /// True if the application's writes are tracked.
    fn tells_writes(&self) -> bool {
        self.of_memory || !self.ends.is_empty()
    }

    /// The fragments in which the written data is stored, as in Linux' MPTCP.
    #[inline]
    pub(super) fn fragments(&self) -> Option<&Fragments> {
        match &self.memory {
            Memory::Fragments { fragments, .. } => Some(fragments),
            Memory::Payload | Memory::Unlimited | Memory::Packets { .. } => None,
        }
    }

    /// Returns the stream offset at which the fragment of the byte at `offset` ends, or `None` if
    /// there is no such fragment.
    pub(crate) fn fragment_end(&self, offset: u64) -> Option<u64> {
        self.fragments()?.end_behind(offset)
    }

    /// Returns the stream offset up to which the application writes before the first
    /// acknowledgement, in packets of `payload` bytes.
    pub(crate) fn first_filling(&self, payload: u64) -> u64 {
        match &self.memory {
            _ if self.size == u64::MAX => UNLIMITED / (payload + PACKET_MEMORY) * payload,
            Memory::Payload | Memory::Unlimited => self.size,
            Memory::Packets { edge, .. } => *edge,
            Memory::Fragments { .. } => Fragments::filling(self.size),
        }
    }

    /// True if all data of the application is in a buffer of memory.
    pub(crate) fn has_all(&self) -> bool {
        self.of_memory && self.ends.is_empty()
    }

    /// Returns the size of a buffer of memory, in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.of_memory.then_some(self.size)
    }

    /// True if the application waits for space in a buffer of memory.
    pub(crate) fn blocks(&self) -> bool {
        !self.ends.is_empty() && self.is_full()
    }

    /// Releases the data below `acknowledged`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn release(&mut self, acknowledged: u64) {
        if self.of_memory {
            self.release_memory(acknowledged, false);
        } else if !self.tells_writes() {
            self.written = self.size.saturating_add(acknowledged);
        }
    }

    /// Releases the data below `acknowledged`, and lets a waiting writer continue even if less than
    /// a third is free.
    pub(crate) fn wake(&mut self, acknowledged: u64) {
        self.release_memory(acknowledged, true);
    }

    #[inline(never)]
    fn release_memory(&mut self, acknowledged: u64, woken: bool) {
        let blocks = self.blocks() && !woken;
        // A waiting writer is woken when a third is free: `__sk_stream_is_writeable` in
        // include/net/sock.h, called by `sk_stream_write_space` in net/core/stream.c.
        let waits = |held: u64| blocks && self.size.saturating_sub(held) < held / 2;
        match &mut self.memory {
            Memory::Payload | Memory::Unlimited => {}
            Memory::Packets { packets, edge, full } => {
                let freed = packets.freed(acknowledged);
                if !waits(packets.taken(self.written).saturating_sub(freed)) {
                    // Packets are written as long as the used memory is smaller than the buffer, so
                    // the last one may exceed it (`sk_stream_memory_free`).
                    let memory = self.size + freed;
                    *edge = (*edge).max(memory.div_ceil(packets.memory()) * packets.payload);
                    *full = (*full).max(packets.payload_of(memory));
                }
            }
            Memory::Fragments { fragments, full } => {
                fragments.release(acknowledged);
                let held = fragments.held();
                *full = held >= self.size || waits(held);
            }
        }
    }
}

#[cfg(test)]
mod tests;
