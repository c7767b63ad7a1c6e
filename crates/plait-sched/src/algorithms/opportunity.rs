//! Opportunities: runs of decisions that an engine asks for at one moment.

use crate::decision::{Decision, Event};
use crate::time::Time;

/// Detects whether a call of `decide` is the first of an opportunity.
///
/// An opportunity ends with `Wait`. It also ends when time passes, or when an event other than a
/// transmission happens. An engine may stop asking before a `Wait`, when nothing is left to decide
/// about.
#[derive(Clone, Debug)]
pub(crate) struct Opportunity {
    begun: Option<Time>,
}

impl Opportunity {
    pub(crate) const NEW: Self = Self { begun: None };

    /// Called first in every decision. True if this decision begins an opportunity.
    #[inline]
    pub(crate) fn begins(&mut self, now: Time) -> bool {
        self.begun.replace(now) != Some(now)
    }

    /// Ends the opportunity.
    pub(crate) fn end(&mut self) -> Decision {
        self.begun = None;
        Decision::WAIT
    }

    /// Transmissions are part of an opportunity; any other event ends it.
    pub(crate) fn on_event(&mut self, event: &Event) {
        if !matches!(event, Event::Sent { .. }) {
            self.begun = None;
        }
    }
}
