//! For systems whose dynamic loader does not return a loaded library by its soname. The simulator
//! cannot be started on these systems.

use std::ffi::{c_int, c_void};

use crate::error::StartError;

pub(crate) const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

pub(crate) fn is_another_driver(_name: &str) -> bool {
    false
}

/// Always fails, because the loader is not supported.
pub(crate) fn load(_: &'static str, _: &[u8], _: usize) -> Result<(), StartError> {
    Err(StartError::System { system: std::env::consts::OS })
}

pub(crate) fn at_exit(_: extern "C" fn(c_int, *mut c_void)) -> bool {
    false
}

pub(crate) fn end(code: c_int) -> ! {
    std::process::exit(code)
}
