//! The frames of the multipath extension (draft-ietf-quic-multipath-21, "New Frames"). Only 1-RTT
//! packets carry them.

use super::varint::VarInt;
use super::{Ack, NewConnectionId};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;

const ACK: u64 = 0x3e;
const ACK_ECN: u64 = 0x3f;
const ABANDON: u64 = 0x3e75;
const STATUS_BACKUP: u64 = 0x3e76;
const STATUS_AVAILABLE: u64 = 0x3e77;
const NEW_CONNECTION_ID: u64 = 0x3e78;
const RETIRE_CONNECTION_ID: u64 = 0x3e79;
const MAX_PATH_ID: u64 = 0x3e7a;
const PATHS_BLOCKED: u64 = 0x3e7b;
const CONNECTION_IDS_BLOCKED: u64 = 0x3e7c;

/// A frame about a path, identified by a number of 32 bits (draft, "initial_max_path_id Transport
/// Parameter").
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PathFrame {
    /// PATH_ACK: received packets of the path's number space.
    Ack {
        /// The path.
        path: u32,
        /// The received packets.
        ack: Ack,
    },
    /// PATH_ABANDON: the path is no longer used.
    Abandon {
        /// The path.
        path: u32,
        /// The reason: see [`AbandonReason`].
        error: VarInt,
    },
    /// PATH_STATUS_AVAILABLE and PATH_STATUS_BACKUP: the status that the sender wants for the path.
    Status {
        /// The path.
        path: u32,
        /// Number of the status, per path. Frames with smaller numbers are out of date.
        sequence: VarInt,
        /// True if the path is to be used only if there is no other.
        backup: bool,
    },
    /// PATH_NEW_CONNECTION_ID.
    NewConnectionId {
        /// The path of the connection ID.
        path: u32,
        /// The same contents as in NEW_CONNECTION_ID.
        id: NewConnectionId,
    },
    /// PATH_RETIRE_CONNECTION_ID.
    RetireConnectionId {
        /// The path of the connection ID.
        path: u32,
        /// The connection ID's number on that path.
        sequence: VarInt,
    },
    /// MAX_PATH_ID: the largest path identifier that the sender accepts.
    MaxPathId(u32),
    /// PATHS_BLOCKED: the sender wants a path beyond this largest identifier.
    PathsBlocked(u32),
    /// PATH_CIDS_BLOCKED: the sender has no connection ID left for the path.
    ConnectionIdsBlocked {
        /// The path.
        path: u32,
        /// Number of the next connection ID that the peer should issue.
        next: VarInt,
    },
}

/// Errors of PATH_ABANDON, in addition to those of QUIC (draft, "Error Codes").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum AbandonReason {
    /// NO_ERROR.
    None = 0,
    /// The application requested it.
    Application = 0x3e,
    /// Resources are short.
    ResourceLimit = 0x3e75,
    /// The interface is unstable, or the path is poor.
    UnstableOrPoor = 0x3e76,
    /// There is no connection ID for the path.
    NoConnectionId = 0x3e77,
}

impl From<AbandonReason> for VarInt {
    fn from(reason: AbandonReason) -> Self {
        Self::from_u32(u32::from(reason as u16))
    }
}

impl PathFrame {
    fn kind(&self) -> u64 {
        match self {
            Self::Ack { ack, .. } if ack.ecn.is_none() => ACK,
            Self::Ack { .. } => ACK_ECN,
            Self::Abandon { .. } => ABANDON,
            Self::Status { backup: true, .. } => STATUS_BACKUP,
            Self::Status { backup: false, .. } => STATUS_AVAILABLE,
            Self::NewConnectionId { .. } => NEW_CONNECTION_ID,
            Self::RetireConnectionId { .. } => RETIRE_CONNECTION_ID,
            Self::MaxPathId(_) => MAX_PATH_ID,
            Self::PathsBlocked(_) => PATHS_BLOCKED,
            Self::ConnectionIdsBlocked { .. } => CONNECTION_IDS_BLOCKED,
        }
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        VarInt::new(self.kind()).unwrap_or(VarInt::MAX).encode(out);
        let (Self::Ack { path, .. }
        | Self::Abandon { path, .. }
        | Self::Status { path, .. }
        | Self::NewConnectionId { path, .. }
        | Self::RetireConnectionId { path, .. }
        | Self::MaxPathId(path)
        | Self::PathsBlocked(path)
        | Self::ConnectionIdsBlocked { path, .. }) = self;
        VarInt::from_u32(*path).encode(out);
        match self {
            Self::Ack { ack, .. } => ack.encode(out),
            Self::Abandon { error: number, .. }
            | Self::Status { sequence: number, .. }
            | Self::RetireConnectionId { sequence: number, .. }
            | Self::ConnectionIdsBlocked { next: number, .. } => number.encode(out),
            Self::NewConnectionId { id, .. } => id.encode(out),
            Self::MaxPathId(_) | Self::PathsBlocked(_) => {}
        }
    }

    /// Reads a frame after its type. Returns `None` if the type is not of the extension.
    pub(super) fn decode(kind: u64, reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        if !matches!(kind, ACK..=ACK_ECN | ABANDON..=CONNECTION_IDS_BLOCKED) {
            return Ok(None);
        }
        let path = path(reader)?;
        Ok(Some(match kind {
            ABANDON => Self::Abandon { path, error: reader.varint("PATH_ABANDON's error")? },
            STATUS_BACKUP | STATUS_AVAILABLE => {
                let sequence = reader.varint("path status' sequence number")?;
                Self::Status { path, sequence, backup: kind == STATUS_BACKUP }
            }
            NEW_CONNECTION_ID => Self::NewConnectionId { path, id: NewConnectionId::decode(reader)? },
            RETIRE_CONNECTION_ID => {
                let sequence = reader.varint("PATH_RETIRE_CONNECTION_ID's sequence number")?;
                Self::RetireConnectionId { path, sequence }
            }
            MAX_PATH_ID => Self::MaxPathId(path),
            PATHS_BLOCKED => Self::PathsBlocked(path),
            CONNECTION_IDS_BLOCKED => {
                let next = reader.varint("PATH_CIDS_BLOCKED's sequence number")?;
                Self::ConnectionIdsBlocked { path, next }
            }
            _ => Self::Ack { path, ack: Ack::decode(kind == ACK_ECN, reader)? },
        }))
    }
}

fn path(reader: &mut Reader<'_>) -> Result<u32, DecodeError> {
    const FIELD: &str = "path identifier";
    let at = reader.at();
    let value = reader.varint(FIELD)?.get();
    u32::try_from(value).map_err(|_| DecodeError::Value { field: FIELD, at, value })
}
