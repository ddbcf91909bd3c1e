//! Provides debugging features that require the standard library. Environment variables enable the
//! debugging modes. Warnings are printed to standard error.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use pool_core::MemoryChecks;

/// `true` once the environment variables have been read.
static IS_READ: AtomicBool = AtomicBool::new(false);

/// Enables or disables poisoning and fresh blocks for the whole process.
///
/// - With [`poison`](MemoryChecks::poison), each acquire method first overwrites the acquired
///   memory with 0xFF bytes. A float made up of 0xFF bytes is a NaN. Poisoned memory exposes code
///   that reads elements before writing them.
/// - With [`fresh`](MemoryChecks::fresh), each acquire method allocates a new block. With fresh
///   blocks, a memory checker can detect uses of a pointer after its scope has ended.
///
/// The debugging modes apply to all backends and to every pool created or reconfigured after the
/// call. Poisoning and fresh blocks also work for pools that are not thread-local. Call this
/// function at the start of `main`, because existing thread-local pools retain their modes until
/// [`trim_all`](crate::trim_all()) releases them.
///
/// ```
/// # #[cfg(feature = "cpu")] {
/// use pool_facade::prelude::*;
/// use pool_facade::{MemoryChecks, check_memory};
///
/// check_memory(MemoryChecks::new().poison(true));
/// with_pool!(|scope| {
///     assert!(scope.acquire::<f32, _>(10).iter().all(|number| number.is_nan()));
/// });
/// # }
/// ```
///
/// # Environment variables
///
/// The `POOL_POISON=1` and `POOL_FRESH=1` environment variables enable these modes without any
/// change to the program. The program reads these variables once, when it creates its first
/// thread-local pool. The variables do not affect a [`Pool`](crate::Pool) created earlier. Any
/// value except `0` and the empty string enables the mode. A call to this function takes precedence
/// over the environment variables.
pub fn check_memory(checks: MemoryChecks) {
    IS_READ.store(true, Ordering::Relaxed);
    checks.set_for_process();
}

/// Reads the environment variables and enables the debugging modes that they select. The crate
/// calls `set_up` each time it creates a thread-local pool.
pub(crate) fn set_up() {
    if IS_READ.load(Ordering::Relaxed) {
        return;
    }
    let checks = MemoryChecks::new().poison(is_on("POOL_POISON")).fresh(is_on("POOL_FRESH"));
    // The flag is set last, so that another thread that creates its first pool during this call
    // reads the environment variables too.
    if !IS_READ.load(Ordering::Relaxed) && checks != MemoryChecks::new() {
        checks.set_for_process();
    }
    IS_READ.store(true, Ordering::Relaxed);
}

fn is_on(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Makes debug builds print a warning if a pool never stops growing.
#[cfg(debug_assertions)]
pub(crate) fn print_warnings() {
    use std::io::Write;

    use pool_core::{WarningHook, set_warning_hook};

    static PRINT: WarningHook = |warning| {
        // Errors are ignored, because the program must not panic if standard error has been closed.
        let _ = writeln!(std::io::stderr(), "pool-facade: {warning}");
    };
    set_warning_hook(&PRINT);
}
