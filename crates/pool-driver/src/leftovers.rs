//! The deferred frees of the process: resources of the driver that could not be freed when their
//! owners were dropped, because a capture was under way or because the driver refused. They wait in
//! one queue. They are tried again whenever a pool allocates or is dropped, and when a capture of
//! `pool-graph` ends.
//!
//! A drop cannot allocate, because the host may have no memory then. So a resource's place in the
//! queue is made before the resource ([`Place::new`]), and the resource's owner keeps it beside the
//! resource.

use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaContext;

use crate::error::CudaError;
use crate::gone::unless_gone;
pub use crate::leftover_kind::{LeftoverKind, Leftovers};

/// A resource of the driver that is freed when its owner is dropped, or later.
pub trait Resource: Send + 'static {
    /// The kind as which [`Leftovers`] counts the resource.
    const KIND: LeftoverKind;

    /// Returns the context that the resource ends with; `None` if its parts have their own.
    fn context(&self) -> Option<&CudaContext>;

    /// Frees the resource.
    ///
    /// # Errors
    ///
    /// The driver's error, and [`CudaError::Capturing`] if a capture prevents the free. The rest of
    /// the resource then still exists, and this may be called again.
    ///
    /// # Safety
    ///
    /// Only the caller has the resource. After this has succeeded, or failed because the context is
    /// gone, the value is dropped and not used otherwise.
    unsafe fn give_back(&mut self) -> Result<(), CudaError>;
}

/// The owner of a resource, which frees it when it is dropped, or defers the free.
#[must_use = "the resource is given back when its owner is dropped"]
pub struct ResourceOwner<T: Resource> {
    resource: ManuallyDrop<T>,
    place: ManuallyDrop<Place<T>>,
}

/// A place in the queue for a resource that is not made yet.
///
/// The link is alone in an array, because a box of an array can be made of a `Vec`. A `Vec` can
/// request memory without aborting the process if the host has none.
pub struct Place<T>(Box<[Link<T>; 1]>);

/// A link of the queue: a resource that has no owner any more, and the rest of the queue after it.
struct Link<T> {
    /// Empty while the resource has its owner.
    resource: Option<T>,
    next: Queue,
}

/// The links of the deferred frees, the newest one first.
type Queue = Option<Box<dyn Leftover>>;

/// A link of the queue, for any type of its resource.
trait Leftover: Send {
    fn next(&mut self) -> &mut Queue;

    /// Frees the resource of the link, as [`Resource::give_back`] does; a success if its context is
    /// gone.
    ///
    /// # Safety
    ///
    /// Same as for [`Resource::give_back`].
    unsafe fn give_back(&mut self) -> Result<(), CudaError>;

    fn kind(&self) -> LeftoverKind;
}

impl<T: Resource> Leftover for [Link<T>; 1] {
    fn next(&mut self) -> &mut Queue {
        let [link] = self;
        &mut link.next
    }

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        let [link] = self;
        match &mut link.resource {
            Some(resource) => {
                // SAFETY: the same contract, which the caller upholds.
                let given_back = unsafe { resource.give_back() };
                match resource.context() {
                    Some(context) => unless_gone(context, given_back),
                    None => given_back,
                }
            }
            None => Ok(()),
        }
    }

    fn kind(&self) -> LeftoverKind {
        T::KIND
    }
}

impl<T: Resource> Place<T> {
    /// Makes a place for one resource; this allocates.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`] if the host has none.
    pub fn new() -> Result<Self, CudaError> {
        let no_memory = CudaError::Bookkeeping { requested: size_of::<Link<T>>() };
        let mut link = Vec::new();
        link.try_reserve_exact(1).map_err(|_| no_memory)?;
        link.push(Link { resource: None, next: None });
        // There is one link, and no more memory than for one.
        link.into_boxed_slice().try_into().map(Self).map_err(|_| no_memory)
    }

    /// Makes the owner of a resource, which has this place for it.
    pub fn own(self, resource: T) -> ResourceOwner<T> {
        ResourceOwner { resource: ManuallyDrop::new(resource), place: ManuallyDrop::new(self) }
    }

    /// Puts the resource into this place, as a deferred free.
    fn leftover(mut self, resource: T) -> Box<dyn Leftover> {
        let [link] = &mut *self.0;
        link.resource = Some(resource);
        self.0
    }
}

impl<T: Resource> ResourceOwner<T> {
    /// Frees the resource now. If that is impossible, the free is deferred, and the error is
    /// returned.
    ///
    /// # Errors
    ///
    /// Same as [`Resource::give_back`].
    pub fn give_back(self) -> Result<(), CudaError> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the owner is not used again, and its destructor does not run.
        unsafe { this.end() }
    }

    /// # Safety
    ///
    /// The owner is not used again.
    unsafe fn end(&mut self) -> Result<(), CudaError> {
        // SAFETY: the owner is not used again (caller).
        let resource = unsafe { ManuallyDrop::take(&mut self.resource) };
        // SAFETY: the same holds for the place.
        let place = unsafe { ManuallyDrop::take(&mut self.place) };
        give_back_or_keep(place.leftover(resource))
    }
}

impl<T: Resource> Drop for ResourceOwner<T> {
    fn drop(&mut self) {
        // SAFETY: the owner is being dropped. A resource that could not be freed is in the queue,
        // and counted there.
        let _left_over = unsafe { self.end() };
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

impl<T> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

impl<T: Resource + fmt::Debug> fmt::Debug for ResourceOwner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resource.fmt(f)
    }
}

/// Locked only for linking and unlinking.
static QUEUE: Mutex<Queue> = Mutex::new(None);

/// The number of deferred frees of each kind.
static COUNTS: [AtomicUsize; LeftoverKind::ALL.len()] =
    [const { AtomicUsize::new(0) }; LeftoverKind::ALL.len()];

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees a resource, or puts it into the queue.
fn give_back_or_keep(mut leftover: Box<dyn Leftover>) -> Result<(), CudaError> {
    // SAFETY: only its link has the resource, and is dropped here if this succeeds.
    let given_back = unsafe { leftover.give_back() };
    if given_back.is_err() {
        COUNTS[leftover.kind() as usize].fetch_add(1, Ordering::Relaxed);
        let mut queue = queue();
        *leftover.next() = queue.take();
        *queue = Some(leftover);
    }
    given_back
}

/// Tries every deferred free again; returns the number that are left.
pub fn give_back_leftovers() -> usize {
    if leftovers().total() == 0 {
        return 0;
    }
    // The lock is not held meanwhile: a freed resource may own another one, whose free is then
    // deferred.
    let mut rest = mem::take(&mut *queue());
    while let Some(mut leftover) = rest {
        rest = leftover.next().take();
        COUNTS[leftover.kind() as usize].fetch_sub(1, Ordering::Relaxed);
        // A resource that is refused again is in the queue again, and counted.
        let _left_over = give_back_or_keep(leftover);
    }
    leftovers().total()
}

/// Returns the current deferred frees.
pub fn leftovers() -> Leftovers {
    Leftovers(COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use cudarc::driver::CudaContext;

    use crate::error::CudaError;

    use super::{LeftoverKind, Place, Resource, give_back_leftovers, leftovers};

    /// Refuses to be freed the given number of times.
    struct Stubborn(Arc<AtomicUsize>);

    impl Resource for Stubborn {
        const KIND: LeftoverKind = LeftoverKind::Event;

        fn context(&self) -> Option<&CudaContext> {
            None
        }

        unsafe fn give_back(&mut self) -> Result<(), CudaError> {
            let take = |refusals: usize| refusals.checked_sub(1);
            match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
                Ok(_) => Err(CudaError::Capturing { operation: "give back" }),
                Err(_) => Ok(()),
            }
        }
    }

    #[test]
    fn what_is_refused_waits_in_the_queue() {
        let refusals = [0, 1, 3].map(|count| Arc::new(AtomicUsize::new(count)));
        for count in &refusals {
            drop(Place::new().unwrap().own(Stubborn(Arc::clone(count))));
        }
        let owners = || refusals.each_ref().map(|count| Arc::strong_count(count) - 1);
        assert_eq!(owners(), [0, 1, 1]);
        assert_eq!(leftovers().of(LeftoverKind::Event), 2);
        assert_eq!(leftovers().to_string(), "2 events");
        assert_eq!((give_back_leftovers(), owners()), (1, [0, 0, 1]));
        assert_eq!((give_back_leftovers(), owners()), (1, [0, 0, 1]));
        assert_eq!((give_back_leftovers(), owners()), (0, [0, 0, 0]));
        assert_eq!(leftovers().to_string(), "nothing");
    }
}
