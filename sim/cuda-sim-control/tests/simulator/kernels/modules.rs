//! Modules, their variables, and the attributes of their kernels.

use std::ffi::{CStr, c_void};
use std::ptr;

use cuda_sim_control::{Mistake, Settings};
use cudarc::driver::sys::{self, CUfunction_attribute_enum as Attribute, CUresult};
use driver_conformance::driver::Device;

use super::{Size, find, kernel, launch, load, module_text, stream, wait};
use crate::support::{filled, start, with_seed};

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

fn variable(module: sys::CUmodule, name: &CStr) -> Result<(u64, usize), CUresult> {
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: the output variables and the name outlive the call.
    let found = unsafe {
        sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, module, name.as_ptr())
    };
    if found == SUCCESS { Ok((address, bytes)) } else { Err(found) }
}

fn read<const N: usize>(address: u64) -> [u8; N] {
    let mut bytes = [0; N];
    // SAFETY: the buffer has the stated length.
    let copied = unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, N) };
    assert_eq!(copied, SUCCESS);
    bytes
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn variables_start_as_the_module_says_and_kernels_change_them() {
    let simulator = start();
    with_seed(simulator, 0);
    let body = "mov.u64 %l5, place; ld.global.u64 %l6, [place]; ld.const.u8 %r3, [table+2];
        ld.u8 %r4, [%l5]; atom.global.add.u32 %r5, [%l6], %r3; st.global.u32 [%l4], %r5;";
    let module = load(&module_text(&[("k", body)])).unwrap();
    let (counter, bytes) = variable(module, c"counter").unwrap();
    assert_eq!((bytes, read(counter)), (4, 5_u32.to_le_bytes()));
    assert_eq!(read(variable(module, c"place").unwrap().0), counter.to_le_bytes());
    assert_eq!(variable(module, c"table").unwrap().1, 16);
    assert_eq!(variable(module, c"nothing"), Err(CUresult::CUDA_ERROR_NOT_FOUND));
    let (stream, span) = (stream(), filled(4, 0).unwrap());
    let kernel = find(module, c"k");
    assert_eq!(launch(kernel, Size(1, 1, 0), stream, [span.address(), 0]), SUCCESS);
    assert_eq!(wait(stream), SUCCESS);
    assert_eq!(read(counter), 8_u32.to_le_bytes());
    assert_eq!(read(span.address()), 5_u32.to_le_bytes());
    // When the module is loaded a second time, the copy has its own variables.
    let other = load(&module_text(&[("k", body)])).unwrap();
    assert_eq!(read(variable(other, c"counter").unwrap().0), 5_u32.to_le_bytes());
    simulator.assert_clean();
    // SAFETY: the simulator checks the handle.
    assert_eq!(unsafe { sys::cuModuleUnload(module) }, SUCCESS);
    assert_eq!(launch(kernel, Size(1, 1, 0), stream, [0; 2]), CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(simulator.reports()[0].mistake(), Mistake::StaleHandle);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_launch_asks_for_no_more_than_there_is() {
    let simulator = start();
    with_seed(simulator, 0);
    let (stream, kernel) = (stream(), kernel("mov.u32 %r3, open; st.shared.u32 [%r3], 1;"));
    for size in [Size(0, 1, 0), Size(1, 0, 0), Size(1, 1025, 0), Size(1, 1, 48 * 1024 + 1)] {
        assert_eq!(launch(kernel, size, stream, [0; 2]), INVALID_VALUE);
    }
    let dynamic = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the simulator checks the handle.
    let set = |bytes| unsafe { sys::cuFuncSetAttribute(kernel, dynamic, bytes) };
    assert_eq!(set(228 * 1024), INVALID_VALUE);
    assert_eq!(set(100 * 1024), SUCCESS);
    assert_eq!(launch(kernel, Size(1, 1, 100 * 1024), stream, [0; 2]), SUCCESS);
    assert_eq!(wait(stream), SUCCESS);
    let mut value = 0;
    // SAFETY: the output variable outlives the call, and the simulator checks the handle.
    assert_eq!(unsafe { sys::cuFuncGetAttribute(&raw mut value, dynamic, kernel) }, SUCCESS);
    assert_eq!(value, 100 * 1024);
    let mut blocks = 0;
    // SAFETY: the output variable outlives the call, and the simulator checks the handle.
    let asked = unsafe {
        sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, kernel, 256, 64 * 1024)
    };
    assert_eq!((asked, blocks), (SUCCESS, 3));
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn parameters_may_come_in_one_buffer() {
    let simulator = start();
    with_seed(simulator, 0);
    let (stream, span) = (stream(), filled(4, 0).unwrap());
    let kernel = kernel("cvt.u32.u64 %r3, %l2; st.global.u32 [%l4], %r3;");
    let mut parameters = [span.address(), 77];
    let mut bytes = size_of_val(&parameters);
    let key = ptr::without_provenance_mut::<c_void>;
    let mut list =
        [key(1), parameters.as_mut_ptr().cast(), key(2), ptr::from_mut(&mut bytes).cast(), key(0)];
    let (none, list) = (ptr::null_mut(), list.as_mut_ptr());
    // SAFETY: the list, the buffer and its size outlive the call.
    let launched = unsafe { sys::cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, none, list) };
    assert_eq!(launched, SUCCESS);
    // The driver has already read the parameters.
    parameters.fill(0);
    assert_eq!(parameters, [0; 2]);
    assert_eq!(wait(stream), SUCCESS);
    assert_eq!(read(span.address()), 77_u32.to_le_bytes());
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_image_that_is_no_ptx_is_refused() {
    let simulator = start();
    // An older driver would first refuse that version of PTX.
    assert!(simulator.reset(Settings { driver_version: 13_000, ..Settings::default() }));
    Device::open_hardware_or_simulator().unwrap();
    assert_eq!(load("\u{7f}ELF"), Err(CUresult::CUDA_ERROR_INVALID_IMAGE));
    let newer = ".version 9.5\n.target sm_80\n.address_size 64\n";
    assert_eq!(load(newer), Err(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
    let other = ".version 9.0\n.target sm_100\n.address_size 64\n";
    assert_eq!(load(other), Err(CUresult::CUDA_ERROR_INVALID_PTX));
    assert_eq!(simulator.reports().len(), 3);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_older_driver_takes_older_ptx_alone() {
    let simulator = start();
    for (driver_version, newest) in [(12_000, 80), (12_030, 83), (12_080, 87), (13_000, 90)] {
        assert!(simulator.reset(Settings { driver_version, ..Settings::default() }));
        // A module is loaded into the current context.
        let context = cudarc::driver::CudaContext::new(0).unwrap();
        let text = |version: u32| {
            format!(".version {}.{}\n.target sm_80\n.address_size 64\n", version / 10, version % 10)
        };
        assert!(load(&text(newest)).is_ok(), "{driver_version}");
        let refused = Err(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
        assert_eq!(load(&text(newest + 1)), refused, "{driver_version}");
        drop(context);
    }
}
