//! Options of MPTCP and TCP.

use plait_sched::Duration;
use plait_transport::congestion::Family;
use plait_transport::packet::Overhead;
use plait_transport::rtt::RtoRule;
use plait_transport::{ConnectionConfig, endpoint, mptcp};

use super::common::{self, TICK};
use super::option::{OptionField, option};
use super::{ConnectionSetup, OwnOptions, Protocol, ProtocolInfo, ProtocolOptions, TransportOptions};
use crate::scenario::keys::Preset::{Boolean, Otherwise, Text};
use crate::scenario::reader::{MAX_DURATION, Word};

/// The largest receive buffer in Linux (the third number of `net.ipv4.tcp_rmem`).
const LINUX_BUFFER: &str = "6MiB";

/// The longest tick of a clock. Timestamps with longer ticks carry no information.
const MAX_TICK: Duration = Duration::from_secs(1);

/// The TCP whose behaviour the endpoints have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// The TCP of the RFCs.
    Standard,
    /// The TCP of Linux 6.12.
    Linux,
}

impl Word for Profile {
    const WORDS: &'static [(&'static str, Self)] = &[("standard", Self::Standard), ("linux", Self::Linux)];
}

/// Options of MPTCP and TCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MptcpOptions {
    /// The behaviour of TCP.
    pub profile: Profile,
    /// Whether slow start ends when delays grow.
    pub hystart: bool,
    /// Whether subflows are opened by handshakes.
    pub handshake: bool,
    /// The name of the path that is opened first; `None` is the first path.
    pub initial_path: Option<String>,
    /// The tick of the timestamps' clocks.
    pub timestamp_granularity: Duration,
    /// The lead of the receiver's clock over the sender's, in nanoseconds.
    pub clock_offset: i64,
    /// Whether the ends understand congestion marks.
    pub ecn: bool,
}

impl MptcpOptions {
    /// The defaults of a TCP flow beside a connection of another protocol.
    pub(crate) const DEFAULT: Self = Self {
        profile: Profile::Standard,
        hystart: false,
        handshake: true,
        initial_path: None,
        timestamp_granularity: Duration::from_millis(1),
        clock_offset: 0,
        ecn: false,
    };
}

fn own(options: &mut TransportOptions) -> &mut MptcpOptions {
    match &mut options.own {
        OwnOptions::Mptcp(own) => own,
        _ => unreachable!("the protocol is MPTCP or TCP"),
    }
}

impl ProtocolOptions for MptcpOptions {
    const INFO: ProtocolInfo = ProtocolInfo {
        name: "[transport] protocol = \"mptcp\" or \"tcp\"",
        doc: "The endpoints: MPTCP, the default of a scenario without [transport], or TCP over the \
            scenario's only path. They behave like Linux, unless profile says otherwise. The \
            defaults are for profile \"linux\".",
        options: &[
            common::PROTOCOL,
            option(
                "profile",
                Text("linux"),
                "The TCP of Linux 6.12, or the TCP of the RFCs. With linux, newreno and cubic are \
                 Linux' own, hystart is the one of its CUBIC, windows count packets and shrink in \
                 proportion (PRR), losses are found by RACK, the first acknowledgements of a \
                 subflow are not delayed, data that waits behind a gap takes room in the \
                 receiver's window twice, packets may span writes, the variation of the round trip \
                 in the timeout is rto_min at least, further subflows are opened after the first \
                 acknowledged data and carry data once confirmed. With standard, other keys have \
                 other defaults: congestion_control \"newreno\", receive_buffer \"500kB\", hystart \
                 false, ack_every 1, ack_delay \"200ms\", rto_min \"1s\", rto_max \"60s\".",
                |options| OptionField::Word(&mut own(options).profile),
            ),
            common::CONGESTION_CONTROL.linux(Text("cubic")),
            common::INITIAL_WINDOW,
            common::RECEIVE_BUFFER.linux(Text(LINUX_BUFFER)),
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
                "hystart",
                Boolean(false),
                "True: slow start ends when delays grow (HyStart++, RFC 9406).",
                |options| OptionField::Truth(&mut own(options).hystart),
            )
            .linux(Boolean(true)),
            option(
                "handshake",
                Boolean(true),
                "True: handshakes open the subflows, the first one before the others. False: all \
                 are open from the start, without a measured round trip.",
                |options| OptionField::Truth(&mut own(options).handshake),
            ),
            option(
                "initial_path",
                Otherwise("the first path"),
                "The path of the first subflow.",
                |options| OptionField::Path(&mut own(options).initial_path),
            ),
            option(
                "timestamp_granularity",
                Text("1ms"),
                "The tick of the timestamps' clocks, from which one-way delays are estimated.",
                |options| OptionField::Span(&mut own(options).timestamp_granularity, TICK..=MAX_TICK),
            ),
            option(
                "clock_offset",
                Text("0ms"),
                "The receiver's clock minus the sender's; every measured one-way delay contains it.",
                |options| OptionField::Offset(&mut own(options).clock_offset, MAX_DURATION),
            ),
            option(
                "ecn",
                Boolean(false),
                "True: a queue's discipline may mark packets instead of dropping them (RFC 3168).",
                |options| OptionField::Truth(&mut own(options).ecn),
            ),
        ],
        later: &[],
    };

    const UNREAD: Self = Self::DEFAULT;

    fn overhead(&self, protocol: Protocol) -> Overhead {
        match (protocol, self.profile) {
            (Protocol::Tcp, _) => Overhead::TCP,
            (_, Profile::Standard) => Overhead::MPTCP,
            (_, Profile::Linux) => Overhead::LINUX_MPTCP,
        }
    }

    /// Only payload counts.
    fn counted(&self, _overhead: &Overhead) -> u32 {
        0
    }

    fn controllers(&self) -> Family {
        match self.profile {
            Profile::Standard => Family::Tcp,
            Profile::Linux => Family::Linux,
        }
    }

    fn profile(&self) -> Profile {
        self.profile
    }

    fn preset_profile() -> Profile {
        Profile::Linux
    }

    fn set_profile(&mut self, profile: Profile) {
        self.profile = profile;
    }

    fn initial_path(&self) -> Option<&str> {
        self.initial_path.as_deref()
    }

    fn refuses_paths(protocol: Protocol, paths: usize) -> Option<String> {
        let refused = protocol == Protocol::Tcp && paths > 1;
        refused.then(|| format!("tcp has one path, not {paths}; mptcp has several"))
    }

    fn tcp(&self) -> Self {
        self.clone()
    }

    fn config(&self, options: &TransportOptions, setup: &ConnectionSetup) -> endpoint::Config {
        let linux = self.profile == Profile::Linux;
        let multipath = options.protocol == Protocol::Mptcp;
        let mut connection = ConnectionConfig {
            window_in_packets: linux,
            restarts_by_packet: linux && multipath,
            ..options.connection()
        };
        connection.congestion.hystart = self.hystart;
        if linux {
            let options = options.overhead().of_data() - Overhead::TCP.of_data();
            connection.congestion.paced_options = options.into();
        }
        if linux {
            connection.rto.rule = RtoRule::Linux;
        }
        let config = mptcp::Config {
            connection,
            ack_every: options.ack_every(),
            ack_delay: options.ack_delay,
            handshake: self.handshake,
            initial_path: setup.initial_path,
            clock: mptcp::ClockConfig {
                granularity: self.timestamp_granularity,
                sender_offset: 0,
                receiver_offset: self.clock_offset,
            },
            multipath,
            two_way: setup.two_way,
            ecn: self.ecn,
            rules: if linux { mptcp::Rules::LINUX } else { mptcp::Rules::STANDARD },
        };
        config.into()
    }
}
