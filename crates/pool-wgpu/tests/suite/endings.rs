//! Destructors of thread-local variables, where wgpu cannot be called: each call is a typed error,
//! and values dropped there are freed by another thread.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use pool_core::{Pool, PoolError, PoolView};
use pool_wgpu::{Kernel, Reading, Stream, Wgpu, WgpuError, wgpu};

use crate::kernels::axpy;
use crate::support::own_stream;

/// The state of a thread when it ends.
struct Late {
    stream: Stream,
    pool: Pool<Wgpu>,
    readings: [Reading<f32>; 3],
    /// Dropped with the rest.
    _kernel: Kernel,
    reported: Arc<Mutex<Vec<(&'static str, WgpuError)>>>,
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

fn source(error: PoolError<WgpuError>) -> WgpuError {
    match error {
        PoolError::OutOfMemory { source, .. } | PoolError::Backend { source, .. } => source,
        other => panic!("{other}"),
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        let Self { stream, pool, readings, reported, .. } = self;
        let mut reported = reported.lock().unwrap();
        let mut note = |what, error| reported.push((what, error));
        note("for_thread", Stream::for_thread().err().unwrap());
        note("open", Stream::open().err().unwrap());
        let again = Stream::new(stream.device().clone(), stream.queue().clone());
        note("new", again.err().unwrap());
        note("submit", stream.submit().unwrap_err());
        note("pending", stream.pending().unwrap_err());
        note("record", stream.record(|_| ()).unwrap_err());
        note("kernel", stream.kernel("", "main", &[]).unwrap_err());
        {
            let scope = pool.scope();
            // A slot that is kept needs no call.
            let kept = scope.try_acquire::<f32, _>(100).unwrap();
            note("read", kept.copy_to_vec().unwrap_err());
            note("grow", source(scope.try_acquire::<f32, _>(100_000).err().unwrap()));
            note("fill", source(scope.try_acquire_filled(100, 2.0_f32).err().unwrap()));
        }
        pool.trim();
        let [waited, polled, _dropped] = readings;
        let taken = std::mem::replace(waited, stream_of_nothing(pool));
        note("wait", taken.wait().unwrap_err());
        let mut context = Context::from_waker(Waker::noop());
        match pin!(polled).poll(&mut context) {
            Poll::Ready(Err(error)) => note("poll", error),
            other => panic!("{other:?}"),
        }
    }
}

/// A reading of no elements, which asks the device for nothing.
fn stream_of_nothing(pool: &mut Pool<Wgpu>) -> Reading<f32> {
    pool.scope().acquire::<f32, _>(0).read().unwrap()
}

#[test]
fn wg5_calls_in_destructors_of_thread_local_variables_are_typed_errors() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let reported = Arc::default();
    for _ in 0..4 {
        let (stream, reported) = (stream.clone(), Arc::clone(&reported));
        let ended = thread::spawn(move || {
            // Made before wgpu's variables, so that it is dropped after them.
            LATE.with(|_| ());
            stream.set_for_thread();
            let mut pool = Pool::<Wgpu>::new(stream.clone());
            let readings = {
                let scope = pool.scope();
                let view = scope.acquire_filled(100, 1.0_f32);
                assert_eq!(view.copy_to_vec().unwrap()[0], 1.0);
                [(); 3].map(|()| view.read().unwrap())
            };
            let kernel = axpy(&stream);
            LATE.set(Some(Late { stream, pool, readings, _kernel: kernel, reported }));
        });
        ended.join().unwrap();
    }
    let reported = reported.lock().unwrap();
    assert_eq!(reported.len(), 4 * 12);
    for (what, error) in &*reported {
        assert_eq!(*error, WgpuError::ThreadEnding, "{what}");
    }
    // The next allocation frees the buffers that were left.
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    assert_eq!(pool.scope().acquire_filled(200, 1_u8).copy_to_vec(), Ok(vec![1; 200]));
    drop(pool);
    let counts = stream.counts();
    assert_eq!(counts.buffers_created, counts.buffers_freed);
}

#[test]
fn wg5_a_stream_that_a_thread_first_uses_while_it_ends_is_a_typed_error() {
    type Reported = Arc<Mutex<Vec<Result<(), WgpuError>>>>;
    struct First(Option<(Stream, Reported)>);
    impl Drop for First {
        fn drop(&mut self) {
            if let Some((stream, reported)) = self.0.take() {
                reported.lock().unwrap().push(stream.submit());
            }
        }
    }
    thread_local! {
        static FIRST: RefCell<First> = const { RefCell::new(First(None)) };
    }
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let reported: Arc<Mutex<Vec<_>>> = Arc::default();
    for calls_wgpu in [true, false] {
        let (stream, reported) = (stream.clone(), Arc::clone(&reported));
        let ended = thread::spawn(move || {
            FIRST.with(|_| ());
            if calls_wgpu {
                // The user's own calls make wgpu's variables.
                stream.device().poll(wgpu::PollType::Poll).unwrap();
            }
            FIRST.with(|first| first.borrow_mut().0 = Some((stream, reported)));
        });
        ended.join().unwrap();
    }
    let reported = reported.lock().unwrap();
    // Without debug assertions wgpu has no such variables.
    let refused = if cfg!(debug_assertions) { Err(WgpuError::ThreadEnding) } else { Ok(()) };
    assert_eq!(*reported, [refused, Ok(())]);
    assert_eq!(stream.submit(), Ok(()));
}
