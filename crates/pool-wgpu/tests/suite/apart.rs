//! A mistake of one user of a stream affects only that user: closures of `record`, dispatches and
//! command buffers are refused alone. The error of a batch that is refused as a whole reaches each
//! thread that recorded into it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::thread;

use pool_core::{LendView, Pool, PoolError, PoolView, PoolViewMut};
use pool_wgpu::{Access, Binding, Stream, Wgpu, WgpuError, wgpu};

use crate::kernels::{axpy, axpy_parameters};
use crate::support::{own_stream, stream};

/// A buffer of four bytes of the user's own.
fn own_buffer(stream: &Stream, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    stream.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage,
        mapped_at_creation: false,
    })
}

pub(crate) fn buffer_of(binding: &Binding<'_>) -> wgpu::Buffer {
    match binding.resource() {
        wgpu::BindingResource::Buffer(binding) => binding.buffer.clone(),
        other => panic!("{other:?}"),
    }
}

/// Clears two bytes, which WebGPU has no command for.
fn record_nonsense(stream: &Stream) -> Result<(), WgpuError> {
    let buffer = own_buffer(stream, wgpu::BufferUsages::COPY_DST);
    stream.record(|encoder| encoder.clear_buffer(&buffer, 2, Some(3)))
}

/// Runs `wrong` between a fill and a read of another thread, and returns that thread's read.
fn beside(stream: &Stream, wrong: impl FnOnce()) -> Result<Vec<u32>, WgpuError> {
    let both = Barrier::new(2);
    thread::scope(|threads| {
        let innocent = threads.spawn(|| {
            let mut pool = Pool::<Wgpu>::new(stream.clone());
            let scope = pool.scope();
            let mut view = scope.acquire_filled(100, 7_u32);
            assert_eq!(view.copy_to_vec().unwrap(), [7; 100]);
            view.fill_with_value(3).unwrap();
            both.wait();
            both.wait();
            view.copy_to_vec()
        });
        both.wait();
        let ended = catch_unwind(AssertUnwindSafe(wrong));
        both.wait();
        let found = innocent.join().unwrap();
        ended.map(|()| found).unwrap_or_else(|panicked| resume_unwind(panicked))
    })
}

#[test]
fn wg1_a_closure_that_wgpu_refuses_is_an_error_of_that_call_alone() {
    let Some((stream, _quiet)) = stream() else { return };
    let found = beside(&stream, || {
        let refused = record_nonsense(&stream);
        assert!(matches!(refused, Err(WgpuError::Refused { .. })), "{refused:?}");
        assert_eq!(stream.submit(), Ok(()));
    });
    assert_eq!(found, Ok(vec![3; 100]));
}

#[test]
fn wg1_a_dispatch_that_only_wgpu_refuses_is_an_error_of_that_call_alone() {
    let Some((stream, _quiet)) = stream() else { return };
    let source = "@group(0) @binding(0) var<storage, read_write> y: array<u32, 1000>;
        @compute @workgroup_size(1) fn main() { y[0] = 1; }";
    let kernel = stream.kernel(source, "main", &[Access::ReadWrite]).unwrap();
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut short = scope.acquire_zeroed::<u32, _>(3);
    let mut long = scope.acquire_zeroed::<u32, _>(1_000);
    stream.submit().unwrap();
    let found = beside(&stream, || {
        for _ in 0..3 {
            let pending = stream.pending();
            let refused = stream.dispatch(&kernel, &[short.binding_mut().unwrap()], &[], [1; 3]);
            assert!(matches!(refused, Err(WgpuError::Refused { .. })), "{refused:?}");
            assert_eq!(stream.pending(), pending);
        }
        stream.dispatch(&kernel, &[long.binding_mut().unwrap()], &[], [1; 3]).unwrap();
        assert_eq!(stream.submit(), Ok(()));
    });
    assert_eq!(found, Ok(vec![3; 100]));
    assert_eq!(long.part(..2).unwrap().copy_to_vec().unwrap(), [1, 0]);
}

#[test]
fn wg1_command_buffers_of_the_user_that_wgpu_refuses_are_refused_alone() {
    let Some((stream, _quiet)) = stream() else { return };
    let buffer = own_buffer(&stream, wgpu::BufferUsages::COPY_DST);
    let mut encoder = stream.device().create_command_encoder(&Default::default());
    encoder.clear_buffer(&buffer, 0, None);
    let commands = encoder.finish();
    buffer.destroy();
    let found = beside(&stream, || {
        let refused = stream.submit_with([commands]);
        assert!(matches!(refused, Err(WgpuError::Refused { .. })), "{refused:?}");
    });
    assert_eq!(found, Ok(vec![3; 100]));
}

#[test]
fn wg1_a_closure_that_is_refused_when_it_is_submitted_is_reported_to_its_thread_alone() {
    let Some((stream, _quiet)) = stream() else { return };
    let buffer = own_buffer(&stream, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    let found = beside(&stream, || {
        stream.record(|encoder| encoder.clear_buffer(&buffer, 0, None)).unwrap();
        // Mapped before the batch is submitted.
        buffer.map_async(wgpu::MapMode::Read, .., |_| ());
        let refused = stream.submit();
        assert!(matches!(refused, Err(WgpuError::SubmissionRefused { .. })), "{refused:?}");
        assert_eq!(stream.submit(), Ok(()));
    });
    assert_eq!(found, Ok(vec![3; 100]));
    let buffer = own_buffer(&stream, wgpu::BufferUsages::COPY_DST);
    let found = beside(&stream, || {
        stream.record(|encoder| encoder.clear_buffer(&buffer, 0, None)).unwrap();
        buffer.destroy();
        // The other thread submits.
    });
    assert_eq!(found, Ok(vec![3; 100]));
    let reported = stream.pending();
    assert!(matches!(reported, Err(WgpuError::SubmissionRefused { .. })), "{reported:?}");
    assert_eq!(stream.submit(), Ok(()));
}

#[test]
fn wg1_commands_that_are_refused_together_are_reported_to_each_thread_that_recorded_them_and_once()
{
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(10, 1_u32);
    let found = beside(&stream, || {
        view.fill_with_value(2).unwrap();
        buffer_of(&view.binding().unwrap()).destroy();
        let refused = stream.submit();
        assert!(matches!(refused, Err(WgpuError::SubmissionRefused { .. })), "{refused:?}");
        assert_eq!(stream.submit(), Ok(()));
    });
    assert!(matches!(found, Err(WgpuError::SubmissionRefused { .. })), "{found:?}");
    // A thread that had no part in it gets no error.
    assert!(thread::scope(|threads| threads.spawn(|| stream.pending()).join().unwrap()).is_ok());
}

#[test]
fn wg1_a_batch_that_is_refused_while_a_pool_settles_is_reported_by_the_next_call() {
    let Some((stream, _quiet)) = stream() else { return };
    let buffer = own_buffer(&stream, wgpu::BufferUsages::COPY_DST);
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    pool.scope().acquire_filled(10, 1_u8);
    stream.record(|encoder| encoder.clear_buffer(&buffer, 0, None)).unwrap();
    buffer.destroy();
    pool.trim();
    assert!(matches!(stream.submit(), Err(WgpuError::SubmissionRefused { .. })));
    assert_eq!(stream.submit(), Ok(()));
}

#[test]
fn wg1_a_block_whose_buffer_was_destroyed_is_named_and_trim_replaces_it() {
    let Some((stream, _quiet)) = stream() else { return };
    let kernel = axpy(&stream);
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let mut other_pool = Pool::<Wgpu>::new(stream.clone());
    let identity = {
        let scope = pool.scope();
        let view = scope.acquire_filled(100, 1.0_f32);
        buffer_of(&view.binding().unwrap()).destroy();
        let reported = view.copy_to_vec();
        let Err(WgpuError::SubmissionRefused { message }) = &reported else {
            panic!("{reported:?}")
        };
        assert!(message.contains(&format!("{:#x}", view.address())), "{message}");
        view.address()
    };
    for _ in 0..3 {
        let other = other_pool.scope();
        let kept = other.acquire_filled(100, 5.0_f32);
        {
            let scope = pool.scope();
            let destroyed = WgpuError::BufferDestroyed { identity, bytes: 512 };
            match scope.try_acquire_filled(100, 2.0_f32) {
                Err(PoolError::Backend { source, .. }) => assert_eq!(source, destroyed),
                other => panic!("{identity:#x}: {other:?}"),
            }
            let mut view = scope.acquire::<f32, _>(100);
            assert_eq!(view.address(), identity);
            assert_eq!(view.copy_to_vec(), Err(destroyed.clone()));
            assert_eq!(view.copy_from_host(&[0.0; 100]), Err(destroyed.clone()));
            assert_eq!(view.copy_from(kept.as_view()), Err(destroyed.clone()));
            let bindings = [view.binding_mut().unwrap(), kept.binding().unwrap()];
            let reported = stream.dispatch(&kernel, &bindings, &axpy_parameters(1.0, 1), [1; 3]);
            assert_eq!(reported, Err(destroyed));
        }
        assert_eq!(kept.copy_to_vec(), Ok(vec![5.0; 100]), "others are not affected");
    }
    pool.trim();
    let scope = pool.scope();
    assert_eq!(scope.acquire_filled(100, 3.0_f32).copy_to_vec(), Ok(vec![3.0; 100]));
}

#[test]
fn wg2_a_leaked_pass_is_a_typed_error_and_fills_uploads_and_reads_go_on() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(1_000, 7.0_f32);
    let leak = || {
        let leaked = stream.record(|encoder| {
            std::mem::forget(encoder.begin_compute_pass(&Default::default()).forget_lifetime());
        });
        assert!(matches!(leaked, Err(WgpuError::Refused { .. })), "{leaked:?}");
        let leaked = stream.record(|encoder| {
            std::mem::forget(encoder.begin_compute_pass(&Default::default()).forget_lifetime());
            encoder.push_debug_group("in a locked encoder");
        });
        assert!(matches!(leaked, Err(WgpuError::Refused { .. })), "{leaked:?}");
    };
    leak();
    view.fill_with_value(3.0).unwrap();
    leak();
    assert_eq!(view.copy_to_vec(), Ok(vec![3.0; 1_000]));
    leak();
    view.copy_from_host(&[1.0; 1_000]).unwrap();
    leak();
    assert_eq!(stream.submit(), Ok(()));
    assert_eq!(view.copy_to_vec(), Ok(vec![1.0; 1_000]));
    // Returned by the closure, and so dropped by `record`.
    let returned =
        stream.record(|encoder| encoder.begin_compute_pass(&Default::default()).forget_lifetime());
    assert!(matches!(returned, Err(WgpuError::Refused { .. })), "{returned:?}");
    let unbalanced = stream.record(|encoder| encoder.push_debug_group("never popped"));
    assert!(matches!(unbalanced, Err(WgpuError::Refused { .. })), "{unbalanced:?}");
}

/// If a closure fails, the call returns the closure's own error and not wgpu's. It records none of
/// the closure's commands.
#[test]
fn the_closures_own_error_is_returned_and_nothing_of_it_is_recorded() {
    #[derive(Debug, PartialEq)]
    enum Own {
        Error,
        Wgpu(WgpuError),
    }
    impl From<WgpuError> for Own {
        fn from(error: WgpuError) -> Self {
            Self::Wgpu(error)
        }
    }
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let view = scope.acquire_filled(100, 7.0_f32);
    let target = buffer_of(&view.as_view().binding().unwrap());
    let failed = stream.try_record(|encoder| {
        encoder.clear_buffer(&target, 0, None);
        Err::<(), _>(Own::Error)
    });
    assert_eq!(failed, Err(Own::Error));
    assert_eq!(view.copy_to_vec(), Ok(vec![7.0; 100]), "its command is not recorded");
    let refused_too = stream.try_record(|encoder| {
        encoder.push_debug_group("never popped");
        std::mem::forget(encoder.begin_compute_pass(&Default::default()).forget_lifetime());
        Err::<(), _>(Own::Error)
    });
    assert_eq!(refused_too, Err(Own::Error));
    let refused = stream.try_record(|encoder| {
        encoder.push_debug_group("never popped");
        Ok::<_, Own>(1)
    });
    assert!(matches!(refused, Err(Own::Wgpu(WgpuError::Refused { .. }))), "{refused:?}");
    let done = stream.try_record(|encoder| {
        encoder.clear_buffer(&target, 0, None);
        Ok::<_, Own>(2)
    });
    assert_eq!(done, Ok(2));
    assert_eq!(view.copy_to_vec(), Ok(vec![0.0; 100]));
}

#[test]
fn wg3_an_exchanged_encoder_costs_its_own_commands_and_no_later_batch() {
    let Some((stream, _quiet)) = stream() else { return };
    let kernel = axpy(&stream);
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut y = scope.acquire_zeroed::<f32, _>(100);
    let x = scope.acquire_filled(100, 1.0_f32);
    let target = buffer_of(&y.binding().unwrap());
    for round in 1..=4_u8 {
        for _ in 0..300 {
            let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
            stream.dispatch(&kernel, &bindings, &axpy_parameters(1.0, 100), [2, 1, 1]).unwrap();
        }
        let mut kept = None;
        let exchanged = stream.record(|encoder| {
            encoder.clear_buffer(&target, 0, None);
            let other = stream.device().create_command_encoder(&Default::default());
            kept = Some(std::mem::replace(encoder, other));
        });
        assert_eq!(exchanged, Err(WgpuError::ExchangedEncoder));
        assert!(kept.is_some());
        if round % 2 == 0 {
            assert_eq!(stream.submit(), Ok(()));
        }
        assert_eq!(y.copy_to_vec(), Ok(vec![300.0 * f32::from(round); 100]));
    }
}

/// A callback of the user's that panics while the stream submits costs no part of the batch.
#[test]
fn a_callback_that_panics_in_a_submission_takes_no_commands_with_it() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(1_000, 1_u32);
    let target = buffer_of(&view.binding().unwrap());
    for round in 2..6_u32 {
        assert_eq!(view.copy_to_vec().unwrap()[999], round - 1);
        stream.queue().on_submitted_work_done(|| panic!("the callback's own"));
        view.fill_with_value(round).unwrap();
        stream.record(|encoder| encoder.clear_buffer(&target, 0, Some(8))).unwrap();
        view.part_mut(1..2).unwrap().copy_from_host(&[round]).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| stream.submit())).is_err());
        assert_eq!(stream.pending(), Ok(0));
        let expected = [vec![0, round], vec![round; 998]].concat();
        assert_eq!(view.copy_to_vec().unwrap(), expected);
    }
}

#[test]
fn closures_and_commands_of_the_stream_keep_their_order() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(64, 1_u32);
    let target = buffer_of(&view.binding().unwrap());
    for round in 0..40_u32 {
        view.part_mut(..32).unwrap().fill_with_value(round).unwrap();
        let copy = |encoder: &mut wgpu::CommandEncoder| {
            encoder.clear_buffer(&target, 0, Some(4));
        };
        stream.record(copy).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            stream.record(|encoder| {
                encoder.clear_buffer(&target, 0, None);
                resume_unwind(Box::new("in a closure"));
            })
        }));
        assert!(panicked.is_err());
        view.part_mut(1..2).unwrap().copy_from_host(&[round + 7]).unwrap();
        if round % 20 == 0 {
            let expected = [vec![0, round + 7], vec![round; 30], vec![1; 32]].concat();
            assert_eq!(view.copy_to_vec().unwrap(), expected);
        }
    }
}
