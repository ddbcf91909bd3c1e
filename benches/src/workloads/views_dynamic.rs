//! Array views of dynamic rank: a scope with three arrays of 100 numbers. Their rank, 4 or 8, is
//! unknown to the compiler. There are three variants: a single shape; four alternating shapes,
//! which fill the ways of a slot's cache; and five alternating shapes, so that each shape has just
//! been evicted.

use ndarray::{ArrayD, ArrayViewMutD, IxDyn};
use pool_facade::prelude::*;

use super::on_columns::on_columns;
use super::small::Empty;
use crate::case::{Case, Work};
use crate::column::{Address, Buffer, Column, escape, touch};
use crate::columns::arenas::BumpScoped;
use crate::columns::kept::CallerKept;

macro_rules! of_shapes {
    ($variant:literal, $rank:literal, $shapes:literal) => {
        on_columns!("array views", $variant:
            "empty" => Empty,
            "pool, explicit" => Arrays<Cached, $rank, $shapes>,
            "pool, thread-local" => Arrays<CachedLocal, $rank, $shapes>,
            "pool, stacked" => Arrays<CachedStack, $rank, $shapes>,
            "pool, explicit, shape only" => Arrays<CachedShape, $rank, $shapes>,
            "caller-kept, ndarray's view" => Arrays<Constructed<CallerKept>, $rank, $shapes>,
            "bump-scope, ndarray's view" => Arrays<Constructed<BumpScoped>, $rank, $shapes>,
            "ndarray, ArrayD::uninit" => Arrays<Owned, $rank, $shapes>,
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    [
        of_shapes!("rank 4, hit", 4, 1),
        of_shapes!("rank 4, 4 shapes", 4, 4),
        of_shapes!("rank 4, 5 shapes", 4, 5),
        of_shapes!("rank 8, hit", 8, 1),
        of_shapes!("rank 8, 4 shapes", 8, 4),
        of_shapes!("rank 8, 5 shapes", 8, 5),
    ]
    .concat()
}

/// The first two lengths of each shape. All other lengths are 1.
const FACTORS: [[usize; 2]; 5] = [[10, 10], [5, 20], [20, 5], [4, 25], [25, 4]];

/// A method to obtain arrays of dynamic rank.
pub trait DynamicArrays: 'static {
    /// Creates the initial state.
    fn new() -> Self;

    /// Runs a scope with three arrays of this shape.
    fn three_arrays(&mut self, shape: &[usize]);
}

/// Alternates between `SHAPES` shapes of rank `RANK`.
#[derive(Debug)]
pub struct Arrays<A, const RANK: usize, const SHAPES: usize> {
    arrays: A,
    shapes: [Vec<usize>; SHAPES],
    next: usize,
}

impl<A: DynamicArrays, const RANK: usize, const SHAPES: usize> Work for Arrays<A, RANK, SHAPES> {
    fn new() -> Self {
        let shape = |number: usize| {
            let mut shape = vec![1; RANK];
            shape[..2].copy_from_slice(&FACTORS[number]);
            shape
        };
        Self { arrays: A::new(), shapes: std::array::from_fn(shape), next: 0 }
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        let shape = self.next;
        self.next = if shape + 1 == SHAPES { 0 } else { shape + 1 };
        self.arrays.three_arrays(&self.shapes[shape]);
    }
}

/// The pool's cached `ndarray` headers.
#[derive(Debug)]
pub struct Cached(Pool<Cpu>);

impl DynamicArrays for Cached {
    fn new() -> Self {
        Self(Pool::new(()))
    }

    #[inline(always)]
    fn three_arrays(&mut self, shape: &[usize]) {
        cached_arrays(&self.0.scope(), shape);
    }
}

/// The same headers in a pool with a stack.
#[derive(Debug)]
pub struct CachedStack(Pool<Stacked<Cpu>>);

impl DynamicArrays for CachedStack {
    fn new() -> Self {
        Self(Pool::new(()))
    }

    #[inline(always)]
    fn three_arrays(&mut self, shape: &[usize]) {
        let scope = self.0.scope();
        for _ in 0..3 {
            let array = scope.acquire_array_dyn::<f64>(shape);
            touch(&mut Address(array.as_mut_ptr().cast()));
            escape(array);
        }
    }
}

/// The same headers in a pool of the thread.
#[derive(Debug)]
pub struct CachedLocal;

impl DynamicArrays for CachedLocal {
    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn three_arrays(&mut self, shape: &[usize]) {
        with_pool!(|scope| { cached_arrays(&scope, shape) });
    }
}

#[inline(always)]
fn cached_arrays(scope: &Scope<'_, Cpu>, shape: &[usize]) {
    for _ in 0..3 {
        let array = scope.acquire_array_dyn::<f64>(shape);
        touch(&mut Address(array.as_mut_ptr().cast()));
        escape(array);
    }
}

/// The pool's own view of dynamic rank, which consists of a slice and the cached lengths.
#[derive(Debug)]
pub struct CachedShape(Pool<Cpu>);

impl DynamicArrays for CachedShape {
    fn new() -> Self {
        Self(Pool::new(()))
    }

    #[inline(always)]
    fn three_arrays(&mut self, shape: &[usize]) {
        let scope = self.0.scope();
        for _ in 0..3 {
            let mut array = scope.acquire::<f64, _>(shape);
            touch(&mut Address(array.as_mut_slice().as_mut_ptr().cast()));
            escape(&raw const array);
        }
    }
}

/// `ndarray`'s own view, constructed over a column's memory.
#[derive(Debug)]
pub struct Constructed<C>(C);

impl<C: Column> DynamicArrays for Constructed<C> {
    fn new() -> Self {
        Self(C::new())
    }

    #[inline(always)]
    fn three_arrays(&mut self, shape: &[usize]) {
        let length = shape.iter().product();
        self.0.scoped(
            #[inline(always)]
            |scope| {
                for position in 0..3 {
                    let mut buffer = C::acquire::<f64>(scope, position, length);
                    let start = buffer.start().cast::<f64>();
                    // SAFETY: the buffer was acquired with exactly the elements of the shape, and
                    // is not borrowed elsewhere. Only the view's address is used.
                    let mut view = unsafe { ArrayViewMutD::from_shape_ptr(IxDyn(shape), start) };
                    touch(&mut Address(view.as_mut_ptr().cast()));
                    escape(&raw const view);
                }
            },
        );
    }
}

/// `ndarray`'s own allocation.
#[derive(Debug)]
pub struct Owned;

impl DynamicArrays for Owned {
    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn three_arrays(&mut self, shape: &[usize]) {
        for _ in 0..3 {
            let mut array = ArrayD::<f64>::uninit(IxDyn(shape));
            touch(&mut Address(array.as_mut_ptr().cast()));
            escape(&raw const array);
        }
    }
}
