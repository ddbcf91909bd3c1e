//! The probe. The probe provides everything that the tests need from a backend beyond
//! `PoolBackend`. A probe creates contexts, inspects views, enqueues work on views, and provides
//! the ledger that counts the backend's blocks. A probe is a separate type so that any crate's
//! tests can define a probe for another crate's backend.

use std::fmt;

use pool_core::{
    AcquireResult, DynamicPool, Element, Handle, Layout, LendView, PodElement, PoolBackend,
    PoolError, PoolViewMut, Scope,
};

use crate::host::HostForms;
use crate::ledger::{BlockCounts, Ledger, Refusal};

/// The type of exclusive views for a probe's backend.
pub type View<'s, P, T> = <<P as BackendProbe>::Backend as PoolBackend>::View<'s, T>;

/// The type of shared views for a probe's backend.
pub type ViewRef<'s, P, T> = <<P as BackendProbe>::Backend as PoolBackend>::ViewRef<'s, T>;

/// The type of pool errors for a probe's backend.
pub type Failure<P> = PoolError<<<P as BackendProbe>::Backend as PoolBackend>::Error>;

/// A function that returns the elements that an enqueued command reads. The function waits until
/// the command has run.
pub type Later<'p, T> = Box<dyn FnOnce() -> Vec<T> + 'p>;

/// The reason that a probe does not support an operation. Cases that need the unsupported operation
/// are skipped, and the reason is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkipReason(pub &'static str);

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A type that gives the tests access to a backend's memory.
///
/// If a host backend's views are slices, [`slice_access!`](crate::slice_access) implements all of
/// the probe's view methods. This crate's documentation contains an example of a complete probe.
pub trait BackendProbe: 'static {
    /// The backend under test.
    type Backend: PoolBackend;

    /// Returns a context for a new pool.
    fn context(&self) -> <Self::Backend as PoolBackend>::Context;

    /// Returns a view's start address, or a number that identifies the view's bytes if blocks do
    /// not have addresses. The number that identifies a block's first byte must be a multiple of
    /// the backend's alignment. The numbers of a block's bytes must be consecutive.
    fn address<T: Element>(&self, view: &View<'_, Self, T>) -> usize {
        self.shared_address::<T>(&view.as_view())
    }

    /// Returns a shared view's start address. See [`address`](Self::address).
    fn shared_address<T: Element>(&self, view: &ViewRef<'_, Self, T>) -> usize;

    /// Waits until all earlier work has finished, then returns a view's elements.
    fn read<T: Element>(&self, view: &View<'_, Self, T>) -> Vec<T> {
        self.read_shared::<T>(&view.as_view())
    }

    /// Waits until all earlier work has finished, then returns a shared view's elements.
    /// [`PoolView`](pool_core::PoolView) does not read elements of types that have invalid byte
    /// patterns. `read_shared` may read elements of any type because the tests have already written
    /// valid values.
    fn read_shared<T: Element>(&self, view: &ViewRef<'_, Self, T>) -> Vec<T>;

    /// Overwrites a view with `elements`. The number of elements must equal the view's length.
    fn write<T: Element>(&self, view: &mut View<'_, Self, T>, elements: &[T]) {
        let copied = view.copy_from_host(elements);
        copied.unwrap_or_else(|error| panic!("a view cannot be written: {error}"));
    }

    /// Enqueues *work* that overwrites a view with the given `elements`. The number of elements
    /// must equal the view's length. The call does not wait for the work. Similarly, code that uses
    /// a backend does not wait after enqueuing a kernel or a copy. The work might run on the queue
    /// of the view's pool at any time before the next wait.
    ///
    /// If views are host memory, `write_later` is the same as [`write`](Self::write), and the work
    /// is complete when the call returns. `write_later` can do the same as `write` if copies from
    /// the host are enqueued like any other work.
    fn write_later<T: Element>(&self, view: &mut View<'_, Self, T>, elements: &[T]) {
        self.write::<T>(view, elements);
    }

    /// Enqueues *work* that reads a view, without waiting for the work. `read_later` is the
    /// counterpart of [`write_later`](Self::write_later). The returned function may be called even
    /// after the view has been dropped. The returned function yields the contents that the view has
    /// after all previously enqueued work has run. Work that is enqueued later does not affect the
    /// result.
    fn read_later<T: Element>(&self, view: &ViewRef<'_, Self, T>) -> Later<'_, T>;

    /// Returns the number of views that [random programs](crate::programs) read with
    /// [`read_later`](Self::read_later) before they compare the results. If the number is 0, a
    /// program compares each view as soon as it is read. Override `open_reads` if reads have to
    /// wait for a device and `read_later` can batch those reads. Programs with batched reads run
    /// faster but still check the same properties.
    fn open_reads(&self) -> usize {
        0
    }

    /// Enqueues a write that the pool cannot see, such as a write on another stream.
    /// `write_elsewhere` takes the same arguments as [`write_later`](Self::write_later). The
    /// backend's views must [arm](pool_core::SlotRef::arm) their slot if the pool cannot see a
    /// write. The write must run after all work on the pool's queue.
    ///
    /// # Errors
    ///
    /// Returns [`SkipReason`] if all work on views runs on the pool's own queue or completes
    /// immediately.
    fn write_elsewhere<T: PodElement>(
        &self,
        view: &mut View<'_, Self, T>,
        elements: &[T],
    ) -> Result<(), SkipReason> {
        let _ = (view, elements);
        Err(SkipReason("the backend's views have no work that the pool cannot see"))
    }

    /// Returns the shape that a descriptor in the shape cache contains. If the descriptor is new,
    /// the method first stores `dims` in it.
    ///
    /// # Errors
    ///
    /// Returns [`SkipReason`] if the backend stores nothing with a shape, or if the probe cannot
    /// inspect the descriptor.
    fn kept_shape(
        &self,
        descriptor: &mut <Self::Backend as PoolBackend>::Descriptor,
        dims: &[usize],
    ) -> Result<Vec<usize>, SkipReason> {
        let _ = (descriptor, dims);
        Err(SkipReason("the backend keeps nothing beside a shape that the probe can look at"))
    }

    /// Acquires elements that are created one at a time by code that may acquire memory from the
    /// same scope. If the backend supports `try_acquire_with`, `acquire_with` should call that
    /// method. The default implementation creates the elements on the host, in order, and then
    /// writes them to a view.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`].
    fn acquire_with<'s, T: Element>(
        &self,
        scope: &Scope<'s, Self::Backend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> AcquireResult<'s, Self::Backend, T> {
        let mut view = scope.try_acquire_zeroed(length)?;
        self.write(&mut view, &(0..length).map(element).collect::<Vec<_>>());
        Ok(view)
    }

    /// Does the same as [`acquire_with`](Self::acquire_with), but acquires the elements from a
    /// dynamic pool.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`DynamicPool::try_acquire`].
    fn acquire_named_with<T: Element>(
        &self,
        pool: &mut DynamicPool<Self::Backend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Handle<T>, Failure<Self>> {
        let handle = pool.try_acquire_zeroed(length)?;
        let elements = (0..length).map(element).collect::<Vec<_>>();
        self.write(&mut pool.get_mut(handle)?, &elements);
        Ok(handle)
    }

    /// Returns the acquire methods for elements of any `Copy` type, which only host backends
    /// provide. If the backend is a [`HostBackend`](crate::HostBackend), return
    /// `Some(HostForms::new())`. Random programs mix host methods with all other methods, and host
    /// methods may leave uninitialized bytes in blocks. If `host_forms` returns `None`, random
    /// programs use only the methods that every backend supports.
    fn host_forms(&self) -> Option<HostForms<Self::Backend>> {
        None
    }

    /// Returns the ledger that records all blocks in this probe's contexts. The ledger identifies a
    /// block by the [`address`](Self::address) of a view that starts where the block starts.
    ///
    /// The blocks are reported either by the backend itself ([`HeapBackend`](crate::HeapBackend))
    /// or by an adaptor that intercepts the pool's calls
    /// ([`LedgeredBackend`](crate::LedgeredBackend)). A use of a freed block can be detected only
    /// if the backend retains freed memory and records the use ([`Ledger::note_fault`]). For a
    /// backend that frees memory immediately, only a sanitizer or Miri can detect uses of freed
    /// blocks.
    ///
    /// # Errors
    ///
    /// Returns [`SkipReason`] if the blocks cannot be counted. Without a ledger, the tests cannot
    /// detect leaks, overlaps, or double frees.
    fn accounting(&self) -> Result<&Ledger, SkipReason>;

    /// Returns the ledger that the backend must [ask](Ledger::ask) for permission before every
    /// allocation. The tests use the ledger to determine which allocations fail. If an allocation
    /// is refused, `allocate` either panics or returns an error. The pool reports this error as
    /// [`PoolError::OutOfMemory`].
    ///
    /// # Errors
    ///
    /// Returns [`SkipReason`] if no test can make the backend fail. The tests for failing
    /// allocations are skipped if the backend cannot be made to fail.
    fn refusal(&self) -> Result<&Ledger, SkipReason>;
}

/// The methods with which the tests access a probe's backend and ledgers.
pub(crate) trait Watching: BackendProbe {
    /// `true` if the backend's pools have slots.
    const HAS_SLOTS: bool =
        <<Self::Backend as PoolBackend>::Layout as Layout<Self::Backend>>::HAS_SLOTS;

    /// Returns counts of the blocks that the backend has allocated, or `None` if the blocks are not
    /// counted.
    fn held(&self) -> Option<BlockCounts> {
        self.accounting().ok().map(Ledger::held)
    }

    /// Returns the start and size of the block that contains an address. Returns `None` if the
    /// blocks are not counted, or if no block contains the address.
    fn block_of(&self, address: usize) -> Option<(usize, usize)> {
        self.accounting().ok()?.block_of(address)
    }

    /// Returns the unique number of the block that contains an address, along with the address's
    /// offset in that block. Returns `None` if the blocks are not counted, or if no block contains
    /// the address.
    fn place_of(&self, address: usize) -> Option<(usize, usize)> {
        self.accounting().ok()?.place_of(address)
    }

    /// Resets the peak to the number of bytes that are currently allocated.
    fn forget_peak(&self) {
        if let Ok(ledger) = self.accounting() {
            ledger.forget_peak();
        }
    }

    /// Sets which future allocations fail. The call has no effect if the probe provides no ledger
    /// that refuses allocations.
    fn refuse(&self, refusal: Refusal) {
        if let Ok(ledger) = self.refusal() {
            ledger.refuse(refusal);
        }
    }

    /// Returns `true` if a test is currently making allocations fail.
    fn is_refusing(&self) -> bool {
        self.refusal().is_ok_and(|ledger| ledger.refusal() != Refusal::Never)
    }

    /// Checks that no block was misused.
    #[track_caller]
    fn assert_no_fault(&self) {
        if let Ok(ledger) = self.accounting() {
            assert_eq!(ledger.faults(), [], "blocks were misused");
        }
    }
}

impl<P: BackendProbe> Watching for P {}

/// Implements the view methods of [`BackendProbe`] for a [`HostBackend`](crate::HostBackend) whose
/// views are slices. Invoke the macro inside the probe's `impl` block.
#[macro_export]
macro_rules! slice_access {
    () => {
        fn shared_address<T: $crate::Element>(&self, view: &&[T]) -> usize {
            view.as_ptr().addr()
        }

        fn read_shared<T: $crate::Element>(&self, view: &&[T]) -> ::std::vec::Vec<T> {
            view.to_vec()
        }

        fn read_later<T: $crate::Element>(&self, view: &&[T]) -> $crate::Later<'_, T> {
            let elements = view.to_vec();
            ::std::boxed::Box::new(|| elements)
        }

        fn acquire_with<'s, T: $crate::Element>(
            &self,
            scope: &$crate::Scope<'s, Self::Backend>,
            length: usize,
            element: impl FnMut(usize) -> T,
        ) -> $crate::AcquireResult<'s, Self::Backend, T> {
            scope.try_acquire_with(length, element)
        }

        fn host_forms(&self) -> ::std::option::Option<$crate::HostForms<Self::Backend>> {
            ::std::option::Option::Some($crate::HostForms::new())
        }
    };
}
