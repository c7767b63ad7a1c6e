//! Counting what is looked at: the measure of what a packet costs that no machine's speed disturbs.

use core::cell::Cell;

/// How often something was looked at. It counts in builds with debug assertions, which tests are; elsewhere it is nothing.
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
