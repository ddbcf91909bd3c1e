//! Defines the thread-local pools of `Cpu` and `Stacked<Cpu>`, with one registry for each backend.
//! A registry lists all threads that use the backend's pools.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pool_core::Stacked;
use pool_core::thread_list::ThreadLists;
use pool_cpu::Cpu;

use super::ListAccess;

static LISTS: Mutex<ThreadLists<Cpu>> = Mutex::new(ThreadLists::new());

/// Locks the registry of threads that use `Cpu` pools. While the lock is held, the caller must not
/// allocate memory, free memory, or call user code.
pub(crate) fn lists() -> MutexGuard<'static, ThreadLists<Cpu>> {
    LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

crate::local_pools!(@ Cpu, || Ok(()), {
    const ACCESS: ListAccess<Self> = ListAccess::shared(lists);
});

static STACK_LISTS: Mutex<ThreadLists<Stacked<Cpu>>> = Mutex::new(ThreadLists::new());

/// Locks the registry of threads that use `Stacked<Cpu>` pools. The requirements of [`lists`]
/// apply.
pub(crate) fn stack_lists() -> MutexGuard<'static, ThreadLists<Stacked<Cpu>>> {
    STACK_LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

crate::local_pools!(@ Stacked<Cpu>, || Ok(()), {
    const ACCESS: ListAccess<Self> = ListAccess::shared(stack_lists);
});
