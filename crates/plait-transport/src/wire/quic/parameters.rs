//! Transport parameters (RFC 9000 §18, draft-ietf-quic-multipath-21).

use super::{ConnectionId, VarInt};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;

const ORIGINAL_DESTINATION: u64 = 0x00;
const MAX_IDLE_TIMEOUT: u64 = 0x01;
const MAX_UDP_PAYLOAD: u64 = 0x03;
const MAX_DATA: u64 = 0x04;
const MAX_STREAM_DATA_LOCAL: u64 = 0x05;
const MAX_STREAM_DATA_REMOTE: u64 = 0x06;
const MAX_STREAM_DATA_ONE_WAY: u64 = 0x07;
const MAX_STREAMS: u64 = 0x08;
const MAX_STREAMS_ONE_WAY: u64 = 0x09;
const ACK_DELAY_EXPONENT: u64 = 0x0a;
const MAX_ACK_DELAY: u64 = 0x0b;
const NO_MIGRATION: u64 = 0x0c;
const CONNECTION_ID_LIMIT: u64 = 0x0e;
const INITIAL_SOURCE: u64 = 0x0f;
const MAX_PATH_ID: u64 = 0x3e;

/// The transport parameters that an end sends in the handshake. `None` stands for an absent
/// parameter, with the default of RFC 9000 (§18.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransportParameters {
    /// The destination connection ID of the client's first packet. Only servers send it.
    pub original_destination: Option<ConnectionId>,
    /// Idle time in milliseconds after which the connection is closed. Absent or 0: never.
    pub max_idle_timeout: Option<VarInt>,
    /// Largest UDP payload that the end accepts, in bytes, at least 1200; default 65,527.
    pub max_udp_payload: Option<VarInt>,
    /// Initial limit for the bytes on all streams together; default 0.
    pub max_data: Option<VarInt>,
    /// Initial limit for the bytes on a bidirectional stream that the end itself opens; default 0.
    pub max_stream_data_local: Option<VarInt>,
    /// Initial limit for the bytes on a bidirectional stream that the peer opens; default 0.
    pub max_stream_data_remote: Option<VarInt>,
    /// Initial limit for the bytes on a unidirectional stream; default 0.
    pub max_stream_data_one_way: Option<VarInt>,
    /// Initial limit for bidirectional streams of the peer, at most 2⁶⁰; default 0.
    pub max_streams: Option<VarInt>,
    /// Initial limit for unidirectional streams of the peer, at most 2⁶⁰; default 0.
    pub max_streams_one_way: Option<VarInt>,
    /// Number of bits by which delays in the end's ACK frames are shifted, at most 20; default 3.
    pub ack_delay_exponent: Option<VarInt>,
    /// Largest delay of the end's acknowledgements in milliseconds, below 2¹⁴; default 25.
    pub max_ack_delay: Option<VarInt>,
    /// True if the peer must not migrate to another address.
    pub no_migration: bool,
    /// Number of connection IDs that the end stores, at least 2; default 2.
    pub connection_id_limit: Option<VarInt>,
    /// The source connection ID of the end's first packet.
    pub initial_source: Option<ConnectionId>,
    /// Initial limit for path identifiers (multipath draft). Without this parameter there is no
    /// multipath.
    pub max_path_id: Option<u32>,
}

impl TransportParameters {
    /// Returns the integer parameters with their identifiers and valid ranges.
    fn integers(&mut self) -> [(u64, &mut Option<VarInt>, core::ops::RangeInclusive<u64>); 11] {
        const ANY: core::ops::RangeInclusive<u64> = 0..=VarInt::MAX.get();
        const STREAMS: core::ops::RangeInclusive<u64> = 0..=1 << 60;
        [
            (MAX_IDLE_TIMEOUT, &mut self.max_idle_timeout, ANY),
            (MAX_UDP_PAYLOAD, &mut self.max_udp_payload, 1200..=VarInt::MAX.get()),
            (MAX_DATA, &mut self.max_data, ANY),
            (MAX_STREAM_DATA_LOCAL, &mut self.max_stream_data_local, ANY),
            (MAX_STREAM_DATA_REMOTE, &mut self.max_stream_data_remote, ANY),
            (MAX_STREAM_DATA_ONE_WAY, &mut self.max_stream_data_one_way, ANY),
            (MAX_STREAMS, &mut self.max_streams, STREAMS),
            (MAX_STREAMS_ONE_WAY, &mut self.max_streams_one_way, STREAMS),
            (ACK_DELAY_EXPONENT, &mut self.ack_delay_exponent, 0..=20),
            (MAX_ACK_DELAY, &mut self.max_ack_delay, 0..=(1 << 14) - 1),
            (CONNECTION_ID_LIMIT, &mut self.connection_id_limit, 2..=VarInt::MAX.get()),
        ]
    }

    /// Appends the parameters as in the TLS extension `quic_transport_parameters`.
    pub fn encode(&self, out: &mut impl BufMut) {
        let number = |number: u64, out: &mut _| VarInt::new(number).unwrap_or(VarInt::MAX).encode(out);
        for (id, value, _) in self.clone().integers() {
            if let Some(value) = *value {
                number(id, out);
                number(value.encoded_bytes() as u64, out);
                value.encode(out);
            }
        }
        for (id, value) in
            [(ORIGINAL_DESTINATION, self.original_destination), (INITIAL_SOURCE, self.initial_source)]
        {
            if let Some(value) = value {
                number(id, out);
                value.encode(out);
            }
        }
        if self.no_migration {
            number(NO_MIGRATION, out);
            number(0, out);
        }
        if let Some(most) = self.max_path_id.map(VarInt::from_u32) {
            number(MAX_PATH_ID, out);
            number(most.encoded_bytes() as u64, out);
            most.encode(out);
        }
    }

    /// Decodes the parameters. Unknown ones are skipped.
    ///
    /// # Errors
    /// If a parameter is cut off, repeated, or has an invalid value (TRANSPORT_PARAMETER_ERROR).
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const FIELD: &str = "transport parameter";
        let mut reader = Reader::new(bytes);
        let mut parameters = Self::default();
        while !reader.is_empty() {
            let at = reader.at();
            let id = reader.varint(FIELD)?.get();
            let twice = DecodeError::Value { field: "transport parameter given twice", at, value: id };
            let length = reader.varint(FIELD)?.get();
            let mut value = reader.part(usize::try_from(length).unwrap_or(usize::MAX), FIELD)?;
            let given = match id {
                ORIGINAL_DESTINATION => replace(&mut parameters.original_destination, whole(&mut value)?),
                INITIAL_SOURCE => replace(&mut parameters.initial_source, whole(&mut value)?),
                NO_MIGRATION => core::mem::replace(&mut parameters.no_migration, true),
                MAX_PATH_ID => {
                    let most = integer(&mut value, &(0..=u32::MAX.into()))?;
                    replace(&mut parameters.max_path_id, most.get() as u32)
                }
                _ => match parameters.integers().into_iter().find(|(known, ..)| *known == id) {
                    Some((_, place, valid)) => replace(place, integer(&mut value, &valid)?),
                    None => {
                        value.rest();
                        false
                    }
                },
            };
            if given {
                return Err(twice);
            }
            if !value.is_empty() {
                return Err(value.length(FIELD, length));
            }
        }
        Ok(parameters)
    }
}

/// Sets a value. Returns true if it was already set.
fn replace<T>(place: &mut Option<T>, value: T) -> bool {
    place.replace(value).is_some()
}

fn whole(value: &mut Reader<'_>) -> Result<ConnectionId, DecodeError> {
    let length = value.left();
    ConnectionId::read(value, length, "connection ID")
}

fn integer(value: &mut Reader<'_>, valid: &core::ops::RangeInclusive<u64>) -> Result<VarInt, DecodeError> {
    const FIELD: &str = "transport parameter";
    let at = value.at();
    let integer = value.varint(FIELD)?;
    let value = integer.get();
    if valid.contains(&value) { Ok(integer) } else { Err(DecodeError::Value { field: FIELD, at, value }) }
}
