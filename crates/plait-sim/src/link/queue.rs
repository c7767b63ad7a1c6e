//! The queue in front of a wire: drop-tail, limited in packets, bytes or time.

use plait_sched::{Duration, Time};
use plait_transport::ring::Ring;

use super::flight::Flight;

/// When an arriving packet is dropped. The packet in transmission counts until its last bit has left; a packet that
/// arrives at that very moment finds its place free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// Never.
    Infinite,
    /// If that many packets are there already. As in ns-2's `DropTail`, a limit of L means at most L packets in the
    /// system: L − 1 waiting and 1 in transmission.
    Packets(u64),
    /// If its bytes and those of the packets already there, the one in transmission included, exceed the limit.
    Bytes(u64),
    /// If its transmission would begin later than this after its arrival.
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

/// The packets whose last bit has not left yet, the one in transmission first.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    departures: Departures,
    packets: u64,
    bytes: u64,
}

/// Where it is kept when they leave.
#[derive(Clone, Debug)]
enum Departures {
    /// In the flight, where each arrives this long after it left, in that order; and the number of the first of them there.
    Flight { delay: Duration, first: u64 },
    /// Apart: moments and bytes.
    Apart(Ring<(Time, u32)>),
}

impl Backlog {
    /// `delay`: what each packet takes, if all take the same; `None` otherwise.
    pub(super) fn new(delay: Option<Duration>) -> Self {
        let apart = || Departures::Apart(Ring::default());
        let departures = delay.map_or_else(apart, |delay| Departures::Flight { delay, first: 0 });
        Self { departures, packets: 0, bytes: 0 }
    }

    /// Forgets what has left by `now`.
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

    /// A packet of so many bytes will leave at `departure`; it is put into the flight, too.
    #[inline]
    pub(super) fn push(&mut self, departure: Time, bytes: u32) {
        if let Departures::Apart(departures) = &mut self.departures {
            departures.push((departure, bytes));
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// The packet of this number, of so many bytes, arrives: if it was not forgotten yet it is now.
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
