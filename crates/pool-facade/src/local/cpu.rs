//! The thread-local pools of `Cpu` and of `Stacked<Cpu>`.

use pool_core::Stacked;
use pool_cpu::Cpu;

use super::ListAccess;

crate::local_pools!(@ Cpu, || Ok(()), {
    // SAFETY: `local_pools!` keeps one thread-local, of which `with_idle_pools` answers.
    const ACCESS: ListAccess<Self> = unsafe { ListAccess::direct() };
});

crate::local_pools!(@ Stacked<Cpu>, || Ok(()), {
    // SAFETY: `local_pools!` keeps one thread-local, which `with_idle_pools` passes on.
    const ACCESS: ListAccess<Self> = unsafe { ListAccess::direct() };
});
