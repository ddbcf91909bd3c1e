//! Element types: one, three and seven element types in a scope, and one type that is not built
//! into the published algorithm.

use num_complex::Complex;

use super::on_columns::on_columns;
use super::small::Empty;
use crate::case::{Case, Work};
use crate::column::{Column, touch};
use crate::columns::arenas::{BumpGuard, BumpReset, BumpScoped, Bumpalo};
use crate::columns::heap::{WithCapacity, Zeroed};
use crate::columns::kept::CallerKept;
use crate::columns::opool::Opool;
use crate::columns::ours::{Dynamic, Explicit, StackedExplicit, StackedThreadLocal, ThreadLocal};
use crate::columns::published::{FullCheckpoint, TypedCheckpoint};
use crate::columns::stack::DynStack;

/// The types that are built into the published algorithm.
type Seven = (f64, f32, i64, i32, Complex<f64>, Complex<f32>, u8);

/// Lists the same columns for each number of types.
macro_rules! of_types {
    ($variant:literal, $work:ident, $typed:ty) => {
        on_columns!("element types", $variant:
            "empty" => Empty,
            "caller-kept" => $work<CallerKept>,
            "pool, explicit" => $work<Explicit>,
            "pool, stacked" => $work<StackedExplicit>,
            "pool, thread-local" => $work<ThreadLocal>,
            "pool, stacked, thread-local" => $work<StackedThreadLocal>,
            "pool, dynamic" => $work<Dynamic>,
            "bump-scope, scoped" => $work<BumpScoped>,
            "bump-scope, guard" => $work<BumpGuard>,
            "bump-scope, reset" => $work<BumpReset>,
            "bumpalo" => $work<Bumpalo>,
            "dyn-stack" => $work<DynStack>,
            "opool" => $work<Opool>,
            "with_capacity" => $work<WithCapacity>,
            "vec![0; n]" => $work<Zeroed>,
            "published, typed" => $work<TypedCheckpoint<$typed>>,
            "published, full" => $work<FullCheckpoint>,
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    [
        of_types!("one type", OneType, (f64,)).to_vec(),
        of_types!("three types", ThreeTypes, (f64, f32, i64)).to_vec(),
        of_types!("seven types", SevenTypes, Seven).to_vec(),
        of_types!("one type that is not built in", OtherType, (u16,)).to_vec(),
    ]
    .concat()
}

/// One array.
#[derive(Debug)]
pub struct OneType<C>(C);

impl<C: Column> Work for OneType<C> {
    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, _: usize, _: usize) {
        self.0.scoped(
            #[inline(always)]
            |scope| touch(&mut C::acquire::<f64>(scope, 0, first)),
        );
    }
}

/// One array of a type that the published algorithm stores in its map.
#[derive(Debug)]
pub struct OtherType<C>(C);

impl<C: Column> Work for OtherType<C> {
    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, _: usize, _: usize) {
        self.0.scoped(
            #[inline(always)]
            |scope| touch(&mut C::acquire::<u16>(scope, 0, first)),
        );
    }
}

/// Three arrays of three types.
#[derive(Debug)]
pub struct ThreeTypes<C>(C);

impl<C: Column> Work for ThreeTypes<C> {
    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        self.0.scoped(
            #[inline(always)]
            |scope| {
                let mut a = C::acquire::<f64>(scope, 0, first);
                touch(&mut a);
                let mut b = C::acquire::<f32>(scope, 0, second);
                touch(&mut b);
                let mut c = C::acquire::<i64>(scope, 0, third);
                touch(&mut c);
            },
        );
    }
}

/// Seven arrays of seven types.
#[derive(Debug)]
pub struct SevenTypes<C>(C);

impl<C: Column> Work for SevenTypes<C> {
    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        self.0.scoped(
            #[inline(always)]
            |scope| {
                let mut a = C::acquire::<f64>(scope, 0, first);
                touch(&mut a);
                let mut b = C::acquire::<f32>(scope, 0, second);
                touch(&mut b);
                let mut c = C::acquire::<i64>(scope, 0, third);
                touch(&mut c);
                let mut d = C::acquire::<i32>(scope, 0, first);
                touch(&mut d);
                let mut e = C::acquire::<Complex<f64>>(scope, 0, second);
                touch(&mut e);
                let mut f = C::acquire::<Complex<f32>>(scope, 0, third);
                touch(&mut f);
                let mut g = C::acquire::<u8>(scope, 0, first);
                touch(&mut g);
            },
        );
    }
}
