//! `[transport]`: how the endpoints behave.

use plait_sched::Duration;
pub use plait_transport::cmt_sctp::{RetransmissionPolicy, WindowAccounting};

use super::reader::{MAX_BYTES, MAX_DURATION, Reader, Word};
use super::text;
use crate::error::ScenarioError;

/// What SCTP over IPv4 adds to the payload of a packet with one DATA chunk: 20 + 12 + 16 bytes.
pub const SCTP_HEADER_BYTES: u32 = 48;

/// Which transport protocol the endpoints speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// SCTP with concurrent multipath transfer (Iyengar et al. 2006).
    CmtSctp,
}

/// How a path's congestion window grows and shrinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionControl {
    /// Slow start, congestion avoidance, fast recovery: RFC 9260 section 7, each path by itself.
    NewReno,
}

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
    /// The longest that an acknowledgement is held back.
    pub ack_delay: Duration,
    /// Whether a gap is acknowledged as lazily as everything else (Delayed ACK for CMT), instead of at once.
    pub delayed_ack_for_cmt: bool,
    /// What the receiver's window is charged with.
    pub receive_window_accounting: WindowAccounting,
    /// The congestion window at the start.
    pub initial_window: u64,
    /// The slow-start threshold at the start; `None` is unlimited.
    pub initial_ssthresh: Option<u64>,
    /// Which path carries a retransmission.
    pub retransmission_policy: RetransmissionPolicy,
    /// After how many missing reports a packet is retransmitted.
    pub fast_retransmit_threshold: u32,
    /// Whether a window grows while losses are repaired.
    pub grow_in_recovery: bool,
    /// How many packets one event may send on a path; `None` is unlimited.
    pub max_burst: Option<u32>,
    /// The retransmission timeout before the first sample.
    pub rto_initial: Duration,
    /// The shortest retransmission timeout.
    pub rto_min: Duration,
    /// The longest retransmission timeout.
    pub rto_max: Duration,
    /// Consecutive timeouts after which a path has failed.
    pub path_max_retransmissions: u32,
    /// Consecutive timeouts, over all paths, after which the association has failed.
    pub association_max_retransmissions: u32,
    /// How long an idle path goes without a heartbeat.
    pub heartbeat_interval: Duration,
    /// Whether a path with a timeout takes no new data until it answers (RFC 7829).
    pub potentially_failed: bool,
}

impl Word for Protocol {
    const WORDS: &'static [(&'static str, Self)] = &[("cmt-sctp", Self::CmtSctp)];
    const LATER: &'static [&'static str] = &["mptcp", "tcp"];
}

impl Word for CongestionControl {
    const WORDS: &'static [(&'static str, Self)] = &[("newreno", Self::NewReno)];
    const LATER: &'static [&'static str] = &["cubic", "lia", "olia"];
}

impl Word for WindowAccounting {
    const WORDS: &'static [(&'static str, Self)] =
        &[("buffer", Self::Buffer), ("outstanding", Self::Outstanding)];
}

impl Word for RetransmissionPolicy {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("same", Self::Same),
        ("ssthresh", Self::Ssthresh),
        ("cwnd", Self::Cwnd),
        ("loss-rate", Self::LossRate),
        ("asap", Self::Asap),
    ];
}

/// Largest number of packets, retransmissions and the like.
const MAX_COUNT: u32 = 1_000_000;

/// Largest number of packets between acknowledgements, or of missing reports: the protocol counts them in a byte.
const MAX_EVERY: u32 = 255;

/// The shortest timer: timers of zero would stop the clock.
const TICK: Duration = Duration::from_nanos(1);

impl TransportOptions {
    pub(super) fn read(mut reader: Reader<'_>) -> Result<Self, ScenarioError> {
        let largest = u64::from(u16::MAX);
        let protocol = reader.need("protocol")?.word()?;
        let packet = reader.need("packet")?.bytes(&(u64::from(SCTP_HEADER_BYTES) + 1..=largest))?;
        let buffer = packet..=MAX_BYTES;
        let rto_initial_item = reader.need("rto_initial")?;
        let rto_initial = rto_initial_item.duration(TICK..=MAX_DURATION)?;
        let options = Self {
            protocol,
            receive_buffer: reader.need("receive_buffer")?.bytes(&buffer)?,
            send_buffer: reader.need("send_buffer")?.bytes_or_unlimited(&buffer)?,
            packet: packet as u32,
            congestion_control: reader.need("congestion_control")?.word()?,
            ack_every: reader.need("ack_every")?.integer(1..=MAX_EVERY)?,
            ack_delay: reader.need("ack_delay")?.duration(TICK..=MAX_DURATION)?,
            delayed_ack_for_cmt: reader.need("delayed_ack_for_cmt")?.boolean()?,
            receive_window_accounting: reader.need("receive_window_accounting")?.word()?,
            initial_window: reader.need("initial_window")?.bytes(&(1..=MAX_BYTES))?,
            initial_ssthresh: reader.need("initial_ssthresh")?.bytes_or_unlimited(&(1..=MAX_BYTES))?,
            retransmission_policy: reader.need("retransmission_policy")?.word()?,
            fast_retransmit_threshold: reader.need("fast_retransmit_threshold")?.integer(1..=MAX_EVERY)?,
            grow_in_recovery: reader.need("grow_in_recovery")?.boolean()?,
            max_burst: Some(reader.need("max_burst")?.integer(0..=MAX_COUNT)?).filter(|&burst| burst > 0),
            rto_initial,
            rto_min: reader.need("rto_min")?.duration(TICK..=MAX_DURATION)?,
            rto_max: reader.need("rto_max")?.duration(TICK..=MAX_DURATION)?,
            path_max_retransmissions: reader.need("path_max_retransmissions")?.integer(0..=MAX_COUNT)?,
            association_max_retransmissions: reader
                .need("association_max_retransmissions")?
                .integer(0..=MAX_COUNT)?,
            heartbeat_interval: reader.need("heartbeat_interval")?.duration(TICK..=MAX_DURATION)?,
            potentially_failed: reader.need("potentially_failed")?.boolean()?,
        };
        if !(options.rto_min..=options.rto_max).contains(&rto_initial) {
            let range = format!(
                "rto_min {} to rto_max {}",
                text::duration(options.rto_min),
                text::duration(options.rto_max)
            );
            return Err(rto_initial_item.wrong(format!("must be from {range}")));
        }
        reader.finish();
        Ok(options)
    }
}
