//! The layout of stacks: arrays lie one after the other in a chunk of memory. A scope is the address of the next array
//! and a pointer to the pool's state; an acquire compares that address with the end of the chunk. When a scope ends, no
//! code runs: the outer scope still has its own address.
//!
//! # Invariants
//!
//! 1. **A cursor is an address in a chunk of its pool**, from the chunk's start to its end, or a *stray* address: `STRAY`,
//!    or one where there is no chunk any more. A stray cursor has nothing of the pool below it, because a chunk is freed
//!    only where the cursors that may be used again are at its start or in earlier chunks. `STRAY` is above every end. No
//!    chunk is allocated around a stray cursor: for an address within a chunk, what is below it in the chunk may be handed
//!    out.
//! 2. **What is at or above the cursor of the innermost scope is not viewed**: the rest of its chunk, and every later
//!    chunk. Only that is zeroed, freed, discarded, or handed out. A cursor is set back in two cases, both over the
//!    last array: filling it failed, or it is a vector that became a slice of fewer elements.
//! 3. **The hot path hands out only below an end of the cursor's own chunk.** The ends are null unless the pool is
//!    *settled*: it has one chunk, all cursors in use are in that chunk, and it is not marked as busy. A null end is
//!    below every cursor, which sends each acquire to the cold function. So a stray cursor, or one of another chunk,
//!    never meets an end that is not null. A pool becomes settled only where a cursor at `STRAY` acquires: the pool was
//!    not settled when that cursor was made, and every other cursor in use is at `STRAY` too. It is not settled any more
//!    before a chunk is allocated or freed.
//! 4. Every chunk ends one line below the end of its block, so that an address is in at most one chunk, and a cursor at
//!    the end of a chunk is not at the start of another.
//! 5. Cursors, ends and starts are multiples of [`PoolBackend::ALIGN`](crate::PoolBackend::ALIGN), a *line*; steps are
//!    rounded up to lines.
//! 6. **A byte at or above the cursor is initialised, or is in a dirty range** (`dirty`). `end` is at most the lowest
//!    dirty byte, so an acquire whose elements may be read reaches no dirty byte without the cold function, which zeroes
//!    it. `written_end` is the end of the chunk, for acquires whose elements are written first.
//! 7. Everything here runs on the thread that owns the pool.
//! 8. **While foreign code runs inside an operation, the pool is marked as busy, and its ends are null**: acquires come
//!    to the cold function and are refused. No reference into the lists of chunks, names or shapes is held meanwhile.
//! 9. A shape set is of the array that begins at the set's offset. The sets are in the order of their offsets; those at
//!    or above the offset of a cursor are not borrowed. An array of dynamic rank takes a line at least, so that two of
//!    them never have one offset.
//!
// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// chunks, dirty, growth_report: nothing
// state: chunks, dirty, growth_report
// chunk_memory: chunks, state
// memory: state
// idle: chunk_memory, state
// settle: chunk_memory, chunks, memory, state
// cold: chunk_memory, chunks, memory, settle, state
// shapes: cold, memory, state
// cursor: cold, idle, memory, shapes, state
// root: chunk_memory, cursor, shapes, state
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
mod memory;
mod root;
mod settle;
mod shapes;
mod state;
