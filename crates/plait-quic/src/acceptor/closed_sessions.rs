//! Sessions that are over, for paths that open only after the whole transfer has ended.

use super::Id;
use std::collections::VecDeque;
use std::time::Instant;

/// Number of remembered sessions. Only a client with the secret can displace others, and the only
/// effect is that a late path counts as a new offer.
const MAX_REMEMBERED: usize = 256;

/// A session that is over.
#[derive(Debug)]
struct ClosedSession {
    id: Id,
    until: Instant,
    code: u32,
    reason: String,
}

/// Remembered sessions, the oldest first.
#[derive(Debug, Default)]
pub(super) struct ClosedSessions {
    closed: VecDeque<ClosedSession>,
}

impl ClosedSessions {
    /// Remembers a session that is over, with the code and reason for its late paths, until
    /// `until`. The first code and reason of a session stay.
    pub(super) fn remember(&mut self, now: Instant, until: Instant, id: &Id, code: u32, reason: &str) {
        if self.find(now, id).is_some() {
            return;
        }
        while self.closed.len() >= MAX_REMEMBERED
            || self.closed.front().is_some_and(|closed| closed.until <= now)
        {
            self.closed.pop_front();
        }
        self.closed.push_back(ClosedSession { id: *id, until, code, reason: reason.to_owned() });
    }

    /// Returns the code and the reason for late paths of a session that is over.
    pub(super) fn find(&self, now: Instant, id: &Id) -> Option<(u32, &str)> {
        let closed = self.closed.iter().find(|closed| closed.id == *id && closed.until > now)?;
        Some((closed.code, &closed.reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::now;
    use std::time::Duration;

    #[test]
    fn sessions_are_remembered_for_a_while_and_not_too_many() {
        let start = now();
        let at = |second: u64| start + Duration::from_secs(second);
        let mut closed_sessions = ClosedSessions::default();
        closed_sessions.remember(at(0), at(40), &[1; 16], 1, "not wanted");
        closed_sessions.remember(at(0), at(40), &[1; 16], 0, "done");
        assert_eq!(closed_sessions.find(at(39), &[1; 16]), Some((1, "not wanted")), "what was said first");
        assert_eq!(closed_sessions.find(at(39), &[2; 16]), None);
        assert_eq!(closed_sessions.find(at(40), &[1; 16]), None);
        closed_sessions.remember(at(40), at(80), &[2; 16], 0, "done");
        assert_eq!(closed_sessions.closed.len(), 1, "what nobody asks for any more takes no room");
        for count in 0..2 * MAX_REMEMBERED as u128 {
            closed_sessions.remember(at(41), at(81), &(count << 64).to_be_bytes(), 0, "done");
        }
        assert_eq!(closed_sessions.closed.len(), MAX_REMEMBERED);
        assert_eq!(closed_sessions.find(at(42), &[2; 16]), None, "the oldest goes first");
        let newest = (2 * MAX_REMEMBERED as u128 - 1) << 64;
        assert!(closed_sessions.find(at(42), &newest.to_be_bytes()).is_some());
    }
}
