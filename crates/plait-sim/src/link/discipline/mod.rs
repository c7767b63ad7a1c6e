//! Active queue management: queues that decide about a packet when the packet leaves them, and not
//! only when it arrives.
//!
//! A link with a *drop-tail* queue computes a packet's whole fate when the packet enters, and does
//! not use this module. Any other discipline is a `Queue` between the link's entrance and its
//! transmitter. It decides about a packet when its transmission would begin, because only then is
//! its waiting time known.
//!
//! To add a discipline, add a file with a type, its `INFO`, its `new` and `Discipline`, and a line
//! in the list below. The scenario's key, its reader and writer, the reference and the `tc` line of
//! the real kernel follow from `INFO`.
//!
//! A pop of such a link may find nothing for the outside (`Exit::Nothing`): the link was due for
//! the next question to its queue (`link/active.rs`). Dropped packets leave as `Exit::Dropped`, so
//! every packet leaves by one exit. Parameters have the names of `tc`.

mod codel;
mod fq_codel;

#[cfg(test)]
mod tests;

use plait_sched::{Duration, Time};
use plait_transport::ring::Ring;

use super::queue::QueueLimit;

/// A packet's content, as far as a discipline needs it.
pub trait Payload: Copy + Default {
    /// The packet's flow. Disciplines that divide a link between flows hash it.
    fn flow(&self) -> u64 {
        0
    }

    /// Marks that the packet met congestion (RFC 3168's CE). Returns false if its sender does not
    /// understand marks.
    fn mark(&mut self) -> bool {
        false
    }
}

impl Payload for () {}
impl Payload for u64 {}
impl Payload for &str {}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting<P> {
    pub(super) payload: P,
    pub(super) bytes: u32,
    /// Its order among events at the same time.
    pub(super) order: u64,
    /// The time of its arrival.
    pub(super) since: Time,
}

/// Dropped packets and counters of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Ledger<P> {
    /// Dropped packets that have not left the link yet.
    pub(super) gone: Ring<Waiting<P>>,
    pub(super) counts: Counts,
}

/// Number of interventions of a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Packets marked.
    pub marked: u64,
    /// Packets dropped because of their delay.
    pub dropped: u64,
    /// Packets dropped because the queue was full.
    pub over_limit: u64,
}

impl<P: Payload> Ledger<P> {
    pub(super) fn new() -> Self {
        Self { gone: Ring::default(), counts: Counts::default() }
    }

    fn mark(&mut self, packet: &mut Waiting<P>) -> bool {
        let marked = packet.payload.mark();
        self.counts.marked += u64::from(marked);
        marked
    }

    fn drop(&mut self, packet: Waiting<P>) {
        self.counts.dropped += 1;
        self.gone.push(packet);
    }

    fn refuse(&mut self, packet: Waiting<P>) {
        self.counts.over_limit += 1;
        self.gone.push(packet);
    }
}

/// A queue that the transmitter asks for a packet when it is free. Every packet that enters leaves
/// through `dequeue` or goes to `ledger`.
pub(super) trait Discipline<P: Payload> {
    /// Takes a packet that arrives.
    fn enqueue(&mut self, packet: Waiting<P>, ledger: &mut Ledger<P>);
    /// Returns the packet whose transmission begins now. The transmitter also calls it once after
    /// the last packet has left.
    fn dequeue(&mut self, now: Time, ledger: &mut Ledger<P>) -> Option<Waiting<P>>;
    /// Waiting packets.
    fn packets(&self) -> u64;
    /// Waiting bytes.
    fn bytes(&self) -> u64;
}

/// The description of a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Its name in a scenario. In Linux, underscores replace hyphens.
    pub name: &'static str,
    /// Its purpose, in a sentence or two, with its source.
    pub doc: &'static str,
    /// The default limit, in packets.
    pub limit: u64,
    /// Its parameters, with the names that `tc` uses.
    pub parameters: &'static [Parameter],
}

/// One parameter of a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name in a scenario and in `tc`.
    pub key: &'static str,
    /// The kind of amount.
    pub unit: Unit,
    /// Its default.
    pub default: Preset,
    /// The smallest and the largest valid value.
    pub range: (u64, u64),
    /// Its meaning.
    pub doc: &'static str,
}

/// The unit of a parameter's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Duration,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// 0 is false, 1 true.
    Truth,
}

/// The default of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// A number.
    Number(u64),
    /// A full packet with its Ethernet header, in bytes.
    Frame,
}

/// Size of an Ethernet header. Linux' disciplines add it to a device's largest packet
/// (`psched_mtu`), independently of the size of packets on the wire.
const ETHERNET: u32 = 14;

/// A discipline with its checked parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    info: &'static Info,
    values: [u64; MOST_PARAMETERS],
    frame: u64,
}

/// More than any discipline has.
const MOST_PARAMETERS: usize = 12;

impl Settings {
    /// The discipline of `info` in front of a wire whose largest packet has `packet` bytes. `given`
    /// returns the user's value of a parameter, if there is one, within the parameter's range.
    ///
    /// # Errors
    /// Those of `given`.
    pub fn new<E>(
        info: &'static Info,
        packet: u32,
        mut given: impl FnMut(&'static Parameter) -> Result<Option<u64>, E>,
    ) -> Result<Self, E> {
        let frame = u64::from(packet + ETHERNET);
        let mut values = [0; MOST_PARAMETERS];
        for (value, parameter) in values.iter_mut().zip(info.parameters) {
            *value = given(parameter)?.unwrap_or(match parameter.default {
                Preset::Number(number) => number,
                Preset::Frame => frame,
            });
        }
        Ok(Self { info, values, frame })
    }

    /// The discipline with all its defaults.
    pub fn preset(info: &'static Info, packet: u32) -> Self {
        let Ok(made) = Self::new(info, packet, |_| Ok::<_, std::convert::Infallible>(None));
        made
    }

    /// The description of the discipline.
    pub const fn info(&self) -> &'static Info {
        self.info
    }

    /// Every parameter with its value.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static Parameter, u64)> + '_ {
        self.info.parameters.iter().zip(self.values)
    }

    /// The value of the parameter `key`.
    ///
    /// # Panics
    /// If the discipline describes no such parameter.
    fn get(&self, key: &str) -> u64 {
        let found = self.parameters().find(|(parameter, _)| parameter.key == key);
        found.unwrap_or_else(|| panic!("{} describes no parameter {key}", self.info.name)).1
    }

    fn duration(&self, key: &str) -> Duration {
        Duration::from_nanos(self.get(key))
    }

    fn truth(&self, key: &str) -> bool {
        self.get(key) != 0
    }
}

/// The input of a discipline's constructor.
pub(super) struct Parts<'a> {
    pub(super) settings: &'a Settings,
    pub(super) limit: QueueLimit,
    /// Makes the hashes of two links, or of two seeds, differ.
    pub(super) perturbation: u64,
}

impl QueueLimit {
    /// Whether this number of packets and bytes is above the limit.
    fn exceeded(self, packets: u64, bytes: u64) -> bool {
        match self {
            // A limit of time would need the waiting time at the packet's arrival: scenarios refuse
            // it.
            Self::Infinite | Self::Wait(_) => false,
            Self::Packets(limit) => packets > limit,
            Self::Bytes(limit) => bytes > limit,
        }
    }
}

/// Generates from one line per discipline: the list of descriptions, and the enum with its
/// dispatch.
macro_rules! disciplines {
    ($($module:ident :: $discipline:ident,)*) => {
        /// Every discipline except drop-tail, in the order of the documentation.
        pub static DISCIPLINES: &[Info] = &[$($module::INFO,)*];

        /// The queue of a link with an active discipline.
        #[derive(Clone, Debug)]
        pub(super) enum Queue<P> {
            $($discipline($module::$discipline<P>),)*
        }

        impl<P: Payload> Queue<P> {
            pub(super) fn new(parts: &Parts<'_>) -> Self {
                let name = parts.settings.info.name;
                $(if name == $module::INFO.name {
                    return Self::$discipline($module::$discipline::new(parts));
                })*
                unreachable!("{name} is none of the list from which it was taken")
            }
        }

        impl<P: Payload> Discipline<P> for Queue<P> {
            fn enqueue(&mut self, packet: Waiting<P>, ledger: &mut Ledger<P>) {
                match self { $(Self::$discipline(queue) => queue.enqueue(packet, ledger),)* }
            }

            fn dequeue(&mut self, now: Time, ledger: &mut Ledger<P>) -> Option<Waiting<P>> {
                match self { $(Self::$discipline(queue) => queue.dequeue(now, ledger),)* }
            }

            fn packets(&self) -> u64 {
                match self { $(Self::$discipline(queue) => Discipline::<P>::packets(queue),)* }
            }

            fn bytes(&self) -> u64 {
                match self { $(Self::$discipline(queue) => Discipline::<P>::bytes(queue),)* }
            }
        }
    };
}

disciplines! {
    codel::Codel,
    fq_codel::FqCodel,
}

/// The description of the discipline `name`; `None` for drop-tail and for unknown names.
pub fn info(name: &str) -> Option<&'static Info> {
    DISCIPLINES.iter().find(|info| info.name == name)
}
