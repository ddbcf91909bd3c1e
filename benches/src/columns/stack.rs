//! dyn-stack: a stack whose size the caller computes in advance.

use std::fmt;
use std::mem;

use dyn_stack::{MemBuffer, MemStack, StackReq};

use super::arenas::ROOM;
use crate::column::{Address, BenchElement, Column, NestingColumn};

/// A stack with room for every workload.
pub struct DynStack(MemBuffer);

impl fmt::Debug for DynStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynStack").field(&self.0.len()).finish()
    }
}

impl Column for DynStack {
    type Scope<'s> = &'s mut MemStack;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self(MemBuffer::new(StackReq::new_aligned::<u8>(ROOM, 64)))
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut &mut MemStack) -> R) -> R {
        body(&mut MemStack::new(&mut self.0))
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        stack: &mut &mut MemStack,
        _: usize,
        length: usize,
    ) -> Address {
        let whole = mem::replace(stack, MemStack::new(&mut []));
        let (taken, rest) = whole.make_uninit::<T>(length);
        *stack = rest;
        Address(taken.as_mut_ptr().cast())
    }
}

impl NestingColumn for DynStack {
    #[inline(always)]
    fn nested<R>(stack: &mut &mut MemStack, body: impl FnOnce(&mut &mut MemStack) -> R) -> R {
        body(&mut &mut **stack)
    }
}
