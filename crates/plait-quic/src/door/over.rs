//! Sessions that are over: a path that took longer than all of its transfer comes when nobody waits for it any more.

use super::Id;
use std::collections::VecDeque;
use std::time::Instant;

/// Sessions that are remembered at once. Who pushes others out knows the secret, and gains no more than that a late path is taken for a new offer.
const MOST: usize = 256;

/// One that is over.
#[derive(Debug)]
struct Gone {
    id: Id,
    until: Instant,
    code: u32,
    reason: String,
}

/// Those that are remembered, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Over {
    gone: VecDeque<Gone>,
}

impl Over {
    /// A session is over; what its late paths are told until then. What was said first stays.
    pub(super) fn remember(&mut self, now: Instant, until: Instant, id: &Id, code: u32, reason: &str) {
        if self.find(now, id).is_some() {
            return;
        }
        while self.gone.len() >= MOST || self.gone.front().is_some_and(|gone| gone.until <= now) {
            self.gone.pop_front();
        }
        self.gone.push_back(Gone { id: *id, until, code, reason: reason.to_owned() });
    }

    /// What a late path of a session that is over is told: a code and a reason.
    pub(super) fn find(&self, now: Instant, id: &Id) -> Option<(u32, &str)> {
        let gone = self.gone.iter().find(|gone| gone.id == *id && gone.until > now)?;
        Some((gone.code, &gone.reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "there is no other way to some moment; only differences to it are looked at"
    )]
    fn sessions_are_remembered_for_a_while_and_not_too_many() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        let mut over = Over::default();
        over.remember(at(0), at(40), &[1; 16], 1, "not wanted");
        over.remember(at(0), at(40), &[1; 16], 0, "done");
        assert_eq!(over.find(at(39), &[1; 16]), Some((1, "not wanted")), "what was said first");
        assert_eq!(over.find(at(39), &[2; 16]), None);
        assert_eq!(over.find(at(40), &[1; 16]), None);
        over.remember(at(40), at(80), &[2; 16], 0, "done");
        assert_eq!(over.gone.len(), 1, "what nobody asks for any more takes no room");
        for count in 0..2 * MOST as u128 {
            over.remember(at(41), at(81), &(count << 64).to_be_bytes(), 0, "done");
        }
        assert_eq!(over.gone.len(), MOST);
        assert_eq!(over.find(at(42), &[2; 16]), None, "the oldest goes first");
        let newest = (2 * MOST as u128 - 1) << 64;
        assert!(over.find(at(42), &newest.to_be_bytes()).is_some());
    }
}
