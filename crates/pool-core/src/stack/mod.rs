//! The layout of stacks: arrays are placed one after the other in a chunk of memory. A scope
//! consists of the address of the next array and a pointer to the pool's state. An acquire compares
//! that address with the end of the chunk. When a scope ends, no code runs, because the outer scope
//! still has its own address.
//!
//! A chunk is *owned* or *borrowed*. A borrowed chunk is the rest of a chunk of another pool of the
//! same thread, and the other pool's chunk ends where the borrowed chunk begins (`loans`). Nested
//! thread-local scopes thereby share one stack (`nesting`).
//!
//! # Invariants
//!
//! 1. **A cursor is an address in a chunk of its pool**, from the chunk's start to its end, or a
//!    *stray* address: `STRAY`, or an address that is no longer in a chunk. No array of the pool is
//!    below a stray cursor: a chunk is freed only if the cursors that may be used again are at its
//!    start or in earlier chunks. `STRAY` is above every end. No chunk is allocated around a stray
//!    cursor, because the bytes below a cursor in its chunk count as handed out.
//! 2. **Memory at or above the cursor of the innermost scope is not viewed.** This memory consists
//!    of the rest of the cursor's chunk, and every later chunk. Only this memory is zeroed, freed,
//!    discarded, or handed out. A cursor moves back only over the last array, in two cases: filling
//!    the array failed, or the array is a vector that became a slice of fewer elements.
//! 3. **The hot path hands out only memory below an end of the cursor's own chunk.** The ends are
//!    null unless the pool is *settled* and not marked as busy. A settled pool has one chunk. All
//!    cursors in use are in that chunk, or at `STRAY`. A null end is below every cursor, and every
//!    end is below `STRAY`, so acquires with a null end or a stray cursor go to the cold function.
//!
//!    A pool becomes settled when a cursor at `STRAY` acquires: `base` was `STRAY` when that cursor
//!    was created, so every other cursor in use is also at `STRAY`. A pool also becomes settled
//!    when it borrows its only chunk and no cursor is in use. It stops being settled before a chunk
//!    is allocated or freed. `base` may become `STRAY` in a settled pool; the next first cursor
//!    then merges the chunks.
//! 4. Every owned chunk ends at least one line below the end of its block. An address is therefore
//!    in at most one chunk, and a cursor at the end of a chunk is not at the start of another
//!    chunk. A borrowed chunk begins at an address that is in no owned chunk of its pool.
//! 5. Cursors, ends and starts are multiples of [`PoolBackend::ALIGN`](crate::PoolBackend::ALIGN),
//!    a *line*. Steps are rounded up to lines.
//! 6. **A byte at or above the cursor is initialised, or is in a dirty range** (`dirty`). `end` is
//!    at most the lowest dirty byte, so an acquire for reading reaches no dirty byte without the
//!    cold function. That function first checks whether the array contains a dirty byte, and if so,
//!    zeroes the array's dirty bytes. `written_end` is the end of the chunk, for acquires whose
//!    elements are written first. The dirty ranges of lent memory belong to the borrower.
//! 7. All code of this module runs on the thread that owns the pool.
//! 8. **While foreign code runs inside an operation, the pool is marked as busy, and its ends are
//!    null**: acquires go to the cold function and are refused. No reference into the lists of
//!    chunks, names or shapes is held while foreign code runs.
//! 9. A shape set belongs to the array that begins at the set's offset. The sets are sorted by
//!    offset, and sets at or above the offset of a cursor are not borrowed. An array of dynamic
//!    rank uses at least one line, so no two of them have the same offset.
//! 10. **`top` is at or above every cursor in use of a settled pool's chunk**, and a first cursor
//!     sets it to `base`. Memory is lent from `top` on. `top` may be too high, because the end of a
//!     scope does not lower it. In that case, less memory is lent.
//! 11. **A chunk that is lent or borrowed is never freed by the backend.** Only
//!     `chunk_memory::free` frees chunks, and it transfers such a chunk instead (`loans`).
//! 12. **Bytes that a view armed are handed out only after the backend has ordered them.** Both
//!     ends are at most the lowest armed byte, so the acquire that reaches this byte is cold. The
//!     armed bytes of a freed chunk are ordered by the backend's `free`.
//!
// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// chunks, dirty, growth_report: nothing
// state: chunks, dirty, growth_report
// loans: chunks, state
// memory: state
// chunk_memory: chunks, loans, state
// idle: chunk_memory, state
// nesting: chunk_memory, chunks, loans, state
// settle: chunk_memory, chunks, memory, state
// cold: chunk_memory, chunks, memory, settle, state
// shapes: cold, memory, state
// reference: state
// cursor: cold, idle, memory, shapes, state
// root: chunk_memory, cursor, nesting, shapes, state
// layout: cursor, memory, root, shapes, state

mod chunk_memory;
mod chunks;
mod cold;
mod cursor;
mod dirty;
#[cfg(debug_assertions)]
mod growth_report;
mod idle;
mod layout;
mod loans;
mod memory;
mod nesting;
mod reference;
mod root;
mod settle;
mod shapes;
mod state;
