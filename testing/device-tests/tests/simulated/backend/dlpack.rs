//! Tensors of device memory: their use is ordered with the consumer's stream, and the memory is
//! reused only after that use.

use std::sync::Arc;
use std::thread;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use dlpark::ffi::{DLDeviceType, DLManagedTensorVersioned};
use dlpark::versioned::Dlpack;
use pool_core::{PoolView, PoolViewMut, SharedPool};
use pool_cuda::{Cuda, CudaDevice, CudaError, register_stream};
use pool_dlpack::{DeviceTensor, HostTensor, TensorError, dlpark, export, export_device};
use pool_facade::Cpu;
use pool_kernels::elementwise;

use crate::support::{calls_like, function, in_many_orders, start, start_anew};
use cuda_sim_control::Settings;

/// The number of elements in each array.
const N: usize = 1000;

const BLOCK: LaunchConfig =
    LaunchConfig { grid_dim: (16, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };

fn shared(device: &CudaDevice) -> SharedPool<Cuda> {
    SharedPool::new(device.new_stream().unwrap())
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn tensors_of_a_device_go_there_and_back_without_a_copy() {
    in_many_orders(|device| {
        let pool = shared(device);
        let consumer = device.context().new_stream().unwrap();
        let third = device.context().new_stream().unwrap();
        for round in 0..3_u32 {
            let array = pool.take_from(&[round; N]);
            let address = array.view().address();
            let tensor: Dlpack = export_device(array, &[10, N / 10], &consumer).unwrap();
            assert_eq!(tensor.validate_export().unwrap().device().device_type, DLDeviceType::CUDA);
            // SAFETY: the elements are ready on the consumer's stream (`export_device`), and used
            // only here.
            let mut tensor = unsafe { DeviceTensor::<u32>::import(tensor, &consumer) }.unwrap();
            assert_eq!((tensor.address(), tensor.shape()), (address, [10, N / 10].as_slice()));
            assert_eq!(consumer.clone_dtoh(&tensor).unwrap(), [round; N]);
            // SAFETY: no other code uses the elements.
            consumer.memset_zeros(&mut unsafe { tensor.as_mut() }.unwrap()).unwrap();
            assert_eq!(third.clone_dtoh(&tensor).unwrap(), [0; N]);
            thread::scope(|scope| scope.spawn(move || drop(tensor)).join().unwrap());
            assert_eq!(pool.stats().active_slots, 0);
        }
        assert_eq!(pool.stats().growths, 1);
        let last: Dlpack = export_device(pool.take_from(&[7_u32; N]), &[N], &consumer).unwrap();
        drop(pool); // the tensor keeps its memory
        // SAFETY: as above.
        let last = unsafe { DeviceTensor::<u32>::import(last, &consumer) }.unwrap();
        assert_eq!(consumer.clone_dtoh(&last).unwrap(), [7; N]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_consumer_deletes_a_tensor_that_its_kernels_still_read() {
    in_many_orders(|device| {
        let axpy = function(device.context(), elementwise::MODULE, elementwise::AXPY.f32);
        let pool = shared(device);
        let consumer = device.context().new_stream().unwrap();
        register_stream(&consumer);
        for round in 0..4_u8 {
            let x = pool.take_from(&[f32::from(round); N]);
            let mut y = pool.take_zeroed::<f32>(N);
            let tensor: Dlpack = export_device(x, &[N], &consumer).unwrap();
            // A consumer in C uses the address, launches a kernel on its own stream, and
            // immediately calls the deleter.
            let address = tensor.validate().unwrap().data_ptr().addr() as u64;
            let (factor, count) = (3.0_f32, N as u64);
            {
                let mut y = y.view_mut();
                let y = y.on(&consumer).unwrap();
                let mut launch = consumer.launch_builder(&axpy);
                launch.arg(&factor).arg(&address).arg(&y).arg(&count);
                // SAFETY: the arguments match `AXPY`, and the count is the length of both arrays.
                unsafe { launch.launch(BLOCK) }.unwrap();
            }
            drop(tensor);
            let mut next = pool.take::<f32>(N);
            next.view_mut().fill_with_value(-1.0).unwrap();
            assert_eq!(y.view().copy_to_vec().unwrap(), [3.0 * f32::from(round); N]);
        }
        assert_eq!(pool.stats().growths, 2);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn tensors_of_other_devices_and_streams_are_refused() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    let device = Cuda::device(0).unwrap();
    let pool = shared(&device);
    let stream = device.context().new_stream().unwrap();
    let elsewhere = Cuda::device(1).unwrap().context().new_stream().unwrap();

    let array = pool.take_from(&[1_u32; N]);
    let refused = export_device::<DLManagedTensorVersioned, _>(array, &[N], &elsewhere);
    let refused = refused.err().unwrap();
    assert!(matches!(
        refused.error,
        TensorError::Order(CudaError::WrongDevice { .. } | CudaError::WrongContext { .. })
    ));
    let refused = export_device::<DLManagedTensorVersioned, _>(refused.array, &[N + 1], &stream);
    let array = refused.err().unwrap().array;

    let tensor: Dlpack = export_device(array, &[N], &stream).unwrap();
    // SAFETY: the import is refused.
    let refused = unsafe { DeviceTensor::<u32>::import(tensor, &elsewhere) }.unwrap_err();
    assert!(matches!(
        refused,
        TensorError::Device { expected, found } if (expected.device_id, found.device_id) == (1, 0)
    ));
    assert_eq!(pool.stats().active_slots, 0, "a refused tensor is dropped");

    let on_device: Dlpack = export_device(pool.take_zeroed::<u32>(N), &[N], &stream).unwrap();
    // SAFETY: the import is refused.
    let refused = unsafe { HostTensor::<u32>::import(on_device) }.unwrap_err();
    assert!(matches!(
        refused,
        TensorError::Device { found, .. } if found.device_type == DLDeviceType::CUDA
    ));
    let on_host: Dlpack = export(SharedPool::<Cpu>::default().take_zeroed::<u32>(4), &[4]).unwrap();
    // SAFETY: the import is refused.
    let refused = unsafe { DeviceTensor::<u32>::import(on_host, &stream) }.unwrap_err();
    assert!(refused.to_string().starts_with("the tensor is on device 0 of type 1"));
    let on_device: Dlpack = export_device(pool.take_zeroed::<u32>(N), &[N], &stream).unwrap();
    // SAFETY: the import is refused.
    let refused = unsafe { DeviceTensor::<f32>::import(on_device, &stream) }.unwrap_err();
    assert_eq!(refused.to_string(), "the tensor has elements of uint32, but float32 was requested");

    let empty: Dlpack = export_device(pool.take_zeroed::<u32>(0), &[0, 3], &stream).unwrap();
    // SAFETY: no other code uses the elements.
    let empty = unsafe { DeviceTensor::<u32>::import(empty, &stream) }.unwrap();
    assert_eq!((empty.address(), empty.shape()), (0, [0, 3].as_slice()));
    drop((empty, pool, stream, elsewhere, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn in_steady_state_an_export_makes_no_allocation_on_the_device() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let device = Cuda::device(0).unwrap();
    let pool = shared(&device);
    let consumer: Arc<_> = device.context().new_stream().unwrap();
    for round in 0..10 {
        let tensor: Dlpack = export_device(pool.take::<f32>(N), &[N], &consumer).unwrap();
        drop(tensor);
        if round == 0 {
            simulator.forget_calls();
        }
    }
    assert_eq!(calls_like(simulator, "cuMem"), 0);
    drop((pool, consumer, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
