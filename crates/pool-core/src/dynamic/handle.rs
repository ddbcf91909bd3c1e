//! Handles: names of arrays in a dynamic pool, checked at every use.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use crate::backend::{ArrayMemory, Memory, PoolBackend, PoolState, State};
use crate::element::Element;
use crate::error::PoolError;

/// The name of an array of `T` in a [`DynamicPool`](crate::DynamicPool): a plain value that may be
/// copied, stored and, if `T` is `Send`, sent.
///
/// A handle carries the id of its pool, which is unique in the process, and a serial that the pool
/// never repeats. Both have 64 bits. Using it with another pool, or after its array was rewound, is
/// a typed error.
///
/// A handle alone carries its array's element type, and gives the right to write the array. So it
/// is invariant in `T`, and is `Send` and `Sync` only if `T` is:
///
/// ```compile_fail,E0308
/// # use pool_core::Handle;
/// fn weaker(handle: Handle<for<'a> fn(&'a str)>) -> Handle<fn(&'static str)> {
///     handle // handle_variance
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use pool_core::Handle;
/// fn is_send<T: Send>() {}
/// is_send::<Handle<*const u8>>(); // handle_send
/// ```
///
/// ```compile_fail,E0277
/// # use pool_core::Handle;
/// fn is_sync<T: Sync>() {}
/// is_sync::<Handle<std::cell::Cell<u8>>>(); // handle_sync
/// ```
pub struct Handle<T> {
    pool: u64,
    serial: u64,
    slot: usize,
    /// `Send` and `Sync` if `T` is.
    element: PhantomData<T>,
    /// Invariant: a value written through one copy of a handle is read through another.
    invariant: PhantomData<fn(T) -> T>,
}

impl<T> Handle<T> {
    pub(super) fn new(pool: u64, serial: u64, slot: usize) -> Self {
        Self { pool, serial, slot, element: PhantomData, invariant: PhantomData }
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.pool, self.serial) == (other.pool, other.serial)
    }
}

impl<T> Eq for Handle<T> {}

impl<T> Hash for Handle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.pool, self.serial).hash(state);
    }
}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("pool", &self.pool)
            .field("serial", &self.serial)
            .field("slot", &self.slot)
            .finish()
    }
}

/// The slot and the length of an array.
type NamedSlot<'p, B> = (Memory<'p, B>, usize);

/// Returns the slot and the length of a current handle.
///
/// A handle of element type `T` is invariant, so it comes from an acquire of `T`, and the slot
/// holds valid `T`s. The handle and the array are on this thread only if a `T` may be.
#[inline]
pub(super) fn find<B: PoolBackend, T>(
    state: &State<B>,
    active: usize,
    handle: Handle<T>,
) -> Result<NamedSlot<'_, B>, PoolError<B::Error>> {
    if handle.pool != state.id() {
        return Err(PoolError::ForeignHandle { pool: state.id(), made_by: handle.pool });
    }
    let stale = PoolError::StaleHandle { slot: handle.slot, active };
    if handle.slot >= active {
        return Err(stale);
    }
    // SAFETY: below the active slots, hence below the number of slots.
    let named = unsafe { state.named(handle.slot) };
    if named.serial != handle.serial {
        return Err(stale);
    }
    Ok((named.memory, named.length))
}

/// Does the same as [`find`], for several handles that must name different slots.
pub(super) fn find_disjoint<B: PoolBackend, T, const N: usize>(
    state: &State<B>,
    active: usize,
    handles: [Handle<T>; N],
) -> Result<[NamedSlot<'_, B>; N], PoolError<B::Error>> {
    for (index, &handle) in handles.iter().enumerate() {
        find::<B, T>(state, active, handle)?;
        if handles[..index].iter().any(|other| other.slot == handle.slot) {
            return Err(PoolError::RepeatedHandle { slot: handle.slot });
        }
    }
    Ok(handles.map(|handle| {
        // SAFETY: `find` found it above.
        let named = unsafe { state.named(handle.slot) };
        (named.memory, named.length)
    }))
}

/// The arrays of a [`DynamicPool`](crate::DynamicPool) that were acquired before [`split`](crate::DynamicPool::split),
/// beside the scope opened above them. While lent shared, they are constants.
///
/// Generic code makes its constants (weights, matrices, tables, boundary values) once, as arrays of
/// a dynamic pool, and keeps their handles in a struct of its own. In each scope it gets them as
/// shared views of the same pool, and thus in the order of one queue. Constants never move when
/// scopes acquire, trim or compact. If made before anything else in a pool, their blocks are no
/// larger than needed.
///
/// ```
/// use pool_core::{
///     DynamicPool, Handle, Handles, LendView, PoolBackend, PoolError, PoolView, PoolViewMut, Scope,
/// };
///
/// /// The constants of a layer, on any backend.
/// struct Layer {
///     weights: Handle<f32>,
///     bias: Handle<f32>,
/// }
///
/// impl Layer {
///     fn upload<B: PoolBackend>(
///         pool: &mut DynamicPool<B>,
///         weights: &[f32],
///         bias: &[f32],
///     ) -> Result<Self, PoolError<B::Error>> {
///         Ok(Self { weights: pool.try_acquire_from(weights)?, bias: pool.try_acquire_from(bias)? })
///     }
///
///     /// Shared `Handles` only read.
///     fn rows<'s, B: PoolBackend>(
///         &self,
///         constants: &Handles<'_, B>,
///         scope: &Scope<'s, B>,
///     ) -> Result<B::View<'s, f32>, Box<dyn std::error::Error>> {
///         let (weights, bias) = (constants.get(self.weights)?, constants.get(self.bias)?);
///         let mut sums = scope.try_acquire::<f32, _>(bias.len())?;
///         sums.copy_from(bias)?;
///         // … a kernel that adds the products of `weights`; real code has a trait for it …
///         assert_eq!(weights.part(..2)?.len(), sums.len());
///         Ok(sums)
///     }
/// }
///
/// # use pool_conformance::HeapBackend as Memory;
/// let mut pool = DynamicPool::<Memory>::new(Default::default());
/// let layer = Layer::upload(&mut pool, &[0.5; 4], &[1.0, 2.0])?;
/// for _ in 0..100 {
///     let (constants, mut scope) = pool.split();
///     assert_eq!(layer.rows(&constants, &scope.scope())?, [1.0, 2.0]);
/// }
/// assert_eq!(pool.stats().growths, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Change a constant between the scopes ([`DynamicPool::get_mut`](crate::DynamicPool::get_mut)), or
/// during one through an exclusive `Handles` ([`get_mut`](Self::get_mut)): so it can be made of a
/// scope's temporaries. Its views end with the borrow of the `Handles`:
///
/// ```compile_fail,E0505
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let weights = pool.acquire_filled(4, 0.5_f32);
/// let (constants, scope) = pool.split();
/// let view = constants.get(weights).unwrap();
/// drop(pool); // constant_outlives_its_pool
/// assert_eq!(view, [0.5; 4]);
/// ```
///
/// ```compile_fail,E0502
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let weights = pool.acquire_filled(4, 0.5_f32);
/// let (mut constants, scope) = pool.split();
/// let view = constants.get(weights).unwrap();
/// constants.get_mut(weights).unwrap()[0] = 1.0; // constant_changed_under_its_view
/// assert_eq!(view, [0.5; 4]);
/// ```
///
/// ```compile_fail,E0597
/// # use pool_core::{DynamicPool, Handle, PoolBackend};
/// fn longer<B: PoolBackend>(pool: &mut DynamicPool<B>, weights: Handle<f32>) -> usize {
///     let view = {
///         let (constants, _scope) = pool.split();
///         constants.get(weights).ok() // constant_outlives_its_handles
///     };
///     usize::from(view.is_some())
/// }
/// ```
///
/// If scopes of several pools read the same constants, keep them in a dynamic pool of their own.
/// Copies from its views are ordered by the backend ([`copy_from`](crate::PoolViewMut::copy_from)).
/// For other work on them, the backend documents the order with the pool's own work.
pub struct Handles<'p, B: PoolBackend> {
    state: &'p State<B>,
    active: usize,
    /// Exclusive: at most one `Handles` of a pool is in use.
    exclusive: PhantomData<&'p mut ()>,
}

impl<'p, B: PoolBackend> Handles<'p, B> {
    /// # Safety
    ///
    /// For `'p` the slots below `active` are accessed only through this value.
    pub(super) unsafe fn new(state: &'p State<B>, active: usize) -> Self {
        Self { state, active, exclusive: PhantomData }
    }

    /// Returns the array of a handle.
    ///
    /// # Errors
    ///
    /// Same as [`DynamicPool::get`](crate::DynamicPool::get).
    pub fn get<T: Element>(
        &self,
        handle: Handle<T>,
    ) -> Result<B::ViewRef<'_, T>, PoolError<B::Error>> {
        let (slot, length) = find::<B, T>(self.state, self.active, handle)?;
        // SAFETY: the slot is handed out as `length` elements of `T` (the handle is current); `self`
        // is borrowed, so only shared views of it can be in use.
        Ok(unsafe { slot.view_ref(length) })
    }

    /// Returns the array of a handle for writing.
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get).
    pub fn get_mut<T: Element>(
        &mut self,
        handle: Handle<T>,
    ) -> Result<B::View<'_, T>, PoolError<B::Error>> {
        let (slot, length) = find::<B, T>(self.state, self.active, handle)?;
        // SAFETY: the slot is handed out as `length` elements of `T` (the handle is current); `self`
        // is borrowed exclusively, and the scope beside it takes only slots above.
        Ok(unsafe { slot.view(length) })
    }

    /// Returns the arrays of several handles for writing, together.
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get), and [`PoolError::RepeatedHandle`] if two handles are the same.
    pub fn get_disjoint_mut<T: Element, const N: usize>(
        &mut self,
        handles: [Handle<T>; N],
    ) -> Result<[B::View<'_, T>; N], PoolError<B::Error>> {
        let slots = find_disjoint::<B, T, N>(self.state, self.active, handles)?;
        // SAFETY: the slots are distinct and handed out as elements of `T` (the handles are current);
        // `self` is borrowed exclusively, and the scope beside it takes only slots above.
        Ok(slots.map(|(slot, length)| unsafe { slot.view(length) }))
    }
}

impl<B: PoolBackend> fmt::Debug for Handles<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles").field("active", &self.active).finish_non_exhaustive()
    }
}
