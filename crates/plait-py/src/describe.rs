//! Schedulers, keys and units, as text and JSON.

use crate::bad_input;
use plait_sched::params::OptionInfo;
use plait_sched::{Capabilities, Domain, OPTIONS, ParameterInfo, SCHEDULERS, Value, units};
use plait_sim::recorder::verdict::Verdict;
use plait_sim::scenario::keys::{Preset, tables};
use pyo3::prelude::*;
use serde_json::json;

/// Adds this file's functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_keys, module)?)?;
    module.add_function(wrap_pyfunction!(verdicts, module)?)?;
    module.add_function(wrap_pyfunction!(parse_duration, module)?)?;
    module.add_function(wrap_pyfunction!(parse_rate, module)?)?;
    module.add_function(wrap_pyfunction!(parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(measurement, module)?)
}

/// Returns the hash of the code that makes metrics of runs and of captures: see `build.rs`.
#[pyfunction]
fn measurement() -> &'static str {
    env!("PLAIT_MEASUREMENT")
}

fn value(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::Integer(number) => json!(number),
        Value::Boolean(truth) => json!(truth),
        Value::Number(number) => json!(number),
        Value::Text(text) => json!(text),
    }
}

fn needs(needs: Capabilities) -> Vec<&'static str> {
    let needed = Capabilities::EACH.iter().filter(|(_, one)| needs.contains(*one));
    needed.map(|(name, _)| *name).collect()
}

fn parameter(info: &ParameterInfo) -> serde_json::Value {
    let kind = match info.domain {
        Domain::Integer { .. } => "integer",
        Domain::Number { .. } => "number",
        Domain::Boolean => "boolean",
        Domain::Choice(_) => "choice",
    };
    json!({
        "name": info.name,
        "kind": kind,
        "default": value(&info.default),
        "doc": info.doc,
        "choices": info.domain.to_string(),
    })
}

fn option(info: &OptionInfo) -> serde_json::Value {
    let mut option = parameter(&info.parameter);
    option["suffix"] = info.suffix.into();
    option["needs"] = needs(info.needs).into();
    option["source"] = info.source.into();
    option
}

#[pyfunction]
fn schedulers() -> String {
    let options: Vec<_> = OPTIONS.iter().map(option).collect();
    let entries = SCHEDULERS.iter().map(|info| {
        json!({
            "name": info.name,
            "title": info.title,
            "summary": info.summary,
            "source": info.source,
            "needs": needs(info.needs),
            "parameters": info.parameters.iter().map(parameter).collect::<Vec<_>>(),
            "options": options,
        })
    });
    serde_json::Value::Array(entries.collect()).to_string()
}

#[pyfunction]
fn scenario_keys() -> String {
    let entries = tables().flat_map(|table| {
        table.keys.iter().map(|key| {
            let default = match key.default {
                Preset::Required => json!(null),
                Preset::Otherwise(words) => json!(words),
                Preset::Text(text) => json!(text),
                Preset::Integer(number) => json!(number),
                Preset::Boolean(truth) => json!(truth),
            };
            json!({"table": table.name, "key": key.key, "kind": key.kind, "default": default, "doc": key.doc})
        })
    });
    serde_json::Value::Array(entries.collect()).to_string()
}

#[pyfunction]
fn verdicts() -> String {
    let entries = Verdict::ALL
        .iter()
        .map(|one| json!({"name": one.name(), "kind": one.kind().name(), "meaning": one.meaning()}));
    serde_json::Value::Array(entries.collect()).to_string()
}

#[pyfunction]
fn parse_duration(text: &str) -> PyResult<u64> {
    units::parse_duration(text).map(plait_sched::Duration::as_nanos).map_err(bad_input)
}

#[pyfunction]
fn parse_rate(text: &str) -> PyResult<u64> {
    units::parse_rate(text).map_err(bad_input)
}

#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    units::parse_bytes(text).map_err(bad_input)
}
