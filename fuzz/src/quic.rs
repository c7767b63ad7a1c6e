//! QUIC packets, frames, transport parameters and packet numbers.

use plait_transport::wire::number::Truncated;
use plait_transport::wire::quic::{Frame, Frames, Packet, TransportParameters};

/// Largest datagram. A longer handshake packet has no length that fits two bytes.
const LONGEST: usize = 16_000;

/// Decodes a datagram. Its first byte determines the length of the connection IDs that its receiver
/// issued.
pub fn datagram(bytes: &[u8]) {
    let Some((&id_bytes, mut datagram)) = bytes.split_first() else { return };
    if datagram.len() > LONGEST {
        return;
    }
    let id_bytes = usize::from(id_bytes % 24);
    while !datagram.is_empty() {
        let Ok((packet, rest)) = Packet::decode(datagram, id_bytes) else { return };
        assert!(rest.len() < datagram.len(), "it ends");
        datagram = rest;
        let frames: Vec<_> = packet.frames.map_while(Result::ok).collect();
        let mut again = Vec::new();
        packet.header.encode(&frames, &mut again);
        let (decoded, nothing) = Packet::decode(&again, id_bytes).expect("our own packet");
        assert_eq!((decoded.header, nothing.len()), (packet.header, 0), "read again");
        assert!(decoded.frames.eq(frames.into_iter().map(Ok)), "frames are read again");
    }
}

/// Decodes the frames of a packet.
pub fn frames(payload: &[u8]) {
    let read: Vec<Frame<'_>> = Frames::new(payload).map_while(Result::ok).collect();
    let mut again = Vec::new();
    read.iter().for_each(|frame| frame.encode(&mut again));
    assert!(again.len() <= payload.len(), "ours is the shortest way");
    assert!(Frames::new(&again).eq(read.into_iter().map(Ok)), "read again");
}

/// Decodes the TLS extension.
pub fn parameters(bytes: &[u8]) {
    let Ok(read) = TransportParameters::decode(bytes) else { return };
    let mut again = Vec::new();
    read.encode(&mut again);
    assert_eq!(TransportParameters::decode(&again), Ok(read), "read again");
}

/// Checks the expansion of a packet number from the largest acknowledged number and the number of
/// packets ahead of it.
pub fn numbers(bytes: &[u8]) {
    let Some((fields, _)) = bytes.split_first_chunk::<17>() else { return };
    let field = |at: usize| {
        let mut number = [0; 8];
        number[2..].copy_from_slice(&fields[at..at + 6]);
        u64::from_be_bytes(number)
    };
    let (low, ahead) = (field(0), field(6));
    let acknowledged = (fields[16] & 1 == 1).then_some(low);
    let first = acknowledged.map_or(0, |acknowledged| acknowledged + 1);
    let number = first + ahead % ((1 << 31) - 1);
    let truncated = Truncated::new(number, acknowledged);
    // The expansion is the same whether all earlier packets have arrived, or none since the
    // acknowledgement.
    for largest in [number.checked_sub(1), acknowledged] {
        assert_eq!(truncated.expand(largest), number, "{truncated:?} after {largest:?}");
    }
}
