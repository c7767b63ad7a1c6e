//! Reads and writes the table `[transport]`.

use serde_json::{Map, Value};

use super::option::{TransportOption, listed};
use super::{FILES, Profile, Protocol, TransportOptions, common};
use crate::error::ScenarioError;
use crate::scenario::keys::Preset;
use crate::scenario::reader::{Item, Reader, Source, Word as _};
use crate::scenario::text;

impl TransportOptions {
    /// Reads the options. `item` is the table `[transport]`, if there is one.
    pub(in crate::scenario) fn read(
        item: Option<Item<'_>>,
        source: Source<'_>,
        place: String,
    ) -> Result<Self, ScenarioError> {
        let (protocol, profile, mut reader) = open(item, source, place)?;
        let mut options = Self::unread(protocol, protocol.unread());
        options.set_profile(profile);
        // Valid values of other options depend on the packet.
        let is_packet = |option: &&TransportOption| option.key == common::PACKET.key;
        let all = protocol.options();
        let mut rto_initial = None;
        for option in all.iter().filter(is_packet).chain(all.iter().filter(|option| !is_packet(option))) {
            let item = match option.default {
                Preset::Otherwise(_) => reader.take(option.key),
                _ => Some(reader.need(option.key)?),
            };
            let Some(item) = item else { continue };
            (option.field)(&mut options).read(&item)?;
            if is_packet(&option) {
                options.initial_window = initial_window(options.counted_packet() as u64);
            }
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
        // A window without room for a packet would never open.
        options.initial_window = options.initial_window.max(options.counted_packet() as u64);
        reader.finish();
        Ok(options)
    }

    /// Writes all options of the protocol.
    pub(in crate::scenario) fn write(&self) -> Value {
        let mut options = self.clone();
        let mut table = Map::new();
        for option in self.protocol.options() {
            if let Some(value) = (option.field)(&mut options).write() {
                table.insert(option.key.to_owned(), value);
            }
        }
        Value::Object(table)
    }
}

/// The default initial window of each path, in bytes, if a packet counts `packet` bytes: RFC 9260
/// §7.2.1.
fn initial_window(packet: u64) -> u64 {
    (4 * packet).min(4404.max(2 * packet))
}

/// Opens the table with the keys of its protocol, which is read first.
fn open<'a>(
    item: Option<Item<'a>>,
    source: Source<'a>,
    place: String,
) -> Result<(Protocol, Profile, Reader<'a>), ScenarioError> {
    let preset = Protocol::PRESET;
    let Some(item) = item else {
        let reader = Reader::new(source, place, toml::Table::new(), preset.table())?;
        return Ok((preset, preset.preset_profile(), reader));
    };
    let given = |key: &str| item.value.as_table().is_some_and(|table| table.contains_key(key));
    let protocol = if given("protocol") { item.variant(preset.table(), "protocol")? } else { preset };
    let table = protocol.table();
    let profile = if given("profile") && table.key("profile").is_some() {
        item.variant(table, "profile")?
    } else {
        protocol.preset_profile()
    };
    check_keys(&item, protocol)?;
    let mut reader = item.reader(table)?;
    if profile != protocol.preset_profile() {
        let options = protocol.options().iter();
        let presets: Vec<_> = options
            .filter(|option| option.linux.is_some())
            .map(|option| (option.key, option.preset(profile)))
            .collect();
        reader.prefer(&presets);
    }
    Ok((protocol, profile, reader))
}

/// Refuses a key that only other protocols have, and names these protocols. A user who does not
/// give `protocol` may mean one of them.
fn check_keys(item: &Item<'_>, protocol: Protocol) -> Result<(), ScenarioError> {
    let Some(table) = item.value.as_table() else { return Ok(()) };
    let known = |key: &String| {
        FILES
            .iter()
            .any(|(other, info)| other.table().key(key).is_some() || info.later.contains(&key.as_str()))
    };
    if let Some(key) = table.keys().find(|key| !known(key)) {
        let place = format!("{}.{key}", item.place);
        return Err(item.source.unknown_key(place, key, protocol.table()));
    }
    for key in table.keys().filter(|key| protocol.table().key(key).is_none()) {
        let has = |&&(_, other): &&(&str, Protocol)| other.table().key(key).is_some();
        let others: Vec<_> = Protocol::WORDS.iter().filter(has).map(|(word, _)| *word).collect();
        if others.is_empty() || protocol.table().later.contains(&key.as_str()) {
            continue;
        }
        let unsaid = if table.contains_key("protocol") { "" } else { ", the default protocol," };
        let reason = format!(
            "{}{unsaid} has no such key; protocol = {} has it",
            protocol.name(),
            listed(&others.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>(), " or ")
        );
        return Err(item.source.rule(format!("{}.{key}", item.place), reason));
    }
    Ok(())
}
