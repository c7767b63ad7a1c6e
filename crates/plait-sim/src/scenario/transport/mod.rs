//! `[transport]`: how the endpoints behave.
//!
//! An option is an entry of its protocol's file, or of `common` if several have it, and a field beside it: key, default, meaning, and the
//! place that it sets, from whose type unit, reader and writer follow.

mod cmt_sctp;
mod common;
mod control;
mod mpquic;
mod mptcp;
mod option;

pub use cmt_sctp::{CmtSctpOptions, RetransmissionPolicy, WindowAccounting};
pub use common::TransportOptions;
pub use control::CongestionControl;
pub use mpquic::MpquicOptions;
pub use mptcp::{MptcpOptions, Profile};

use std::sync::LazyLock;

use plait_transport::congestion::Family;
use plait_transport::packet::Overhead;
use serde_json::{Map, Value};

use super::keys::{Preset, TableInfo};
use super::reader::{Item, Reader, Source, Word};
use super::text;
use crate::error::ScenarioError;
use option::TransportOption;

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

impl Word for Protocol {
    const WORDS: &'static [(&'static str, Self)] =
        &[("cmt-sctp", Self::CmtSctp), ("mptcp", Self::Mptcp), ("tcp", Self::Tcp), ("mpquic", Self::Mpquic)];
}

/// Options that only one of the protocols has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OwnOptions {
    /// Of CMT-SCTP.
    CmtSctp(CmtSctpOptions),
    /// Of MPTCP and TCP.
    Mptcp(MptcpOptions),
    /// Of Multipath QUIC.
    Mpquic(MpquicOptions),
}

/// What a scenario says of a protocol.
struct ProtocolInfo {
    name: &'static str,
    doc: &'static str,
    /// In the order in which they are listed to users.
    options: &'static [TransportOption],
    /// Keys that are not available yet.
    later: &'static [&'static str],
}

/// The descriptions, in the order in which they are listed to users, each with its protocol.
const PROTOCOLS: [(Protocol, ProtocolInfo); 3] =
    [(Protocol::CmtSctp, cmt_sctp::INFO), (Protocol::Mptcp, mptcp::INFO), (Protocol::Mpquic, mpquic::INFO)];

static TABLES: LazyLock<[TableInfo; 3]> = LazyLock::new(|| {
    PROTOCOLS.map(|(protocol, info)| {
        let mut any = TransportOptions::unread(protocol, protocol.unread());
        let keys: Vec<_> = info.options.iter().map(|option| option.info(&mut any)).collect();
        TableInfo { name: info.name, doc: info.doc, keys: keys.leak(), later: info.later }
    })
});

/// The tables of all protocols' keys.
pub(super) fn tables() -> &'static [TableInfo] {
    &*TABLES
}

impl Protocol {
    /// Its place in the table: TCP is a case of MPTCP.
    const fn place(self) -> usize {
        match self {
            Self::CmtSctp => 0,
            Self::Mptcp | Self::Tcp => 1,
            Self::Mpquic => 2,
        }
    }

    /// The keys.
    pub(super) fn table(self) -> &'static TableInfo {
        &TABLES[self.place()]
    }

    const fn options(self) -> &'static [TransportOption] {
        PROTOCOLS[self.place()].1.options
    }

    /// Its own options before anything is read.
    const fn unread(self) -> OwnOptions {
        match self {
            Self::CmtSctp => cmt_sctp::UNREAD,
            Self::Mptcp | Self::Tcp => OwnOptions::Mptcp(MptcpOptions::DEFAULT),
            Self::Mpquic => mpquic::UNREAD,
        }
    }
}

/// Headers of UDP over IPv4.
const UDP: u32 = 28;

impl TransportOptions {
    /// What the protocol adds to payload on the wire.
    pub const fn overhead(&self) -> Overhead {
        match (self.protocol, self.profile()) {
            (Protocol::CmtSctp, _) => Overhead::SCTP,
            (Protocol::Mptcp, Profile::Standard) => Overhead::MPTCP,
            (Protocol::Mptcp, Profile::Linux) => Overhead::LINUX_MPTCP,
            (Protocol::Tcp, _) => Overhead::TCP,
            (Protocol::Mpquic, _) => Overhead::MPQUIC,
        }
    }

    /// Whose TCP it is.
    pub const fn profile(&self) -> Profile {
        match &self.own {
            OwnOptions::Mptcp(own) => own.profile,
            OwnOptions::CmtSctp(_) | OwnOptions::Mpquic(_) => Profile::Standard,
        }
    }

    /// Whose congestion controllers it has.
    pub const fn controllers(&self) -> Family {
        match (self.protocol, self.profile()) {
            (Protocol::CmtSctp, _) => Family::Sctp,
            (_, Profile::Linux) => Family::Linux,
            (_, Profile::Standard) => Family::Tcp,
        }
    }

    /// The name of the path that is opened first, if it was given.
    pub fn initial_path(&self) -> Option<&str> {
        match &self.own {
            OwnOptions::Mptcp(own) => own.initial_path.as_deref(),
            OwnOptions::Mpquic(own) => own.initial_path.as_deref(),
            OwnOptions::CmtSctp(_) => None,
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
        let mut options = Self::unread(protocol, protocol.unread());
        if let OwnOptions::Mptcp(own) = &mut options.own {
            own.profile = profile;
        }
        // What other options may be depends on the packet.
        let is_packet = |option: &&TransportOption| option.key == common::PACKET.key;
        let all = protocol.options();
        let mut rto_initial = None;
        for option in all.iter().filter(is_packet).chain(all.iter().filter(|option| !is_packet(option))) {
            let item = match option.default {
                Preset::Otherwise(_) => reader.take(option.key),
                _ => Some(reader.need(option.key)?),
            };
            let Some(item) = item else { continue };
            (option.place)(&mut options).read(&item)?;
            if option.key == common::RTO_INITIAL.key {
                rto_initial = Some(item);
            }
        }
        if let Some(item) = rto_initial
            && !(options.rto_min..=options.rto_max).contains(&options.rto_initial)
        {
            let range = format!(
                "rto_min {} to rto_max {}",
                text::duration(options.rto_min),
                text::duration(options.rto_max)
            );
            return Err(item.wrong(format!("must be from {range}")));
        }
        reader.finish();
        Ok(options)
    }

    /// Every option that the protocol has.
    pub(super) fn write(&self) -> Value {
        let mut options = self.clone();
        let mut table = Map::new();
        for option in self.protocol.options() {
            if let Some(value) = (option.place)(&mut options).write() {
                table.insert(option.key.to_owned(), value);
            }
        }
        Value::Object(table)
    }
}

/// The table with the keys of its protocol, which is looked at first.
fn open<'a>(
    item: Option<Item<'a>>,
    source: Source<'a>,
    place: String,
) -> Result<(Protocol, Profile, Reader<'a>), ScenarioError> {
    let first = Protocol::CmtSctp;
    let Some(item) = item else {
        let reader = Reader::new(source, place, toml::Table::new(), first.table())?;
        return Ok((first, Profile::Standard, reader));
    };
    let given = |key: &str| item.value.as_table().is_some_and(|table| table.contains_key(key));
    let protocol = if given("protocol") { item.variant(first.table(), "protocol")? } else { first };
    let table = protocol.table();
    let profile = if given("profile") && table.key("profile").is_some() {
        item.variant(table, "profile")?
    } else {
        Profile::Standard
    };
    let mut reader = item.reader(table)?;
    if profile == Profile::Linux {
        let defaults = protocol.options().iter();
        let defaults: Vec<_> = defaults.filter_map(|option| Some((option.key, option.linux?))).collect();
        reader.prefer(&defaults);
    }
    Ok((protocol, profile, reader))
}
