//! An option of `[transport]`: its key, and the field that it sets. Unit, reader and writer follow
//! from the field.

use std::ops::RangeInclusive;

use plait_sched::Duration;
use plait_sched::units::parse_packets;
use plait_transport::congestion::Family;
use serde_json::Value;

use super::{CongestionControl, Profile, Protocol, TransportOptions};
use crate::error::ScenarioError;
use crate::scenario::keys::{DURATION, KeyInfo, Preset, SIZE, SIZE_OR_UNLIMITED, TRUTH, WHOLE};
use crate::scenario::reader::{Item, MAX_BYTES, UNLIMITED, Word};
use crate::scenario::text;

/// Largest number of packets, retransmissions and the like.
pub(super) const MAX_COUNT: u32 = 1_000_000;

/// An option: the only source of its key, default, unit, range and meaning.
#[derive(Clone, Copy)]
pub(super) struct TransportOption {
    pub(super) key: &'static str,
    pub(super) default: Preset,
    /// The default with profile `linux`, if it differs from `default`.
    pub(super) linux: Option<Preset>,
    pub(super) doc: &'static str,
    /// Returns the field that it sets. Only the profile and the packet's size are read before it.
    pub(super) field: for<'a> fn(&'a mut TransportOptions) -> OptionField<'a>,
}

pub(super) const fn option(
    key: &'static str,
    default: Preset,
    doc: &'static str,
    field: for<'a> fn(&'a mut TransportOptions) -> OptionField<'a>,
) -> TransportOption {
    TransportOption { key, default, linux: None, doc, field }
}

impl TransportOption {
    /// Sets another default for profile `linux`.
    pub(super) const fn linux(self, default: Preset) -> Self {
        Self { linux: Some(default), ..self }
    }

    /// The same option of a protocol with another default and another description.
    pub(super) const fn of(self, default: Preset, doc: &'static str) -> Self {
        Self { default, linux: None, doc, ..self }
    }

    /// The default with a profile.
    pub(super) fn preset(&self, profile: Profile) -> Preset {
        match profile {
            Profile::Standard => self.default,
            Profile::Linux => self.linux.unwrap_or(self.default),
        }
    }

    /// The key for the tables, with its default in `profile`. `options` are any of the protocol's.
    pub(super) fn info(&self, options: &mut TransportOptions, profile: Profile) -> KeyInfo {
        let field = (self.field)(options);
        KeyInfo {
            key: self.key,
            kind: field.kind(),
            default: self.preset(profile),
            doc: field.words(self.doc),
        }
    }
}

/// The field of an option, with its smallest and its largest valid value.
pub(super) enum OptionField<'a> {
    Span(&'a mut Duration, RangeInclusive<Duration>),
    /// Nanoseconds, possibly negative, up to this magnitude.
    Offset(&'a mut i64, Duration),
    Bytes(&'a mut u64, RangeInclusive<u64>),
    /// The size of a packet.
    Packet(&'a mut u32, RangeInclusive<u64>),
    BytesOrUnlimited(&'a mut Option<u64>, RangeInclusive<u64>),
    /// In bytes, or in packets of this many counted bytes.
    Window(&'a mut u64, u64),
    Count(&'a mut u32, RangeInclusive<u32>),
    /// 0 is no limit.
    Limit(&'a mut Option<u32>),
    Truth(&'a mut bool),
    Word(&'a mut dyn Choice),
    Protocol(&'a mut Protocol),
    Controller(&'a mut CongestionControl, Family),
    /// `None` is the first path.
    Path(&'a mut Option<String>),
}

/// A [`Word`] of any type.
pub(super) trait Choice {
    fn read(&mut self, item: &Item<'_>) -> Result<(), ScenarioError>;
    fn spelled(&self) -> &'static str;
    fn words(&self) -> Vec<&'static str>;
}

impl<T: Word> Choice for T {
    fn read(&mut self, item: &Item<'_>) -> Result<(), ScenarioError> {
        *self = item.word()?;
        Ok(())
    }

    fn spelled(&self) -> &'static str {
        self.word()
    }

    fn words(&self) -> Vec<&'static str> {
        T::WORDS.iter().map(|(word, _)| *word).collect()
    }
}

impl OptionField<'_> {
    /// The kind of value of the key.
    fn kind(&self) -> &'static str {
        match self {
            Self::Span(..) => DURATION,
            Self::Offset(..) => "a duration such as \"20ms\" or \"-20ms\"",
            Self::Bytes(..) | Self::Packet(..) => SIZE,
            Self::BytesOrUnlimited(..) => SIZE_OR_UNLIMITED,
            Self::Window(..) => "a size such as \"4380B\", or packets such as \"10p\"",
            Self::Count(..) | Self::Limit(_) => WHOLE,
            Self::Truth(_) => TRUTH,
            Self::Word(choice) => alternatives(&choice.words()),
            Self::Protocol(protocol) => alternatives(&protocol.words()),
            Self::Controller(_, family) => alternatives(&CongestionControl::names(Some(*family))),
            Self::Path(_) => "a path's name",
        }
    }

    /// The key's meaning, with the list of choices inserted.
    fn words(&self, doc: &'static str) -> &'static str {
        match self {
            Self::Controller(..) => lasting(CongestionControl::explained(doc)),
            Self::Protocol(_) => lasting(doc.replace("{protocols}", &listed(Protocol::TITLES, ", or "))),
            _ => doc,
        }
    }

    /// Reads the option.
    pub(super) fn read(self, item: &Item<'_>) -> Result<(), ScenarioError> {
        match self {
            Self::Span(field, range) => *field = item.duration(range)?,
            Self::Offset(field, most) => *field = item.signed_duration(most)?,
            Self::Bytes(field, range) => *field = item.bytes(&range)?,
            Self::Packet(field, range) => *field = item.bytes(&range)? as u32,
            Self::BytesOrUnlimited(field, range) => *field = item.bytes_or_unlimited(&range)?,
            Self::Window(field, counted) => *field = window(item, counted)?,
            Self::Count(field, range) => *field = item.integer(range)?,
            Self::Limit(field) => *field = Some(item.integer(0..=MAX_COUNT)?).filter(|&limit| limit > 0),
            Self::Truth(field) => *field = item.boolean()?,
            Self::Word(choice) => choice.read(item)?,
            Self::Protocol(protocol) => protocol.read(item)?,
            Self::Controller(field, family) => *field = CongestionControl::read(item, family)?,
            Self::Path(field) => *field = Some(item.name()?),
        }
        Ok(())
    }

    /// Writes the option in the reader's format; `None` for a path that was not given.
    pub(super) fn write(&self) -> Option<Value> {
        Some(match self {
            Self::Span(span, _) => text::duration(**span).into(),
            Self::Offset(nanos, _) => {
                let sign = if **nanos < 0 { "-" } else { "" };
                format!("{sign}{}", text::duration(Duration::from_nanos(nanos.unsigned_abs()))).into()
            }
            Self::Bytes(bytes, _) | Self::Window(bytes, _) => text::bytes(**bytes).into(),
            Self::Packet(bytes, _) => text::bytes(u64::from(**bytes)).into(),
            Self::BytesOrUnlimited(bytes, _) => {
                bytes.map_or_else(|| UNLIMITED.to_owned(), text::bytes).into()
            }
            Self::Count(count, _) => (**count).into(),
            Self::Limit(limit) => limit.unwrap_or(0).into(),
            Self::Truth(truth) => (**truth).into(),
            Self::Word(choice) => choice.spelled().into(),
            Self::Protocol(protocol) => protocol.spelled().into(),
            Self::Controller(control, _) => control.name().into(),
            Self::Path(name) => name.as_deref()?.into(),
        })
    }
}

/// A window in bytes, or in packets of `counted` bytes.
fn window(item: &Item<'_>, counted: u64) -> Result<u64, ScenarioError> {
    match parse_packets(item.text()?) {
        Ok(packets) if (1..=u64::from(MAX_COUNT)).contains(&packets) => Ok(packets * counted),
        Ok(_) => Err(item.wrong(format!("must be from 1p to {}", text::packets(u64::from(MAX_COUNT))))),
        Err(_) => item.bytes(&(1..=MAX_BYTES)),
    }
}

/// The words in the form of a key's kind: `"a", "b" or "c"`.
fn alternatives(words: &[&'static str]) -> &'static str {
    let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    lasting(listed(&quoted, " or "))
}

/// A list in a sentence, with `last` before its last item.
pub(super) fn listed<T: AsRef<str>>(items: &[T], last: &str) -> String {
    let mut list = String::new();
    for (index, item) in items.iter().enumerate() {
        list.push_str(match index {
            0 => "",
            _ if index + 1 == items.len() => last,
            _ => ", ",
        });
        list.push_str(item.as_ref());
    }
    list
}

/// Leaks a text for the rest of the program's life: tables are built once.
fn lasting(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
