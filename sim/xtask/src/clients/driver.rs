//! The simulated driver as a library of C functions: modules, memory and launches, as far as kernels of others need
//! them.
//!
//! This module alone is unsafe. What its proofs rely on:
//!
//! 1. **The library is this project's own simulator**, built a moment ago; the types here are those of `cuda.h` and of
//!    `cuda-sim`'s `abi/control.rs`.
//! 2. **It is never closed while a function of it is used**: functions are taken from it for one call.
//! 3. **Pointers are good for the call**: texts end with a zero, and places and buffers are as long as is said. The
//!    simulator checks handles and device addresses itself, and copies what it keeps.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use libloading::{Library, Symbol};

use tasks::TaskError;

type Code = c_int;
type Handle = *mut c_void;
type Address = u64;

/// The keys of a launch's `extra`: all parameters in one buffer, whose size the driver compares.
const END: *mut c_void = ptr::null_mut();
const BUFFER: *mut c_void = ptr::without_provenance_mut(1);
const BUFFER_BYTES: *mut c_void = ptr::without_provenance_mut(2);

/// What `simcuda_read` and `simcuda_forget` call the reports.
const READ_REPORTS: u32 = 0;
const FORGET_REPORTS: u32 = 1;

/// The simulator, started, with the context of its device current on the thread that has opened it.
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

/// A kernel of a module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel<'m> {
    driver: &'m Driver,
    handle: Handle,
}

/// Memory of the device.
#[derive(Debug)]
pub(super) struct Buffer<'d> {
    driver: &'d Driver,
    address: Address,
    bytes: usize,
}

/// How many blocks and threads run a kernel, and with how many bytes of dynamic shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
}

impl Shape {
    /// So many blocks in a row, of so many threads in a row.
    pub(super) fn row(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared: 0 }
    }
}

/// The parameters of a kernel as it reads them: each at a multiple of its size.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters(Vec<u8>);

impl Parameters {
    /// With one more, of 1, 2, 4 or 8 bytes.
    #[must_use]
    pub(super) fn and<const BYTES: usize>(mut self, value: [u8; BYTES]) -> Self {
        let place = self.0.len().next_multiple_of(BYTES);
        self.0.resize(place, 0);
        self.0.extend(value);
        self
    }

    /// With the address of memory.
    #[must_use]
    pub(super) fn and_buffer(self, buffer: &Buffer<'_>) -> Self {
        self.and(buffer.address.to_le_bytes())
    }
}

impl Driver {
    /// Opens the library and makes the context of its device current.
    ///
    /// # Errors
    ///
    /// When it cannot be opened, or a call fails.
    pub(super) fn open(file: &Path) -> Result<Self, TaskError> {
        // SAFETY: the library is the simulator, which has no initialisers (1).
        let driver = Self { library: unsafe { Library::new(file) }? };
        let start: Symbol<'_, unsafe extern "C" fn(c_uint) -> Code> = driver.call(c"cuInit")?;
        // SAFETY: the flags must be 0.
        driver.succeeded(c"cuInit", unsafe { start(0) })?;
        let name = c"cuDevicePrimaryCtxRetain";
        let retain: Symbol<'_, unsafe extern "C" fn(*mut Handle, c_int) -> Code> =
            driver.call(name)?;
        let mut context = ptr::null_mut();
        // SAFETY: the place outlives the call (3).
        driver.succeeded(name, unsafe { retain(&raw mut context, 0) })?;
        let name = c"cuCtxSetCurrent";
        let choose: Symbol<'_, unsafe extern "C" fn(Handle) -> Code> = driver.call(name)?;
        // SAFETY: the handle is what the driver has just answered.
        driver.succeeded(name, unsafe { choose(context) })?;
        Ok(driver)
    }

    /// Loads a module of PTX.
    ///
    /// # Errors
    ///
    /// Why it is refused: the instruction that is not known, with its line.
    pub(super) fn load(&self, ptx: &str) -> Result<Module<'_>, TaskError> {
        let name = c"cuModuleLoadData";
        let load: Symbol<'_, unsafe extern "C" fn(*mut Handle, *const c_char) -> Code> =
            self.call(name)?;
        let text = CString::new(ptx)?;
        let mut handle = ptr::null_mut();
        // SAFETY: place and text outlive the call (3).
        self.succeeded(name, unsafe { load(&raw mut handle, text.as_ptr()) })?;
        Ok(Module { driver: self, handle })
    }

    /// Memory of the device with these bytes, or with one byte where there are none.
    ///
    /// # Errors
    ///
    /// When there is no more.
    pub(super) fn upload(&self, bytes: &[u8]) -> Result<Buffer<'_>, TaskError> {
        let name = c"cuMemAlloc_v2";
        let allocate: Symbol<'_, unsafe extern "C" fn(*mut Address, usize) -> Code> =
            self.call(name)?;
        let mut address = 0;
        // SAFETY: the place outlives the call (3).
        let code = unsafe { allocate(&raw mut address, bytes.len().max(1)) };
        self.succeeded(name, code)?;
        let buffer = Buffer { driver: self, address, bytes: bytes.len() };
        if bytes.is_empty() {
            return Ok(buffer);
        }
        let name = c"cuMemcpyHtoD_v2";
        let copy: Symbol<'_, unsafe extern "C" fn(Address, *const u8, usize) -> Code> =
            self.call(name)?;
        // SAFETY: so many bytes can be read (3).
        self.succeeded(name, unsafe { copy(address, bytes.as_ptr(), bytes.len()) })?;
        Ok(buffer)
    }

    /// What the simulator has reported since it was last asked.
    ///
    /// # Errors
    ///
    /// When the library has no such call.
    pub(super) fn reports(&self) -> Result<Vec<String>, TaskError> {
        let read: Symbol<'_, unsafe extern "C" fn(u32, *mut u8, usize) -> usize> =
            self.call(c"simcuda_read")?;
        // SAFETY: nothing is written where there is room for nothing.
        let bytes = unsafe { read(READ_REPORTS, ptr::null_mut(), 0) };
        let mut text = vec![0; bytes];
        // SAFETY: the buffer is as long as is said (3).
        unsafe { read(READ_REPORTS, text.as_mut_ptr(), bytes) };
        let forget: Symbol<'_, extern "C" fn(u32) -> u32> = self.call(c"simcuda_forget")?;
        forget(FORGET_REPORTS);
        Ok(String::from_utf8(text)?.lines().map(str::to_owned).collect())
    }

    fn call<T>(&self, name: &CStr) -> Result<Symbol<'_, T>, TaskError> {
        // SAFETY: each caller names the type that the header declares for the function (1); the symbol borrows the
        // library (2).
        Ok(unsafe { self.library.get::<T>(name.to_bytes_with_nul()) }?)
    }

    /// The code of a call as an error, with what was reported.
    fn succeeded(&self, call: &CStr, code: Code) -> Result<(), TaskError> {
        if code == 0 {
            return Ok(());
        }
        let reports = self.reports()?.join("; ");
        Err(format!("{} answers {code}: {reports}", call.to_string_lossy()).into())
    }
}

impl Module<'_> {
    /// A kernel by its name.
    ///
    /// # Errors
    ///
    /// When the module has none of this name.
    pub(super) fn kernel(&self, kernel: &str) -> Result<Kernel<'_>, TaskError> {
        let name = c"cuModuleGetFunction";
        let find: Symbol<'_, unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> Code> =
            self.driver.call(name)?;
        let text = CString::new(kernel)?;
        let mut handle = ptr::null_mut();
        // SAFETY: place and text outlive the call (3).
        let code = unsafe { find(&raw mut handle, self.handle, text.as_ptr()) };
        self.driver.succeeded(name, code)?;
        Ok(Kernel { driver: self.driver, handle })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        let unload = self.driver.call::<unsafe extern "C" fn(Handle) -> Code>(c"cuModuleUnload");
        let Ok(unload) = unload else { return };
        // SAFETY: the module is a live one, and nobody uses it after this.
        unsafe { unload(self.handle) };
    }
}

impl Kernel<'_> {
    /// Runs the kernel, and waits for its end.
    ///
    /// # Errors
    ///
    /// What the driver answers, and what it has reported: a race, an access out of bounds.
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
        // SAFETY: the kernel is a live one; `extra` ends with its end, and the buffer in it is as long as is said,
        // which the driver compares with what the kernel reads (3).
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
        // SAFETY: it takes nothing.
        self.driver.succeeded(name, unsafe { wait() })?;
        let reports = self.driver.reports()?;
        if reports.is_empty() { Ok(()) } else { Err(reports.join("; ").into()) }
    }
}

impl Buffer<'_> {
    /// What is in the memory.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, TaskError> {
        let name = c"cuMemcpyDtoH_v2";
        let copy: Symbol<'_, unsafe extern "C" fn(*mut u8, Address, usize) -> Code> =
            self.driver.call(name)?;
        let mut bytes = vec![0; self.bytes];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        // SAFETY: so many bytes can be written (3).
        let code = unsafe { copy(bytes.as_mut_ptr(), self.address, self.bytes) };
        self.driver.succeeded(name, code)?;
        Ok(bytes)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let free = self.driver.call::<unsafe extern "C" fn(Address) -> Code>(c"cuMemFree_v2");
        let Ok(free) = free else { return };
        // SAFETY: the memory is this buffer's own, and nobody uses it after this.
        unsafe { free(self.address) };
    }
}
