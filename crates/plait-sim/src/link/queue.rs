//! The queue in front of a wire: drop-tail, limited in packets, bytes or time.

use plait_sched::{Duration, Time};
use plait_transport::ring::Ring;

use super::flight::Flight;

/// The rule by which an arriving packet is dropped. The packet in transmission counts until its
/// last bit has left. A packet that arrives exactly then finds its place free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// No packet is dropped.
    Infinite,
    /// A packet is dropped if this many packets are already there. As in ns-2's `DropTail`, a limit
    /// of L means at most L packets in the system: L − 1 waiting and 1 in transmission.
    Packets(u64),
    /// A packet is dropped if its bytes and those of the packets already there exceed the limit.
    /// The packet in transmission counts.
    Bytes(u64),
    /// A packet is dropped if it would wait longer than this for its transmission.
    Wait(Duration),
}

impl QueueLimit {
    #[inline]
    pub(super) fn admits(self, backlog: &Backlog, bytes: u32, wait: Duration) -> bool {
        match self {
            Self::Infinite => true,
            Self::Packets(limit) => backlog.packets < limit,
            Self::Bytes(limit) => backlog.bytes + u64::from(bytes) <= limit,
            Self::Wait(longest) => wait <= longest,
        }
    }
}

/// The packets whose last bit has not left yet. The first one is in transmission.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    departures: Departures,
    packets: u64,
    bytes: u64,
}

/// The place of the departure times.
#[derive(Clone, Debug)]
enum Departures {
    /// The flight, if packets arrive `delay` after their departure and in order. `first` is the
    /// first packet's number there.
    Flight { delay: Duration, first: u64 },
    /// A queue of its own: departure times and bytes.
    Apart(Ring<(Time, u32)>),
}

impl Backlog {
    /// `delay` is the delay of all packets if it is the same for all, otherwise `None`.
    pub(super) fn new(delay: Option<Duration>) -> Self {
        let apart = || Departures::Apart(Ring::default());
        let departures = delay.map_or_else(apart, |delay| Departures::Flight { delay, first: 0 });
        Self { departures, packets: 0, bytes: 0 }
    }

    /// Removes the packets that have left by `now`.
    #[inline]
    pub(super) fn advance<P: Copy>(&mut self, now: Time, flight: &Flight<P>) {
        match &mut self.departures {
            Departures::Flight { delay, first } => {
                while let Some((arrival, bytes)) = flight.numbered(*first)
                    && arrival <= now.saturating_add(*delay)
                {
                    *first += 1;
                    self.packets -= 1;
                    self.bytes -= u64::from(bytes);
                }
            }
            Departures::Apart(departures) => {
                while let Some(&(departure, bytes)) = departures.front()
                    && departure <= now
                {
                    departures.pop_front();
                    self.packets -= 1;
                    self.bytes -= u64::from(bytes);
                }
            }
        }
    }

    /// Adds a packet that will leave at `departure`. The caller puts it into the flight.
    #[inline]
    pub(super) fn push(&mut self, departure: Time, bytes: u32) {
        if let Departures::Apart(departures) = &mut self.departures {
            departures.push((departure, bytes));
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// Removes the packet `number`, which arrives, if it is still here.
    #[inline]
    pub(super) fn arrives(&mut self, number: u64, bytes: u32) {
        if let Departures::Flight { first, .. } = &mut self.departures
            && *first == number
        {
            *first += 1;
            self.packets -= 1;
            self.bytes -= u64::from(bytes);
        }
    }

    pub(super) fn waiting_packets(&self) -> u64 {
        self.packets.saturating_sub(1)
    }

    pub(super) fn waiting_bytes<P: Copy>(&self, flight: &Flight<P>) -> u64 {
        let sending = match &self.departures {
            Departures::Flight { first, .. } => flight.numbered(*first).map(|(_, bytes)| bytes),
            Departures::Apart(departures) => departures.front().map(|&(_, bytes)| bytes),
        };
        self.bytes - u64::from(sending.unwrap_or(0))
    }
}
