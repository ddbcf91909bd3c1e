//! Code of others in the middle of a call of the stream, panics, and threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use pool_core::{LendView, Pool, PoolView, PoolViewMut};
use pool_wgpu::{Access, Wgpu, WgpuError, wgpu};

use crate::kernels::{axpy, axpy_parameters};
use crate::support::{ready, stream};

#[test]
fn a_closure_records_in_order_acquires_and_is_refused_the_rest() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    {
        let scope = pool.scope();
        let mut to = scope.acquire_filled(64, 1_u32);
        let from = scope.acquire_filled(64, 2_u32);
        let buffer = |resource| match resource {
            wgpu::BindingResource::Buffer(binding) => binding.buffer.clone(),
            _ => unreachable!(),
        };
        let (target, source) =
            (buffer(to.binding().unwrap().resource()), buffer(from.binding().unwrap().resource()));
        let found = stream
            .record(|encoder| {
                encoder.copy_buffer_to_buffer(&source, 0, &target, 0, 128);
                let grown = scope.acquire::<f32, _>(10_000);
                assert_eq!(stream.record(|_| ()), Err(WgpuError::Reentered));
                assert_eq!(stream.submit(), Err(WgpuError::Reentered));
                assert_eq!(stream.pending(), Err(WgpuError::Reentered));
                assert_eq!(to.fill_with_value(3), Err(WgpuError::Reentered));
                assert_eq!(grown.copy_to_vec(), Err(WgpuError::Reentered));
                assert!(stream.kernel("", "main", &[Access::Read]).is_err());
                grown.len()
            })
            .unwrap();
        assert_eq!(found, 10_000);
        to.part_mut(..1).unwrap().fill_with_value(4).unwrap();
        let expected = [vec![4], vec![2; 31], vec![1; 32]].concat();
        assert_eq!(to.copy_to_vec().unwrap(), expected);
    }
    // Blocks are freed in the middle of a call, too.
    stream.record(|_| drop(pool)).unwrap();
    let counts = stream.counts();
    assert_eq!(counts.buffers_created, counts.buffers_freed);
}

#[test]
fn a_panic_in_a_closure_leaves_the_stream_usable() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let view = scope.acquire_filled(8, 1_u8);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        stream.record(|encoder| {
            let _pass = encoder.begin_compute_pass(&Default::default());
            std::panic::resume_unwind(Box::new("in a closure"));
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(view.copy_to_vec().unwrap(), [1; 8]);
}

#[test]
fn an_exchanged_encoder_and_an_open_pass_are_errors() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let exchanged = stream.record(|encoder| {
        *encoder = stream.device().create_command_encoder(&Default::default());
    });
    assert_eq!(exchanged, Err(WgpuError::ExchangedEncoder));
    let mut kept = None;
    let refused = stream.record(|encoder| {
        kept = Some(encoder.begin_compute_pass(&Default::default()).forget_lifetime());
    });
    assert!(matches!(refused, Err(WgpuError::Refused { .. })), "{refused:?}");
    assert_eq!(stream.submit(), Ok(()));
    // The pass belongs to the closure, and so do wgpu's errors about its end.
    let errors = stream.device().push_error_scope(wgpu::ErrorFilter::Validation);
    drop(kept);
    assert!(ready(errors.pop()).is_some());
    let scope = pool.scope();
    assert_eq!(scope.acquire_filled(2, 5_u16).copy_to_vec().unwrap(), [5, 5]);
}

#[test]
fn command_buffers_of_others_come_behind_what_is_recorded() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(16, 1_u32);
    let wgpu::BindingResource::Buffer(binding) = view.binding_mut().unwrap().resource() else {
        unreachable!()
    };
    let mut encoder = stream.device().create_command_encoder(&Default::default());
    encoder.clear_buffer(binding.buffer, 0, Some(32));
    assert_eq!(stream.pending(), Ok(1));
    stream.submit_with([encoder.finish()]).unwrap();
    assert_eq!(stream.pending(), Ok(0));
    assert_eq!(view.copy_to_vec().unwrap(), [vec![0; 8], vec![1; 8]].concat());
}

#[test]
fn a_pool_goes_to_another_thread_and_threads_take_turns() {
    let Some((stream, _quiet)) = stream() else { return };
    let kernel = axpy(&stream);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|threads| {
        for number in 1..=4_u8 {
            let (stream, kernel, sender) = (stream.clone(), kernel.clone(), sender.clone());
            let pool = Pool::<Wgpu>::new(stream.clone());
            threads.spawn(move || {
                let mut pool = pool;
                for _ in 0..50 {
                    let scope = pool.scope();
                    let mut y = scope.acquire_zeroed::<f32, _>(100);
                    let x = scope.acquire_filled(100, f32::from(number));
                    for _ in 0..10 {
                        let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
                        stream
                            .dispatch(&kernel, &bindings, &axpy_parameters(1.0, 100), [2, 1, 1])
                            .unwrap();
                    }
                    let found = y.as_view().copy_to_vec().unwrap();
                    sender.send(found == [10.0 * f32::from(number); 100]).unwrap();
                }
            });
        }
    });
    drop(sender);
    assert!(receiver.iter().all(|is_right| is_right));
    let counts = stream.counts();
    assert_eq!((counts.buffers_created, counts.buffers_freed), (8, 8));
}
