//! Implements the raw layer, which is the only module that accesses slots, blocks, and tables.
//! Other modules call this layer and rely on the borrow checker to uphold its safety contracts.
//!
//! # Invariants
//!
//! 1. **A table never moves** and lives as long as its pool. A table is aligned to `Table::ALIGN`,
//!    a power of two that is at least the table's size. Masking the address of any slot in a table
//!    therefore yields the table's address.
//!
//! 2. Slots are accessed through raw pointers that are derived from the table's allocation. No slot
//!    is ever accessed through a reference to a table or to an array of slots.
//!
//! 3. The `advertised` field is either 0 or `real / 8`, rounded down, so an array never uses more
//!    words than the block holds. If `advertised` is 0, every acquire method that reaches the slot
//!    calls the cold function. A sentinel always advertises 0 words.
//!
//! 4. The `real` field is the number of bytes allocated for the slot's block. The `real` field is 0
//!    if and only if the slot has no block. If `real` is 0, the `block` field is `B::DANGLING`.
//!
//! 5. **A slot below the innermost scope's cursor belongs to the slot's view**. Only slots at or
//!    above a scope's cursor can be grown, freed, or armed, and only their shape sets can be
//!    modified.
//!
//!    A scope's cursor moves only forward, except that it may move back over the last acquired slot
//!    if no view of that slot exists. An inner scope starts at its outer scope's cursor. The borrow
//!    checker ensures that the outer scope's cursor does not move while the inner scope or one of
//!    its views is alive. An exclusive borrow of the whole pool, as in `configure`, proves that no
//!    view exists.
//!
//!    A vector that grows holds the only view of its slot and swaps the slot's block with an idle
//!    slot's block (see the `exchange` module). The `keep` method performs the same swap for an
//!    array of an inner scope that has ended.
//!
//!    A vector that was acquired without capacity owns its slot but uses no bytes of the slot's
//!    block. No view of the block exists until the vector's first use, when the block is handed
//!    out. Until the block is handed out, the pool can grow, free, or swap it, just like the block
//!    of an idle slot.
//!
//!    **Only `hand_out` hands out a block**. The hot path is the only exception to this rule. The
//!    hot path hands out a block only if the slot advertises the block's capacity. A slot that
//!    advertises its block's capacity has no pending work.
//!
//! 6. Before a slot's block is freed, the slot is emptied by clearing its advertised words, size,
//!    serial number, and shape set. A slot is filled only once its new block has been allocated. A
//!    panic or an error at any point therefore leaves the slot valid.
//!
//! 7. All code in this module runs on the thread that owns the pool. `Pool` is not `Sync`, and
//!    scopes and raw slots are not `Send`. Other threads read only the counters (see the `count`
//!    module).
//!
//! 8. **Every shape in a slot's set fits in the slot's block**. An acquire method adds a shape only
//!    once it has prepared the block for the shape. Code that replaces a slot's block also removes
//!    the slot's shape set.
//!
//! 9. **While user code runs inside an operation, no memory of the pool can be acquired or freed**.
//!    The user code might hold a `&Scope` (leaked pools allow `'static` scopes), a view, a
//!    `SlotRef`, or a `Handles` value alongside a scope. User code may also call the methods of
//!    these values.
//!
//!    The pool is marked as busy (see the `busy` module), and the slot at its cursor advertises 0
//!    words. The pool is marked before the operation first reads a cursor, a slot, a table list, or
//!    a shape set. The mark is removed after the operation's last write to any of these data
//!    structures. While the pool is busy, acquire methods call the cold function, which fails with
//!    `PoolError::Reentered`. In a busy pool, `trim`, `compact`, and `sample_lengths` have no
//!    effect, but methods that only read still succeed. The table below lists all operations that
//!    run user code. While user code runs, the operation holds neither a lock nor a reference to
//!    data that the pool's other methods read. Unwinding removes the mark and leaves every slot
//!    valid (invariant 6).
//!
//! 10. **Either a block is initialized, or its slot is marked**. Before a byte of a block can
//!     become uninitialized, the slot's mark is extended to cover the word that contains it (see
//!     the `mark` module). A mark can shrink only once all marked words have been zeroed or the
//!     slot has received a different block. A marked slot advertises 0 words, and the cold function
//!     zeroes its marked words before the slot is handed out for reading.
//!
//! 11. **A backend or a user's closure writes to a block only after the cursor has moved past the
//!     block's slot**. The slot is below the cursor during the write, so the pool does not need to
//!     be marked as busy.
//!
//! # Where user code runs
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
//! | `State::configure`, `State::destroy`, `State::create` | the same | the pool is exclusively borrowed or not yet shared, so user code cannot reach it |
//! | filling (`zero`, `fill`, `copy_from_host`, `write_with`) | the backend, closures | the cursor is past the slot; calls succeed |
//! | an error's `Display`, a panic hook | formatting, any code of a hook | no operation is in progress; calls succeed |

// Layering: a module may import only the modules that its row lists after the colon.
// `cargo xtask imports` checks these rows, and `cargo xtask imports --list` prints them.
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
