//! Opportunities: the runs of decisions that an engine asks for at one moment.

use crate::decision::{Decision, Event};
use crate::time::Time;

/// Knows whether a call of `decide` is the first of an opportunity.
///
/// An opportunity ends with `Wait`. It also ends when time passes or something but a transmission happens: an engine
/// stops asking, without having been told to wait, when there is nothing left to decide about.
#[derive(Clone, Debug)]
pub(crate) struct Opportunity {
    begun: Option<Time>,
}

impl Opportunity {
    pub(crate) const NEW: Self = Self { begun: None };

    /// Called first in every decision; true if an opportunity begins with it.
    #[inline]
    pub(crate) fn begins(&mut self, now: Time) -> bool {
        self.begun.replace(now) != Some(now)
    }

    /// Ends the opportunity.
    pub(crate) fn end(&mut self) -> Decision {
        self.begun = None;
        Decision::WAIT
    }

    /// Transmissions are part of an opportunity; anything else that happens begins another.
    pub(crate) fn on_event(&mut self, event: &Event) {
        if !matches!(event, Event::Sent { .. }) {
            self.begun = None;
        }
    }
}
