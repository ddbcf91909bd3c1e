//! Defines thread-local pools, the requirements for a backend, the list of idle pools, and the
//! guard that owns a pool.
//!
//! For each backend, a thread's list of idle pools is a `const` thread-local variable without a
//! destructor. A thread can therefore use its list at any time, even while the thread is ending.
//! Another thread-local variable has a destructor that closes the list when the thread ends. Pools
//! returned after the list has been closed are dropped. The list for `Cpu` consists of entries that
//! contain the pools. A registry contains the entries of all threads, so each thread can release
//! the idle pools of the others. An entry in use retains its link to the next entry. In nested
//! `with_pool!` blocks, this link is still valid when the entry is returned. Returning the entry to
//! the list therefore takes only a single store.
//!
//! The list of idle pools also refers to the innermost pool in use. When a thread starts to use a
//! stack, the stack borrows memory from the innermost pool in use. The stack returns this memory
//! when it becomes idle again (see `stack/nesting.rs` in `pool_core`). The code for borrowing
//! memory is not compiled for backends that use slots.

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

/// A backend that provides thread-local pools. [`with_pool!`](crate::with_pool) and [`local()`]
/// require this trait.
///
/// The marker types of all enabled backends implement this trait. A backend in another crate
/// implements this trait with the [`local_pools!`](crate::local_pools) macro, which requires no
/// `unsafe` code. The trait's functions use types whose methods are private to this crate.
/// Backends and code that is generic over `B: LocalPool` therefore cannot access another backend's
/// idle pools.
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
    /// Determines how a thread removes pools from its list and returns them.
    #[doc(hidden)]
    const ACCESS: ListAccess<Self> = ListAccess::CHECKED;

    /// Calls `f` with the calling thread's idle pools.
    fn with_idle_pools<R>(f: impl FnOnce(&IdlePools<Self>) -> R) -> R;

    /// Calls `f` with the calling thread's [`IdlePoolsCloser`], unless the closer has already run.
    fn with_closer(f: impl FnOnce(&IdlePoolsCloser<Self>));

    /// Creates a context for the calling thread's new pool.
    ///
    /// # Errors
    ///
    /// Returns the backend's error if the device cannot be opened. [`try_local`] converts this
    /// error into [`PoolError::Backend`](crate::PoolError::Backend).
    fn thread_context() -> Result<Self::Context, Self::Error>;

    /// Returns `true` if the calling thread may currently use an idle pool with this context. The
    /// default implementation always returns `true`. A backend must override this method only if
    /// its threads can choose between devices or streams.
    fn is_for_thread(context: &Self::Context) -> bool {
        let _ = context;
        true
    }
}
