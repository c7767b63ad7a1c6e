//! The log of paths that fail and recover.

use super::output::Output;
use crate::files::PathStatus;
use crate::report;
use serde_json::Value;
use std::collections::BTreeMap;

/// State of a path in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Works,
    /// It did not work in the last status.
    Doubtful,
    Failed,
}

/// States of paths. A path that has never worked is not in the log.
#[derive(Debug, Default)]
pub(super) struct PathLog(BTreeMap<(String, String), State>);

impl PathLog {
    /// Reports the present state of a path, if it is news. One status alone is no failure: a short
    /// loss ends before the next one. `owner` names the client of the path, if there are several.
    /// `name` is the path's name, and its name in text.
    pub(super) fn note(
        &mut self,
        output: &Output<'_>,
        owner: &str,
        (name, shown): (&str, &str),
        (usable, trouble): (bool, Option<&str>),
        complete: impl FnOnce(Value) -> Value,
    ) {
        let Some(works) = self.step((owner, name), usable) else { return };
        let reason = trouble.map_or(String::new(), |trouble| format!(": {trouble}"));
        let words = if works { "works again".to_owned() } else { format!("has failed{reason}") };
        let owner = if owner.is_empty() { String::new() } else { format!("{owner}: ") };
        let value = || complete(report::path(name, works, trouble));
        output.failure(value, &format!("{owner}path {shown} {words}"));
    }

    /// Reports the present states of the paths of this end.
    pub(super) fn note_all(&mut self, output: &Output<'_>, paths: &[PathStatus]) {
        for path in paths {
            let state = (path.usable, path.trouble.as_deref());
            self.note(output, "", (&path.name, &path.name), state, |event| event);
        }
    }

    /// Forgets the paths of an owner, whose session has ended.
    pub(super) fn forget(&mut self, owner: &str) {
        self.0.retain(|(one, _), _| one != owner);
    }

    /// Returns whether the path works, if that is news.
    fn step(&mut self, (owner, name): (&str, &str), usable: bool) -> Option<bool> {
        let key = (owner.to_owned(), name.to_owned());
        let Some(state) = self.0.get_mut(&key) else {
            if usable {
                self.0.insert(key, State::Works);
            }
            return None;
        };
        let (next, news) = match (*state, usable) {
            (State::Failed, true) => (State::Works, Some(true)),
            (_, true) => (State::Works, None),
            (State::Works, false) => (State::Doubtful, None),
            (State::Doubtful, false) => (State::Failed, Some(false)),
            (State::Failed, false) => (State::Failed, None),
        };
        *state = next;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_lasts_two_statuses_and_belongs_to_a_path_that_worked() {
        let mut log = PathLog::default();
        let mut step = |usable| log.step(("", "dsl"), usable);
        assert_eq!((step(false), step(true), step(false), step(true)), (None, None, None, None));
        assert_eq!((step(false), step(false), step(false)), (None, Some(false), None));
        assert_eq!((step(true), step(true)), (Some(true), None));
        step(false);
        log.forget("");
        assert_eq!(log.step(("", "dsl"), false), None);
    }
}
