//! The layout of stacks: arrays are adjacent in a chunk of memory. A scope is the address of the next array and a
//! pointer to the pool's state; an acquire compares that address with the end of the chunk. When a scope ends, no code
//! runs: the outer scope still has its own address.
//!
//! A chunk is *owned* or *borrowed*. A borrowed chunk is the rest of a chunk of another pool of the
//! same thread, and that chunk ends before it (`loans`). So nested thread-local scopes share one
//! stack (`nesting`).
//!
//! # Invariants
//!
//! 1. **A cursor is an address in a chunk of its pool**, from the chunk's start to its end, or a
//!    *stray* address: `STRAY`, or one that is no longer in a chunk. A stray cursor has nothing of
//!    the pool below it: a chunk is freed only if the cursors that may be used again are at its
//!    start or in earlier chunks. `STRAY` is above every end. No chunk is allocated around a stray
//!    cursor, because for an address within a chunk, the bytes below it in the chunk count as
//!    handed out.
//! 2. **Memory at or above the cursor of the innermost scope is not viewed**: the rest of its
//!    chunk, and every later chunk. Only this memory is zeroed, freed, discarded, or handed out. A
//!    cursor is set back in two cases, both over the last array: filling it failed, or it is a
//!    vector that became a slice of fewer elements.
//! 3. **The hot path hands out only memory below an end of the cursor's own chunk.** The ends are
//!    null unless the pool is *settled* and not marked as busy. A settled pool has one chunk. All
//!    cursors in use are in that chunk, or at `STRAY`. A null end is below every cursor, and every
//!    end is below `STRAY`: such acquires go to the cold function.
//!
//!    A pool becomes settled when a cursor at `STRAY` acquires: `base` was `STRAY` when that cursor
//!    was made, so every other cursor in use is at `STRAY` too. It also becomes settled when it
//!    borrows its only chunk and no cursor is in use. It stops being settled before a chunk is
//!    allocated or freed. `base` may become `STRAY` in a settled pool: then the next first cursor
//!    merges.
//! 4. Every owned chunk ends at least one line below the end of its block. So an address is in at
//!    most one chunk, and a cursor at the end of a chunk is not at the start of another. A borrowed
//!    chunk begins at an address that is in no owned chunk of its pool.
//! 5. Cursors, ends and starts are multiples of [`PoolBackend::ALIGN`](crate::PoolBackend::ALIGN), a *line*; steps are
//!    rounded up to lines.
//! 6. **A byte at or above the cursor is initialised, or is in a dirty range** (`dirty`). `end` is
//!    at most the lowest dirty byte. So an acquire for reading reaches no dirty byte without the
//!    cold function. That function first checks if the array has no dirty byte, and otherwise
//!    zeroes its dirty bytes. `written_end` is the end of the chunk, for acquires whose elements are
//!    written first. The borrower of lent memory has its dirty ranges.
//! 7. Everything here runs on the thread that owns the pool.
//! 8. **While foreign code runs inside an operation, the pool is marked as busy, and its ends are
//!    null**: acquires go to the cold function and are refused. No reference into the lists of
//!    chunks, names or shapes is held meanwhile.
//! 9. A shape set belongs to the array that begins at the set's offset. The sets are in the order
//!    of their offsets; those at or above the offset of a cursor are not borrowed. An array of
//!    dynamic rank takes at least a line, so no two of them have the same offset.
//! 10. **`top` is at or above every cursor in use of a settled pool's chunk**, and a first cursor
//!     sets it to `base`. Memory is lent from `top` on. It may be too high, because the end of a
//!     scope does not lower it. Then less is lent.
//! 11. **A chunk that is lent or borrowed is never freed by the backend.** `chunk_memory::free` is
//!     the only place that frees, and it transfers such a chunk instead (`loans`).
//! 12. **Bytes that a view armed are handed out only after the backend has ordered them.** Both
//!     ends are at most the lowest armed byte, so the acquire that reaches it is cold. The backend
//!     orders the armed bytes of a freed chunk in `free`.
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
