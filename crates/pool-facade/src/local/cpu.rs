//! The thread-local pools of `Cpu`.

use pool_cpu::Cpu;

use super::ListAccess;

crate::local_pools!(@ Cpu, || Ok(()), {
    // SAFETY: `local_pools!` keeps one thread-local, of which `with_idle_pools` answers.
    const ACCESS: ListAccess<Self> = unsafe { ListAccess::direct() };
});
