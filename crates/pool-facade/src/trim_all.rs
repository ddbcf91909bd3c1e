//! Control over the pools of all threads: releasing idle pools, and adding up statistics.

use pool_core::{PoolStats, ReleaseReport};

#[cfg(feature = "cpu")]
use crate::local::cpu::{lists, stack_lists};
use crate::local::requests::OF_DEVICES;

/// Releases the memory of the idle pools of every thread, and returns a report of the memory
/// released.
///
/// A pool is idle while no guard of [`local()`](crate::local()) and no block of
/// [`with_pool!`](crate::with_pool) uses it. Its thread may sleep, wait on a condition variable
/// like the workers of rayon, or compute something else: no code runs on that thread. Pools in use
/// keep their memory, and so do pools that you own ([`Pool`](crate::Pool)). After a release, the
/// next acquire of each slot allocates.
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
/// | pools | released |
/// |---|---|
/// | idle pools of [`Cpu`](crate::Cpu) and `Stacked<Cpu>` | before this call returns |
/// | pools of `Cpu` that their thread takes during the call | by the next call, or when the thread ends |
/// | pools of `Cpu`, on systems other than Linux | on the calling thread, before this call returns; on another thread, when that thread next takes a pool, at a cost of a few instructions |
/// | pools of `Cpu`, if Linux refuses `membarrier` | on the calling thread, before this call returns; on another thread, when that thread next calls `stats` or `configure` on a guard, or returns pools out of order |
/// | pools of `Cuda`, `Stacked<Cuda>` and `Wgpu`, on the calling thread | before this call returns |
/// | pools of `Cuda`, `Wgpu` and backends of other crates, on another thread | when that thread next takes a pool of the backend |
///
/// The report includes only memory that was released before the call returned.
///
/// # Cost on the hot path
///
/// An acquire costs nothing extra. A thread takes and returns its pools without a lock, a fence or
/// an atomic read-modify-write. Opening a thread-local scope costs at most one more instruction,
/// because it loads the address of the pool instead of copying it. `trim_all` itself pays the
/// price: `membarrier` makes each running thread execute a barrier, which takes a few microseconds.
/// `pool_core::thread_list` describes the protocol and proves it correct.
///
/// The call needs memory for a new, empty table (about 4 KiB) for each pool that it releases. If
/// the host has no such memory, the call releases only the idle pools of the calling thread.
///
/// The function may be called from anywhere: inside a scope, from an allocator's hook, or from the
/// destructor of a thread-local.
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

/// Returns the combined statistics of all thread-local pools of [`Cpu`](crate::Cpu) and
/// `Stacked<Cpu>`, including pools of other threads and pools in use.
///
/// Other threads may use their pools during the call: each number is a value that its pool had at
/// some moment during the call. The number of slots handed out now and the peaks of live bytes are
/// not included. Pools that a thread creates while it is ending are not counted.
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
    //! The pools of `Cpu` and of `Stacked<Cpu>`.

    use pool_core::reserve::list;
    use pool_core::{Pool, PoolStats, ReleaseReport};
    use std::sync::MutexGuard;

    use pool_core::thread_list::ThreadLists;
    use pool_cpu::barrier_on_all_threads;

    use crate::LocalPool;
    use crate::local::idle_pools;
    use crate::local::requests::OF_HOST;

    /// The number of times that a call starts again, because it found more idle pools than before
    /// or because threads took some of them during the call.
    const ROUNDS: usize = 4;

    /// Locks the registry of a backend.
    type Lock<B> = fn() -> MutexGuard<'static, ThreadLists<B>>;

    pub(super) fn release<B: LocalPool<Context = ()>>(lists: Lock<B>) -> ReleaseReport {
        // The first call runs without pools, and shows whether the system supports the barrier.
        if !barrier_on_all_threads() {
            OF_HOST.ask();
            return idle_pools::trim::<B>();
        }
        let mut released = ReleaseReport::default();
        for _ in 0..ROUNDS {
            // SAFETY: the barrier is supported, hence this is Linux. On Linux, a registered list is
            // in thread-local memory that stays valid until its thread has removed its record.
            let idle = unsafe { lists().count_idle() };
            if idle == 0 {
                break;
            }
            let (Ok(mut spares), Ok(mut old)) = (list(idle), list(2 * idle)) else { break };
            spares.extend((0..idle).map_while(|_| Pool::with_config((), Default::default()).ok()));
            if spares.is_empty() {
                break;
            }
            // SAFETY: as above. In addition, the barrier runs on all threads of the process.
            let complete =
                unsafe { lists().release(&mut spares, &mut old, barrier_on_all_threads) };
            // The pools are dropped after the registry is unlocked, because foreign code that the
            // allocator calls may use the registry.
            for mut pool in old {
                released = released.plus(pool.trim());
            }
            if complete {
                return released;
            }
        }
        // If there was no memory for new pools, the pools of this thread are emptied without being
        // replaced.
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
