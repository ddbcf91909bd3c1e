//! What a test wants done right before a call: by the thread that makes the call, outside of the lock, so
//! that it may call the driver itself. It is how something comes in between two calls of a program, at the
//! same place every time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::host;
use crate::world::HostCall;

/// Something to be done once.
struct Hook {
    /// Before which call.
    name: String,
    /// How many of these come first.
    left: u64,
    work: HostCall,
}

static HOOKS: Mutex<Vec<Hook>> = Mutex::new(Vec::new());
/// How many there are: a call looks at the list where there is one.
static WAITING: AtomicUsize = AtomicUsize::new(0);

fn hooks() -> MutexGuard<'static, Vec<Hook>> {
    HOOKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has work done before the n-th call of this name from now.
pub(super) fn add(name: String, nth: u64, work: HostCall) {
    let mut hooks = hooks();
    hooks.push(Hook { name, left: nth.saturating_sub(1), work });
    WAITING.store(hooks.len(), Ordering::Release);
}

/// A call of this name is about to be made.
pub(super) fn before(name: &str) {
    if WAITING.load(Ordering::Acquire) == 0 {
        return;
    }
    let mut due = Vec::new();
    {
        let mut hooks = hooks();
        hooks.retain_mut(|hook| {
            let is_due = hook.name == name && hook.left == 0;
            if is_due {
                due.push(hook.work);
            } else if hook.name == name {
                hook.left -= 1;
            }
            !is_due
        });
        WAITING.store(hooks.len(), Ordering::Release);
    }
    due.into_iter().for_each(host::call);
}
