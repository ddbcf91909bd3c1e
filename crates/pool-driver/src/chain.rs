//! Implements a linked list of values that a lock or a borrow protects. Links are allocated before
//! the lock is acquired and dropped after it has been released. Linking or unlinking an entry never
//! allocates, frees, or drops a value. No user code runs while the lock is held. User code includes
//! allocator hooks, destructors, and the driver. If user code tried to acquire the same lock, it
//! would deadlock.
//!
//! A list whose entries are never removed needs no links, because `pool_core::reserve` can grow a
//! `Vec` before the lock is acquired.

use std::fmt;
use std::iter;
use std::mem;

use pool_core::reserve;

use crate::error::CudaError;

/// A linked list with links in no particular order.
pub struct Chain<T>(Vec<Link<T>>);

/// A link in the chain. Each link is stored as the only element of a `Vec`. Allocating a `Vec`,
/// unlike allocating a `Box`, can fail without aborting the process.
struct Link<T> {
    value: T,
    next: Chain<T>,
}

impl<T> Chain<T> {
    /// Creates an empty chain.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Creates a chain that contains one link. No other method of this type allocates memory.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory.
    pub fn of(value: T) -> Result<Self, CudaError> {
        let mut link = reserve::list(1)?;
        link.push(Link { value, next: Self::new() });
        Ok(Self(link))
    }

    /// Returns `true` if the chain contains no links.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an iterator over the values of all links.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let mut rest = self;
        iter::from_fn(move || {
            let link = rest.0.first()?;
            rest = &link.next;
            Some(&link.value)
        })
    }

    /// Returns an iterator over mutable references to the values of all links.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let mut rest = Some(self);
        iter::from_fn(move || {
            let link = rest.take()?.0.first_mut()?;
            rest = Some(&mut link.next);
            Some(&mut link.value)
        })
    }

    /// Moves all links from another chain into this chain.
    pub fn add(&mut self, mut other: Self) {
        while let Some(mut link) = other.pop() {
            if let Some(first) = link.0.first_mut() {
                first.next = mem::take(self);
            }
            *self = link;
        }
    }

    /// Removes one link and returns it as a chain, or returns `None` if the chain is empty.
    pub fn pop(&mut self) -> Option<Self> {
        let rest = mem::take(&mut self.0.first_mut()?.next);
        Some(mem::replace(self, rest))
    }

    /// Removes all links that `is_wanted` accepts, and returns them as a chain.
    #[must_use]
    pub fn unlink(&mut self, is_wanted: impl Fn(&T) -> bool) -> Self {
        let (mut kept, mut unlinked) = (Self::new(), Self::new());
        while let Some(link) = self.pop() {
            let is_wanted = link.iter().any(&is_wanted);
            if is_wanted { unlinked.add(link) } else { kept.add(link) }
        }
        self.add(kept);
        unlinked
    }
}

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Drops the links one at a time because a recursive drop of a long chain could overflow the stack.
impl<T> Drop for Chain<T> {
    fn drop(&mut self) {
        let mut rest = mem::take(&mut self.0);
        while let Some(mut link) = rest.pop() {
            rest = mem::take(&mut link.next.0);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Chain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Chain;

    fn chain(values: impl IntoIterator<Item = u32>) -> Chain<u32> {
        let mut chain = Chain::new();
        values.into_iter().for_each(|value| chain.add(Chain::of(value).unwrap()));
        chain
    }

    fn sorted(chain: &Chain<u32>) -> Vec<u32> {
        let mut values: Vec<u32> = chain.iter().copied().collect();
        values.sort_unstable();
        values
    }

    #[test]
    fn links_are_linked_and_unlinked() {
        let mut all = chain(0..6);
        let mut even = all.unlink(|value| value % 2 == 0);
        assert_eq!((sorted(&all), sorted(&even)), (vec![1, 3, 5], vec![0, 2, 4]));
        all.iter_mut().for_each(|value| *value += 10);
        all.add(std::mem::take(&mut even));
        assert_eq!(sorted(&all), [0, 2, 4, 11, 13, 15]);
        assert_eq!(all.unlink(|_| false).iter().count(), 0);
        for left in (0..6).rev() {
            assert_eq!(all.pop().map(|one| one.iter().count()), Some(1));
            assert_eq!(all.iter().count(), left);
        }
        assert!(all.pop().is_none() && even.pop().is_none());
    }

    #[test]
    fn a_long_chain_does_not_fill_the_stack() {
        drop(chain(0..1_000_000));
    }
}
