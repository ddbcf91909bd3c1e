//! The host's memory and functions, which callers of the driver pass by address.
//!
//! The driver cannot check such an address. By CUDA's documentation, the caller keeps the address
//! valid until the work that uses it has finished.

use std::alloc::{Layout, alloc_zeroed};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::io::Write;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::world::{HostCall, HostMemory};

/// The real host.
#[derive(Debug)]
pub(super) struct Host(());

/// Page-locked memory that has been allocated. It is never returned to the system. If a program
/// uses the memory after freeing it, the simulator reports the mistake, and no other owner's memory
/// is touched.
static GIVEN: Mutex<Option<HashMap<u64, usize>>> = Mutex::new(None);

/// Kernel output that is written once the driver's lock has been released.
static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

thread_local! {
    /// `true` if a call of this thread has collected kernel output that has not been written yet.
    static HAS_PRINTED: Cell<bool> = const { Cell::new(false) };
}

/// The alignment of page-locked memory: one page.
const ALIGN: usize = 4096;

impl Host {
    /// # Safety
    ///
    /// Every address that callers pass to the driver must be valid for as long as CUDA requires.
    /// The world that receives this host must therefore only be called through the C interface.
    pub(super) unsafe fn new() -> Self {
        Self(())
    }
}

impl HostMemory for Host {
    fn read(&self, address: u64, into: &mut [u8]) {
        let from = pointer(address);
        // SAFETY: the caller of the driver promises that this many bytes can be read at the address
        // (`Host::new`).
        // The caller's memory does not overlap a buffer of the simulator.
        unsafe { ptr::copy_nonoverlapping(from.cast_const(), into.as_mut_ptr(), into.len()) }
    }

    fn write(&self, address: u64, from: &[u8]) {
        let to = pointer(address);
        // SAFETY: the caller of the driver promises that this many bytes can be written at the
        // address (`Host::new`).
        // The caller's memory does not overlap a buffer of the simulator.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) }
    }

    fn allocate(&self, bytes: usize) -> Option<u64> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
        // SAFETY: the size of the layout is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return None;
        }
        let address = start.expose_provenance() as u64;
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        given.get_or_insert_default().insert(address, bytes);
        Some(address)
    }

    fn free(&self, address: u64, bytes: usize) {
        // If a program reads the memory later, it finds this pattern of freed memory.
        self.write(address, &vec![0xDD; bytes]);
    }

    fn print(&self, text: &[u8]) {
        printed().extend_from_slice(text);
        HAS_PRINTED.set(true);
    }
}

/// Writes the output of kernels to the standard output in order, if a call of this thread has
/// collected some.
///
/// Code that holds the driver's lock must not call this function. Another thread may hold the
/// standard output, or read from its pipe, and may have to call the driver before the write can
/// finish. For the same reason, a call that has collected nothing does not write the output of
/// another thread.
pub(super) fn write_printed() {
    if !HAS_PRINTED.take() {
        return;
    }
    let mut output = std::io::stdout().lock();
    // The text is taken while the standard output is locked, so later text cannot be written first.
    let text = std::mem::take(&mut *printed());
    // As with `printf` in C, output that no code reads is lost.
    let _ = output.write_all(&text).and_then(|()| output.flush());
}

fn printed() -> MutexGuard<'static, Vec<u8>> {
    PRINTED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pointer(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}

/// Calls a function of the program.
pub(super) fn call(call: HostCall) {
    let address: *mut c_void = pointer(call.function).cast();
    if let Some(stream) = call.stream {
        // SAFETY: a caller of `cuStreamAddCallback` passed a function of this type, and null was
        // refused.
        let function: extern "C" fn(*mut c_void, u32, *mut c_void) =
            unsafe { std::mem::transmute(address) };
        let success = 0;
        return function(pointer(stream).cast(), success, pointer(call.data).cast());
    }
    // SAFETY: a caller of `cuLaunchHostFunc` or of the simulator's control interface passed a
    // function of this type, and null was refused.
    let function: extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(address) };
    function(pointer(call.data).cast());
}
