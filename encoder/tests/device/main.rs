//! The encoder on the machine's device: hardware under `cargo xtask gpu-test`, the simulated driver under `cargo xtask
//! sim-test`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "a failing test panics, and the helpers are shared with other backends' tests"
)]

#[path = "../suite/any_backend.rs"]
mod any_backend;
mod faults;
#[path = "../suite/golden.rs"]
mod golden;
mod ladder;
#[path = "../suite/naive.rs"]
mod naive;
#[path = "../suite/operations.rs"]
mod operations;
mod stacked;

use std::sync::Arc;

use any_backend::encoded;
use cudarc::driver::CudaStream;
use driver_conformance::driver::Device;
use pool_encoder::{HeadsAtOnce, OnCuda};
use pool_facade::Cuda;
use pool_facade::pool_cuda::{CudaDevice, DeviceStream};

/// The device, opened for a test that is no question.
fn require_device() -> (Device, CudaDevice) {
    let present = driver_conformance::open().unwrap_or_else(|why| panic!("GPU REQUIRED: {why}"));
    (present, Cuda::device(0).unwrap())
}

/// The context of pools on one new stream of a device.
fn contexts(device: &CudaDevice) -> impl Fn() -> DeviceStream {
    let stream: Arc<CudaStream> = device.context().new_stream().unwrap();
    move || DeviceStream::from_stream(Arc::clone(&stream)).unwrap()
}

/// Random shapes of each operation, unless `POOL_KERNEL_CASES` says so: one for ten of those.
const CASES: u32 = 100;

#[test]
#[ignore = "needs a CUDA device"]
fn each_operation_is_as_it_is_defined() {
    let (_present, device) = require_device();
    let given = std::env::var("POOL_KERNEL_CASES").ok();
    let cases = given.map_or(CASES, |count| count.parse().unwrap());
    let kernels = OnCuda::new(&device).unwrap();
    operations::as_defined::<Cuda, _>(&kernels, contexts(&device), cases.div_ceil(10));
}

#[test]
#[ignore = "needs a CUDA device"]
fn as_the_other_program_says() {
    let (_present, device) = require_device();
    let kernels = OnCuda::new(&device).unwrap();
    let context = contexts(&device);
    for at_once in [HeadsAtOnce::All, HeadsAtOnce::One] {
        let batch = golden::batch(31);
        let answer = encoded::<Cuda, _>(&kernels, &context, &batch, at_once, 2).unwrap();
        let difference = golden::greatest_difference(&answer.numbers);
        assert!(difference < golden::BOUND, "{at_once:?}: {difference:e}");
    }
}
