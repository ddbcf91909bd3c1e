//! Reads in a browser: a read that would block fails with advice to await, and a lost device is
//! reported.

use pool_core::{Pool, PoolView, PoolViewMut};
use pool_wgpu::{Wgpu, WgpuError, suspend, wgpu};

use crate::runner::Test;
use crate::wgpu::support::{destroy, own_stream, run_event_loop};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "waiting::no_reading_blocks", run: no_reading_blocks },
    Test { name: "waiting::a_reading_that_has_arrived_needs_no_waiting", run: an_arrived_reading },
    Test { name: "waiting::a_reading_of_a_lost_device_is_an_error", run: a_lost_reading },
    Test { name: "waiting::the_thread_has_the_stream_that_was_chosen", run: a_chosen_stream },
];

fn no_reading_blocks() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(100, 7_u32);
    suspend::refused(|| {
        assert_eq!(view.copy_to_vec(), Err(WgpuError::CannotWait));
        assert_eq!(view.copy_to_host(&mut [0; 100]), Err(WgpuError::CannotWait));
        let waited = view.read().and_then(pool_wgpu::Reading::wait);
        let Err(error) = waited else { panic!("{waited:?}") };
        assert!(error.to_string().contains("await `read()`"), "{error}");
        // Elements of another stream are copied through the host.
        let other = pool_wgpu::Stream::new(stream.device().clone(), stream.queue().clone());
        let mut others = Pool::<Wgpu>::new(other.unwrap_or_else(|error| panic!("{error}")));
        let scope = others.scope();
        let foreign = scope.acquire_filled(100, 8_u32);
        assert_eq!(view.copy_from(foreign.as_view()), Err(WgpuError::CannotWait));
    });
    assert_eq!(view.copy_to_vec(), Ok(vec![7; 100]));
    // The buffer of the dropped read was reused.
    assert!(stream.counts().staging_buffers_created <= 4, "{:?}", stream.counts());
}

fn an_arrived_reading() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream);
    let scope = pool.scope();
    let view = scope.acquire_filled(100, 7_u32);
    let readings = [(); 2].map(|()| view.read().unwrap_or_else(|error| panic!("{error}")));
    let [awaited, waited] = readings;
    assert_eq!(suspend::wait(awaited), Ok(vec![7; 100]));
    run_event_loop();
    assert_eq!(suspend::refused(|| waited.wait()), Ok(vec![7; 100]));
}

fn a_lost_reading() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let view = scope.acquire_filled(100, 7_u32);
    let (first, second) = (view.read(), view.read());
    destroy(&stream);
    let first = suspend::wait(first.unwrap_or_else(|error| panic!("{error}")));
    // The data may have arrived before.
    assert!(matches!(first, Ok(_) | Err(WgpuError::DeviceLost)), "{first:?}");
    drop(second);
    run_event_loop();
    assert!(stream.is_lost());
    assert_eq!(view.read().map(drop), Err(WgpuError::DeviceLost));
    drop(pool);
    let counts = stream.counts();
    assert_eq!(counts.buffers_created, counts.buffers_freed);
}

fn a_chosen_stream() {
    let refused = pool_wgpu::Stream::for_thread();
    assert!(matches!(refused, Err(WgpuError::NoAdapter { .. })), "{refused:?}");
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    stream.set_for_thread();
    assert!(stream.is_for_thread() && pool_wgpu::Stream::for_thread().is_ok());
}
