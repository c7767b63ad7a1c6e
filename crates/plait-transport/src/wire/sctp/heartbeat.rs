//! HEARTBEAT and HEARTBEAT ACK: one parameter that only its sender interprets (RFC 9260 §3.3.6).

use super::chunk::{put_value, value};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut as _;

/// The type of the Heartbeat Info parameter.
const INFO: u16 = 1;

/// The information in our heartbeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeartbeatInfo {
    /// Transmission time, in nanoseconds of the sender's clock.
    pub sent_at: u64,
    /// Index of the path, from 0.
    pub path: u64,
}

impl HeartbeatInfo {
    /// Encodes the parameter's value.
    pub fn encode(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.sent_at.to_be_bytes());
        bytes[8..].copy_from_slice(&self.path.to_be_bytes());
        bytes
    }

    /// Decodes the information in a HEARTBEAT ACK.
    ///
    /// # Errors
    /// If the length differs: the information is not from this implementation.
    pub fn decode(info: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(info);
        let decoded =
            Self { sent_at: reader.u64("heartbeat's time")?, path: reader.u64("heartbeat's path")? };
        if reader.is_empty() {
            Ok(decoded)
        } else {
            Err(reader.length("heartbeat's information", info.len()))
        }
    }
}

pub(super) fn encode(info: &[u8], out: &mut Vec<u8>) {
    out.put_u16(INFO);
    put_value(out, |out| out.put_slice(info));
}

pub(super) fn decode<'a>(chunk: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let at = chunk.at();
    let kind = chunk.u16("heartbeat's parameter")?;
    if kind != INFO {
        return Err(DecodeError::Value { field: "heartbeat's parameter", at, value: kind.into() });
    }
    value(chunk, "heartbeat's information").map(|mut info| info.rest())
}
