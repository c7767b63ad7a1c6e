//! Things that are numbered one after the other, from the oldest that is still needed on: what is in flight, what waits.

/// Entries with consecutive numbers, in pages that are used again: as much memory as the most entries that there ever were at once.
///
/// Finding an entry by its number takes a shift and two masks, which is what packets pay most often. No entry ever moves. The page that is
/// left last is the next one to be filled, so a long queue that has become short stays in the caches.
///
/// ```
/// use plait_transport::ring::Ring;
///
/// let mut ring = Ring::starting_at(7);
/// assert_eq!(ring.push('a'), 7);
/// assert_eq!(ring.push('b'), 8);
/// assert_eq!(ring.pop_front(), Some('a'));
/// assert_eq!((ring.get(7), ring.get(8)), (None, Some(&'b')));
/// assert_eq!((ring.first(), ring.next()), (8, 9));
/// ```
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// The pages from that of the first entry on, each where its number's low bits say: a power of two of places, or none before the
    /// first entry.
    pages: Vec<Option<Page<T>>>,
    /// Those that no entry is in, as many as will soon be needed again.
    free: Vec<Page<T>>,
    first: u64,
    next: u64,
    /// The first number that is in no page.
    end: u64,
}

/// Entries of a page, and the bits of a number that say which.
const PAGE: usize = 1 << BITS;
const BITS: u32 = 6;

/// So many free pages are always kept. Beyond that as many as are in use: a window that is halved grows again, and what is more than
/// that another path may need.
const FREE: usize = 64;

type Page<T> = Box<[T; PAGE]>;

/// Has the memory at this address fetched while other work goes on; what is there, if anything, stays as it is.
#[inline(always)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "where nothing was measured nothing is done")
)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "an instruction that changes nothing and fails for no address")]
    // SAFETY: each x86-64 processor has SSE, and its prefetching never faults.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl<T> Ring<T> {
    /// An empty ring whose first entry will have the number `first`.
    pub const fn starting_at(first: u64) -> Self {
        Self { pages: Vec::new(), free: Vec::new(), first, next: first, end: first }
    }

    /// The number of the oldest entry, or of the next one if there is none.
    #[inline]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next entry will get.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// How many entries there are.
    #[inline]
    pub const fn len(&self) -> u64 {
        self.next - self.first
    }

    /// True if there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.next == self.first
    }

    /// Where this number's page is, if it has one.
    #[inline]
    fn place(&self, number: u64) -> usize {
        (number >> BITS) as usize & self.pages.len().wrapping_sub(1)
    }

    /// Where a number is in its page.
    #[inline]
    const fn slot(number: u64) -> usize {
        number as usize & (PAGE - 1)
    }

    /// Slots from this number on are needed soon: long rings are passed through from one end to the other, and a slot's turn
    /// comes when caches have forgotten it. Where they are used at the ends the ring does this by itself.
    #[inline(always)]
    pub fn announce(&self, number: u64) {
        // Not the very next one, for which it would be too late: it is often looked at at once.
        let number = number + (128 / size_of::<T>().max(1)).max(1) as u64;
        if let Some(Some(page)) = self.pages.get(self.place(number)) {
            let slot: *const T = &raw const page[Self::slot(number)];
            prefetch(slot);
            if size_of::<T>() > 32 {
                prefetch(slot.wrapping_byte_add(size_of::<T>() - 1));
            }
        }
    }

    /// True if there is an entry with this number.
    #[inline]
    pub const fn contains(&self, number: u64) -> bool {
        number.wrapping_sub(self.first) < self.len()
    }

    /// The entry with this number.
    #[inline]
    pub fn get(&self, number: u64) -> Option<&T> {
        if !self.contains(number) {
            return None;
        }
        self.pages.get(self.place(number))?.as_ref().map(|page| &page[Self::slot(number)])
    }

    /// Likewise, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        if !self.contains(number) {
            return None;
        }
        let place = self.place(number);
        self.pages.get_mut(place)?.as_mut().map(|page| &mut page[Self::slot(number)])
    }

    /// The oldest entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(self.first)
    }

    /// The newest entry.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.get(self.next.wrapping_sub(1))
    }

    /// All entries, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + '_ {
        (self.first..self.next).filter_map(|number| self.get(number))
    }

    /// Forgets everything before `number`; what comes next has that number at least.
    pub fn forget_below(&mut self, number: u64) {
        if number <= self.first {
            return;
        }
        let (left, kept) = (self.first >> BITS, number.min(self.end.next_multiple_of(PAGE as u64)) >> BITS);
        (left..kept).for_each(|page| self.leave(page));
        self.first = number;
        self.next = self.next.max(number);
        self.end = self.end.max(number);
    }

    /// No entry is in this page any more.
    #[inline(never)]
    fn leave(&mut self, page: u64) {
        let place = self.place(page << BITS);
        let Some(left) = self.pages.get_mut(place).and_then(Option::take) else { return };
        let used = (self.end >> BITS) - (self.first >> BITS);
        if self.free.len() < FREE.max(used as usize) {
            self.free.push(left);
        }
    }
}

impl<T: Copy> Ring<T> {
    /// Takes the oldest entry out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let entry = *self.front()?;
        self.first += 1;
        if Self::slot(self.first) == 0 {
            self.leave((self.first >> BITS) - 1);
        }
        self.announce(self.first);
        Some(entry)
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Adds an entry; its number.
    #[inline]
    pub fn push(&mut self, entry: T) -> u64 {
        if self.next == self.end {
            self.begin_page();
        }
        let (number, place) = (self.next, self.place(self.next));
        if let Some(Some(page)) = self.pages.get_mut(place) {
            page[Self::slot(number)] = entry;
        }
        self.next += 1;
        self.announce(self.next);
        number
    }

    /// Adds entries like `filler` until there is one with this number, and answers it; `None` if it is gone already.
    #[inline]
    pub fn reach(&mut self, number: u64, filler: T) -> Option<&mut T> {
        while self.next <= number {
            self.push(filler);
        }
        self.get_mut(number)
    }

    /// A page for the number that comes next.
    #[inline(never)]
    fn begin_page(&mut self) {
        let (first, new) = (self.first >> BITS, self.next >> BITS);
        let (used, before) = ((new - first) as usize, self.pages.len());
        if used == before {
            let mut pages: Vec<_> = (0..(2 * before).max(2)).map(|_| None).collect();
            let mask = pages.len() - 1;
            for page in first..new {
                let place = self.place(page << BITS);
                pages[page as usize & mask] = self.pages[place].take();
            }
            self.pages = pages;
        }
        let page = self.free.pop().unwrap_or_else(|| {
            // Whoever leaves it finds room for it.
            self.free.reserve(used + 1);
            Box::new([T::default(); PAGE])
        });
        let place = self.place(self.next);
        self.pages[place] = Some(page);
        self.end = (new + 1) << BITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn numbers_go_on_over_what_was_forgotten() {
        let mut ring = Ring::default();
        (0..3).for_each(|entry| assert_eq!(ring.push(entry), entry));
        ring.forget_below(10);
        assert!(ring.is_empty());
        assert_eq!((ring.push(5), ring.first(), ring.get(9)), (10, 10, None));
        assert_eq!(ring.reach(13, 0).copied(), Some(0));
        assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [5, 0, 0, 0]);
        assert_eq!(ring.reach(9, 0), None);
    }

    #[derive(Clone, Debug)]
    enum Operation {
        Push(u32),
        Pop(u32),
        Forget(u64),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            4 => (0..200_u32).prop_map(Operation::Push),
            3 => (0..200_u32).prop_map(Operation::Pop),
            1 => (0..400_u64).prop_map(Operation::Forget),
        ]
    }

    proptest! {
        /// Against the standard library's queue.
        #[test]
        fn is_a_queue(operations in prop::collection::vec(operation(), 0..60)) {
            let (mut ring, mut model, mut first) = (Ring::default(), VecDeque::new(), 0_u64);
            for operation in operations {
                match operation {
                    Operation::Push(entries) => {
                        for entry in 0..entries {
                            prop_assert_eq!(ring.push(entry), first + model.len() as u64);
                            model.push_back(entry);
                        }
                    }
                    Operation::Pop(entries) => {
                        for _ in 0..entries {
                            first += u64::from(!model.is_empty());
                            prop_assert_eq!(ring.pop_front(), model.pop_front());
                        }
                    }
                    Operation::Forget(entries) => {
                        first += entries;
                        ring.forget_below(first);
                        model.drain(..model.len().min(entries as usize));
                    }
                }
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!(ring.back(), model.back());
                prop_assert_eq!(ring.len(), model.len() as u64);
            }
            prop_assert!(ring.iter().eq(model.iter()));
            prop_assert_eq!(ring.get(first.wrapping_sub(1)), None);
        }
    }
}
