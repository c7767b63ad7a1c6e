//! Entries with consecutive numbers, from the oldest one still needed: packets in flight, waiting
//! segments.
//!
//! For windows larger than the processor's caches, memory accesses dominate the cost of a packet:
//! MPTCP spent a fifth of its time waiting for ten loads. The next place is known early, so loops
//! over rings prefetch places some entries ahead (`fetch_beyond`, `RunSet`, `Kept::announce` of
//! plait-sim). No result depends on it. Such waits show in samples of the clock (`perf record -e
//! cpu-clock`), not in counts of instructions.
//!
//! Fields smaller than a word are packed into words by shifts. As separate bytes, the same records
//! were 5 to 9 % slower with 1 % more instructions.

/// Entries with consecutive numbers, in a ring of slots that doubles when it is full and never
/// shrinks.
///
/// The lookup of an entry by its number is the most frequent operation of packet processing. The
/// slots are a power of two, so the low bits of the number are the slot.
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
    /// None, or a power of two.
    slots: Vec<T>,
    first: u64,
    next: u64,
}

/// Initial number of slots.
const ROOM: usize = 64;

/// Prefetches the memory at this address while other work continues. Changes nothing, for any
/// address.
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

/// Prefetches entries behind this entry of a ring. Long rings are processed from one end to the
/// other, so an entry is no longer in the caches when its turn comes.
#[inline(always)]
pub(crate) fn fetch_beyond<T>(entry: &T) {
    // Skips the next entry, which is often accessed at once, so that a prefetch would be too late.
    // The address is wrong where the ring wraps around, which is harmless and rare.
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
    /// Creates an empty ring whose first entry will have the number `first`.
    pub const fn starting_at(first: u64) -> Self {
        Self { slots: Vec::new(), first, next: first }
    }

    /// Returns the number of the oldest entry, or of the next one if the ring is empty.
    #[inline]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the next entry.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of entries.
    #[inline]
    pub const fn len(&self) -> u64 {
        self.next - self.first
    }

    /// True if the ring is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.next == self.first
    }

    /// Returns the slot of a number.
    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// True if there is an entry with this number.
    #[inline]
    pub const fn contains(&self, number: u64) -> bool {
        number.wrapping_sub(self.first) < self.len()
    }

    /// Returns the entry with this number.
    #[inline]
    pub fn get(&self, number: u64) -> Option<&T> {
        if self.contains(number) { self.slots.get(self.slot(number)) } else { None }
    }

    /// Mutable access to the entry with this number.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let slot = self.slot(number);
        if self.contains(number) { self.slots.get_mut(slot) } else { None }
    }

    /// Returns the oldest entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(self.first)
    }

    /// Returns the newest entry.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.get(self.next.wrapping_sub(1))
    }

    /// Returns all entries, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + '_ {
        (self.first..self.next).filter_map(|number| self.get(number))
    }

    /// Removes the oldest entry, and borrows it in its slot.
    #[inline]
    pub fn pass(&mut self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let entry = self.slots.get(self.slot(self.first))?;
        self.first += 1;
        fetch_beyond(entry);
        Some(entry)
    }

    /// Removes the oldest entry, if there is one.
    #[inline]
    pub(crate) fn drop_front(&mut self) {
        if !self.is_empty() {
            self.first += 1;
        }
    }

    /// Removes all entries before `number`. The next entry will have at least this number.
    #[inline]
    pub fn forget_below(&mut self, number: u64) {
        self.first = self.first.max(number);
        self.next = self.next.max(number);
    }
}

impl<T: Copy> Ring<T> {
    /// Removes and returns the oldest entry.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        self.pass().copied()
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Adds an entry, and returns its number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn push(&mut self, entry: T) -> u64 {
        if self.len() == self.slots.len() as u64 {
            self.grow();
        }
        let number = self.next;
        let slot = self.slot(number);
        if let Some(place) = self.slots.get_mut(slot) {
            *place = entry;
            fetch_beyond(place);
        }
        self.next += 1;
        number
    }

    /// Sets the entry of this number, and adds copies of `filler` before it. Does nothing if the
    /// entry was already removed.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn set(&mut self, number: u64, entry: T, filler: T) {
        if number == self.next {
            self.push(entry);
        } else {
            self.set_apart(number, entry, filler);
        }
    }

    #[inline(never)]
    fn set_apart(&mut self, number: u64, entry: T, filler: T) {
        if let Some(place) = self.reach(number, filler) {
            *place = entry;
        }
    }

    /// Adds copies of `filler` until there is an entry with this number, and returns it. Returns
    /// `None` if the entry was already removed.
    #[inline]
    pub fn reach(&mut self, number: u64, filler: T) -> Option<&mut T> {
        while self.next <= number {
            self.push(filler);
        }
        self.get_mut(number)
    }

    /// Doubles the slots in place, without a second copy of them.
    #[cold]
    fn grow(&mut self) {
        let before = self.slots.len();
        self.slots.reserve_exact(before.max(ROOM));
        // Slots without a written entry are never read.
        self.slots.resize((2 * before).max(ROOM), T::default());
        for number in self.first..self.next {
            let slot = self.slot(number);
            if slot >= before {
                self.slots[slot] = self.slots[slot - before];
            }
        }
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
        /// Compares the ring with the standard library's queue.
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
