//! FQ-CoDel: a queue per flow, each under CoDel's control law (RFC 8290), as in Linux 6.12
//! (`net/sched/sch_fq_codel.c`).
//!
//! A packet's flow is hashed to one of `flows` queues. Queues take turns of `quantum` bytes. A
//! queue that was empty has precedence over queues that never drain, so that flows with little data
//! hardly wait. If too much data waits, up to `drop_batch` packets are dropped at the head of the
//! longest queue, until half of its bytes are gone.
//!
//! Departures from Linux: Time is as in CoDel. `memory_limit` counts bytes on the wire; in Linux it
//! counts the packets' memory, which is more. The hash is not SipHash of addresses and ports with a
//! key of the machine. As in Linux, chance decides which flows share a queue; here it follows from
//! the scenario's seed. A TCP flow keeps its queue, as at every router that hashes headers. In a
//! host's own FQ-CoDel, Linux' sockets draw another queue after a timeout (`sk_rethink_txhash`).

use plait_sched::Time;

use super::codel::{Control, INTERVAL, Law, Source, TARGET, ecn};
use super::{Discipline, Info, Ledger, Parameter, Parts, Payload, Preset, Unit, Waiting};
use crate::link::queue::QueueLimit;

pub(super) const INFO: Info = Info {
    name: "fq-codel",
    doc: "A queue with controlled delay per flow, and turns between flows (RFC 8290, as in Linux): \
        no flow delays the others. The queue's limit counts packets of all flows, without the \
        packet in transmission.",
    limit: 10_240,
    parameters: &[
        TARGET,
        INTERVAL,
        Parameter {
            key: "quantum",
            unit: Unit::Bytes,
            default: Preset::Frame,
            range: (1, 1 << 20),
            doc: "The bytes that a flow may send in its turn. With 300B, small packets precede \
                large ones.",
        },
        Parameter {
            key: "flows",
            unit: Unit::Count,
            default: Preset::Number(1_024),
            range: (1, 65_536),
            doc: "The number of queues to which flows are hashed.",
        },
        Parameter {
            key: "memory_limit",
            unit: Unit::Bytes,
            default: Preset::Number(32 << 20),
            // At least the largest possible packet: otherwise nothing could be sent.
            range: (1 << 16, 1_000_000_000_000_000),
            doc: "The limit of queued bytes, in addition to the queue's limit; at least 65,536.",
        },
        Parameter {
            key: "drop_batch",
            unit: Unit::Count,
            default: Preset::Number(64),
            range: (1, 1_000_000),
            doc: "The largest number of packets of the longest queue that one overflow drops.",
        },
        ecn(true),
    ],
};

/// No packet, or no flow.
const NONE: u32 = u32::MAX;

/// One of the queues (`struct fq_codel_flow`). Packets and flows are linked lists of indices.
#[derive(Clone, Copy, Debug)]
struct Flow {
    head: u32,
    tail: u32,
    backlog: u64,
    deficit: i64,
    control: Control,
    /// Whether the flow is in one of the lists; `next` is the flow after it there.
    listed: bool,
    next: u32,
}

/// Flows that take turns, first come, first served.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    fn push(&mut self, number: u32, flows: &mut [Flow]) {
        flows[number as usize].next = NONE;
        match self.last {
            NONE => self.first = number,
            last => flows[last as usize].next = number,
        }
        self.last = number;
    }

    fn pop(&mut self, flows: &[Flow]) {
        self.first = flows[self.first as usize].next;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

/// Storage for packets, with reuse of free places.
#[derive(Clone, Debug)]
struct Slab<P> {
    places: Vec<(Waiting<P>, u32)>,
    free: u32,
}

impl<P: Copy> Slab<P> {
    fn put(&mut self, packet: Waiting<P>) -> u32 {
        let place = self.free;
        if place == NONE {
            self.places.push((packet, NONE));
            return (self.places.len() - 1) as u32;
        }
        self.free = self.places[place as usize].1;
        self.places[place as usize] = (packet, NONE);
        place
    }

    /// Returns the packet at `place` and the index of the packet behind it.
    fn take(&mut self, place: u32) -> (Waiting<P>, u32) {
        let taken = self.places[place as usize];
        self.places[place as usize].1 = self.free;
        self.free = place;
        taken
    }
}

/// The queues of all flows.
#[derive(Clone, Debug)]
pub(in crate::link) struct FqCodel<P> {
    law: Law,
    limit: QueueLimit,
    quantum: i64,
    memory_limit: u64,
    drop_batch: u64,
    perturbation: u64,
    flows: Box<[Flow]>,
    slab: Slab<P>,
    new_flows: List,
    old_flows: List,
    packets: u64,
    bytes: u64,
}

/// One flow's queue, as the source of the control law.
struct Head<'a, P> {
    flow: &'a mut Flow,
    slab: &'a mut Slab<P>,
    packets: &'a mut u64,
    bytes: &'a mut u64,
}

impl<P: Copy> Source<P> for Head<'_, P> {
    fn take(&mut self) -> Option<Waiting<P>> {
        if self.flow.head == NONE {
            return None;
        }
        let (packet, next) = self.slab.take(self.flow.head);
        self.flow.head = next;
        self.flow.backlog -= u64::from(packet.bytes);
        *self.packets -= 1;
        *self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// The backlog of all flows, as in Linux.
    fn backlog(&self) -> u64 {
        *self.bytes
    }
}

impl<P: Payload> FqCodel<P> {
    pub(super) fn new(parts: &Parts<'_>) -> Self {
        let settings = parts.settings;
        let idle = Flow {
            head: NONE,
            tail: NONE,
            backlog: 0,
            deficit: 0,
            control: Control::default(),
            listed: false,
            next: NONE,
        };
        Self {
            law: Law::new(settings),
            limit: parts.limit,
            quantum: settings.get("quantum") as i64,
            memory_limit: settings.get("memory_limit"),
            drop_batch: settings.get("drop_batch"),
            perturbation: parts.perturbation,
            flows: vec![idle; settings.get("flows") as usize].into_boxed_slice(),
            slab: Slab { places: Vec::new(), free: NONE },
            new_flows: List::EMPTY,
            old_flows: List::EMPTY,
            packets: 0,
            bytes: 0,
        }
    }

    /// The queue of a flow: SplitMix64's mixing function of the flow and the perturbation, scaled.
    fn queue_of(&self, flow: u64) -> u32 {
        let mut z = flow.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(self.perturbation);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * self.flows.len() as u128) >> 64) as u32
    }

    fn head(&mut self, number: u32) -> Head<'_, P> {
        Head {
            flow: &mut self.flows[number as usize],
            slab: &mut self.slab,
            packets: &mut self.packets,
            bytes: &mut self.bytes,
        }
    }

    /// `fq_codel_drop`: drops packets at the head of the longest queue, until half of its bytes are
    /// gone.
    #[cold]
    fn shed(&mut self, ledger: &mut Ledger<P>) {
        let mut fattest = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            if flow.backlog > self.flows[fattest].backlog {
                fattest = number;
            }
        }
        let (threshold, batch) = (self.flows[fattest].backlog / 2, self.drop_batch);
        let mut queue = self.head(fattest as u32);
        let (mut count, mut bytes) = (0, 0);
        while let Some(packet) = queue.take() {
            ledger.refuse(packet);
            count += 1;
            bytes += u64::from(packet.bytes);
            if count >= batch || bytes >= threshold {
                break;
            }
        }
        // Raises the count, so that the control law also drops more often.
        let control = &mut queue.flow.control;
        control.count = control.count.wrapping_add(count as u32);
    }
}

impl<P: Payload> Discipline<P> for FqCodel<P> {
    /// `fq_codel_enqueue`.
    fn enqueue(&mut self, packet: Waiting<P>, ledger: &mut Ledger<P>) {
        let number = self.queue_of(packet.payload.flow());
        let place = self.slab.put(packet);
        let flow = &mut self.flows[number as usize];
        match flow.head {
            NONE => flow.head = place,
            _ => self.slab.places[flow.tail as usize].1 = place,
        }
        flow.tail = place;
        flow.backlog += u64::from(packet.bytes);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new_flows.push(number, &mut self.flows);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        if self.limit.exceeded(self.packets, self.bytes) || self.bytes > self.memory_limit {
            self.shed(ledger);
        }
    }

    /// `fq_codel_dequeue`.
    fn dequeue(&mut self, now: Time, ledger: &mut Ledger<P>) -> Option<Waiting<P>> {
        loop {
            let new = self.new_flows.first != NONE;
            let list = if new { &mut self.new_flows } else { &mut self.old_flows };
            let number = list.first;
            if number == NONE {
                return None;
            }
            if self.flows[number as usize].deficit <= 0 {
                list.pop(&self.flows);
                self.flows[number as usize].deficit += self.quantum;
                self.old_flows.push(number, &mut self.flows);
                continue;
            }
            let mut control = self.flows[number as usize].control;
            let law = self.law;
            let packet = control.dequeue(&law, now, &mut self.head(number), ledger);
            self.flows[number as usize].control = control;
            if let Some(packet) = packet {
                self.flows[number as usize].deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
            // An empty new flow joins the old ones, so that new flows do not starve old ones.
            let list = if new { &mut self.new_flows } else { &mut self.old_flows };
            list.pop(&self.flows);
            if new && self.old_flows.first != NONE {
                self.old_flows.push(number, &mut self.flows);
            } else {
                self.flows[number as usize].listed = false;
            }
        }
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
