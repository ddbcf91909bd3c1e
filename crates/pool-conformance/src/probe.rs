//! What the tests need to know about a backend beyond `PoolBackend`: how to make a context, and how
//! to look into a view. A probe is a value of its own, so that the tests of any crate can write one
//! for a backend that is defined elsewhere.

use pool_core::{Acquired, DynamicPool, Element, Handle, PoolBackend, PoolError, Scope};

use crate::heap::{HeapBackend, Ledger, Refusal};

/// The exclusive view of a probe's backend.
pub type View<'s, P, T> = <<P as Probe>::Backend as PoolBackend>::View<'s, T>;

/// The shared view of a probe's backend.
pub type SharedView<'s, P, T> = <<P as Probe>::Backend as PoolBackend>::ViewRef<'s, T>;

/// The pool error of a probe's backend.
pub type Failure<P> = PoolError<<<P as Probe>::Backend as PoolBackend>::Error>;

/// Looks into the memory of a backend for the tests.
pub trait Probe: 'static {
    /// The backend that is tested.
    type Backend: PoolBackend;

    /// The context of a new pool.
    fn context(&self) -> <Self::Backend as PoolBackend>::Context;

    /// Where a view starts.
    fn address<T: Element>(&self, view: &View<'_, Self, T>) -> usize;

    /// Where a shared view starts.
    fn shared_address<T: Element>(&self, view: &SharedView<'_, Self, T>) -> usize;

    /// The elements of a view, on the host.
    fn read<T: Element>(&self, view: &View<'_, Self, T>) -> Vec<T>;

    /// The elements of a shared view, on the host.
    fn read_shared<T: Element>(&self, view: &SharedView<'_, Self, T>) -> Vec<T>;

    /// Overwrites a view with as many elements.
    fn write<T: Element>(&self, view: &mut View<'_, Self, T>, elements: &[T]);

    /// Elements made one by one, by code that may acquire from the same scope: `try_acquire_with`
    /// where the backend has it, else the same from the host.
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`].
    fn acquire_with<'s, T: Element>(
        &self,
        scope: &Scope<'s, Self::Backend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Acquired<'s, Self::Backend, T> {
        let mut view = scope.try_acquire_zeroed(length)?;
        self.write(&mut view, &(0..length).map(element).collect::<Vec<_>>());
        Ok(view)
    }

    /// As [`acquire_with`](Self::acquire_with), for a dynamic pool.
    ///
    /// # Errors
    ///
    /// As [`DynamicPool::try_acquire`].
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

    /// What the backend has allocated for this probe's contexts; `None` where nobody counts.
    fn held(&self) -> Option<Held> {
        None
    }

    /// The block that an address lies in, as its start and bytes; `None` where nobody knows, or
    /// where there is none.
    fn block_of(&self, address: usize) -> Option<(usize, usize)> {
        let _ = address;
        None
    }

    /// Says which of the coming allocations are to fail. A backend that cannot be told to fail
    /// ignores it, and its programs run without failures.
    fn refuse(&self, refusal: Refusal) {
        let _ = refusal;
    }

    /// Starts to look for a new [`peak_bytes`](Held::peak_bytes).
    fn forget_peak(&self) {}
}

/// What a backend has allocated, as counted outside the pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Blocks that are allocated now.
    pub blocks: usize,
    /// Bytes of those blocks.
    pub bytes: usize,
    /// The most bytes at any moment since [`Probe::forget_peak`].
    pub peak_bytes: usize,
    /// How often a block was asked for and given.
    pub allocations: usize,
    /// How often a block was asked for and refused.
    pub refused: usize,
}

/// What a [`Probe`] is asked about views that are slices, for its `impl`.
#[macro_export]
macro_rules! slice_access {
    () => {
        fn address<T: ::pool_core::Element>(&self, view: &&mut [T]) -> usize {
            view.as_ptr().addr()
        }

        fn shared_address<T: ::pool_core::Element>(&self, view: &&[T]) -> usize {
            view.as_ptr().addr()
        }

        fn read<T: ::pool_core::Element>(&self, view: &&mut [T]) -> Vec<T> {
            view.to_vec()
        }

        fn read_shared<T: ::pool_core::Element>(&self, view: &&[T]) -> Vec<T> {
            view.to_vec()
        }

        fn write<T: ::pool_core::Element>(&self, view: &mut &mut [T], elements: &[T]) {
            view.copy_from_slice(elements);
        }
    };
}

/// The probe of the [`HeapBackend`]: all its contexts share one ledger.
#[derive(Clone, Debug, Default)]
pub struct HeapProbe {
    /// What the contexts did.
    pub ledger: Ledger,
}

impl Probe for HeapProbe {
    type Backend = HeapBackend;

    fn context(&self) -> Ledger {
        self.ledger.clone()
    }

    slice_access!();

    fn acquire_with<'s, T: Element>(
        &self,
        scope: &Scope<'s, HeapBackend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Acquired<'s, HeapBackend, T> {
        scope.try_acquire_with(length, element)
    }

    fn acquire_named_with<T: Element>(
        &self,
        pool: &mut DynamicPool<HeapBackend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Handle<T>, Failure<Self>> {
        pool.try_acquire_with(length, element)
    }

    fn held(&self) -> Option<Held> {
        Some(Held {
            blocks: self.ledger.live_blocks(),
            bytes: self.ledger.live_bytes(),
            peak_bytes: self.ledger.peak_bytes(),
            allocations: self.ledger.allocations(),
            refused: self.ledger.refused(),
        })
    }

    fn block_of(&self, address: usize) -> Option<(usize, usize)> {
        self.ledger.block_of(address)
    }

    fn refuse(&self, refusal: Refusal) {
        self.ledger.refuse(refusal);
    }

    fn forget_peak(&self) {
        self.ledger.forget_peak();
    }
}
