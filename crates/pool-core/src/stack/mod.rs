//! Implements the stack layout, in which arrays are placed one after another in a chunk of memory.
//! A scope consists of the next array's address and a pointer to the pool's state. An acquire
//! compares the next array's address with the end of the chunk. No code runs when a scope ends,
//! because the outer scope has its own copy of the next array's address.
//!
//! A chunk is either *owned* or *borrowed*. A borrowed chunk is the remainder of a chunk that
//! belongs to another pool on the same thread. The other pool's chunk ends at the start of the
//! borrowed chunk (see the `loans` module). Nested thread-local scopes share one stack because
//! pools borrow chunks from each other (see the `nesting` module).
//!
//! # Invariants
//!
//! 1. **A cursor is either an address in one of its pool's chunks or a *stray* address**. A cursor
//!    address in a chunk is between the chunk's start and end. A stray address is either `STRAY` or
//!    an address that is no longer in a chunk. None of the pool's arrays is below a stray cursor. A
//!    chunk is freed only if all cursors that can still be used are at its start or in earlier
//!    chunks. `STRAY` is above every end. A pool never uses a new chunk that contains a stray
//!    cursor, because a chunk's bytes below a cursor count as handed out.
//!
//! 2. **No view exists of memory at or above the innermost scope's cursor**. This memory consists
//!    of the remainder of the cursor's chunk and all later chunks. Only this memory can be zeroed,
//!    freed, discarded, or handed out. A cursor moves backward only over the last array. A cursor
//!    moves backward only if filling the array failed or if the array was a vector that became a
//!    shorter slice.
//!
//! 3. **The hot path hands out only memory below an `end` or a `written_end`, in the cursor's own
//!    chunk**. A pool has two pairs of these ends, and at least one pair is null (invariant 10).
//!    Both pairs are null unless the pool is *settled* and is not marked as busy. A settled pool
//!    has exactly one chunk, and all of its cursors in use are in that chunk or at `STRAY`. A null
//!    end is below every cursor, and every end is below `STRAY`. An acquire with null ends or a
//!    stray cursor therefore calls the cold function.
//!
//!    A pool becomes settled when a cursor at `STRAY` acquires memory. `base` was `STRAY` when the
//!    acquiring cursor was created, so every other cursor in use is also at `STRAY`. A pool also
//!    becomes settled when it borrows its only chunk while no cursor is in use. The pool is marked
//!    as unsettled before a chunk is allocated or freed. In a settled pool, `base` can become
//!    `STRAY`, and the first acquire of the next pass then merges the chunks.
//!
//! 4. Every owned chunk ends at least one line below the end of its block. An address is therefore
//!    in at most one chunk, and a cursor at the end of one chunk is never at the start of another.
//!    A borrowed chunk starts at an address outside all chunks that its pool owns.
//!
//! 5. All cursors, ends, and starts are multiples of
//!    [`PoolBackend::ALIGN`](crate::PoolBackend::ALIGN), which is called a *line*. The distance
//!    that a cursor moves is rounded up to whole lines.
//!
//! 6. **Every byte at or above the cursor is either initialized or in a dirty range** (see the
//!    `dirty` module). `end` is at or below the lowest dirty byte, so an acquire for reading calls
//!    the cold function if the acquired memory contains a dirty byte. The cold function checks
//!    whether the array contains dirty bytes and, if so, zeroes them. `written_end` is the end of
//!    the chunk and applies to acquires whose elements are written before they are read. The dirty
//!    ranges of lent memory belong to the borrower.
//!
//! 7. All code in this module runs on the thread that owns the pool.
//!
//! 8. **While user code runs during an operation, the pool is marked as busy, and `end` and
//!    `written_end` are null**. Acquires therefore call the cold function, which fails because the
//!    pool is busy. No reference to the lists of chunks, names, or shapes is held while user code
//!    runs.
//!
//! 9. Each shape set belongs to the array that starts at the set's offset. The sets are sorted by
//!    offset. Sets at or above a cursor's offset are not borrowed. An array with a dynamic rank
//!    uses at least one line, so no two such arrays have the same offset.
//!
//! 10. **If a settled pool may lend memory, `top` is at or above every cursor in use in its
//!     chunk**. A reservation stores the next position of the cursor in `top`, and the first cursor
//!     of a pass sets `top` to `base`. The pool lends only memory at or above `top`. The pool might
//!     lend only part of its idle memory, because `top` is not lowered when a scope ends.
//!
//!     A pool that lends no memory needs no `top`. The hot path first compares with `ends` and then
//!     stores nothing. When two pools are first used inside each other, both become pools that may
//!     lend, and `top` becomes `STRAY` if the pool is settled. From then on, `ends` is null, so the
//!     hot path also compares with `lender_ends` and stores `top`. In other pools, `lender_ends` is
//!     null. `STRAY` is in no chunk, so the pool lends nothing until `top` is stored.
//!
//! 11. **The backend never frees a chunk that is lent or borrowed**. Only `chunk_memory::free`
//!     frees chunks. Instead of freeing a lent or borrowed chunk, `chunk_memory::free` transfers it
//!     to another pool (see the `loans` module).
//!
//! 12. **Bytes that a view has armed are handed out only after the backend's `reuse_bytes` has been
//!     called for them**. Both `end` and `written_end` are at or below the lowest armed byte, so
//!     any acquire of that byte calls the cold function. If a chunk is freed, the backend's `free`
//!     takes effect only once all work on the chunk's armed bytes has finished.
//!
// Layering: a module may import only the modules that its row lists after the colon.
// `cargo xtask imports` checks these rows, and `cargo xtask imports --list` prints them.
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
