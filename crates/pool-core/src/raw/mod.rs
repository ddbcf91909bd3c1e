//! The raw layer: only this module accesses slots, blocks and tables. The rest of the crate calls
//! it, and relies on the borrow checker to uphold its safety contracts.
//!
//! # Invariants
//!
//! 1. **A table never moves** and lives as long as its pool. It is aligned to `Table::ALIGN`, a
//!    power of two that is at least its size. Masking the address of any of its slots therefore
//!    yields the table's address.
//! 2. Slots are accessed through raw pointers derived from the table's allocation, and never
//!    through a reference to a table or to an array of slots.
//! 3. `advertised` is 0 or `real / 8`, rounded down, so an acquire never uses more words than the
//!    block holds. 0 sends the acquire to the cold function. A sentinel always advertises 0.
//! 4. `real` is the number of bytes that the slot's block was allocated with. It is 0 if and only
//!    if the slot has no block, and then the block is `B::DANGLING`.
//! 5. **A slot below the cursor of the innermost scope belongs to its view.** Only slots at or
//!    above a scope's cursor are grown, freed or armed, or have their shape set modified.
//!
//!    A scope's cursor only ever steps forward, or steps back over the last slot taken if that slot
//!    has no view. An inner scope starts at its outer scope's cursor, which does not move while the
//!    inner scope or one of its views lives (the borrow checker ensures this). An exclusive borrow
//!    of the whole pool, as in `configure`, proves that there is no view at all.
//!
//!    A vector that grows holds the only view of its slot, and exchanges the slot's block for the
//!    block of an idle slot (`exchange`). `keep` does the same for an array of an inner scope that
//!    has ended. A vector that was acquired without capacity has taken its slot, but no byte of the
//!    slot's block. Until the block is handed out, at the vector's first use, nothing views it, and
//!    it may be grown, freed and exchanged like the block of an idle slot. **Only `hand_out` hands
//!    out a block**, except that the hot path hands out a block that its slot advertises, because
//!    such a slot has no pending duty.
//! 6. A slot is emptied (advertised, real, serial, shape set) before its block is freed, and filled
//!    only after its new block has been allocated. A panic or an error at any point therefore
//!    leaves the slot valid.
//! 7. All code of this module runs on the thread that owns the pool: `Pool` is not `Sync`, and
//!    scopes and raw slots are not `Send`. Only the counters (`count`) are read by other threads.
//! 8. **A shape in a slot's set fits in the slot's block**, because it is added during an acquire
//!    for which the block was prepared. Code that replaces the block of a slot removes the set
//!    together with the old block.
//! 9. **While foreign code runs inside an operation, nothing can be acquired or freed in its
//!    pool.** Such code may hold a `&Scope` (leaked pools allow `'static` ones), a view, a
//!    `SlotRef`, or `Handles` next to a scope, and may call their methods.
//!
//!    The pool is marked as busy, and the slot at its cursor advertises nothing (`busy`), from the
//!    first read of a cursor, slot, table list or shape set before the foreign code runs to the
//!    last write after it. Acquires go to the cold function and are refused with
//!    `PoolError::Reentered`. `trim`, `compact` and `sample_lengths` do nothing, and reads succeed.
//!    The table below lists where foreign code runs, and in which operations. While foreign code
//!    runs, no lock is held, and no reference to data that a read accesses exists. Unwinding
//!    removes the mark, and leaves every slot valid (invariant 6).
//! 10. **A block is initialised, or its slot is marked.** Before a byte of a block can become
//!     uninitialised, the slot's record covers its word (`mark`). The record never shrinks until
//!     all of these words have been zeroed, or the slot receives another block. A marked slot
//!     advertises nothing, and the cold function zeroes its marked words before the slot is handed
//!     out for reading.
//! 11. **A backend writes into a block only after the cursor has stepped past it**, and so do
//!     users' closures. The slot is then below the cursor, so nothing needs protection and the pool
//!     is not marked.
//!
//! # Where foreign code runs
//!
//! | place | what may run | state of the pool |
//! |---|---|---|
//! | `State::push_table` | the global allocator (table, longer list, old list) | busy; the cursor at a sentinel |
//! | `hand_out::grow` | the allocator and the backend (`allocate`), a `tracing` subscriber (span) | busy; the slot keeps its old block and advertises nothing |
//! | `block::install` | `reuse`, `free`, `Drop` of descriptors | busy; the new block is in its slot |
//! | `hand_out::put_in_order` | `reuse`, `set_bytes` (a marked block, poison) | busy |
//! | `LiveBytes::note` | the allocator (if the configuration requests the count) | busy; the slot holds its block |
//! | `State::note_use` | a `tracing` subscriber (event), the warning hook | busy; the slot holds its block |
//! | `shape_cache::insert` | the allocator, `Default` and `Drop` of descriptors | busy; a set changes only between calls |
//! | `idle::trim`, `idle::compact` | `reuse`, `free`, `settle`, `allocate`, `Drop` of descriptors, a subscriber | busy; every slot at or above the cursor advertises nothing, and is empty before its block is freed |
//! | `State::configure`, `State::destroy`, `State::create` | the same | the pool is exclusively borrowed or not yet shared, so foreign code cannot reach it |
//! | filling (`zero`, `fill`, `copy_from_host`, `write_with`) | the backend, closures | the cursor has stepped past; calls succeed |
//! | an error's `Display`, a panic hook | formatting, any code of a hook | no operation is in progress; calls succeed |

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// fits, live, slot_report, table_list, words: nothing
// state: live, slot_report, table_list, words
// table: fits, state, words
// slot: state, table, words
// advertise: fits, slot
// mark: fits, slot
// block: advertise, mark, slot, state
// tables: slot, state, table, words
// idle: advertise, block, fits, slot, state
// memory: fits, mark, slot
// shape_cache: advertise, slot
// hand_out: block, fits, idle, slot, state
// lifecycle: advertise, block, idle, state, table
// cold: advertise, fits, hand_out, slot, state, table, words
// place: cold, fits, shape_cache, slot, words
// vector: cold, fits, mark, place, slot, words
// cursor: block, cold, fits, idle, place, slot, state, table, vector, words
// exchange: advertise, cursor, slot
// root: cursor, state, table
// layout: cursor, root, slot, state

mod advertise;
mod block;
mod cold;
mod cursor;
mod exchange;
mod fits;
mod hand_out;
mod idle;
mod layout;
mod lifecycle;
mod live;
mod mark;
mod memory;
mod place;
mod root;
mod shape_cache;
mod slot;
#[cfg(debug_assertions)]
mod slot_report;
mod state;
mod table;
mod table_list;
mod tables;
mod vector;
mod words;

pub(crate) use fits::block_bytes;
pub use layout::Slots;
