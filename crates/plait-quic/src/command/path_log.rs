//! The log of paths that join, fail and recover.

use super::output::Output;
use crate::files::PathStatus;
use crate::report;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// State of a path in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Works,
    /// It did not work in the last status.
    Doubtful,
    Failed,
}

/// A change of a path's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum News {
    /// It works for the first time.
    Joined,
    Failed,
    Recovered,
}

/// States of paths, by owner and name. A path that has never worked is not in the log.
#[derive(Debug, Default)]
pub(super) struct PathLog {
    states: BTreeMap<(String, String), State>,
    /// Owners whose further paths are news.
    begun: BTreeSet<String>,
}

impl PathLog {
    /// Notes the beginning of an owner's session over these paths. Its other paths are news when
    /// they work. Before its beginning, paths that work for the first time are none.
    pub(super) fn begin(&mut self, owner: &str, paths: &[String]) {
        self.begun.insert(owner.to_owned());
        for path in paths {
            self.states.insert((owner.to_owned(), path.clone()), State::Works);
        }
    }

    /// Whether the session of an owner has not begun.
    pub(super) fn is_new(&self, owner: &str) -> bool {
        !self.begun.contains(owner)
    }

    /// Notes the loss of an owner's session: all of its paths have failed.
    pub(super) fn lose(&mut self, owner: &str) {
        for ((one, _), state) in &mut self.states {
            if one == owner {
                *state = State::Failed;
            }
        }
    }

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
        let Some(news) = self.step((owner, name), usable) else { return };
        let owner = if owner.is_empty() { String::new() } else { format!("{owner}: ") };
        let value = || complete(report::path(name, usable, trouble));
        let reason = trouble.map_or(String::new(), |trouble| format!(": {trouble}"));
        match news {
            News::Joined => output.event(value, || format!("{owner}path {shown} works")),
            News::Failed => output.failure(value, &format!("{owner}path {shown} has failed{reason}")),
            News::Recovered => output.failure(value, &format!("{owner}path {shown} works again")),
        }
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
        self.states.retain(|(one, _), _| one != owner);
        self.begun.remove(owner);
    }

    /// Takes the state of a path in the present status. Returns the news about it.
    fn step(&mut self, (owner, name): (&str, &str), usable: bool) -> Option<News> {
        let key = (owner.to_owned(), name.to_owned());
        let Some(state) = self.states.get_mut(&key) else {
            if usable {
                self.states.insert(key, State::Works);
            }
            return (usable && self.begun.contains(owner)).then_some(News::Joined);
        };
        let (next, news) = match (*state, usable) {
            (State::Failed, true) => (State::Works, Some(News::Recovered)),
            (_, true) => (State::Works, None),
            (State::Works, false) => (State::Doubtful, None),
            (State::Doubtful, false) => (State::Failed, Some(News::Failed)),
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
        assert_eq!((step(false), step(false), step(false)), (None, Some(News::Failed), None));
        assert_eq!((step(true), step(true)), (Some(News::Recovered), None));
        step(false);
        log.forget("");
        assert_eq!(log.step(("", "dsl"), false), None);
    }

    #[test]
    fn after_the_loss_of_all_paths_each_return_is_told_once() {
        let mut log = PathLog::default();
        log.begin("", &["dsl".to_owned()]);
        assert_eq!(log.step(("", "dsl"), true), None, "the beginning names it");
        assert_eq!(log.step(("", "lte"), true), Some(News::Joined));
        log.lose("");
        log.begin("", &["dsl".to_owned()]);
        assert_eq!((log.step(("", "dsl"), true), log.step(("", "lte"), false)), (None, None));
        assert_eq!(log.step(("", "lte"), true), Some(News::Recovered));
        assert_eq!(log.step(("", "lte"), true), None);
        assert_eq!(log.step(("office", "1"), true), None, "its session has not begun");
    }
}
