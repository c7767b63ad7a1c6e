//! What goes over the wire, as bytes: one module per protocol, each the only place that knows its layouts.
//!
//! Structs here have the fields and the widths of the formats. They know nothing of connections: which number a segment has,
//! what its neighbours carry and when it leaves is the endpoints' business. [`number`] leads from counters that never wrap to
//! numbers that do, and back.
//!
//! - **Encoding** appends to a `Vec<u8>` and cannot fail; what a caller has to keep (payloads that a length field can tell) is
//!   said where it matters.
//! - **Decoding** takes bytes from anybody: it never panics, allocates no more than a fixed multiple of what it was given, and
//!   says what was wrong and where ([`DecodeError`]). Payloads are borrowed. Lists (chunks, options, frames) are iterators over
//!   their bytes; after an error they end.
//!
//! ```
//! use plait_transport::wire::sctp::{self, Chunk, Header};
//!
//! let header = Header { source_port: 40_000, destination_port: 5_001, verification_tag: 7 };
//! let mut bytes = Vec::new();
//! header.encode(&[Chunk::Shutdown { cumulative: 41 }, Chunk::CookieAck], &mut bytes);
//! let (decoded, chunks) = sctp::decode(&bytes)?;
//! assert_eq!(decoded, header);
//! assert_eq!(chunks.collect::<Result<Vec<_>, _>>()?, [Chunk::Shutdown { cumulative: 41 }, Chunk::CookieAck]);
//! # Ok::<(), plait_transport::wire::DecodeError>(())
//! ```

pub mod checksum;
mod error;
pub mod mptcp;
pub mod number;
pub mod quic;
mod reader;
pub mod sctp;
pub mod tcp;

pub use error::DecodeError;
