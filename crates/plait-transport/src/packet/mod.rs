//! Packets without payload bytes: segment numbers and lengths describe the stream.
//!
//! Each protocol has a packet type of its own, and its end handles only that. Engines handle a
//! [`Packet`], which is one of them. `endpoint.rs` converts between the two.

mod overhead;
pub mod quic;
pub mod sctp;
pub mod tcp;

pub use overhead::Overhead;

/// A packet of any protocol, as exchanged with the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// A packet of SCTP.
    Sctp(sctp::Packet),
    /// A packet of TCP or MPTCP.
    Tcp(tcp::Packet),
    /// A packet of QUIC.
    Quic(quic::Packet),
}

/// A borrowed [`Packet`]. An end lends it to the network without a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketRef<'a> {
    /// A packet of SCTP.
    Sctp(&'a sctp::Packet),
    /// A packet of TCP or MPTCP.
    Tcp(&'a tcp::Packet),
    /// A packet of QUIC.
    Quic(&'a quic::Packet),
}

/// Generates from one line per protocol: conversions from its packet, and dispatch to it.
macro_rules! protocols {
    ($($protocol:ident = $module:ident,)*) => {
        $(
            impl From<$module::Packet> for Packet {
                #[inline]
                fn from(packet: $module::Packet) -> Self {
                    Self::$protocol(packet)
                }
            }

            impl<'a> From<&'a $module::Packet> for PacketRef<'a> {
                #[inline]
                fn from(packet: &'a $module::Packet) -> Self {
                    Self::$protocol(packet)
                }
            }
        )*

        impl Packet {
            /// Borrows the packet.
            #[inline]
            pub const fn by_ref(&self) -> PacketRef<'_> {
                match self {
                    $(Self::$protocol(packet) => PacketRef::$protocol(packet),)*
                }
            }
        }

        impl PacketRef<'_> {
            /// Copies the packet.
            #[inline]
            pub const fn to_packet(self) -> Packet {
                match self {
                    $(Self::$protocol(packet) => Packet::$protocol(*packet),)*
                }
            }

            /// Returns the data of the stream in the packet.
            #[inline]
            pub const fn data(self) -> Option<Data> {
                match self {
                    $(Self::$protocol(packet) => packet.data(),)*
                }
            }
        }

        impl Overhead {
            /// Returns the size of `packet` on the wire, in bytes.
            #[cfg_attr(not(debug_assertions), inline(always))]
            pub fn wire_bytes(&self, packet: PacketRef<'_>) -> u32 {
                self.packet
                    + match packet {
                        $(PacketRef::$protocol(packet) => packet.bytes_within(self),)*
                    }
            }
        }
    };
}

protocols! {
    Sctp = sctp,
    Tcp = tcp,
    Quic = quic,
}

impl Packet {
    /// Returns mutable access to the ECN state, for marking on the way.
    #[inline]
    pub const fn ecn_mut(&mut self) -> Option<&mut SegmentEcn> {
        match self {
            Self::Tcp(tcp::Packet::Segment(segment)) => Some(&mut segment.ecn),
            Self::Quic(quic::Packet::OneRtt(packet)) => Some(&mut packet.ecn),
            Self::Sctp(_) | Self::Tcp(_) | Self::Quic(_) => None,
        }
    }
}

impl PacketRef<'_> {
    /// Returns the bytes of the stream in the packet.
    pub fn payload_bytes(self) -> u32 {
        self.data().map_or(0, |data| data.bytes)
    }

    /// Whether the packet carries data of the stream.
    #[inline]
    pub const fn carries_data(self) -> bool {
        self.data().is_some()
    }

    /// Returns the ECN state of the packet's headers, for packets that have one.
    #[inline]
    pub const fn ecn(self) -> Option<SegmentEcn> {
        match self {
            Self::Tcp(tcp::Packet::Segment(segment)) => Some(segment.ecn),
            Self::Quic(quic::Packet::OneRtt(packet)) => Some(packet.ecn),
            Self::Sctp(_) | Self::Tcp(_) | Self::Quic(_) => None,
        }
    }
}

/// ECN state in the headers of a packet (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentEcn {
    /// ECT(0): a congested router may mark the packet.
    pub capable: bool,
    /// CE: a router has marked the packet.
    pub congested: bool,
    /// CWR: the sender has reduced its window. TCP only.
    pub reduced: bool,
}

/// One segment of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// The segment's number in the stream: the TSN, counted from 0 and never wrapping.
    pub segment: u64,
    /// Payload bytes.
    pub bytes: u32,
}

/// A run of received segments, as offsets from the cumulative acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapBlock {
    /// Offset of the first received segment.
    pub first: u32,
    /// Offset of the last received segment.
    pub last: u32,
}
