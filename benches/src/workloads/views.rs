//! Array views of fixed rank: a scope with three 10 × 10 arrays as `ndarray` views. One byte of
//! each array is touched.

use ndarray::{Array2, ArrayViewMut2};
use pool_facade::prelude::*;

use super::on_columns::on_columns;
use super::small::Empty;
use crate::case::{Case, Work};
use crate::column::{Address, Buffer, Column, touch};
use crate::columns::arenas::{BumpGuard, BumpReset, BumpScoped, Bumpalo};
use crate::columns::kept::CallerKept;
use crate::columns::opool::Opool;
use crate::columns::ours::{Dynamic, Explicit};
use crate::columns::published::{FullCheckpoint, TypedCheckpoint};
use crate::columns::stack::DynStack;

type Typed = TypedCheckpoint<(f64,)>;

pub(super) fn cases() -> Vec<Case> {
    let fixed = on_columns!("array views", "10 × 10, fixed rank":
        "empty" => Empty,
        "caller-kept" => RawViews<CallerKept>,
        "pool, explicit" => PoolViews,
        "pool, thread-local" => LocalViews,
        "pool, dynamic" => RawViews<Dynamic>,
        "pool, explicit, raw view" => RawViews<Explicit>,
        "bump-scope, scoped" => RawViews<BumpScoped>,
        "bump-scope, guard" => RawViews<BumpGuard>,
        "bump-scope, reset" => RawViews<BumpReset>,
        "bumpalo" => RawViews<Bumpalo>,
        "dyn-stack" => RawViews<DynStack>,
        "opool" => RawViews<Opool>,
        "ndarray, Array2::uninit" => UninitArrays,
        "ndarray, Array2::zeros" => ZeroArrays,
        "published, typed" => RawViews<Typed>,
        "published, full" => RawViews<FullCheckpoint>,
    );
    fixed.to_vec()
}

/// The length of an array's side.
const SIDES: [usize; 3] = [10, 10, 10];

fn touch_view<T>(view: &mut ArrayViewMut2<'_, T>) {
    touch(&mut Address(view.as_mut_ptr().cast()));
}

/// `ndarray` views created by hand over a column's memory.
#[derive(Debug)]
pub struct RawViews<C>(C);

impl<C: Column> Work for RawViews<C> {
    const LENGTHS: [usize; 3] = SIDES;

    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        self.0.scoped(
            #[inline(always)]
            |scope| {
                let mut a = C::acquire::<f64>(scope, 0, first * second);
                touch_view(&mut raw_view(&mut a, first, second));
                let mut b = C::acquire::<f64>(scope, 1, second * third);
                touch_view(&mut raw_view(&mut b, second, third));
                let mut c = C::acquire::<f64>(scope, 2, third * first);
                touch_view(&mut raw_view(&mut c, third, first));
            },
        );
    }
}

#[inline(always)]
fn raw_view(buffer: &mut impl Buffer, rows: usize, columns: usize) -> ArrayViewMut2<'_, f64> {
    let start = buffer.start().cast::<f64>();
    // SAFETY: the buffer was acquired with `rows * columns` elements and is borrowed exclusively.
    // Only the view's address is used.
    unsafe { ArrayViewMut2::from_shape_ptr((rows, columns), start) }
}

/// The pool's own arrays, which check the product of the lengths.
#[derive(Debug)]
pub struct PoolViews(Pool<Cpu>);

impl Work for PoolViews {
    const LENGTHS: [usize; 3] = SIDES;

    fn new() -> Self {
        Self(Pool::new(()))
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        pool_views(&self.0.scope(), first, second, third);
    }
}

/// The same arrays in a pool of the thread.
#[derive(Debug)]
pub struct LocalViews;

impl Work for LocalViews {
    const LENGTHS: [usize; 3] = SIDES;

    fn new() -> Self {
        Self
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        with_pool!(|scope| { pool_views(&scope, first, second, third) });
    }
}

#[inline(always)]
fn pool_views(scope: &Scope<'_, Cpu>, first: usize, second: usize, third: usize) {
    let mut a = scope.acquire_array::<f64, _>([first, second]);
    touch_view(&mut a);
    let mut b = scope.acquire_array::<f64, _>([second, third]);
    touch_view(&mut b);
    let mut c = scope.acquire_array::<f64, _>([third, first]);
    touch_view(&mut c);
}

/// `ndarray`'s own allocation, uninitialised.
#[derive(Debug)]
pub struct UninitArrays;

impl Work for UninitArrays {
    const LENGTHS: [usize; 3] = SIDES;

    fn new() -> Self {
        Self
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        let mut a = Array2::<f64>::uninit((first, second));
        touch_view(&mut a.view_mut());
        let mut b = Array2::<f64>::uninit((second, third));
        touch_view(&mut b.view_mut());
        let mut c = Array2::<f64>::uninit((third, first));
        touch_view(&mut c.view_mut());
    }
}

/// `ndarray`'s own allocation, zeroed.
#[derive(Debug)]
pub struct ZeroArrays;

impl Work for ZeroArrays {
    const LENGTHS: [usize; 3] = SIDES;

    fn new() -> Self {
        Self
    }

    #[inline(never)]
    fn run(&mut self, first: usize, second: usize, third: usize) {
        let mut a = Array2::<f64>::zeros((first, second));
        touch_view(&mut a.view_mut());
        let mut b = Array2::<f64>::zeros((second, third));
        touch_view(&mut b.view_mut());
        let mut c = Array2::<f64>::zeros((third, first));
        touch_view(&mut c.view_mut());
    }
}
