//! Defines the guard that owns one of its thread's pools, and the functions that create guards.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use pool_core::{
    Compaction, Pool, PoolConfig, PoolError, PoolStats, ReleaseReport, Scope, error_chain,
};

use super::LocalPool;
use super::held::Held;
use super::idle_pools;

/// A guard that owns one of the current thread's pools until the guard is dropped.
///
/// Guards can be dropped in any order. Dropping a guard returns its pool to the current thread's
/// idle pools. Forgetting a guard leaks only the guard's own pool. A `Stacked<Cpu>` pool may borrow
/// its memory from the enclosing guard (see [`Stacked`](crate::Stacked)).
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>() {}
/// is_send::<pool_facade::LocalGuard<pool_facade::Cpu>>(); // guard_not_send
/// ```
pub struct LocalGuard<B: LocalPool> {
    pool: ManuallyDrop<Held<B>>,
    owned: PhantomData<Pool<B>>,
}

/// A trait that no type implements, which prevents [`LocalGuard`] from being [`Send`] or [`Sync`].
/// A guard must stay on its thread, because the guard's methods use that thread's idle pools.
#[diagnostic::on_unimplemented(
    message = "a guard of `local()` can be used only on the thread that owns its pool",
    label = "a guard, or a scope of `with_pool!`, is sent to another thread here",
    note = "call `local()` or `with_pool!` on the other thread, which has pools of its own",
    note = "a `Pool` that you create yourself can be moved to another thread",
    note = "in a future that is `Send`, close the block of `with_pool!` before each `.await`"
)]
pub trait GuardMayLeaveItsThread {}

// SAFETY: no type implements `GuardMayLeaveItsThread`, so this implementation never applies.
unsafe impl<B: LocalPool + GuardMayLeaveItsThread> Send for LocalGuard<B> {}

// SAFETY: no type implements `GuardMayLeaveItsThread`, so this implementation never applies.
unsafe impl<B: LocalPool + GuardMayLeaveItsThread> Sync for LocalGuard<B> {}

/// Acquires one of the current thread's pools and returns a guard that owns the pool. Unlike
/// [`with_pool!`](crate::with_pool), this function allows the caller to trim the pool, configure
/// it, and read its statistics.
///
/// ```
/// # #[cfg(feature = "cpu")] {
/// use pool_facade::prelude::*;
///
/// let mut guard = local::<Cpu>();
/// guard.configure(PoolConfig::new().byte_limit(1 << 20))?;
/// {
///     let scope = guard.scope();
///     assert!(scope.try_acquire::<u8, _>(2 << 20).is_err());
///     scope.acquire_zeroed::<u8, _>(1000);
/// }
/// assert!(guard.stats().reserved_bytes >= 1000);
/// guard.trim();
/// assert_eq!(guard.stats().reserved_bytes, 0);
/// # }
/// # Ok::<(), pool_facade::PoolError<pool_facade::CpuError>>(())
/// ```
///
/// # Panics
///
/// Panics with the error that [`try_local`] returns.
#[inline]
#[must_use]
#[track_caller]
pub fn local<B: LocalPool>() -> LocalGuard<B> {
    let pool = match idle_pools::take() {
        Some(pool) => pool,
        None => make_or_panic(),
    };
    LocalGuard::of(pool)
}

/// The fallible version of [`local()`].
///
/// # Errors
///
/// Returns [`PoolError::Bookkeeping`] if the host cannot allocate a new pool's slot table, or
/// [`PoolError::Backend`] if the backend cannot start.
#[inline]
pub fn try_local<B: LocalPool>() -> Result<LocalGuard<B>, PoolError<B::Error>> {
    let pool = match idle_pools::take() {
        Some(pool) => pool,
        None => idle_pools::make()?,
    };
    Ok(LocalGuard::of(pool))
}

#[cold]
#[inline(never)]
#[track_caller]
#[expect(clippy::panic, reason = "the documented behaviour of the twin without `try_`")]
fn make_or_panic<B: LocalPool>() -> Held<B> {
    idle_pools::make().unwrap_or_else(|error| panic!("{}", error_chain(&error)))
}

impl<B: LocalPool> LocalGuard<B> {
    #[inline]
    fn of(pool: Held<B>) -> Self {
        Self { pool: ManuallyDrop::new(pool), owned: PhantomData }
    }

    /// Opens a scope in the guard's pool.
    #[inline]
    pub fn scope(&mut self) -> Scope<'_, B> {
        self.pool.scope()
    }

    /// Returns the combined statistics of this pool and the thread's idle pools.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        idle_pools::add_stats::<B>(self.pool.stats())
    }

    /// Frees every block of this pool and of the thread's idle pools.
    pub fn trim(&mut self) -> ReleaseReport {
        self.pool.trim().plus(idle_pools::trim::<B>())
    }

    /// Replaces oversized blocks of this pool and of the thread's idle pools with smaller blocks
    /// (see [`Compaction`]).
    pub fn compact(&mut self, compaction: &Compaction) -> ReleaseReport {
        self.pool.compact(compaction).plus(idle_pools::compact::<B>(compaction))
    }

    /// Frees every block of this pool and of the thread's idle pools and resets the pools' peak
    /// values. The method also drops idle pools that may own resources other than memory. For
    /// example, [`Cuda`](crate::Cuda) pools own streams. Idle [`Cpu`](crate::Cpu) and
    /// `Stacked<Cpu>` pools are not dropped.
    pub fn clear(&mut self) -> ReleaseReport {
        self.pool.clear().plus(idle_pools::clear::<B>())
    }

    /// Replaces the configuration of this pool, of the thread's idle pools, and of all pools that
    /// the thread creates later. The pools of other guards retain their configuration. The byte
    /// limit applies to each pool separately.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Config`] if a value is out of range. If the method fails, all
    /// configurations stay unchanged.
    pub fn configure(&mut self, config: PoolConfig) -> Result<(), PoolError<B::Error>> {
        self.pool.configure(config)?;
        idle_pools::configure::<B>(config)
    }
}

impl<B: LocalPool> Drop for LocalGuard<B> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard is being dropped, so the pool cannot be used through it again.
        let pool = unsafe { ManuallyDrop::take(&mut self.pool) };
        idle_pools::put(pool);
    }
}

impl<B: LocalPool> fmt::Debug for LocalGuard<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalGuard").field("pool", &*self.pool).finish()
    }
}
