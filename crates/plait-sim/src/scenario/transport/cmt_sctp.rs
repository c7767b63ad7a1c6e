//! Options of CMT-SCTP.

use plait_sched::Duration;
pub use plait_transport::cmt_sctp::{RetransmissionPolicy, WindowAccounting};
use plait_transport::congestion::Family;
use plait_transport::packet::Overhead;
use plait_transport::{cmt_sctp, endpoint};

use super::common::{self, MAX_EVERY, TICK};
use super::option::{OptionField, TransportOption, option};
use super::{ConnectionSetup, OwnOptions, Protocol, ProtocolInfo, ProtocolOptions, TransportOptions};
use crate::scenario::keys::Preset::{Boolean, Integer, Otherwise, Text};
use crate::scenario::reader::{MAX_DURATION, Word};

/// Options that only CMT-SCTP has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CmtSctpOptions {
    /// Whether a gap is acknowledged as late as other data (Delayed ACK for CMT), instead of at
    /// once.
    pub delayed_ack_for_cmt: bool,
    /// The data that is charged to the receiver's window.
    pub receive_window_accounting: WindowAccounting,
    /// The path of a retransmission.
    pub retransmission_policy: RetransmissionPolicy,
    /// Number of missing reports after which a packet is retransmitted.
    pub fast_retransmit_threshold: u32,
    /// The time after which an idle path sends a heartbeat.
    pub heartbeat_interval: Duration,
}

fn own(options: &mut TransportOptions) -> &mut CmtSctpOptions {
    match &mut options.own {
        OwnOptions::CmtSctp(own) => own,
        _ => unreachable!("the protocol is CMT-SCTP"),
    }
}

impl ProtocolOptions for CmtSctpOptions {
    const INFO: ProtocolInfo = ProtocolInfo {
        name: "[transport] protocol = \"cmt-sctp\"",
        doc: "The endpoints: SCTP with concurrent multipath transfer. Timers and thresholds follow \
            RFC 9260 unless a key says otherwise.",
        options: &[
            common::PROTOCOL,
            common::CONGESTION_CONTROL,
            TransportOption {
                default: Otherwise("4404B, but from 2p to 4p (RFC 9260 section 7.2.1)"),
                ..common::INITIAL_WINDOW
            },
            common::RECEIVE_BUFFER,
            common::SEND_BUFFER,
            common::PACKET,
            common::ACK_EVERY,
            common::ACK_DELAY,
            common::INITIAL_SSTHRESH,
            common::GROW_IN_RECOVERY,
            common::MAX_BURST,
            common::RTO_INITIAL,
            common::RTO_MIN,
            common::RTO_MAX,
            common::PATH_MAX_RETRANSMISSIONS,
            common::ASSOCIATION_MAX_RETRANSMISSIONS,
            common::POTENTIALLY_FAILED,
            option(
                "delayed_ack_for_cmt",
                Boolean(true),
                "True: the acknowledgement of data out of order may be delayed, too. False: it is \
                 sent at once. Reordering is normal over several paths.",
                |options| OptionField::Truth(&mut own(options).delayed_ack_for_cmt),
            ),
            option(
                "receive_window_accounting",
                Text("buffer"),
                "The data that counts in the receiver's window: outstanding data and data buffered \
                 out of order (RFC 9260), or outstanding data only (Eq. 1 of the DAPS paper).",
                |options| OptionField::Word(&mut own(options).receive_window_accounting),
            ),
            option(
                "retransmission_policy",
                Text("cwnd"),
                "The path of a retransmission: the original one, the one with the largest \
                 slow-start threshold, the largest window or the lowest loss rate, or the first \
                 one that can send.",
                |options| OptionField::Word(&mut own(options).retransmission_policy),
            ),
            option(
                "fast_retransmit_threshold",
                Integer(3),
                "The number of missing reports after which a packet is retransmitted.",
                |options| OptionField::Count(&mut own(options).fast_retransmit_threshold, 1..=MAX_EVERY),
            ),
            option(
                "heartbeat_interval",
                Text("30s"),
                "The interval between heartbeats of an idle path.",
                |options| OptionField::Span(&mut own(options).heartbeat_interval, TICK..=MAX_DURATION),
            ),
        ],
        later: &["ecn"],
    };

    const UNREAD: Self = Self {
        delayed_ack_for_cmt: true,
        receive_window_accounting: WindowAccounting::Buffer,
        retransmission_policy: RetransmissionPolicy::Cwnd,
        fast_retransmit_threshold: 1,
        heartbeat_interval: TICK,
    };

    fn overhead(&self, _protocol: Protocol) -> Overhead {
        Overhead::SCTP
    }

    /// The chunk's header counts.
    fn counted(&self, overhead: &Overhead) -> u32 {
        overhead.data
    }

    fn controllers(&self) -> Family {
        Family::Sctp
    }

    fn config(&self, options: &TransportOptions, _setup: &ConnectionSetup) -> endpoint::Config {
        let config = cmt_sctp::Config {
            connection: options.connection(),
            accounting: self.receive_window_accounting,
            retransmission_policy: self.retransmission_policy,
            fast_retransmit_threshold: u8::try_from(self.fast_retransmit_threshold).unwrap_or(u8::MAX),
            ack_every: options.ack_every(),
            ack_delay: options.ack_delay,
            delayed_ack_for_cmt: self.delayed_ack_for_cmt,
            heartbeat_interval: self.heartbeat_interval,
        };
        config.into()
    }
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
