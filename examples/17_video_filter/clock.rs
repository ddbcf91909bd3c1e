//! The time that this thread has run on a processor. Other threads do not count, including those of
//! a driver that computes on the processor.

use std::time::Duration;

/// The thread's time so far.
#[cfg(unix)]
pub(crate) fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: every thread has this clock, and `time` has room for the result.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(answer, 0, "every thread has this clock");
    // Both are at least zero: seconds, and the rest, of a time that begins at zero.
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the wall time, on systems for which the standard library and wgpu have nothing better.
#[cfg(not(unix))]
pub(crate) fn processor_time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
