//! Provides functions that release all threads' idle pools or add up the statistics of all pools.

use pool_core::{PoolStats, ReleaseReport};

#[cfg(feature = "cpu")]
use crate::local::cpu::{lists, stack_lists};
use crate::local::requests::OF_DEVICES;

/// Releases the memory of every thread's idle pools and returns a report on the released memory.
///
/// A pool is idle while no guard from [`local()`](crate::local()) and no
/// [`with_pool!`](crate::with_pool) block uses it. `trim_all` does not need to run any code on the
/// thread that owns an idle pool. The owning thread might be sleeping, waiting for work in rayon,
/// or computing something else. Pools that are in use retain their memory. Every
/// [`Pool`](crate::Pool) that you own also retains its memory. After a pool has been released, each
/// of its slots allocates new memory on its next use.
///
/// ```
/// # #[cfg(feature = "cpu")] {
/// use pool_facade::prelude::*;
/// use pool_facade::{stats_all, trim_all};
///
/// let sums: Vec<f64> = std::thread::scope(|threads| {
///     let worker = threads.spawn(|| {
///         let sum = with_pool!(|scope| scope.acquire_filled(1 << 16, 0.5_f64).iter().sum());
///         std::thread::park(); // idle: its pool has half a mebibyte
///         sum
///     });
///     while stats_all().reserved_bytes < 8 << 16 {
///         std::thread::yield_now();
///     }
///     trim_all();
///     worker.thread().unpark();
///     worker.join().into_iter().collect()
/// });
/// assert_eq!(sums, [32768.0]);
/// trim_all();
/// assert_eq!(stats_all().reserved_bytes, 0);
/// # }
/// ```
///
/// # When each thread's memory is released
///
/// | pools | time of release |
/// |---|---|
/// | idle pools of [`Cpu`](crate::Cpu) and `Stacked<Cpu>` | before this call returns |
/// | pools of `Cpu` that their thread starts to use during the call | during the next call, or when the thread ends |
/// | pools of `Cpu`, on systems other than Linux | on the calling thread, before this call returns; on another thread, when that thread next acquires a pool, at a cost of a few instructions |
/// | pools of `Cpu`, if Linux refuses `membarrier` | on the calling thread, before this call returns; on another thread, when that thread next calls `stats` or `configure` on a guard, or returns pools out of order |
/// | pools of `Cuda`, `Stacked<Cuda>` and `Wgpu`, on the calling thread | before this call returns |
/// | pools of `Cuda`, `Wgpu` and backends of other crates, on another thread | when that thread next acquires a pool of the same backend |
///
/// The report includes only memory that was released before the function returned.
///
/// # Cost on the hot path
///
/// Supporting `trim_all` does not make acquiring memory more expensive. A thread needs no lock,
/// fence, or atomic read-modify-write operation to acquire and return its pools. Opening a
/// thread-local scope costs at most one additional instruction, because the code loads the pool's
/// address instead of copying it. Each call to `trim_all` takes a few additional microseconds,
/// because `membarrier` makes each running thread execute a barrier. The documentation of
/// `pool_core::thread_list` describes the protocol and proves that it is correct.
///
/// `trim_all` allocates a new, empty table of about 4 KiB for each pool that it releases. If the
/// host cannot allocate these tables, `trim_all` releases only the calling thread's idle pools.
///
/// The function may be called from anywhere, including a scope, an allocator hook, or the
/// destructor of a thread-local variable.
pub fn trim_all() -> ReleaseReport {
    OF_DEVICES.ask();
    #[cfg_attr(
        not(any(feature = "cpu", feature = "cuda", feature = "wgpu")),
        expect(unused_mut, reason = "there are no pools then")
    )]
    let mut released = ReleaseReport::default();
    #[cfg(feature = "cpu")]
    {
        released = released.plus(host::release(lists));
        released = released.plus(host::release(stack_lists));
    }
    #[cfg(feature = "cuda")]
    {
        released = released.plus(crate::local::idle_pools::trim::<crate::Cuda>());
        let stacked = crate::local::idle_pools::trim::<pool_core::Stacked<crate::Cuda>>();
        released = released.plus(stacked);
    }
    #[cfg(feature = "wgpu")]
    {
        released = released.plus(crate::local::idle_pools::trim::<crate::Wgpu>());
    }
    released
}

/// Returns the combined statistics of all thread-local [`Cpu`](crate::Cpu) and `Stacked<Cpu>`
/// pools, including pools in use and pools of other threads.
///
/// Other threads may use their pools during the call, so the statistics might reflect slightly
/// different times. The statistics do not include the number of acquired slots or the peak live
/// bytes. Pools that a thread creates while the thread is ending are not counted.
#[must_use]
pub fn stats_all() -> PoolStats {
    #[cfg(feature = "cpu")]
    let stats = host::stats(lists, "all threads").plus(&host::stats(stack_lists, "all threads"));
    #[cfg(not(feature = "cpu"))]
    let stats = PoolStats::none("all threads", pool_core::Device { kind: "cpu", ordinal: None });
    stats
}

#[cfg(feature = "cpu")]
mod host {
    //! Releases the idle pools of `Cpu` and `Stacked<Cpu>` and collects the statistics of all pools
    //! of these backends.

    use pool_core::reserve::list;
    use pool_core::{Pool, PoolStats, ReleaseReport};
    use std::sync::MutexGuard;

    use pool_core::thread_list::ThreadLists;
    use pool_cpu::barrier_on_all_threads;

    use crate::LocalPool;
    use crate::local::idle_pools;
    use crate::local::requests::OF_HOST;

    /// The maximum number of attempts to release all idle pools. One attempt might not be enough,
    /// because other threads might create or acquire pools in the meantime.
    const ROUNDS: usize = 4;

    /// The type of a function that locks a backend's registry.
    type Lock<B> = fn() -> MutexGuard<'static, ThreadLists<B>>;

    pub(super) fn release<B: LocalPool<Context = ()>>(lists: Lock<B>) -> ReleaseReport {
        // The first barrier runs before any pool is accessed. The result of this barrier shows
        // whether the system supports barriers on all threads.
        if !barrier_on_all_threads() {
            OF_HOST.ask();
            return idle_pools::trim::<B>();
        }
        let mut released = ReleaseReport::default();
        for _ in 0..ROUNDS {
            // SAFETY: this system supports the barrier, which is available only on Linux. On Linux,
            // a registered list is in thread-local memory that stays valid until its thread has
            // removed its record.
            let idle = unsafe { lists().count_idle() };
            if idle == 0 {
                break;
            }
            let (Ok(mut spares), Ok(mut old)) = (list(idle), list(2 * idle)) else { break };
            spares.extend((0..idle).map_while(|_| Pool::with_config((), Default::default()).ok()));
            if spares.is_empty() {
                break;
            }
            // SAFETY: the system is Linux, so every registered list stays valid until its thread
            // has removed its record. The barrier passed to `release` runs on all threads of the
            // process.
            let complete =
                unsafe { lists().release(&mut spares, &mut old, barrier_on_all_threads) };
            // The registry is unlocked before the pools are dropped, because the allocator might
            // call user code that uses the registry.
            for mut pool in old {
                released = released.plus(pool.trim());
            }
            if complete {
                return released;
            }
        }
        // If the host could not allocate new pools, this thread's idle pools retain their tables
        // and free only their blocks.
        released.plus(idle_pools::trim::<B>())
    }

    pub(super) fn stats<B: LocalPool<Context = ()>>(
        lists: Lock<B>,
        name: &'static str,
    ) -> PoolStats {
        let none = PoolStats::none(name, B::device(&()));
        lists().stats(none)
    }
}
