//! Temporaries from a scope of bump-scope's arena.

use bump_scope::BumpScope;

use crate::scratch::{Sample, Scratch};

impl<'s> Scratch for BumpScope<'s> {
    type Buffer<T: Sample> = &'s mut [T];
    type Inner<'i> = BumpScope<'i>;

    /// An arena's memory must be initialised before it can be a slice. This is the cheapest safe
    /// way to do so.
    fn provide<T: Sample>(&self, length: usize) -> &'s mut [T] {
        self.alloc_slice_fill(length, T::default()).into_mut()
    }

    fn nested<R>(&mut self, work: impl FnOnce(&mut BumpScope<'_>) -> R) -> R {
        self.scoped(work)
    }
}
