//! Coordinates session captures with waits for all work in a context, because such a wait would
//! invalidate any capture in that context.
//!
//! In every capture mode, `cuCtxSynchronize` fails and invalidates the capture if any stream in the
//! context is being captured. A pool can wait for all work in a context only while no session is
//! capturing. If a session tries to begin a capture while a pool is waiting for a context's work,
//! the session blocks until the wait has ended. This module cannot detect captures started outside
//! a session, because the driver reports the capture status only for a given stream.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The number of captures in progress, and the number of threads that are waiting for a context's
/// work. No user code can run while the lock is held.
static UNDER_WAY: Mutex<UnderWay> = Mutex::new(UnderWay { captures: 0, waits: 0 });

/// Notifies sessions that a wait for a context's work has ended.
static WAIT_OVER: Condvar = Condvar::new();

struct UnderWay {
    captures: usize,
    waits: usize,
}

fn under_way() -> MutexGuard<'static, UnderWay> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Represents a session's capture. While this value exists, no pool can wait for all work in a
/// context.
#[derive(Debug)]
#[must_use = "a pool may wait for a whole context as soon as this is dropped"]
pub struct CaptureUnderWay(());

impl CaptureUnderWay {
    /// Begins a capture after all current waits for a context's work have ended.
    pub fn begin() -> Self {
        let mut under_way = under_way();
        while under_way.waits > 0 {
            under_way = WAIT_OVER.wait(under_way).unwrap_or_else(PoisonError::into_inner);
        }
        under_way.captures += 1;
        Self(())
    }
}

impl Drop for CaptureUnderWay {
    fn drop(&mut self) {
        under_way().captures -= 1;
    }
}

/// Returns `true` if any session in this process is capturing.
#[must_use]
pub fn is_capture_under_way() -> bool {
    under_way().captures > 0
}

/// Represents a wait for all work in a context. While this value exists, no session can begin a
/// capture.
#[derive(Debug)]
pub(crate) struct ContextWait(());

impl ContextWait {
    /// Begins waiting for all work in a context, or returns `None` if a session is capturing.
    pub(crate) fn begin() -> Option<Self> {
        let mut under_way = under_way();
        if under_way.captures > 0 {
            return None;
        }
        under_way.waits += 1;
        Some(Self(()))
    }
}

impl Drop for ContextWait {
    fn drop(&mut self) {
        under_way().waits -= 1;
        WAIT_OVER.notify_all();
    }
}
