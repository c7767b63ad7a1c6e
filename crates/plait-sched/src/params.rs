//! Parameters of schedulers: their descriptions, and the values that a user gave. This module does
//! not know which schedulers and options exist.

use crate::decision::Capabilities;
use crate::text::ShortText;
use core::fmt;

/// A value of a parameter, of a type that TOML, Python and Rust share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// A whole number.
    Integer(i64),
    /// True or false.
    Boolean(bool),
    /// A number with a fraction.
    Number(f64),
    /// A word.
    Text(&'a str),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n) => write!(f, "{n}"),
            Self::Boolean(b) => write!(f, "{b}"),
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(text) => write!(f, "\"{}\"", ShortText::new(text)),
        }
    }
}

/// The values that a parameter may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Domain {
    /// Whole numbers from `min` to `max`, both included.
    Integer {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// Numbers from `min` to `max`, both included. Whole numbers are accepted too.
    Number {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Domain {
    /// True if `value` has the right type, even if it is out of range.
    pub const fn has_type_of(&self, value: &Value<'_>) -> bool {
        matches!(
            (self, value),
            (Self::Integer { .. }, Value::Integer(_))
                | (Self::Number { .. }, Value::Number(_) | Value::Integer(_))
                | (Self::Boolean, Value::Boolean(_))
                | (Self::Choice(_), Value::Text(_))
        )
    }

    /// True if a parameter with this domain may take `value`.
    pub fn contains(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Integer { min, max }, Value::Integer(n)) => (min..=max).contains(&n),
            (Self::Number { min, max }, Value::Number(x)) => (min..=max).contains(&x),
            (Self::Number { min, max }, Value::Integer(n)) => (min..=max).contains(&&(*n as f64)),
            (Self::Boolean, Value::Boolean(_)) => true,
            (Self::Choice(words), Value::Text(text)) => words.contains(text),
            _ => false,
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Self::Boolean => f.write_str("true or false"),
            Self::Choice(words) => {
                for (i, word) in words.iter().enumerate() {
                    let separator = if i == 0 { "" } else { " or " };
                    write!(f, "{separator}\"{word}\"")?;
                }
                Ok(())
            }
        }
    }
}

/// A parameter of a scheduler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ParameterInfo {
    /// The name, as in a scenario file.
    pub name: &'static str,
    /// The effect, with unit and trade-off.
    pub doc: &'static str,
    /// The value used unless the user gives one.
    pub default: Value<'static>,
    /// The values it may take.
    pub domain: Domain,
}

/// A scheduler that can be built by name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SchedulerInfo {
    /// The name, as in a scenario file.
    pub name: &'static str,
    /// The name in prose.
    pub title: &'static str,
    /// The rule, in a sentence.
    pub summary: &'static str,
    /// The source of the rule: paper and algorithm.
    pub source: &'static str,
    /// The capabilities that it needs from an engine.
    pub needs: Capabilities,
    /// Its own parameters; every scheduler takes those of [`OPTIONS`](crate::OPTIONS) too.
    pub parameters: &'static [ParameterInfo],
}

/// A parameter that every built-in scheduler takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OptionInfo {
    /// The parameter.
    pub parameter: ParameterInfo,
    /// The suffix that makes the parameter true: it follows the scheduler's name and a `+`.
    pub suffix: Option<&'static str>,
    /// The capabilities that it needs from an engine if it is true, besides those of the scheduler.
    pub needs: Capabilities,
    /// The source of the option.
    pub source: &'static str,
}

/// An error in the parameters of a scheduler.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is no such parameter.
    Unknown {
        /// The name that the user wrote.
        name: ShortText,
    },
    /// A parameter was given twice.
    Repeated {
        /// The parameter.
        parameter: &'static ParameterInfo,
    },
    /// A value has the wrong type, is out of range, or is not one of the choices.
    BadValue {
        /// The parameter.
        parameter: &'static ParameterInfo,
        /// The value that the user wrote.
        value: ShortText,
        /// True if the type is wrong.
        wrong_type: bool,
    },
}

/// The values that a user gave to the parameters of one scheduler, checked against its description.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    info: &'static SchedulerInfo,
    options: &'static [OptionInfo],
    given: &'a [(&'a str, Value<'a>)],
}

impl<'a> Parameters<'a> {
    /// Checks every name and value, also those of `options`. Parameters that are not given keep
    /// their default.
    pub fn new(
        info: &'static SchedulerInfo,
        options: &'static [OptionInfo],
        given: &'a [(&'a str, Value<'a>)],
    ) -> Result<Self, ParameterError> {
        let checked = Self { info, options, given };
        for (i, &(name, value)) in given.iter().enumerate() {
            let parameter = checked
                .describe(name)
                .ok_or_else(|| ParameterError::Unknown { name: ShortText::new(name) })?;
            if given[..i].iter().any(|&(earlier, _)| earlier == name) {
                return Err(ParameterError::Repeated { parameter });
            }
            if !parameter.domain.contains(&value) {
                let wrong_type = !parameter.domain.has_type_of(&value);
                return Err(ParameterError::BadValue { parameter, value: ShortText::of(&value), wrong_type });
            }
        }
        Ok(checked)
    }

    /// The description of the parameter or option called `name`.
    fn describe(&self, name: &str) -> Option<&'static ParameterInfo> {
        let options = self.options.iter().map(|option| &option.parameter);
        self.info.parameters.iter().chain(options).find(|parameter| parameter.name == name)
    }

    /// The value that the user gave to `name`, or its default.
    ///
    /// # Panics
    /// If the scheduler describes no such parameter. The methods below panic then too, and if the
    /// parameter has another type.
    pub fn value(&self, name: &str) -> Value<'a> {
        match (self.given.iter().find(|(given, _)| *given == name), self.describe(name)) {
            (Some(&(_, value)), _) => value,
            (None, Some(parameter)) => parameter.default,
            (None, None) => panic!("scheduler {} describes no parameter {name}", self.info.name),
        }
    }

    /// The value of a whole-number parameter.
    pub fn integer(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Integer(n) => n,
            other => panic!("parameter {name} is no whole number: {other}"),
        }
    }

    /// The value of a parameter with a fraction.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(x) => x,
            Value::Integer(n) => n as f64,
            other => panic!("parameter {name} is no number: {other}"),
        }
    }

    /// The value of a boolean parameter.
    pub fn boolean(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Boolean(b) => b,
            other => panic!("parameter {name} is no truth value: {other}"),
        }
    }

    /// The value of a parameter that is one of several words.
    pub fn text(&self, name: &str) -> &'a str {
        match self.value(name) {
            Value::Text(text) => text,
            other => panic!("parameter {name} is no text: {other}"),
        }
    }
}
