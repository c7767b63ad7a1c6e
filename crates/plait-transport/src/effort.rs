//! Counts accesses to records: a measure of a packet's cost that does not depend on the machine.

use core::cell::Cell;

/// Number of accesses. It counts in builds with debug assertions, such as tests; otherwise it is
/// empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effort {
    #[cfg(debug_assertions)]
    looks: Cell<u64>,
    #[cfg(not(debug_assertions))]
    looks: core::marker::PhantomData<Cell<u64>>,
}

impl Effort {
    /// One more look.
    #[inline]
    pub(crate) fn look(&self) {
        #[cfg(debug_assertions)]
        self.looks.set(self.looks.get() + 1);
    }

    /// So many looks until now; 0 where nothing is counted.
    pub(crate) fn looks(&self) -> u64 {
        #[cfg(debug_assertions)]
        return self.looks.get();
        #[cfg(not(debug_assertions))]
        0
    }
}
