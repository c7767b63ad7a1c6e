//! MP_JOIN (RFC 8684 §3.2). Its length identifies the packet of the handshake.

use super::{BACKUP, JOIN, length};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;

/// Opens a subflow of an existing connection. The module [`super::key`] computes the proof that
/// both ends know the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// MP_JOIN in a SYN.
    Syn {
        /// True if the subflow is to be used only if there is no other.
        backup: bool,
        /// Identifier of the sender's address.
        address: u8,
        /// The receiver's token, which identifies the connection.
        token: u32,
        /// The sender's random number.
        nonce: u32,
    },
    /// MP_JOIN in a SYN/ACK.
    SynAck {
        /// True if the subflow is to be used only if there is no other.
        backup: bool,
        /// Identifier of the sender's address.
        address: u8,
        /// The upper 64 bits of the sender's proof.
        proof: u64,
        /// The sender's random number.
        nonce: u32,
    },
    /// MP_JOIN in the third packet.
    Ack {
        /// The upper 160 bits of the sender's proof.
        proof: [u8; 20],
    },
}

impl Join {
    pub(super) const fn encoded_bytes(&self) -> usize {
        match self {
            Self::Syn { .. } => 10,
            Self::SynAck { .. } => 14,
            Self::Ack { .. } => 22,
        }
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        let first = |backup: bool| JOIN << 4 | if backup { BACKUP } else { 0 };
        match self {
            Self::Syn { backup, address, token, nonce } => {
                out.put_slice(&[first(*backup), *address]);
                out.put_u32(*token);
                out.put_u32(*nonce);
            }
            Self::SynAck { backup, address, proof, nonce } => {
                out.put_slice(&[first(*backup), *address]);
                out.put_u64(*proof);
                out.put_u32(*nonce);
            }
            Self::Ack { proof } => {
                out.put_slice(&[first(false), 0]);
                out.put_slice(proof);
            }
        }
    }

    pub(super) fn decode(flags: u8, value: &mut Reader<'_>) -> Result<Self, DecodeError> {
        const FIELD: &str = "MP_JOIN";
        let whole = *value;
        let backup = flags & BACKUP != 0;
        let address = value.u8(FIELD)?;
        Ok(match value.left() {
            8 => Self::Syn { backup, address, token: value.u32(FIELD)?, nonce: value.u32(FIELD)? },
            12 => Self::SynAck { backup, address, proof: value.u64(FIELD)?, nonce: value.u32(FIELD)? },
            20 => Self::Ack { proof: value.array(FIELD)? },
            _ => return Err(length(&whole, FIELD)),
        })
    }
}
