//! `[transport]`: the behaviour of the endpoints.
//!
//! A protocol is a file here and an entry of the table below. The file has the protocol's options
//! in a scenario, and builds the configuration of its ends from them (`ProtocolOptions`). An option
//! is an entry of its protocol's file, or of `common` if several protocols have it, and a field
//! beside it. The entry has key, default, meaning, and the field that it sets. Unit, reader and
//! writer follow from the field's type.

mod cmt_sctp;
mod common;
mod connection;
mod control;
mod mpquic;
mod mptcp;
mod option;
mod read;

pub use cmt_sctp::{RetransmissionPolicy, WindowAccounting};
pub use common::TransportOptions;
pub use control::CongestionControl;
pub use mptcp::Profile;

use std::sync::LazyLock;

use plait_sched::PathId;
use plait_transport::congestion::Family;
use plait_transport::endpoint;
use plait_transport::packet::Overhead;

use super::keys::TableInfo;
use super::reader::Word;
use option::TransportOption;

/// A protocol's own options. The default methods are those of most protocols.
trait ProtocolOptions: Sized {
    /// Its table `[transport]`: name, meaning, options.
    const INFO: ProtocolInfo;
    /// Its own options before anything is read.
    const UNREAD: Self;

    /// The bytes that `protocol` adds to payload on the wire.
    fn overhead(&self, protocol: Protocol) -> Overhead;

    /// The configuration of both ends, from its own and the common options.
    fn config(&self, options: &TransportOptions, setup: &ConnectionSetup) -> endpoint::Config;

    /// Bytes of `overhead` that count in congestion windows with each data packet.
    fn counted(&self, overhead: &Overhead) -> u32;

    /// The family of its congestion controllers.
    fn controllers(&self) -> Family {
        Family::Tcp
    }

    /// The behaviour of its TCP.
    fn profile(&self) -> Profile {
        Profile::Standard
    }

    /// The default behaviour of its TCP.
    fn preset_profile() -> Profile {
        Profile::Standard
    }

    /// Sets the profile, which is read before all other options. Only protocols with the key
    /// `profile` have other profiles than the standard.
    fn set_profile(&mut self, _profile: Profile) {}

    /// The name of the path that is opened first, if it was given.
    fn initial_path(&self) -> Option<&str> {
        None
    }

    /// The reason why `protocol` does not support this number of paths, if there is one.
    fn refuses_paths(_protocol: Protocol, _paths: usize) -> Option<String> {
        None
    }

    /// The TCP options of a competing flow of TCP.
    fn tcp(&self) -> MptcpOptions {
        MptcpOptions::DEFAULT
    }
}

/// The description of a protocol in scenarios.
struct ProtocolInfo {
    name: &'static str,
    doc: &'static str,
    /// In the order of the documentation.
    options: &'static [TransportOption],
    /// Keys that are not available yet.
    later: &'static [&'static str],
}

/// The endpoints' configuration beside the options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionSetup {
    /// The path that is opened first.
    pub(crate) initial_path: PathId,
    /// True if both ends have data to send.
    pub(crate) two_way: bool,
}

/// Generates from one entry per file, with the file's protocols: the choices and the dispatch.
macro_rules! protocols {
    ($($(#[$meta:meta])* $own:ident($module:ident::$options:ident) {
        $($(#[$protocol_meta:meta])* $protocol:ident = $word:literal, $title:literal;)+
    })*) => {
        $(pub use $module::$options;)*

        /// The transport protocol of the endpoints.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Protocol {
            $($($(#[$protocol_meta])* $protocol,)+)*
        }

        impl Word for Protocol {
            const WORDS: &'static [(&'static str, Self)] = &[$($(($word, Self::$protocol),)+)*];
        }

        /// Options that only one of the protocols has.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum OwnOptions {
            $($(#[$meta])* $own($module::$options),)*
        }

        /// In the order of the documentation, each with the first of its protocols.
        const FILES: &[(Protocol, ProtocolInfo)] =
            &[$((first(&[$(Protocol::$protocol),+]), <$module::$options as ProtocolOptions>::INFO),)*];

        /// The index of a file among them.
        enum ProtocolFile {
            $($own,)*
        }

        impl Protocol {
            /// The protocols' titles, in the order of the words.
            const TITLES: &'static [&'static str] = &[$($($title,)+)*];

            const fn index(self) -> usize {
                match self {
                    $($(Self::$protocol => ProtocolFile::$own as usize,)+)*
                }
            }

            const fn unread(self) -> OwnOptions {
                match self {
                    $($(Self::$protocol => OwnOptions::$own(<$module::$options as ProtocolOptions>::UNREAD),)+)*
                }
            }

            /// The default behaviour of its TCP.
            fn preset_profile(self) -> Profile {
                match self {
                    $($(Self::$protocol => <$module::$options as ProtocolOptions>::preset_profile(),)+)*
                }
            }

            /// The reason why it does not support this number of paths, if there is one.
            pub(super) fn refuses_paths(self, paths: usize) -> Option<String> {
                match self {
                    $($(Self::$protocol => <$module::$options as ProtocolOptions>::refuses_paths(self, paths),)+)*
                }
            }
        }

        /// Calls a method of the protocol's own options.
        macro_rules! ask {
            ($own_options:expr, $it:ident => $call:expr) => {
                match $own_options {
                    $(OwnOptions::$own($it) => $call,)*
                }
            };
        }
    };
}

protocols! {
    /// Options of CMT-SCTP.
    CmtSctp(cmt_sctp::CmtSctpOptions) {
        /// SCTP with concurrent multipath transfer (Iyengar et al. 2006).
        CmtSctp = "cmt-sctp", "SCTP with concurrent multipath transfer";
    }
    /// Options of MPTCP and TCP.
    Mptcp(mptcp::MptcpOptions) {
        /// MPTCP (RFC 8684).
        Mptcp = "mptcp", "MPTCP";
        /// TCP over one path.
        Tcp = "tcp", "TCP over one path";
    }
    /// Options of Multipath QUIC.
    Mpquic(mpquic::MpquicOptions) {
        /// Multipath QUIC (draft-ietf-quic-multipath-21).
        Mpquic = "mpquic", "Multipath QUIC";
    }
}

const fn first(protocols: &[Protocol]) -> Protocol {
    protocols[0]
}

static TABLES: LazyLock<Vec<TableInfo>> = LazyLock::new(|| {
    let table = |(protocol, info): &(Protocol, ProtocolInfo)| {
        let mut any = TransportOptions::unread(*protocol, protocol.unread());
        let keys: Vec<_> =
            info.options.iter().map(|option| option.info(&mut any, protocol.preset_profile())).collect();
        TableInfo { name: info.name, doc: info.doc, keys: keys.leak(), later: info.later }
    };
    FILES.iter().map(table).collect()
});

/// The tables of all protocols' keys.
pub(super) fn tables() -> &'static [TableInfo] {
    &TABLES
}

impl Protocol {
    /// The default protocol, the most widely available one for several paths.
    const PRESET: Self = Self::Mptcp;
    const PRESET_NAME: &'static str = "mptcp";

    /// The protocol's name in scenarios.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// The table of its keys.
    pub(super) fn table(self) -> &'static TableInfo {
        &TABLES[self.index()]
    }

    const fn options(self) -> &'static [TransportOption] {
        FILES[self.index()].1.options
    }

    /// The words of the protocols whose default controllers are (`has`) or are not those of
    /// `family`.
    fn words_with(family: Family, has: bool) -> Vec<&'static str> {
        let it = |&&(_, protocol): &&(&str, Self)| {
            (ask!(protocol.unread(), own => own.controllers()) == family) == has
        };
        Self::WORDS.iter().filter(it).map(|&(word, _)| word).collect()
    }
}

/// More than any link holds.
const UNBOUNDED_BUFFER: u64 = 1 << 40;

/// A large buffer for profile `linux`, in which acknowledgements depend on the window's distance
/// from the buffer.
const LARGE_BUFFER: u64 = 1 << 24;

impl TransportOptions {
    /// The bytes that the protocol adds to payload on the wire.
    pub fn overhead(&self) -> Overhead {
        ask!(&self.own, own => own.overhead(self.protocol))
    }

    /// The behaviour of its TCP.
    pub fn profile(&self) -> Profile {
        ask!(&self.own, own => own.profile())
    }

    /// Sets the behaviour of its TCP, before all other options are read.
    fn set_profile(&mut self, profile: Profile) {
        ask!(&mut self.own, own => own.set_profile(profile));
    }

    /// The family of its congestion controllers.
    pub fn controllers(&self) -> Family {
        ask!(&self.own, own => own.controllers())
    }

    /// The name of the path that is opened first, if it was given.
    pub fn initial_path(&self) -> Option<&str> {
        ask!(&self.own, own => own.initial_path())
    }

    /// Bytes of headers that count in congestion windows with each data packet.
    pub fn counted_overhead(&self) -> u32 {
        ask!(&self.own, own => own.counted(&self.overhead()))
    }

    /// The configuration of both ends of a connection.
    pub(crate) fn config(&self, setup: &ConnectionSetup) -> endpoint::Config {
        ask!(&self.own, own => own.config(self, setup))
    }

    /// The options of a competing flow of TCP: the scenario's, but never limited by its receiver.
    /// `control` is the flow's own congestion control, if it has one. Coupled congestion control
    /// has no use on one path: NewReno replaces it.
    pub(crate) fn of_tcp_flow(&self, control: Option<&CongestionControl>) -> Self {
        let control = control.unwrap_or(&self.congestion_control);
        Self {
            protocol: Protocol::Tcp,
            own: OwnOptions::Mptcp(ask!(&self.own, own => own.tcp())),
            congestion_control: match control.algorithm(Family::Tcp) {
                Some(algorithm) if !algorithm.is_coupled() => control.clone(),
                None if control.is_own() => control.clone(),
                _ => CongestionControl::NEWRENO,
            },
            receive_buffer: match self.profile() {
                Profile::Standard => UNBOUNDED_BUFFER,
                Profile::Linux => LARGE_BUFFER,
            },
            send_buffer: None,
            ..self.clone()
        }
    }

    /// The options of a second connection like the scenario's own. `control` is its own congestion
    /// control, if it has one.
    pub(crate) fn of_multipath_flow(&self, control: Option<&CongestionControl>) -> Self {
        let congestion_control = control.unwrap_or(&self.congestion_control).clone();
        Self { congestion_control, ..self.clone() }
    }

    /// Bytes that a full packet counts in windows.
    pub fn counted_packet(&self) -> f64 {
        f64::from(self.packet - self.overhead().of_data() + self.counted_overhead())
    }
}
