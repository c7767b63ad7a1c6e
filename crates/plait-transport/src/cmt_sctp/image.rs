//! Encodes and decodes an endpoint's packets: the connection between an endpoint and a real
//! network.
//!
//! ```text
//! endpoint.transmit ─► Image::encode ─► network ─► Image::decode ─► endpoint.handle_packet
//! ```
//!
//! Endpoints count segments from 0 and never wrap. This module converts segment numbers to TSNs,
//! and back. A segment is a message of its own, in one DATA chunk. Neither endpoints nor this
//! module open and close associations: the values that INIT and INIT ACK agree upon are arguments,
//! and their chunks are skipped.

use crate::packet::Data;
use crate::packet::sctp::{Packet, Sack};
use crate::reassembly::Reassembly;
use crate::sink::{Origin, Transmit};
use crate::wire::DecodeError;
use crate::wire::number::Sequence;
use crate::wire::sctp::{self, ChangedBlock, Changes, Chunk, GapBlock, Header, HeartbeatInfo};
use plait_sched::Time;

/// IPv4 header, common header, and a SACK without blocks.
const AROUND_BLOCKS: usize = 20 + sctp::HEADER_BYTES + sctp::Sack::HEADER_BYTES;

/// Offset of the first number of the first chunk, for errors.
const FIRST_NUMBER: usize = sctp::HEADER_BYTES + 4;

/// Counters from here on are negative: from before the first segment.
const BEFORE_THE_START: u64 = 1 << 63;

/// The values that one end of an association chose when it opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The end's port.
    pub port: u16,
    /// Verification tag of packets to this end.
    pub tag: u32,
    /// The TSN of the end's first segment.
    pub initial_tsn: u32,
}

/// Optional contents of SACKs beyond RFC 9260.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Telling {
    /// Number of data packets that the SACK answers (Iyengar et al. 2006, section 5).
    pub packets: bool,
    /// New runs among the blocks, in a private chunk that other peers skip ([`Changes`]).
    pub changes: bool,
}

impl Telling {
    /// All contents that our own endpoints use.
    pub const ALL: Self = Self { packets: true, changes: true };
}

/// One end's codec: encodes the packets of this end, and decodes those of its peer.
#[derive(Clone, Debug)]
pub struct Image {
    own: Chosen,
    peer: Chosen,
    telling: Telling,
    /// Space after a SACK without blocks, in bytes.
    room: usize,
    /// Highest segment read from the peer.
    newest: u64,
    /// First of our segments that the peer lacks, according to its acknowledgements.
    acknowledged: u64,
}

impl Image {
    /// Creates the image of an end that chose `own` and whose peer chose `peer`. `packet`: bytes of
    /// the largest packet, IPv4 header included.
    pub const fn new(own: Chosen, peer: Chosen, packet: u32, telling: Telling) -> Self {
        let room = (packet as usize).saturating_sub(AROUND_BLOCKS);
        Self { own, peer, telling, room, newest: 0, acknowledged: 0 }
    }

    fn encode_data(&self, data: &Data, protocol: u32, payload: &[u8], out: &mut Vec<u8>) {
        let chunk = sctp::Data {
            tsn: self.own_tsn().wrap(data.segment),
            stream: 0,
            sequence: data.segment as u16,
            protocol,
            beginning: true,
            ending: true,
            unordered: false,
            immediate: false,
            payload,
        };
        self.header().encode(&[Chunk::Data(chunk)], out);
    }

    /// Appends a packet that leaves this end. `payload`: the bytes of its segment, if it carries
    /// one. A bundle is encoded as one DATA chunk of the same size. Its payload protocol identifier
    /// is the number of bytes at its end that stand for headers.
    pub fn encode(&self, transmit: &Transmit<'_, &Packet>, payload: &[u8], out: &mut Vec<u8>) {
        let info = |sent_at: Time| {
            HeartbeatInfo { sent_at: sent_at.as_nanos(), path: transmit.path.0.into() }.encode()
        };
        match transmit.packet {
            Packet::Data(data) => {
                debug_assert_eq!(payload.len(), data.bytes as usize, "the payload is the segment's");
                self.encode_data(data, 0, payload, out);
            }
            Packet::Bundle(data, headers) => {
                debug_assert_eq!(payload.len(), data.bytes as usize, "the payload is the segment's");
                let mut bundle = payload.to_vec();
                bundle.resize(payload.len() + usize::from(*headers), 0);
                self.encode_data(data, (*headers).into(), &bundle, out);
            }
            Packet::Sack(sack) => {
                let waiting = match transmit.origin {
                    Origin::Receiver(reassembly) => Some(reassembly),
                    Origin::Sender { .. } => None,
                };
                // Before the first change there is nothing to report.
                let tells = self.telling.changes && sack.changes_end > 0;
                let changes = if tells { changes(sack) } else { Changes::default() };
                let room = self.room.saturating_sub(if tells { changes.chunk_bytes() } else { 0 });
                let chunks = [Chunk::Sack(self.sack(sack, waiting, room)), Chunk::Changes(changes)];
                self.header().encode(&chunks[..1 + usize::from(tells)], out);
            }
            Packet::Heartbeat { sent_at } => {
                self.header().encode(&[Chunk::Heartbeat(&info(*sent_at))], out);
            }
            Packet::HeartbeatAck { sent_at } => {
                self.header().encode(&[Chunk::HeartbeatAck(&info(*sent_at))], out);
            }
        }
    }

    /// Decodes a packet of the peer, and passes the endpoint's packets to `take`. Each of several
    /// bundled chunks becomes a packet of its own, with its payload.
    ///
    /// # Errors
    /// If the packet is damaged, of another association, or has malformed chunks. Earlier chunks of
    /// the packet have been passed on.
    pub fn decode(&mut self, bytes: &[u8], mut take: impl FnMut(Packet, &[u8])) -> Result<(), DecodeError> {
        let (header, chunks) = sctp::decode(bytes)?;
        if header.verification_tag != self.own.tag {
            let value = header.verification_tag.into();
            return Err(DecodeError::Value { field: "SCTP verification tag", at: 4, value });
        }
        // A SACK waits for the changes in the next chunk.
        let mut waiting: Option<Sack> = None;
        for chunk in chunks {
            let chunk = chunk?;
            if let Some(mut sack) = waiting.take() {
                if let Chunk::Changes(changes) = &chunk {
                    tell_changes(&mut sack, changes);
                }
                take(Packet::Sack(sack), &[]);
            }
            match chunk {
                Chunk::Data(data) => {
                    let headers = (data.protocol as usize).min(data.payload.len()).min(u16::MAX.into());
                    let (payload, _) = data.payload.split_at(data.payload.len() - headers);
                    let own = Data { segment: self.segment(data.tsn)?, bytes: payload.len() as u32 };
                    let packet =
                        if headers > 0 { Packet::Bundle(own, headers as u16) } else { Packet::Data(own) };
                    take(packet, payload);
                }
                Chunk::Sack(sack) => waiting = Some(self.read_sack(&sack)?),
                Chunk::Heartbeat(info) => {
                    let sent_at = Time::from_nanos(HeartbeatInfo::decode(info)?.sent_at);
                    take(Packet::Heartbeat { sent_at }, &[]);
                }
                Chunk::HeartbeatAck(info) => {
                    let sent_at = Time::from_nanos(HeartbeatInfo::decode(info)?.sent_at);
                    take(Packet::HeartbeatAck { sent_at }, &[]);
                }
                // Chunks that open and close associations, and unknown ones. If the rest of a
                // packet after an unknown chunk is not processed (RFC 9260 §3.2), `chunks` ends.
                _ => {}
            }
        }
        if let Some(sack) = waiting {
            take(Packet::Sack(sack), &[]);
        }
        Ok(())
    }

    const fn own_tsn(&self) -> Sequence {
        Sequence { initial: self.own.initial_tsn }
    }

    const fn peer_tsn(&self) -> Sequence {
        Sequence { initial: self.peer.initial_tsn }
    }

    /// Returns the common header of this end's packets.
    pub const fn header(&self) -> Header {
        Header {
            source_port: self.own.port,
            destination_port: self.peer.port,
            verification_tag: self.peer.tag,
        }
    }

    /// Converts a SACK to the wire. In memory it has the runs that changed; on the wire it reports
    /// all that fit the packet and the 16 bits of their offsets.
    fn sack(&self, sack: &Sack, waiting: Option<&Reassembly>, room: usize) -> sctp::Sack {
        let duplicates = sack.duplicates();
        let room = (room / sctp::Sack::ITEM_BYTES).saturating_sub(duplicates.len());
        let room = room.min(usize::from(sack.gap_blocks));
        let runs = waiting.into_iter().flat_map(|reassembly| reassembly.waiting().iter());
        let blocks = runs.take(room).map_while(|(first, last)| {
            let offset = |segment: u64| u16::try_from(segment + 1 - sack.cumulative).ok();
            // A run beyond 16 bits is reported in part.
            Some(GapBlock { start: offset(first)?, end: offset(last).unwrap_or(u16::MAX) })
        });
        let tsn = self.peer_tsn();
        sctp::Sack {
            cumulative: tsn.wrap(sack.cumulative).wrapping_sub(1),
            window: u32::try_from(sack.window).unwrap_or(u32::MAX),
            packets: if self.telling.packets { sack.packets.min(Sack::MAX_PACKETS) } else { 0 },
            blocks: blocks.collect(),
            duplicates: duplicates.iter().map(|&segment| tsn.wrap(segment)).collect(),
        }
    }

    /// Returns the peer's segment of a TSN.
    fn segment(&mut self, tsn: u32) -> Result<u64, DecodeError> {
        let segment = self.peer_tsn().unwrap(tsn, self.newest);
        if segment >= BEFORE_THE_START {
            return Err(DecodeError::Value { field: "DATA's TSN", at: FIRST_NUMBER, value: tsn.into() });
        }
        self.newest = self.newest.max(segment);
        Ok(segment)
    }

    /// Reads a SACK without changes: its first blocks, as many as fit in memory. The omitted blocks
    /// are of later segments, which then count as in flight for longer.
    fn read_sack(&mut self, wire: &sctp::Sack) -> Result<Sack, DecodeError> {
        let tsn = self.own_tsn();
        let cumulative = tsn.unwrap(wire.cumulative.wrapping_add(1), self.acknowledged);
        if cumulative >= BEFORE_THE_START {
            let value = wire.cumulative.into();
            return Err(DecodeError::Value { field: "SACK's cumulative TSN", at: FIRST_NUMBER, value });
        }
        self.acknowledged = self.acknowledged.max(cumulative);
        let mut sack = Sack::new(cumulative, wire.window.into(), wire.packets);
        sack.gap_blocks = wire.blocks.len() as u16;
        for block in &wire.blocks {
            push(&mut sack, block.start.into(), block.end.into());
        }
        let duplicates = wire.duplicates.iter().map(|&number| tsn.unwrap(number, cumulative));
        duplicates
            .filter(|&segment| segment < BEFORE_THE_START)
            .for_each(|segment| sack.push_duplicate(segment));
        Ok(sack)
    }
}

/// Converts changes to the wire. Offsets on the wire count from the last segment in order; in
/// memory they count from the one after it, which is missing.
fn changes(sack: &Sack) -> Changes {
    let block = |block: &crate::packet::GapBlock| ChangedBlock {
        start: block.first.saturating_add(1),
        end: block.last.saturating_add(1),
    };
    Changes {
        from: sack.changes_from,
        end: sack.changes_end,
        blocks: sack.blocks().iter().map(block).collect(),
    }
}

/// Replaces the SACK's blocks by those of the chunk of changes.
fn tell_changes(sack: &mut Sack, changes: &Changes) {
    let mut told = Sack::new(sack.cumulative, sack.window, sack.packets);
    told.gap_blocks = sack.gap_blocks;
    sack.duplicates().iter().for_each(|&segment| told.push_duplicate(segment));
    (told.changes_from, told.changes_end) = (changes.from.min(changes.end), changes.end);
    if !changes.blocks.iter().all(|block| push(&mut told, block.start, block.end)) {
        // The peer reports more blocks than our endpoints send. Changes that do not fit stay
        // unknown.
        told.changes_from = told.changes_end;
    }
    *sack = told;
}

/// Adds a block with the wire's offsets. Returns false without space for it. Skips a block that
/// begins with the missing segment.
fn push(sack: &mut Sack, start: u32, end: u32) -> bool {
    let number = |offset: u32| sack.cumulative + u64::from(offset) - 1;
    let (first, last) = (number(start), number(end));
    start < 2 || sack.push_block(first, last)
}

#[cfg(test)]
mod tests;
