//! The sender in both modes, as seen by the socket loop.

use super::upload::Upload;
use crate::connection::DatagramBatch;
use crate::error::Error;
use crate::interop;
use crate::pilot::SchedulerChange;
use crate::sender::{AddressChange, Progress, Sender};
use plait_sched::Scheduler;
use plait_transport::Counters;
use std::io;
use std::net::SocketAddr;
use std::time::Instant;

pub(super) trait FileSender {
    fn handle_datagrams(
        &mut self,
        now: Instant,
        path: usize,
        remote: SocketAddr,
        datagrams: &[u8],
        each: usize,
    );
    fn handle_timeout(&mut self, now: Instant);
    fn handle_failure(&mut self, path: usize, trouble: &str);
    fn give_up(&mut self, reason: String);
    fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange);
    fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>);
    fn next_wakeup(&self) -> Option<Instant>;
    fn stop(&mut self);
    fn outcome(&self) -> Option<&Result<(), Error>>;
    fn into_outcome(self) -> Option<Result<(), Error>>;
    fn upload(&self) -> &Upload;
    fn progress(&self) -> Vec<Progress>;
    fn counters(&self) -> Counters;

    /// Ends the recording, if there is one.
    fn end_recording(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    /// Returns the changes of the scheduler, if it can change.
    fn changes(&self) -> &[SchedulerChange] {
        &[]
    }

    /// Returns the number of packets that did not fit into QUIC datagrams.
    fn oversized(&self) -> u64 {
        0
    }
}

/// Implements `FileSender` by the type's own methods of the same names, plus the given items.
macro_rules! impl_file_sender {
    ($sender:ty $(, $more:item)*) => {
        impl<W: Scheduler> FileSender for $sender {
            fn handle_datagrams(
                &mut self,
                now: Instant,
                path: usize,
                remote: SocketAddr,
                datagrams: &[u8],
                each: usize,
            ) {
                <$sender>::handle_datagrams(self, now, path, remote, datagrams, each);
            }

            fn handle_timeout(&mut self, now: Instant) {
                <$sender>::handle_timeout(self, now);
            }

            fn handle_failure(&mut self, path: usize, trouble: &str) {
                <$sender>::handle_failure(self, path, trouble);
            }

            fn give_up(&mut self, reason: String) {
                <$sender>::give_up(self, reason);
            }

            fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange) {
                <$sender>::handle_address_change(self, now, address_change);
            }

            fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
                <$sender>::transmit(self, now, out);
            }

            fn next_wakeup(&self) -> Option<Instant> {
                <$sender>::next_wakeup(self)
            }

            fn stop(&mut self) {
                <$sender>::stop(self);
            }

            fn outcome(&self) -> Option<&Result<(), Error>> {
                <$sender>::outcome(self)
            }

            fn into_outcome(self) -> Option<Result<(), Error>> {
                <$sender>::into_outcome(self)
            }

            fn upload(&self) -> &Upload {
                <$sender>::application(self)
            }

            fn progress(&self) -> Vec<Progress> {
                <$sender>::progress(self)
            }

            fn counters(&self) -> Counters {
                <$sender>::counters(self)
            }

            $($more)*
        }
    };
}

impl_file_sender!(
    Sender<Upload, W>,
    fn end_recording(&mut self, now: Instant) -> io::Result<()> {
        Self::end_recording(self, now)
    },
    fn changes(&self) -> &[SchedulerChange] {
        Self::changes(self)
    },
    fn oversized(&self) -> u64 {
        Self::oversized(self)
    }
);
impl_file_sender!(interop::Sender<Upload, W>);
