//! The idle pools of one thread, for `pool-facade`. Other threads can release these pools, although
//! their own thread takes them and puts them back without a lock.
//!
//! # The protocol
//!
//! A list links *entries*. An entry contains the address of a pool. A thread that takes an entry
//! first unlinks it, and then loads the address of its pool. Another thread releases an idle pool
//! in four steps:
//!
//! 1. Replace the address in the entry with the address of a new, empty pool. The old pool is now
//!    *retired*.
//! 2. Execute a *barrier on all threads*: each thread of the process executes a full memory barrier
//!    at some moment during the call (`membarrier` on Linux).
//! 3. Walk through the list again.
//! 4. If the walk finds the entry, take the retired pool and drop it. Otherwise the entry was
//!    taken, and its owner may use either of the two pools. The retired pool then stays with the
//!    entry until a later call finds the entry, or until the thread ends.
//!
//! # Why this is sound
//!
//! Let X be the moment of the barrier in the owner's program.
//!
//! - **An entry that a walk finds after X was in the list at or after X.** A link of an entry is
//!   written only while the entry is not in the list. A link therefore leads to an entry that was
//!   in the list when the link was written, and that stays in the list for as long as the entry
//!   that links to it. Both periods extend beyond the moment at which the walk read the head.
//! - **The retired pool is out of use at that time.** A use before that moment ended when the entry
//!   was put into the list. Each store of the head has release ordering, including the store of a
//!   take, and the walk's load has acquire ordering. A use after that moment belongs to a later
//!   take. That take loads the pool's address after it has stored the head, hence after X, so it
//!   loads the address of the new pool.
//! - **The order of the owner's store and load** is enforced by a compiler fence in the program,
//!   and by the barrier on the processor. The hot path therefore contains no fence and no atomic
//!   read-modify-write.
//! - Entries are freed by the thread that created them, after the thread's record has been removed
//!   from the registry. A registry is used only while it is locked. Every entry that a walk reaches
//!   is therefore allocated.
//!
//! # Nested pools
//!
//! The stacks that a thread is using are linked, so that inner stacks can borrow memory from outer
//! ones. Only the owner uses these links. A pool has no links while its entry is in the list: it
//! enters after its address is loaded, and leaves before the store that puts the entry back.
//! Therefore no other pool links to a pool that another thread replaces or drops. An entry stores
//! which pool entered. If that pool is replaced while it is in use, it still leaves before it is
//! dropped, because the drop waits until the entry is in the list.
//!
//! If the system has no such barrier, [`ThreadLists::release`] is not called, and all of this is
//! single-threaded.

mod entry;
mod list;
mod registry;

pub use entry::HeldPool;
pub use list::ThreadList;
pub use registry::{ThreadLists, ThreadRecord};
