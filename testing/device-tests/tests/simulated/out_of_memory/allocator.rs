//! The system allocator, except that it refuses the n-th allocation of a thread, or all allocations
//! from the n-th on. It does not refuse cudarc's allocations or the documented exceptions, which it
//! recognises by the caller on the stack.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::ptr;

/// Callers whose allocations are not refused. They include allocations of the standard library's
/// `Arc`, which abort on failure; the documentation of the affected calls names them.
const EXCEPTED: [&str; 4] = [
    "cudarc::",
    "pool_cuda::stream::device::",
    "pool_cuda::stream::device_stream::DeviceStream::build",
    "staging_pool::ReturnBox::counted",
];

/// The other callers.
const OURS: [&str; 4] = ["pool_cuda::", "pool_core::", "pool_graph::", "out_of_memory::"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) left: usize,
    pub(crate) for_good: bool,
    pub(crate) refused: usize,
    pub(crate) excepted: usize,
}

thread_local! {
    static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
}

/// Runs a closure that runs out of memory, either at the n-th allocation only or from the n-th
/// allocation on. Returns the refused layout.
pub(crate) fn without_memory<R>(nth: usize, for_good: bool, run: impl FnOnce() -> R) -> (R, Plan) {
    PLAN.set(Some(Plan { left: nth, for_good, refused: 0, excepted: 0 }));
    let answer = run();
    (answer, PLAN.take().unwrap())
}

/// Runs a closure of the test itself, for which memory is available.
pub(crate) fn with_memory<R>(run: impl FnOnce() -> R) -> R {
    let plan = PLAN.take();
    let answer = run();
    PLAN.set(plan);
    answer
}

struct Refusing;

#[global_allocator]
static REFUSING: Refusing = Refusing;

// SAFETY: every call goes to the system allocator, or returns null.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused() {
            return ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) };
    }
}

fn is_refused() -> bool {
    let Some(mut plan) = PLAN.take() else { return false };
    let is_due = plan.left == 0 && (plan.for_good || plan.refused == 0);
    let is_refused = is_due && !is_excepted();
    plan.excepted += usize::from(is_due && !is_refused);
    plan.refused += usize::from(is_refused);
    plan.left = plan.left.saturating_sub(1);
    PLAN.set(Some(plan));
    is_refused
}

/// Returns `true` if the innermost caller that can be recognised is an exception.
fn is_excepted() -> bool {
    let stack = Backtrace::force_capture().to_string();
    let frames = stack.lines().filter(|line| !line.contains("allocator::"));
    let known = |line: &&str| EXCEPTED.iter().chain(&OURS).any(|name| line.contains(name));
    let innermost = frames.filter(|line| !line.trim_start().starts_with("at ")).find(known);
    innermost.is_some_and(|line| EXCEPTED.iter().any(|name| line.contains(name)))
}
