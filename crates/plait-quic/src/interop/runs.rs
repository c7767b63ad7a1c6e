//! How many pieces what is on its way may arrive in.
//!
//! A receiver keeps what comes before something that is missing, and bounds in how many pieces: noq ends the connection beyond 1,024. A piece
//! is what leaves on one path until another one takes over, so no more of these than [`MOST`] are on their way.

use std::collections::VecDeque;

/// Pieces on their way at most. What is lost makes more of them at the receiver, and has the rest.
const MOST: usize = 700;

/// Packets of each path's pieces, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Runs {
    paths: Vec<VecDeque<u32>>,
    last: Option<usize>,
    count: usize,
}

impl Runs {
    /// Packets left on a path.
    pub(super) fn sent(&mut self, path: usize, packets: u32) {
        if packets == 0 {
            return;
        }
        self.paths.resize_with(self.paths.len().max(path + 1), VecDeque::new);
        match self.paths[path].back_mut().filter(|_| self.last == Some(path)) {
            Some(run) => *run += packets,
            None => {
                self.paths[path].push_back(packets);
                self.count += 1;
            }
        }
        self.last = Some(path);
    }

    /// Packets of a path have arrived, or are lost: the oldest ones.
    pub(super) fn settled(&mut self, path: usize, mut packets: u32) {
        let Some(runs) = self.paths.get_mut(path) else { return };
        while let Some(run) = runs.front_mut() {
            let taken = packets.min(*run);
            *run -= taken;
            packets -= taken;
            if *run > 0 {
                return;
            }
            runs.pop_front();
            self.count -= 1;
        }
    }

    /// A path is none any more.
    pub(super) fn forget(&mut self, path: usize) {
        if let Some(runs) = self.paths.get_mut(path) {
            self.count -= std::mem::take(runs).len();
        }
    }

    /// Nothing may leave before something has arrived.
    pub(super) fn are_full(&self) -> bool {
        self.count >= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_count_and_what_one_path_sends_at_once_is_one() {
        let mut runs = Runs::default();
        runs.sent(0, 500);
        runs.sent(0, 500);
        assert_eq!(runs.count, 1);
        for _ in 1..MOST / 2 {
            runs.sent(1, 1);
            runs.sent(0, 1);
            assert!(!runs.are_full());
        }
        runs.sent(1, 1);
        assert!(runs.are_full());
        runs.settled(0, 999);
        assert!(runs.are_full(), "the first one is still on its way");
        runs.settled(0, 3);
        assert_eq!(runs.count, MOST - 3);
        runs.forget(1);
        runs.settled(0, 10_000);
        assert_eq!(runs.count, 0);
    }
}
