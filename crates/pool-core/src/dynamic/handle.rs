//! Defines the handles that identify arrays in a dynamic pool. Every method that receives a handle
//! checks whether the handle is still valid.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use crate::backend::{ArrayMemory, Memory, PoolBackend, PoolState, State};
use crate::element::Element;
use crate::error::PoolError;

/// A handle to an array of `T` in a [`DynamicPool`](crate::DynamicPool). A handle is a plain value
/// that can be copied and stored. A handle can be sent to another thread if `T` is `Send`.
///
/// A handle contains its pool's identity and a serial number. The identity is unique within the
/// process, and the pool never reuses a serial number. The identity and the serial number are each
/// 64 bits wide. A method that receives a handle returns an error if the handle belongs to another
/// pool, or if a rewind has freed the handle's array.
///
/// A handle determines the element type of its array and grants write access to the array.
/// Therefore, `Handle<T>` is invariant in `T`, and is `Send` and `Sync` only if `T` is:
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
    /// A marker that allows the handle to be `Send` or `Sync` only if `T` is.
    element: PhantomData<T>,
    /// A marker that makes the handle invariant in `T`. Invariance is required because a value
    /// written through one copy of a handle can be read through another copy.
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

/// Returns the slot and length of the array that a current handle refers to.
///
/// A handle is invariant in its element type `T`. The handle was therefore created when an array of
/// `T` was acquired, and the slot holds valid values of `T`. If `T` is not `Send`, the handle and
/// the array never leave the thread that created them.
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
    // SAFETY: the handle's slot index is less than the number of active slots, and therefore also
    // less than the total number of slots.
    let named = unsafe { state.named(handle.slot) };
    if named.serial != handle.serial {
        return Err(stale);
    }
    Ok((named.memory, named.length))
}

/// Finds the arrays that several handles refer to (see [`find`]). The handles must refer to
/// different slots.
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
        // SAFETY: in the loop above, `find` has found an array with this index.
        let named = unsafe { state.named(handle.slot) };
        (named.memory, named.length)
    }))
}

/// The arrays of a [`DynamicPool`](crate::DynamicPool) that were handed out before
/// [`split`](crate::DynamicPool::split) was called. A `Handles` value can be used alongside the
/// scope that was opened above these arrays. A shared reference to a `Handles` value provides
/// read-only access to its arrays.
///
/// Generic code creates its constants (weights, matrices, tables, boundary values) once, as arrays
/// in a dynamic pool, and stores their handles in its own struct. In each scope, the code obtains
/// shared views of the constants from the same pool, so a single queue orders all work that uses
/// them. Constants do not move when a scope acquires memory or when the pool is trimmed or
/// compacted. Acquire a pool's constants first so that their blocks are no larger than needed.
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
/// Between scopes, change a constant with [`DynamicPool::get_mut`](crate::DynamicPool::get_mut).
/// While a scope is open, use [`get_mut`](Self::get_mut) on an exclusive `Handles` value. With an
/// exclusive `Handles` value, a constant can be computed from a scope's temporary arrays. A view of
/// a constant cannot outlive the borrow of the `Handles`:
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
/// If scopes of several pools read the same constants, store the constants in a separate dynamic
/// pool. For copies that read these constants, the backend establishes the order automatically (see
/// [`copy_from`](crate::PoolViewMut::copy_from)). The backend's documentation describes how any
/// other work on these views is ordered relative to the pool's own work.
pub struct Handles<'p, B: PoolBackend> {
    state: &'p State<B>,
    active: usize,
    /// A marker for an exclusive borrow. At most one of a pool's `Handles` values may be in use at
    /// a time.
    exclusive: PhantomData<&'p mut ()>,
}

impl<'p, B: PoolBackend> Handles<'p, B> {
    /// # Safety
    ///
    /// Throughout `'p`, the slots below `active` must be accessed only through this value.
    pub(super) unsafe fn new(state: &'p State<B>, active: usize) -> Self {
        Self { state, active, exclusive: PhantomData }
    }

    /// Returns a view of the array that a handle refers to.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`DynamicPool::get`](crate::DynamicPool::get).
    pub fn get<T: Element>(
        &self,
        handle: Handle<T>,
    ) -> Result<B::ViewRef<'_, T>, PoolError<B::Error>> {
        let (slot, length) = find::<B, T>(self.state, self.active, handle)?;
        // SAFETY: the handle is current, so the slot is handed out as `length` elements of `T`.
        // `self` is borrowed, so only shared views of the slot can be in use.
        Ok(unsafe { slot.view_ref(length) })
    }

    /// Returns an exclusive view of the array that a handle refers to.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Self::get).
    pub fn get_mut<T: Element>(
        &mut self,
        handle: Handle<T>,
    ) -> Result<B::View<'_, T>, PoolError<B::Error>> {
        let (slot, length) = find::<B, T>(self.state, self.active, handle)?;
        // SAFETY: the handle is current, so the slot is handed out as `length` elements of `T`.
        // `self` is borrowed exclusively, and the scope that was opened together with `self`
        // acquires only slots above `active`.
        Ok(unsafe { slot.view(length) })
    }

    /// Returns exclusive views of the arrays that several handles refer to.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Self::get). The method also returns
    /// [`PoolError::RepeatedHandle`] if two of the handles are equal.
    pub fn get_disjoint_mut<T: Element, const N: usize>(
        &mut self,
        handles: [Handle<T>; N],
    ) -> Result<[B::View<'_, T>; N], PoolError<B::Error>> {
        let slots = find_disjoint::<B, T, N>(self.state, self.active, handles)?;
        // SAFETY: the handles are current, so the slots are handed out as elements of `T`, and the
        // slots are distinct. `self` is borrowed exclusively, and the scope that was opened
        // together with `self` acquires only slots above `active`.
        Ok(slots.map(|(slot, length)| unsafe { slot.view(length) }))
    }
}

impl<B: PoolBackend> fmt::Debug for Handles<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles").field("active", &self.active).finish_non_exhaustive()
    }
}
