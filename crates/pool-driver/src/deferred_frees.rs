//! Implements the queue of deferred frees, which the whole process shares. The queue contains
//! driver resources that could not be freed when their owners were dropped. A resource cannot be
//! freed while a capture is in progress, or if the driver refuses to free it. The frees are retried
//! when a pool allocates memory or is dropped, and when a capture by `pool-graph` ends.
//!
//! Dropping an owner must not allocate memory, because the host may be out of memory at that time.
//! A queue entry is therefore reserved before the resource is created ([`QueueEntry::new`]). The
//! owner stores this entry together with the resource.

use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaContext;

pub use crate::deferred_free_kind::{DeferredFreeCounts, DeferredFreeKind};
use crate::error::CudaError;
use crate::gone::unless_gone;

/// A driver resource that is freed when its owner is dropped, or later if it cannot be freed then.
pub trait Resource: Send + 'static {
    /// The category in which [`DeferredFreeCounts`] counts the resource.
    const KIND: DeferredFreeKind;

    /// Returns the resource's context, or `None` if the resource's parts belong to separate
    /// contexts.
    fn context(&self) -> Option<&CudaContext>;

    /// Frees the resource.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the driver refuses to free the resource, or
    /// [`CudaError::Capturing`] if a capture prevents the free. After an error, the parts that were
    /// not freed still exist, and the caller may call this method again.
    ///
    /// # Safety
    ///
    /// No other code may use the resource. The value must not be used again after the call has
    /// succeeded, or after it has failed because the context was destroyed or lost. The caller must
    /// then drop the value.
    unsafe fn give_back(&mut self) -> Result<(), CudaError>;
}

/// Owns a resource. Dropping the owner frees the resource immediately if possible, and otherwise
/// later.
#[must_use = "the resource is given back when its owner is dropped"]
pub struct ResourceOwner<T: Resource> {
    resource: ManuallyDrop<T>,
    entry: ManuallyDrop<QueueEntry<T>>,
}

/// A reserved entry in the queue, for a resource that does not exist yet.
///
/// The link is stored in a boxed slice of length 1 that was converted from a `Vec`. Allocating a
/// `Vec`, unlike calling `Box::new`, can fail without aborting the process.
pub struct QueueEntry<T>(Box<[Link<T>; 1]>);

/// A link in the queue. Each link contains a resource whose owner has been dropped, and a pointer
/// to the rest of the queue.
struct Link<T> {
    /// This link's resource, or `None` while the resource has an owner.
    resource: Option<T>,
    next: Queue,
}

/// The deferred frees, from newest to oldest.
type Queue = Option<Box<dyn DeferredFree>>;

/// A queue link that can contain a resource of any type.
trait DeferredFree: Send {
    fn next(&mut self) -> &mut Queue;

    /// Frees the link's resource with [`Resource::give_back`]. The call also succeeds if the
    /// resource's context has been destroyed or lost.
    ///
    /// # Safety
    ///
    /// The safety contract of [`Resource::give_back`] applies.
    unsafe fn give_back(&mut self) -> Result<(), CudaError>;

    fn kind(&self) -> DeferredFreeKind;
}

impl<T: Resource> DeferredFree for [Link<T>; 1] {
    fn next(&mut self) -> &mut Queue {
        let [link] = self;
        &mut link.next
    }

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        let [link] = self;
        match &mut link.resource {
            Some(resource) => {
                // SAFETY: the caller upholds this method's safety contract.
                let given_back = unsafe { resource.give_back() };
                match resource.context() {
                    Some(context) => unless_gone(context, given_back),
                    None => given_back,
                }
            }
            None => Ok(()),
        }
    }

    fn kind(&self) -> DeferredFreeKind {
        T::KIND
    }
}

impl<T: Resource> QueueEntry<T> {
    /// Reserves an entry in the queue for one resource.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory.
    pub fn new() -> Result<Self, CudaError> {
        let no_memory = CudaError::Bookkeeping { requested: size_of::<Link<T>>() };
        let mut link = Vec::new();
        link.try_reserve_exact(1).map_err(|_| no_memory)?;
        link.push(Link { resource: None, next: None });
        // The conversion cannot fail, because the `Vec` contains one link and has a capacity of
        // one.
        link.into_boxed_slice().try_into().map(Self).map_err(|_| no_memory)
    }

    /// Creates the owner of a resource. The owner stores this entry so that deferring the free
    /// needs no allocation.
    pub fn own(self, resource: T) -> ResourceOwner<T> {
        ResourceOwner { resource: ManuallyDrop::new(resource), entry: ManuallyDrop::new(self) }
    }

    /// Stores the resource in this entry so that the resource can be freed later.
    fn into_deferred(mut self, resource: T) -> Box<dyn DeferredFree> {
        let [link] = &mut *self.0;
        link.resource = Some(resource);
        self.0
    }
}

impl<T: Resource> ResourceOwner<T> {
    /// Frees the resource now. If the resource cannot be freed, this method adds it to the queue of
    /// deferred frees and returns the error.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Resource::give_back`].
    pub fn give_back(self) -> Result<(), CudaError> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the owner is not used again, and its destructor does not run.
        unsafe { this.end() }
    }

    /// # Safety
    ///
    /// The owner must not be used again.
    unsafe fn end(&mut self) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the owner is not used again.
        let resource = unsafe { ManuallyDrop::take(&mut self.resource) };
        // SAFETY: the caller guarantees that the owner, and therefore its entry, is not used again.
        let entry = unsafe { ManuallyDrop::take(&mut self.entry) };
        give_back_or_keep(entry.into_deferred(resource))
    }
}

impl<T: Resource> Drop for ResourceOwner<T> {
    fn drop(&mut self) {
        // SAFETY: the owner is being dropped, so it is not used again. If the resource could not be
        // freed, it is now in the queue.
        let _deferred = unsafe { self.end() };
    }
}

impl<T: Resource> Deref for ResourceOwner<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.resource
    }
}

impl<T: Resource> DerefMut for ResourceOwner<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.resource
    }
}

impl<T> fmt::Debug for QueueEntry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueEntry").finish_non_exhaustive()
    }
}

impl<T: Resource + fmt::Debug> fmt::Debug for ResourceOwner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resource.fmt(f)
    }
}

/// The queue of deferred frees. The lock is held only while links are added or removed.
static QUEUE: Mutex<Queue> = Mutex::new(None);

/// The number of deferred frees of each kind.
static COUNTS: [AtomicUsize; DeferredFreeKind::ALL.len()] =
    [const { AtomicUsize::new(0) }; DeferredFreeKind::ALL.len()];

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees a resource, or adds it to the queue if it cannot be freed.
fn give_back_or_keep(mut deferred: Box<dyn DeferredFree>) -> Result<(), CudaError> {
    // SAFETY: only this link refers to the resource. The link is dropped here if the free succeeds.
    let given_back = unsafe { deferred.give_back() };
    if given_back.is_err() {
        COUNTS[deferred.kind() as usize].fetch_add(1, Ordering::Relaxed);
        let mut queue = queue();
        *deferred.next() = queue.take();
        *queue = Some(deferred);
    }
    given_back
}

/// Retries all deferred frees and returns the number of resources that still could not be freed.
pub fn retry_deferred_frees() -> usize {
    if deferred_frees().total() == 0 {
        return 0;
    }
    // The lock is not held while a resource is freed, because this may add another resource to the
    // queue.
    let mut rest = mem::take(&mut *queue());
    while let Some(mut deferred) = rest {
        rest = deferred.next().take();
        COUNTS[deferred.kind() as usize].fetch_sub(1, Ordering::Relaxed);
        // A resource that still cannot be freed is added to the queue again.
        let _deferred = give_back_or_keep(deferred);
    }
    deferred_frees().total()
}

/// Returns the current number of deferred frees of each kind.
pub fn deferred_frees() -> DeferredFreeCounts {
    DeferredFreeCounts(COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use cudarc::driver::CudaContext;

    use crate::error::CudaError;

    use super::{DeferredFreeKind, QueueEntry, Resource, deferred_frees, retry_deferred_frees};

    /// A resource that cannot be freed until a given number of attempts have failed.
    struct Stubborn(Arc<AtomicUsize>);

    impl Resource for Stubborn {
        const KIND: DeferredFreeKind = DeferredFreeKind::Event;

        fn context(&self) -> Option<&CudaContext> {
            None
        }

        unsafe fn give_back(&mut self) -> Result<(), CudaError> {
            let take = |refusals: usize| refusals.checked_sub(1);
            match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
                Ok(_) => Err(CudaError::Capturing { operation: "give memory back" }),
                Err(_) => Ok(()),
            }
        }
    }

    #[test]
    fn what_is_refused_waits_in_the_queue() {
        let refusals = [0, 1, 3].map(|count| Arc::new(AtomicUsize::new(count)));
        for count in &refusals {
            drop(QueueEntry::new().unwrap().own(Stubborn(Arc::clone(count))));
        }
        let owners = || refusals.each_ref().map(|count| Arc::strong_count(count) - 1);
        assert_eq!(owners(), [0, 1, 1]);
        assert_eq!(deferred_frees().of(DeferredFreeKind::Event), 2);
        assert_eq!(deferred_frees().to_string(), "2 events");
        assert_eq!((retry_deferred_frees(), owners()), (1, [0, 0, 1]));
        assert_eq!((retry_deferred_frees(), owners()), (1, [0, 0, 1]));
        assert_eq!((retry_deferred_frees(), owners()), (0, [0, 0, 0]));
        assert_eq!(deferred_frees().to_string(), "nothing");
    }
}
