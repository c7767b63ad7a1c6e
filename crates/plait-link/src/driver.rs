//! The loop between a clock, file descriptors and a relay.

use std::io;
use std::os::fd::RawFd;
use std::time::Instant;

use plait_sched::{Duration, Time};
use plait_sim::scenario::Direction;

use crate::error::Error;
use crate::relay::{Arrival, Relay};
use crate::system::{self, Signal, Signals};

/// Sources and destinations of packets.
#[expect(clippy::len_without_is_empty, reason = "there is always a port")]
pub trait Ports {
    /// Returns the descriptors to read from, in a fixed order.
    fn descriptors(&self) -> Vec<RawFd>;

    /// Returns the number of descriptors. New ones come after all others, and none is removed.
    fn len(&self) -> usize;

    /// Reads one packet from the descriptor with this index. Returns `None` if there is none now.
    ///
    /// # Errors
    /// If the descriptor is no longer usable.
    fn receive(&mut self, index: usize) -> io::Result<Option<Received<'_>>>;

    /// Delivers a packet. A packet that cannot be delivered is lost, as on any wire.
    fn deliver(&mut self, arrival: &Arrival<'_>);
}

/// A packet that was read.
#[derive(Debug)]
pub struct Received<'a> {
    /// The path.
    pub path: usize,
    /// The direction.
    pub direction: Direction,
    /// Size of the packet on the links.
    pub bytes: u32,
    /// The packet.
    pub content: &'a [u8],
}

/// Largest number of packets read from one descriptor before the next descriptor.
const BATCH: usize = 32;

/// A clock that starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts the clock now.
    #[expect(clippy::disallowed_methods, reason = "here is where the clock is")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.0.elapsed().as_nanos() as u64)
    }
}

/// Relays packets until `on_signal` returns a value, and returns this value. In the last `spin`
/// before the next event, the loop polls the clock instead of sleeping. That is precise, at the
/// price of a core while packets are in flight.
pub(crate) fn run<P: Ports, T>(
    relay: &mut Relay,
    ports: &mut P,
    clock: Clock,
    spin: Duration,
    signals: &Signals,
    mut on_signal: impl FnMut(Signal) -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    system::set_timer_slack();
    let mut polled = Vec::new();
    loop {
        if polled.len() != ports.len() + 1 {
            polled = ports.descriptors().into_iter().map(system::readable).collect();
            polled.push(system::readable(signals.descriptor()));
        }
        let now = clock.now();
        while let Some(arrival) = relay.poll(now) {
            ports.deliver(&arrival);
        }
        let timeout = relay.next().map(|due| {
            let left = due.since(clock.now());
            Duration::from_nanos(left.as_nanos().saturating_sub(spin.as_nanos()))
        });
        system::wait(&mut polled, timeout).map_err(|error| Error::system("waiting for packets", error))?;
        let last = polled.len() - 1;
        if polled[last].revents != 0 {
            while let Some(signal) = signals.next() {
                if let Some(value) = on_signal(signal)? {
                    return Ok(value);
                }
            }
        }
        for index in (0..last).filter(|&index| polled[index].revents != 0) {
            for _ in 0..BATCH {
                // Packets queue up while others are processed. Each packet gets the time at which
                // it is read.
                let received = ports.receive(index);
                let received = received.map_err(|error| Error::system("reading packets", error))?;
                let Some(one) = received else { break };
                relay.send(clock.now(), one.path, one.direction, one.bytes, one.content);
            }
        }
    }
}
