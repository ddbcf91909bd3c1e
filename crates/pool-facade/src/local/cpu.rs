//! The thread-local pools of `Cpu`.

use pool_cpu::{Cpu, CpuError};

use super::{IdlePools, IdlePoolsCloser, ListAccess, LocalPool};

thread_local! {
    static IDLE: IdlePools<Cpu> = const { IdlePools::new() };
    static CLOSER: IdlePoolsCloser<Cpu> = const { IdlePoolsCloser::new() };
}

impl LocalPool for Cpu {
    // SAFETY: `with_idle_pools` below has one thread-local.
    const ACCESS: ListAccess<Self> = unsafe { ListAccess::direct() };

    #[inline]
    fn with_idle_pools<R>(f: impl FnOnce(&IdlePools<Self>) -> R) -> R {
        IDLE.with(f)
    }

    fn with_closer(f: impl FnOnce(&IdlePoolsCloser<Self>)) {
        // Where the closer has already run there is nothing left to do.
        let _ = CLOSER.try_with(f);
    }

    fn thread_context() -> Result<(), CpuError> {
        Ok(())
    }
}
