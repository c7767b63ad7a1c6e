//! `scheduler`: the choice of the scheduler.

use std::path::Path;

use plait_sched::registry::known_elsewhere;
use plait_sched::{Builtin, OPTIONS, RegistryError, Value};

use super::reader::{Item, Reader, Source, nearest, shown};
use super::{document, keys};
use crate::error::ScenarioError;

/// A built-in scheduler by name, with its options and a value for each of its parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedulerChoice {
    name: String,
    parameters: Vec<(String, Parameter)>,
}

/// A value of a scheduler's parameter: an owned [`plait_sched::Value`].
#[derive(Clone, PartialEq, Debug)]
pub enum Parameter {
    /// A whole number.
    Integer(i64),
    /// A truth value.
    Boolean(bool),
    /// A number with a fraction.
    Number(f64),
    /// A word.
    Text(String),
}

impl Parameter {
    /// The same value, borrowed.
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Integer(number) => Value::Integer(*number),
            Self::Boolean(truth) => Value::Boolean(*truth),
            Self::Number(number) => Value::Number(*number),
            Self::Text(text) => Value::Text(text),
        }
    }
}

impl From<Value<'_>> for Parameter {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Integer(number) => Self::Integer(number),
            Value::Boolean(truth) => Self::Boolean(truth),
            Value::Number(number) => Self::Number(number),
            Value::Text(text) => Self::Text(text.to_owned()),
        }
    }
}

impl SchedulerChoice {
    /// Checks the name and the given parameters; other parameters get their defaults.
    ///
    /// # Errors
    /// If there is no such scheduler or parameter, or if a value is invalid.
    pub fn new(name: &str, given: &[(&str, Value<'_>)]) -> Result<Self, RegistryError> {
        let built = Builtin::new(name, given)?;
        let described = plait_sched::registry::info(name).map_or(&[][..], |info| info.parameters);
        // Leaves out options that are suffixes of the name, and options that were not given.
        let changed = OPTIONS.iter().filter(|option| option.suffix.is_none()).map(|option| &option.parameter);
        let changed = changed.filter(|parameter| given.iter().any(|(name, _)| *name == parameter.name));
        let parameters = described
            .iter()
            .chain(changed)
            .map(|parameter| {
                let given = given.iter().find(|(name, _)| *name == parameter.name).map(|(_, value)| *value);
                let value = match (given.unwrap_or(parameter.default), parameter.domain) {
                    // If the domain is any number, a whole number is the same number.
                    (Value::Integer(number), plait_sched::Domain::Number { .. }) => {
                        Parameter::Number(number as f64)
                    }
                    (value, _) => value.into(),
                };
                (parameter.name.to_owned(), value)
            })
            .collect();
        Ok(Self { name: built.to_string(), parameters })
    }

    /// Reads a name, or a table of name and parameters, in JSON. Errors name `origin` as the file.
    ///
    /// # Errors
    /// If the text is not a valid choice.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, ScenarioError> {
        let source = Source { file: origin, base: Path::new("") };
        let table = document::from_json(&format!("{{\"scheduler\":{text}}}"), origin)?;
        Self::read(&Reader::new(source, String::new(), table, &keys::TOP)?.need("scheduler")?)
    }

    /// The scheduler's name with a suffix for each option, in one spelling: `lowest-rtt+rp`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every parameter of its own and its value, in the order of the scheduler's description, then
    /// the given parameters of options.
    pub fn parameters(&self) -> &[(String, Parameter)] {
        &self.parameters
    }

    /// Builds the scheduler.
    ///
    /// # Panics
    /// Never: the choice is checked on construction.
    pub fn build(&self) -> Builtin {
        let given: Vec<_> =
            self.parameters.iter().map(|(name, value)| (name.as_str(), value.value())).collect();
        Builtin::new(&self.name, &given).expect("a scheduler's choice is checked when it is made")
    }
}

impl SchedulerChoice {
    pub(super) fn read(item: &Item<'_>) -> Result<Self, ScenarioError> {
        let refused = |error: RegistryError| item.source.rule(item.place.clone(), with_nearest(&error));
        match &item.value {
            toml::Value::String(name) => Self::new(name, &[]).map_err(refused),
            toml::Value::Table(table) => {
                let name = match table.get("name") {
                    Some(toml::Value::String(name)) => name,
                    Some(other) => {
                        let reason = format!("name is {}: expected a scheduler's name", shown(other));
                        return Err(item.source.rule(item.place.clone(), reason));
                    }
                    None => return Err(item.source.missing(item.place.clone(), "name")),
                };
                let mut given = Vec::new();
                for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
                    let value = match value {
                        toml::Value::Integer(number) => Value::Integer(*number),
                        toml::Value::Boolean(truth) => Value::Boolean(*truth),
                        toml::Value::Float(number) => Value::Number(*number),
                        toml::Value::String(text) => Value::Text(text),
                        _ => {
                            let reason =
                                format!("parameter {key:?} is {}: no parameter takes that", shown(value));
                            return Err(item.source.rule(item.place.clone(), reason));
                        }
                    };
                    given.push((key.as_str(), value));
                }
                Self::new(name, &given).map_err(refused)
            }
            _ => Err(item.mistyped()),
        }
    }
}

/// The error's text, with the name that was most likely meant.
fn with_nearest(error: &RegistryError) -> String {
    let near = match error {
        // The error's text already has a hint.
        RegistryError::UnknownScheduler { name } if known_elsewhere(name.as_str()).is_some() => None,
        RegistryError::UnknownScheduler { name } => {
            let known: Vec<_> = plait_sched::SCHEDULERS.iter().map(|info| info.name).collect();
            nearest(name.as_str(), &known)
        }
        RegistryError::UnknownParameter { scheduler, name } => {
            let known: Vec<_> = scheduler.parameters.iter().map(|parameter| parameter.name).collect();
            nearest(name.as_str(), &known)
        }
        _ => None,
    };
    near.map_or(error.to_string(), |near| format!("{error} (did you mean {near}?)"))
}
