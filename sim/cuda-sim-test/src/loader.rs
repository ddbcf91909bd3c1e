//! The dynamic loader and the end of the process. This module contains all unsafe code of the
//! crate.
//!
//! The proofs rely on two facts:
//!
//! 1. **The library is ours.** [`image`](crate::image) has generated it. It contains no code, so
//!    nothing runs when it is loaded. Its symbols are functions linked into this program, which is
//!    never unloaded.
//! 2. **Each call of the C library receives the arguments that its manual page requires.**

use std::ffi::{CStr, CString, c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::ptr::NonNull;

use libc::{RTLD_LOCAL, RTLD_NOLOAD, RTLD_NOW};

use crate::error::StartError;

/// The names of the driver. cudarc uses the first name, and NVIDIA's programs use the second.
pub(crate) const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// The call that identifies the simulator.
const MARK: &CStr = c"simcuda_is_simulator";

/// A loaded library. It stays loaded as long as this value exists.
#[derive(Debug)]
struct Library(NonNull<c_void>);

impl Library {
    /// Opens the library that the dynamic loader finds under this name or path.
    ///
    /// # Safety
    ///
    /// Any code that runs when the library is loaded or unloaded must be sound to run at this
    /// point.
    unsafe fn open(name: &str, flags: c_int) -> Option<Self> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name ends with a zero byte, and the flags are valid (2).
        // The caller promises the rest.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        NonNull::new(handle).map(Self)
    }

    /// Returns the address of the call that identifies the simulator.
    fn mark(&self) -> Option<usize> {
        // SAFETY: `dlopen` returned the handle, which has not been closed (2).
        // The name ends with a zero byte (2).
        let symbol = unsafe { libc::dlsym(self.0.as_ptr(), MARK.as_ptr()) };
        NonNull::new(symbol).map(|symbol| symbol.addr().get())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: `dlopen` returned the handle, which is closed once (2).
        // The code that runs during the close is sound to run (`Library::open`).
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// Returns the dynamic loader's message about its last failed call on this thread.
fn complaint() -> String {
    // SAFETY: the call takes no arguments (2).
    let text = NonNull::new(unsafe { libc::dlerror() });
    // SAFETY: a text that is not null ends with a zero byte.
    // The text is valid until the next call of the loader (2).
    let text = text.map(|text| unsafe { CStr::from_ptr(text.as_ptr()) });
    text.map_or_else(|| "no reason is given".to_owned(), |text| text.to_string_lossy().into_owned())
}

/// Returns `true` if the process has loaded a library of this name that is not the simulator.
///
/// An installed library that is not loaded does not count.
pub(crate) fn is_another_driver(name: &str) -> bool {
    // SAFETY: the call only opens a library that is already loaded.
    let found = unsafe { Library::open(name, RTLD_NOW | RTLD_NOLOAD) };
    found.is_some_and(|library| library.mark().is_none())
}

/// Makes the dynamic loader return this library for the library's name from now on.
///
/// # Errors
///
/// Fails if the file in memory cannot be created, or if the loader refuses the library.
pub(crate) fn load(name: &'static str, image: &[u8], mark: usize) -> Result<(), StartError> {
    let file = file_in_memory(image).map_err(StartError::File)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the library is ours, and nothing runs when it is loaded (1).
    let library = unsafe { Library::open(&path, RTLD_NOW | RTLD_LOCAL) };
    let library = library.ok_or_else(|| StartError::Loader { library: name, why: complaint() })?;
    // An older loader treats the value of an absolute symbol as an offset.
    if library.mark() != Some(mark) {
        let why =
            "it does not support absolute symbols, which glibc supports since 2.28".to_owned();
        return Err(StartError::Loader { library: name, why });
    }
    std::mem::forget(library);
    // The loader also identifies libraries by their paths. While the file is open, no other file
    // has its path.
    let _descriptor = file.into_raw_fd();
    // SAFETY: the call only opens a library that is already loaded.
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
    // SAFETY: the descriptor has just been created, and no other code owns it.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all(bytes)?;
    Ok(file)
}

unsafe extern "C" {
    /// Registers an exit function. Unlike `atexit`, the GNU C library's `on_exit` also passes the
    /// exit code.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Registers a function that runs at the end of the process and receives the exit code. Returns
/// `false` if the registration fails.
pub(crate) fn at_exit(function: extern "C" fn(c_int, *mut c_void)) -> bool {
    // SAFETY: the function belongs to this program, which is never unloaded.
    // The function does not read its second argument (2).
    unsafe { on_exit(function, std::ptr::null_mut()) == 0 }
}

/// Ends the process immediately with this code.
pub(crate) fn end(code: c_int) -> ! {
    // SAFETY: the function registered by `at_exit` calls this function, and no code of this crate
    // runs afterwards (2).
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
        // SAFETY: the library contains no code, and its symbols are not called.
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
