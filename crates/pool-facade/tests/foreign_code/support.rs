//! Values that live for ever, like those that safe code can reach from anywhere.

use std::sync::atomic::AtomicPtr;
use std::sync::{Mutex, PoisonError};

use pool_facade::prelude::*;

/// References to leaked values, so that no leak checker reports them.
static LEAKED: Mutex<Vec<AtomicPtr<()>>> = Mutex::new(Vec::new());

/// Leaks a value.
pub(crate) fn leak<T: 'static>(value: T) -> &'static mut T {
    let leaked = Box::leak(Box::new(value));
    let address = AtomicPtr::new(std::ptr::from_mut(leaked).cast());
    LEAKED.lock().unwrap_or_else(PoisonError::into_inner).push(address);
    leaked
}

/// A pool that lives for ever.
pub(crate) fn endless_pool(config: PoolConfig) -> &'static mut Pool<Cpu> {
    leak(Pool::with_config((), config).expect("a pool"))
}

/// A scope that lives for ever.
pub(crate) fn endless_scope(pool: &'static mut Pool<Cpu>) -> &'static Scope<'static, Cpu> {
    leak(pool.scope())
}

/// The slots of one table of a pool, as the growth of its bookkeeping shows.
pub(crate) fn slots_per_table() -> usize {
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    let one_table = scope.stats().bookkeeping_bytes;
    while scope.stats().bookkeeping_bytes == one_table {
        scope.acquire::<u8, _>(0);
    }
    scope.active_slots() - 1
}
