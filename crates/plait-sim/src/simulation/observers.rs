//! The observation of a connection: of the stream that an end sends, and of the one that it receives.

use crate::application::ApplicationEvent;
use crate::recorder::Recorder;
use plait_sched::{Connection, Decision, Path, PathId, PathState, Time};
use plait_transport::{Observer, Sent};

/// The record of a connection, beyond the observation of its ends.
pub(crate) trait Record: Observer {
    /// Called when the transmission of this number arrives.
    fn arriving(&mut self, _transmission: u64) {}
    /// Called when the receiver has processed the packet that arrived.
    fn settle(&mut self, _now: Time) {}
    /// Called on an event in the application.
    fn note(&mut self, _now: Time, _event: ApplicationEvent) {}
}

impl Record for Recorder {
    fn arriving(&mut self, transmission: u64) {
        self.arriving(transmission);
    }

    fn settle(&mut self, now: Time) {
        self.settle(now);
    }

    fn note(&mut self, now: Time, event: ApplicationEvent) {
        match event {
            ApplicationEvent::BlockWritten { bytes, deadline } => self.block_written(now, bytes, deadline),
            ApplicationEvent::BlockArrived(number) => self.block_arrived(now, number),
            ApplicationEvent::Requested { request, response, deadline } => {
                self.requested(now, request, response, deadline);
            }
            ApplicationEvent::Answered => self.answered(now),
            ApplicationEvent::Responded(request) => self.responded_to(now, request),
            ApplicationEvent::Ended { messages, bytes } => self.ended(messages, bytes),
        }
    }
}

/// Forwards an end's events about the stream that it sends.
pub(super) struct Sending<'a, O>(pub(super) &'a mut O);

impl<O: Observer> Observer for Sending<'_, O> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sent(&mut self, now: Time, sent: &Sent) {
        self.0.sent(now, sent);
    }

    #[inline]
    fn decided(&mut self, now: Time, decision: &Decision, connection: &Connection, paths: &[Path]) {
        self.0.decided(now, decision, connection, paths);
    }

    #[inline]
    fn hears_decisions(&self) -> bool {
        self.0.hears_decisions()
    }

    #[inline]
    fn reason(&mut self) -> Option<&mut String> {
        self.0.reason()
    }

    fn path_state(&mut self, now: Time, path: PathId, state: PathState) {
        self.0.path_state(now, path, state);
    }
}

/// Forwards an end's events about the stream that it receives.
pub(super) struct Receiving<'a, O>(pub(super) &'a mut O);

impl<O: Observer> Observer for Receiving<'_, O> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn arrived(&mut self, now: Time, path: PathId, segment: u64, bytes: u32) {
        self.0.arrived(now, path, segment, bytes);
    }

    fn duplicate(&mut self, now: Time, path: PathId, segment: u64) {
        self.0.duplicate(now, path, segment);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn delivered(&mut self, now: Time, segment: u64, bytes: u32) {
        self.0.delivered(now, segment, bytes);
    }

    fn refused(&mut self, now: Time, path: PathId, segment: u64) {
        self.0.refused(now, path, segment);
    }
}
