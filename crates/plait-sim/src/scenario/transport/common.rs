//! Options of several protocols.

use plait_sched::Duration;
use plait_transport::packet::Overhead;

use super::option::{MAX_COUNT, OptionField, TransportOption, option};
use super::{CongestionControl, OwnOptions, Protocol};
use crate::scenario::keys::Preset::{Boolean, Integer, Text};
use crate::scenario::reader::{MAX_BYTES, MAX_DURATION};

/// Largest number of packets between acknowledgements, or of missing reports: the protocol counts
/// them in a byte.
pub(super) const MAX_EVERY: u32 = 255;

/// The shortest timer: timers of zero would stop the clock.
pub(super) const TICK: Duration = Duration::from_nanos(1);

/// `[transport]`, checked, with defaults filled in. Sizes are in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransportOptions {
    /// The protocol.
    pub protocol: Protocol,
    /// The receiver's buffer, at least one packet.
    pub receive_buffer: u64,
    /// The sender's buffer, at least one packet; `None` is unlimited.
    pub send_buffer: Option<u64>,
    /// The largest packet on the wire, headers included.
    pub packet: u32,
    /// The congestion control.
    pub congestion_control: CongestionControl,
    /// Packets per acknowledgement, at least 1.
    pub ack_every: u32,
    /// The longest delay of an acknowledgement.
    pub ack_delay: Duration,
    /// The initial congestion window.
    pub initial_window: u64,
    /// The initial slow-start threshold; `None` is unlimited.
    pub initial_ssthresh: Option<u64>,
    /// Whether a window grows during loss recovery.
    pub grow_in_recovery: bool,
    /// Largest number of packets that one event may send on a path; `None` is unlimited.
    pub max_burst: Option<u32>,
    /// The retransmission timeout before the first sample.
    pub rto_initial: Duration,
    /// The shortest retransmission timeout. QUIC's probe timeout has none.
    pub rto_min: Duration,
    /// The longest retransmission timeout.
    pub rto_max: Duration,
    /// Consecutive timeouts beyond which a path has failed.
    pub path_max_retransmissions: u32,
    /// Consecutive timeouts, over all paths, beyond which the association has failed.
    pub association_max_retransmissions: u32,
    /// True: a path with a timeout takes no new data until it answers (RFC 7829).
    pub potentially_failed: bool,
    /// Options that only this protocol has.
    pub own: OwnOptions,
}

impl TransportOptions {
    /// The options of a protocol before anything is read.
    pub(super) const fn unread(protocol: Protocol, own: OwnOptions) -> Self {
        Self {
            protocol,
            receive_buffer: 0,
            send_buffer: None,
            packet: 1500,
            congestion_control: CongestionControl::NEWRENO,
            ack_every: 1,
            ack_delay: TICK,
            initial_window: 0,
            initial_ssthresh: None,
            grow_in_recovery: false,
            max_burst: None,
            rto_initial: TICK,
            rto_min: TICK,
            rto_max: TICK,
            path_max_retransmissions: 0,
            association_max_retransmissions: 0,
            potentially_failed: false,
            own,
        }
    }
}

pub(super) const PROTOCOL: TransportOption =
    option("protocol", Text(Protocol::PRESET_NAME), "The protocol: {protocols}.", |options| {
        OptionField::Protocol(&mut options.protocol)
    });

pub(super) const CONGESTION_CONTROL: TransportOption = option(
    "congestion_control",
    Text("newreno"),
    "The congestion controller: each path by itself ({alone}), or coupled ({coupled}). Or a class of your own, \
     \"FILE.py:CLASS\" or \"LIBRARY.so:CLASS\", with parameters.",
    |options| {
        let family = options.controllers();
        OptionField::Controller(&mut options.congestion_control, family)
    },
);

pub(super) const INITIAL_WINDOW: TransportOption = option(
    "initial_window",
    Text("10p"),
    "Each path's congestion window at the start; at least one packet.",
    |options| {
        let counted = options.counted_packet() as u64;
        OptionField::Window(&mut options.initial_window, counted)
    },
);

pub(super) const RECEIVE_BUFFER: TransportOption = option(
    "receive_buffer",
    Text("500kB"),
    "The receiver's buffer, in payload bytes; at least one packet. A small buffer blocks the fast \
     path.",
    |options| OptionField::Bytes(&mut options.receive_buffer, u64::from(options.packet)..=MAX_BYTES),
);

pub(super) const SEND_BUFFER: TransportOption = option(
    "send_buffer",
    Text("unlimited"),
    "The limit of written data that is not acknowledged; at least one packet. It counts payload. \
     With the profile \"linux\" it counts memory, and packets take more memory than payload: the \
     connection has this limit, and each subflow has it once more.",
    |options| OptionField::BytesOrUnlimited(&mut options.send_buffer, u64::from(options.packet)..=MAX_BYTES),
);

pub(super) const PACKET: TransportOption = option(
    "packet",
    Text("1500B"),
    "The largest packet on the wire, headers included: at least one byte of payload beside them, \
     also in a flow of TCP.",
    |options| {
        let headers = options.overhead().of_data().max(Overhead::TCP.of_data());
        OptionField::Packet(&mut options.packet, u64::from(headers) + 1..=u64::from(u16::MAX))
    },
);

pub(super) const ACK_EVERY: TransportOption = option(
    "ack_every",
    Integer(1),
    "Packets per acknowledgement; 2 = delayed acknowledgements.",
    |options| OptionField::Count(&mut options.ack_every, 1..=MAX_EVERY),
)
.linux(Integer(2));

pub(super) const ACK_DELAY: TransportOption = option(
    "ack_delay",
    Text("200ms"),
    "The longest that a delayed acknowledgement is held back.",
    |options| OptionField::Span(&mut options.ack_delay, TICK..=MAX_DURATION),
)
.linux(Text("40ms"));

pub(super) const INITIAL_SSTHRESH: TransportOption = option(
    "initial_ssthresh",
    Text("unlimited"),
    "Each path's slow-start threshold at the start.",
    |options| OptionField::BytesOrUnlimited(&mut options.initial_ssthresh, 1..=MAX_BYTES),
);

pub(super) const GROW_IN_RECOVERY: TransportOption = option(
    "grow_in_recovery",
    Boolean(false),
    "True: a window grows during loss recovery, as ns-2's does; RFC 9260 section 7.2.1 and RFC \
     6675 forbid it.",
    |options| OptionField::Truth(&mut options.grow_in_recovery),
);

pub(super) const MAX_BURST: TransportOption = option(
    "max_burst",
    Integer(0),
    "The largest number of packets that one event may send on a path; 0 = no limit.",
    |options| OptionField::Limit(&mut options.max_burst),
);

pub(super) const RTO_INITIAL: TransportOption = option(
    "rto_initial",
    Text("1s"),
    "The retransmission timeout before the first round-trip sample.",
    |options| OptionField::Span(&mut options.rto_initial, TICK..=MAX_DURATION),
);

pub(super) const RTO_MIN: TransportOption =
    option("rto_min", Text("1s"), "The shortest retransmission timeout.", |options| {
        OptionField::Span(&mut options.rto_min, TICK..=MAX_DURATION)
    })
    .linux(Text("200ms"));

pub(super) const RTO_MAX: TransportOption =
    option("rto_max", Text("60s"), "The longest retransmission timeout.", |options| {
        OptionField::Span(&mut options.rto_max, TICK..=MAX_DURATION)
    })
    .linux(Text("120s"));

pub(super) const PATH_MAX_RETRANSMISSIONS: TransportOption = option(
    "path_max_retransmissions",
    Integer(5),
    "The path has failed after more consecutive timeouts than this.",
    |options| OptionField::Count(&mut options.path_max_retransmissions, 0..=MAX_COUNT),
);

pub(super) const ASSOCIATION_MAX_RETRANSMISSIONS: TransportOption = option(
    "association_max_retransmissions",
    Integer(10),
    "The association has failed after more consecutive timeouts over all paths than this.",
    |options| OptionField::Count(&mut options.association_max_retransmissions, 0..=MAX_COUNT),
);

pub(super) const POTENTIALLY_FAILED: TransportOption = option(
    "potentially_failed",
    Boolean(false),
    "True: a path with a timeout takes no new data until it answers (RFC 7829).",
    |options| OptionField::Truth(&mut options.potentially_failed),
);
