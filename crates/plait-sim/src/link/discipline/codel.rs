//! CoDel: controlled delay (RFC 8289), as in Linux 6.12 (`include/net/codel_impl.h`,
//! `net/sched/sch_codel.c`).
//!
//! A queue is good if it drains now and then. If every packet of an `interval` waits longer than
//! `target`, CoDel drops one packet. While this persists, the intervals between drops shrink with
//! the square root of the number of drops: the rate of a TCP flow then falls evenly. With `ecn`, it
//! marks packets of senders that understand marks, instead of dropping them.
//!
//! This follows Linux where Linux and the RFC's pseudo-code differ. 1/√count is a fixed-point
//! number of 16 bits, which each drop improves by one step of Newton's method. A backlog of at most
//! the device's largest packet with its Ethernet header counts as no queue. A dropping state that
//! begins less than 16 intervals after the last state's `drop_next` starts with the number of drops
//! that the last state added, if it is more than one.
//!
//! One departure: time is in nanoseconds here, and in units of 1024 ns in Linux.

use plait_sched::Time;
use plait_transport::ring::Ring;

use super::{Discipline, Info, Ledger, Parameter, Parts, Payload, Preset, Settings, Unit, Waiting};
use crate::link::queue::QueueLimit;

pub(super) const INFO: Info = Info {
    name: "codel",
    doc: "Controlled delay (RFC 8289, as in Linux): it drops packets while the queueing delay \
        stays too long, at a rising rate. The queue's limit does not count the packet in \
        transmission.",
    limit: 1_000,
    parameters: &[TARGET, INTERVAL, ecn(false)],
};

const MILLISECOND: u64 = 1_000_000;
/// Eleven days: longer than any run.
const LONGEST: u64 = 1_000_000_000_000_000;

pub(super) const TARGET: Parameter = Parameter {
    key: "target",
    unit: Unit::Duration,
    default: Preset::Number(5 * MILLISECOND),
    range: (0, LONGEST),
    doc: "The acceptable standing queueing delay; at least the transmission time of some packets.",
};
pub(super) const INTERVAL: Parameter = Parameter {
    key: "interval",
    unit: Unit::Duration,
    default: Preset::Number(100 * MILLISECOND),
    range: (1, LONGEST),
    doc: "The time with queueing delays above the target after which a packet is dropped; about \
        the longest usual round-trip time.",
};
/// The parameter `ecn`: packets are marked instead of dropped.
pub(super) const fn ecn(default: bool) -> Parameter {
    Parameter {
        key: "ecn",
        unit: Unit::Truth,
        default: Preset::Number(default as u64),
        range: (0, 1),
        doc: "True: packets of senders with ECN are marked instead of dropped (RFC 3168).",
    }
}

/// The settings of the control law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// Nanoseconds, like all times here.
    target: u64,
    interval: u64,
    /// A backlog of at most this many bytes is no queue.
    mtu: u64,
    ecn: bool,
}

impl Law {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            target: settings.duration("target").as_nanos(),
            interval: settings.duration("interval").as_nanos(),
            mtu: settings.frame,
            ecn: settings.truth("ecn"),
        }
    }

    /// `codel_control_law`: `t` + interval / √count.
    const fn next(&self, t: u64, inverse_root: u16) -> u64 {
        t + ((self.interval as u128 * ((inverse_root as u128) << 16)) >> 32) as u64
    }
}

/// The source of packets for the control law (`dequeue_func`).
pub(super) trait Source<P> {
    /// Removes the head of the queue.
    fn take(&mut self) -> Option<Waiting<P>>;
    /// Waiting bytes of the whole discipline.
    fn backlog(&self) -> u64;
}

/// The state of the control law for a queue (`struct codel_vars`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    /// Drops and marks of this dropping state.
    pub(super) count: u32,
    /// The value of `count` at the start of the dropping state.
    last_count: u32,
    dropping: bool,
    /// 1/√count, in units of 2⁻¹⁶.
    inverse_root: u16,
    /// The time at which packets will have waited too long for an interval; 0 while they do not
    /// wait too long.
    first_above: u64,
    /// The time of the next drop, or the time at which the last dropping state would have had it.
    drop_next: u64,
}

impl Control {
    /// `codel_Newton_step`: x ← x / 2 · (3 − count · x²).
    fn newton_step(&mut self) {
        let inverse = u64::from(self.inverse_root) << 16;
        let square = (inverse * inverse) >> 32;
        // Wraps if count · x² is more than 3, as in Linux after a full queue has raised the count.
        let value = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        let value = (value >> 2).wrapping_mul(inverse) >> (32 - 2 + 1);
        self.inverse_root = ((value as u32) >> 16) as u16;
    }

    /// `codel_should_drop`.
    fn should_drop<P>(&mut self, packet: Option<&Waiting<P>>, law: &Law, backlog: u64, now: u64) -> bool {
        let Some(packet) = packet else {
            self.first_above = 0;
            return false;
        };
        if now - packet.since.as_nanos() < law.target || backlog <= law.mtu {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now + law.interval;
            return false;
        }
        now > self.first_above
    }

    /// `codel_dequeue`: returns the next packet of `source` that is not dropped.
    pub(super) fn dequeue<P: Payload>(
        &mut self,
        law: &Law,
        now: Time,
        source: &mut impl Source<P>,
        ledger: &mut Ledger<P>,
    ) -> Option<Waiting<P>> {
        let now = now.as_nanos();
        let Some(mut packet) = source.take() else {
            self.first_above = 0;
            self.dropping = false;
            return None;
        };
        let drop = self.should_drop(Some(&packet), law, source.backlog(), now);
        if self.dropping {
            if !drop {
                self.dropping = false;
            }
            // In a long queue, several drops may be due.
            while self.dropping && now >= self.drop_next {
                self.count = self.count.wrapping_add(1);
                self.newton_step();
                if law.ecn && ledger.mark(&mut packet) {
                    self.drop_next = law.next(self.drop_next, self.inverse_root);
                    break;
                }
                ledger.drop(packet);
                let next = source.take();
                if self.should_drop(next.as_ref(), law, source.backlog(), now) {
                    self.drop_next = law.next(self.drop_next, self.inverse_root);
                } else {
                    self.dropping = false;
                }
                packet = next?;
            }
            return Some(packet);
        }
        if !drop {
            return Some(packet);
        }
        let mut leaving = Some(packet);
        if !(law.ecn && ledger.mark(leaving.as_mut()?)) {
            ledger.drop(packet);
            leaving = source.take();
            // The result is not used: if this packet waited too long, too, the next call will see
            // it. The call resets `first_above` if the packet did not.
            self.should_drop(leaving.as_ref(), law, source.backlog(), now);
        }
        self.dropping = true;
        let added = self.count.wrapping_sub(self.last_count);
        let since_last = (now as i64).wrapping_sub(self.drop_next as i64);
        if added > 1 && since_last < (16 * law.interval) as i64 {
            self.count = added;
            self.newton_step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = law.next(now, self.inverse_root);
        leaving
    }
}

/// One queue under the control law.
#[derive(Clone, Debug)]
pub(in crate::link) struct Codel<P> {
    law: Law,
    control: Control,
    limit: QueueLimit,
    queue: Fifo<P>,
}

/// Packets in the order of their arrival.
#[derive(Clone, Debug)]
struct Fifo<P> {
    packets: Ring<Waiting<P>>,
    bytes: u64,
}

impl<P: Copy> Source<P> for Fifo<P> {
    fn take(&mut self) -> Option<Waiting<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }
}

impl<P: Payload> Codel<P> {
    pub(super) fn new(parts: &Parts<'_>) -> Self {
        Self {
            law: Law::new(parts.settings),
            control: Control::default(),
            limit: parts.limit,
            queue: Fifo { packets: Ring::default(), bytes: 0 },
        }
    }
}

impl<P: Payload> Discipline<P> for Codel<P> {
    /// `codel_qdisc_enqueue`.
    fn enqueue(&mut self, packet: Waiting<P>, ledger: &mut Ledger<P>) {
        let bytes = self.queue.bytes + u64::from(packet.bytes);
        if self.limit.exceeded(self.queue.packets.len() + 1, bytes) {
            return ledger.refuse(packet);
        }
        self.queue.bytes = bytes;
        self.queue.packets.push(packet);
    }

    fn dequeue(&mut self, now: Time, ledger: &mut Ledger<P>) -> Option<Waiting<P>> {
        self.control.dequeue(&self.law, now, &mut self.queue, ledger)
    }

    fn packets(&self) -> u64 {
        self.queue.packets.len()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes
    }
}
