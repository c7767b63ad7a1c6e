//! One end of a connection: its sender, its receiver, and acknowledgements piggybacked on data.

use super::subflow::Subflow;
use super::{Config, Receiver, Sender};
use crate::core::{Core, OneWayDelays, PathConfig, timer};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::tcp::{Packet, TcpSegment};
use crate::protocol::{Protocol, Side};
use crate::reassembly::Reassembly;
use crate::sink::{SinkOf, Transmit};
use plait_sched::{PathId, Scheduler, Time};

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Endpoint<S> {
    sender: Sender<S>,
    receiver: Receiver,
}

impl<S: Scheduler> Endpoint<S> {
    /// Creates an end over `paths`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the scheduler needs a feature that MPTCP does not offer;
    /// [`Error::SegmentSize`] if segments have more than 65,535 bytes.
    pub(crate) fn new(
        config: &Config,
        side: Side,
        paths: &[PathConfig],
        scheduler: S,
    ) -> Result<Self, Error> {
        let other = Config { clock: config.clock.reversed(), ..config.clone() };
        let (sending, receiving) = match side {
            Side::Client => (config, &other),
            Side::Server => (&other, config),
        };
        Ok(Self {
            sender: Sender::new(sending, side, paths, scheduler)?,
            receiver: match side {
                Side::Client => Receiver::new(receiving, paths.len()).of_client(),
                Side::Server => Receiver::new(receiving, paths.len()),
            },
        })
    }
}

impl<S: Scheduler> Protocol<S> for Endpoint<S> {
    type Recovery = Subflow;
    type Packet = Packet;

    fn core(&self) -> &Core<S, Subflow> {
        &self.sender.core
    }

    fn core_mut(&mut self) -> &mut Core<S, Subflow> {
        &mut self.sender.core
    }

    fn reassembly(&self) -> &Reassembly {
        self.receiver.reassembly()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        if path.index() >= self.sender.core.paths.len() {
            return;
        }
        match packet {
            Packet::Segment(segment) => {
                self.sender.note_accepted(now, path, observer);
                match &segment.ack {
                    Some(ack) => self.sender.handle_ack(now, path, ack, observer),
                    // On the wire, such a segment acknowledges no new data.
                    None => self.sender.hear(path),
                }
                self.receiver.handle_segment(now, path, segment, observer);
            }
            Packet::Ack(ack) => self.sender.handle_ack(now, path, ack, observer),
            Packet::Syn { timestamp } => {
                self.sender.note_answered(now, path);
                self.receiver.handle_syn(now, path, *timestamp);
            }
            Packet::SynAck { timestamp, echo, window } => {
                self.receiver.note_opened(path);
                self.sender.handle_syn_ack(now, path, (*timestamp, *echo), *window, observer);
            }
            Packet::Confirm { .. } => {
                self.sender.note_accepted(now, path, observer);
                self.receiver.handle_confirmation(now, path);
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
        if self.sender.is_silent() {
            return Ok(());
        }
        if self.receiver.has_heard() {
            let mut ridden = Ridden { now, sink, receiver: &mut self.receiver };
            self.sender.transmit(now, &mut ridden, observer)
        } else {
            self.sender.transmit(now, sink, observer)
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_wakeup(&self) -> Option<Time> {
        let receiver = self.receiver.next_timer();
        timer(if self.sender.is_silent() { receiver } else { receiver.min(self.sender.next_timer()) })
    }

    fn looks(&self) -> u64 {
        self.sender.looks()
    }

    fn delays(&self, path: PathId) -> Option<OneWayDelays> {
        self.sender.delays(path)
    }

    fn fell_back(&self) -> bool {
        self.sender.fell_back()
    }
}

/// Data with piggybacked acknowledgements. Every segment carries the current acknowledgement of its
/// end (RFC 9293 §3.10.4, RFC 8684 §3.3.2), so a delayed acknowledgement need not leave by itself.
struct Ridden<'a, K> {
    now: Time,
    sink: &'a mut K,
    receiver: &'a mut Receiver,
}

impl<K: SinkOf<Packet>> SinkOf<Packet> for Ridden<'_, K> {
    fn send(&mut self, transmit: &Transmit<'_, &Packet>) {
        match transmit.packet {
            Packet::Segment(segment) => {
                let mut segment = TcpSegment { ack: self.receiver.ride(self.now, transmit.path), ..*segment };
                // A packet has one echo: that of the acknowledgement, if data arrived in order on
                // the subflow.
                if let Some(ack) = &mut segment.ack {
                    let echo = if ack.cumulative > 0 { ack.echo } else { segment.echo };
                    (ack.echo, segment.echo) = (echo, echo);
                }
                let packet = &Packet::Segment(segment);
                self.sink.send(&Transmit { packet, ..*transmit });
            }
            // Packets of handshakes carry no data, and the receiver's acknowledgements leave by
            // themselves.
            Packet::Ack(_) | Packet::Syn { .. } | Packet::SynAck { .. } | Packet::Confirm { .. } => {
                self.sink.send(transmit);
            }
        }
    }

    fn send_again(&mut self, transmit: &Transmit<'_, &Packet>) {
        self.send(transmit);
    }
}
