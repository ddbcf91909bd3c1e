//! Temporaries from a scope of a pool, with either slots or a stack.

use pool_facade::prelude::*;

use crate::scratch::{Sample, Scratch};

macro_rules! scratch_of_scopes {
    ($($backend:ty),+) => {$(
        impl<'s> Scratch for Scope<'s, $backend> {
            type Buffer<T: Sample> = &'s mut [T];
            type Inner<'i> = Scope<'i, $backend>;

            fn provide<T: Sample>(&self, length: usize) -> &'s mut [T] {
                self.acquire(length)
            }

            fn nested<R>(&mut self, work: impl FnOnce(&mut Scope<'_, $backend>) -> R) -> R {
                work(&mut self.scope())
            }
        }
    )+};
}

scratch_of_scopes!(Cpu, Stacked<Cpu>);
