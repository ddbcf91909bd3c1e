//! The calls of cuBLAS that candle makes, for the simulated device, which runs no machine code. The
//! matrix product is the PTX kernel of `testing/pool-kernels`.
//!
//! As cuBLAS does, the handle allocates its workspace from the stream's memory pool during a call if
//! the caller has set none.

#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use std::ffi::{c_char, c_int, c_longlong, c_void};
use std::ptr::null_mut;

const SUCCESS: c_int = 0;
const EXECUTION_FAILED: c_int = 13;
const NOT_SUPPORTED: c_int = 15;

/// `CUDA_R_32F`.
const FLOAT: c_int = 0;

const KERNELS: &[u8] = concat!(include_str!("../../../pool-kernels/cuda/transformer.ptx"), "\0").as_bytes();

unsafe extern "C" {
    fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> c_int;
    fn cuModuleUnload(module: *mut c_void) -> c_int;
    fn cuModuleGetFunction(f: *mut *mut c_void, module: *mut c_void, name: *const c_char) -> c_int;
    fn cuLaunchKernel(
        f: *mut c_void, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32,
        stream: *mut c_void, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    ) -> c_int;
    fn cuMemAllocAsync(to: *mut u64, bytes: usize, stream: *mut c_void) -> c_int;
    fn cuMemFreeAsync(at: u64, stream: *mut c_void) -> c_int;
    fn cuMemsetD8Async(at: u64, value: u8, count: usize, stream: *mut c_void) -> c_int;
}

pub struct Handle {
    module: *mut c_void,
    product: *mut c_void,
    stream: *mut c_void,
    workspace: (u64, usize),
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasCreate_v2(to: *mut *mut Handle) -> c_int {
    let (mut module, mut product) = (null_mut(), null_mut());
    unsafe {
        if cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()) != 0
            || cuModuleGetFunction(&mut product, module, c"products_f32".as_ptr()) != 0
        {
            return EXECUTION_FAILED;
        }
        *to = Box::into_raw(Box::new(Handle { module, product, stream: null_mut(), workspace: (0, 0) }));
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasDestroy_v2(handle: *mut Handle) -> c_int {
    let handle = unsafe { Box::from_raw(handle) };
    unsafe { cuModuleUnload(handle.module) };
    SUCCESS
}

/// Also removes the workspace, as documented.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasSetStream_v2(handle: *mut Handle, stream: *mut c_void) -> c_int {
    let handle = unsafe { &mut *handle };
    (handle.stream, handle.workspace) = (stream, (0, 0));
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasSetWorkspace_v2(handle: *mut Handle, at: u64, bytes: usize) -> c_int {
    unsafe { (*handle).workspace = (at, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGemmStridedBatchedEx(
    handle: *mut Handle, turn_a: c_int, turn_b: c_int, m: c_int, n: c_int, k: c_int,
    alpha: *const f32, a: u64, type_a: c_int, row_a: c_int, matrix_a: c_longlong,
    b: u64, type_b: c_int, row_b: c_int, matrix_b: c_longlong,
    beta: *const f32, c: u64, type_c: c_int, row_c: c_int, matrix_c: c_longlong,
    count: c_int, _: c_int, _: c_int,
) -> c_int {
    let handle = unsafe { &mut *handle };
    if turn_b != 0 || turn_a > 1 || [type_a, type_b, type_c] != [FLOAT; 3] || unsafe { *beta } != 0.0 {
        return NOT_SUPPORTED;
    }
    // The matrices of cuBLAS are stored by columns, so the same memory read by rows is transposed:
    // the rows of the result are those of b.
    let numbers: [u64; 11] = [
        count as u64, n as u64, m as u64, k as u64, row_b as u64, matrix_b as u64, row_a as u64,
        matrix_a as u64, row_c as u64, matrix_c as u64, u64::from(turn_a == 1),
    ];
    let (addresses, factor) = ([b, a, 0, c], unsafe { *alpha });
    let mut parameters: Vec<*mut c_void> = Vec::new();
    parameters.extend(addresses.iter().chain(&numbers).map(|number| (&raw const *number).cast_mut().cast()));
    parameters.push((&raw const factor).cast_mut().cast());
    let (tiles_x, tiles_y) = ((m as u32).div_ceil(16), (n as u32).div_ceil(16));
    let (mut at, bytes) = handle.workspace;
    let is_own = at == 0;
    unsafe {
        if is_own && cuMemAllocAsync(&mut at, 256, handle.stream) != 0 {
            return EXECUTION_FAILED;
        }
        let used = if is_own { 256 } else { bytes.min(256) };
        if cuMemsetD8Async(at, 0x5A, used, handle.stream) != 0
            || cuLaunchKernel(
                handle.product, tiles_x, tiles_y, count as u32, 16, 16, 1, 0, handle.stream,
                parameters.as_mut_ptr(), null_mut(),
            ) != 0
            || is_own && cuMemFreeAsync(at, handle.stream) != 0
        {
            return EXECUTION_FAILED;
        }
    }
    SUCCESS
}

/// The product of doubles, which the program links but never calls.
#[unsafe(no_mangle)]
pub extern "C" fn cublasDgemmStridedBatched() -> c_int {
    NOT_SUPPORTED
}
