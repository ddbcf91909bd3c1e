//! Shared code of several modules: a new thread, access to the pools of a thread, and a way to
//! forget a value that leak checkers accept.

#[cfg(not(target_arch = "wasm32"))]
use std::panic::resume_unwind;
use std::sync::atomic::AtomicPtr;
use std::sync::{Mutex, PoisonError};

use pool_facade::LocalGuard;
use pool_facade::prelude::*;

/// Runs the body on a thread that has no pools yet. In a browser each test has an instance of WebAssembly of its own.
#[cfg(target_arch = "wasm32")]
pub(crate) fn on_fresh_thread<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// Runs the body on a thread that has no pools yet.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn on_fresh_thread<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|threads| {
        threads.spawn(body).join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Returns the number of idle pools of this thread; one is made if there is none.
pub(crate) fn idle_pools() -> usize {
    local::<Cpu>().stats().pools
}

/// Gives this thread `count` idle pools, each with a block.
pub(crate) fn make_idle(count: usize) {
    let mut guards: Vec<_> = (0..count).map(|_| local::<Cpu>()).collect();
    for guard in &mut guards {
        first_block(guard);
    }
}

/// Returns the address of the first slot's block of a guard's pool, which identifies the pool.
pub(crate) fn first_block(guard: &mut LocalGuard<Cpu>) -> usize {
    guard.scope().acquire::<u64, _>(16).as_ptr().addr()
}

/// The blocks of the thread's idle pools, in the order in which they would be taken.
pub(crate) fn blocks_in_order() -> Vec<usize> {
    let mut guards: Vec<_> = (0..idle_pools()).map(|_| local::<Cpu>()).collect();
    let blocks = guards.iter_mut().map(first_block).collect();
    while guards.pop().is_some() {}
    blocks
}

/// References to forgotten values.
static FORGOTTEN: Mutex<Vec<AtomicPtr<()>>> = Mutex::new(Vec::new());

/// Forgets a value, as `std::mem::forget` does, but on the heap, where a static refers to it. It is
/// never dropped, and no leak checker reports it.
pub(crate) fn forget<T: 'static>(value: T) {
    let _: &'static mut T = leak(value);
}

/// Does the same as [`forget`], but the value stays usable.
pub(crate) fn leak<T: 'static>(value: T) -> &'static mut T {
    let leaked = Box::leak(Box::new(value));
    let address = AtomicPtr::new(std::ptr::from_mut(leaked).cast());
    FORGOTTEN.lock().unwrap_or_else(PoisonError::into_inner).push(address);
    leaked
}
