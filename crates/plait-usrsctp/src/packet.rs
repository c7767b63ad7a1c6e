//! The stack's packets: addresses, and the chunks that the engine reads.

use plait_sched::PathId;
use plait_sim::scenario::Direction;
use plait_transport::wire::DecodeError;
use plait_transport::wire::sctp::{self, Chunk};

/// Bytes of an IPv4 header without options.
const IP_BYTES: usize = 20;
/// Place of the destination's last two bytes: the path, and the end (`usrsctp/host/world.c`).
const PATH_AT: usize = 18;
const FAR: u8 = 2;

/// A DATA chunk: its TSN and its payload bytes.
pub(crate) type DataChunk = (u32, u32);

/// The fields of a packet that the engine reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    pub(crate) path: PathId,
    pub(crate) direction: Direction,
    pub(crate) chunks: Vec<DataChunk>,
    /// The initial TSN of an INIT.
    pub(crate) initial_tsn: Option<u32>,
}

/// Reads a packet that the stack sent.
pub(crate) fn read(packet: &[u8]) -> Result<Reading, DecodeError> {
    let (header, body) = packet.split_at(packet.len().min(IP_BYTES));
    let far = header.get(PATH_AT + 1) == Some(&FAR);
    let mut reading = Reading {
        path: PathId(header.get(PATH_AT).copied().unwrap_or(0)),
        direction: if far { Direction::Forward } else { Direction::Backward },
        chunks: Vec::new(),
        initial_tsn: None,
    };
    for chunk in sctp::decode(body)?.1 {
        match chunk? {
            Chunk::Data(data) => reading.chunks.push((data.tsn, data.payload.len() as u32)),
            Chunk::Init(init) => reading.initial_tsn = Some(init.initial_tsn),
            _ => {}
        }
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_transport::wire::sctp::{Data, Header};

    #[test]
    fn a_packet_tells_its_path_and_its_data() {
        let mut packet = vec![0; IP_BYTES];
        packet[16..].copy_from_slice(&[10, 0, 3, FAR]);
        let header = Header { source_port: 5000, destination_port: 5001, verification_tag: 1 };
        let data = Data {
            tsn: 7,
            stream: 0,
            sequence: 0,
            protocol: 0,
            beginning: true,
            ending: true,
            unordered: false,
            immediate: false,
            payload: &[0; 9],
        };
        header.encode(&[Chunk::CookieAck, Chunk::Data(data)], &mut packet);
        let reading = read(&packet).unwrap();
        assert_eq!((reading.path, reading.direction), (PathId(3), Direction::Forward));
        assert_eq!(reading.chunks, [(7, 9)]);
        packet[19] = 1;
        assert_eq!(read(&packet).unwrap().direction, Direction::Backward);
        packet[30] ^= 1;
        assert!(read(&packet).is_err(), "the checksum is checked");
    }
}
