//! Limits of a device, and memory of another stream: errors with their numbers, and a pool that
//! stays usable.

#[cfg(not(target_arch = "wasm32"))]
use std::process::Command;

#[cfg(not(target_arch = "wasm32"))]
use pool_core::PoolError;
use pool_core::{LendView, Pool, PoolView};
#[cfg(not(target_arch = "wasm32"))]
use pool_wgpu::StreamConfig;
use pool_wgpu::{Access, Stream, Wgpu, WgpuError, wgpu};

use crate::kernels::{axpy, axpy_parameters};
#[cfg(not(target_arch = "wasm32"))]
use crate::support::one_at_a_time;
use crate::support::{own_stream, stream};

/// Checks that memory of a pool can be acquired, used by a kernel, and read.
fn check_usable(pool: &mut Pool<Wgpu>) {
    let stream = pool.context().clone();
    let kernel = axpy(&stream);
    let scope = pool.scope();
    let mut y = scope.acquire_filled(100, 1.0_f32);
    let x = scope.acquire_filled(100, 2.0_f32);
    let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
    stream.dispatch(&kernel, &bindings, &axpy_parameters(3.0, 100), [2, 1, 1]).unwrap();
    assert_eq!(y.copy_to_vec().unwrap(), [7.0; 100]);
}

// A browser gives no device less than the default limits.
#[test]
#[cfg(not(target_arch = "wasm32"))]
fn a_view_above_the_largest_binding_is_refused_and_its_parts_are_not() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 4_096, ..Default::default() };
    let Some((stream, _quiet)) = own_stream(limits) else { return };
    let mut pool = Pool::<Wgpu>::new(stream);
    {
        let scope = pool.scope();
        let mut view = scope.acquire_zeroed::<f32, _>(1_025);
        let too_large = WgpuError::BindingTooLarge { bytes: 4_100, limit: 4_096 };
        assert_eq!(view.binding().unwrap_err(), too_large);
        assert_eq!(view.binding_mut().unwrap_err(), too_large);
        assert_eq!(view.part(..1_024).unwrap().binding().unwrap().bytes(), 4_096);
        assert_eq!(view.part(1_024..).unwrap().binding().unwrap().bytes(), 4);
    }
    check_usable(&mut pool);
}

// A browser gives no device less than the default limits.
#[test]
#[cfg(not(target_arch = "wasm32"))]
fn more_bindings_than_the_device_has_are_refused() {
    let limits = wgpu::Limits { max_storage_buffers_per_shader_stage: 4, ..Default::default() };
    let Some((stream, _quiet)) = own_stream(limits) else { return };
    let refused = stream.kernel("", "many", &[Access::Read; 5]);
    let kernel = "many".to_owned();
    assert_eq!(refused.unwrap_err(), WgpuError::TooManyBindings { kernel, declared: 5, limit: 4 });
    check_usable(&mut Pool::new(stream));
}

#[test]
fn memory_and_kernels_of_another_stream_are_refused() {
    let Some((stream, _quiet)) = stream() else { return };
    // Of the same device: wgpu would bind it, but without an order.
    let other = Stream::new(stream.device().clone(), stream.queue().clone()).unwrap();
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let mut other_pool = Pool::<Wgpu>::new(other.clone());
    {
        let (scope, other_scope) = (pool.scope(), other_pool.scope());
        let mut y = scope.acquire_filled(100, 1.0_f32);
        let x = other_scope.acquire_filled(100, 1.0_f32);
        let mut dispatch = |kernel| {
            let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
            stream.dispatch(kernel, &bindings, &axpy_parameters(1.0, 100), [2, 1, 1])
        };
        let [own, foreign] = [axpy(&stream), axpy(&other)];
        assert_eq!(dispatch(&own), Err(WgpuError::OtherStream));
        let kernel = "main".to_owned();
        assert_eq!(dispatch(&foreign), Err(WgpuError::OtherKernel { kernel }));
        assert_eq!(y.copy_to_vec().unwrap(), [1.0; 100], "nothing was done");
    }
    check_usable(&mut pool);
    check_usable(&mut other_pool);
}

#[test]
#[cfg(not(target_arch = "wasm32"))]
fn features_that_the_adapter_lacks_are_an_error_with_its_name() {
    let Some((stream, _quiet)) = stream() else { return };
    let all = StreamConfig::new().with_features(wgpu::Features::all());
    match one_at_a_time(|| Stream::open_with_config(&all)) {
        Err(WgpuError::NoDevice { adapter, message }) => {
            assert_eq!(adapter, stream.device().adapter_info().name);
            assert!(!message.is_empty());
        }
        other => panic!("{other:?}"),
    }
    check_usable(&mut Pool::new(stream));
}

/// Bytes of the blocks with which a device's memory is used up.
#[cfg(not(target_arch = "wasm32"))]
const LARGE: usize = 64 << 20;
/// Set if the process runs with little memory.
#[cfg(not(target_arch = "wasm32"))]
const WITH_LITTLE_MEMORY: &str = "POOL_WGPU_WITH_LITTLE_MEMORY";

/// The driver itself refuses, because its process may have no more than four gibibytes.
#[test]
#[cfg(not(target_arch = "wasm32"))]
fn a_driver_without_memory_is_reported_and_the_pool_goes_on() {
    let Some((stream, _quiet)) = stream() else { return };
    if stream.device().adapter_info().device_type != wgpu::DeviceType::Cpu {
        return println!("SKIPPED: the adapter's memory is not that of the process");
    }
    if std::env::var_os(WITH_LITTLE_MEMORY).is_some() {
        return use_memory_up(&stream);
    }
    let name = "limits::a_driver_without_memory_is_reported_and_the_pool_goes_on";
    let run = Command::new("sh")
        .args(["-c", "ulimit -v 4194304 && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(WITH_LITTLE_MEMORY, "1")
        .output();
    let output = match run {
        Ok(output) => output,
        Err(why) => return println!("SKIPPED: no shell that limits memory: {why}"),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("refused after"), "{text}");
}

#[cfg(not(target_arch = "wasm32"))]
fn use_memory_up(stream: &Stream) {
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    for _ in 0..2 {
        {
            let scope = pool.scope();
            let small = scope.acquire_filled(1_000, 7_u8);
            let mut blocks = 0;
            let refused = loop {
                match scope.try_acquire::<u8, _>(LARGE) {
                    Ok(_) => blocks += 1,
                    Err(refused) => break refused,
                }
                assert!(blocks < 100, "more than the process may have");
            };
            match refused {
                PoolError::OutOfMemory {
                    source: WgpuError::OutOfMemory { bytes, message },
                    ..
                } => {
                    println!("refused after {blocks} blocks of {bytes} bytes: {message}");
                    assert!(blocks > 0 && bytes >= LARGE as u64 && !message.is_empty());
                }
                other => panic!("{other:?}"),
            }
            assert!(!stream.is_lost());
            assert_eq!(small.copy_to_vec().unwrap(), [7; 1_000]);
            assert_eq!(scope.acquire_filled(500, 3_u8).copy_to_vec().unwrap(), [3; 500]);
        }
        pool.trim();
        check_usable(&mut pool);
    }
    drop(pool);
    let counts = stream.counts();
    assert_eq!(counts.buffers_created, counts.buffers_freed);
}
