//! The CPU time of this thread. Time spent in other threads is not included, even if they belong to
//! a driver that computes on the CPU.

use std::time::Duration;

/// Returns the CPU time that the thread has used so far.
#[cfg(unix)]
pub(crate) fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: every thread has this clock, and `time` has room for the result.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(answer, 0, "every thread has this clock");
    // Both fields are at least zero, because the clock starts at zero.
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the wall-clock time, on systems for which the standard library and wgpu offer nothing
/// better.
#[cfg(not(unix))]
pub(crate) fn processor_time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
