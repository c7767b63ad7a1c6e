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
//! (`core/rate.rs`, `core/pacer.rs`).
//!
//! To add one: a file with a type, its `INFO`, its `new` and [`CongestionController`]; here, its
//! module and a line in the list. Its name in scenarios, the reference's words, the reader, the
//! writer and the random scenarios of the tests follow.

mod balia;
mod bbr;
mod coupled;
mod cubic;
#[cfg(test)]
mod fixtures;
mod hystart;
mod lia;
mod linux;
mod newreno;
mod olia;
mod reno;
#[cfg(test)]
mod response;

pub use balia::{Balia, BaliaCoupling};
pub use bbr::Bbr;
pub use coupled::{Coupled, Coupling};
pub use cubic::Cubic;
pub use lia::{Lia, LiaCoupling};
pub use linux::{LinuxCubic, LinuxReno};
pub use newreno::NewReno;
pub use olia::{Olia, OliaCoupling};
pub use reno::Reno;

use plait_sched::{Duration, Time};

/// Newly acknowledged data of one path, from one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// When.
    pub now: Time,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// The window may grow: no losses are being repaired.
    pub may_grow: bool,
    /// How losses are being repaired.
    pub repairing: Repairing,
    /// Bytes in flight on the path before the acknowledgement.
    pub in_flight_before: u64,
    /// Window that these bytes used: as many bytes, or more if whole segments count and small ones
    /// were sent.
    pub used_before: u64,
    /// Data waited for room in the window while the oldest of the acknowledged data was in flight.
    pub limited: bool,
    /// The path's smoothed round-trip time.
    pub srtt: Duration,
    /// The round-trip sample that came with it, if one was taken.
    pub rtt: Option<Duration>,
    /// The path's index into the shares.
    pub path: usize,
    /// Packets newly acknowledged.
    pub segments: u32,
    /// Round trip of the newest of them, unless it was retransmitted; `rtt` is that of the oldest.
    pub newest_rtt: Option<Duration>,
    /// The path's first transmission that is not acknowledged, in the path's own count.
    pub cumulative: u64,
    /// The number that the path's next transmission will have.
    pub next: u64,
}

/// How losses are being repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Repairing {
    /// No loss is being repaired.
    #[default]
    Nothing,
    /// Losses that later acknowledgements showed.
    Losses,
    /// Losses that the retransmission timer showed.
    Timeout,
}

/// A sample of the delivery rate, for controllers that [ask for
/// it](CongestionController::pacing_rate). Amounts are in bytes; if windows count packets, each
/// packet counts as a full one.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes that the acknowledgement reports.
    pub acked: u64,
    /// Bytes that the path delivered in the interval.
    pub delivered: u64,
    /// The interval; zero if the acknowledgement gives no sample.
    pub interval: Duration,
    /// Bytes that the path had delivered when the newest reported packet left.
    pub prior: u64,
    /// Bytes that the path has delivered in all.
    pub total: u64,
    /// The application, the scheduler or the receiver limited the sender when that packet left.
    pub app_limited: bool,
    /// Bytes that the acknowledgement shows to be lost.
    pub lost: u64,
    /// Bytes that were lost in all.
    pub lost_total: u64,
    /// Bytes in flight before the acknowledgement.
    pub in_flight_before: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// When the next packet may leave.
    pub departure: Time,
}

/// How much of the window is used once everything has left that could.
#[derive(Clone, Copy, Debug)]
pub struct WindowUse {
    /// When.
    pub now: Time,
    /// The window, also one that is reduced step by step, lets nothing more out.
    pub full: bool,
    /// Packets that are not cumulatively acknowledged.
    pub outstanding: u64,
    /// The path's first transmission that is not acknowledged, in the path's own count.
    pub cumulative: u64,
    /// The number that the path's next transmission will have.
    pub next: u64,
    /// The path's retransmission timeout.
    pub rto: Duration,
    /// The application or the receiver's window keeps the rest of the window empty: the path is not
    /// recovering, and the application does not wait for room in the send buffer.
    pub starved: bool,
}

/// State of one path as a coupled controller sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// Congestion window in bytes.
    pub window: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// OLIA's l: bytes acknowledged between the last two losses or since the last one, whichever
    /// are more.
    pub loss_interval: u64,
    /// False for a path that is not established or failed: it is no part of the sums.
    pub usable: bool,
}

impl Share {
    /// True if the path is part of the sums: usable, and its round-trip time known.
    fn counts(&self) -> bool {
        self.usable && !self.srtt.is_zero()
    }

    fn seconds(&self) -> f64 {
        self.srtt.as_secs_f64()
    }

    /// Bytes per second.
    fn rate(&self) -> f64 {
        self.window as f64 / self.seconds()
    }
}

/// Events of a path other than acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionEvent {
    /// Later acknowledgements showed a loss. It comes once per window of data.
    Loss {
        /// Bytes sent and not cumulatively acknowledged (FlightSize of RFC 5681).
        outstanding: u64,
    },
    /// The receiver reported marked packets (RFC 3168). It comes once per window of data.
    Mark {
        /// Bytes sent and not cumulatively acknowledged.
        outstanding: u64,
    },
    /// The retransmission timer ran out.
    Timeout {
        /// Bytes sent and not cumulatively acknowledged.
        outstanding: u64,
        /// The losses of the last reduction were not repaired yet.
        repairing: bool,
    },
    /// Reduces the window to this size after a timeout or persistent congestion (RFC 9002 §7.6),
    /// instead of one segment.
    Collapse {
        /// The window in bytes.
        window: u64,
    },
    /// The last reduction was unnecessary: window and threshold are restored, unless they are
    /// larger already.
    Undone {
        /// The window before the reduction, in bytes.
        window: u64,
        /// The slow-start threshold before it, in bytes.
        threshold: u64,
    },
    /// A scheduler wants the window halved, without a loss.
    Penalty,
    /// No packet was sent for one retransmission timeout.
    Idle,
    /// A packet leaves after no packet was in flight.
    Resumed {
        /// How long ago the packet before it left.
        idle: Duration,
        /// The path had no data, and not only no room.
        app_limited: bool,
    },
    /// All data in flight was acknowledged.
    Drained,
    /// A handshake measured the path's round trip, before any data left.
    Measured {
        /// The round trip.
        round_trip: Duration,
    },
}

/// Decides how many bytes may be in flight on one path.
pub trait CongestionController {
    /// Handles acknowledged data; [`Acknowledged::may_grow`] says whether the window may grow for
    /// it. `shares` are those of all paths of the connection if the algorithm [is
    /// coupled](Algorithm::is_coupled), otherwise empty. `rate` is a sample of the delivery rate if
    /// the controller states a pacing rate.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionConfig {
    /// Which controller.
    pub algorithm: Algorithm,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold in bytes; `u64::MAX` for none.
    pub initial_threshold: u64,
    /// The step in which windows grow: the largest DATA chunk of the path (PMDCS of RFC 9260), or
    /// TCP's MSS.
    pub segment: u64,
    /// HyStart++ (RFC 9406) in the initial slow start, Linux' own HyStart in [`LinuxCubic`]; SCTP's
    /// controller and Linux' Reno ignore it. Needs a round-trip sample with nearly every
    /// acknowledgement, as TCP's timestamps give.
    pub hystart: bool,
    /// Seed of a controller's random numbers.
    pub seed: u64,
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
        }

        impl Kind {
            fn new(config: &CongestionConfig) -> Self {
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
