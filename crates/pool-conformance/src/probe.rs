//! The probe: the operations of a backend that the tests need beyond `PoolBackend`. It makes a context, reads a view,
//! enqueues work on it, and has the ledger that counts its blocks. A probe is a value of its own, so that the tests of
//! any crate can write one for a backend that is defined elsewhere.

use std::fmt;

use pool_core::{
    AcquireResult, DynamicPool, Element, Handle, Layout, LendView, PodElement, PoolBackend,
    PoolError, PoolViewMut, Scope,
};

use crate::host::HostForms;
use crate::ledger::{BlockCounts, Ledger, Refusal};

/// The exclusive view of a probe's backend.
pub type View<'s, P, T> = <<P as Probe>::Backend as PoolBackend>::View<'s, T>;

/// The shared view of a probe's backend.
pub type SharedView<'s, P, T> = <<P as Probe>::Backend as PoolBackend>::ViewRef<'s, T>;

/// The pool error of a probe's backend.
pub type Failure<P> = PoolError<<<P as Probe>::Backend as PoolBackend>::Error>;

/// The contents that a view had at some point of the queue. A call waits for that point.
pub type Later<'p, T> = Box<dyn FnOnce() -> Vec<T> + 'p>;

/// The reason why a probe does not offer something. Cases that need it are skipped, and print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkipReason(pub &'static str);

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Looks into the memory of a backend for the tests.
///
/// [`slice_access!`](crate::slice_access) writes everything about views for a host backend whose
/// views are slices; the page of this crate shows a whole probe.
pub trait Probe: 'static {
    /// The backend that is tested.
    type Backend: PoolBackend;

    /// Returns the context of a new pool.
    fn context(&self) -> <Self::Backend as PoolBackend>::Context;

    /// Returns the address at which a view starts; if blocks have no addresses, the number that
    /// tells their bytes apart. Such numbers count bytes as addresses do, from a multiple of the
    /// backend's alignment.
    fn address<T: Element>(&self, view: &View<'_, Self, T>) -> usize {
        self.shared_address::<T>(&view.as_view())
    }

    /// Returns the address at which a shared view starts, as [`address`](Self::address).
    fn shared_address<T: Element>(&self, view: &SharedView<'_, Self, T>) -> usize;

    /// Returns the elements of a view, on the host, once all earlier work is done.
    fn read<T: Element>(&self, view: &View<'_, Self, T>) -> Vec<T> {
        self.read_shared::<T>(&view.as_view())
    }

    /// Returns the elements of a shared view, on the host, as [`read`](Self::read). The element
    /// types include those with invalid byte patterns, which [`PoolView`](pool_core::PoolView) does
    /// not read: the tests have written valid ones.
    fn read_shared<T: Element>(&self, view: &SharedView<'_, Self, T>) -> Vec<T>;

    /// Overwrites a view with this number of elements.
    fn write<T: Element>(&self, view: &mut View<'_, Self, T>, elements: &[T]) {
        let copied = view.copy_from_host(elements);
        copied.unwrap_or_else(|error| panic!("a view cannot be written: {error}"));
    }

    /// Enqueues *work* that overwrites a view with this number of elements, and does not wait for
    /// it, as a kernel or a copy of the backend's users. It may run at any time before the next
    /// wait, on the queue of the view's pool.
    ///
    /// If views are host memory, work is done when the call returns: then this is [`write`](Self::write). It may also
    /// be [`write`](Self::write) if a copy from the host is enqueued like other work.
    fn write_later<T: Element>(&self, view: &mut View<'_, Self, T>, elements: &[T]) {
        self.write::<T>(view, elements);
    }

    /// Enqueues *work* that reads a view, and does not wait for it: the counterpart of
    /// [`write_later`](Self::write_later). The returned value outlives the view. It has the view's
    /// elements after all that was enqueued before the call, and before all that is enqueued later.
    fn read_later<T: Element>(&self, view: &SharedView<'_, Self, T>) -> Later<'_, T>;

    /// Returns the number of views that [random programs](crate::programs) read by
    /// [`read_later`](Self::read_later) before they compare them; with 0 they compare each at once.
    /// For backends whose reads wait for a device: programs are faster if `read_later` gathers its
    /// reads, and check the same.
    fn open_reads(&self) -> usize {
        0
    }

    /// Does as [`write_later`](Self::write_later), but where the pool cannot see it, as on another
    /// stream: the backend's views then [arm](pool_core::SlotRef::arm) their slot. The write comes
    /// after everything on the pool's queue.
    ///
    /// # Errors
    ///
    /// [`SkipReason`] if all work of views is on the pool's own queue, or is done at once.
    fn write_elsewhere<T: PodElement>(
        &self,
        view: &mut View<'_, Self, T>,
        elements: &[T],
    ) -> Result<(), SkipReason> {
        let _ = (view, elements);
        Err(SkipReason("the backend's views have no work that the pool cannot see"))
    }

    /// Returns the shape that a descriptor of the shape cache keeps. A new descriptor is used for
    /// `dims` first.
    ///
    /// # Errors
    ///
    /// [`SkipReason`] if the backend keeps nothing with a shape, or the probe cannot read it.
    fn kept_shape(
        &self,
        descriptor: &mut <Self::Backend as PoolBackend>::Descriptor,
        dims: &[usize],
    ) -> Result<Vec<usize>, SkipReason> {
        let _ = (descriptor, dims);
        Err(SkipReason("the backend keeps nothing beside a shape that the probe can look at"))
    }

    /// Acquires elements that are made one by one, by code that may acquire from the same scope: by
    /// `try_acquire_with` if the backend has it, else in the same way from the host.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`].
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

    /// Does as [`acquire_with`](Self::acquire_with), for a dynamic pool.
    ///
    /// # Errors
    ///
    /// Same as [`DynamicPool::try_acquire`].
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

    /// Returns the forms of scopes of a host backend, for elements of any type that is `Copy`:
    /// `Some(HostForms::new())` if the backend is a [`HostBackend`](crate::HostBackend). Random
    /// programs then mix these forms, whose slots are marked, with all others; else they use forms
    /// that every backend has.
    fn host_forms(&self) -> Option<HostForms<Self::Backend>> {
        None
    }

    /// Returns the ledger to which the backend reports every block of this probe's contexts. It
    /// names blocks by the [`address`](Self::address) of a view at their start.
    ///
    /// The backend writes the ledger itself ([`HeapBackend`](crate::HeapBackend)) through a hook of
    /// its own, or an adaptor does that knows the pool's calls
    /// ([`LedgeredBackend`](crate::LedgeredBackend)). A use of a freed block is seen only if the
    /// backend keeps freed memory and notes the use ([`Ledger::note_fault`]); else a sanitizer or
    /// Miri sees it.
    ///
    /// # Errors
    ///
    /// [`SkipReason`] if the blocks cannot be counted. Leaks, overlaps and double frees are then
    /// not noticed.
    fn accounting(&self) -> Result<&Ledger, SkipReason>;

    /// Returns the ledger that the backend [asks](Ledger::ask) before every allocation. By it the
    /// tests choose which allocations fail, and how. A refusal is an error of `allocate`, which the
    /// pool reports as [`PoolError::OutOfMemory`], or a panic that `allocate` lets pass.
    ///
    /// # Errors
    ///
    /// [`SkipReason`] if the backend cannot be made to fail. Its failures are then not tested.
    fn refusal(&self) -> Result<&Ledger, SkipReason>;
}

/// The tests' calls to a probe's backend and ledgers.
pub(crate) trait Watching: Probe {
    /// The backend's pools have slots.
    const HAS_SLOTS: bool =
        <<Self::Backend as PoolBackend>::Layout as Layout<Self::Backend>>::HAS_SLOTS;

    /// Returns the blocks that the backend has allocated; `None` if nothing counts them.
    fn held(&self) -> Option<BlockCounts> {
        self.accounting().ok().map(Ledger::held)
    }

    /// Returns the block that holds an address; `None` if nothing counts blocks, or no block holds
    /// it.
    fn block_of(&self, address: usize) -> Option<(usize, usize)> {
        self.accounting().ok()?.block_of(address)
    }

    /// Returns the number of the block that holds an address, which no other block has, and the
    /// place of the address in it. Returns `None` if nothing counts blocks, or no block holds it.
    fn place_of(&self, address: usize) -> Option<(usize, usize)> {
        self.accounting().ok()?.place_of(address)
    }

    /// Starts a new peak.
    fn forget_peak(&self) {
        if let Ok(ledger) = self.accounting() {
            ledger.forget_peak();
        }
    }

    /// Sets which of the coming allocations fail. Without effect if the probe declined.
    fn refuse(&self, refusal: Refusal) {
        if let Ok(ledger) = self.refusal() {
            ledger.refuse(refusal);
        }
    }

    /// Returns `true` if allocations are made to fail.
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

impl<P: Probe> Watching for P {}

/// The methods of a [`Probe`] for a [`HostBackend`](crate::HostBackend) whose views are slices, to be put into its
/// `impl`.
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
