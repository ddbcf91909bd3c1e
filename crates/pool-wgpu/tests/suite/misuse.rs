//! Arguments that look right but are wrong: no parameters, thousands of slices, the queue of
//! another device, destroyed blocks, lists of command buffers with one that wgpu refuses.

use std::time::{Duration, Instant};

use pool_core::{DynamicPool, LendView, Pool, PoolView, PoolViewMut};
use pool_wgpu::{Access, Stream, Wgpu, WgpuError, wgpu};

use crate::apart::buffer_of;
use crate::kernels::{axpy, axpy_parameters};
use crate::support::{own_stream, stream};

#[test]
fn wg6_a_dispatch_without_parameters_sees_zeros_and_never_those_of_another() {
    let Some((stream, _quiet)) = stream() else { return };
    let source = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @group(1) @binding(0) var<uniform> parameter: vec4<u32>;
        @compute @workgroup_size(1) fn main() { y[0] = parameter.x + parameter.w; }";
    let kernel = stream.kernel(source, "main", &[Access::ReadWrite]).unwrap();
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut views = [(); 6].map(|()| scope.acquire_filled(4, 9_u32));
    let four = |number: u32| [number; 4].map(u32::to_le_bytes).concat();
    let mut run = || {
        let given = [four(0), four(5), vec![], four(6)[..4].to_vec(), vec![], four(7)];
        // Before the dispatches: fills have parameters, too.
        views.iter_mut().for_each(|view| view.fill_with_value(9).unwrap());
        for (view, parameters) in views.iter_mut().zip(given) {
            stream.dispatch(&kernel, &[view.binding_mut().unwrap()], &parameters, [1; 3]).unwrap();
        }
        views.each_ref().map(|view| view.part(..1).unwrap().copy_to_vec().unwrap()[0])
    };
    for _ in 0..3 {
        // The second batch finds the uniform full of the first one's parameters.
        assert_eq!(run(), [0, 10, 0, 6, 0, 14]);
    }
}

#[test]
fn wg7_bind_groups_are_bounded_and_a_block_is_freed_in_no_time() {
    const SLICES: usize = 9_000;
    let Some((stream, _quiet)) = stream() else { return };
    let kernel = axpy(&stream);
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let mut blocks = DynamicPool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut y = scope.acquire_zeroed::<f32, _>(64);
    let handle = blocks.acquire_filled(SLICES, 1.0_f32);
    let mut dispatch = |blocks: &DynamicPool<Wgpu>, length: usize| {
        let view = blocks.get(handle).unwrap();
        let part = view.part(..length).unwrap();
        let bindings = [y.binding_mut().unwrap(), part.binding().unwrap()];
        stream.dispatch(&kernel, &bindings, &axpy_parameters(1.0, 1), [1; 3]).unwrap();
    };
    let of_fills = stream.counts().bind_groups_created;
    let created = || stream.counts().bind_groups_created - of_fills;
    for length in 1..=SLICES {
        dispatch(&blocks, length);
        // Used all the time, so it stays.
        dispatch(&blocks, 1);
    }
    let before = created();
    assert_eq!(before, SLICES as u64);
    dispatch(&blocks, 1);
    dispatch(&blocks, SLICES - 4_000);
    assert_eq!(created(), before, "what was used lately is kept");
    dispatch(&blocks, 2);
    assert_eq!(created(), before + 1, "what was not is made again");
    stream.submit().unwrap();
    stream.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let start = Instant::now();
    drop(blocks);
    stream.submit().unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(y.part(..1).unwrap().copy_to_vec(), Ok(vec![2.0 * SLICES as f32 + 3.0]));
}

#[test]
fn wg8_a_queue_of_another_device_is_refused() {
    let Some((one, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let Some((two, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(one.clone());
    let scope = pool.scope();
    let view = scope.acquire_filled(100_000, 1_u32);
    one.submit().unwrap();
    for (device, queue) in [(&one, &two), (&two, &one)] {
        let mixed = Stream::new(device.device().clone(), queue.queue().clone());
        assert_eq!(mixed.err(), Some(WgpuError::OtherQueue));
    }
    // Of one instance, as well.
    for stream in [&one, &two] {
        assert!(Stream::new(stream.device().clone(), stream.queue().clone()).is_ok());
    }
    assert_eq!(view.copy_to_vec(), Ok(vec![1; 100_000]));
}

#[test]
fn wg8_streams_are_made_while_other_threads_poll_the_device() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                    stream.device().poll(wgpu::PollType::Poll).unwrap();
                }
            });
        }
        for _ in 0..50 {
            Stream::new(stream.device().clone(), stream.queue().clone()).unwrap();
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn two_written_parts_of_one_buffer_may_be_bound_where_they_are_apart() {
    let Some((stream, _quiet)) = stream() else { return };
    let source = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn main() { x[0] = 1; y[0] = 2; }";
    let kernel = stream.kernel(source, "main", &[Access::ReadWrite; 2]).unwrap();
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_zeroed::<u32, _>(128);
    let (mut first, mut second) = view.reborrow().into_split_at(64).unwrap();
    let bindings = [first.binding_mut().unwrap(), second.binding_mut().unwrap()];
    stream.dispatch(&kernel, &bindings, &[], [1; 3]).unwrap();
    let shared = WgpuError::SharedBuffer { kernel: "main".to_owned(), first: 0, second: 1 };
    let (first, same) = (bindings[0], bindings[0]);
    assert_eq!(stream.dispatch(&kernel, &[first, same], &[], [1; 3]), Err(shared));
    let found = view.copy_to_vec().unwrap();
    assert_eq!((found[0], found[64], found[1]), (1, 2, 0));
}

/// wgpu 30 counts the memory that the first buffers of a refused list name as cleared, and has not
/// cleared it.
#[test]
fn wg9_a_refused_list_of_command_buffers_shows_no_bytes_of_freed_memory() {
    const BYTES: u64 = 1 << 16;
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let words = usize::try_from(BYTES / 4).unwrap();
    {
        let mut pool = Pool::<Wgpu>::new(stream.clone());
        let scope = pool.scope();
        let kept = [(); 64].map(|()| scope.acquire_filled(words, 0x5a5a_5a5a_u32));
        assert_eq!(kept[63].copy_to_vec().unwrap()[5], 0x5a5a_5a5a);
    }
    stream.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();

    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let fresh = scope.acquire::<u32, _>(words);
    let mut last = scope.acquire_filled(1, 7_u32);
    let (block, behind) =
        (buffer_of(&fresh.binding().unwrap()), buffer_of(&last.binding().unwrap()));
    let own = |size| {
        stream.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        })
    };
    let (target, gone) = (own(BYTES), own(4));
    let finished = |code: &dyn Fn(&mut wgpu::CommandEncoder)| {
        let mut encoder = stream.device().create_command_encoder(&Default::default());
        code(&mut encoder);
        encoder.finish()
    };
    let list = [
        finished(&|encoder| encoder.copy_buffer_to_buffer(&block, 0, &target, 0, BYTES)),
        finished(&|encoder| encoder.clear_buffer(&gone, 0, None)),
        finished(&|encoder| encoder.clear_buffer(&behind, 0, None)),
    ];
    gone.destroy();
    let refused = stream.submit_with(list);
    assert!(matches!(refused, Err(WgpuError::Refused { .. })), "{refused:?}");
    assert_eq!(fresh.copy_to_vec(), Ok(vec![0; words]), "a block is cleared before it is read");
    assert_eq!(
        last.copy_to_vec(),
        Ok(vec![7]),
        "what comes behind the refused one is not submitted"
    );
    let good = [finished(&|encoder| encoder.clear_buffer(&behind, 0, None)), finished(&|_| ())];
    assert_eq!(stream.submit_with(good), Ok(()));
    assert_eq!(last.copy_to_vec(), Ok(vec![0]));
    last.fill_with_value(8).unwrap();
    assert_eq!(last.copy_to_vec(), Ok(vec![8]));
}

/// Before any submission is refused, and with a bind group that was not made before.
#[test]
fn wg9_a_destroyed_block_is_named_by_the_dispatch_that_binds_it_first() {
    let Some((stream, _quiet)) = stream() else { return };
    let kernel = axpy(&stream);
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let x = scope.acquire_filled(100, 1.0_f32);
    let mut y = scope.acquire::<f32, _>(100);
    stream.submit().unwrap();
    buffer_of(&y.binding().unwrap()).destroy();
    let destroyed = WgpuError::BufferDestroyed { identity: y.address(), bytes: 512 };
    assert_eq!(y.fill_with_value(2.0), Err(destroyed.clone()));
    let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
    let reported = stream.dispatch(&kernel, &bindings, &axpy_parameters(1.0, 100), [2, 1, 1]);
    assert_eq!(reported, Err(destroyed));
    assert_eq!(stream.submit(), Ok(()));
    assert_eq!(x.copy_to_vec(), Ok(vec![1.0; 100]));
}
