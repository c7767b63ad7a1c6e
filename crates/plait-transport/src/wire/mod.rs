//! Wire formats as bytes. Each protocol has one module, and only this module knows the protocol's
//! layouts.
//!
//! Structs here have the fields and the widths of the formats, and no connection state. Sequence
//! numbers, the contents of neighbouring packets and transmission times are the endpoints' task.
//! [`number`] converts counters that never wrap to wire numbers that wrap, and back.
//!
//! - **Encoding** appends to a `Vec<u8>` and cannot fail. Constraints on the caller, such as
//!   payloads that must fit a length field, are documented at the function.
//! - **Decoding** accepts arbitrary bytes. It never panics, and allocates no more than a fixed
//!   multiple of its input. An error names the problem and its place ([`DecodeError`]). Payloads
//!   are borrowed. Lists (chunks, options, frames) are iterators over their bytes; they end after
//!   an error.
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
