//! Room in lists that lie behind a lock. It is made while the lock is not held, and what it replaces is freed
//! after: under a lock of this crate nothing is allocated and nothing freed, so no hook of an allocator runs
//! there, and may come back here. Where the host has no memory for it, that is an error, and all is as before.

use std::mem;
use std::ops::DerefMut;

/// The host has no memory for so many bytes of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(crate) requested: usize,
}

/// An empty list with room for so many entries.
pub(crate) fn list<T>(entries: usize) -> Result<Vec<T>, NoRoom> {
    let mut list = Vec::new();
    let requested = entries.saturating_mul(size_of::<T>());
    list.try_reserve_exact(entries).map_err(|_| NoRoom { requested })?;
    Ok(list)
}

/// What a list needs so that there is room for `more`: the entries of a larger one, where it is too small.
pub(crate) fn lacks<T>(list: &Vec<T>, more: usize) -> Option<usize> {
    let is_short = list.capacity() - list.len() < more;
    is_short.then(|| (list.len() + more).max(2 * list.len()).max(4))
}

/// Moves what is in a list to one with more room, and leaves there what is to be freed.
pub(crate) fn replace<T>(list: &mut Vec<T>, larger: &mut Vec<T>) {
    if larger.capacity() > list.capacity() {
        larger.append(list);
        mem::swap(list, larger);
    }
}

/// Takes a lock once there is room behind it: what it `lacks` is made, and `put` there, as often as others are
/// faster in using it up.
pub(crate) fn lock_with<G, W, R>(
    lock: impl Fn() -> G,
    lacks: impl Fn(&mut G) -> Option<W>,
    make: impl Fn(W) -> Result<R, NoRoom>,
    put: impl Fn(&mut G, &mut R),
) -> Result<G, NoRoom> {
    loop {
        let mut guard = lock();
        let Some(wanted) = lacks(&mut guard) else { return Ok(guard) };
        drop(guard);
        let mut room = make(wanted)?;
        let mut guard = lock();
        put(&mut guard, &mut room);
        // In this order: what was replaced is freed without the lock.
        drop(guard);
        drop(room);
    }
}

/// Takes a lock once one list behind it has room, as [`lock_with`] does for any number of lists.
pub(crate) fn lock_with_room<G: DerefMut, T>(
    lock: impl Fn() -> G,
    of: impl Fn(&mut G::Target) -> &mut Vec<T>,
    more: usize,
) -> Result<G, NoRoom> {
    lock_with(
        lock,
        |guard| lacks(of(guard), more),
        list,
        |guard, larger| replace(of(guard), larger),
    )
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{NoRoom, list, lock_with_room};

    #[test]
    fn a_list_has_room_when_it_is_locked() {
        let shared = RefCell::new(Vec::<u32>::new());
        for number in 0..100 {
            let mut locked = lock_with_room(|| shared.borrow_mut(), |list| list, 2).unwrap();
            assert!(locked.capacity() >= locked.len() + 2);
            locked.push(number);
        }
        assert_eq!(*shared.borrow(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_list_that_no_host_has_room_for_is_an_error() {
        let requested = usize::MAX / 2 / 8 * 8;
        assert_eq!(list::<u64>(requested / 8 + 1).err(), Some(NoRoom { requested: requested + 8 }));
    }
}
