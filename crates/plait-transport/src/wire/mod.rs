//! Wire formats as bytes. Each protocol has one module, and only this module knows the protocol's
//! layouts.
//!
//! Structs here have the fields and the widths of the formats, and no connection state. Sequence
//! numbers, the contents of neighbouring packets and transmission times are the endpoints' task.
//! [`number`] converts counters that never wrap to wire numbers that wrap, and back.
//!
//! | module | bytes of | from |
//! |---|---|---|
//! | [`sctp`] | common header with CRC32c, chunks; one private chunk | RFC 9260 |
//! | [`tcp`] | header with checksum; options: segment size, window scale, SACK, timestamps | RFC 9293, 7323, 2018 |
//! | [`mptcp`] | TCP option 30 with all subtypes, checksums of mappings; `key`: tokens, first numbers, proofs | RFC 8684 |
//! | [`quic`] | packets without protection, all frames, transport parameters; `path`: the multipath extension | RFC 9000, draft-ietf-quic-multipath-21 |
//! | [`number`] | 64-bit counters as 32-bit numbers or truncated QUIC numbers, and back | RFC 1982, RFC 9000 A.2, A.3 |
//! | `checksum` | Internet checksum with the pseudo header | RFC 1071 |
//!
//! Types hold exactly the values of the format: a `VarInt` has 62 bits, `AckRanges` descend with
//! gaps, `Options` accept an option only if there is room.
//!
//! - **Encoding** appends to a `Vec<u8>` and cannot fail. Constraints on the caller, such as
//!   payloads that must fit a length field, are documented at the function.
//! - **Decoding** accepts arbitrary bytes. It never panics, and allocates no more than a fixed
//!   multiple of its input. An error names the problem and its place ([`DecodeError`]). Payloads
//!   are borrowed. Lists (chunks, options, frames) are iterators over their bytes; they end after
//!   an error.
//!
//! Not included are IP headers (`plait-capture/src/ip.rs`) and the protection of QUIC packets.
//!
//! To add a frame, chunk or option: a variant or struct, its arm in `encode` and in `decode`, then
//! a line in the strategy of `tests/it/wire` and in `fuzz/src/seeds.rs`. The tests then check that
//! written data is read again, that truncated data is refused, and that no bytes cause a panic
//! (`make fuzz`).
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
