//! Nesting: four functions that are not inlined. Each opens its own scope inside the scope that it
//! receives, and acquires one array.

use pool_facade::prelude::*;

use super::on_columns::on_columns;
use super::small::Empty;
use crate::case::{Case, Work};
use crate::column::{Column, NestingColumn, touch};
use crate::columns::arenas::{BumpGuard, BumpScoped};
use crate::columns::heap::{WithCapacity, Zeroed};
use crate::columns::kept::CallerKept;
use crate::columns::ours::{Dynamic, Explicit, StackedExplicit, StackedThreadLocal, ThreadLocal};
use crate::columns::published::{FullCheckpoint, TypedCheckpoint};
use crate::columns::stack::DynStack;

pub(super) fn cases() -> Vec<Case> {
    on_columns!("nesting", "nested to depth 4":
        "empty" => Empty,
        "caller-kept" => Nested<CallerKept>,
        "pool, explicit" => Nested<Explicit>,
        "pool, stacked" => Nested<StackedExplicit>,
        "pool, explicit, by value" => ByValue,
        "pool, thread-local" => Nested<ThreadLocal>,
        "pool, stacked, thread-local" => Nested<StackedThreadLocal>,
        "pool, dynamic" => Nested<Dynamic>,
        "bump-scope, scoped" => Nested<BumpScoped>,
        "bump-scope, guard" => Nested<BumpGuard>,
        "dyn-stack" => Nested<DynStack>,
        "with_capacity" => Nested<WithCapacity>,
        "vec![0; n]" => Nested<Zeroed>,
        "published, typed" => Nested<TypedCheckpoint<(f64,)>>,
        "published, full" => Nested<FullCheckpoint>,
    )
    .to_vec()
}

/// Scopes passed by reference.
#[derive(Debug)]
pub struct Nested<C>(C);

impl<C: NestingColumn> Work for Nested<C> {
    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        self.0.scoped(
            #[inline(always)]
            |scope| {
                let mut array = C::acquire::<f64>(scope, 0, first);
                touch(&mut array);
                level::<C, 1>(scope, first, second, third);
            },
        );
    }
}

#[inline(never)]
#[expect(clippy::only_used_in_recursion, reason = "every case takes three lengths")]
fn level<C: NestingColumn, const DEPTH: usize>(
    scope: &mut C::Scope<'_>,
    first: usize,
    second: usize,
    third: usize,
) {
    C::nested(
        scope,
        #[inline(always)]
        |scope| {
            let mut array = C::acquire::<f64>(scope, DEPTH, second);
            touch(&mut array);
            match DEPTH {
                1 => level::<C, 2>(scope, first, second, third),
                2 => level::<C, 3>(scope, first, second, third),
                _ => (),
            }
        },
    );
}

/// The pool's scopes passed by value: one word, in a register.
#[derive(Debug)]
pub struct ByValue(Explicit);

impl Work for ByValue {
    fn new() -> Self {
        Self(Explicit::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        let mut scope = self.0.0.scope();
        touch(&mut scope.acquire::<f64, _>(first));
        level_by_value::<1>(scope.scope(), first, second, third);
    }
}

#[inline(never)]
#[expect(clippy::only_used_in_recursion, reason = "every case takes three lengths")]
fn level_by_value<const DEPTH: usize>(
    mut scope: Scope<'_, Cpu>,
    first: usize,
    second: usize,
    third: usize,
) {
    touch(&mut scope.acquire::<f64, _>(second));
    match DEPTH {
        1 => level_by_value::<2>(scope.scope(), first, second, third),
        2 => level_by_value::<3>(scope.scope(), first, second, third),
        _ => (),
    }
}
