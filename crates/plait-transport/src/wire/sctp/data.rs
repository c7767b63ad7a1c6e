//! DATA chunks (RFC 9260 §3.3.1).

use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut as _;

const ENDING: u8 = 1;
const BEGINNING: u8 = 2;
const UNORDERED: u8 = 4;
const IMMEDIATE: u8 = 8;

/// A fragment of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data<'a> {
    /// The fragment's number in the association.
    pub tsn: u32,
    /// The stream.
    pub stream: u16,
    /// The message's number in the stream.
    pub sequence: u16,
    /// The payload protocol identifier, which only applications interpret.
    pub protocol: u32,
    /// True for the first fragment of a message.
    pub beginning: bool,
    /// True for the last fragment of a message.
    pub ending: bool,
    /// True if the message may be delivered before earlier messages.
    pub unordered: bool,
    /// True if the receiver should acknowledge the chunk at once (RFC 7053).
    pub immediate: bool,
    /// The fragment's data: at least one byte, and at most as many as fit 16 bits with the chunk's
    /// header.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Bytes of the chunk before its payload.
    pub const HEADER_BYTES: usize = 16;

    pub(super) fn flags(&self) -> u8 {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        flag(self.ending, ENDING)
            | flag(self.beginning, BEGINNING)
            | flag(self.unordered, UNORDERED)
            | flag(self.immediate, IMMEDIATE)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(self.tsn);
        out.put_u16(self.stream);
        out.put_u16(self.sequence);
        out.put_u32(self.protocol);
        out.put_slice(self.payload);
    }

    pub(super) fn decode(flags: u8, value: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let data = Self {
            tsn: value.u32("DATA's TSN")?,
            stream: value.u16("DATA's stream")?,
            sequence: value.u16("DATA's stream sequence number")?,
            protocol: value.u32("DATA's payload protocol")?,
            beginning: flags & BEGINNING != 0,
            ending: flags & ENDING != 0,
            unordered: flags & UNORDERED != 0,
            immediate: flags & IMMEDIATE != 0,
            payload: value.rest(),
        };
        // A chunk without user data is an error (RFC 9260 §3.3.1 requires an ABORT).
        if data.payload.is_empty() { Err(value.length("DATA's payload", 0u8)) } else { Ok(data) }
    }
}
