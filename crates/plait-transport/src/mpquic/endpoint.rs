//! One end of a connection: its two halves, and how acknowledgements ride on data.

use super::Config;
use super::opening::Question;
use super::receiver::Receiver;
use super::sender::Sender;
use super::space::Space;
use crate::core::{Core, PathConfig, timer};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::quic::{Challenge, OneRtt, Packet};
use crate::protocol::{PathChange, Protocol, Side};
use crate::reassembly::Reassembly;
use crate::sink::{Origin, SinkOf, Transmit};
use plait_sched::{PathId, Scheduler, Time};

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Endpoint<S> {
    sender: Sender<S>,
    receiver: Receiver,
}

impl<S: Scheduler> Endpoint<S> {
    /// An end over `paths`.
    pub(crate) fn new(
        config: &Config,
        side: Side,
        paths: &[PathConfig],
        scheduler: S,
    ) -> Result<Self, Error> {
        Ok(Self {
            sender: Sender::new(config, side, paths, scheduler)?,
            receiver: Receiver::new(config, paths.len()),
        })
    }

    fn handle_one_rtt(&mut self, now: Time, path: PathId, packet: &OneRtt, observer: &mut impl Observer) {
        if let Some(limit) = packet.max_data {
            self.sender.extend(limit);
        }
        if let Some(ack) = &packet.ack {
            self.sender.handle_ack(now, path, ack, observer);
        }
        if packet.wants_acknowledgement() {
            self.receiver.handle(now, path, packet, observer);
            self.sender.probe_withdrawn(now, path);
        } else {
            self.receiver.note(now, path, packet.number);
        }
        if let Some(backup) = packet.backup {
            self.sender.handle_backup(now, backup, observer);
        }
        match packet.challenge {
            Some(Challenge::Asked(asked)) => {
                self.sender.answer(now, path, Question::Challenge(asked), observer);
            }
            Some(Challenge::Answered(asked)) => self.sender.opened(now, path, asked, observer),
            None => {}
        }
    }
}

impl<S: Scheduler> Protocol<S> for Endpoint<S> {
    type Recovery = Space;
    type Packet = Packet;

    fn core(&self) -> &Core<S, Space> {
        &self.sender.core
    }

    fn core_mut(&mut self) -> &mut Core<S, Space> {
        &mut self.sender.core
    }

    fn reassembly(&self) -> &Reassembly {
        self.receiver.reassembly()
    }

    fn handle_packet(&mut self, now: Time, path: PathId, packet: &Packet, observer: &mut impl Observer) {
        match packet {
            Packet::OneRtt(packet) => self.handle_one_rtt(now, path, packet, observer),
            Packet::Initial { sent_at } => {
                self.sender.answer(now, path, Question::Initial(*sent_at), observer);
            }
            Packet::InitialReply { sent_at } => self.sender.opened(now, path, *sent_at, observer),
        }
    }

    fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        self.receiver.handle_timeout(now);
        self.sender.handle_timeout(now, observer)
    }

    fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        if !self.sender.is_silent() {
            self.sender.transmit(now, &mut self.receiver, sink, observer)?;
        }
        while let Some(path) = self.receiver.due() {
            let mut packet = OneRtt::new(self.sender.number(now, path));
            self.receiver.acknowledge(now, path, &mut packet);
            let (packet, origin) = (&Packet::OneRtt(packet), Origin::Receiver(self.receiver.reassembly()));
            sink.send(&Transmit { path, packet, transmission: 0, origin });
        }
        while let Some((of, path)) = self.receiver.silent() {
            let mut packet = OneRtt::new(self.sender.number(now, path));
            packet.ack = self.receiver.repeat(now, of);
            let (packet, origin) = (&Packet::OneRtt(packet), Origin::Receiver(self.receiver.reassembly()));
            sink.send(&Transmit { path, packet, transmission: 0, origin });
        }
        Ok(())
    }

    fn next_wakeup(&self) -> Option<Time> {
        timer(self.receiver.next_timer().min(self.sender.next_timer()))
    }

    fn change_path(&mut self, now: Time, change: &PathChange, observer: &mut impl Observer) -> bool {
        self.sender.change_path(now, change, observer);
        match *change {
            PathChange::Added(_) => self.receiver.add_path(),
            PathChange::Gone(path) => {
                let ack = self.receiver.repeat(now, path);
                self.sender.report_gone(now, path, ack);
            }
            PathChange::Back(_)
            | PathChange::Renewed(..)
            | PathChange::Measured(..)
            | PathChange::Spent(..) => {}
        }
        true
    }

    fn looks(&self) -> u64 {
        self.sender.looks()
    }
}
