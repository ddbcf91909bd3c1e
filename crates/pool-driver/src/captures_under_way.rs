//! The captures of this process's sessions, and the waits for a whole context, which would
//! invalidate them.
//!
//! `cuCtxSynchronize` fails while any stream of the context is captured, and invalidates that
//! capture, in every capture mode. So a pool waits for a context only while no session captures. A
//! session that begins meanwhile waits for the end of that wait. Captures that are made by hand are
//! not known here: the driver reports only one stream at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The numbers of captures under way and of threads that wait for a context. No foreign code runs
/// under its lock.
static UNDER_WAY: Mutex<UnderWay> = Mutex::new(UnderWay { captures: 0, waits: 0 });

/// Notifies sessions that a wait for a context is over.
static WAIT_OVER: Condvar = Condvar::new();

struct UnderWay {
    captures: usize,
    waits: usize,
}

fn under_way() -> MutexGuard<'static, UnderWay> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A capture of a session, until it is dropped. No pool waits for a whole context meanwhile.
#[derive(Debug)]
#[must_use = "a pool may wait for a whole context as soon as this is dropped"]
pub struct CaptureUnderWay(());

impl CaptureUnderWay {
    /// Begins a capture, after the waits for a context that are under way.
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

/// Returns `true` if a session of this process captures.
#[must_use]
pub fn is_capture_under_way() -> bool {
    under_way().captures > 0
}

/// A wait for a whole context, until it is dropped. No session begins a capture meanwhile.
#[derive(Debug)]
pub(crate) struct ContextWait(());

impl ContextWait {
    /// Begins a wait; `None` if a session captures.
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
