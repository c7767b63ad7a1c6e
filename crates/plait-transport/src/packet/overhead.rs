//! Bytes of headers.

/// Bytes of headers around payload, which determine a packet's size on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overhead {
    /// Network and transport headers of every packet.
    pub packet: u32,
    /// Additional bytes of a packet with data: SCTP's DATA chunk header, which counts in windows;
    /// MPTCP's DSS option.
    pub data: u32,
    /// Additional bytes of an acknowledgement: SCTP's SACK chunk without blocks; MPTCP's data ACK.
    pub acknowledgement: u32,
    /// Additional bytes of the first selective block.
    pub first_block: u32,
    /// Bytes of each selective block.
    pub block: u32,
    /// Additional bytes of packets that open or probe a path.
    pub control: u32,
    /// Additional bytes of the packet that ends the first handshake: MPTCP's keys.
    pub confirmation: u32,
}

impl Overhead {
    /// Returns the header bytes of a packet with data.
    pub const fn of_data(&self) -> u32 {
        self.packet + self.data
    }

    /// Returns the bytes of selective blocks.
    pub(super) const fn of_blocks(&self, count: u32) -> u32 {
        if count == 0 { 0 } else { self.first_block + count * self.block }
    }
}
