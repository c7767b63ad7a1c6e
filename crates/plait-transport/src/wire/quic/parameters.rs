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

/// What an end says of itself in the handshake. What is `None` is not said; the defaults are RFC 9000's (§18.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransportParameters {
    /// The destination connection ID of the client's first packet; servers say it.
    pub original_destination: Option<ConnectionId>,
    /// Milliseconds of silence after which the connection is given up; none or 0: never.
    pub max_idle_timeout: Option<VarInt>,
    /// The largest UDP payload it takes, in bytes, 1200 or more; default 65,527.
    pub max_udp_payload: Option<VarInt>,
    /// Bytes that it takes on all streams together at first; default 0.
    pub max_data: Option<VarInt>,
    /// Bytes that it takes at first on a stream of both directions that it opens itself; default 0.
    pub max_stream_data_local: Option<VarInt>,
    /// Likewise on one that its peer opens.
    pub max_stream_data_remote: Option<VarInt>,
    /// Likewise on one of one direction.
    pub max_stream_data_one_way: Option<VarInt>,
    /// Streams of both directions that its peer may open at first, at most 2⁶⁰; default 0.
    pub max_streams: Option<VarInt>,
    /// Likewise of one direction.
    pub max_streams_one_way: Option<VarInt>,
    /// By how many bits the delays in its ACK frames are shifted, at most 20; default 3.
    pub ack_delay_exponent: Option<VarInt>,
    /// Milliseconds by which it delays acknowledgements at most, below 2¹⁴; default 25.
    pub max_ack_delay: Option<VarInt>,
    /// Its peer is to stay at its address.
    pub no_migration: bool,
    /// Connection IDs that it stores, 2 or more; default 2.
    pub connection_id_limit: Option<VarInt>,
    /// The source connection ID of its first packet.
    pub initial_source: Option<ConnectionId>,
    /// The largest path identifier that it accepts at first (multipath draft); without it there is no multipath.
    pub max_path_id: Option<u32>,
}

impl TransportParameters {
    /// The integers by their numbers, with the values that they may have.
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

    /// Appends them, as the TLS extension `quic_transport_parameters` carries them.
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

    /// Reads them all; those that are not known here are skipped.
    ///
    /// # Errors
    /// If one is cut off, given twice, or has a value that it must not have (TRANSPORT_PARAMETER_ERROR).
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

/// Sets what should not be set yet; true if it was.
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
