//! How much the application may have written: payload, or the memory that Linux reckons.

use std::collections::VecDeque;

/// Memory of a packet in a send queue beside its payload in Linux 6.12 on 64 bits: `struct sk_buff` (256 bytes, aligned), and its head
/// with room for headers and `struct skb_shared_info`, which together are a power of two (192 + 320) and therefore take 64 more
/// (`SKB_SMALL_HEAD_CACHE_SIZE` in net/core/skbuff.c). Its payload lies in pages of its own: each byte counts as one
/// (`mptcp_sendmsg_frag`, `tcp_sendmsg_locked`: `sk_wmem_queued_add`).
pub(crate) const PACKET_MEMORY: u64 = 832;

/// The least send buffer, `SOCK_MIN_SNDBUF` in include/net/sock.h.
const LEAST: u64 = 4608;

/// Bytes that the application hands over at once; it is not asked for more before the scheduler has had its turn (`mptcp_sendmsg` ends
/// with `__mptcp_push_pending`).
pub(crate) const WRITE: u64 = 1 << 16;

/// Memory that is written before the writer waits, in a buffer without a limit: Linux has no such thing, and the kernel that results
/// are compared with holds so much (`net.ipv4.tcp_wmem`).
const UNLIMITED: u64 = 1 << 24;

/// The parts in which the application's data goes into the buffer's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pieces {
    /// Payload of a part.
    payload: u64,
    /// Memory that it takes beside.
    overhead: u64,
}

impl Pieces {
    /// Of a connection of MPTCP: `struct mptcp_data_frag` and what follows it in a page fragment of 32 KiB (`mptcp_sendmsg`,
    /// `mptcp_carve_data_frag` in net/mptcp/protocol.c).
    pub(crate) const FRAGMENTS: Self = Self { payload: 32_768 - 40, overhead: 40 };

    /// Of TCP: packets (`tcp_sendmsg_locked` in net/ipv4/tcp.c).
    pub(crate) fn packets(payload: u32) -> Self {
        Self { payload: u64::from(payload.max(1)), overhead: PACKET_MEMORY }
    }

    fn memory(self) -> u64 {
        self.payload + self.overhead
    }

    /// Memory of the stream up to `offset`, if parts are freed when the last byte of them is.
    fn freed(self, offset: u64) -> u64 {
        offset + self.overhead * (offset / self.payload)
    }

    /// The offset up to which the stream takes so much memory.
    fn payload_of(self, memory: u64) -> u64 {
        let begun = (memory % self.memory()).saturating_sub(self.overhead);
        memory / self.memory() * self.payload + begun
    }

    /// Memory of the stream up to `offset`, where a part that was begun has its overhead.
    fn taken(self, offset: u64) -> u64 {
        offset + self.overhead * offset.div_ceil(self.payload)
    }
}

/// A send buffer.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    size: u64,
    pieces: Option<Pieces>,
    /// The stream's offset up to which there is room, rounded up to whole parts.
    edge: u64,
    /// Where the memory is all taken: the application begins no write from here on.
    full: u64,
    /// The application has a connection to write into.
    open: bool,
    /// How far it has written.
    written: u64,
    /// Where the message begins that it writes now. It hands over [`WRITE`] bytes of a message at once.
    begun: u64,
    /// Where the messages end that are not wholly written.
    ends: VecDeque<u64>,
}

impl SendBuffer {
    /// `size` bytes of payload; `u64::MAX` for no limit.
    pub(crate) fn of_payload(size: u64) -> Self {
        Self {
            size,
            pieces: None,
            edge: size,
            full: size,
            open: true,
            written: size,
            begun: 0,
            ends: VecDeque::new(),
        }
    }

    /// `size` bytes of memory, as in Linux; `u64::MAX` for no limit.
    pub(crate) fn of_memory(size: u64, pieces: Pieces) -> Self {
        if size == u64::MAX {
            return Self::of_payload(size);
        }
        let (size, pieces_of) = (size.max(LEAST), Some(pieces));
        let mut buffer = Self {
            size,
            pieces: pieces_of,
            edge: 0,
            full: 0,
            open: true,
            written: 0,
            begun: 0,
            ends: VecDeque::new(),
        };
        buffer.fill(0, pieces);
        buffer
    }

    /// Bytes of payload beyond `assigned` that are in the buffer, or may be.
    pub(crate) fn left(&self, assigned: u64) -> u64 {
        self.written.saturating_sub(assigned)
    }

    /// The same in segments of `bytes`. Each write ends with a short one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn segments_left(&self, assigned: u64, bytes: u64) -> u64 {
        let left = self.left(assigned);
        if self.size == u64::MAX {
            return left;
        }
        if self.pieces.is_some() { left.div_ceil(bytes) } else { left / bytes }
    }

    /// The application writes nothing before the connection is open.
    pub(crate) fn set_open(&mut self, open: bool) {
        self.open = open;
    }

    /// Its memory, which grows and shrinks.
    pub(crate) fn resize(&mut self, size: u64) {
        self.size = size.max(LEAST);
    }

    /// The application has a message to write, up to `end`, behind those that it writes already. True if it writes some of it now.
    pub(crate) fn begin(&mut self, end: u64) -> bool {
        if self.pieces.is_none() {
            return false;
        }
        self.ends.push_back(end);
        self.ends.len() == 1 && self.write_on()
    }

    /// The application writes on, up to the end of a call; false if it has to wait, or has no more.
    pub(crate) fn write_on(&mut self) -> bool {
        let Some(&end) = self.ends.front() else { return false };
        if !self.open || self.written >= self.full {
            return false;
        }
        let handed_over = (self.written - self.begun) / WRITE;
        self.written = self.edge.min(end).min(self.begun + (handed_over + 1) * WRITE);
        if self.written == end {
            self.ends.pop_front();
            self.begun = end;
        }
        true
    }

    /// How far the application has written; `None` if its writes are not told apart.
    pub(crate) fn written(&self) -> Option<u64> {
        self.pieces.map(|_| self.written)
    }

    /// Up to where in the stream, in packets of `payload` bytes, the application writes before anything is acknowledged.
    pub(crate) fn first_filling(&self, payload: u64) -> u64 {
        if self.size == u64::MAX { UNLIMITED / (payload + PACKET_MEMORY) * payload } else { self.edge }
    }

    /// True if all that the application has to write is in a buffer of memory.
    pub(crate) fn has_all(&self) -> bool {
        self.pieces.is_some() && self.ends.is_empty()
    }

    /// The size in bytes of memory, if it is reckoned so.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.pieces.map(|_| self.size)
    }

    /// True if the application waits for room in a buffer of memory.
    pub(crate) fn blocks(&self) -> bool {
        !self.ends.is_empty() && self.written >= self.full
    }

    /// All below `acknowledged` is acknowledged.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn release(&mut self, acknowledged: u64) {
        let Some(pieces) = self.pieces else {
            self.edge = self.size.saturating_add(acknowledged);
            self.written = self.edge;
            return;
        };
        self.release_memory(acknowledged, pieces);
    }

    #[inline(never)]
    fn release_memory(&mut self, acknowledged: u64, pieces: Pieces) {
        // One that waits is woken when a third is free: `__sk_stream_is_writeable` in include/net/sock.h, which
        // `sk_stream_write_space` in net/core/stream.c asks.
        let held = pieces.taken(self.written).saturating_sub(pieces.freed(acknowledged));
        if !self.blocks() || self.size.saturating_sub(held) >= held / 2 {
            self.fill(acknowledged, pieces);
        }
    }

    /// The application looks for room, although nobody told it of some: a third need not be free.
    pub(crate) fn wake(&mut self, acknowledged: u64) {
        if let Some(pieces) = self.pieces {
            self.fill(acknowledged, pieces);
        }
    }

    /// Parts are written as long as less than the buffer is taken, so that the last one may go beyond it (`mptcp_send_limit`,
    /// `sk_stream_memory_free`).
    fn fill(&mut self, acknowledged: u64, pieces: Pieces) {
        let memory = self.size + pieces.freed(acknowledged);
        self.edge = self.edge.max(memory.div_ceil(pieces.memory()) * pieces.payload);
        self.full = self.full.max(pieces.payload_of(memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECES: Pieces = Pieces { payload: 1000, overhead: 500 };

    #[test]
    fn one_that_is_woken_takes_less_than_a_third() {
        let mut buffer = filled(15_000, PIECES);
        let written = buffer.written();
        buffer.resize(18_000);
        buffer.release(0);
        assert!(!buffer.write_on(), "a sixth is free");
        assert_eq!(buffer.written(), written);
        buffer.wake(0);
        assert!(buffer.write_on());
        assert_eq!(buffer.written(), Some(12_000));
    }

    /// All that there is room for of an endless message is written.
    fn filled(size: u64, pieces: Pieces) -> SendBuffer {
        let mut buffer = SendBuffer::of_memory(size, pieces);
        buffer.begin(u64::MAX);
        while buffer.write_on() {}
        buffer
    }

    #[test]
    fn payload_is_counted_to_the_byte() {
        let mut buffer = SendBuffer::of_payload(10_000);
        buffer.release(1);
        assert_eq!(buffer.left(4_000), 6_001);
        assert_eq!(SendBuffer::of_payload(u64::MAX).left(5), u64::MAX - 5);
    }

    #[test]
    fn memory_is_filled_by_whole_parts_and_the_last_one_goes_beyond() {
        let buffer = filled(10_000, PIECES);
        assert_eq!(buffer.left(0), 7_000, "the seventh part begins at 9,000 bytes of memory");
    }

    #[test]
    fn a_write_ends_with_its_message() {
        let mut buffer = SendBuffer::of_memory(1 << 20, Pieces::FRAGMENTS);
        assert!(buffer.begin(50_000));
        assert_eq!((buffer.left(0), buffer.has_all()), (50_000, true));
        // Of a long message 64 KiB are handed over at once, from its beginning.
        assert!(buffer.begin(150_000));
        assert_eq!((buffer.left(50_000), buffer.has_all()), (65_536, false));
        // A message behind it waits.
        assert!(!buffer.begin(150_100));
        assert!(buffer.write_on());
        assert_eq!(buffer.left(0), 150_000);
        assert!(buffer.write_on());
        assert_eq!((buffer.left(0), buffer.has_all()), (150_100, true));
        assert!(!buffer.write_on());
    }

    #[test]
    fn small_messages_fill_the_memory_and_not_a_part() {
        let mut buffer = SendBuffer::of_memory(10_000, PIECES);
        for end in (1..=100).map(|count| count * 300) {
            buffer.begin(end);
            while buffer.write_on() {}
        }
        // 6,500 bytes take 10,000 of memory: the message that begins before them is the last.
        assert_eq!(buffer.left(0), 6_600);
        assert!(buffer.blocks());
    }

    #[test]
    fn nothing_is_written_before_the_connection_is_open() {
        let mut buffer = SendBuffer::of_memory(10_000, PIECES);
        buffer.set_open(false);
        assert!(!buffer.begin(100));
        assert_eq!((buffer.left(0), buffer.blocks()), (0, false));
        buffer.set_open(true);
        assert!(buffer.write_on());
        assert_eq!(buffer.left(0), 100);
    }

    #[test]
    fn a_writer_that_waits_goes_on_when_a_third_is_free() {
        let mut buffer = filled(10_000, PIECES);
        buffer.release(2_000);
        assert!(!buffer.write_on(), "7,500 bytes are taken");
        buffer.release(3_000);
        assert!(buffer.write_on(), "6,000 bytes were taken");
        assert_eq!(buffer.left(7_000), 3_000);
    }

    #[test]
    fn a_writer_that_does_not_wait_has_all_that_is_free() {
        let mut buffer = SendBuffer::of_memory(10_000, PIECES);
        buffer.begin(5_000);
        assert!(!buffer.blocks());
        buffer.release(1_000);
        buffer.begin(u64::MAX);
        while buffer.write_on() {}
        assert_eq!(buffer.left(7_000), 1_000);
    }

    #[test]
    fn what_was_written_is_sent_to_its_end() {
        let buffer = filled(10_000, PIECES);
        assert_eq!((buffer.segments_left(0, 1_500), buffer.segments_left(6_000, 1_500)), (5, 1));
        assert_eq!(SendBuffer::of_payload(7_000).segments_left(0, 1_500), 4);
    }
}
