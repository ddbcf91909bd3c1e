//! Compares the pool with its alternatives. The same work is written once, and runs with each
//! method to obtain temporary memory.
//!
//! A [`Column`](column::Column) is one method to obtain temporaries: the pool's scopes, a buffer
//! that the caller keeps, an arena, or the global allocator. A workload is generic over columns, so
//! every column runs the same code. Each pair is a [`Case`](case::Case): a function that is never
//! inlined, and that a loop calls with lengths unknown to the compiler. Every figure includes the
//! call and the loop; the row `empty` shows their cost.
//!
//! `cargo bench` runs the cases with criterion. `cargo xtask bench` runs them with [`harness`],
//! which produces all quoted figures.

// Layering: each module may import only the modules after its colon. `cargo xtask imports` checks
// this, and `--list` prints the list.
//
// published, record, storage: nothing
// case: record
// column: published, storage
// columns: column, published, storage
// workloads: case, column, columns, published, record
// harness: case, record, workloads

pub mod case;
pub mod column;
pub mod columns;
pub mod harness;
pub mod published;
pub mod record;
pub mod storage;
pub mod workloads;
