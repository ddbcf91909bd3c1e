//! Small arrays: a scope with three arrays of 100 numbers, and one byte of each array is touched.
//! The arrays are acquired directly, or by a helper that is not inlined. The helper receives the
//! scope by reference, or its own scope by value.

use std::arch::asm;

use pool_facade::prelude::*;

use super::on_columns::on_columns;
use crate::case::{Case, Work};
use crate::column::{Column, touch};
use crate::columns::arenas::{BumpGuard, BumpReset, BumpScoped, Bumpalo};
use crate::columns::heap::{WithCapacity, Zeroed};
use crate::columns::kept::CallerKept;
use crate::columns::opool::Opool;
use crate::columns::ours::{Dynamic, Explicit, StackedExplicit, StackedThreadLocal, ThreadLocal};
use crate::columns::published::{FullCheckpoint, TypedCheckpoint};
use crate::columns::stack::DynStack;

type Typed = TypedCheckpoint<(f64,)>;

pub(super) fn cases() -> Vec<Case> {
    let direct = on_columns!("small arrays", "three arrays of f64":
        "empty" => Empty,
        "caller-kept" => ThreeArrays<CallerKept>,
        "pool, explicit" => ThreeArrays<Explicit>,
        "pool, stacked" => ThreeArrays<StackedExplicit>,
        "pool, thread-local" => ThreeArrays<ThreadLocal>,
        "pool, stacked, thread-local" => ThreeArrays<StackedThreadLocal>,
        "pool, dynamic" => ThreeArrays<Dynamic>,
        "bump-scope, scoped" => ThreeArrays<BumpScoped>,
        "bump-scope, guard" => ThreeArrays<BumpGuard>,
        "bump-scope, reset" => ThreeArrays<BumpReset>,
        "bumpalo" => ThreeArrays<Bumpalo>,
        "dyn-stack" => ThreeArrays<DynStack>,
        "opool" => ThreeArrays<Opool>,
        "with_capacity" => ThreeArrays<WithCapacity>,
        "vec![0; n]" => ThreeArrays<Zeroed>,
        "published, typed" => ThreeArrays<Typed>,
        "published, full" => ThreeArrays<FullCheckpoint>,
    );
    let helped = on_columns!("small arrays", "in a helper that gets the scope by reference":
        "empty" => Empty,
        "caller-kept" => Helped<CallerKept>,
        "pool, explicit" => Helped<Explicit>,
        "pool, stacked" => Helped<StackedExplicit>,
        "pool, own scope" => HelpedByOwnScope,
        "pool, thread-local" => Helped<ThreadLocal>,
        "pool, stacked, thread-local" => Helped<StackedThreadLocal>,
        "pool, dynamic" => Helped<Dynamic>,
        "bump-scope, scoped" => Helped<BumpScoped>,
        "bump-scope, guard" => Helped<BumpGuard>,
        "bump-scope, reset" => Helped<BumpReset>,
        "bumpalo" => Helped<Bumpalo>,
        "dyn-stack" => Helped<DynStack>,
        "published, typed" => Helped<Typed>,
        "published, full" => Helped<FullCheckpoint>,
    );
    [direct.to_vec(), helped.to_vec()].concat()
}

/// No work: only the cost of the call and the loop.
#[derive(Debug)]
pub struct Empty;

impl Work for Empty {
    fn new() -> Self {
        Self
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        // SAFETY: the assembly contains no instructions. It prevents the compiler from removing the
        // call.
        unsafe { asm!("", options(nostack, preserves_flags)) };
    }
}

/// The function that opens the scope acquires the three arrays.
#[derive(Debug)]
pub struct ThreeArrays<C>(C);

impl<C: Column> Work for ThreeArrays<C> {
    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        self.0.scoped(
            #[inline(always)]
            |scope| three_arrays::<C>(scope, first, second, third),
        );
    }
}

#[inline(always)]
fn three_arrays<C: Column>(scope: &mut C::Scope<'_>, first: usize, second: usize, third: usize) {
    let mut a = C::acquire::<f64>(scope, 0, first);
    touch(&mut a);
    let mut b = C::acquire::<f64>(scope, 1, second);
    touch(&mut b);
    let mut c = C::acquire::<f64>(scope, 2, third);
    touch(&mut c);
}

/// A helper acquires the three arrays.
#[derive(Debug)]
pub struct Helped<C>(C);

impl<C: Column> Work for Helped<C> {
    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        self.0.scoped(
            #[inline(always)]
            |scope| helper::<C>(scope, first, second, third),
        );
    }
}

/// A helper acquires the three arrays in its own scope, which it receives by value.
#[derive(Debug)]
pub struct HelpedByOwnScope(Pool<Cpu>);

impl Work for HelpedByOwnScope {
    fn new() -> Self {
        Self(Pool::new(()))
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        helper_by_value(self.0.scope().scope(), first, second, third);
    }
}

#[inline(never)]
fn helper_by_value(mut scope: Scope<'_, Cpu>, first: usize, second: usize, third: usize) {
    three_arrays::<Explicit>(&mut scope, first, second, third);
}

#[inline(never)]
fn helper<C: Column>(scope: &mut C::Scope<'_>, first: usize, second: usize, third: usize) {
    three_arrays::<C>(scope, first, second, third);
}
