//! `discipline`: the rule by which a link selects the next packet. A discipline's description
//! ([`link::discipline`](crate::link::discipline)) is the only source of information about it; the
//! tables of keys follow from these descriptions.

use std::sync::LazyLock;

use plait_sched::Duration;
use serde_json::{Map, Value, json};

use super::keys::{KeyInfo, Preset, TableInfo};
use super::reader::{Item, Reader, unknown};
use super::text;
use crate::error::ScenarioError;
use crate::link::discipline::{self, DISCIPLINES, Info, Parameter, Settings, Unit};

/// The discipline without parameters, which decides when a packet arrives.
const DROP_TAIL: &str = "drop-tail";

/// A table for each discipline with parameters.
static TABLES: LazyLock<Vec<TableInfo>> = LazyLock::new(|| DISCIPLINES.iter().map(table).collect());

/// A table for each discipline with parameters, in the order of the list.
pub(super) fn tables() -> &'static [TableInfo] {
    &TABLES
}

/// Leaks a name for the rest of the program's life. There are only as many as disciplines.
fn lasting(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn table(info: &'static Info) -> TableInfo {
    let name = KeyInfo {
        key: "name",
        kind: lasting(format!("a discipline: {}", names().join(", "))),
        default: Preset::Required,
        doc: "The discipline.",
    };
    let keys: Vec<KeyInfo> = std::iter::once(name).chain(info.parameters.iter().map(key)).collect();
    let limit = text::packets(info.limit);
    TableInfo {
        name: lasting(format!("discipline = {{ name = \"{}\" }}", info.name)),
        doc: lasting(format!("{} Unless it is given, {limit}.", info.doc)),
        keys: keys.leak(),
        later: &[],
    }
}

fn key(parameter: &'static Parameter) -> KeyInfo {
    let kind = match parameter.unit {
        Unit::Duration => "a duration such as \"20ms\"",
        Unit::Bytes => "a size such as \"1514B\"",
        Unit::Count => "a whole number",
        Unit::Truth => "true or false",
    };
    let default = match (parameter.default, parameter.unit) {
        (discipline::Preset::Frame, _) => {
            Preset::Otherwise("the transport's packet and 14 bytes, as in Linux")
        }
        (discipline::Preset::Number(number), Unit::Duration | Unit::Bytes) => {
            Preset::Text(lasting(spelled(parameter.unit, number)))
        }
        (discipline::Preset::Number(number), Unit::Count) => Preset::Integer(number as i64),
        (discipline::Preset::Number(number), Unit::Truth) => Preset::Boolean(number != 0),
    };
    KeyInfo { key: parameter.key, kind, default, doc: parameter.doc }
}

/// Formats an amount with a unit.
fn spelled(unit: Unit, number: u64) -> String {
    if unit == Unit::Duration { text::duration(Duration::from_nanos(number)) } else { text::bytes(number) }
}

fn names() -> Vec<&'static str> {
    std::iter::once(DROP_TAIL).chain(DISCIPLINES.iter().map(|info| info.name)).collect()
}

/// Reads a discipline: its name, or a table with name and parameters. `None` is drop-tail, with
/// which a direction can override its path.
pub(super) fn read(item: Item<'_>, packet: u32) -> Result<Option<Settings>, ScenarioError> {
    if item.value.is_str() {
        let info = named(item.text()?).map_err(|reason| item.wrong(reason))?;
        return Ok(info.map(|info| Settings::preset(info, packet)));
    }
    let table = item.value.as_table().ok_or_else(|| item.mistyped())?;
    let name = match table.get("name") {
        Some(toml::Value::String(name)) => name,
        Some(_) => return Err(item.source.rule(item.place.clone(), "name: expected a discipline's name")),
        None => return Err(item.source.missing(item.place.clone(), "name")),
    };
    let rule = |reason| item.source.rule(format!("{}.name", item.place), format!("\"{name}\": {reason}"));
    let Some(info) = named(name).map_err(rule)? else {
        return match table.keys().find(|key| *key != "name") {
            Some(_) => Err(item.source.rule(item.place.clone(), "drop-tail has no parameters")),
            None => Ok(None),
        };
    };
    let place = DISCIPLINES.iter().position(|one| one.name == info.name).unwrap_or_default();
    let mut reader = item.reader(&tables()[place])?;
    let _ = reader.need("name")?;
    let settings = Settings::new(info, packet, |parameter| amount(&mut reader, parameter))?;
    reader.finish();
    Ok(Some(settings))
}

/// Returns a discipline's description, `None` for drop-tail, or the reason why the name is wrong.
fn named(name: &str) -> Result<Option<&'static Info>, String> {
    match discipline::info(name) {
        None if name != DROP_TAIL => Err(unknown(name, &names())),
        found => Ok(found),
    }
}

fn amount(reader: &mut Reader<'_>, parameter: &'static Parameter) -> Result<Option<u64>, ScenarioError> {
    let (low, high) = parameter.range;
    let Some(item) = reader.take(parameter.key) else { return Ok(None) };
    let amount = match parameter.unit {
        Unit::Duration => item.duration(Duration::from_nanos(low)..=Duration::from_nanos(high))?.as_nanos(),
        Unit::Bytes => item.bytes(&(low..=high))?,
        Unit::Count => item.integer(low..=high)?,
        Unit::Truth => u64::from(item.boolean()?),
    };
    Ok(Some(amount))
}

/// Writes a discipline with all its parameters.
pub(super) fn write(settings: &Settings) -> Value {
    let mut table = Map::new();
    table.insert("name".to_owned(), settings.info().name.into());
    for (parameter, number) in settings.parameters() {
        let value = match parameter.unit {
            Unit::Duration | Unit::Bytes => spelled(parameter.unit, number).into(),
            Unit::Count => json!(number),
            Unit::Truth => (number != 0).into(),
        };
        table.insert(parameter.key.to_owned(), value);
    }
    Value::Object(table)
}
