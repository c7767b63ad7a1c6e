//! Congestion control of one path, behind a small trait.
//!
//! A controller sees acknowledgements and congestion as arguments and answers with a window in
//! bytes. Byte counts are those of the protocol (for SCTP: DATA chunks with their headers; for TCP:
//! payload).
//!
//! [`NewReno`] is SCTP's. [`Reno`] is TCP's; [`Cubic`] and the coupled controllers ([`Lia`],
//! [`Olia`], [`Balia`]) consist of it and their own rule. [`LinuxReno`] and [`LinuxCubic`] work as
//! in Linux. All arithmetic is exactly specified by IEEE 754 (no library functions but the square
//! root), so that results are the same on all machines.
//!
//! Coupled controllers (LIA, OLIA, BALIA) see windows and round trips of all paths as an argument.
//! HyStart++ works beside any of TCP's controllers. `linux/` has Reno, CUBIC and HyStart as in
//! Linux, in whole packets and milliseconds. `bbr/` needs delivery-rate samples and pacing
//! (`core/rate.rs`, `core/pacer.rs`); it is version 1, and there is no BBRv3.
//!
//! A caller brings a controller of its own by a [`Factory`].
//!
//! To add one to the list: a file with a type, its `INFO`, its `new` and [`CongestionController`];
//! here, its module and a line in the list. Its name in scenarios, the reference's words, the
//! reader, the writer and the random scenarios of the tests follow.

mod balia;
mod bbr;
mod coupled;
mod cube_root;
mod cubic;
mod facts;
#[cfg(test)]
mod fixtures;
mod hystart;
mod lia;
mod linux;
mod newreno;
mod olia;
mod own;
mod reno;
#[cfg(test)]
mod response;

pub use balia::{Balia, BaliaCoupling};
pub use bbr::Bbr;
pub use coupled::{Coupled, Coupling};
pub use cubic::Cubic;
pub use facts::{Acknowledged, CongestionEvent, RateSample, Repairing, Share, WindowUse};
pub use lia::{Lia, LiaCoupling};
pub use linux::{LinuxCubic, LinuxReno};
pub use newreno::NewReno;
pub use olia::{Olia, OliaCoupling};
pub use own::{Factory, Own, OwnController};
pub use reno::Reno;

use plait_sched::Time;
use std::fmt::Debug;

/// Decides how many bytes may be in flight on one path.
pub trait CongestionController: Debug + Send + Sync {
    /// Handles acknowledged data; [`Acknowledged::may_grow`] says whether the window may grow for
    /// it. `shares` are those of all paths of the connection if congestion control [is
    /// coupled](CongestionConfig::is_coupled), otherwise empty. `rate` is a sample of the delivery
    /// rate if the controller states a pacing rate.
    fn on_ack(&mut self, ack: &Acknowledged, rate: Option<&RateSample>, shares: &[Share]);

    /// Something else happened to the path.
    fn on_event(&mut self, now: Time, event: CongestionEvent);

    /// Handles a measured round trip, before loss detection (`pkts_acked` of Linux' struct
    /// tcp_congestion_ops).
    fn on_round_trip(&mut self, _ack: &Acknowledged) {}

    /// New data has left, or could not for lack of window.
    fn on_sent(&mut self, _used: &WindowUse) {}

    /// The congestion window in bytes.
    fn window(&self) -> u64;

    /// The slow-start threshold in bytes; `u64::MAX` while unset.
    fn slow_start_threshold(&self) -> u64;

    /// Rate in bytes per second at which packets leave; `None` if they leave as soon as the window
    /// admits them.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// True if the controller keeps the flight small: samples do not show the path's capacity.
    fn limits_itself(&self) -> bool {
        false
    }

    /// OLIA's l, see [`Share::loss_interval`].
    fn loss_interval(&self) -> u64 {
        0
    }
}

/// The kind of congestion windows that a controller sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// SCTP's.
    Sctp,
    /// TCP's and QUIC's.
    Tcp,
    /// Those of TCP as Linux does it; where Linux has none of its own, TCP's.
    Linux,
}

/// The description of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControllerInfo {
    /// How a scenario names it; one name per family.
    pub name: &'static str,
    /// For whom it is.
    pub family: Family,
    /// True if a path's window depends on those of the connection's other paths.
    pub coupled: bool,
    /// The document that specifies the rule; empty if the name says it.
    pub source: &'static str,
}

/// Start values of a controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CongestionConfig {
    /// Which controller.
    pub algorithm: Algorithm,
    /// A controller of the caller's own, instead of `algorithm`.
    pub own: Option<Own>,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold in bytes; `u64::MAX` for none.
    pub initial_threshold: u64,
    /// The step in which windows grow: the largest DATA chunk of the path (PMDCS of RFC 9260), or
    /// TCP's MSS.
    pub segment: u64,
    /// Bytes per packet that only the pacing rate counts: Linux' MPTCP paces by `mss_cache`, which
    /// ignores MPTCP's options.
    pub paced_options: u64,
    /// HyStart++ (RFC 9406) in the initial slow start, Linux' own HyStart in [`LinuxCubic`]; SCTP's
    /// controller and Linux' Reno ignore it. Needs a round-trip sample with nearly every
    /// acknowledgement, as TCP's timestamps give.
    pub hystart: bool,
    /// Seed of a controller's random numbers.
    pub seed: u64,
}

impl CongestionConfig {
    /// True if a controller sees the windows of all paths. One of the caller's own may need them.
    pub const fn is_coupled(&self) -> bool {
        self.own.is_some() || self.algorithm.is_coupled()
    }
}

/// The longest burst of a paced path in bytes (`GSO_LEGACY_MAX_SIZE`).
const LONGEST_BURST: u64 = 65_536;

/// A burst lasts at most 2⁻¹⁰ s at the pacing rate (`sk_pacing_shift`), but for its first packets.
const BURST_SHIFT: u32 = 10;

/// Below this rate in bytes per second a burst may be a single packet (`bbr_min_tso_rate`).
const SINGLE_PACKET_RATE: u64 = 150_000;

/// Packets of `packet` bytes that leave in one burst at a pacing rate in bytes per second
/// (`bbr_tso_segs_goal`).
pub(crate) fn burst_packets(rate: u64, packet: u64) -> u64 {
    let least = if rate < SINGLE_PACKET_RATE { 1 } else { 2 };
    ((rate >> BURST_SHIFT).min(LONGEST_BURST) / packet.max(1)).max(least).min(127)
}

/// Generates from one line per controller: the list, its descriptions, and dispatch without
/// allocation.
macro_rules! controllers {
    ($($controller:ident,)*) => {
        /// Which controller a connection uses.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Algorithm {
            $(#[doc = concat!("See [`", stringify!($controller), "`].")]
            $controller,)*
        }

        impl Algorithm {
            /// Every controller, in the order in which they are listed to users.
            pub const ALL: &'static [Self] = &[$(Self::$controller,)*];

            /// Description of the controller.
            pub const fn info(self) -> &'static ControllerInfo {
                match self {
                    $(Self::$controller => &$controller::INFO,)*
                }
            }
        }

        #[derive(Clone, Debug)]
        enum Kind {
            $($controller($controller),)*
            Own(Box<dyn OwnController>),
        }

        impl Kind {
            fn new(config: &CongestionConfig) -> Self {
                if let Some(own) = &config.own {
                    return Self::Own(own.0.build(config));
                }
                match config.algorithm {
                    $(Algorithm::$controller => Self::$controller($controller::new(config)),)*
                }
            }
        }

        /// Calls a controller.
        macro_rules! dispatch {
            ($kind:expr, $it:ident => $call:expr) => {
                match $kind {
                    $(Kind::$controller($it) => $call,)*
                    Kind::Own($it) => $call,
                }
            };
        }
    };
}

controllers! {
    NewReno,
    Reno,
    Cubic,
    Lia,
    Olia,
    Balia,
    Bbr,
    LinuxReno,
    LinuxCubic,
}

impl Algorithm {
    /// The controller that a scenario of this family calls `name`.
    pub fn named(name: &str, family: Family) -> Option<Self> {
        let of = |family| Self::ALL.iter().find(|it| it.info().name == name && it.info().family == family);
        let substitute = if family == Family::Linux { of(Family::Tcp) } else { None };
        of(family).or(substitute).copied()
    }

    /// The names of the controllers of a family, or of all.
    pub fn names(family: Option<Family>) -> Vec<&'static str> {
        let mut names: Vec<_> = Vec::new();
        for info in Self::ALL.iter().map(|it| it.info()) {
            let wanted = family.is_none_or(|family| Self::named(info.name, family).is_some());
            if wanted && !names.contains(&info.name) {
                names.push(info.name);
            }
        }
        names
    }

    /// True if a path's window depends on those of the connection's other paths.
    pub const fn is_coupled(self) -> bool {
        self.info().coupled
    }
}

/// A path's controller. Its window and threshold are read several times per packet and change less
/// often, so they are cached beside it.
#[derive(Clone, Debug)]
pub struct Controller {
    kind: Kind,
    window: u64,
    threshold: u64,
}

impl Controller {
    /// A controller at its start.
    pub fn new(config: &CongestionConfig) -> Self {
        let kind = Kind::new(config);
        let (window, threshold) = dispatch!(&kind, it => (it.window(), it.slow_start_threshold()));
        Self { kind, window, threshold }
    }
}

/// Passes an event to the controller that may change its window.
macro_rules! tell {
    ($self:ident, $it:ident => $call:expr) => {
        ($self.window, $self.threshold) = dispatch!(&mut $self.kind, $it => {
            $call;
            ($it.window(), $it.slow_start_threshold())
        })
    };
}

impl CongestionController for Controller {
    fn on_ack(&mut self, ack: &Acknowledged, rate: Option<&RateSample>, shares: &[Share]) {
        tell!(self, it => it.on_ack(ack, rate, shares));
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent) {
        tell!(self, it => it.on_event(now, event));
    }

    fn on_round_trip(&mut self, ack: &Acknowledged) {
        tell!(self, it => it.on_round_trip(ack));
    }

    fn on_sent(&mut self, used: &WindowUse) {
        tell!(self, it => it.on_sent(used));
    }

    #[inline]
    fn window(&self) -> u64 {
        self.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> u64 {
        self.threshold
    }

    #[inline]
    fn pacing_rate(&self) -> Option<u64> {
        dispatch!(&self.kind, it => it.pacing_rate())
    }

    fn limits_itself(&self) -> bool {
        dispatch!(&self.kind, it => it.limits_itself())
    }

    fn loss_interval(&self) -> u64 {
        dispatch!(&self.kind, it => it.loss_interval())
    }
}
