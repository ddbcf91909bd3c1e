//! The system's allocator under a rule of the thread: at the n-th call from now on it calls a hook,
//! or refuses.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// The action at the n-th call, counted from 0.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// A hook is run, once, at an allocation or a free.
    Hook { nth: usize, hook: fn() },
    /// An allocation is refused, once or from then on.
    Refuse { nth: usize, for_good: bool },
}

thread_local! {
    static RULE: Cell<Option<Rule>> = const { Cell::new(None) };
    /// `true` once the n-th call was made.
    static CAME: Cell<bool> = const { Cell::new(false) };
}

/// Runs a closure under a rule. Also returns `true` if its n-th call was made.
pub(crate) fn with_rule<R>(rule: Rule, run: impl FnOnce() -> R) -> (R, bool) {
    CAME.set(false);
    RULE.set(Some(rule));
    let answer = run();
    RULE.set(None);
    (answer, CAME.get())
}

/// Runs a closure without a rule.
pub(crate) fn without_rule<R>(run: impl FnOnce() -> R) -> R {
    let rule = RULE.take();
    let answer = run();
    RULE.set(rule);
    answer
}

struct Ruled;

#[global_allocator]
static RULED: Ruled = Ruled;

// SAFETY: the system's allocator, or null for a refusal. The hook does not unwind into the caller:
// its assertions panic and end the test's process.
unsafe impl GlobalAlloc for Ruled {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if one_more(true) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        one_more(false);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }
}

/// Counts a call. Returns `true` if it is an allocation to be refused.
fn one_more(is_allocation: bool) -> bool {
    match RULE.get() {
        Some(Rule::Hook { nth: 0, hook }) => {
            RULE.set(None);
            CAME.set(true);
            if std::panic::catch_unwind(hook).is_err() {
                std::process::abort();
            }
            false
        }
        Some(Rule::Hook { nth, hook }) => {
            RULE.set(Some(Rule::Hook { nth: nth - 1, hook }));
            false
        }
        Some(Rule::Refuse { nth: 0, for_good }) if is_allocation => {
            if !for_good {
                RULE.set(None);
            }
            CAME.set(true);
            true
        }
        Some(Rule::Refuse { nth, for_good }) if is_allocation => {
            RULE.set(Some(Rule::Refuse { nth: nth - 1, for_good }));
            false
        }
        _ => false,
    }
}
