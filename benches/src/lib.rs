//! The pool beside its alternatives: the same work, written once, on every way to get temporary
//! memory.
//!
//! A [`Column`](column::Column) is one way to get temporaries: the pool's scopes, a buffer that the
//! caller keeps, an arena, the global allocator. A workload is generic over columns, so each runs
//! the same code. Each pair is a [`Case`](case::Case): one function that is never inlined, which a
//! loop calls with lengths that the compiler does not know. Call and loop are part of every figure;
//! the row `empty` shows their cost.
//!
//! `cargo bench` shows the cases through criterion. `cargo xtask bench` runs them through
//! [`harness`]; quoted figures come from it.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
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
