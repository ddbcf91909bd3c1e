//! Defines the warnings that debug builds emit if a pool never stops growing. This crate cannot
//! print to standard error, so it calls a hook that `pool-facade` sets.

use core::fmt;
use core::panic::Location;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A warning about a pool that is probably used without opening scopes.
///
/// The `Display` implementation prints the warning as text. The `location` field identifies the
/// call that last made the pool grow. The location is `None` if the pool grew in a fallible
/// (`try_`) method.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PoolWarning {
    /// The pool has handed out [`PoolConfig::REPORTED_SLOTS`](crate::PoolConfig::REPORTED_SLOTS)
    /// slots at the same time.
    #[non_exhaustive]
    ManySlots {
        /// The name of the pool.
        pool: &'static str,
        /// The number of slots that are currently handed out.
        slots: usize,
        /// The total size of the pool's blocks in bytes.
        reserved_bytes: usize,
        /// The location of the call that acquired the last slot.
        location: Option<&'static Location<'static>>,
    },
    /// The stack has allocated memory in each of
    /// [`PoolConfig::REPORTED_PASSES`](crate::PoolConfig::REPORTED_PASSES) consecutive passes.
    #[non_exhaustive]
    GrowingStack {
        /// The name of the pool.
        pool: &'static str,
        /// The number of consecutive passes in which the stack grew.
        passes: usize,
        /// The total size of the pool's chunks in bytes.
        reserved_bytes: usize,
        /// The location of the call that last made the stack allocate memory.
        location: Option<&'static Location<'static>>,
    },
}

impl fmt::Display for PoolWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ManySlots { pool, slots, reserved_bytes, location } => {
                write!(
                    f,
                    "the pool {pool:?} has {slots} slots in use at once and holds {reserved_bytes} \
                     bytes"
                )?;
                if let Some(location) = location {
                    write!(f, "; the last slot was acquired at {location}")?;
                }
            }
            Self::GrowingStack { pool, passes, reserved_bytes, location } => {
                write!(
                    f,
                    "the stack {pool:?} has grown in each of the last {passes} passes and holds \
                     {reserved_bytes} bytes"
                )?;
                if let Some(location) = location {
                    write!(f, "; the stack last grew at {location}")?;
                }
            }
        }
        f.write_str(
            ". Is a scope missing around a loop body? In a callback that receives its scope by \
             `&`, open another scope with `with_pool!`. `PoolConfig::warnings(false)` disables \
             this warning of debug builds.",
        )
    }
}

/// The type of a function that receives warnings from all pools.
pub type WarningHook = fn(&PoolWarning);

static HOOK: AtomicPtr<WarningHook> = AtomicPtr::new(null_mut());

/// Sets the function that receives warnings from all pools. Release builds never call the hook.
///
/// The hook runs during an acquire. While the hook runs, the pool rejects acquires with
/// [`PoolError::Reentered`](crate::PoolError::Reentered).
pub fn set_warning_hook(hook: &'static WarningHook) {
    HOOK.store(core::ptr::from_ref(hook).cast_mut(), Ordering::Release);
}

#[cfg(debug_assertions)]
pub(crate) fn report(warning: &PoolWarning) {
    // SAFETY: `set_warning_hook` stores only references that are valid forever, so the pointer is
    // either null or valid.
    if let Some(hook) = unsafe { HOOK.load(Ordering::Acquire).as_ref() } {
        hook(warning);
    }
}
