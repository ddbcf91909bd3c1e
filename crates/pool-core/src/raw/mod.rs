//! The raw layer: slots, blocks and tables are touched in this module alone. The rest of the crate
//! calls it, and keeps its safety contracts by means of the borrow checker.
//!
//! # Invariants
//!
//! 1. **A table never moves** and lives as long as its pool. It is aligned to `Table::ALIGN`, a
//!    power of two not below its size, so masking the address of any of its slots finds it.
//! 2. Slots are reached through raw pointers derived from the table's allocation, never through a
//!    reference to a table or to an array of slots.
//! 3. `advertised` is 0 or `real / 8`, rounded down: an acquire never compares with more words than
//!    the block holds. 0 sends the acquire to the cold function. The sentinel's is always 0.
//! 4. `real` is the number of bytes that the slot's block was allocated with. It is 0 if and only
//!    if the slot has no block, and then the block is `B::DANGLING`.
//! 5. **A slot below the cursor of the innermost scope belongs to its view**: only slots at or
//!    above a scope's cursor are grown, freed, armed or have their shape set touched.
//!
//!    A scope's cursor only ever steps forward, or back over a slot that has no view and is the
//!    last one taken. An inner scope starts at its outer scope's cursor, which does not move while
//!    the inner scope or one of its views lives (the borrow checker ensures that). An exclusive
//!    borrow of the whole pool, as in `configure`, proves that there is no view at all.
//!
//!    A vector that grows has the only view of its slot, and exchanges the slot's block for that of
//!    an idle slot (`exchange`). So does `keep` for an array of an inner scope that has ended. A
//!    vector that was acquired without capacity has taken its slot, and no byte of its block. Until
//!    the block is handed out, at the vector's first use, nothing views it, and it may be grown,
//!    freed and exchanged as an idle one. **Only `hand_out` hands out a block**, or the hot path,
//!    for a slot that advertises its block and so has no duty.
//! 6. A slot is emptied (advertised, real, serial, shape set) before its block is freed, and filled
//!    only after its new block was allocated. So a panic or an error at any point leaves it valid.
//! 7. Everything here runs on the thread that owns the pool: `Pool` is not `Sync`, and scopes and
//!    raw slots are not `Send`. The counters (`count`) alone are read by other threads.
//! 8. **A shape in a slot's set fits the slot's block**: it is put there for an acquire that the
//!    block was made ready for. Code that gives the slot another block takes the set out with the
//!    old block.
//! 9. **While foreign code runs inside an operation, nothing can be acquired or freed in its
//!    pool.** Such code may hold a `&Scope` (leaked pools make `'static` ones), a view, a
//!    `SlotRef`, and `Handles` beside a scope, and call them.
//!
//!    From the first read of a cursor, slot, table list or shape set to the last write around a
//!    place where it may run, the pool is marked as busy and the slot at its cursor advertises
//!    nothing (`busy`). Acquires go to the cold function and are refused with
//!    `PoolError::Reentered`; `trim`, `compact` and `sample_lengths` do nothing; reads are served.
//!    The places and their operations are below. Meanwhile, no lock is held, and no reference to
//!    data that a read touches. Unwinding removes the mark, and leaves every slot valid (invariant
//!    6).
//! 10. **A block is initialised, or its slot is marked**: before a byte of a block can become
//!     uninitialised, the slot's record covers its word (`mark`). The record never shrinks until
//!     all of those words were zeroed, or the slot has another block. A marked slot advertises
//!     nothing, and the cold function zeroes it before it is handed out for reading.
//! 11. **A backend writes into a block only after the step**, as the closures of users do. The slot
//!     is then below the cursor, so nothing needs protection and the pool is not marked.
//!
//! # Where code that is not ours runs
//!
//! | place | what may run | state of the pool |
//! |---|---|---|
//! | `State::push_table` | the global allocator (table, longer list, old list) | busy; the cursor at a sentinel |
//! | `hand_out::grow` | the allocator and the backend (`allocate`), a `tracing` subscriber (span) | busy; the slot keeps its old block and advertises nothing |
//! | `block::install` | `reuse`, `free`, `Drop` of descriptors | busy; the new block is in its slot |
//! | `hand_out::put_in_order` | `reuse`, `set_bytes` (a marked block, poison) | busy |
//! | `LiveBytes::note` | the allocator (a count that the configuration asks for) | busy; the slot has its block |
//! | `State::note_use` | a `tracing` subscriber (event), the hook of warnings | busy; the slot has its block |
//! | `shape_cache::insert` | the allocator, `Default` and `Drop` of descriptors | busy; a set changes only between calls |
//! | `idle::trim`, `idle::compact` | `reuse`, `free`, `settle`, `allocate`, `Drop` of descriptors, a subscriber | busy; every slot at or above the cursor advertises nothing, and is empty before its block is freed |
//! | `State::configure`, `State::destroy`, `State::create` | the same | the pool is exclusively borrowed or not yet shared: out of reach |
//! | filling (`zero`, `fill`, `copy_from_host`, `write_with`) | the backend, closures | stepped past; served |
//! | an error's `Display`, a panic hook | formatting, any code of a hook | no operation is in progress; served |

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
