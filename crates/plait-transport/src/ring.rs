//! Things that are numbered one after the other, from the oldest that is still needed on: what is in flight, what waits.

/// Entries with consecutive numbers, in a ring of slots that grows by an eighth and never shrinks.
///
/// Finding an entry by its number is what packets pay most often. A ring that doubled would find it by a mask, a little faster, and have
/// some four tenths more slots than entries in the mean, all of which it passes through.
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
    slots: Vec<T>,
    /// The slots of the oldest entry and of the next one.
    head: usize,
    tail: usize,
    first: u64,
    next: u64,
}

/// Slots that the first entry makes room for, and the fewest by which a ring grows.
const ROOM: usize = 64;

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

/// Has fetched what lies behind this entry of a ring: long rings are passed through from one end to the other, and an entry's turn comes when
/// caches have forgotten it.
#[inline(always)]
pub(crate) fn fetch_beyond<T>(entry: &T) {
    // Not the very next one, for which it would be too late: it is often looked at at once. Where the ring wraps around this misses, which
    // is harmless and seldom.
    let ahead = (128 / size_of::<T>().max(1)).max(1);
    let entry: *const T = entry;
    let beyond = entry.wrapping_add(ahead);
    prefetch(beyond);
    if size_of::<T>() > 32 {
        prefetch(beyond.wrapping_byte_add(size_of::<T>() - 1));
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
        Self { slots: Vec::new(), head: 0, tail: 0, first, next: first }
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

    /// So many slots after one, which are no more than there are.
    #[inline]
    fn after(&self, slot: usize, places: usize) -> usize {
        // Before the end of the slots what is left wraps around to a large number.
        let slot = slot + places;
        slot.min(slot.wrapping_sub(self.slots.len()))
    }

    /// True if there is an entry with this number.
    #[inline]
    pub const fn contains(&self, number: u64) -> bool {
        number.wrapping_sub(self.first) < self.len()
    }

    /// The entry with this number.
    #[inline]
    pub fn get(&self, number: u64) -> Option<&T> {
        let place = number.wrapping_sub(self.first);
        if place < self.len() { self.slots.get(self.after(self.head, place as usize)) } else { None }
    }

    /// Likewise, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let place = number.wrapping_sub(self.first);
        if place >= self.len() {
            return None;
        }
        let slot = self.after(self.head, place as usize);
        self.slots.get_mut(slot)
    }

    /// The oldest entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.slots.get(self.head) }
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

    /// Takes the oldest entry out, and lends it where it lies.
    #[inline]
    pub fn pass(&mut self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let slot = self.head;
        self.head = self.after(slot, 1);
        self.first += 1;
        let entry = self.slots.get(slot)?;
        fetch_beyond(entry);
        Some(entry)
    }

    /// Forgets the oldest entry, if there is one.
    #[inline]
    pub(crate) fn drop_front(&mut self) {
        if !self.is_empty() {
            self.head = self.after(self.head, 1);
            self.first += 1;
        }
    }

    /// Forgets everything before `number`; what comes next has that number at least.
    #[inline]
    pub fn forget_below(&mut self, number: u64) {
        if number <= self.first {
            return;
        }
        if number < self.next {
            self.head = self.after(self.head, (number - self.first) as usize);
        } else {
            (self.head, self.tail) = (0, 0);
            self.next = number;
        }
        self.first = number;
    }
}

impl<T: Copy> Ring<T> {
    /// Takes the oldest entry out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        self.pass().copied()
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Adds an entry; its number.
    #[inline]
    pub fn push(&mut self, entry: T) -> u64 {
        if self.len() == self.slots.len() as u64 {
            self.grow();
        }
        let (number, slot) = (self.next, self.tail);
        if let Some(place) = self.slots.get_mut(slot) {
            *place = entry;
            fetch_beyond(place);
        }
        self.tail = self.after(slot, 1);
        self.next += 1;
        number
    }

    /// Writes the entry of this number, and adds ones like `filler` before it; nothing if it is gone already.
    #[inline]
    pub fn set(&mut self, number: u64, entry: T, filler: T) {
        if number == self.next {
            self.push(entry);
        } else if let Some(place) = self.reach(number, filler) {
            *place = entry;
        }
    }

    /// Adds entries like `filler` until there is one with this number, and answers it; `None` if it is gone already.
    #[inline]
    pub fn reach(&mut self, number: u64, filler: T) -> Option<&mut T> {
        while self.next <= number {
            self.push(filler);
        }
        self.get_mut(number)
    }

    /// More slots, where they are: no second copy of them is ever there.
    #[cold]
    fn grow(&mut self) {
        let slots = self.slots.len();
        // All are taken.
        self.slots.rotate_left(self.head);
        (self.head, self.tail) = (0, slots);
        let more = (slots / 8).max(ROOM);
        self.slots.reserve_exact(more);
        // What no entry has been written to is never looked at.
        self.slots.resize(slots + more, T::default());
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
