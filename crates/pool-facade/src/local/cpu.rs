//! The thread-local pools of `Cpu` and of `Stacked<Cpu>`, and the registries of all threads that
//! use such pools.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pool_core::Stacked;
use pool_core::thread_list::ThreadLists;
use pool_cpu::Cpu;

use super::ListAccess;

static LISTS: Mutex<ThreadLists<Cpu>> = Mutex::new(ThreadLists::new());

/// Locks the registry. Nothing is allocated, freed or called back while the lock is held.
pub(crate) fn lists() -> MutexGuard<'static, ThreadLists<Cpu>> {
    LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

crate::local_pools!(@ Cpu, || Ok(()), {
    const ACCESS: ListAccess<Self> = ListAccess::shared(lists);
});

static STACK_LISTS: Mutex<ThreadLists<Stacked<Cpu>>> = Mutex::new(ThreadLists::new());

/// Does the same as [`lists`], for the registry of stacked pools.
pub(crate) fn stack_lists() -> MutexGuard<'static, ThreadLists<Stacked<Cpu>>> {
    STACK_LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

crate::local_pools!(@ Stacked<Cpu>, || Ok(()), {
    const ACCESS: ListAccess<Self> = ListAccess::shared(stack_lists);
});
