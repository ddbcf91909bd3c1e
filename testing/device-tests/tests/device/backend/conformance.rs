//! Runs the cases that test all backends on a device.

use crate::require_device;
use device_tests::{CudaProbe, StackedCudaProbe};
use pool_conformance::programs::{run_random_dynamic, run_random_lexical};
use pool_conformance::run_all;
use pool_cuda::Cuda;

const PROGRAMS: u32 = 20;

#[test]
#[ignore = "needs a CUDA device"]
fn every_case_passes() {
    let _present = require_device();
    run_all(&CudaProbe::new(Cuda::device(0).unwrap()));
    run_all(&StackedCudaProbe::new(Cuda::device(0).unwrap()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_case_passes_with_plain_allocation() {
    let _present = require_device();
    run_all(&CudaProbe::new(Cuda::device(0).unwrap().without_memory_pool()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn random_programs_agree_with_the_model() {
    let _present = require_device();
    let device = Cuda::device(0).unwrap();
    let lexical = run_random_lexical(PROGRAMS, || CudaProbe::new(device.clone()));
    let dynamic = run_random_dynamic(PROGRAMS, || CudaProbe::new(device.clone()));
    assert_eq!((lexical.programs, dynamic.programs), (PROGRAMS.into(), PROGRAMS.into()));
    let lexical = run_random_lexical(PROGRAMS, || StackedCudaProbe::new(device.clone()));
    let dynamic = run_random_dynamic(PROGRAMS, || StackedCudaProbe::new(device.clone()));
    assert_eq!((lexical.programs, dynamic.programs), (PROGRAMS.into(), PROGRAMS.into()));
}
