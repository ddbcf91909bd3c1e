//! Contents read back: by waiting, as a future, and not at all.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use pool_core::{LendView, Pool, PoolViewMut};
use pool_wgpu::Wgpu;
#[cfg(not(target_arch = "wasm32"))]
use pool_wgpu::{Stream, StreamConfig, WgpuError, wgpu};

#[cfg(not(target_arch = "wasm32"))]
use crate::support::{keep, one_at_a_time};
use crate::support::{run_event_loop, stream};

/// Polls a future until it is done.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return answer;
        }
        run_event_loop();
    }
}

#[test]
fn a_reading_is_of_its_own_and_its_staging_is_used_again() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let mut readings = Vec::new();
    for round in 0..4_u32 {
        let scope = pool.scope();
        let mut view = scope.acquire_filled(5, round);
        readings.push((round, view.read().unwrap()));
        view.fill_with_value(99).unwrap();
    }
    drop(pool);
    for (round, reading) in readings {
        let elements =
            if round % 2 == 0 { block_on(reading).unwrap() } else { reading.wait().unwrap() };
        assert_eq!(elements, [round; 5]);
    }
    assert_eq!(stream.counts().staging_buffers_created, 4);

    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let view = scope.acquire_filled(5, 3_u32);
    for _ in 0..100 {
        // Dropped while it is on its way, polled once, or awaited.
        drop(view.read().unwrap());
        let mut reading = view.read().unwrap();
        block_on(poll_fn(|context| {
            let _ = pin!(&mut reading).poll(context);
            Poll::Ready(())
        }));
        drop(reading);
        assert_eq!(block_on(view.read().unwrap()).unwrap(), [3; 5]);
    }
    assert!(stream.counts().staging_buffers_created < 10, "{:?}", stream.counts());
    assert!(view.part(..0).unwrap().read().unwrap().wait().unwrap().is_empty());
}

#[test]
fn uploads_use_their_staging_again() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let elements: Vec<u32> = (0..30_000).collect();
    for _ in 0..200 {
        let scope = pool.scope();
        let view = scope.acquire_from(&elements);
        assert_eq!(view.part(29_999..).unwrap().read().unwrap().wait().unwrap(), [29_999]);
    }
    assert!(stream.counts().staging_buffers_created < 8, "{:?}", stream.counts());
}

#[test]
#[cfg(not(target_arch = "wasm32"))]
fn a_stream_finds_an_adapter_by_itself() {
    let Some((stream, _quiet)) = stream() else { return };
    // No kernel is compiled here: older validation layers do not know what debug builds write into shaders.
    let config = StreamConfig::new().with_usages(wgpu::BufferUsages::INDIRECT);
    let found = one_at_a_time(|| Stream::open_with_config(&config)).unwrap();
    keep(found.device());
    let mut pool = Pool::<Wgpu>::new(found.clone());
    let scope = pool.scope();
    let view = scope.acquire_zeroed::<u32, _>(70);
    let binding = view.binding().unwrap();
    let wgpu::BindingResource::Buffer(buffer) = binding.resource() else { panic!("a buffer") };
    assert!(buffer.buffer.usage().contains(wgpu::BufferUsages::INDIRECT));
    assert_eq!(view.read().unwrap().wait().unwrap(), [0; 70]);
    assert_eq!(stream.supports::<f32>(), Ok(()));
    assert!(matches!(stream.supports::<i16>(), Ok(()) | Err(WgpuError::MissingFeature { .. })));
}
