//! Options of Multipath QUIC.

use plait_transport::packet::Overhead;
use plait_transport::rtt::RtoRule;
use plait_transport::{endpoint, mpquic};

use super::common;
use super::option::{OptionField, TransportOption, option};
use super::{
    ConnectionSetup, MptcpOptions, OwnOptions, Protocol, ProtocolInfo, ProtocolOptions, TransportOptions,
};
use crate::scenario::keys::Preset::{Boolean, Integer, Otherwise, Text};

/// Options of Multipath QUIC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MpquicOptions {
    /// Whether slow start ends when delays grow.
    pub hystart: bool,
    /// Whether paths are opened by a handshake and validated.
    pub handshake: bool,
    /// The name of the path of the handshake; `None` is the first path.
    pub initial_path: Option<String>,
    /// Whether the ends understand congestion marks.
    pub ecn: bool,
    /// Whether controllers that state no rate pace packets.
    pub pacing: bool,
}

/// Size of the headers of UDP over IPv4.
const UDP: u32 = 28;

fn own(options: &mut TransportOptions) -> &mut MpquicOptions {
    match &mut options.own {
        OwnOptions::Mpquic(own) => own,
        _ => unreachable!("the protocol is Multipath QUIC"),
    }
}

impl ProtocolOptions for MpquicOptions {
    const INFO: ProtocolInfo = ProtocolInfo {
        name: "[transport] protocol = \"mpquic\"",
        doc: "The endpoints: Multipath QUIC (draft-ietf-quic-multipath-21), one stream over \
            several paths. Losses and probe timeouts are those of RFC 9002.",
        options: &[
            common::PROTOCOL,
            common::CONGESTION_CONTROL,
            common::INITIAL_WINDOW,
            common::RECEIVE_BUFFER,
            common::SEND_BUFFER,
            common::PACKET,
            common::ACK_EVERY.of(Integer(2), "Packets per acknowledgement (RFC 9000 section 13.2.2)."),
            common::ACK_DELAY
                .of(Text("25ms"), "The longest that an acknowledgement is held back (max_ack_delay)."),
            common::INITIAL_SSTHRESH,
            common::GROW_IN_RECOVERY,
            common::MAX_BURST,
            common::RTO_INITIAL.of(Text("1s"), "The probe timeout before the first round-trip sample."),
            common::RTO_MAX.of(
                Text("60s"),
                "The longest probe timeout after backoff; it is never shorter than a measured round trip.",
            ),
            common::PATH_MAX_RETRANSMISSIONS.of(
                Integer(2),
                "After more consecutive probe timeouts than this, a path takes no new data while \
                 another path works.",
            ),
            common::ASSOCIATION_MAX_RETRANSMISSIONS,
            TransportOption {
                doc: "True: a path takes no new data after one probe timeout whose probes are not \
                    answered within a round trip.",
                ..common::POTENTIALLY_FAILED
            },
            option(
                "hystart",
                Boolean(false),
                "True: slow start ends when delays grow (HyStart++, RFC 9406).",
                |options| OptionField::Truth(&mut own(options).hystart),
            ),
            option(
                "handshake",
                Boolean(true),
                "True: a handshake opens the connection, and then validation opens its other \
                 paths. False: all paths are open from the start, without a measured round trip.",
                |options| OptionField::Truth(&mut own(options).handshake),
            ),
            option("initial_path", Otherwise("the first path"), "The path of the handshake.", |options| {
                OptionField::Path(&mut own(options).initial_path)
            }),
            option(
                "ecn",
                Boolean(false),
                "True: a queue's discipline may mark packets instead of dropping them (RFC 9000 \
                 section 13.4).",
                |options| OptionField::Truth(&mut own(options).ecn),
            ),
            option(
                "pacing",
                Boolean(false),
                "Whether packets leave evenly, at 5/4 of a window per round trip, with bursts of \
                 an initial window after pauses (RFC 9002 section 7.7). BBR always paces, by its \
                 own rate.",
                |options| OptionField::Truth(&mut own(options).pacing),
            ),
        ],
        later: &[],
    };

    const UNREAD: Self =
        Self { hystart: false, handshake: true, initial_path: None, ecn: false, pacing: false };

    fn overhead(&self, _protocol: Protocol) -> Overhead {
        Overhead::MPQUIC
    }

    /// The whole content of the UDP datagram counts (RFC 9002 section 2).
    fn counted(&self, overhead: &Overhead) -> u32 {
        overhead.of_data() - UDP
    }

    fn initial_path(&self) -> Option<&str> {
        self.initial_path.as_deref()
    }

    fn tcp(&self) -> MptcpOptions {
        MptcpOptions { ecn: self.ecn, ..MptcpOptions::DEFAULT }
    }

    fn config(&self, options: &TransportOptions, setup: &ConnectionSetup) -> endpoint::Config {
        let mut connection = options.connection();
        connection.congestion.hystart = self.hystart;
        connection.rto.rule = RtoRule::Probe { ack_delay: options.ack_delay };
        let config = mpquic::Config {
            watchful: false,
            connection,
            ack_every: options.ack_every(),
            ack_delay: options.ack_delay,
            handshake: self.handshake,
            initial_path: setup.initial_path,
            ecn: self.ecn,
            pacing: self.pacing,
        };
        config.into()
    }
}
