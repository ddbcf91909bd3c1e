//! Implements a memory barrier that runs on all threads. The barrier is the expensive side of an
//! asymmetric fence. In an asymmetric fence, the cheap side executes no instructions.

use core::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const READY: u8 = 1;
const MISSING: u8 = 2;

/// The state of this process's registration for the barrier.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Executes a full memory barrier on each thread of the process. Returns `true` if the barrier was
/// executed, or `false` if the system does not support the barrier or refuses to execute it.
///
/// The barrier takes effect on every other thread at some point during the call. Once the call has
/// returned, the caller sees everything that another thread wrote before the barrier took effect on
/// that thread. After the barrier has taken effect on another thread, that thread sees all writes
/// that the caller made before the call. The other threads execute no instructions for the barrier.
///
/// On Linux 4.14 and later, the barrier is the
/// [`membarrier(2)`](https://man7.org/linux/man-pages/man2/membarrier.2.html) system call, which
/// takes a few microseconds. Under Miri and on systems other than Linux, this function always
/// returns `false`.
#[must_use]
pub fn barrier_on_all_threads() -> bool {
    if STATE.load(Ordering::Relaxed) == MISSING {
        return false;
    }
    if STATE.load(Ordering::Relaxed) == UNKNOWN {
        let registered = system::call(system::REGISTER);
        STATE.store(if registered { READY } else { MISSING }, Ordering::Relaxed);
        if !registered {
            return false;
        }
    }
    system::call(system::BARRIER)
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    /// The `MEMBARRIER_CMD_PRIVATE_EXPEDITED` constant from `linux/membarrier.h`. The constant is
    /// defined here because the user's lock file may select a `libc` version that lacks it.
    pub(super) const BARRIER: libc::c_int = 1 << 3;
    /// The `MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED` constant from `linux/membarrier.h`.
    pub(super) const REGISTER: libc::c_int = 1 << 4;

    pub(super) fn call(command: libc::c_int) -> bool {
        let flags: libc::c_uint = 0;
        let processor: libc::c_int = 0;
        // SAFETY: the system call takes no pointers and does not modify any memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, flags, processor) == 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    //! A replacement for the system call on systems that do not provide it.

    pub(super) const BARRIER: i32 = 0;
    pub(super) const REGISTER: i32 = 0;

    pub(super) const fn call(_: i32) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::barrier_on_all_threads;

    #[test]
    fn the_barrier_is_there_on_linux_alone() {
        let first = barrier_on_all_threads();
        assert_eq!(barrier_on_all_threads(), first);
        assert!(!first || cfg!(all(target_os = "linux", not(miri))));
    }
}
