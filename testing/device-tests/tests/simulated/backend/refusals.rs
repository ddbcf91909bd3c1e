//! Refusals because of other devices, broken contexts and device faults. Each is a typed error.

use cuda_sim_control::{Mistake, Report, Settings, Simulator};
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED;
use cudarc::driver::{DevicePtr, LaunchConfig, PushKernelArg};
use pool_core::{Compaction, Pool, PoolError, PoolView, PoolViewMut, Scope};
use pool_cuda::{
    AcquireShaped, Cuda, CudaDevice, CudaError, DeviceViewMut, Launch, record_use, register_stream,
};
use pool_kernels::elementwise;

use crate::support::{function, orders, pool, start, start_anew};

fn two_devices() -> Simulator {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    simulator
}

/// Runs a program with two devices in many orders. After each run, there are no leaks, and no
/// reports that the program has not taken.
fn with_two_devices(program: impl Fn(Simulator, [CudaDevice; 2])) {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        program(simulator, [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap()));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
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
    assert_eq!(pool_cuda::DeviceStream::for_thread().unwrap().device().ordinal(), 1);
    std::thread::spawn(|| assert_eq!(Cuda::current_device(), 0)).join().unwrap();
}

/// The failure is not cached, so the driver is used once it works.
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
    with_two_devices(|simulator, [here, there]| {
        let mut pool = pool(&here);
        let far = there.context().new_stream().unwrap();
        let scope = pool.scope();
        let mut view = scope.acquire_zeroed::<u32, _>(100);
        let wrong = CudaError::WrongDevice { memory: 0, stream: 1 };
        assert_eq!(record_use(&view, &far), Err(wrong));
        assert_eq!(view.on(&far).unwrap_err(), wrong);
        let text = wrong.to_string();
        assert!(text.contains("device 0") && text.contains("device 1"), "{text}");
        // cudarc's traits cannot return an error, so they return an address that the driver
        // refuses.
        assert_eq!(view.device_ptr(&far).0, 0);
        assert_eq!(scope.context().take_pending_error(), Some(wrong));
        assert!(far.memset_zeros(&mut view).is_err());
        simulator.forget_reports();
        assert_eq!(view.copy_to_vec().unwrap(), [0; 100]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pools_of_two_devices_side_by_side() {
    with_two_devices(|_, [here, there]| {
        let (mut near, mut far) = (pool(&here), pool(&there));
        for round in 0..5_u16 {
            let (near, far) = (near.scope(), far.scope());
            let (one, two) = (near.acquire_filled(99, round), far.acquire_filled(99, round + 1));
            assert_eq!((one.ordinal(), two.ordinal()), (0, 1));
            assert_eq!(one.copy_to_vec().unwrap(), [round; 99]);
            assert_eq!(two.copy_to_vec().unwrap(), [round + 1; 99]);
        }
    });
}

/// Other code releases the context one time too many.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_destroyed_context() {
    let _simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    pool.scope().acquire::<u8, _>(10);
    // SAFETY: the context belongs to the simulator, which refuses later calls.
    unsafe { cudarc::driver::result::primary_ctx::release(device.context().cu_device()) }.unwrap();
    let scope = pool.scope();
    match scope.try_acquire::<u8, _>(1000) {
        Err(PoolError::OutOfMemory { source: CudaError::Call { code, .. }, .. }) => {
            println!("{code}");
            assert!([201, 709, 400].contains(&code.number()), "{code}");
        }
        other => panic!("{other:?}"),
    }
    assert!(scope.try_acquire_zeroed::<u8, _>(5).is_err());
    // Dropping does not panic on any driver code, and keeps no destroyed object.
    drop(pool);
    drop(device);
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    assert_eq!(
        crate::support::pool(&Cuda::device(0).unwrap()).scope().acquire_zeroed::<u8, _>(5).len(),
        5
    );
}

/// A kernel writes far beyond its array, and the context is lost, as on hardware. From then on,
/// every call on the device returns the same code, without hangs or panics. A pool of another
/// device is not affected.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_that_loses_the_context() {
    let simulator = two_devices();
    let (here, there) = (Cuda::device(0).unwrap(), Cuda::device(1).unwrap());
    let (mut near, mut far) = (pool(&here), pool(&there));
    let other = here.context().new_stream().unwrap();
    register_stream(&other);
    {
        let mut scope = near.scope();
        let mut view = scope.acquire_from(&[1.0_f32; 64]);
        record_use(&view, &other).unwrap();
        overrun(&here, &scope, &mut view);
        assert_lost(view.copy_to_vec());
        assert_lost(view.fill_with_value(1.5));
        assert_lost(view.fill_with_zeros());
        assert_lost(view.copy_from_host(&[0.0; 64]));
        assert_lost(record_use(&view, &other));
        assert_lost(scope.context().synchronize());
        assert_eq!(view.device_ptr(&other).0, 0, "an address that the driver refuses");
        let pending_error = scope.context().take_pending_error().unwrap();
        assert!(pending_error.is_sticky(), "{pending_error}");
        let inner = scope.scope();
        assert_lost_in_pool(inner.try_acquire::<u8, _>(5000));
        assert_lost_in_pool(inner.try_acquire_zeroed::<u8, _>(5000));
        assert_lost_in_pool(inner.try_acquire_shaped::<f32>(&[2, 3]));
        inner.trim();
    }
    far_works(&mut far);
    near.trim();
    near.compact(&Compaction::default());
    near.clear();
    assert!(near.context().take_pending_error().unwrap().is_sticky());
    assert_lost(here.new_stream());
    assert_lost(here.memory());
    drop((near, other, here));
    far_works(&mut far);
    assert_eq!(Cuda::retry_deferred_frees(), 0, "what was lost with the context is not kept");
    let mistakes: Vec<_> = simulator.reports().iter().map(Report::mistake).collect();
    assert_eq!(mistakes, [Mistake::OutOfBounds]);
}

/// Adds to a million elements of an array that contains only 64.
fn overrun(device: &CudaDevice, scope: &Scope<'_, Cuda>, view: &mut DeviceViewMut<'_, f32>) {
    let axpy = function(device.context(), elementwise::MODULE, elementwise::AXPY.f32);
    let from = scope.acquire_filled(64, 1.0_f32);
    let block = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
    let mut launch = scope.launch(&axpy);
    launch.arg(&1.0_f32).arg(&from).arg(view).arg(&1_000_000_u64);
    // SAFETY: all of the memory belongs to the simulator, and the test checks the effect.
    unsafe { launch.launch(block) }.unwrap();
}

fn assert_lost<T: std::fmt::Debug>(answer: Result<T, CudaError>) {
    let error = answer.unwrap_err();
    assert!(error.is_sticky(), "{error}");
    assert!(error.to_string().contains("700 ILLEGAL_ADDRESS"), "{error}");
}

fn assert_lost_in_pool<T>(answer: Result<T, PoolError<CudaError>>) {
    let Err(error) = answer else { panic!("memory of a lost context") };
    match error {
        PoolError::OutOfMemory { source, .. } | PoolError::Backend { source, .. } => {
            assert_lost::<()>(Err(source));
        }
        other => panic!("{other}"),
    }
}

fn far_works(far: &mut Pool<Cuda>) {
    let scope = far.scope();
    assert_eq!(scope.acquire_from(&[7_u8; 100]).copy_to_vec().unwrap(), [7; 100]);
    assert_eq!(scope.acquire_filled(3000, 1.5_f64).copy_to_vec().unwrap(), [1.5; 3000]);
    assert_eq!(scope.context().take_pending_error(), None);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_that_is_used_after_trim_is_refused_by_the_driver() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let address = pool.scope().acquire::<u8, _>(10).address();
    pool.trim();
    let stream = pool.context().stream().clone();
    // SAFETY: the address belongs to the simulator, which refuses it.
    let late =
        unsafe { cudarc::driver::result::memset_d8_async(address, 0, 10, stream.cu_stream()) };
    assert!(late.is_err());
    assert_eq!(simulator.reports().len(), 1);
    assert_eq!(pool.scope().acquire_zeroed::<u8, _>(10).copy_to_vec().unwrap(), [0; 10]);
}

/// If the shape cannot be written, the slot is released. The causes are too many axes, a failing
/// copy, and a capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_shape_that_is_refused_takes_no_slot() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let scope = pool.scope();
    for refusal in ["axes", "cuMemcpyHtoDAsync_v2", "capture", "none"] {
        let (stream, mut dims) = (scope.context().stream(), vec![1, 6]);
        match refusal {
            "axes" => dims.resize(16, 1),
            "capture" => stream.begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED).unwrap(),
            "none" => {}
            call => simulator.fail_call(call, 1, 999),
        }
        let (active, shaped) = (scope.active_slots(), scope.try_acquire_shaped::<u8>(&dims));
        assert_eq!(shaped.is_err(), refusal != "none", "{refusal}: {shaped:?}");
        let taken = usize::from(refusal == "none");
        assert_eq!(scope.active_slots(), active + taken, "{refusal}");
        if refusal == "capture" {
            drop(stream.end_capture(CUgraphInstantiate_flags(0)).unwrap());
        }
    }
    drop((pool, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
