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
    /// Whether a packet that arrives `now`, and whose transmission would begin at `start`, finds room.
    #[inline]
    pub(super) fn admits(self, backlog: &Backlog, bytes: u32, now: Time, start: Time) -> bool {
        match self {
            Self::Infinite => true,
            Self::Packets(limit) => backlog.packets < limit,
            Self::Bytes(limit) => backlog.bytes + u64::from(bytes) <= limit,
            Self::Wait(longest) => start.since(now) <= longest,
        }
    }
}

/// The packets whose last bit has not left yet. Departures count late: when the limit seems to be
/// exceeded, and at the latest with the arrival. After [`Backlog::advance`], the first packet is in
/// transmission.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    packets: u64,
    /// The delay of all packets, if departures follow from arrivals; otherwise zero.
    delay: Duration,
    bytes: u64,
    departures: Departures,
}

/// The place of the packets' departure times, in their order.
#[derive(Clone, Debug)]
enum Departures {
    /// The flight, if packets arrive `delay` after their departure and in order. It has the first
    /// packet's number there.
    Flight(u64),
    /// A queue of its own: departure times and bytes.
    Apart(Ring<(Time, u32)>),
}

impl Backlog {
    /// `delay` is the delay of all packets if it is the same for all, otherwise `None`.
    pub(super) fn new(delay: Option<Duration>) -> Self {
        Self {
            packets: 0,
            bytes: 0,
            delay: delay.unwrap_or_default(),
            departures: match delay {
                Some(_) => Departures::Flight(0),
                None => Departures::Apart(Ring::default()),
            },
        }
    }

    /// The first packet: its departure plus `delay`, and its bytes.
    #[inline]
    fn first<P: Copy>(&self, flight: &Flight<P>) -> Option<(Time, u32)> {
        match &self.departures {
            Departures::Flight(first) => flight.numbered(*first).map(|packet| (packet.time, packet.bytes())),
            Departures::Apart(departures) => departures.front().copied(),
        }
    }

    /// Removes the packets that have left by `now`.
    #[inline(never)]
    pub(super) fn advance<P: Copy>(&mut self, now: Time, flight: &Flight<P>) {
        let edge = now.saturating_add(self.delay);
        while let Some((departure, bytes)) = self.first(flight)
            && departure <= edge
        {
            self.remove_first(bytes);
        }
    }

    /// Removes the first packet. `bytes` is its size if departures follow from arrivals.
    #[inline(always)]
    fn remove_first(&mut self, bytes: u32) {
        let bytes = match &mut self.departures {
            Departures::Flight(first) => {
                *first += 1;
                bytes
            }
            Departures::Apart(departures) => departures.pop_front().map_or(0, |(_, bytes)| bytes),
        };
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }

    /// Adds a packet that will leave at `departure`. The caller puts it into the flight.
    #[inline(always)]
    pub(super) fn push(&mut self, departure: Time, bytes: u32) {
        if let Departures::Apart(departures) = &mut self.departures {
            departures.push((departure, bytes));
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// A packet of `bytes` has arrived, and this number is inside. As many packets have left as have
    /// arrived, at least.
    #[inline(always)]
    pub(super) fn arrived(&mut self, bytes: u32, inside: usize) {
        if self.packets > inside as u64 {
            self.remove_first(bytes);
        }
    }

    pub(super) fn waiting_packets(&self) -> u64 {
        self.packets.saturating_sub(1)
    }

    pub(super) fn waiting_bytes<P: Copy>(&self, flight: &Flight<P>) -> u64 {
        self.bytes - self.first(flight).map_or(0, |(_, bytes)| u64::from(bytes))
    }
}
