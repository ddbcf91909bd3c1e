//! Defines the thread-local pools, including the requirements on a backend, the list of idle pools,
//! and the guard that owns a pool.
//!
//! For each thread and backend, the list of idle pools is a `const` thread-local variable without a
//! destructor. The list can therefore be used at any time. Another thread-local variable has a
//! destructor that closes the list when the thread ends. Pools that are returned after the list has
//! been closed are dropped. The pools of `Cpu` are stored in the entries of a list. A registry of
//! all threads contains the entries of all pools, so that other threads can release idle pools. If
//! blocks of `with_pool!` are nested, each returned entry is still linked to the next entry of the
//! list. A single store is therefore sufficient to return the entry.
//!
//! The list of idle pools also links to the innermost pool that is in use. When a thread starts to
//! use a stack, the stack borrows memory from the innermost pool. The stack returns this memory
//! when it becomes idle again (see `stack/nesting.rs` in `pool_core`). For backends that use slots,
//! the code for borrowing memory is not compiled.

#[cfg(feature = "cpu")]
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod guard;
mod held;
pub(crate) mod idle_pools;
pub(crate) mod requests;
#[cfg(feature = "wgpu")]
mod wgpu;

use pool_core::PoolBackend;

pub use guard::{LocalGuard, local, try_local};
pub use idle_pools::{IdlePools, IdlePoolsCloser, ListAccess};

/// A backend that provides thread-local pools. This trait is required by
/// [`with_pool!`](crate::with_pool) and [`local()`].
///
/// The marker types of all enabled backends implement this trait. A backend in another crate
/// implements this trait with the [`local_pools!`](crate::local_pools) macro, which generates the
/// implementation without `unsafe`. Other crates cannot call any methods of the types that the
/// functions of this trait use. The implementation of a backend, and code that is generic over `B:
/// LocalPool`, therefore cannot access the idle pools of another backend.
///
/// A manual implementation that uses several lists for one thread is harmless, but it reuses fewer
/// pools.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no thread-local pools",
    label = "a backend without thread-local pools",
    note = "`Cpu` needs the feature `cpu` of `pool-facade`, which is on by default: `pool-facade = {{ features = [\"cpu\"] }}`",
    note = "`Cuda` needs the feature `cuda` of `pool-facade`: `pool-facade = {{ features = [\"cuda\"] }}`",
    note = "`Wgpu` needs the feature `wgpu` of `pool-facade`: `pool-facade = {{ features = [\"wgpu\"] }}`",
    note = "a backend of another crate gets them in that crate: `pool_facade::local_pools!(Backend, context: || …);`"
)]
pub trait LocalPool: PoolBackend {
    /// Determines how pools are removed from a thread's list and returned to the list.
    #[doc(hidden)]
    const ACCESS: ListAccess<Self> = ListAccess::CHECKED;

    /// Calls `f` with the idle pools of the calling thread.
    fn with_idle_pools<R>(f: impl FnOnce(&IdlePools<Self>) -> R) -> R;

    /// Calls `f` with the calling thread's [`IdlePoolsCloser`], unless this closer has already run.
    fn with_closer(f: impl FnOnce(&IdlePoolsCloser<Self>));

    /// Creates the context of a new pool for the calling thread.
    ///
    /// # Errors
    ///
    /// Returns the backend's error if the device cannot be opened. [`try_local`] converts this
    /// error into [`PoolError::Backend`](crate::PoolError::Backend).
    fn thread_context() -> Result<Self::Context, Self::Error>;

    /// Returns `true` if the calling thread may currently use an idle pool with this context. The
    /// default implementation always returns `true`, which is correct if threads cannot choose
    /// between several devices or streams.
    fn is_for_thread(context: &Self::Context) -> bool {
        let _ = context;
        true
    }
}
