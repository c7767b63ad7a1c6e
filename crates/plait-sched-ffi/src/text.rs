//! Schedulers as text: `NAME:parameter=value:parameter=value`, as the command line writes them.

use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::str::FromStr;

use plait_sched::params::Domain;
use plait_sched::{Builtin, Value, registry};

use crate::error::{Error, PLAIT_ERROR_SCHEDULER, Result};

/// Reads a text from C.
///
/// # Safety
/// `text` is null or ends in a zero, and does not change while the result is used.
pub(crate) unsafe fn utf8<'a>(text: *const c_char, null: &'static str) -> Result<&'a str> {
    if text.is_null() {
        return Err(Error::argument(null));
    }
    // SAFETY: not null, so by contract it ends in a zero.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::argument("a text is not UTF-8"))
}

/// Builds a built-in scheduler from its text.
pub(crate) fn builtin(text: &str) -> Result<Builtin> {
    let refused = |message: String| Error::said(PLAIT_ERROR_SCHEDULER, message);
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let info = registry::info(name);
    let mut given = Vec::new();
    for pair in pairs(rest) {
        let (key, text) = pair.map_err(|item| {
            refused(format!("scheduler \"{text}\": expected NAME:parameter=value, got \"{item}\""))
        })?;
        let domain = info.and_then(|info| registry::parameters(info).find(|known| known.name == key));
        given.push((key, value(domain.map(|known| known.domain), text)));
    }
    Builtin::new(name, &given).map_err(|error| refused(error.to_string()))
}

/// The value with the type of the parameter. If the text has no such form, it stays a text, which
/// is then refused with the valid choices.
fn value(domain: Option<Domain>, text: &str) -> Value<'_> {
    let read = match domain {
        Some(Domain::Integer { .. }) => text.parse().ok().map(Value::Integer),
        Some(Domain::Number { .. }) => text.parse().ok().map(Value::Number),
        Some(Domain::Boolean) => text.parse().ok().map(Value::Boolean),
        Some(Domain::Choice(_)) | None => None,
    };
    read.unwrap_or(Value::Text(text))
}

/// The items of `parameter=value:parameter=value`; an item without a name or `=` is returned as it
/// is.
fn pairs(text: &str) -> impl Iterator<Item = std::result::Result<(&str, &str), &str>> {
    let items = text.split(':').filter(move |_| !text.is_empty());
    items.map(|item| item.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or(item))
}

/// The parameters given to a scheduler of one's own; they are taken one by one.
///
/// ```
/// use plait_sched_ffi::Given;
///
/// let mut given = Given::read("threshold=12:patient=true")?;
/// assert_eq!(given.take("threshold", 4_u32), Ok(12));
/// assert_eq!(given.take("share", 0.5), Ok(0.5), "the default");
/// assert_eq!(given.finish(), Err("unknown parameter \"patient\": choose threshold or share".to_owned()));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct Given<'a> {
    left: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> Given<'a> {
    /// Reads `parameter=value:parameter=value`; empty for none.
    ///
    /// # Errors
    /// If an item has no name or no value, or if a name appears twice.
    pub fn read(text: &'a str) -> std::result::Result<Self, String> {
        let mut left: Vec<(&str, &str)> = Vec::new();
        for pair in pairs(text) {
            let (key, value) = pair.map_err(|item| format!("expected parameter=value, got \"{item}\""))?;
            if left.iter().any(|(known, _)| *known == key) {
                return Err(format!("parameter {key} is given twice"));
            }
            left.push((key, value));
        }
        Ok(Self { left, known: Vec::new() })
    }

    /// Takes the value of a parameter, or returns its default.
    ///
    /// # Errors
    /// If the text is not a value of this type.
    pub fn take<T: FromStr<Err: Display>>(
        &mut self,
        name: &'static str,
        default: T,
    ) -> std::result::Result<T, String> {
        self.known.push(name);
        let Some(place) = self.left.iter().position(|(given, _)| *given == name) else { return Ok(default) };
        let (_, text) = self.left.remove(place);
        text.parse().map_err(|error| format!("parameter {name} is \"{text}\": {error}"))
    }

    /// Ends the reading after all parameters were taken.
    ///
    /// # Errors
    /// If a given parameter was not taken.
    pub fn finish(self) -> std::result::Result<(), String> {
        let Some((unknown, _)) = self.left.first() else { return Ok(()) };
        let (last, others) = match self.known.split_last() {
            None => return Err(format!("unknown parameter \"{unknown}\": it takes none")),
            Some(split) => split,
        };
        let or = if others.is_empty() { String::new() } else { format!("{} or ", others.join(", ")) };
        Err(format!("unknown parameter \"{unknown}\": choose {or}{last}"))
    }
}
