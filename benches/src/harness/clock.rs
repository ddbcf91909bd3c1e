//! Resources that the current thread has used so far: CPU time and page faults.

/// Returns the thread's CPU time in nanoseconds. Other processes affect it only through caches and
/// clock rates.
#[must_use]
pub fn thread_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live `timespec`, borrowed exclusively.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Returns the thread's minor page faults, or `None` if the system does not count them per thread.
#[must_use]
pub fn minor_faults() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: all fields are integers, for which zero is a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is live and borrowed exclusively.
        let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        if result == 0 { u64::try_from(usage.ru_minflt).ok() } else { None }
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time() {
        let before = thread_time();
        let mut sum = 0_u64;
        for number in 0..1_000_000 {
            sum = std::hint::black_box(sum + number);
        }
        assert!(thread_time() > before && sum > 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn touching_new_memory_faults() {
        let before = minor_faults().unwrap();
        let pages = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(minor_faults().unwrap() > before && pages.len() > 1);
    }
}
