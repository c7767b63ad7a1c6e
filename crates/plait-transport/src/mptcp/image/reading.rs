//! Decodes the peer's packets.

use super::{Heard, Image};
use crate::boundaries::{Arriving, Boundaries, Segmentation};
use crate::packet::tcp::{Ack, Packet, TcpSegment};
use crate::packet::{Data, SegmentEcn};
use crate::wire::DecodeError;
use crate::wire::checksum::Addresses;
use crate::wire::mptcp::{DataSequence, Mapping, MptcpOption};
use crate::wire::number::Sequence;
use crate::wire::tcp::{self, Flags, Header, SackBlocks, TcpOption};
use plait_sched::PathId;

/// Offsets of fields in the header, for errors.
const PORTS_AT: usize = 0;
const SEQUENCE_AT: usize = 4;
const ACKNOWLEDGEMENT_AT: usize = 8;
const OPTIONS_AT: usize = tcp::HEADER_BYTES;

/// The options of a packet that an endpoint uses.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    value: u32,
    echo: u32,
    blocks: SackBlocks,
    sequence: Option<DataSequence>,
    /// True if the packet has MP_CAPABLE or MP_JOIN.
    opens: bool,
}

/// Sequence number space of one subflow and direction: the sent segments, and the known progress.
struct Space<'a> {
    segments: &'a Segmentation,
    bytes: Sequence,
    known: u64,
}

impl Space<'_> {
    fn position(&self, number: u32) -> u64 {
        self.bytes.unwrap(number, self.known)
    }

    /// Returns the segment that begins at a sequence number.
    fn segment(&self, number: u32, field: &'static str, at: usize) -> Result<u64, DecodeError> {
        let found = self.segments.number_at(self.position(number));
        found.ok_or(DecodeError::Value { field, at, value: number.into() })
    }
}

impl Image {
    /// Decodes a packet of the peer, and passes it on with its payload.
    ///
    /// # Errors
    /// If the packet is damaged, of another connection, malformed, or refers to an offset at which
    /// no segment begins.
    pub fn decode(
        &mut self,
        arriving: &Arriving<'_>,
        peer: &Boundaries,
        take: impl FnOnce(Packet, &[u8]),
    ) -> Result<(), DecodeError> {
        let &Arriving { path, ecn, bytes } = arriving;
        let Some(place) = self.agreed.paths.get(path.index()) else {
            return Err(DecodeError::Value { field: "path", at: 0, value: path.0.into() });
        };
        let tcp::Segment { header, options, payload, .. } = tcp::Segment::decode(bytes)?;
        let ports = self.own_first(place.ports);
        if [header.destination_port, header.source_port] != ports {
            let value = u64::from(header.source_port) << 16 | u64::from(header.destination_port);
            return Err(DecodeError::Value { field: "TCP ports", at: PORTS_AT, value });
        }
        let own = self.addresses(path);
        let theirs = Addresses { source: own.destination, destination: own.source };
        tcp::verify(&theirs, bytes)?;
        let mut found = Found::default();
        for option in options {
            match option? {
                TcpOption::Timestamps { value, echo } => (found.value, found.echo) = (value, echo),
                TcpOption::Sack(blocks) => found.blocks = blocks,
                TcpOption::Mptcp(MptcpOption::DataSequence(sequence)) => found.sequence = Some(sequence),
                TcpOption::Mptcp(MptcpOption::Capable(_) | MptcpOption::Join(_)) => found.opens = true,
                // Both ends know the options of SYNs in advance. An endpoint ignores those that it
                // does not implement (RFC 9293 §3.1).
                _ => {}
            }
        }
        let timestamp = found.value;
        let packet = if header.flags.has(Flags::SYN | Flags::ACK) {
            self.heard[path.index()].answer = timestamp;
            Packet::SynAck { timestamp, echo: found.echo, window: header.window.into() }
        } else if header.flags.has(Flags::SYN) {
            Packet::Syn { timestamp }
        } else if !payload.is_empty() {
            let segment = self.read_segment(path, ecn, &header, &found, payload, peer)?;
            Packet::Segment(segment)
        } else if self.is_confirmation(path, &header, &found) {
            Packet::Confirm { timestamp }
        } else {
            let ack = self.read_ack(path, &header, &found)?;
            self.fallen_back |= self.multipath && ack.plain;
            Packet::Ack(ack)
        };
        take(packet, payload);
        Ok(())
    }

    /// The third packet of TCP's handshake looks like an acknowledgement without new data. It
    /// counts as the handshake's as long as this end has sent nothing.
    fn is_confirmation(&self, path: PathId, header: &Header, found: &Found) -> bool {
        let nothing =
            header.acknowledgement == self.own_bytes().wrap(0) && found.blocks.as_slice().is_empty();
        found.opens || !self.multipath && nothing && self.sent.subflows[path.index()].numbers.next() == 0
    }

    fn read_segment(
        &mut self,
        path: PathId,
        ecn: SegmentEcn,
        header: &Header,
        found: &Found,
        payload: &[u8],
        peer: &Boundaries,
    ) -> Result<TcpSegment, DecodeError> {
        let bytes = self.peer_bytes();
        let heard = &mut self.heard[path.index()];
        let Some(subflow) = peer.subflows.get(path.index()) else {
            return Err(DecodeError::Value { field: "path", at: 0, value: path.0.into() });
        };
        let space = Space { segments: &subflow.numbers, bytes, known: heard.newest };
        let number = space.segment(header.sequence, "sequence number", SEQUENCE_AT)?;
        let start = space.position(header.sequence);
        heard.newest = heard.newest.max(start);
        let offset = match found.sequence.and_then(|sequence| sequence.mapping) {
            Some(mapping) => self.mapped(&mapping, payload)?,
            // Plain TCP, or a packet covered by an earlier packet's mapping. Our own packets each
            // have a mapping.
            None => start,
        };
        self.stream.newest = self.stream.newest.max(offset);
        // A mapping that differs from the one that the peer sent.
        let wrong = DecodeError::Value { field: "data sequence number", at: OPTIONS_AT, value: offset };
        let mapped = subflow.mapped(number).filter(|mapped| mapped.offset == offset).ok_or(wrong)?;
        let data = Data { segment: mapped.segment, bytes: payload.len() as u32 };
        let ack = self.read_ack(path, header, found)?;
        // An acknowledgement of nothing carries no information, and no end piggybacks one.
        let tells =
            ack.cumulative > 0 || ack.data > 0 || ack.blocks().next().is_some() || ack.duplicate.is_some();
        Ok(TcpSegment {
            data,
            number,
            offset,
            timestamp: found.value,
            echo: found.echo,
            push: header.flags.has(Flags::PSH),
            ack: tells.then_some(ack),
            // The mark comes from IP.
            ecn: SegmentEcn { reduced: header.flags.has(Flags::CWR), ..ecn },
        })
    }

    /// Returns the stream offset of a mapping.
    fn mapped(&self, mapping: &Mapping, payload: &[u8]) -> Result<u64, DecodeError> {
        let [_, origin] = self.origins;
        let whole = mapping.data.expand(origin.wrapping_add(self.stream.newest));
        if let Some(stored) = mapping.checksum {
            let computed = Mapping::checksum(whole, mapping.subflow, mapping.length, payload);
            if computed != stored {
                let (stored, computed) = (stored.into(), computed.into());
                return Err(DecodeError::Checksum {
                    field: "mapping's checksum",
                    at: OPTIONS_AT,
                    stored,
                    computed,
                });
            }
        }
        Ok(whole.wrapping_sub(origin))
    }

    fn read_ack(&mut self, path: PathId, header: &Header, found: &Found) -> Result<Ack, DecodeError> {
        let bytes = self.own_bytes();
        let [own, _] = self.origins;
        let heard = &mut self.heard[path.index()];
        let segments = &self.sent.subflows[path.index()].numbers;
        let space = Space { segments, bytes, known: heard.acknowledged };
        let cumulative =
            space.segment(header.acknowledgement, "acknowledgement number", ACKNOWLEDGEMENT_AT)?;
        let acknowledged = space.position(header.acknowledgement);
        heard.acknowledged = heard.acknowledged.max(acknowledged);
        let number = found.sequence.and_then(|sequence| sequence.acknowledgement);
        let position = match number {
            Some(number) => number.expand(own.wrapping_add(self.stream.acknowledged)).wrapping_sub(own),
            // Without the option, the subflow is the stream.
            None => acknowledged,
        };
        let wrong = DecodeError::Value { field: "data acknowledgement", at: OPTIONS_AT, value: position };
        let data = self.sent.stream.acknowledged_at(position).ok_or(wrong)?;
        let window = u64::from(header.window) << self.scale;
        let mut ack = Ack::new(cumulative, data, found.value, found.echo).with_window(position, window);
        ack.plain = number.is_none();
        ack.congested = header.flags.has(Flags::ECE);
        let space = Space { known: acknowledged, ..space };
        read_blocks(&space, &found.blocks, &mut ack)?;
        self.settle(path, position);
        Ok(ack)
    }

    fn settle(&mut self, path: PathId, position: u64) {
        let Heard { acknowledged, .. } = &mut self.stream;
        *acknowledged = position.max(*acknowledged);
        self.sent.stream.settle(*acknowledged);
        self.sent.subflows[path.index()].settle(self.heard[path.index()].acknowledged);
    }
}

/// Reads selective blocks. The first may report a duplicate (RFC 2883 §5): it lies below the
/// acknowledgement, or within the second block.
fn read_blocks(space: &Space<'_>, blocks: &SackBlocks, ack: &mut Ack) -> Result<(), DecodeError> {
    const FIELD: &str = "SACK block";
    let blocks = blocks.as_slice();
    let place = |index: usize| {
        blocks.get(index).map(|block| (space.position(block.left), space.position(block.right)))
    };
    let within = |(left, right): (u64, u64), (from, to): (u64, u64)| from <= left && right <= to;
    let repeated = place(0).is_some_and(|first| {
        (first.0.wrapping_sub(space.known) as i64) < 0 || place(1).is_some_and(|second| within(first, second))
    });
    for (index, block) in blocks.iter().enumerate() {
        // Blocks of forgotten segments carry no new information.
        if space.segments.is_forgotten(space.position(block.left)) {
            continue;
        }
        let first = space.segment(block.left, FIELD, OPTIONS_AT)?;
        let end = space.segment(block.right, FIELD, OPTIONS_AT)?;
        let wrong = DecodeError::Value { field: FIELD, at: OPTIONS_AT, value: block.right.into() };
        if end <= first {
            return Err(wrong);
        }
        if index == 0 && repeated {
            ack.duplicate = Some(first);
        } else if first < ack.cumulative || !ack.push_block(first, end - 1) {
            return Err(wrong);
        }
    }
    Ok(())
}
