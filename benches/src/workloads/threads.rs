//! Threads: the three small arrays on one thread, and on two threads at the same time, each with
//! its own pool.

use super::on_columns::on_columns;
use super::small::ThreeArrays;
use crate::case::Case;
use crate::columns::arenas::BumpScoped;
use crate::columns::kept::CallerKept;
use crate::columns::ours::{Explicit, StackedExplicit, StackedThreadLocal, ThreadLocal};

/// Returns the cases. [`harness::threads`](crate::harness::threads) runs each on one thread and on
/// two.
#[must_use]
pub fn cases() -> Vec<Case> {
    on_columns!("threads", "one thread":
        "caller-kept" => ThreeArrays<CallerKept>,
        "pool, explicit" => ThreeArrays<Explicit>,
        "pool, stacked" => ThreeArrays<StackedExplicit>,
        "pool, thread-local" => ThreeArrays<ThreadLocal>,
        "pool, stacked, thread-local" => ThreeArrays<StackedThreadLocal>,
        "bump-scope, scoped" => ThreeArrays<BumpScoped>,
    )
    .to_vec()
}
