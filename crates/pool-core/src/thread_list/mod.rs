//! The idle pools of one thread. Other threads can release them, although the thread takes and puts
//! back pools without a lock. For `pool-facade`.
//!
//! # The protocol
//!
//! A list links *entries*. An entry has the address of a pool. A thread that takes an entry unlinks it first, and loads
//! the address of its pool afterwards. Another thread releases an idle pool in four steps:
//!
//! 1. Replace the address in the entry by that of a new, empty pool. The old pool is now *retired*.
//! 2. Execute a *barrier on all threads*: each thread of the process executes a full memory barrier
//!    at some moment of the call (`membarrier` on Linux).
//! 3. Walk over the list again.
//! 4. If the walk finds the entry, take the retired pool and drop it. If not, the entry was taken,
//!    and its owner may use either of the two pools. The retired pool then stays with the entry
//!    until a later call finds the entry, or the thread ends.
//!
//! # Why this is sound
//!
//! Let X be the moment of the barrier in the owner's program.
//!
//! - **An entry that a walk finds after X was in the list at or after X.** A link of an entry is
//!   written only while the entry is out of the list. So a link leads to an entry that was in the
//!   list when the link was written, or for as long as the entry that links to it. Both times
//!   extend beyond the moment at which the walk read the head.
//! - **The retired pool is out of use then.** A use before that moment ended when the entry was put
//!   into the list. Each store of the head releases, including that of a take, and the walk
//!   acquires. A use after it belongs to a later take. The take loads the pool's address after it
//!   has stored the head, hence after X. So it gets the new pool.
//! - **The order of the owner's store and load** is kept by a compiler fence in the program, and by
//!   the barrier on the processor. The hot path therefore has no fence and no atomic
//!   read-modify-write.
//! - Entries are freed by the thread that made them, after the thread's record has left the
//!   registry. A registry is used under a lock. So every entry that a walk reaches is allocated.
//!
//! # Nested pools
//!
//! The stacks that a thread is using are linked, so that inner ones borrow memory from outer ones.
//! Only the owner uses these links. A pool has none while its entry is in the list: it enters after
//! the load of its address, and leaves before the store that puts the entry back. So no other pool
//! links to a pool that another thread replaces or drops. An entry remembers which pool entered. If
//! that pool is replaced meanwhile, it still leaves before it is dropped, because the drop waits
//! until the entry is in the list.
//!
//! If the system has no such barrier, [`ThreadLists::release`] is not called, and all of this is
//! single-threaded.

mod entry;
mod list;
mod registry;

pub use entry::HeldPool;
pub use list::ThreadList;
pub use registry::{ThreadLists, ThreadRecord};
