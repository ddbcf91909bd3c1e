//! Provides functions that grow lists guarded by a lock or a borrow. Memory is allocated before the
//! lock is acquired, and the replaced memory is freed after the lock is released. Nothing is
//! allocated or freed while the lock is held, so an allocator hook that needs the same lock cannot
//! cause a deadlock. If the host runs out of memory, the call fails without changing anything.
//!
//! This module is intended only for the backends in this workspace.

use alloc::vec::Vec;
use core::mem;
use core::ops::DerefMut;

/// The error that is returned if the host cannot allocate memory for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoHostMemory {
    /// The number of requested bytes.
    pub requested: usize,
}

/// A container whose memory can be allocated before the call that uses the container.
pub trait Reserve {
    /// The amount of space that a call requires, such as the number of new entries.
    type Need: Copy;
    /// The amount of memory that must still be allocated.
    type Lacking;
    /// Memory that was allocated in advance, or memory that has been replaced and can be freed.
    type Spare;

    /// Returns the amount of memory that must still be allocated before a call can proceed. Returns
    /// `None` if the container already has enough memory for the call.
    fn lacking(&self, need: Self::Need) -> Option<Self::Lacking>;

    /// Allocates the missing memory.
    ///
    /// # Errors
    ///
    /// Returns [`NoHostMemory`] if the host cannot provide the memory.
    fn allocate(lacking: Self::Lacking) -> Result<Self::Spare, NoHostMemory>;

    /// Moves the contents to the new memory if it is larger than the old memory. The old memory
    /// stays in `spare` so that the caller can free it.
    fn move_to(&mut self, spare: &mut Self::Spare);
}

/// For a list, the required space is the number of entries that will be added.
impl<T> Reserve for Vec<T> {
    type Need = usize;
    type Lacking = usize;
    type Spare = Self;

    fn lacking(&self, more: usize) -> Option<usize> {
        let is_short = self.capacity() - self.len() < more;
        is_short.then(|| (self.len() + more).max(2 * self.len()).max(4))
    }

    fn allocate(entries: usize) -> Result<Self, NoHostMemory> {
        list(entries)
    }

    fn move_to(&mut self, larger: &mut Self) {
        if larger.capacity() > self.capacity() {
            larger.append(self);
            mem::swap(self, larger);
        }
    }
}

/// Creates an empty list that has capacity for the given number of entries.
///
/// # Errors
///
/// Returns [`NoHostMemory`] if the host cannot allocate the list.
pub fn list<T>(entries: usize) -> Result<Vec<T>, NoHostMemory> {
    let mut list = Vec::new();
    let requested = entries.saturating_mul(size_of::<T>());
    list.try_reserve_exact(entries).map_err(|_| NoHostMemory { requested })?;
    Ok(list)
}

/// Acquires a lock or a borrow that gives access to a list. The function first allocates the memory
/// that the caller's next operation on the list needs. If other threads use up the allocated memory
/// before the lock is acquired, the function allocates more.
///
/// ```
/// use std::cell::RefCell;
///
/// use pool_core::reserve::lock_reserved;
///
/// let numbers = RefCell::new(Vec::new());
/// let mut locked = lock_reserved(|| numbers.borrow_mut(), |numbers| numbers, 1)?;
/// locked.push(7); // allocates nothing
/// # Ok::<(), pool_core::reserve::NoHostMemory>(())
/// ```
///
/// # Errors
///
/// Returns [`NoHostMemory`] if the host cannot provide the memory.
pub fn lock_reserved<G: DerefMut, R: Reserve>(
    lock: impl Fn() -> G,
    part: impl Fn(&mut G::Target) -> &mut R,
    need: R::Need,
) -> Result<G, NoHostMemory> {
    loop {
        let mut guard = lock();
        let Some(lacking) = part(&mut guard).lacking(need) else { return Ok(guard) };
        drop(guard);
        let mut spare = R::allocate(lacking)?;
        let mut guard = lock();
        part(&mut guard).move_to(&mut spare);
        // The lock is released before the replaced memory is freed.
        drop(guard);
        drop(spare);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::cell::RefCell;

    use super::{NoHostMemory, list, lock_reserved};

    #[test]
    fn a_list_has_capacity_when_it_is_locked() {
        let shared = RefCell::new(Vec::<u32>::new());
        for number in 0..100 {
            let mut locked = lock_reserved(|| shared.borrow_mut(), |list| list, 2).unwrap();
            assert!(locked.capacity() >= locked.len() + 2);
            locked.push(number);
        }
        assert_eq!(*shared.borrow(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_list_that_no_host_has_memory_for_is_an_error() {
        let requested = usize::MAX / 2 / 8 * 8;
        let refused = NoHostMemory { requested: requested + 8 };
        assert_eq!(list::<u64>(requested / 8 + 1).err(), Some(refused));
    }
}
