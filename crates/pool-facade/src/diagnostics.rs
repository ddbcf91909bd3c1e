//! The debugging features that need the standard library: environment variables that turn debugging
//! modes on, and warnings on standard error.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use pool_core::MemoryChecks;

/// `true` if the environment was read.
static IS_READ: AtomicBool = AtomicBool::new(false);

/// Turns poisoning and fresh blocks on or off for the whole process.
///
/// - With [`poison`](MemoryChecks::poison), each acquire first overwrites its memory with 0xFF
///   bytes, which are NaN for floats. This exposes code that reads elements before writing them.
/// - With [`fresh`](MemoryChecks::fresh), each acquire allocates a new block. This lets a memory
///   checker detect pointers that outlived their scope.
///
/// The modes apply to all backends, and to pools that are created or configured after the call,
/// whether thread-local or not. Existing thread-local pools keep their modes until
/// [`trim_all`](crate::trim_all()) releases them, so call this function at the start of `main`.
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
/// `POOL_POISON=1` and `POOL_FRESH=1` turn the modes on without changing the program. They are read
/// once, when the first thread-local pool of the process is created. They do not affect a
/// [`Pool`](crate::Pool) that you create before that. Any value except the empty string and `0`
/// means on. A call of this function takes precedence.
pub fn check_memory(checks: MemoryChecks) {
    IS_READ.store(true, Ordering::Relaxed);
    checks.set_for_process();
}

/// Reads the environment, and turns on the printing of warnings. Called when a thread-local pool is
/// created.
pub(crate) fn set_up() {
    if IS_READ.load(Ordering::Relaxed) {
        return;
    }
    let checks = MemoryChecks::new().poison(is_on("POOL_POISON")).fresh(is_on("POOL_FRESH"));
    // The flag is set last: another thread that creates its first pool in the meantime reads the
    // environment itself.
    if !IS_READ.load(Ordering::Relaxed) && checks != MemoryChecks::new() {
        checks.set_for_process();
    }
    IS_READ.store(true, Ordering::Relaxed);
}

fn is_on(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Makes debug builds print the warnings about pools that never stop growing.
#[cfg(debug_assertions)]
pub(crate) fn print_warnings() {
    use std::io::Write;

    use pool_core::{WarningHook, set_warning_hook};

    static PRINT: WarningHook = |warning| {
        // If standard error is closed, the program must not panic.
        let _ = writeln!(std::io::stderr(), "pool-facade: {warning}");
    };
    set_warning_hook(&PRINT);
}
