//! One end of an association.

use super::recovery::Recovery;
use super::{Config, Receiver, Sender};
use crate::core::{Core, PathConfig, moment, timer};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::sctp::Packet;
use crate::protocol::{Protocol, Side};
use crate::reassembly::Reassembly;
use crate::sink::SinkOf;
use plait_sched::{PathId, Scheduler, Time};

/// One end of an association: acknowledgements and data leave in packets of their own.
#[derive(Clone, Debug)]
pub struct Endpoint<S> {
    sender: Sender<S>,
    receiver: Receiver,
}

impl<S: Scheduler> Endpoint<S> {
    /// Creates an end over `paths`. No handshake opens an association here. The client probes paths
    /// before it has sent data.
    pub(crate) fn new(
        config: &Config,
        side: Side,
        paths: &[PathConfig],
        scheduler: S,
    ) -> Result<Self, Error> {
        Ok(Self { sender: Sender::new(config, side, paths, scheduler)?, receiver: Receiver::new(config) })
    }
}

impl<S: Scheduler> Protocol<S> for Endpoint<S> {
    type Recovery = Recovery;
    type Packet = Packet;

    fn core(&self) -> &Core<S, Recovery> {
        &self.sender.core
    }

    fn core_mut(&mut self) -> &mut Core<S, Recovery> {
        &mut self.sender.core
    }

    fn reassembly(&self) -> &Reassembly {
        self.receiver.reassembly()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        match packet {
            Packet::Data(data) | Packet::Bundle(data, _) => {
                self.receiver.handle_data(now, path, data, observer);
            }
            Packet::Heartbeat { sent_at } => self.receiver.handle_heartbeat(path, *sent_at),
            Packet::Sack(sack) => self.sender.handle_sack(now, path, sack),
            Packet::HeartbeatAck { sent_at } => {
                self.sender.handle_heartbeat_ack(now, path.index(), *sent_at, observer);
            }
        }
    }

    fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        self.receiver.handle_timeout(now);
        if self.sender.is_silent() { Ok(()) } else { self.sender.handle_timeout(now, observer) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        self.receiver.transmit(sink);
        if self.sender.is_silent() { Ok(()) } else { self.sender.transmit(now, sink, observer) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_wakeup(&self) -> Option<Time> {
        let receiver = self.receiver.poll_timeout();
        if self.sender.is_silent() {
            return receiver;
        }
        timer(moment(receiver).min(self.sender.next_timer()))
    }

    fn looks(&self) -> u64 {
        self.sender.looks()
    }
}
