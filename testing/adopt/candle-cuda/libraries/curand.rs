//! The calls of cuRAND that candle makes when it creates a device. No number is drawn.

#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::ffi::{c_int, c_void};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn curandCreateGenerator(to: *mut *mut c_void, _: c_int) -> c_int {
    unsafe { *to = std::ptr::dangling_mut::<u8>().cast() };
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn curandDestroyGenerator(_: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn curandSetStream(_: *mut c_void, _: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn curandSetPseudoRandomGeneratorSeed(_: *mut c_void, _: u64) -> c_int {
    0
}
