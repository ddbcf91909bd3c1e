//! Temporaries from a scope of a pool.

use pool_facade::prelude::*;

use crate::scratch::{Sample, Scratch};

impl<'s> Scratch for Scope<'s, Cpu> {
    type Buffer<T: Sample> = &'s mut [T];
    type Inner<'i> = Scope<'i, Cpu>;

    fn provide<T: Sample>(&self, length: usize) -> &'s mut [T] {
        self.acquire(length)
    }

    fn nested<R>(&mut self, work: impl FnOnce(&mut Scope<'_, Cpu>) -> R) -> R {
        work(&mut self.scope())
    }
}
