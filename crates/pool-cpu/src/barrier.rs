//! A barrier on all threads: the expensive half of an asymmetric fence. The other half costs
//! nothing.

use core::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const READY: u8 = 1;
const MISSING: u8 = 2;

/// The state of the process's registration for the barrier.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Executes a full memory barrier on each thread of the process. Returns `true` if it did, and
/// `false` if the system has no such call or refuses it.
///
/// While the call runs, there is a moment in the program of each other thread with the following
/// property. Writes of the thread before that moment are visible to the caller after the call.
/// Writes of the caller before the call are visible to the thread after that moment. The other
/// threads execute no instruction for the barrier.
///
/// On Linux 4.14 and later, this is
/// [`membarrier(2)`](https://man7.org/linux/man-pages/man2/membarrier.2.html), which takes a few
/// microseconds. On other systems and under Miri, there is no such call.
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
    /// `MEMBARRIER_CMD_PRIVATE_EXPEDITED` of `linux/membarrier.h`. The `libc` version in a
    /// dependent's lock file may lack this constant.
    pub(super) const BARRIER: libc::c_int = 1 << 3;
    /// `MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED`, from the same header.
    pub(super) const REGISTER: libc::c_int = 1 << 4;

    pub(super) fn call(command: libc::c_int) -> bool {
        let flags: libc::c_uint = 0;
        let processor: libc::c_int = 0;
        // SAFETY: the call receives no pointer, and changes no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, flags, processor) == 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    //! A replacement for systems without such a call.

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
