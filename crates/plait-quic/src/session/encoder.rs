//! Encoding of packets as they leave.

use super::budgets::has_budget;
use crate::source::Source;
use bytes::Bytes;
use plait_sched::PathId;
use plait_transport::image::{Boundaries, Image};
use plait_transport::packet::{PacketRef, quic};
use plait_transport::wire::quic::TAG_BYTES;
use plait_transport::{Sink, Transmit};
use std::io;

/// Encodes packets as they leave.
pub(super) struct Encoder<'a, S> {
    pub(super) image: &'a mut Image,
    pub(super) peer: &'a Boundaries,
    pub(super) source: &'a mut S,
    pub(super) sent: &'a mut Vec<u64>,
    pub(super) received: &'a [u64],
    pub(super) budgets: &'a [u64],
    pub(super) packets: &'a mut Vec<(PathId, Bytes)>,
    pub(super) payload: Vec<u8>,
    /// Segments to duplicate on every path.
    pub(super) redundant: Vec<u64>,
    /// Packets beyond the budget of their path, in the order of their numbers.
    pub(super) refused: Vec<(usize, u64)>,
    pub(super) failed: Option<io::Error>,
}

impl<S: Source> Encoder<'_, S> {
    fn encode_packet(&mut self, transmit: &Transmit<'_>, again: bool) {
        self.payload.clear();
        if let PacketRef::Quic(quic::Packet::OneRtt(packet)) = transmit.packet
            && let Some(stream) = packet.stream
        {
            let path = transmit.path.index();
            if !has_budget(path, self.sent, self.received, self.budgets) {
                self.refused.push((path, packet.number));
                return;
            }
            self.payload.resize(stream.data.bytes as usize, 0);
            let read = match again {
                false => self.source.read_at(stream.offset, &mut self.payload),
                true => self.source.read_again(stream.offset, &mut self.payload),
            };
            if let Err(error) = read {
                self.failed.get_or_insert(error);
                return;
            }
            if self.source.is_void(stream.offset) {
                self.payload.clear();
            }
            self.sent[path] += self.payload.len() as u64;
            if !self.payload.is_empty() && self.source.is_redundant(stream.offset) {
                self.redundant.push(stream.data.segment);
            }
        }
        let mut bytes = Vec::with_capacity(self.payload.len() + 128);
        self.image.encode(transmit, &self.payload, self.peer, &mut bytes);
        bytes.truncate(bytes.len() - TAG_BYTES);
        self.packets.push((transmit.path, bytes.into()));
    }
}

impl<S: Source> Sink for Encoder<'_, S> {
    fn send(&mut self, transmit: &Transmit<'_>) {
        self.encode_packet(transmit, false);
    }

    fn send_again(&mut self, transmit: &Transmit<'_>) {
        self.encode_packet(transmit, true);
    }
}
