//! `[transport]`: how the endpoints behave.

use plait_sched::Duration;
use plait_sched::units::parse_packets;
pub use plait_transport::cmt_sctp::{RetransmissionPolicy, WindowAccounting};
use plait_transport::packet::Overhead;

use super::keys::{LINUX_DEFAULTS, TRANSPORT_CMT_SCTP, TRANSPORT_MPQUIC, TRANSPORT_MPTCP};
use super::reader::{Item, MAX_BYTES, MAX_DURATION, Reader, Source, Word};
use super::text;
use crate::error::ScenarioError;

/// Which transport protocol the endpoints speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// SCTP with concurrent multipath transfer (Iyengar et al. 2006).
    CmtSctp,
    /// MPTCP (RFC 8684).
    Mptcp,
    /// TCP over one path.
    Tcp,
    /// Multipath QUIC (draft-ietf-quic-multipath-21).
    Mpquic,
}

impl Protocol {
    /// What the protocol adds to payload on the wire.
    pub const fn overhead(self, profile: Profile) -> Overhead {
        match (self, profile) {
            (Self::CmtSctp, _) => Overhead::SCTP,
            (Self::Mptcp, Profile::Standard) => Overhead::MPTCP,
            (Self::Mptcp, Profile::Linux) => Overhead::LINUX_MPTCP,
            (Self::Tcp, _) => Overhead::TCP,
            (Self::Mpquic, _) => Overhead::MPQUIC,
        }
    }
}

/// Whose TCP the endpoints behave like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// That of the RFCs.
    Standard,
    /// That of Linux 6.12.
    Linux,
}

/// How a path's congestion window grows and shrinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionControl {
    /// Slow start, congestion avoidance, fast recovery, each path by itself: RFC 9260 section 7 for SCTP, RFC 5681 and 6582
    /// for TCP.
    NewReno,
    /// RFC 9438, each path by itself.
    Cubic,
    /// Linked increases (RFC 6356).
    Lia,
    /// Opportunistic linked increases (Khalili et al. 2013).
    Olia,
    /// Balanced linked adaptation (Peng et al. 2016).
    Balia,
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
    /// The congestion window at the start.
    pub initial_window: u64,
    /// The slow-start threshold at the start; `None` is unlimited.
    pub initial_ssthresh: Option<u64>,
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
    /// Whether a path with a timeout takes no new data until it answers (RFC 7829).
    pub potentially_failed: bool,
    /// What only this protocol has.
    pub own: OwnOptions,
}

/// Options that only one of the protocols has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OwnOptions {
    /// Of CMT-SCTP.
    CmtSctp {
        /// Whether a gap is acknowledged as lazily as everything else (Delayed ACK for CMT), instead of at once.
        delayed_ack_for_cmt: bool,
        /// What the receiver's window is charged with.
        receive_window_accounting: WindowAccounting,
        /// Which path carries a retransmission.
        retransmission_policy: RetransmissionPolicy,
        /// After how many missing reports a packet is retransmitted.
        fast_retransmit_threshold: u32,
        /// How long an idle path goes without a heartbeat.
        heartbeat_interval: Duration,
    },
    /// Of MPTCP and TCP.
    Mptcp {
        /// Whose TCP it is.
        profile: Profile,
        /// Whether slow start ends when delays grow.
        hystart: bool,
        /// Whether subflows are opened by handshakes.
        handshake: bool,
        /// The name of the path that is opened first; `None` is the first path.
        initial_path: Option<String>,
        /// The tick of the timestamps' clocks.
        timestamp_granularity: Duration,
        /// How many nanoseconds the receiver's clock is ahead of the sender's.
        clock_offset: i64,
        /// Whether marks of congestion are understood.
        ecn: bool,
    },
    /// Of Multipath QUIC.
    Mpquic {
        /// Whether slow start ends when delays grow.
        hystart: bool,
        /// Whether paths are opened by a handshake and validated.
        handshake: bool,
        /// The name of the path of the handshake; `None` is the first path.
        initial_path: Option<String>,
    },
}

impl Word for Protocol {
    const WORDS: &'static [(&'static str, Self)] =
        &[("cmt-sctp", Self::CmtSctp), ("mptcp", Self::Mptcp), ("tcp", Self::Tcp), ("mpquic", Self::Mpquic)];
}

impl Word for Profile {
    const WORDS: &'static [(&'static str, Self)] = &[("standard", Self::Standard), ("linux", Self::Linux)];
}

impl Word for CongestionControl {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("newreno", Self::NewReno),
        ("cubic", Self::Cubic),
        ("lia", Self::Lia),
        ("olia", Self::Olia),
        ("balia", Self::Balia),
    ];
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

/// Headers of UDP over IPv4.
const UDP: u32 = 28;

/// The longest tick of a clock: more tells nothing.
const MAX_TICK: Duration = Duration::from_secs(1);

/// The shortest timer: timers of zero would stop the clock.
const TICK: Duration = Duration::from_nanos(1);

impl TransportOptions {
    /// What the protocol adds to payload on the wire.
    pub const fn overhead(&self) -> Overhead {
        self.protocol.overhead(self.profile())
    }

    /// Whose TCP it is.
    pub const fn profile(&self) -> Profile {
        match self.own {
            OwnOptions::Mptcp { profile, .. } => profile,
            OwnOptions::CmtSctp { .. } | OwnOptions::Mpquic { .. } => Profile::Standard,
        }
    }

    /// The name of the path that is opened first, if it was given.
    pub fn initial_path(&self) -> Option<&str> {
        match &self.own {
            OwnOptions::Mptcp { initial_path, .. } | OwnOptions::Mpquic { initial_path, .. } => {
                initial_path.as_deref()
            }
            OwnOptions::CmtSctp { .. } => None,
        }
    }

    /// Bytes of headers that count in congestion windows with each packet of data: SCTP counts its chunk's header, TCP payload alone, QUIC
    /// all that is in the UDP datagram (RFC 9002 section 2).
    pub fn counted_overhead(&self) -> u32 {
        let overhead = self.overhead();
        match self.protocol {
            Protocol::CmtSctp => overhead.data,
            Protocol::Mptcp | Protocol::Tcp => 0,
            Protocol::Mpquic => overhead.of_data() - UDP,
        }
    }

    /// Bytes that a full packet counts in windows.
    pub fn counted_packet(&self) -> f64 {
        f64::from(self.packet - self.overhead().of_data() + self.counted_overhead())
    }

    /// `item` is the table `[transport]`, if there is one.
    pub(super) fn read(
        item: Option<Item<'_>>,
        source: Source<'_>,
        place: String,
    ) -> Result<Self, ScenarioError> {
        let (protocol, profile, mut reader) = open(item, source, place)?;
        let overhead = protocol.overhead(profile);
        let packet_range = u64::from(overhead.of_data()) + 1..=u64::from(u16::MAX);
        let _: Protocol = reader.need("protocol")?.word()?;
        let packet = reader.need("packet")?.bytes(&packet_range)?;
        let buffer = packet..=MAX_BYTES;
        let congestion_item = reader.need("congestion_control")?;
        let congestion_control = congestion_item.word()?;
        if protocol == Protocol::CmtSctp && congestion_control != CongestionControl::NewReno {
            return Err(
                congestion_item.wrong("cmt-sctp has newreno only (the others: mptcp, tcp and mpquic)")
            );
        }
        let rto_initial_item = reader.need("rto_initial")?;
        let rto_initial = rto_initial_item.duration(TICK..=MAX_DURATION)?;
        let initial_window = reader.need("initial_window")?;
        let mut options = Self {
            protocol,
            receive_buffer: reader.need("receive_buffer")?.bytes(&buffer)?,
            send_buffer: reader.need("send_buffer")?.bytes_or_unlimited(&buffer)?,
            packet: packet as u32,
            congestion_control,
            ack_every: reader.need("ack_every")?.integer(1..=MAX_EVERY)?,
            ack_delay: reader.need("ack_delay")?.duration(TICK..=MAX_DURATION)?,
            initial_window: 0,
            initial_ssthresh: reader.need("initial_ssthresh")?.bytes_or_unlimited(&(1..=MAX_BYTES))?,
            grow_in_recovery: reader.need("grow_in_recovery")?.boolean()?,
            max_burst: Some(reader.need("max_burst")?.integer(0..=MAX_COUNT)?).filter(|&burst| burst > 0),
            rto_initial,
            // QUIC's probe timeout has no minimum.
            rto_min: match protocol {
                Protocol::Mpquic => TICK,
                _ => reader.need("rto_min")?.duration(TICK..=MAX_DURATION)?,
            },
            rto_max: reader.need("rto_max")?.duration(TICK..=MAX_DURATION)?,
            path_max_retransmissions: reader.need("path_max_retransmissions")?.integer(0..=MAX_COUNT)?,
            association_max_retransmissions: reader
                .need("association_max_retransmissions")?
                .integer(0..=MAX_COUNT)?,
            potentially_failed: reader.need("potentially_failed")?.boolean()?,
            own: OwnOptions::read(protocol, &mut reader)?,
        };
        options.initial_window = window(&initial_window, options.counted_packet() as u64)?;
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

impl OwnOptions {
    /// TCP's defaults.
    pub(crate) const TCP: Self = Self::Mptcp {
        profile: Profile::Standard,
        hystart: false,
        handshake: true,
        initial_path: None,
        timestamp_granularity: Duration::from_millis(1),
        clock_offset: 0,
        ecn: false,
    };

    fn read(protocol: Protocol, reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        Ok(match protocol {
            Protocol::CmtSctp => Self::CmtSctp {
                delayed_ack_for_cmt: reader.need("delayed_ack_for_cmt")?.boolean()?,
                receive_window_accounting: reader.need("receive_window_accounting")?.word()?,
                retransmission_policy: reader.need("retransmission_policy")?.word()?,
                fast_retransmit_threshold: reader
                    .need("fast_retransmit_threshold")?
                    .integer(1..=MAX_EVERY)?,
                heartbeat_interval: reader.need("heartbeat_interval")?.duration(TICK..=MAX_DURATION)?,
            },
            Protocol::Mptcp | Protocol::Tcp => Self::Mptcp {
                profile: reader.need("profile")?.word()?,
                hystart: reader.need("hystart")?.boolean()?,
                handshake: reader.need("handshake")?.boolean()?,
                initial_path: reader.take("initial_path").map(|item| item.name()).transpose()?,
                timestamp_granularity: reader.need("timestamp_granularity")?.duration(TICK..=MAX_TICK)?,
                clock_offset: reader.need("clock_offset")?.signed_duration(MAX_DURATION)?,
                ecn: reader.need("ecn")?.boolean()?,
            },
            Protocol::Mpquic => Self::Mpquic {
                hystart: reader.need("hystart")?.boolean()?,
                handshake: reader.need("handshake")?.boolean()?,
                initial_path: reader.take("initial_path").map(|item| item.name()).transpose()?,
            },
        })
    }
}

/// The table with the keys of its protocol, which is looked at first.
fn open<'a>(
    item: Option<Item<'a>>,
    source: Source<'a>,
    place: String,
) -> Result<(Protocol, Profile, Reader<'a>), ScenarioError> {
    let Some(item) = item else {
        let reader = Reader::new(source, place, toml::Table::new(), &TRANSPORT_CMT_SCTP)?;
        return Ok((Protocol::CmtSctp, Profile::Standard, reader));
    };
    let given = item.value.as_table().is_some_and(|table| table.contains_key("protocol"));
    let protocol = if given { item.variant(&TRANSPORT_CMT_SCTP, "protocol")? } else { Protocol::CmtSctp };
    let table = match protocol {
        Protocol::CmtSctp => &TRANSPORT_CMT_SCTP,
        Protocol::Mptcp | Protocol::Tcp => &TRANSPORT_MPTCP,
        Protocol::Mpquic => &TRANSPORT_MPQUIC,
    };
    let given = item.value.as_table().is_some_and(|table| table.contains_key("profile"));
    let profile = if given && table.key("profile").is_some() {
        item.variant(table, "profile")?
    } else {
        Profile::Standard
    };
    let mut reader = item.reader(table)?;
    if profile == Profile::Linux {
        reader.prefer(LINUX_DEFAULTS);
    }
    Ok((protocol, profile, reader))
}

/// A window in bytes, or in packets of `counted` bytes.
fn window(item: &Item<'_>, counted: u64) -> Result<u64, ScenarioError> {
    match parse_packets(item.text()?) {
        Ok(packets) if (1..=u64::from(MAX_COUNT)).contains(&packets) => Ok(packets * counted),
        Ok(_) => Err(item.wrong(format!("must be from 1p to {}", text::packets(u64::from(MAX_COUNT))))),
        Err(_) => item.bytes(&(1..=MAX_BYTES)),
    }
}
