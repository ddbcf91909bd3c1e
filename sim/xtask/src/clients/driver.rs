//! The simulated driver as a library of C functions. It provides modules, memory and launches for
//! kernels of other projects.
//!
//! Only this module contains unsafe code. Its proofs rely on three facts:
//!
//! 1. **The library is this project's own simulator**, which has just been built. The types
//!    declared here are those of `cuda.h` and of `cuda-sim`'s `abi/control.rs`.
//! 2. **The library is not closed while one of its functions is in use.** Each function is looked
//!    up for a single call.
//! 3. **Pointers are valid during the call.** Texts end with a zero byte, and output variables and
//!    buffers have the stated length. The simulator checks handles and device addresses, and copies
//!    the data that it keeps.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use libloading::{Library, Symbol};

use tasks::TaskError;

type Code = c_int;
type Handle = *mut c_void;
type Address = u64;

/// The keys of a launch's `extra` array: all parameters are passed in one buffer, and the driver
/// checks its size.
const END: *mut c_void = ptr::null_mut();
const BUFFER: *mut c_void = ptr::without_provenance_mut(1);
const BUFFER_BYTES: *mut c_void = ptr::without_provenance_mut(2);

/// The numbers that select reports in `simcuda_read` and `simcuda_forget`.
const READ_REPORTS: u32 = 0;
const FORGET_REPORTS: u32 = 1;

/// The simulator after it has been started. Its device's context is current on the thread that
/// opened it.
#[derive(Debug)]
pub(super) struct Driver {
    library: Library,
}

/// A loaded module.
#[derive(Debug)]
pub(super) struct Module<'d> {
    driver: &'d Driver,
    handle: Handle,
}

/// A kernel that belongs to a module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel<'m> {
    driver: &'m Driver,
    handle: Handle,
}

/// An allocation of device memory.
#[derive(Debug)]
pub(super) struct Buffer<'d> {
    driver: &'d Driver,
    address: Address,
    bytes: usize,
}

/// The blocks and threads of a launch, and the size of its dynamic shared memory in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
}

impl Shape {
    /// Returns a one-dimensional shape with `blocks` blocks of `threads` threads each.
    pub(super) fn row(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared: 0 }
    }
}

/// The parameters of a kernel in its layout. Each parameter is aligned to a multiple of its size.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters(Vec<u8>);

impl Parameters {
    /// Appends a parameter of 1, 2, 4 or 8 bytes.
    #[must_use]
    pub(super) fn and<const BYTES: usize>(mut self, value: [u8; BYTES]) -> Self {
        let place = self.0.len().next_multiple_of(BYTES);
        self.0.resize(place, 0);
        self.0.extend(value);
        self
    }

    /// Appends the address of a buffer.
    #[must_use]
    pub(super) fn and_buffer(self, buffer: &Buffer<'_>) -> Self {
        self.and(buffer.address.to_le_bytes())
    }
}

impl Driver {
    /// Opens the library and makes the device's context current.
    ///
    /// # Errors
    ///
    /// Fails if the library cannot be opened, or if a call fails.
    pub(super) fn open(file: &Path) -> Result<Self, TaskError> {
        // SAFETY: the library is the simulator, which has no initialisers (1).
        let driver = Self { library: unsafe { Library::new(file) }? };
        let start: Symbol<'_, unsafe extern "C" fn(c_uint) -> Code> = driver.call(c"cuInit")?;
        // SAFETY: the flags are 0, as required.
        driver.succeeded(c"cuInit", unsafe { start(0) })?;
        let name = c"cuDevicePrimaryCtxRetain";
        let retain: Symbol<'_, unsafe extern "C" fn(*mut Handle, c_int) -> Code> =
            driver.call(name)?;
        let mut context = ptr::null_mut();
        // SAFETY: the output variable outlives the call (3).
        driver.succeeded(name, unsafe { retain(&raw mut context, 0) })?;
        let name = c"cuCtxSetCurrent";
        let choose: Symbol<'_, unsafe extern "C" fn(Handle) -> Code> = driver.call(name)?;
        // SAFETY: the driver has just returned the handle.
        driver.succeeded(name, unsafe { choose(context) })?;
        Ok(driver)
    }

    /// Loads a module from PTX.
    ///
    /// # Errors
    ///
    /// If the simulator refuses the module, the error contains the unknown instruction and its
    /// line.
    pub(super) fn load(&self, ptx: &str) -> Result<Module<'_>, TaskError> {
        let name = c"cuModuleLoadData";
        let load: Symbol<'_, unsafe extern "C" fn(*mut Handle, *const c_char) -> Code> =
            self.call(name)?;
        let text = CString::new(ptx)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the output variable and the text outlive the call (3).
        self.succeeded(name, unsafe { load(&raw mut handle, text.as_ptr()) })?;
        Ok(Module { driver: self, handle })
    }

    /// Allocates device memory that contains these bytes. If there are none, the memory has one
    /// byte.
    ///
    /// # Errors
    ///
    /// Fails if the memory is exhausted.
    pub(super) fn upload(&self, bytes: &[u8]) -> Result<Buffer<'_>, TaskError> {
        let name = c"cuMemAlloc_v2";
        let allocate: Symbol<'_, unsafe extern "C" fn(*mut Address, usize) -> Code> =
            self.call(name)?;
        let mut address = 0;
        // SAFETY: the output variable outlives the call (3).
        let code = unsafe { allocate(&raw mut address, bytes.len().max(1)) };
        self.succeeded(name, code)?;
        let buffer = Buffer { driver: self, address, bytes: bytes.len() };
        if bytes.is_empty() {
            return Ok(buffer);
        }
        let name = c"cuMemcpyHtoD_v2";
        let copy: Symbol<'_, unsafe extern "C" fn(Address, *const u8, usize) -> Code> =
            self.call(name)?;
        // SAFETY: `bytes.len()` bytes can be read at the address (3).
        self.succeeded(name, unsafe { copy(address, bytes.as_ptr(), bytes.len()) })?;
        Ok(buffer)
    }

    /// Returns the reports that the simulator has made since the last call of this function.
    ///
    /// # Errors
    ///
    /// Fails if the library lacks the function for this.
    pub(super) fn reports(&self) -> Result<Vec<String>, TaskError> {
        let read: Symbol<'_, unsafe extern "C" fn(u32, *mut u8, usize) -> usize> =
            self.call(c"simcuda_read")?;
        // SAFETY: the buffer has length 0, so nothing is written to it.
        let bytes = unsafe { read(READ_REPORTS, ptr::null_mut(), 0) };
        let mut text = vec![0; bytes];
        // SAFETY: the buffer has the stated length (3).
        unsafe { read(READ_REPORTS, text.as_mut_ptr(), bytes) };
        let forget: Symbol<'_, extern "C" fn(u32) -> u32> = self.call(c"simcuda_forget")?;
        forget(FORGET_REPORTS);
        Ok(String::from_utf8(text)?.lines().map(str::to_owned).collect())
    }

    fn call<T>(&self, name: &CStr) -> Result<Symbol<'_, T>, TaskError> {
        // SAFETY: each caller passes the type that the header declares for the function (1).
        // The symbol borrows the library (2).
        Ok(unsafe { self.library.get::<T>(name.to_bytes_with_nul()) }?)
    }

    /// Converts the code of a failed call into an error that includes the reports.
    fn succeeded(&self, call: &CStr, code: Code) -> Result<(), TaskError> {
        if code == 0 {
            return Ok(());
        }
        let reports = self.reports()?.join("; ");
        Err(format!("{} returned {code}: {reports}", call.to_string_lossy()).into())
    }
}

impl Module<'_> {
    /// Returns the kernel of this name.
    ///
    /// # Errors
    ///
    /// Fails if the module has no kernel of this name.
    pub(super) fn kernel(&self, kernel: &str) -> Result<Kernel<'_>, TaskError> {
        let name = c"cuModuleGetFunction";
        let find: Symbol<'_, unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> Code> =
            self.driver.call(name)?;
        let text = CString::new(kernel)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the output variable and the text outlive the call (3).
        let code = unsafe { find(&raw mut handle, self.handle, text.as_ptr()) };
        self.driver.succeeded(name, code)?;
        Ok(Kernel { driver: self.driver, handle })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        let unload = self.driver.call::<unsafe extern "C" fn(Handle) -> Code>(c"cuModuleUnload");
        let Ok(unload) = unload else { return };
        // SAFETY: the module is live, and it is not used afterwards.
        unsafe { unload(self.handle) };
    }
}

impl Kernel<'_> {
    /// Runs the kernel and waits until it has finished.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code together with its reports, for example of a race or an
    /// access out of bounds.
    pub(super) fn run(&self, shape: Shape, parameters: &Parameters) -> Result<(), TaskError> {
        type Launch = unsafe extern "C" fn(
            Handle,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            Handle,
            *mut Handle,
            *mut Handle,
        ) -> Code;
        let name = c"cuLaunchKernel";
        let launch: Symbol<'_, Launch> = self.driver.call(name)?;
        let Parameters(mut bytes) = parameters.clone();
        let mut count = bytes.len();
        let mut extra =
            [BUFFER, bytes.as_mut_ptr().cast(), BUFFER_BYTES, (&raw mut count).cast(), END];
        let Shape { grid, block, shared } = shape;
        // SAFETY: the kernel is live.
        // `extra` ends with its end marker.
        // The buffer in it has the stated length, which the driver compares with the kernel's
        // parameters (3).
        let code = unsafe {
            launch(
                self.handle,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                ptr::null_mut(),
                ptr::null_mut(),
                extra.as_mut_ptr(),
            )
        };
        self.driver.succeeded(name, code)?;
        let name = c"cuCtxSynchronize";
        let wait: Symbol<'_, unsafe extern "C" fn() -> Code> = self.driver.call(name)?;
        // SAFETY: the call takes no arguments.
        self.driver.succeeded(name, unsafe { wait() })?;
        let reports = self.driver.reports()?;
        if reports.is_empty() { Ok(()) } else { Err(reports.join("; ").into()) }
    }
}

impl Buffer<'_> {
    /// Returns the contents of the buffer.
    ///
    /// # Errors
    ///
    /// Fails if the memory cannot be read.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, TaskError> {
        let name = c"cuMemcpyDtoH_v2";
        let copy: Symbol<'_, unsafe extern "C" fn(*mut u8, Address, usize) -> Code> =
            self.driver.call(name)?;
        let mut bytes = vec![0; self.bytes];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        // SAFETY: `self.bytes` bytes can be written at the address (3).
        let code = unsafe { copy(bytes.as_mut_ptr(), self.address, self.bytes) };
        self.driver.succeeded(name, code)?;
        Ok(bytes)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let free = self.driver.call::<unsafe extern "C" fn(Address) -> Code>(c"cuMemFree_v2");
        let Ok(free) = free else { return };
        // SAFETY: this buffer owns the memory, which is not used afterwards.
        unsafe { free(self.address) };
    }
}
