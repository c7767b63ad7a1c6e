//! QUIC packets and frames (RFC 9000 §17, §19) with the multipath extension
//! (draft-ietf-quic-multipath-21).
//!
//! Packets are not encrypted: headers have no protection, and the [`TAG_BYTES`] of the AEAD's tag
//! are left empty, so that packets have their real sizes. This module lacks the other requirements
//! of a sealed packet. One is a nonce with the path's identifier (draft, "Nonce Calculation"). The
//! other is padding by the sender: packet number and payload together have at least four bytes
//! (RFC 9001 §5.4.2). Version negotiation and Retry packets are not supported.

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
