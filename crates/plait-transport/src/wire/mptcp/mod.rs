//! MPTCP's options (RFC 8684 §3): the values of TCP option 30.

mod address;
mod capable;
mod data_sequence;
mod join;
pub mod key;

pub use address::AddAddress;
pub use capable::{Capable, FirstData, Keys};
pub use data_sequence::{DataSequence, Mapping, Number};
pub use join::Join;

use super::DecodeError;
use super::reader::Reader;
use bytes::BufMut;

const CAPABLE: u8 = 0;
const JOIN: u8 = 1;
const DATA_SEQUENCE: u8 = 2;
const ADD_ADDRESS: u8 = 3;
const REMOVE_ADDRESS: u8 = 4;
const PRIORITY: u8 = 5;
const FAIL: u8 = 6;
const FAST_CLOSE: u8 = 7;
const RESET: u8 = 8;

/// Bytes before an option's value: TCP's kind and length.
const HEADER: usize = 2;

/// The flag B of MP_JOIN and MP_PRIO.
const BACKUP: u8 = 1;

/// An MPTCP option, by its subtype. Reserved bits are sent as 0 and ignored on receipt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MptcpOption<'a> {
    /// MP_CAPABLE: opens a connection.
    Capable(Capable),
    /// MP_JOIN: opens a further subflow.
    Join(Join),
    /// DSS: a data acknowledgement and a mapping.
    DataSequence(DataSequence),
    /// ADD_ADDR: another address of the sender.
    AddAddress(AddAddress),
    /// REMOVE_ADDR (§3.4.2): the identifiers of removed addresses, at least one.
    RemoveAddress(&'a [u8]),
    /// MP_PRIO (§3.3.8): the priority that the sender wants for the subflow.
    Priority {
        /// True if the subflow is to be used only if there is no other.
        backup: bool,
        /// Identifier of the address that the option is about. Only version 0 has it (RFC 6824
        /// §3.3.8).
        address: Option<u8>,
    },
    /// MP_FAIL (§3.7): a checksum did not match.
    Fail {
        /// The data sequence number from which the stream must be retransmitted.
        sequence: u64,
    },
    /// MP_FASTCLOSE (§3.5): the whole connection ends at once.
    FastClose {
        /// The receiver's key.
        key: u64,
    },
    /// MP_TCPRST (§3.6): the reason of a subflow's reset.
    Reset {
        /// True if the condition is transient, so that the subflow may be opened again (flag T).
        transient: bool,
        /// The reason, from the registry in §7.3.
        reason: u8,
    },
    /// An option of an unknown subtype.
    Unknown {
        /// The upper four bits.
        subtype: u8,
        /// The four bits beside the subtype.
        flags: u8,
        /// The bytes after these.
        value: &'a [u8],
    },
}

impl<'a> MptcpOption<'a> {
    /// Returns the bytes of the option's value on the wire, without TCP's kind and length.
    pub(super) fn encoded_bytes(&self) -> usize {
        match self {
            Self::Capable(capable) => capable.encoded_bytes(),
            Self::Join(join) => join.encoded_bytes(),
            Self::DataSequence(sequence) => sequence.encoded_bytes(),
            Self::AddAddress(address) => address.encoded_bytes(),
            Self::RemoveAddress(addresses) => 1 + addresses.len(),
            Self::Priority { address, .. } => 1 + usize::from(address.is_some()),
            Self::Fail { .. } | Self::FastClose { .. } => 10,
            Self::Reset { .. } => 2,
            Self::Unknown { value, .. } => 1 + value.len(),
        }
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        match self {
            Self::Capable(capable) => capable.encode(out),
            Self::Join(join) => join.encode(out),
            Self::DataSequence(sequence) => sequence.encode(out),
            Self::AddAddress(address) => address.encode(out),
            Self::RemoveAddress(addresses) => {
                out.put_u8(REMOVE_ADDRESS << 4);
                out.put_slice(addresses);
            }
            Self::Priority { backup, address } => {
                out.put_u8(PRIORITY << 4 | if *backup { BACKUP } else { 0 });
                out.put_slice(address.as_slice());
            }
            Self::Fail { sequence } => {
                out.put_slice(&[FAIL << 4, 0]);
                out.put_u64(*sequence);
            }
            Self::FastClose { key } => {
                out.put_slice(&[FAST_CLOSE << 4, 0]);
                out.put_u64(*key);
            }
            Self::Reset { transient, reason } => {
                out.put_slice(&[RESET << 4 | u8::from(*transient), *reason]);
            }
            Self::Unknown { subtype, flags, value } => {
                out.put_u8(subtype << 4 | flags & 15);
                out.put_slice(value);
            }
        }
    }

    /// Reads an option's value. Bytes left in `value` belong to no field.
    #[inline]
    pub(super) fn decode(value: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let whole = *value;
        let first = value.u8("MPTCP option's subtype")?;
        let (subtype, flags) = (first >> 4, first & 15);
        match subtype {
            CAPABLE => Capable::decode(flags, value).map(Self::Capable),
            JOIN => Join::decode(flags, value).map(Self::Join),
            DATA_SEQUENCE => DataSequence::decode(value).map(Self::DataSequence),
            ADD_ADDRESS => AddAddress::decode(flags, value).map(Self::AddAddress),
            REMOVE_ADDRESS if value.is_empty() => Err(length(&whole, "REMOVE_ADDR")),
            REMOVE_ADDRESS => Ok(Self::RemoveAddress(value.rest())),
            PRIORITY => {
                let address = if value.is_empty() { None } else { Some(value.u8("MP_PRIO's address")?) };
                Ok(Self::Priority { backup: flags & BACKUP != 0, address })
            }
            FAIL => {
                value.u8("MP_FAIL")?;
                Ok(Self::Fail { sequence: value.u64("MP_FAIL's data sequence number")? })
            }
            FAST_CLOSE => {
                value.u8("MP_FASTCLOSE")?;
                Ok(Self::FastClose { key: value.u64("MP_FASTCLOSE's key")? })
            }
            RESET => Ok(Self::Reset { transient: flags & 1 != 0, reason: value.u8("MP_TCPRST's reason")? }),
            _ => Ok(Self::Unknown { subtype, flags, value: value.rest() }),
        }
    }
}

/// Returns the error for an invalid length of an option; `whole` is its value.
fn length(whole: &Reader<'_>, field: &'static str) -> DecodeError {
    whole.length(field, HEADER + whole.left())
}
