//! The dynamic loader and the end of the process: all unsafe code of this crate.
//!
//! What its proofs rely on:
//!
//! 1. **The library is ours.** [`image`](crate::image) has made it: it has no code, so nothing runs when it is loaded, and
//!    its symbols are functions that are linked into this program, which is never unloaded.
//! 2. **A function of the C library is given what its page asks for.**

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::error::StartError;

/// The names by which programs look for a driver: cudarc by the first, NVIDIA's own programs by the second.
pub(crate) const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// A call by which the simulator gives itself away.
const MARK: &CStr = c"simcuda_is_simulator";

/// Whether the process has a library of this name that is not the simulator.
///
/// A library that is only installed, and not loaded, is none.
pub(crate) fn is_another_driver(name: &str) -> bool {
    // SAFETY: nothing is loaded that is not there already.
    let found = unsafe { Library::open(Some(name), RTLD_NOW | libc::RTLD_NOLOAD) };
    found.is_ok_and(|library| mark(&library).is_none())
}

/// Has the dynamic loader answer with this library from now on, wherever one of its name is asked for.
///
/// # Errors
///
/// When no file in memory can be made, and when the loader refuses.
pub(crate) fn load(
    name: &'static str,
    image: &[u8],
    mark_address: usize,
) -> Result<(), StartError> {
    let file = file_in_memory(image).map_err(StartError::File)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let refused =
        |why: &dyn ToString| StartError::Loader { library: name, why: why.to_string().into() };
    // SAFETY: the library is ours, and nothing runs when it is loaded (1).
    let library = unsafe { Library::open(Some(OsStr::new(&path)), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| refused(&error))?;
    // An older loader would take the value of an absolute symbol for an offset.
    if mark(&library) != Some(mark_address) {
        return Err(refused(&"it does not know absolute symbols, which glibc does since 2.28"));
    }
    std::mem::forget(library);
    // What is asked for by name is what is loaded.
    if is_another_driver(name) {
        return Err(StartError::AnotherDriver { library: name });
    }
    Ok(())
}

/// The address of the call by which the simulator gives itself away.
fn mark(library: &Library) -> Option<usize> {
    // SAFETY: any symbol may be read as a pointer that is never followed.
    let symbol = unsafe { library.get::<*const c_void>(MARK.to_bytes_with_nul()) };
    symbol.ok().map(|symbol| (*symbol).addr())
}

fn file_in_memory(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: the name ends with a zero, and the flag is one that there is (2).
    let descriptor = unsafe { libc::memfd_create(c"libcuda.so".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else has it.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all(bytes)?;
    Ok(file)
}

unsafe extern "C" {
    /// Of the GNU C library: as `atexit`, and tells the function how the process ends.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Has a function called when the process ends by itself, with the code that it ends with; false where that cannot be.
pub(crate) fn at_exit(function: extern "C" fn(c_int, *mut c_void)) -> bool {
    // SAFETY: the function is one of this program, which is never unloaded, and heeds no argument (2).
    unsafe { on_exit(function, std::ptr::null_mut()) == 0 }
}

/// Ends the process at once, with this code.
pub(crate) fn end(code: c_int) -> ! {
    // SAFETY: it is called by the function that was given to `at_exit`, behind which nothing of this crate runs (2).
    unsafe { libc::_exit(code) }
}

/// Has the simulator started before `main` where the environment asks for it, in every program that names this crate.
// SAFETY: the section holds functions that are called before `main`, without arguments that are needed. What this one
// does works there: the C library is initialised, and so is the standard library, which needs no initialisation.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    crate::start::before_main();
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use libloading::os::unix::{Library, RTLD_NOW};

    use super::{file_in_memory, is_another_driver};
    use crate::error::StartError;
    use crate::image::image;

    #[test]
    fn a_driver_that_the_process_has_already_is_not_replaced() {
        let file = file_in_memory(&image("libcuda.so.1", &[("cuInit", 16)]).unwrap()).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: it has no code, and nobody calls what it names.
        let driver = unsafe { Library::open(Some(path), RTLD_NOW) }.unwrap();
        assert!(is_another_driver("libcuda.so.1") && !is_another_driver("libcuda.so"));
        let refused = crate::try_start().unwrap_err();
        assert!(
            matches!(refused, StartError::AnotherDriver { library: "libcuda.so.1" }),
            "{refused}"
        );
        assert!(refused.to_string().contains("libcuda.so.1"), "{refused}");
        assert!(crate::running().is_none());
        driver.close().unwrap();
        assert!(!is_another_driver("libcuda.so.1"));
        crate::start().assert_clean();
    }
}
