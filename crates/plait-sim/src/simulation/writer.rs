//! The application's writes at both ends of a connection.

use super::observers::Record;
use crate::application::{ApplicationEvent, ConnectionEnd, ConnectionWriter};
use plait_sched::{Builtin, Scheduler, Time};
use plait_transport::WriteOptions;
use plait_transport::endpoint::Endpoint;

/// Both ends, for the application's writes.
pub(super) struct Both<'a, S, O> {
    pub(super) now: Time,
    pub(super) near: &'a mut Endpoint<S>,
    pub(super) far: &'a mut Endpoint<Builtin>,
    pub(super) observer: &'a mut O,
    pub(super) written_bytes: &'a mut u64,
    pub(super) wrote: [bool; 2],
}

impl<S: Scheduler, O: Record> ConnectionWriter for Both<'_, S, O> {
    fn write(&mut self, end: ConnectionEnd, bytes: u64, options: &WriteOptions) {
        self.wrote[end as usize] = true;
        match end {
            ConnectionEnd::Near => {
                *self.written_bytes = self.written_bytes.saturating_add(bytes);
                self.near.write_message(bytes, options);
            }
            ConnectionEnd::Far => {
                self.far.write_message(bytes, options);
            }
        }
    }

    fn write_endlessly(&mut self, end: ConnectionEnd) {
        self.wrote[end as usize] = true;
        match end {
            ConnectionEnd::Near => {
                *self.written_bytes = u64::MAX;
                self.near.write_endlessly();
            }
            ConnectionEnd::Far => self.far.write_endlessly(),
        }
    }

    fn finish(&mut self, end: ConnectionEnd) {
        match end {
            ConnectionEnd::Near => self.near.finish(),
            ConnectionEnd::Far => self.far.finish(),
        }
    }

    fn note(&mut self, event: ApplicationEvent) {
        self.observer.note(self.now, event);
    }
}
