//! The order in which a subflow's unsettled transmissions were last sent (tsorted_sent_queue of
//! Linux).

use crate::ring::Ring;

const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    before: u64,
    after: u64,
    present: bool,
}

/// Numbers of a subflow in the order of their last sending, without arrived segments and without
/// segments that wait for retransmission.
///
/// A doubly linked list over a ring, so every operation takes constant time for any window size. A
/// *mark* divides the list: a later transmission that arrived has overtaken all entries up to the
/// mark.
#[derive(Clone, Debug)]
pub(super) struct SendOrder {
    links: Ring<Link>,
    head: u64,
    tail: u64,
    mark: u64,
}

impl SendOrder {
    pub(super) fn new() -> Self {
        Self { links: Ring::default(), head: NONE, tail: NONE, mark: NONE }
    }

    fn present(&self, number: u64) -> Option<Link> {
        self.links.get(number).copied().filter(|link| link.present)
    }

    /// Makes `number` the last entry, because it was sent just now. It may be in the list already.
    pub(super) fn append(&mut self, number: u64) {
        self.remove(number);
        // Usually it is the next number.
        let Some(link) = self.links.reach(number, Link::default()) else { return };
        let tail = self.tail;
        *link = Link { before: tail, after: NONE, present: true };
        match self.links.get_mut(tail) {
            Some(last) => last.after = number,
            None => self.head = number,
        }
        self.tail = number;
    }

    /// Makes `number` the first entry: it was sent before all others and is in flight after all. It
    /// must not be in the list.
    pub(super) fn prepend(&mut self, number: u64) {
        let head = self.head;
        let Some(link) = self.links.get_mut(number) else { return };
        *link = Link { before: NONE, after: head, present: true };
        match self.links.get_mut(head) {
            Some(first) => first.before = number,
            None => self.tail = number,
        }
        self.head = number;
    }

    /// Removes `number`, because it arrived or is lost.
    pub(super) fn remove(&mut self, number: u64) {
        let Some(Link { before, after, .. }) = self.present(number) else { return };
        if let Some(link) = self.links.get_mut(number) {
            link.present = false;
        }
        match self.links.get_mut(before) {
            Some(link) => link.after = after,
            None => self.head = after,
        }
        match self.links.get_mut(after) {
            Some(link) => link.before = before,
            None => self.tail = before,
        }
        if self.mark == number {
            self.mark = before;
        }
    }

    /// Forgets the places of the numbers below `first`. None of them may be in the list.
    pub(super) fn forget_below(&mut self, first: u64) {
        self.links.forget_below(first);
    }

    /// Moves the mark forward over all entries that are `overtaken`.
    pub(super) fn advance_mark(&mut self, mut overtaken: impl FnMut(u64) -> bool) {
        loop {
            let next = self.present(self.mark).map_or(self.head, |link| link.after);
            if next == NONE || !overtaken(next) {
                return;
            }
            self.mark = next;
        }
    }

    /// Returns the first entry in the order of sending, if it has been overtaken.
    pub(super) fn first_overtaken(&self) -> Option<u64> {
        (self.mark != NONE).then_some(self.head)
    }

    /// Returns the last overtaken entry in the order of sending.
    pub(super) fn last_overtaken(&self) -> Option<u64> {
        (self.mark != NONE).then_some(self.mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listed(order: &SendOrder) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut number = order.head;
        while let Some(link) = order.present(number) {
            numbers.push(number);
            number = link.after;
        }
        numbers
    }

    #[test]
    fn the_mark_falls_back_when_its_place_goes() {
        let mut order = SendOrder::new();
        (0..4).for_each(|number| order.append(number));
        order.advance_mark(|number| number < 3);
        assert_eq!((order.first_overtaken(), order.last_overtaken()), (Some(0), Some(2)));
        order.remove(2);
        assert_eq!(order.last_overtaken(), Some(1));
        order.append(0);
        assert_eq!((listed(&order), order.last_overtaken()), (vec![1, 3, 0], Some(1)));
        order.remove(1);
        assert_eq!((order.first_overtaken(), order.last_overtaken()), (None, None));
    }

    #[test]
    fn what_returns_is_first_again() {
        let mut order = SendOrder::new();
        (0..4).for_each(|number| order.append(number));
        (0..2).for_each(|number| order.remove(number));
        order.advance_mark(|number| number == 2);
        order.prepend(1);
        order.prepend(0);
        assert_eq!(
            (listed(&order), order.first_overtaken(), order.last_overtaken()),
            (vec![0, 1, 2, 3], Some(0), Some(2))
        );
        (0..4).for_each(|number| order.remove(number));
        order.prepend(3);
        assert_eq!((listed(&order), order.tail), (vec![3], 3));
    }

    proptest! {
        #[test]
        fn behaves_like_a_plain_list(operations in prop::collection::vec((0u64..40, 0u8..3), 1..300)) {
            let mut order = SendOrder::new();
            let mut model: Vec<u64> = Vec::new();
            let mut base = 0;
            for (number, kind) in operations {
                let number = number + base;
                match kind {
                    0 => {
                        order.append(number);
                        model.retain(|&known| known != number);
                        model.push(number);
                    }
                    1 => {
                        order.remove(number);
                        model.retain(|&known| known != number);
                    }
                    _ => {
                        base += u64::from(model.iter().all(|&known| known > base));
                        order.forget_below(base);
                    }
                }
                prop_assert_eq!(listed(&order), model.clone());
            }
        }
    }
}
