//! SCTP packets.

use plait_transport::wire::DecodeError;
use plait_transport::wire::sctp::{self, Chunk, HEADER_BYTES, Header, HeartbeatInfo};

/// Decodes a packet as it is, and with a valid checksum.
pub fn packet(bytes: &[u8]) {
    let _ = sctp::decode(bytes);
    if bytes.len() < HEADER_BYTES {
        return;
    }
    let mut sealed = bytes.to_vec();
    sealed[8..HEADER_BYTES].fill(0);
    let sum = crc32c::crc32c(&sealed);
    sealed[8..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    let (header, chunks) = all(&sealed).expect("its checksum is right");
    let mut again = Vec::new();
    header.encode(&chunks, &mut again);
    assert_eq!(again.len() % 4, 0, "chunks are padded");
    assert_eq!(all(&again), Ok((header, chunks)), "read again");
}

/// Returns the chunks before the first malformed one.
fn all(packet: &[u8]) -> Result<(Header, Vec<Chunk<'_>>), DecodeError> {
    let (header, chunks) = sctp::decode(packet)?;
    let chunks: Vec<_> = chunks.map_while(Result::ok).collect();
    for chunk in &chunks {
        if let Chunk::Heartbeat(info) | Chunk::HeartbeatAck(info) = chunk
            && let Ok(decoded) = HeartbeatInfo::decode(info)
        {
            assert_eq!(decoded.encode(), *info);
        }
    }
    Ok((header, chunks))
}
