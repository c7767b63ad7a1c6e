//! MP_CAPABLE (RFC 8684 §3.1), and that of version 0 (RFC 6824), whose SYN has different contents.

use super::{CAPABLE, length};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;

/// Opens a connection, on its first subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capable {
    /// MPTCP's version, 4 bits: 1 in RFC 8684.
    pub version: u8,
    /// Flags A to H.
    pub flags: u8,
    /// The keys that the sender includes.
    pub keys: Keys,
}

/// The keys of an MP_CAPABLE. Their number identifies the packet of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// A SYN of version 1.
    None,
    /// A SYN/ACK, or a SYN of version 0: the sender's key.
    Sender(u64),
    /// Later packets: the sender's key, the receiver's key, and the mapping of the first data if
    /// the packet has data.
    Both(u64, u64, Option<FirstData>),
}

/// The mapping of the first data, which begins at the start of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstData {
    /// Length of the data in bytes.
    pub length: u16,
    /// The mapping's checksum, if checksums are used; see [`super::Mapping::checksum`].
    pub checksum: Option<u16>,
}

impl Capable {
    /// The flag A: mappings have checksums.
    pub const CHECKSUMS: u8 = 0x80;
    /// The flag C: the peer must not open a subflow to the source address of this packet.
    pub const NO_FURTHER_SUBFLOWS: u8 = 0x20;
    /// The flag H: HMAC-SHA256.
    pub const HMAC_SHA256: u8 = 0x01;

    /// Returns the sender's key, if the option has it.
    pub const fn sender_key(&self) -> Option<u64> {
        match self.keys {
            Keys::None => None,
            Keys::Sender(key) | Keys::Both(key, ..) => Some(key),
        }
    }

    pub(super) fn encoded_bytes(&self) -> usize {
        2 + match self.keys {
            Keys::None => 0,
            Keys::Sender(_) => 8,
            Keys::Both(_, _, None) => 16,
            Keys::Both(_, _, Some(data)) => 18 + if data.checksum.is_some() { 2 } else { 0 },
        }
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&[CAPABLE << 4 | self.version & 15, self.flags]);
        match self.keys {
            Keys::None => {}
            Keys::Sender(key) => out.put_u64(key),
            Keys::Both(sender, receiver, data) => {
                out.put_u64(sender);
                out.put_u64(receiver);
                if let Some(FirstData { length, checksum }) = data {
                    out.put_u16(length);
                    checksum.into_iter().for_each(|checksum| out.put_u16(checksum));
                }
            }
        }
    }

    pub(super) fn decode(version: u8, value: &mut Reader<'_>) -> Result<Self, DecodeError> {
        const FIELD: &str = "MP_CAPABLE";
        let whole = *value;
        let flags = value.u8(FIELD)?;
        let keys = match value.left() {
            0 => Keys::None,
            8 => Keys::Sender(value.u64(FIELD)?),
            bytes @ (16 | 18 | 20) => {
                let (sender, receiver) = (value.u64(FIELD)?, value.u64(FIELD)?);
                let data = if bytes == 16 {
                    None
                } else {
                    let length = value.u16(FIELD)?;
                    let checksum = if bytes == 20 { Some(value.u16(FIELD)?) } else { None };
                    Some(FirstData { length, checksum })
                };
                Keys::Both(sender, receiver, data)
            }
            _ => return Err(length(&whole, FIELD)),
        };
        Ok(Self { version, flags, keys })
    }
}
