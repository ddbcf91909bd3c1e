//! The host's memory and functions, as the driver's callers name them: by address.
//!
//! The driver cannot check such an address. Whoever passes one promises, as CUDA's documentation
//! asks, that it is good until the work that uses it is done.

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

/// Page-locked memory that was given out. It is not given back to the system: a program that uses it
/// after its end is reported, and does not touch what somebody else has got meanwhile.
static GIVEN: Mutex<Option<HashMap<u64, usize>>> = Mutex::new(None);

/// What kernels have printed, and is to be written once the driver's lock is free.
static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether a call of this thread has shown what kernels have printed, and has not written it yet.
    static HAS_PRINTED: Cell<bool> = const { Cell::new(false) };
}

/// Where page-locked memory starts: at a page.
const ALIGN: usize = 4096;

impl Host {
    /// # Safety
    ///
    /// Every address that callers of the driver pass is good for as long as CUDA asks: that is, the
    /// world that this is given to is driven through the C interface alone.
    pub(super) unsafe fn new() -> Self {
        Self(())
    }
}

impl HostMemory for Host {
    fn read(&self, address: u64, into: &mut [u8]) {
        let from = pointer(address);
        // SAFETY: the caller of the driver promises that many bytes there (`Host::new`), and a buffer
        // of ours does not lie among them.
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
        // A reader who comes too late finds the pattern of freed memory.
        self.write(address, &vec![0xDD; bytes]);
    }

    fn print(&self, text: &[u8]) {
        printed().extend_from_slice(text);
        HAS_PRINTED.set(true);
    }
}

/// Writes what kernels have printed to the standard output, in its order, where a call of this thread has shown some.
///
/// Not for holders of the driver's lock: who holds the output, or reads it at the other end of a pipe, may call the
/// driver before it can be written. For the same reason a call that has shown nothing does not write what another
/// thread is about to.
pub(super) fn write_printed() {
    if !HAS_PRINTED.take() {
        return;
    }
    let mut output = std::io::stdout().lock();
    // Taken by the holder of the output: what was printed later is not written earlier.
    let text = std::mem::take(&mut *printed());
    // As with `printf` of C, what nobody reads is lost.
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
        // SAFETY: the caller of `cuStreamAddCallback`, who was asked for one that is not null, passed a function of this
        // type there.
        let function: extern "C" fn(*mut c_void, u32, *mut c_void) =
            unsafe { std::mem::transmute(address) };
        let success = 0;
        return function(pointer(stream).cast(), success, pointer(call.data).cast());
    }
    // SAFETY: the caller of `cuLaunchHostFunc`, who was asked for one that is not null, or the control of
    // the simulator passed a function of this type there.
    let function: extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(address) };
    function(pointer(call.data).cast());
}
