//! Queues that decide when a packet leaves them, and not only when it arrives: active queue management.
//!
//! A link whose discipline is *drop-tail* works out a packet's whole fate when the packet enters; nothing here concerns it.
//! Any other discipline is a `Queue` between the link's entrance and its transmitter, and looks at a packet when its
//! transmission would begin: only then does it know how long the packet waited.
//!
//! To add one: a file with a type, its `INFO`, its `new` and `Discipline`, and a line in the list below. The scenario's key, its
//! reader and writer, the reference and the `tc` line of the real kernel follow from `INFO`.

mod codel;
mod fq_codel;

#[cfg(test)]
mod tests;

use plait_sched::{Duration, Time};
use plait_transport::ring::Ring;

use super::queue::QueueLimit;

/// What a discipline has to know of a packet's content, and what it may do to it.
pub trait Payload: Copy + Default {
    /// To which flow it belongs; disciplines that divide a link between flows hash it.
    fn flow(&self) -> u64 {
        0
    }

    /// Marks that it met congestion (RFC 3168's CE). False if its sender does not understand marks.
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
    /// Its place among what happens at the same time.
    pub(super) order: u64,
    /// When it arrived.
    pub(super) since: Time,
}

/// What a discipline does beside handing packets on.
#[derive(Clone, Debug)]
pub(super) struct Ledger<P> {
    /// What was dropped and has not left the link yet.
    pub(super) gone: Ring<Waiting<P>>,
    pub(super) counts: Counts,
}

/// How often a discipline interfered.
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

/// A queue that is asked for a packet whenever the transmitter is free. Every packet that enters comes out, or goes to the ledger.
pub(super) trait Discipline<P: Payload> {
    /// A packet arrives.
    fn enqueue(&mut self, packet: Waiting<P>, ledger: &mut Ledger<P>);
    /// The packet whose transmission begins now. It is also asked, once, when the last one has left.
    fn dequeue(&mut self, now: Time, ledger: &mut Ledger<P>) -> Option<Waiting<P>>;
    /// Packets that wait.
    fn packets(&self) -> u64;
    /// Their bytes.
    fn bytes(&self) -> u64;
}

/// The description of a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// How a scenario names it; in Linux with underscores.
    pub name: &'static str,
    /// What it does, in a sentence or two, with its source.
    pub doc: &'static str,
    /// How many packets may wait if nobody says.
    pub limit: u64,
    /// Its parameters, called as `tc` calls them.
    pub parameters: &'static [Parameter],
}

/// One parameter of a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// How a scenario and `tc` name it.
    pub key: &'static str,
    /// What kind of amount it is.
    pub unit: Unit,
    /// What it is if nobody says.
    pub default: Preset,
    /// The least and the most that it may be.
    pub range: (u64, u64),
    /// What it means.
    pub doc: &'static str,
}

/// What a parameter's number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Duration,
    /// Bytes.
    Bytes,
    /// Things.
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

/// An Ethernet header. Linux' disciplines take a device's largest packet with it (`psched_mtu`), whatever packets weigh on the wire.
const ETHERNET: u32 = 14;

/// A discipline with its parameters, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    info: &'static Info,
    values: [u64; MOST_PARAMETERS],
    frame: u64,
}

/// More than any discipline has.
const MOST_PARAMETERS: usize = 12;

impl Settings {
    /// The discipline of `info` in front of a wire whose largest packet has `packet` bytes. `given` answers with a
    /// parameter's value, if it has one, within the parameter's range.
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

    /// What it is.
    pub const fn info(&self) -> &'static Info {
        self.info
    }

    /// Each parameter with its value.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static Parameter, u64)> + '_ {
        self.info.parameters.iter().zip(self.values)
    }

    /// The value of the parameter called `key`.
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

/// What a discipline is made of.
pub(super) struct Parts<'a> {
    pub(super) settings: &'a Settings,
    pub(super) limit: QueueLimit,
    /// What makes the hashes of two links and of two seeds differ.
    pub(super) perturbation: u64,
}

impl QueueLimit {
    /// Whether so many packets and bytes are more than may wait.
    fn exceeded(self, packets: u64, bytes: u64) -> bool {
        match self {
            // A longest wait would have to be known when the packet arrives: scenarios refuse it.
            Self::Infinite | Self::Wait(_) => false,
            Self::Packets(limit) => packets > limit,
            Self::Bytes(limit) => bytes > limit,
        }
    }
}

/// From one line per discipline: the list of descriptions, and the enum with its dispatch.
macro_rules! disciplines {
    ($($module:ident :: $discipline:ident,)*) => {
        /// Every discipline but drop-tail, in the order in which they are listed to users.
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

/// The description of the discipline called `name`; `None` for drop-tail and for what there is not.
pub fn info(name: &str) -> Option<&'static Info> {
    DISCIPLINES.iter().find(|info| info.name == name)
}
