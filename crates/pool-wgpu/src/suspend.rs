//! Lets browser tests wait, even though code in a browser must not block the event loop.
//!
//! The browser tests are built with `--cfg pool_browser_tests`. During these tests, JavaScript
//! Promise Integration lets the page suspend the WebAssembly stack until the event loop has run.
//! Tests that block on other platforms can therefore also block in a browser.

/// Lets the event loop run once and returns `true`. If the event loop cannot run, this function
/// returns `false`.
#[cfg(not(pool_browser_tests))]
pub(crate) fn run_event_loop() -> bool {
    false
}

#[cfg(pool_browser_tests)]
mod in_tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    // SAFETY: the page's `suspend.js` file defines this function without parameters and without a
    // return value.
    #[link(wasm_import_module = "pool_suspend")]
    unsafe extern "C" {
        /// Suspends the stack until the event loop has run.
        safe fn suspend();
    }

    thread_local! {
        static IS_REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Lets the event loop run once and returns `true`. This function returns `false` inside
    /// [`refused`].
    pub fn run_event_loop() -> bool {
        if IS_REFUSED.get() {
            return false;
        }
        suspend();
        true
    }

    /// Runs code that blocks the event loop, just as a user's program might.
    pub fn refused<R>(code: impl FnOnce() -> R) -> R {
        IS_REFUSED.set(true);
        let answer = code();
        IS_REFUSED.set(false);
        answer
    }

    /// Waits for a future to complete while the event loop runs.
    pub fn wait<T>(future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => suspend(),
            }
        }
    }
}

#[cfg(pool_browser_tests)]
pub use in_tests::{refused, run_event_loop, wait};
