//! What debug builds say of a pool that has handed out very many slots, where the feature `tracing` does not.

use std::sync::atomic::{AtomicBool, Ordering};

use super::LocalPool;
use super::held::Held;

static WARNS: AtomicBool = AtomicBool::new(true);

/// Whether debug builds say on stderr that a pool of a thread has handed out
/// [`WARNING_SLOTS`](crate::PoolConfig::WARNING_SLOTS) slots at once; they do, unless this turns it off.
///
/// That many slots are nearly always a loop without a scope of its own: each of its passes takes new slots, and the pool
/// grows. It is said when the guard goes, or the block of [`with_pool!`](crate::with_pool), and once a pool. In release
/// builds nothing is said; with the feature `tracing` the pool itself warns, when it happens.
pub fn warn_of_many_slots(on: bool) {
    WARNS.store(on, Ordering::Relaxed);
}

/// Watches the slots of a pool while a guard holds it. Has no size where there is nothing to say.
#[derive(Debug)]
pub(super) struct SlotWatch {
    #[cfg(all(debug_assertions, not(feature = "tracing")))]
    slots_before: usize,
}

impl SlotWatch {
    /// Begins to watch.
    #[inline(always)]
    pub(super) fn begin<B: LocalPool>(pool: &Held<B>) -> Self {
        let _ = pool;
        Self {
            #[cfg(all(debug_assertions, not(feature = "tracing")))]
            slots_before: pool.stats().high_water_slots,
        }
    }

    /// Says so where the pool has handed out very many slots for the first time since then.
    #[inline(always)]
    pub(super) fn end<B: LocalPool>(&self, pool: &Held<B>) {
        let _ = pool;
        #[cfg(all(debug_assertions, not(feature = "tracing")))]
        if WARNS.load(Ordering::Relaxed) {
            warn_once(self.slots_before, &pool.stats());
        }
    }
}

#[cfg(all(debug_assertions, not(feature = "tracing")))]
fn warn_once(slots_before: usize, stats: &pool_core::PoolStats) {
    use std::io::Write;

    let most = pool_core::PoolConfig::WARNING_SLOTS;
    if slots_before >= most || stats.high_water_slots < most {
        return;
    }
    // A closed stderr is no reason to panic.
    let _ = writeln!(
        std::io::stderr(),
        "pool-facade: the pool {:?} of this thread has handed out {} slots at once and holds {} bytes: is a scope \
         missing around a loop body? In a callback that has its scope by `&`, open one by `with_pool!`. (Debug builds \
         say this once a pool; `pool_facade::warn_of_many_slots(false)` turns it off.)",
        stats.name,
        stats.high_water_slots,
        stats.reserved_bytes,
    );
}
