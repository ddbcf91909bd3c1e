//! The raw layer: slots, blocks and tables are touched in this module alone; the rest of the crate
//! calls it, and answers with the borrow checker for what it promises there.
//!
//! # Invariants
//!
//! 1. **A table never moves** and lives as long as its pool. It is aligned to `Table::ALIGN`, a
//!    power of two not below its size, so masking the address of any of its slots finds it.
//! 2. Slots are reached through raw pointers derived from the table's allocation, never through a
//!    reference to a table or to an array of slots.
//! 3. `advertised` is 0 or `real / 8`, rounded down: what acquire compares with never promises more
//!    words than the block holds. 0 sends the acquire to the cold function. The sentinel's is always 0.
//! 4. `real` is the number of bytes that the slot's block was allocated with; 0 if and only if the
//!    slot has no block, and then the block is `B::DANGLING`.
//! 5. **A slot below the cursor of the innermost scope belongs to its view**: only slots at or above
//!    a scope's cursor are grown, freed, armed or have their shape set touched. A scope's cursor
//!    only ever steps forward, and an inner scope starts at its outer's cursor, which stands still
//!    while the inner scope or one of its views lives (the borrow checker sees to that). What
//!    borrows the whole pool exclusively, such as `configure`, proves that there is no view at all.
//! 6. A slot is emptied (advertised, real, serial, shape set) before its block is freed, and filled
//!    only after its new block was allocated: a panic or an error at any point leaves it valid.
//! 7. Everything here runs on the thread that owns the pool: `Pool` is not `Sync`, and scopes and
//!    raw slots are not `Send`.
//! 8. **A shape in a slot's set fits the slot's block**: it is put there for an acquire that the block
//!    was made ready for, and whatever gives the slot another block drops the set before.

mod cold;
mod cursor;
mod fits;
mod host;
mod idle;
mod place;
mod root;
mod shape_set;
mod slot;
mod state;
mod table;

pub(crate) use cursor::Cursor;
pub(crate) use place::Place;
pub(crate) use root::Root;
pub(crate) use shape_set::Way;
pub(crate) use slot::SlotPointer;
pub use slot::SlotRef;
pub(crate) use state::State;
