//! What cannot be: other devices, lost contexts, faults of the device. Each is an error with a name.

use cuda_sim_control::Settings;
use cudarc::driver::DevicePtr;
use pool_core::PoolError;
use pool_cuda::{Cuda, CudaError, record_use};

use crate::support::{pool, start, start_anew};

fn two_devices() -> cuda_sim_control::Simulator {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    simulator
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn ordinals() {
    let _ = two_devices();
    assert_eq!(Cuda::device_count(), Ok(2));
    assert!(Cuda::is_available());
    assert_eq!(Cuda::device(1).unwrap().ordinal(), 1);
    assert_eq!(Cuda::device(1).unwrap().name().unwrap(), "Simulated device");
    let error = Cuda::device(7).unwrap_err();
    assert_eq!(error, CudaError::NoSuchDevice { asked: 7, count: 2 });
    assert_eq!(Cuda::set_device(2), Err(CudaError::NoSuchDevice { asked: 2, count: 2 }));
    assert_eq!(Cuda::current_device(), 0);
    Cuda::set_device(1).unwrap();
    assert_eq!(Cuda::current_device(), 1);
    assert_eq!(pool_cuda::DeviceStream::of_thread().unwrap().device().ordinal(), 1);
    std::thread::spawn(|| assert_eq!(Cuda::current_device(), 0)).join().unwrap();
}

/// Nothing of it is kept: when the driver works, it is used.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_driver_that_does_not_start() {
    let simulator = start();
    simulator.fail_call("cuDriverGetVersion", 1, 999);
    assert!(matches!(
        Cuda::device_count(),
        Err(CudaError::Call { call: "cuDriverGetVersion", .. })
    ));
    simulator.fail_call("cuInit", 1, 100);
    assert_eq!(Cuda::device_count(), Err(CudaError::NoDevice));
    simulator.fail_call("cuInit", 1, 34);
    let stub = Cuda::device(0).unwrap_err();
    assert_eq!(stub.code().unwrap().number(), 34);
    assert!(stub.to_string().contains("stub"), "{stub}");
    simulator.fail_call("cuDeviceGetCount", 1, 999);
    assert!(!Cuda::is_available());
    assert_eq!(Cuda::device_count(), Ok(1));
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stream_of_another_device() {
    let simulator = two_devices();
    let (here, there) = (Cuda::device(0).unwrap(), Cuda::device(1).unwrap());
    let mut pool = pool(&here);
    let far = there.context().new_stream().unwrap();
    let scope = pool.scope();
    let mut view = scope.acquire_zeroed::<u32>(100);
    let wrong = CudaError::WrongDevice { memory: 0, stream: 1 };
    assert_eq!(record_use(&view, &far), Err(wrong));
    assert_eq!(view.on(&far).unwrap_err(), wrong);
    let text = wrong.to_string();
    assert!(text.contains("device 0") && text.contains("device 1"), "{text}");
    // cudarc's traits cannot answer: the address is one that the driver refuses.
    assert_eq!(view.device_ptr(&far).0, 0);
    assert_eq!(scope.context().take_unanswered(), Some(wrong));
    assert!(far.memset_zeros(&mut view).is_err());
    assert_eq!(view.to_vec().unwrap(), [0; 100]);
    simulator.forget_reports();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pools_of_two_devices_side_by_side() {
    let simulator = two_devices();
    {
        let (here, there) = (Cuda::device(0).unwrap(), Cuda::device(1).unwrap());
        let (mut near, mut far) = (pool(&here), pool(&there));
        for round in 0..5_u16 {
            let (near, far) = (near.scope(), far.scope());
            let (one, two) = (near.acquire_filled(99, round), far.acquire_filled(99, round + 1));
            assert_eq!((one.ordinal(), two.ordinal()), (0, 1));
            assert_eq!(one.to_vec().unwrap(), [round; 99]);
            assert_eq!(two.to_vec().unwrap(), [round + 1; 99]);
        }
    }
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// Somebody else lets go of the context once too often.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_destroyed_context() {
    let _simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    pool.scope().acquire::<u8>(10);
    // SAFETY: the context is the simulator's, which refuses what comes after.
    unsafe { cudarc::driver::result::primary_ctx::release(device.context().cu_device()) }.unwrap();
    let scope = pool.scope();
    match scope.try_acquire::<u8>(1000) {
        Err(PoolError::OutOfMemory { source: CudaError::Call { code, .. }, .. }) => {
            println!("{code}");
            assert!([201, 709, 400].contains(&code.number()), "{code}");
        }
        other => panic!("{other:?}"),
    }
    assert!(scope.try_acquire_zeroed::<u8>(5).is_err());
    // No panic, whatever the driver answers.
    drop(pool);
    drop(device);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_sticky_error() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let scope = pool.scope();
    let view = scope.acquire_zeroed::<u8>(10);
    simulator.fail_call("cuEventSynchronize", 1, 700);
    let error = view.to_vec().unwrap_err();
    assert!(error.is_sticky());
    assert!(error.to_string().contains("700 ILLEGAL_ADDRESS"), "{error}");
    assert_eq!(scope.context().take_unanswered(), None, "it was answered");
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_that_is_used_after_trim_is_refused_by_the_driver() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let address = pool.scope().acquire::<u8>(10).address();
    pool.trim();
    let stream = pool.context().stream().clone();
    // SAFETY: the address is the simulator's, which refuses it.
    let late =
        unsafe { cudarc::driver::result::memset_d8_async(address, 0, 10, stream.cu_stream()) };
    assert!(late.is_err());
    assert_eq!(simulator.reports().len(), 1);
    assert_eq!(pool.scope().acquire_zeroed::<u8>(10).to_vec().unwrap(), [0; 10]);
}
