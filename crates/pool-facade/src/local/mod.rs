//! The pools of a thread: the requirements on a backend, the list of idle pools, and the guard that
//! takes a pool.
//!
//! The list of a thread and backend is a `const` thread-local without a destructor, so it can be
//! used at any time. A second thread-local with a destructor closes the list when the thread ends;
//! pools that are returned later are dropped. The pools of `Cpu` are stored in entries. A registry
//! of all threads contains these entries, so that other threads can release them. If the list is
//! unchanged when an entry is returned, as in nested blocks, the entry still links to the entry
//! below it, and one store puts it back.
//!
//! The list also links to the innermost pool in use. A stack that is taken borrows memory from that
//! pool, and returns the memory when it is put back (`pool_core`'s `stack/nesting.rs`). For slots,
//! none of this is compiled.

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

/// A backend that keeps pools for each thread. It is the bound of [`with_pool!`](crate::with_pool)
/// and [`local()`].
///
/// The markers whose feature is enabled implement this trait. A backend of another crate implements
/// it with [`local_pools!`](crate::local_pools), which generates the implementation without
/// `unsafe`. The types that its functions pass have no methods for other crates. The idle pools of
/// one backend are therefore out of reach of another backend's implementation, and of code that is
/// generic over `B: LocalPool`.
///
/// A manual implementation that keeps several lists for a thread is harmless, but reuses fewer
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
    /// The mode in which pools are taken from the list and returned to it.
    #[doc(hidden)]
    const ACCESS: ListAccess<Self> = ListAccess::CHECKED;

    /// Runs `f` on the idle pools of the calling thread.
    fn with_idle_pools<R>(f: impl FnOnce(&IdlePools<Self>) -> R) -> R;

    /// Runs `f` on the closer of the calling thread's list of idle pools, unless the closer has
    /// already run.
    fn with_closer(f: impl FnOnce(&IdlePoolsCloser<Self>));

    /// Creates the context of a new pool of the calling thread.
    ///
    /// # Errors
    ///
    /// The backend's error if its device cannot be opened; [`try_local`] returns it as
    /// [`PoolError::Backend`](crate::PoolError::Backend).
    fn thread_context() -> Result<Self::Context, Self::Error>;

    /// Returns `true` if the calling thread may take an idle pool of this context now. Always
    /// `true`, unless a thread can choose between devices or streams.
    fn is_for_thread(context: &Self::Context) -> bool {
        let _ = context;
        true
    }
}
