//! The dynamic loader and the end of the process: all unsafe code of this crate.
//!
//! What its proofs rely on:
//!
//! 1. **The library is ours.** [`image`](crate::image) has made it: it has no code, so nothing runs when it is loaded, and
//!    its symbols are functions that are linked into this program, which is never unloaded.
//! 2. **A function of the C library is given what its page asks for.**

use std::ffi::{CStr, CString, c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::ptr::NonNull;

use libc::{RTLD_LOCAL, RTLD_NOLOAD, RTLD_NOW};

use crate::error::StartError;

/// The names by which programs look for a driver: cudarc by the first, NVIDIA's own programs by the second.
pub(crate) const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// A call by which the simulator gives itself away.
const MARK: &CStr = c"simcuda_is_simulator";

/// A library that the process has, for as long as this value lives.
#[derive(Debug)]
struct Library(NonNull<c_void>);

impl Library {
    /// Opens what the dynamic loader finds by this name or path.
    ///
    /// # Safety
    ///
    /// What runs when the library is loaded or unloaded is sound to run here.
    unsafe fn open(name: &str, flags: c_int) -> Option<Self> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name ends with a zero and the flags are some that there are (2); for the rest, the caller.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        NonNull::new(handle).map(Self)
    }

    /// The address of the call by which the simulator gives itself away.
    fn mark(&self) -> Option<usize> {
        // SAFETY: the handle is one of `dlopen` that was not closed, and the name ends with a zero (2).
        let symbol = unsafe { libc::dlsym(self.0.as_ptr(), MARK.as_ptr()) };
        NonNull::new(symbol).map(|symbol| symbol.addr().get())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle is one of `dlopen`, and is closed once (2); what may run then is sound (`Library::open`).
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// What the dynamic loader says about the last of its calls that failed on this thread.
fn complaint() -> String {
    // SAFETY: it takes nothing (2).
    let text = NonNull::new(unsafe { libc::dlerror() });
    // SAFETY: a text that is there ends with a zero, and is good until the next call of the loader (2).
    let text = text.map(|text| unsafe { CStr::from_ptr(text.as_ptr()) });
    text.map_or_else(
        || "it does not say why".to_owned(),
        |text| text.to_string_lossy().into_owned(),
    )
}

/// Whether the process has a library of this name that is not the simulator.
///
/// A library that is only installed, and not loaded, is none.
pub(crate) fn is_another_driver(name: &str) -> bool {
    // SAFETY: nothing is loaded that is not there already.
    let found = unsafe { Library::open(name, RTLD_NOW | RTLD_NOLOAD) };
    found.is_some_and(|library| library.mark().is_none())
}

/// Has the dynamic loader answer with this library from now on, wherever one of its name is asked for.
///
/// # Errors
///
/// When no file in memory can be made, and when the loader refuses.
pub(crate) fn load(name: &'static str, image: &[u8], mark: usize) -> Result<(), StartError> {
    let file = file_in_memory(image).map_err(StartError::File)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the library is ours, and nothing runs when it is loaded (1).
    let library = unsafe { Library::open(&path, RTLD_NOW | RTLD_LOCAL) };
    let library = library.ok_or_else(|| StartError::Loader { library: name, why: complaint() })?;
    // An older loader would take the value of an absolute symbol for an offset.
    if library.mark() != Some(mark) {
        let why = "it does not know absolute symbols, which glibc does since 2.28".to_owned();
        return Err(StartError::Loader { library: name, why });
    }
    std::mem::forget(library);
    // The loader knows libraries by their paths, too: as long as the file is open, no other has its path.
    let _descriptor = file.into_raw_fd();
    // SAFETY: nothing is loaded that is not there already.
    let found = unsafe { Library::open(name, RTLD_NOW | RTLD_NOLOAD) };
    let found = found.ok_or_else(|| StartError::Loader { library: name, why: complaint() })?;
    if found.mark() != Some(mark) {
        return Err(StartError::AnotherDriver { library: name });
    }
    Ok(())
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
        // SAFETY: it has no code, and nobody calls what it names.
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
