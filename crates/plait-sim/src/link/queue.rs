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
    packets: u64,
    bytes: u64,
    /// The departure of the first packet plus `delay`, and its bytes.
    first: (Time, u32),
    /// The delay of all packets, if departures follow from arrivals; otherwise zero.
    delay: Duration,
    others: Others,
}

/// The place of the packets' departure times, in their order.
#[derive(Clone, Debug)]
enum Others {
    /// The flight, if packets arrive `delay` after their departure and in order. It has the first
    /// packet's number there.
    Flight(u64),
    /// A queue of its own: departure times and bytes of all packets but the first.
    Apart(Ring<(Time, u32)>),
}

impl Backlog {
    /// `delay` is the delay of all packets if it is the same for all, otherwise `None`.
    pub(super) fn new(delay: Option<Duration>) -> Self {
        Self {
            packets: 0,
            bytes: 0,
            first: (Time::MAX, 0),
            delay: delay.unwrap_or_default(),
            others: if delay.is_some() { Others::Flight(0) } else { Others::Apart(Ring::default()) },
        }
    }

    /// Removes the packets that have left by `now`. There is seldom more than one: a busy link sends
    /// one packet in the time in which the next one arrives.
    #[inline(always)]
    pub(super) fn advance<P: Copy>(&mut self, now: Time, flight: &Flight<P>) {
        let edge = now.saturating_add(self.delay);
        if self.has_left(edge) {
            self.leave(flight);
            if self.has_left(edge) {
                self.advance_far(edge, flight);
            }
        }
    }

    #[inline(never)]
    fn advance_far<P: Copy>(&mut self, edge: Time, flight: &Flight<P>) {
        while self.has_left(edge) {
            self.leave(flight);
        }
    }

    /// Whether the first packet has left `delay` before `edge`.
    #[inline(always)]
    fn has_left(&self, edge: Time) -> bool {
        self.packets > 0 && self.first.0 <= edge
    }

    /// Removes the first packet.
    #[inline(always)]
    fn leave<P: Copy>(&mut self, flight: &Flight<P>) {
        self.packets -= 1;
        self.bytes -= u64::from(self.first.1);
        let next = match &mut self.others {
            Others::Flight(first) => {
                *first += 1;
                flight.numbered(*first).map(|packet| (packet.time, packet.bytes()))
            }
            Others::Apart(others) => others.pop_front(),
        };
        self.first = next.unwrap_or((Time::MAX, 0));
    }

    /// Adds a packet that will leave at `departure`. The caller puts it into the flight.
    #[inline(always)]
    pub(super) fn push(&mut self, departure: Time, bytes: u32) {
        if self.packets == 0 {
            self.first = (departure.saturating_add(self.delay), bytes);
        } else if let Others::Apart(others) = &mut self.others {
            others.push((departure, bytes));
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// Removes the packet `number`, which has arrived, if it is still here.
    #[inline(always)]
    pub(super) fn arrives<P: Copy>(&mut self, number: u64, flight: &Flight<P>) {
        if let Others::Flight(first) = self.others
            && first == number
        {
            self.leave_late(flight);
        }
    }

    #[inline(never)]
    fn leave_late<P: Copy>(&mut self, flight: &Flight<P>) {
        self.leave(flight);
    }

    pub(super) fn waiting_packets(&self) -> u64 {
        self.packets.saturating_sub(1)
    }

    pub(super) fn waiting_bytes(&self) -> u64 {
        self.bytes - u64::from(self.first.1)
    }
}
