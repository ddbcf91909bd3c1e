//! Finds the library, opens it before cudarc loads a driver, and calls its functions.
//!
//! Only this module contains unsafe code. Its proofs rely on three facts:
//!
//! 1. **The library is ours.** It is next to this program under the name that cargo gives it, or it
//!    exports the symbol that only the simulator has. It therefore exports the symbols of
//!    `cuda-sim`'s `abi/control.rs`, with the types declared here.
//! 2. **The library is never closed**, so its functions stay valid.
//! 3. **Pointers are valid during the call.** Texts end with a zero byte, and a buffer has the
//!    stated length.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::Library;

/// Why the simulator cannot be used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// None of these paths contains the library.
    NotFound(Vec<PathBuf>),
    /// The library cannot be opened, or its version is unknown.
    Refused(PathBuf, String),
    /// The process has already loaded another driver as `libcuda.so`.
    AnotherDriver,
    /// The simulator was already started in this process. Each test needs its own process.
    StartedBefore,
}

/// The calls of `cuda-sim`'s control interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls {
    reset: extern "C" fn(u64, u32, u64, u32, u32, u64) -> u32,
    background: extern "C" fn(u32) -> u32,
    fail: unsafe extern "C" fn(*const c_char, u64, u32) -> u32,
    before: unsafe extern "C" fn(*const c_char, u64, u64, u64) -> u32,
    calls: unsafe extern "C" fn(*const c_char) -> u64,
    models: unsafe extern "C" fn(*const c_char) -> u32,
    forget: extern "C" fn(u32) -> u32,
    read: unsafe extern "C" fn(u32, *mut u8, usize) -> usize,
}

/// A text that can be read from the simulator.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum Topic {
    Reports = 0,
    Leaks = 1,
    Calls = 2,
    Trace = 3,
}

/// A symbol that only the simulator exports.
const MARK: &CStr = c"simcuda_is_simulator";

impl Calls {
    /// Opens the library. A process can do this only once.
    pub(crate) fn load() -> Result<Self, LoadError> {
        static STARTED: AtomicBool = AtomicBool::new(false);
        if STARTED.swap(true, Ordering::SeqCst) {
            return Err(LoadError::StartedBefore);
        }
        let path = find()?;
        let refused =
            |error: libloading::Error| LoadError::Refused(path.clone(), error.to_string());
        // SAFETY: the library is ours (1), and it has no initialisers.
        let library = unsafe { Library::new(&path) }.map_err(refused)?;
        let calls = Self::of(library).map_err(refused)?;
        if driver_with_mark().is_some() { Ok(calls) } else { Err(LoadError::AnotherDriver) }
    }

    /// Returns the calls of the loaded driver if that driver is the simulator.
    pub(crate) fn attach() -> Option<Self> {
        Self::of(driver_with_mark()?).ok()
    }

    /// Resolves the calls of a library and leaves it open.
    fn of(library: Library) -> Result<Self, libloading::Error> {
        let library: &'static Library = Box::leak(Box::new(library));
        Ok(Self {
            reset: symbol(library, c"simcuda_reset")?,
            background: symbol(library, c"simcuda_background")?,
            fail: symbol(library, c"simcuda_fail")?,
            before: symbol(library, c"simcuda_before")?,
            calls: symbol(library, c"simcuda_calls")?,
            models: symbol(library, c"simcuda_models")?,
            forget: symbol(library, c"simcuda_forget")?,
            read: symbol(library, c"simcuda_read")?,
        })
    }

    pub(crate) fn reset(
        self,
        seed: u64,
        devices: u32,
        bytes: u64,
        driver_version: u32,
        options: u32,
        instructions: u64,
    ) -> bool {
        (self.reset)(seed, devices, bytes, driver_version, options, instructions) != 0
    }

    pub(crate) fn background(self, wanted: bool) -> bool {
        (self.background)(wanted.into()) != 0
    }

    pub(crate) fn fail(self, name: &str, nth: u64, code: u32) {
        let name = text(name);
        // SAFETY: the text is valid during the call (3).
        unsafe { (self.fail)(name.as_ptr(), nth, code) };
    }

    pub(crate) fn before(self, name: &str, nth: u64, work: Box<dyn FnOnce() + Send>) {
        let name = text(name);
        let function: extern "C" fn(*mut c_void) = run;
        let function = (function as *const ()).expose_provenance() as u64;
        // The `run` function takes ownership of the box again.
        let data = Box::into_raw(Box::new(work)).expose_provenance() as u64;
        // SAFETY: the text is valid during the call (3).
        // The function takes data of this kind, and is called once.
        unsafe { (self.before)(name.as_ptr(), nth, function, data) };
    }

    pub(crate) fn calls(self, name: &str) -> u64 {
        let name = text(name);
        // SAFETY: the text is valid during the call (3).
        unsafe { (self.calls)(name.as_ptr()) }
    }

    pub(crate) fn models(self, name: &str) -> bool {
        let name = text(name);
        // SAFETY: the text is valid during the call (3).
        unsafe { (self.models)(name.as_ptr()) != 0 }
    }

    pub(crate) fn forget(self, topics: u32) {
        (self.forget)(topics);
    }

    pub(crate) fn read(self, topic: Topic) -> Vec<String> {
        let mut bytes = Vec::new();
        loop {
            // SAFETY: the buffer has the stated length (3).
            let all = unsafe { (self.read)(topic as u32, bytes.as_mut_ptr(), bytes.len()) };
            // The text may have changed its length since the last call.
            if all <= bytes.len() {
                bytes.truncate(all);
                break;
            }
            bytes.resize(all, 0);
        }
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }
}

/// Runs the closure that was passed to `Calls::before`.
extern "C" fn run(data: *mut c_void) {
    // SAFETY: `Calls::before` leaked this box for this call, which happens once.
    let work = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
    work();
}

/// Converts the name of a call. A name that contains a zero byte matches no call.
fn text(name: &str) -> CString {
    CString::new(name).unwrap_or_else(|_| c"?".to_owned())
}

fn symbol<T: Copy>(library: &'static Library, name: &CStr) -> Result<T, libloading::Error> {
    // SAFETY: the library declares this type for this name (1).
    // The library stays open (2).
    unsafe { library.get::<T>(name.to_bytes_with_nul()) }.map(|symbol| *symbol)
}

/// Returns the library to which `libcuda.so` currently resolves, if that library is the simulator.
fn driver_with_mark() -> Option<Library> {
    // SAFETY: cudarc loads the same name. A library other than ours is an installed driver.
    let driver = unsafe { Library::new("libcuda.so") }.ok()?;
    // SAFETY: any symbol may be read as a pointer that is never dereferenced.
    let has_mark = unsafe { driver.get::<*const u8>(MARK.to_bytes_with_nul()) }.is_ok();
    has_mark.then_some(driver)
}

fn find() -> Result<PathBuf, LoadError> {
    let name = format!("{}cuda_sim{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let program = std::env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("."));
    let above = beside.parent().unwrap_or(Path::new("."));
    // Test programs are in `deps` together with the library. Other programs are in the directory
    // above, and examples are in a directory next to `deps`.
    let directories = [beside.to_owned(), beside.join("deps"), above.join("deps")];
    let places: Vec<PathBuf> = directories.iter().map(|directory| directory.join(&name)).collect();
    places.iter().find(|place| place.is_file()).cloned().ok_or(LoadError::NotFound(places))
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(places) => {
                let places: Vec<String> =
                    places.iter().map(|place| place.display().to_string()).collect();
                write!(formatter, "the simulated driver is not at {}", places.join(" or "))
            }
            Self::Refused(path, why) => write!(formatter, "{}: {why}", path.display()),
            Self::AnotherDriver => formatter.write_str(
                "libcuda.so is another driver in this process: start the simulator before the \
                 first call of cudarc",
            ),
            Self::StartedBefore => formatter.write_str(
                "the simulator was started earlier in this process: run each test in its own \
                 process, as cargo xtask sim-test does",
            ),
        }
    }
}

impl std::error::Error for LoadError {}
