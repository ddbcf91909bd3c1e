//! Varying lengths: sixteen arrays in a scope, each with a pseudo-random length from 1 to 9,999.
//! The arrays are either touched or fully written. The lengths come from a table that is created
//! before the measurement.

use super::on_columns::on_columns;
use super::small::Empty;
use crate::case::{Case, Work};
use crate::column::{Buffer, Column, touch, write_all};
use crate::columns::arenas::{BumpGuard, BumpReset, BumpScoped, Bumpalo};
use crate::columns::heap::{WithCapacity, Zeroed};
use crate::columns::kept::CallerKept;
use crate::columns::opool::Opool;
use crate::columns::ours::{Dynamic, Explicit, StackedExplicit, StackedThreadLocal, ThreadLocal};
use crate::columns::published::{FullCheckpoint, TypedCheckpoint};
use crate::columns::stack::DynStack;

/// The number of arrays in a scope.
const ARRAYS: usize = 16;

/// The number of scopes after which the lengths repeat: a power of two.
const ROWS: usize = 64;

type Typed = TypedCheckpoint<(f64,)>;

macro_rules! of_use {
    ($variant:literal, $write:literal) => {
        on_columns!("varying lengths", $variant:
            "empty" => Empty,
            "caller-kept" => Varying<CallerKept, $write>,
            "pool, explicit" => Varying<Explicit, $write>,
            "pool, stacked" => Varying<StackedExplicit, $write>,
            "pool, thread-local" => Varying<ThreadLocal, $write>,
            "pool, stacked, thread-local" => Varying<StackedThreadLocal, $write>,
            "pool, dynamic" => Varying<Dynamic, $write>,
            "bump-scope, scoped" => Varying<BumpScoped, $write>,
            "bump-scope, guard" => Varying<BumpGuard, $write>,
            "bump-scope, reset" => Varying<BumpReset, $write>,
            "bumpalo" => Varying<Bumpalo, $write>,
            "dyn-stack" => Varying<DynStack, $write>,
            "opool" => Varying<Opool, $write>,
            "with_capacity" => Varying<WithCapacity, $write>,
            "vec![0; n]" => Varying<Zeroed, $write>,
            "published, typed" => Varying<Typed, $write>,
            "published, full" => Varying<FullCheckpoint, $write>,
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    [of_use!("touched", false), of_use!("fully written", true)].concat()
}

/// A column with its table of lengths.
#[derive(Debug)]
pub struct Varying<C, const WRITE: bool> {
    column: C,
    lengths: Vec<[usize; ARRAYS]>,
    next: usize,
}

impl<C: Column, const WRITE: bool> Work for Varying<C, WRITE> {
    fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(16);
        let row = |_| std::array::from_fn(|_| random.usize(1..10_000));
        Self { column: C::new(), lengths: (0..ROWS).map(row).collect(), next: 0 }
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        let lengths = &self.lengths[self.next % ROWS];
        self.next += 1;
        self.column.scoped(
            #[inline(always)]
            |scope| {
                // Writes the code out sixteen times, because a program would have sixteen call
                // sites.
                macro_rules! arrays {
                    ($($position:literal)+) => {
                        let mut arrays = ($(one_array::<C, WRITE>(scope, $position, lengths[$position]),)+);
                        let _ = &mut arrays;
                    };
                }
                arrays!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            },
        );
    }
}

#[inline(always)]
fn one_array<'s, C: Column, const WRITE: bool>(
    scope: &mut C::Scope<'s>,
    position: usize,
    length: usize,
) -> impl Buffer + use<'s, C, WRITE> {
    let mut array = C::acquire::<f64>(scope, position, length);
    if WRITE {
        write_all(&mut array, length, 1.0);
    } else {
        touch(&mut array);
    }
    array
}
