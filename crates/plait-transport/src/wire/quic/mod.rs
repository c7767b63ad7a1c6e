//! QUIC packets and frames (RFC 9000 §17, §19) with the multipath extension (draft-ietf-quic-multipath-21).
//!
//! Packets are not encrypted here: headers have no protection, and where the AEAD's tag would be there is room for its
//! [`TAG_BYTES`], so that sizes are those of real packets. What a sealed packet needs beside that is outside of this module: a
//! nonce with the path's identifier (draft, "Nonce Calculation"), and a number and payload of four bytes together at least, which
//! its sender pads (RFC 9001 §5.4.2). Version negotiation and Retry packets are not known.

mod ack;
mod connection_id;
mod frame;
mod packet;
mod parameters;
mod path;
mod stream;
mod varint;

pub use ack::{Ack, AckRange, AckRanges, EcnCounts};
pub use connection_id::ConnectionId;
pub use frame::{Close, Directions, Frame, Frames, NewConnectionId};
pub use packet::{Header, Long, LongKind, Packet, Short, TAG_BYTES, VERSION};
pub use parameters::TransportParameters;
pub use path::{AbandonReason, PathFrame};
pub use stream::Stream;
pub use varint::VarInt;
