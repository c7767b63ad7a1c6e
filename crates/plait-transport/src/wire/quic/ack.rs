//! ACK and PATH_ACK frames (RFC 9000 §19.3, draft-ietf-quic-multipath-21 "PATH_ACK Frame").

use super::VarInt;
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;

/// Received packets of a packet number space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Delay of the acknowledgement for the packet with the largest number: microseconds, shifted
    /// to the right by the sender's `ack_delay_exponent`.
    pub delay: VarInt,
    /// Received packet numbers.
    pub ranges: AckRanges,
    /// Number of packets of the space received so far with each ECN mark.
    pub ecn: Option<EcnCounts>,
}

/// Numbers of packets by their ECN codepoint (RFC 9000 §19.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounts {
    /// Packets with ECT(0).
    pub ect0: VarInt,
    /// Packets with ECT(1).
    pub ect1: VarInt,
    /// Packets with CE: congestion was experienced.
    pub ce: VarInt,
}

/// Received packet numbers: ranges from the largest down, each with a gap below it. There is at
/// least one range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AckRanges {
    ranges: Vec<AckRange>,
}

/// Consecutive packet numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckRange {
    /// The smallest number of the range.
    pub smallest: u64,
    /// The largest number of the range.
    pub largest: u64,
}

impl AckRanges {
    /// Creates a list with the range of the largest numbers. Returns `None` if the range is empty
    /// or exceeds 62 bits.
    pub fn new(range: AckRange) -> Option<Self> {
        let valid = range.smallest <= range.largest && range.largest <= VarInt::MAX.get();
        valid.then(|| Self { ranges: vec![range] })
    }

    /// Adds a range below all others. Returns false and does nothing if the range is empty, or if
    /// there is no gap of at least one number above it.
    pub fn push(&mut self, range: AckRange) -> bool {
        let valid = range.smallest <= range.largest && range.largest + 1 < self.smallest();
        if valid {
            self.ranges.push(range);
        }
        valid
    }

    /// Returns the ranges from the largest down.
    pub fn as_slice(&self) -> &[AckRange] {
        &self.ranges
    }

    /// Returns the largest number.
    pub fn largest(&self) -> u64 {
        self.ranges[0].largest
    }

    /// Returns the smallest number.
    pub fn smallest(&self) -> u64 {
        self.ranges[self.ranges.len() - 1].smallest
    }

    /// Appends the ranges with the delay, which stands between the largest number and the ranges.
    fn encode(&self, delay: VarInt, out: &mut impl BufMut) {
        let put = |number: u64, out: &mut _| VarInt::new(number).unwrap_or(VarInt::MAX).encode(out);
        put(self.largest(), out);
        delay.encode(out);
        put(self.ranges.len() as u64 - 1, out);
        let mut above: Option<AckRange> = None;
        for range in &self.ranges {
            if let Some(above) = above {
                // RFC 9000 §19.3.1: the count of missing numbers minus one.
                put(above.smallest - range.largest - 2, out);
            }
            put(range.largest - range.smallest, out);
            above = Some(*range);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<(Self, VarInt), DecodeError> {
        const FIELD: &str = "ACK's range";
        let largest = reader.varint("ACK's largest number")?.get();
        let delay = reader.varint("ACK's delay")?;
        let before = *reader;
        let announced = reader.varint("ACK's number of ranges")?.get();
        let wrong = |before: &Reader<'_>, value: VarInt| DecodeError::Value {
            field: FIELD,
            at: before.at(),
            value: value.get(),
        };
        let lengths = *reader;
        let first = reader.varint(FIELD)?;
        let smallest = largest.checked_sub(first.get()).ok_or_else(|| wrong(&lengths, first))?;
        // Checks the count before anything is allocated: each range has two integers of at least
        // one byte.
        let room = reader.left() / 2;
        let count = usize::try_from(announced).ok().filter(|count| *count <= room);
        let count = count.ok_or_else(|| before.length("ACK's number of ranges", announced))?;
        let mut ranges = Vec::with_capacity(1 + count);
        ranges.push(AckRange { smallest, largest });
        let mut smallest = smallest;
        for _ in 0..count {
            let gaps = *reader;
            let gap = reader.varint(FIELD)?;
            let largest = smallest.checked_sub(gap.get() + 2).ok_or_else(|| wrong(&gaps, gap))?;
            let lengths = *reader;
            let length = reader.varint(FIELD)?;
            smallest = largest.checked_sub(length.get()).ok_or_else(|| wrong(&lengths, length))?;
            ranges.push(AckRange { smallest, largest });
        }
        Ok((Self { ranges }, delay))
    }
}

impl Ack {
    pub(super) fn encode(&self, out: &mut impl BufMut) {
        self.ranges.encode(self.delay, out);
        if let Some(counts) = self.ecn {
            [counts.ect0, counts.ect1, counts.ce].into_iter().for_each(|count| count.encode(out));
        }
    }

    pub(super) fn decode(ecn: bool, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (ranges, delay) = AckRanges::decode(reader)?;
        let ecn = if ecn {
            let mut count = || reader.varint("ACK's ECN count");
            Some(EcnCounts { ect0: count()?, ect1: count()?, ce: count()? })
        } else {
            None
        };
        Ok(Self { delay, ranges, ecn })
    }
}
