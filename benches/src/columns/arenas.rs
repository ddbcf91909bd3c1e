//! Arenas: bump-scope with both forms of scopes and with `reset`, and bumpalo with `reset`.
//!
//! bump-scope's scopes never merge its chunks. An arena that starts empty would always move from
//! chunk to chunk, at twice the cost. The columns with scopes therefore start with room for every
//! workload.

use std::alloc::Layout;

use bump_scope::BumpScope;

use crate::column::{Address, BenchElement, Column, NestingColumn};

/// The number of bytes that the largest workload needs.
pub(super) const ROOM: usize = 48 << 20;

/// bump-scope with `scoped(|scope| ..)`.
#[derive(Debug)]
pub struct BumpScoped(bump_scope::Bump);

impl Column for BumpScoped {
    type Scope<'s> = BumpScope<'s>;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self(bump_scope::Bump::with_size(ROOM))
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut BumpScope<'_>) -> R) -> R {
        self.0.scoped(body)
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        scope: &mut BumpScope<'s>,
        _: usize,
        length: usize,
    ) -> Address {
        Address(scope.alloc_uninit_slice::<T>(length).into_mut().as_mut_ptr().cast())
    }
}

impl NestingColumn for BumpScoped {
    #[inline(always)]
    fn nested<R>(scope: &mut BumpScope<'_>, body: impl FnOnce(&mut BumpScope<'_>) -> R) -> R {
        scope.scoped(body)
    }
}

/// bump-scope with `scope_guard()`.
#[derive(Debug)]
pub struct BumpGuard(bump_scope::Bump);

impl Column for BumpGuard {
    type Scope<'s> = BumpScope<'s>;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self(bump_scope::Bump::with_size(ROOM))
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut BumpScope<'_>) -> R) -> R {
        let mut guard = self.0.scope_guard();
        body(guard.scope())
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        scope: &mut BumpScope<'s>,
        _: usize,
        length: usize,
    ) -> Address {
        Address(scope.alloc_uninit_slice::<T>(length).into_mut().as_mut_ptr().cast())
    }
}

impl NestingColumn for BumpGuard {
    #[inline(always)]
    fn nested<R>(scope: &mut BumpScope<'_>, body: impl FnOnce(&mut BumpScope<'_>) -> R) -> R {
        let mut guard = scope.scope_guard();
        body(guard.scope())
    }
}

/// bump-scope with `reset()` after the last use. Its chunks are merged, but nothing nests.
#[derive(Debug)]
pub struct BumpReset(pub(crate) bump_scope::Bump);

impl Column for BumpReset {
    type Scope<'s> = bump_scope::Bump;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self(bump_scope::Bump::new())
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut bump_scope::Bump) -> R) -> R {
        let result = body(&mut self.0);
        self.0.reset();
        result
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        bump: &mut bump_scope::Bump,
        _: usize,
        length: usize,
    ) -> Address {
        Address(bump.alloc_uninit_slice::<T>(length).into_mut().as_mut_ptr().cast())
    }
}

/// bumpalo with `reset()` after the last use. It has no scopes.
#[derive(Debug)]
pub struct Bumpalo(pub(crate) bumpalo::Bump);

impl Column for Bumpalo {
    type Scope<'s> = bumpalo::Bump;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self(bumpalo::Bump::new())
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut bumpalo::Bump) -> R) -> R {
        let result = body(&mut self.0);
        self.0.reset();
        result
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        bump: &mut bumpalo::Bump,
        _: usize,
        length: usize,
    ) -> Address {
        let Ok(layout) = Layout::array::<T>(length) else { unreachable!("lengths are small") };
        Address(bump.alloc_layout(layout).as_ptr())
    }
}
