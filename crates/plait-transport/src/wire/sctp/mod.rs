//! SCTP packets (RFC 9260 §3): a common header with CRC32c, and chunks.

mod association;
mod changes;
mod chunk;
mod data;
mod heartbeat;
mod sack;

pub use association::{Init, Parameter};
pub use changes::{ChangedBlock, Changes};
pub use chunk::{Chunk, Chunks, Unknown, Unrecognized};
pub use data::Data;
pub use heartbeat::HeartbeatInfo;
pub use sack::{GapBlock, Sack};

use super::DecodeError;
use super::reader::Reader;
use bytes::BufMut as _;

/// IP protocol number of SCTP.
pub const PROTOCOL: u8 = 132;

/// Bytes of the common header.
pub const HEADER_BYTES: usize = 12;

/// Offset of the checksum in the common header.
const CHECKSUM_AT: usize = 8;

/// The common header (RFC 9260 §3.1), without its checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The tag that the receiver chose in its INIT or INIT ACK; 0 in a packet with INIT.
    pub verification_tag: u32,
}

impl Header {
    /// Appends a packet with these chunks, whose lengths together must fit 16 bits.
    pub fn encode(&self, chunks: &[Chunk<'_>], out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16(self.source_port);
        out.put_u16(self.destination_port);
        out.put_u32(self.verification_tag);
        out.put_u32(0);
        for chunk in chunks {
            chunk.encode(out);
        }
        let sum = crc32c::crc32c(&out[start..]);
        out[start + CHECKSUM_AT..start + HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Decodes a packet. Chunks are decoded as the iterator advances.
///
/// # Errors
/// If the common header is cut off, or the checksum does not match.
pub fn decode(packet: &[u8]) -> Result<(Header, Chunks<'_>), DecodeError> {
    let mut reader = Reader::new(packet);
    let header = Header {
        source_port: reader.u16("SCTP source port")?,
        destination_port: reader.u16("SCTP destination port")?,
        verification_tag: reader.u32("SCTP verification tag")?,
    };
    let stored = u32::from_le_bytes(reader.array("SCTP checksum")?);
    let computed = checksum(packet);
    if stored != computed {
        return Err(DecodeError::Checksum { field: "SCTP checksum", at: CHECKSUM_AT, stored, computed });
    }
    Ok((header, Chunks::new(reader)))
}

/// Returns the CRC32c of a packet with a checksum of 0 (RFC 9260 §6.8, appendix A). `packet` must
/// contain the common header.
fn checksum(packet: &[u8]) -> u32 {
    let sum = crc32c::crc32c_append(crc32c::crc32c(&packet[..CHECKSUM_AT]), &[0; 4]);
    crc32c::crc32c_append(sum, &packet[HEADER_BYTES..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_rfcs() {
        // RFC 3720 B.4, the same polynomial: 32 bytes of zeros, of ones, ascending, descending.
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        let sums = [&[0; 32][..], &[0xff; 32], &ascending, &descending].map(crc32c::crc32c);
        assert_eq!(sums, [0x8a91_36aa, 0x62a8_ab43, 0x46dd_794e, 0x113f_db5c]);
    }

    #[test]
    fn a_packet_by_hand() {
        let header = Header { source_port: 0x1234, destination_port: 7, verification_tag: 0xcafe_f00d };
        let mut bytes = vec![9];
        header.encode(&[Chunk::CookieAck], &mut bytes);
        assert_eq!(bytes[..9], [9, 0x12, 0x34, 0, 7, 0xca, 0xfe, 0xf0, 0x0d]);
        assert_eq!(bytes[13..], [11, 0, 0, 4]);
        let (decoded, chunks) = decode(&bytes[1..]).unwrap();
        assert_eq!(decoded, header);
        assert_eq!(chunks.collect::<Vec<_>>(), [Ok(Chunk::CookieAck)]);
        bytes[13] ^= 1;
        let error = decode(&bytes[1..]).unwrap_err();
        assert!(matches!(error, DecodeError::Checksum { at: 8, .. }), "{error}");
    }
}
