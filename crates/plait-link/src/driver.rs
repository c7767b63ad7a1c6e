//! The loop between a clock, file descriptors and a relay.

use std::io;
use std::os::fd::RawFd;
use std::time::Instant;

use plait_sched::{Duration, Time};
use plait_sim::scenario::Way;

use crate::error::Error;
use crate::relay::{Arrival, Relay};
use crate::system::{self, Signal, Signals};

/// Where packets come from and go to.
#[expect(clippy::len_without_is_empty, reason = "there is always a port")]
pub trait Ports {
    /// What can be read, in a fixed order.
    fn descriptors(&self) -> Vec<RawFd>;

    /// How many they are. New ones come behind all others, and none goes.
    fn len(&self) -> usize;

    /// Reads one packet from the descriptor with this index; `None` if there is none now.
    ///
    /// # Errors
    /// If the descriptor is of no use any more.
    fn receive(&mut self, index: usize) -> io::Result<Option<Received<'_>>>;

    /// Hands a packet out. What cannot be handed out is gone, as on any wire.
    fn deliver(&mut self, arrival: &Arrival<'_>);
}

/// A packet that was read.
#[derive(Debug)]
pub struct Received<'a> {
    /// Its path.
    pub path: usize,
    /// Its direction.
    pub way: Way,
    /// How many bytes it takes on links.
    pub bytes: u32,
    /// The packet.
    pub content: &'a [u8],
}

/// Most packets that are read from one descriptor before another one's turn comes.
const BATCH: usize = 32;

/// A clock that began at zero when it was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "here is where the clock is")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since then.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.0.elapsed().as_nanos() as u64)
    }
}

/// Carries packets until `on_signal` says that it is enough; its value is returned. In the last `spin` before something is due
/// the loop looks at the clock instead of sleeping: punctual, at the price of a core while packets are under way.
pub(crate) fn run<P: Ports, T>(
    relay: &mut Relay,
    ports: &mut P,
    clock: Clock,
    spin: Duration,
    signals: &Signals,
    mut on_signal: impl FnMut(Signal) -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    system::be_punctual();
    let mut waiting = Vec::new();
    loop {
        if waiting.len() != ports.len() + 1 {
            waiting = ports.descriptors().into_iter().map(system::readable).collect();
            waiting.push(system::readable(signals.descriptor()));
        }
        let now = clock.now();
        while let Some(arrival) = relay.poll(now) {
            ports.deliver(&arrival);
        }
        let patience = relay.next().map(|due| {
            let left = due.since(clock.now());
            Duration::from_nanos(left.as_nanos().saturating_sub(spin.as_nanos()))
        });
        system::wait(&mut waiting, patience).map_err(|error| Error::system("waiting for packets", error))?;
        let last = waiting.len() - 1;
        if waiting[last].revents != 0 {
            while let Some(signal) = signals.next() {
                if let Some(value) = on_signal(signal)? {
                    return Ok(value);
                }
            }
        }
        for index in (0..last).filter(|&index| waiting[index].revents != 0) {
            for _ in 0..BATCH {
                // Packets queue up while others are handled; each has the time at which it is read.
                let received = ports.receive(index);
                let received = received.map_err(|error| Error::system("reading packets", error))?;
                let Some(one) = received else { break };
                relay.send(clock.now(), one.path, one.way, one.bytes, one.content);
            }
        }
    }
}
