//! The pools of a thread: a list of idle ones for each backend, and the guard that borrows one.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use pool_core::{
    Compaction, FreeList, Pool, PoolBackend, PoolConfig, PoolError, PoolStats, ReleaseReport,
    Scope, error_chain,
};

/// A backend that keeps pools for each thread: what [`with_pool!`](crate::with_pool) and [`local()`]
/// ask for. Implemented by the markers whose feature is on, and sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no backend that is built in, so it has no thread-local pools",
    label = "not built in",
    note = "`Cpu` needs the feature `cpu` of `pool-facade`, which is on by default: `pool-facade = {{ features = [\"cpu\"] }}`",
    note = "`Cuda` needs the feature `cuda` of `pool-facade`: `pool-facade = {{ features = [\"cuda\"] }}`",
    note = "a backend of another crate keeps a `pool_core::FreeList` in a thread-local"
)]
pub trait LocalPool: PoolBackend + sealed::Storage {}

const KEY: sealed::Key = sealed::Key(());

mod sealed {
    use super::{FreeList, Pool, PoolBackend, PoolConfig, PoolError};

    /// A value that only this module can make. The methods of a supertrait can be called through the bound
    /// `B: LocalPool` even where the trait cannot be named; this argument keeps them out of reach.
    #[derive(Clone, Copy, Debug)]
    pub struct Key(pub(super) ());

    /// The list of this thread's idle pools of a backend.
    pub trait Storage: PoolBackend {
        /// Takes an idle pool.
        fn take(_: Key) -> Option<Pool<Self>>;

        /// Makes a pool, for when none is idle.
        fn make(_: Key) -> Result<Pool<Self>, PoolError<Self::Error>>;

        /// Gives a pool back.
        fn put(_: Key, pool: Pool<Self>);

        /// Drops the idle pools that hold more than memory.
        fn drop_holders(_: Key);

        /// The list of idle pools, for what is rare.
        fn with_list<R>(_: Key, f: impl FnOnce(&FreeList<Self>) -> R) -> R;

        /// The configuration of pools that this thread makes from now on.
        fn set_config(_: Key, config: PoolConfig);
    }
}

/// A pool of this thread, in your hands until the guard is dropped.
///
/// The guard owns its pool. Dropping it, in any order with other guards, gives the pool back to the
/// thread that drops it; forgetting it leaks that one pool.
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>() {}
/// is_send::<pool_facade::LocalGuard<pool_facade::Cpu>>(); // guard_not_send
/// ```
pub struct LocalGuard<B: LocalPool> {
    pool: ManuallyDrop<Pool<B>>,
    /// The idle pools that `stats`, `trim` and `clear` reach are those of this thread.
    thread: PhantomData<*mut ()>,
}

/// A pool of this thread: the function form of [`with_pool!`](crate::with_pool), and the place for
/// statistics, trimming and configuration.
///
/// ```
/// # #[cfg(feature = "cpu")] {
/// use pool_facade::prelude::*;
///
/// let mut guard = local::<Cpu>();
/// guard.configure(PoolConfig::new().byte_limit(1 << 20))?;
/// {
///     let scope = guard.scope();
///     assert!(scope.try_acquire::<u8>(2 << 20).is_err());
///     scope.acquire_zeroed::<u8>(1000);
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
/// With the text of the error that [`try_local`] returns.
#[inline]
#[must_use]
#[track_caller]
pub fn local<B: LocalPool>() -> LocalGuard<B> {
    let pool = match B::take(KEY) {
        Some(pool) => pool,
        None => make_or_panic(),
    };
    LocalGuard { pool: ManuallyDrop::new(pool), thread: PhantomData }
}

/// As [`local()`].
///
/// # Errors
///
/// [`PoolError::Bookkeeping`] where the host has no memory for a new pool's slot table, and
/// [`PoolError::Backend`] where the backend cannot start.
#[inline]
pub fn try_local<B: LocalPool>() -> Result<LocalGuard<B>, PoolError<B::Error>> {
    let pool = match B::take(KEY) {
        Some(pool) => pool,
        None => B::make(KEY)?,
    };
    Ok(LocalGuard { pool: ManuallyDrop::new(pool), thread: PhantomData })
}

#[cold]
#[inline(never)]
#[track_caller]
#[expect(clippy::panic, reason = "the documented behaviour of the twin without `try_`")]
fn make_or_panic<B: LocalPool>() -> Pool<B> {
    B::make(KEY).unwrap_or_else(|error| panic!("{}", error_chain(&error)))
}

impl<B: LocalPool> LocalGuard<B> {
    /// Opens a scope in the guard's pool.
    #[inline]
    pub fn scope(&mut self) -> Scope<'_, B> {
        self.pool.scope()
    }

    /// The numbers of this pool and of the thread's idle pools together.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        let mut stats = self.pool.stats();
        for_each_idle::<B>(|pool| stats = stats.plus(&pool.stats()));
        stats
    }

    /// Frees every block of this pool and of the thread's idle pools.
    pub fn trim(&mut self) -> ReleaseReport {
        let mut released = self.pool.trim();
        for_each_idle::<B>(|pool| released = released.plus(pool.trim()));
        released
    }

    /// Swaps oversized blocks of this pool and of the thread's idle pools; see [`Compaction`].
    pub fn compact(&mut self, compaction: &Compaction) -> ReleaseReport {
        let mut released = self.pool.compact(compaction);
        for_each_idle::<B>(|pool| released = released.plus(pool.compact(compaction)));
        released
    }

    /// Frees every block of this pool and of the thread's idle pools, and forgets their peaks. Idle
    /// pools that hold more than memory are dropped: those of [`Cuda`](crate::Cuda), with their streams.
    pub fn clear(&mut self) -> ReleaseReport {
        let mut released = self.pool.clear();
        for_each_idle::<B>(|pool| released = released.plus(pool.clear()));
        B::drop_holders(KEY);
        released
    }

    /// Takes a configuration for this pool, the thread's idle pools, and every pool that this thread
    /// makes from now on. Pools that other guards hold stay as they are. A byte limit is each pool's
    /// own.
    ///
    /// # Errors
    ///
    /// [`PoolError::Config`] for a value out of its range; nothing is then changed.
    pub fn configure(&mut self, config: PoolConfig) -> Result<(), PoolError<B::Error>> {
        self.pool.configure(config)?;
        // First: what is called back meanwhile may make pools.
        B::set_config(KEY, config);
        let mut result = Ok(());
        for_each_idle::<B>(|pool| result = pool.configure(config));
        result
    }
}

/// Runs `f` on each pool of this thread that is idle now. What `f` calls back, such as a `tracing`
/// subscriber, may make pools meanwhile: they are not among them. It takes no memory, of which there may
/// be none when it is called.
fn for_each_idle<B: LocalPool>(f: impl FnMut(&mut Pool<B>)) {
    B::with_list(KEY, |idle| idle.for_each(f));
}

impl<B: LocalPool> Drop for LocalGuard<B> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard is being dropped, so the pool is not used through it again.
        let pool = unsafe { ManuallyDrop::take(&mut self.pool) };
        B::put(KEY, pool);
    }
}

impl<B: LocalPool> fmt::Debug for LocalGuard<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalGuard").field("pool", &*self.pool).finish()
    }
}

/// The statics that a backend has for each thread: `IDLE`, `CONFIG` and `CLOSER`. Statics cannot be generic.
#[cfg(any(feature = "cpu", feature = "cuda"))]
macro_rules! thread_storage {
    ($backend:ty) => {
        thread_local! {
            /// Has no destructor of ours, so that no access has to ask for one, and it can be used while the
            /// thread ends. Where thread-locals are kept under keys, std frees it at some time then: who
            /// comes later finds a new list, and pools that were still in the old one leak.
            static IDLE: FreeList<$backend> = const { FreeList::new() };
            /// The configuration of new pools; has no destructor either, and is the default one again
            /// where it was freed.
            static CONFIG: Cell<PoolConfig> = const { Cell::new(PoolConfig::new()) };
            /// Has a destructor: closes the list where the thread ends.
            static CLOSER: Closer = const { Closer };
        }

        struct Closer;

        impl Drop for Closer {
            fn drop(&mut self) {
                IDLE.with(FreeList::close);
            }
        }
    };
}

#[cfg(feature = "cpu")]
mod cpu {
    //! The thread-local storage of `Cpu`.

    use super::sealed::{Key, Storage};
    use super::{FreeList, LocalPool, Pool, PoolConfig, PoolError};
    use pool_cpu::{Cpu, CpuError};
    use std::cell::Cell;

    thread_storage!(Cpu);

    impl LocalPool for Cpu {}

    impl Storage for Cpu {
        #[inline]
        fn take(_: Key) -> Option<Pool<Self>> {
            IDLE.with(FreeList::take)
        }

        #[cold]
        fn make(_: Key) -> Result<Pool<Self>, PoolError<CpuError>> {
            // The pool will be freed with its thread; where the closer has already run, the list is
            // closed and the pool is its guard's alone.
            let _ = CLOSER.try_with(|_| ());
            Pool::try_new((), CONFIG.get())
        }

        #[inline]
        fn put(_: Key, pool: Pool<Self>) {
            // SAFETY: out of this list, its pools are in guards, which have taken or made them, on this
            // thread, and drop none: they put it back, or are forgotten; or in `for_each_idle`, whose
            // callers drop none either.
            IDLE.with(|idle| unsafe { idle.put_back(pool) });
        }

        fn drop_holders(_: Key) {}

        fn with_list<R>(_: Key, f: impl FnOnce(&FreeList<Self>) -> R) -> R {
            IDLE.with(f)
        }

        fn set_config(_: Key, config: PoolConfig) {
            CONFIG.set(config);
        }
    }
}

#[cfg(feature = "cuda")]
mod cuda {
    //! The thread-local storage of `Cuda`: one list for all devices and streams that the thread chooses,
    //! of which a pool is taken by its stream.

    use super::sealed::{Key, Storage};
    use super::{FreeList, LocalPool, Pool, PoolConfig, PoolError};
    use pool_cuda::{Cuda, CudaError, DeviceStream};
    use std::cell::Cell;

    thread_storage!(Cuda);

    impl LocalPool for Cuda {}

    /// The first idle pool of the chosen device and stream. The usual list has no others.
    fn take_from(idle: &FreeList<Cuda>) -> Option<Pool<Cuda>> {
        idle.take_where(|pool| pool.context().is_of_thread())
    }

    impl Storage for Cuda {
        #[inline]
        fn take(_: Key) -> Option<Pool<Self>> {
            IDLE.with(take_from)
        }

        #[cold]
        fn make(_: Key) -> Result<Pool<Self>, PoolError<CudaError>> {
            // The pools share the thread's stream, and keep it as long as they need it.
            let stream = DeviceStream::of_thread()
                .map_err(|source| PoolError::Backend { operation: "open the device", source })?;
            let _ = CLOSER.try_with(|_| ());
            Pool::try_new(stream, CONFIG.get())
        }

        #[inline]
        fn put(_: Key, pool: Pool<Self>) {
            IDLE.with(|idle| idle.put(pool));
        }

        /// Every pool holds its stream, and so its device.
        fn drop_holders(_: Key) {
            IDLE.with(FreeList::clear);
        }

        fn with_list<R>(_: Key, f: impl FnOnce(&FreeList<Self>) -> R) -> R {
            IDLE.with(f)
        }

        fn set_config(_: Key, config: PoolConfig) {
            CONFIG.set(config);
        }
    }
}
