//! Implements each thread's list of idle pools. The `pool-facade` crate uses these lists. A thread
//! takes pools from its list and puts them back without a lock, but other threads can still release
//! these pools.
//!
//! # The protocol
//!
//! A list consists of linked *entries*. Each entry contains a pool's address. A thread that takes
//! an entry first unlinks the entry and then loads the address of the entry's pool. Another thread
//! releases an idle pool in four steps:
//!
//! 1. The thread replaces the address in the entry with the address of a new, empty pool. The old
//!    pool is now *retired*.
//!
//! 2. The thread executes a *barrier on all threads*. Each thread of the process executes a full
//!    memory barrier at some point during the call (`membarrier` on Linux).
//!
//! 3. The thread then walks through the list a second time.
//!
//! 4. If the walk finds the entry, the thread takes the retired pool and drops it. If the walk does
//!    not find the entry, the owner has taken the entry and might be using either of the two pools.
//!    The retired pool then remains with the entry until a later call finds the entry, or until the
//!    owner's thread ends.
//!
//! # Why this is sound
//!
//! Let X be the time at which the owner executes the barrier.
//!
//! - **If a walk finds an entry after the barrier, the entry was in the list at time X or later**.
//!   An entry's link is written only while the entry is not in the list. A link therefore leads to
//!   an entry that was in the list when the link was written. An entry remains in the list for as
//!   long as an entry that links to it does. Both entries remain in the list at least until the
//!   walk has read the head.
//! - **The retired pool is not in use when the walk finds its entry**. Let T be a time, at or after
//!   X, at which the entry was in the list. If a use of the pool began before T, it ended before
//!   the entry was put into the list. The owner always stores the head with release ordering, even
//!   when it takes an entry. The walk loads the head with acquire ordering. Every use of the pool
//!   that begins after T belongs to a call to `take` that also begins after T. The `take` method
//!   loads the pool's address after it has stored the head. A call to `take` after T therefore
//!   loads the address after X and obtains the new pool's address.
//! - **The owner's load is executed after its store**. A compiler fence enforces this order in the
//!   program, and the barrier enforces it on the processor. The hot path therefore contains no
//!   fence instruction and no atomic read-modify-write operation.
//! - An entry is freed by the thread that created it, after that thread's record has been removed
//!   from the registry. A registry is used only while it is locked. Every entry that a walk reaches
//!   is therefore still allocated.
//!
//! # Nested pools
//!
//! The stacks that a thread is currently using are linked so that inner stacks can borrow memory
//! from outer stacks. Only the owner uses these links. A pool has no links while its entry is in
//! the list. A pool enters the chain after its address is loaded and leaves it before the store
//! that puts the entry back. Therefore, no pool links to a pool that another thread replaces or
//! drops. An entry stores the address of the pool that entered the chain. A pool that is replaced
//! while it is in use still leaves the chain before it is dropped. A replaced pool is dropped only
//! after its entry is in the list.
//!
//! If the operating system provides no barrier on all threads, [`ThreadLists::release`] is never
//! called, and only the owner accesses a list's pools.

mod entry;
mod list;
mod registry;

pub use entry::HeldPool;
pub use list::ThreadList;
pub use registry::{ThreadLists, ThreadRecord};
