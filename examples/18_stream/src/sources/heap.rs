//! Temporaries from the heap: each one is a new `Vec`, as in a first draft.

use crate::scratch::{Sample, Scratch};

/// The heap, that is, the global allocator.
#[derive(Clone, Copy, Debug)]
pub struct Heap;

impl Scratch for Heap {
    type Buffer<T: Sample> = Vec<T>;
    type Inner<'i> = Self;

    fn provide<T: Sample>(&self, length: usize) -> Vec<T> {
        vec![T::default(); length]
    }

    fn nested<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        work(self)
    }
}
