//! The dynamic loader and the end of the process: all unsafe code of this crate.
//!
//! The proofs rely on two facts:
//!
//! 1. **The library is ours.** [`image`](crate::image) has made it. It has no code, so nothing runs
//!    when it is loaded. Its symbols are functions linked into this program, which is never
//!    unloaded.
//! 2. **A call of the C library gets the arguments that its manual page requires.**

use std::ffi::{CStr, CString, c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::ptr::NonNull;

use libc::{RTLD_LOCAL, RTLD_NOLOAD, RTLD_NOW};

use crate::error::StartError;

/// The names of a driver: cudarc uses the first, NVIDIA's programs use the second.
pub(crate) const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// A call that identifies the simulator.
const MARK: &CStr = c"simcuda_is_simulator";

/// A loaded library; the value keeps it loaded.
#[derive(Debug)]
struct Library(NonNull<c_void>);

impl Library {
    /// Opens the library that the dynamic loader finds by this name or path.
    ///
    /// # Safety
    ///
    /// Code that runs when the library is loaded or unloaded must be sound to run here.
    unsafe fn open(name: &str, flags: c_int) -> Option<Self> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name ends with a zero byte and the flags are valid (2); the caller promises
        // the rest.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        NonNull::new(handle).map(Self)
    }

    /// Returns the address of the call that identifies the simulator.
    fn mark(&self) -> Option<usize> {
        // SAFETY: the handle is one of `dlopen` that was not closed, and the name ends with a zero
        // byte (2).
        let symbol = unsafe { libc::dlsym(self.0.as_ptr(), MARK.as_ptr()) };
        NonNull::new(symbol).map(|symbol| symbol.addr().get())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle is one of `dlopen`, and is closed once (2); code that runs then is
        // sound (`Library::open`).
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// Returns the dynamic loader's message for its last failed call on this thread.
fn complaint() -> String {
    // SAFETY: it takes no arguments (2).
    let text = NonNull::new(unsafe { libc::dlerror() });
    // SAFETY: a text that is not null ends with a zero byte, and is valid until the next call of
    // the loader (2).
    let text = text.map(|text| unsafe { CStr::from_ptr(text.as_ptr()) });
    text.map_or_else(|| "it gives no reason".to_owned(), |text| text.to_string_lossy().into_owned())
}

/// Returns `true` if the process has loaded a library of this name that is not the simulator.
///
/// An installed library that is not loaded does not count.
pub(crate) fn is_another_driver(name: &str) -> bool {
    // SAFETY: only an already loaded library is opened.
    let found = unsafe { Library::open(name, RTLD_NOW | RTLD_NOLOAD) };
    found.is_some_and(|library| library.mark().is_none())
}

/// Makes the dynamic loader return this library from now on for its name.
///
/// # Errors
///
/// Fails if a file in memory cannot be created, and if the loader refuses.
pub(crate) fn load(name: &'static str, image: &[u8], mark: usize) -> Result<(), StartError> {
    let file = file_in_memory(image).map_err(StartError::File)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the library is ours, and nothing runs when it is loaded (1).
    let library = unsafe { Library::open(&path, RTLD_NOW | RTLD_LOCAL) };
    let library = library.ok_or_else(|| StartError::Loader { library: name, why: complaint() })?;
    // An older loader would treat the value of an absolute symbol as an offset.
    if library.mark() != Some(mark) {
        let why = "it does not support absolute symbols; glibc does since 2.28".to_owned();
        return Err(StartError::Loader { library: name, why });
    }
    std::mem::forget(library);
    // The loader identifies libraries by their paths, too. As long as the file is open, no other
    // has its path.
    let _descriptor = file.into_raw_fd();
    // SAFETY: only an already loaded library is opened.
    let found = unsafe { Library::open(name, RTLD_NOW | RTLD_NOLOAD) };
    let found = found.ok_or_else(|| StartError::Loader { library: name, why: complaint() })?;
    if found.mark() != Some(mark) {
        return Err(StartError::AnotherDriver { library: name });
    }
    Ok(())
}

fn file_in_memory(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: the name ends with a zero byte, and the flag is valid (2).
    let descriptor = unsafe { libc::memfd_create(c"libcuda.so".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and no other code owns it.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all(bytes)?;
    Ok(file)
}

unsafe extern "C" {
    /// Registers an exit function. It is the GNU C library's `atexit` that also passes the exit
    /// code.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Registers a function for the end of the process, which gets the exit code. Returns `false` if
/// that fails.
pub(crate) fn at_exit(function: extern "C" fn(c_int, *mut c_void)) -> bool {
    // SAFETY: the function is one of this program, which is never unloaded, and reads no argument
    // (2).
    unsafe { on_exit(function, std::ptr::null_mut()) == 0 }
}

/// Ends the process at once, with this code.
pub(crate) fn end(code: c_int) -> ! {
    // SAFETY: the function registered by `at_exit` calls it, after which no code of this crate runs
    // (2).
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::{Library, RTLD_NOW, file_in_memory, is_another_driver};
    use crate::error::StartError;
    use crate::image::image;

    #[test]
    fn a_driver_that_the_process_has_already_is_not_replaced() {
        let file = file_in_memory(&image("libcuda.so.1", &[("cuInit", 16)]).unwrap()).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: it has no code, and its symbols are not called.
        let driver = unsafe { Library::open(&path, RTLD_NOW) }.unwrap();
        assert!(is_another_driver("libcuda.so.1") && !is_another_driver("libcuda.so"));
        let refused = crate::try_start().unwrap_err();
        assert!(
            matches!(refused, StartError::AnotherDriver { library: "libcuda.so.1" }),
            "{refused}"
        );
        assert!(refused.to_string().contains("libcuda.so.1"), "{refused}");
        assert!(crate::running().is_none());
        drop(driver);
        assert!(!is_another_driver("libcuda.so.1"));
        crate::start().assert_clean();
    }
}
