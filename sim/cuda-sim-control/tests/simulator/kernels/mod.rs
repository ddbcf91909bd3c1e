//! Kernels that are launched through driver calls. Deliberate mistakes are reported, and correct
//! counterparts are not.

mod mistakes;
mod modules;
mod nodes;

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use cuda_sim_control::{Mistake, Simulator};
use cudarc::driver::sys::{self, CUresult};

use crate::support::with_seed;

/// The number of seeds with which each program runs.
const SEEDS: u64 = 10;

/// Returns kernels that take 64-bit addresses and numbers. `%t` is the number of a thread in its
/// block, and `%i` its number in the grid.
fn module_text(kernels: &[(&str, &str)]) -> String {
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    text += ".extern .shared .align 16 .b8 open[];\n.global .align 4 .u32 counter = 5;\n";
    text += ".const .align 8 .b8 table[16] = {1, 2, 3};\n";
    text += ".global .align 8 .u64 place = counter;\n";
    for (name, body) in kernels {
        text += &format!(
            ".visible .entry {name}(.param .u64 first, .param .u64 second) {{
            .reg .pred %p<8>; .reg .b32 %r<16>, %t, %i; .reg .b64 %l<16>;
            ld.param.u64 %l1, [first]; ld.param.u64 %l2, [second];
            mov.u32 %t, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
            mad.lo.u32 %i, %r1, %r2, %t; mul.wide.u32 %l3, %i, 4; add.u64 %l4, %l1, %l3;
            {body}
            ret; }}\n"
        );
    }
    text
}

/// Loads a module.
fn load(text: &str) -> Result<sys::CUmodule, CUresult> {
    let (text, mut module) = (CString::new(text).unwrap(), ptr::null_mut());
    // SAFETY: the output variable and the text outlive the call.
    match unsafe { sys::cuModuleLoadData(&raw mut module, text.as_ptr().cast()) } {
        CUresult::CUDA_SUCCESS => Ok(module),
        code => Err(code),
    }
}

fn find(module: sys::CUmodule, name: &CStr) -> sys::CUfunction {
    let mut function = ptr::null_mut();
    // SAFETY: the output variable and the name outlive the call.
    let found = unsafe { sys::cuModuleGetFunction(&raw mut function, module, name.as_ptr()) };
    assert_eq!(found, CUresult::CUDA_SUCCESS);
    function
}

/// Returns the kernel of a module that contains one kernel with this body.
fn kernel(body: &str) -> sys::CUfunction {
    find(load(&module_text(&[("k", body)])).unwrap(), c"k")
}

/// The number of blocks, the threads in each block, and the bytes of dynamic shared memory.
#[derive(Clone, Copy)]
struct Size(u32, u32, u32);

fn launch(
    function: sys::CUfunction,
    Size(blocks, threads, shared): Size,
    stream: sys::CUstream,
    mut parameters: [u64; 2],
) -> CUresult {
    let [first, second] = &mut parameters;
    let mut places: [*mut c_void; 2] = [ptr::from_mut(first).cast(), ptr::from_mut(second).cast()];
    let places = places.as_mut_ptr();
    // SAFETY: kernels in these tests take two 64-bit numbers, which outlive the call.
    unsafe {
        sys::cuLaunchKernel(
            function,
            blocks,
            1,
            1,
            threads,
            1,
            1,
            shared,
            stream,
            places,
            ptr::null_mut(),
        )
    }
}

/// Returns a stream that does not implicitly wait for other streams.
fn stream() -> sys::CUstream {
    let mut stream = ptr::null_mut();
    // SAFETY: the output variable outlives the call.
    assert_eq!(unsafe { sys::cuStreamCreate(&raw mut stream, 1) }, CUresult::CUDA_SUCCESS);
    stream
}

fn wait(stream: sys::CUstream) -> CUresult {
    // SAFETY: the simulator checks the handle.
    unsafe { sys::cuStreamSynchronize(stream) }
}

/// Orders all later work of `later` after all current work of `earlier`.
fn join(later: sys::CUstream, earlier: sys::CUstream) {
    let mut event = ptr::null_mut();
    // SAFETY: the output variable outlives the call.
    assert_eq!(unsafe { sys::cuEventCreate(&raw mut event, 2) }, CUresult::CUDA_SUCCESS);
    // SAFETY: the simulator checks the handles.
    assert_eq!(unsafe { sys::cuEventRecord(event, earlier) }, CUresult::CUDA_SUCCESS);
    // SAFETY: the simulator checks the handles.
    assert_eq!(unsafe { sys::cuStreamWaitEvent(later, event, 0) }, CUresult::CUDA_SUCCESS);
}

/// Returns the number of seeds for which a program reports this mistake. Any other mistake fails
/// the test.
fn found_in(simulator: Simulator, mistake: Mistake, program: impl Fn()) -> u64 {
    let is_found = |seed: &u64| {
        with_seed(simulator, *seed);
        program();
        let reports = simulator.reports();
        for report in &reports {
            assert_eq!(report.mistake(), mistake, "{report}");
        }
        !reports.is_empty()
    };
    (0..SEEDS).filter(is_found).count() as u64
}
