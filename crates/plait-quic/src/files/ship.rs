//! An end that sends a file, as the loop around sockets sees it, in both modes.

use super::upload::Upload;
use crate::error::Error;
use crate::interop;
use crate::link::Outgoing;
use crate::pilot::Change;
use crate::sender::{Progress, Reroute, Sender};
use plait_sched::Scheduler;
use plait_transport::Counters;
use std::io;
use std::net::SocketAddr;
use std::time::Instant;

pub(super) trait Ship {
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
    fn reroute(&mut self, now: Instant, reroute: &Reroute);
    fn transmit(&mut self, now: Instant, out: &mut Vec<Outgoing>);
    fn next_wakeup(&self) -> Option<Instant>;
    fn stop(&mut self);
    fn outcome(&self) -> Option<&Result<(), Error>>;
    fn into_outcome(self) -> Option<Result<(), Error>>;
    fn upload(&self) -> &Upload;
    fn progress(&self) -> Vec<Progress>;
    fn counters(&self) -> Counters;

    /// Ends a recording, where there may be one.
    fn end_recording(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    /// The changes of its scheduler, where it can change.
    fn changes(&self) -> &[Change] {
        &[]
    }

    /// Packets that did not fit into QUIC's datagrams, where there are such.
    fn oversized(&self) -> u64 {
        0
    }
}

/// Both have the same functions, but for the part behind the type.
macro_rules! ship {
    ($sender:ty $(, $more:item)*) => {
        impl<W: Scheduler> Ship for $sender {
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

            fn reroute(&mut self, now: Instant, reroute: &Reroute) {
                <$sender>::reroute(self, now, reroute);
            }

            fn transmit(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
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

ship!(
    Sender<Upload, W>,
    fn end_recording(&mut self, now: Instant) -> io::Result<()> {
        Self::end_recording(self, now)
    },
    fn changes(&self) -> &[Change] {
        Self::changes(self)
    },
    fn oversized(&self) -> u64 {
        Self::oversized(self)
    }
);
ship!(interop::Sender<Upload, W>);
