//! The sending end, in either mode.

use plait_quic::connection::{DatagramBatch, ReceivedBatch};
use plait_quic::files::Upload;
use plait_quic::pilot::{Pilot, SchedulerChange};
use plait_quic::recording::Recording;
use plait_quic::sender::{AddressChange, Progress, SessionConfig};
use plait_quic::source::Application;
use plait_quic::{Error, OpeningEnd, Sender, Settings, interop};
use plait_sched::Builtin;
use std::net::SocketAddr;
use std::time::Instant;

pub(crate) enum End<A = Upload> {
    Full(Box<Sender<A>>),
    Interop(Box<interop::Sender<A>>),
}

macro_rules! of_both {
    ($end:ident, $sender:ident => $call:expr) => {
        match $end {
            End::Full($sender) => $call,
            End::Interop($sender) => $call,
        }
    };
}

impl<A: Application> End<A> {
    pub(crate) fn new(
        now: Instant,
        interop: bool,
        settings: Settings,
        config: SessionConfig,
        scheduler: Builtin,
        application: A,
    ) -> Result<Self, Error> {
        Ok(if interop {
            Self::Interop(Box::new(interop::Sender::new(now, settings, config, scheduler, application)?))
        } else {
            Self::Full(Box::new(Sender::new(now, settings, config, scheduler, application)?))
        })
    }

    pub(crate) fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange) {
        of_both!(self, sender => sender.handle_address_change(now, address_change));
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        of_both!(self, sender => sender.handle_timeout(now));
    }

    pub(crate) fn handle_datagram(&mut self, now: Instant, path: usize, remote: SocketAddr, bytes: &[u8]) {
        of_both!(self, sender => sender.handle_datagrams(now, path, &ReceivedBatch::single(remote, None, bytes)));
    }

    pub(crate) fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        of_both!(self, sender => sender.transmit(now, out));
    }

    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        of_both!(self, sender => sender.next_wakeup())
    }

    pub(crate) fn is_over(&self) -> bool {
        of_both!(self, sender => sender.outcome().is_some())
    }

    pub(crate) fn into_outcome(self) -> Option<Result<(), Error>> {
        of_both!(self, sender => sender.into_outcome())
    }

    pub(crate) fn progress(&self) -> Vec<Progress> {
        of_both!(self, sender => sender.progress())
    }

    pub(crate) fn upload(&self) -> &A {
        of_both!(self, sender => sender.application())
    }

    fn full(&mut self) -> &mut Sender<A> {
        match self {
            Self::Full(sender) => sender,
            Self::Interop(_) => panic!("not in mode interop"),
        }
    }

    pub(crate) fn record(&mut self, recording: Recording) {
        self.full().record(recording);
    }

    pub(crate) fn end_recording(&mut self, now: Instant) -> std::io::Result<()> {
        of_both!(self, sender => sender.end_recording(now))
    }

    pub(crate) fn set_pilot(&mut self, pilot: Box<dyn Pilot<Builtin>>) {
        self.full().set_pilot(pilot);
    }

    pub(crate) fn changes(&self) -> &[SchedulerChange] {
        of_both!(self, sender => sender.changes())
    }

    pub(crate) fn oversized(&self) -> u64 {
        of_both!(self, sender => sender.oversized())
    }
}
