//! Large arrays: one array and three arrays of 8 MB, and one array of 40 MB, fully written. Each
//! case runs in a fresh process, because a process's history affects how its allocator serves such
//! sizes.

use super::on_columns::on_columns;
use crate::case::{Case, Work};
use crate::column::{Column, write_all};
use crate::columns::arenas::{BumpReset, BumpScoped, Bumpalo};
use crate::columns::heap::{WithCapacity, Zeroed};
use crate::columns::kept::CallerKept;
use crate::columns::opool::Opool;
use crate::columns::ours::{Dynamic, Explicit, StackedExplicit, StackedThreadLocal, ThreadLocal};
use crate::columns::published::FullCheckpoint;
use crate::columns::stack::DynStack;

macro_rules! of_size {
    ($variant:literal, $arrays:literal, $length:literal) => {
        on_columns!("large arrays", $variant:
            "caller-kept" => Large<CallerKept, $arrays, $length>,
            "pool, explicit" => Large<Explicit, $arrays, $length>,
            "pool, stacked" => Large<StackedExplicit, $arrays, $length>,
            "pool, thread-local" => Large<ThreadLocal, $arrays, $length>,
            "pool, stacked, thread-local" => Large<StackedThreadLocal, $arrays, $length>,
            "pool, dynamic" => Large<Dynamic, $arrays, $length>,
            "bump-scope, scoped" => Large<BumpScoped, $arrays, $length>,
            "bump-scope, reset" => Large<BumpReset, $arrays, $length>,
            "bumpalo" => Large<Bumpalo, $arrays, $length>,
            "dyn-stack" => Large<DynStack, $arrays, $length>,
            "opool" => Large<Opool, $arrays, $length>,
            "with_capacity" => Large<WithCapacity, $arrays, $length>,
            "vec![0; n]" => Large<Zeroed, $arrays, $length>,
            "published, full" => Large<FullCheckpoint, $arrays, $length>,
        )
    };
}

/// Returns the cases. Each needs its own process.
#[must_use]
pub fn cases() -> Vec<Case> {
    [
        of_size!("1 × 8 MB", 1, 1_000_000),
        of_size!("3 × 8 MB", 3, 1_000_000),
        of_size!("1 × 40 MB", 1, 5_000_000),
    ]
    .concat()
}

/// `ARRAYS` arrays of `LENGTH` numbers.
#[derive(Debug)]
pub struct Large<C, const ARRAYS: usize, const LENGTH: usize>(C);

impl<C: Column, const ARRAYS: usize, const LENGTH: usize> Work for Large<C, ARRAYS, LENGTH> {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        let length = std::hint::black_box(LENGTH);
        self.0.scoped(
            #[inline(always)]
            |scope| {
                let mut arrays: [_; ARRAYS] = std::array::from_fn(
                    #[inline(always)]
                    |position| C::acquire::<f64>(scope, position, length),
                );
                for array in &mut arrays {
                    write_all(array, length, 1.0);
                }
            },
        );
    }
}
