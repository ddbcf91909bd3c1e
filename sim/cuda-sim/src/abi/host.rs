//! The host's memory and functions, which callers of the driver name by address.
//!
//! The driver cannot check such an address. By CUDA's documentation, its caller keeps it valid
//! until the work that uses it is done.

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

/// Page-locked memory that was allocated. It is never freed to the system. So a program that uses
/// it after its end is reported, and touches no memory of another owner.
static GIVEN: Mutex<Option<HashMap<u64, usize>>> = Mutex::new(None);

/// Output of kernels, to be written once the driver's lock is free.
static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

thread_local! {
    /// `true` if a call of this thread has shown output of kernels and not written it yet.
    static HAS_PRINTED: Cell<bool> = const { Cell::new(false) };
}

/// The alignment of page-locked memory: a page.
const ALIGN: usize = 4096;

impl Host {
    /// # Safety
    ///
    /// Every address that callers of the driver pass must be valid for as long as CUDA requires. So
    /// the world that gets this host must be driven through the C interface alone.
    pub(super) unsafe fn new() -> Self {
        Self(())
    }
}

impl HostMemory for Host {
    fn read(&self, address: u64, into: &mut [u8]) {
        let from = pointer(address);
        // SAFETY: the caller of the driver promises that number of bytes there (`Host::new`), and
        // they do not overlap a buffer of ours.
        unsafe { ptr::copy_nonoverlapping(from.cast_const(), into.as_mut_ptr(), into.len()) }
    }

    fn write(&self, address: u64, from: &[u8]) {
        let to = pointer(address);
        // SAFETY: as in `read`.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) }
    }

    fn allocate(&self, bytes: usize) -> Option<u64> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
        // SAFETY: the layout is not empty.
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
        // A late reader finds the pattern of freed memory.
        self.write(address, &vec![0xDD; bytes]);
    }

    fn print(&self, text: &[u8]) {
        printed().extend_from_slice(text);
        HAS_PRINTED.set(true);
    }
}

/// Writes the output of kernels to the standard output, in order, if a call of this thread has
/// shown some.
///
/// Holders of the driver's lock must not call it. A holder of the output, or a reader of its pipe,
/// may have to call the driver before the write can end. For the same reason a call that has shown
/// nothing does not write the output of another thread.
pub(super) fn write_printed() {
    if !HAS_PRINTED.take() {
        return;
    }
    let mut output = std::io::stdout().lock();
    // The holder of the output takes the text, so later text is not written earlier.
    let text = std::mem::take(&mut *printed());
    // As with `printf` of C, output without a reader is lost.
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
        // SAFETY: a caller of `cuStreamAddCallback` passed a function of this type there, and null
        // was refused.
        let function: extern "C" fn(*mut c_void, u32, *mut c_void) =
            unsafe { std::mem::transmute(address) };
        let success = 0;
        return function(pointer(stream).cast(), success, pointer(call.data).cast());
    }
    // SAFETY: a caller of `cuLaunchHostFunc` passed a function of this type there, and null was
    // refused; or the simulator's control passed one.
    let function: extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(address) };
    function(pointer(call.data).cast());
}
