//! How much the application may have written: payload, or the memory that Linux reckons.

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

    /// Memory of the stream up to `offset`, where a part that was begun has its overhead.
    fn taken(self, offset: u64) -> u64 {
        offset + self.overhead * offset.div_ceil(self.payload)
    }
}

/// A send buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendBuffer {
    size: u64,
    pieces: Option<Pieces>,
    /// The stream's offset up to which there is room for what the application writes.
    edge: u64,
    /// How far it has written, if it has so much.
    written: u64,
    /// Where it began to write what it writes now; from there it hands over [`WRITE`] bytes at once.
    begun: u64,
}

impl SendBuffer {
    /// `size` bytes of payload; `u64::MAX` for no limit.
    pub(crate) fn of_payload(size: u64) -> Self {
        Self { size, pieces: None, edge: size, written: size, begun: 0 }
    }

    /// `size` bytes of memory, as in Linux; `u64::MAX` for no limit.
    pub(crate) fn of_memory(size: u64, pieces: Pieces) -> Self {
        if size == u64::MAX {
            return Self::of_payload(size);
        }
        let mut buffer = Self { size: size.max(LEAST), pieces: Some(pieces), edge: 0, written: 0, begun: 0 };
        buffer.fill(0, pieces);
        buffer.write_on(u64::MAX);
        buffer
    }

    /// Bytes of payload beyond `assigned` that are in the buffer, or may be.
    pub(crate) fn left(&self, assigned: u64) -> u64 {
        self.written.saturating_sub(assigned)
    }

    /// The same in segments of `bytes`. The rest of what a writer that waits has written leaves in a short one; here the segment is
    /// whole, and the application a little ahead.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn segments_left(&self, assigned: u64, bytes: u64) -> u64 {
        let left = self.left(assigned);
        if self.size == u64::MAX {
            return left;
        }
        if self.pieces.is_some() && self.written == self.edge { left.div_ceil(bytes) } else { left / bytes }
    }

    /// Its memory, which grows and shrinks.
    pub(crate) fn resize(&mut self, size: u64) {
        self.size = size.max(LEAST);
    }

    /// The application has `end` bytes behind it, and more to write now. If all of them are in the buffer it has nothing else under way: what
    /// it hands over at once begins here, and not in the middle of it.
    pub(crate) fn begin(&mut self, end: u64) {
        if self.has_all(end) {
            self.begun = end;
            self.written = self.edge.min(end + WRITE);
        }
    }

    /// The application, which has `end` bytes to write, writes the next of them; false if it has to wait, or has no more.
    pub(crate) fn write_on(&mut self, end: u64) -> bool {
        let more = self.written < self.edge.min(end);
        if more {
            let handed_over = (self.written - self.begun) / WRITE;
            self.written = self.edge.min(self.begun + (handed_over + 1) * WRITE);
        }
        more
    }

    /// Up to where in the stream, in packets of `payload` bytes, the application writes before anything is acknowledged.
    pub(crate) fn first_filling(&self, payload: u64) -> u64 {
        if self.size == u64::MAX { UNLIMITED / (payload + PACKET_MEMORY) * payload } else { self.edge }
    }

    /// True if all `end` bytes that the application has to write are in a buffer of memory.
    pub(crate) fn has_all(&self, end: u64) -> bool {
        self.pieces.is_some() && self.written >= end
    }

    /// The size in bytes of memory, if it is reckoned so.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.pieces.map(|_| self.size)
    }

    /// True if the application, which has `end` bytes to write, waits for room.
    pub(crate) fn blocks(&self, end: u64) -> bool {
        end > self.edge
    }

    /// All below `acknowledged` is acknowledged, of `end` bytes that the application has to write.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn release(&mut self, acknowledged: u64, end: u64) {
        let Some(pieces) = self.pieces else {
            self.edge = self.size.saturating_add(acknowledged);
            self.written = self.edge;
            return;
        };
        // One that waits is woken when a third is free: `__sk_stream_is_writeable` in include/net/sock.h, which
        // `sk_stream_write_space` in net/core/stream.c asks.
        let held = pieces.taken(self.edge).saturating_sub(pieces.freed(acknowledged));
        if !self.blocks(end) || self.size.saturating_sub(held) >= held / 2 {
            self.fill(acknowledged, pieces);
        }
    }

    /// Parts are written as long as less than the buffer is taken, so that the last one may go beyond it (`mptcp_send_limit`,
    /// `sk_stream_memory_free`).
    fn fill(&mut self, acknowledged: u64, pieces: Pieces) {
        let count = (self.size + pieces.freed(acknowledged)).div_ceil(pieces.memory());
        self.edge = self.edge.max(count * pieces.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECES: Pieces = Pieces { payload: 1000, overhead: 500 };

    #[test]
    fn payload_is_counted_to_the_byte() {
        let mut buffer = SendBuffer::of_payload(10_000);
        buffer.release(1, u64::MAX);
        assert_eq!(buffer.left(4_000), 6_001);
        assert_eq!(SendBuffer::of_payload(u64::MAX).left(5), u64::MAX - 5);
    }

    /// All that there is room for is written.
    fn filled(mut buffer: SendBuffer) -> SendBuffer {
        while buffer.write_on(u64::MAX) {}
        buffer
    }

    #[test]
    fn memory_is_filled_by_whole_parts_and_the_last_one_goes_beyond() {
        let buffer = filled(SendBuffer::of_memory(10_000, PIECES));
        assert_eq!(buffer.left(0), 7_000, "the seventh part begins at 9,000 bytes of memory");
    }

    #[test]
    fn what_is_written_at_once_begins_with_a_message() {
        let mut buffer = SendBuffer::of_memory(1 << 20, Pieces::FRAGMENTS);
        buffer.begin(0);
        assert_eq!(buffer.left(0), 65_536);
        // The first message had 50,000 bytes; the second one has 60,000, which are handed over together, and the third one 100,000.
        buffer.begin(50_000);
        assert_eq!(buffer.left(50_000), 65_536);
        buffer.begin(110_000);
        assert_eq!(buffer.left(110_000), 65_536);
        assert!(buffer.write_on(210_000));
        assert_eq!(buffer.left(110_000), 131_072);
        // What is written while another message waits for room follows it.
        let mut full = SendBuffer::of_memory(65_536, Pieces::FRAGMENTS);
        full.begin(0);
        let before = full.left(0);
        full.begin(200_000);
        assert_eq!(full.left(0), before);
    }

    #[test]
    fn a_writer_that_waits_goes_on_when_a_third_is_free() {
        let mut buffer = filled(SendBuffer::of_memory(10_000, PIECES));
        buffer.release(2_000, u64::MAX);
        assert!(!buffer.write_on(u64::MAX), "7,500 bytes are taken");
        buffer.release(3_000, u64::MAX);
        assert!(buffer.write_on(u64::MAX), "6,000 bytes were taken");
        assert_eq!(buffer.left(7_000), 3_000);
    }

    #[test]
    fn a_writer_that_does_not_wait_has_all_that_is_free() {
        let mut buffer = filled(SendBuffer::of_memory(10_000, PIECES));
        assert!(!buffer.blocks(7_000));
        buffer.release(1_000, 7_000);
        assert_eq!(filled(buffer).left(7_000), 1_000);
    }

    #[test]
    fn what_a_writer_that_waits_has_written_is_sent_to_its_end() {
        let buffer = filled(SendBuffer::of_memory(10_000, PIECES));
        assert_eq!((buffer.segments_left(0, 1_500), buffer.segments_left(6_000, 1_500)), (5, 1));
        assert_eq!(SendBuffer::of_payload(7_000).segments_left(0, 1_500), 4);
    }

    #[test]
    fn it_is_written_64_kibibytes_at_a_time() {
        let mut buffer = SendBuffer::of_memory(1 << 20, Pieces::FRAGMENTS);
        assert_eq!(buffer.left(0), 65_536);
        assert!(buffer.write_on(u64::MAX));
        assert_eq!(buffer.left(0), 131_072);
        assert!(!buffer.write_on(131_072), "the application has no more");
    }
}
