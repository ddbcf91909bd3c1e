//! Functions of a test that run right before a call of the driver. The calling thread runs them,
//! outside the lock, so that they may call the driver. A test uses them to act between two calls of
//! a program, reproducibly.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::host;
use crate::world::HostCall;

/// A function that runs once.
struct Hook {
    /// The name of the call that it precedes.
    name: String,
    /// The number of earlier calls of that name to let pass.
    left: u64,
    work: HostCall,
}

static HOOKS: Mutex<Vec<Hook>> = Mutex::new(Vec::new());
/// The number of waiting hooks. A call reads the list only if it is not 0.
static WAITING: AtomicUsize = AtomicUsize::new(0);

fn hooks() -> MutexGuard<'static, Vec<Hook>> {
    HOOKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a function for the n-th call of this name from now.
pub(super) fn add(name: String, nth: u64, work: HostCall) {
    let mut hooks = hooks();
    hooks.push(Hook { name, left: nth.saturating_sub(1), work });
    WAITING.store(hooks.len(), Ordering::Release);
}

/// Runs the hooks of a call of this name, which is about to start.
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
