//! The warning of debug builds that a pool has handed out very many slots at once. This crate has no standard error to
//! print it to, so it calls a hook, which `pool-facade` sets.

use core::fmt;
use core::panic::Location;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A pool has handed out [`PoolConfig::REPORTED_SLOTS`](crate::PoolConfig::REPORTED_SLOTS) slots at once.
///
/// Its `Display` is the text for people.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SlotWarning {
    /// The pool's name.
    pub pool: &'static str,
    /// Slots that are handed out.
    pub slots: usize,
    /// Bytes that the pool's blocks hold.
    pub reserved_bytes: usize,
    /// The call that acquired the last of them; `None` for a method that returns errors.
    pub location: Option<&'static Location<'static>>,
}

impl fmt::Display for SlotWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, slots, reserved_bytes, location } = self;
        write!(
            f,
            "the pool {pool:?} has handed out {slots} slots at once and holds {reserved_bytes} bytes"
        )?;
        if let Some(location) = location {
            write!(f, ", the last one at {location}")?;
        }
        f.write_str(
            ". Is a scope missing around a loop body? In a callback that has its scope by `&`, open one by \
             `with_pool!`. `PoolConfig::warnings(false)` disables this warning of debug builds.",
        )
    }
}

/// Receives the warnings.
pub type SlotWarningHook = fn(&SlotWarning);

static HOOK: AtomicPtr<SlotWarningHook> = AtomicPtr::new(null_mut());

/// Sets the hook that receives the warnings of all pools. Release builds never call it.
///
/// It runs inside an acquire. The pool refuses acquires meanwhile, with
/// [`PoolError::Reentered`](crate::PoolError::Reentered).
pub fn set_slot_warning_hook(hook: &'static SlotWarningHook) {
    HOOK.store(core::ptr::from_ref(hook).cast_mut(), Ordering::Release);
}

/// Calls the hook, if there is one.
#[cfg(debug_assertions)]
pub(crate) fn report(warning: &SlotWarning) {
    // SAFETY: null, or a reference that lives for ever (`set_slot_warning_hook`).
    if let Some(hook) = unsafe { HOOK.load(Ordering::Acquire).as_ref() } {
        hook(warning);
    }
}
