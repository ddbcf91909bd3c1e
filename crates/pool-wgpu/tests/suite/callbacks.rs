//! Foreign code in the middle of a call: callbacks of wgpu that read, wakers that poll the device
//! when they are dropped, threads that use each other's streams. Nothing hangs.

use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use pool_core::{Pool, PoolView};
use pool_wgpu::{Reading, Stream, Wgpu, wgpu};

use crate::support::{Quiet, own_stream};

/// Runs code that may hang, on another thread, which is then abandoned.
fn in_time(code: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        code();
        sender.send(()).unwrap();
    });
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        _ => thread.join().unwrap(),
    }
}

fn devices() -> Option<(Stream, Quiet)> {
    own_stream(wgpu::Limits::default())
}

/// A buffer of the user's own, for mapping.
fn mappable(stream: &Stream) -> wgpu::Buffer {
    stream.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 16,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Polls the device when it is dropped.
struct PollingWaker(wgpu::Device);

impl Wake for PollingWaker {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PollingWaker {
    fn drop(&mut self) {
        self.0.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    }
}

#[test]
fn wg4_a_waker_that_polls_the_device_when_it_is_dropped_does_not_hang() {
    let Some((stream, _quiet)) = devices() else { return };
    in_time(move || {
        let mut pool = Pool::<Wgpu>::new(stream.clone());
        let scope = pool.scope();
        let view = scope.acquire_filled(1 << 20, 7_u32);
        for _ in 0..5 {
            let mut reading = pin!(view.read().unwrap());
            let mut poll = |waker: Waker| reading.as_mut().poll(&mut Context::from_waker(&waker));
            let polling = || Waker::from(Arc::new(PollingWaker(stream.device().clone())));
            // The second waker replaces the first one, which is dropped then.
            let elements = [poll(polling()), poll(polling())].into_iter().find_map(|polled| {
                let Poll::Ready(elements) = polled else { return None };
                Some(elements.unwrap())
            });
            if let Some(elements) = elements {
                assert_eq!(elements.first(), Some(&7));
            }
            drop(view.read().unwrap());
        }
    });
}

#[test]
fn wg4_a_reading_is_waited_for_in_a_callback_of_wgpu() {
    let Some((stream, _quiet)) = devices() else { return };
    in_time(move || {
        let mut pool = Pool::<Wgpu>::new(stream.clone());
        let scope = pool.scope();
        let view = scope.acquire_filled(1_000, 7_u32);
        let slot: Arc<Mutex<Option<Reading<u32>>>> = Arc::default();
        let found: Arc<Mutex<Vec<_>>> = Arc::default();
        let wait = |slot: &Arc<Mutex<Option<Reading<u32>>>>| {
            let (slot, found) = (Arc::clone(slot), Arc::clone(&found));
            move || {
                let reading = slot.lock().unwrap().take();
                if let Some(reading) = reading {
                    let elements = reading.wait();
                    found.lock().unwrap().push(elements);
                }
            }
        };
        for is_mapping in [true, false, true, false, true] {
            let own = mappable(&stream);
            *slot.lock().unwrap() = Some(view.read().unwrap());
            let wait = wait(&slot);
            if is_mapping {
                // Nothing uses the buffer, so its callback comes before that of the reading, in the same poll.
                own.map_async(wgpu::MapMode::Read, .., move |_| wait());
            } else {
                stream.queue().on_submitted_work_done(wait);
            }
            stream.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        }
        assert_eq!(*found.lock().unwrap(), vec![Ok(vec![7; 1_000]); 5]);
        assert_eq!(view.copy_to_vec(), Ok(vec![7; 1_000]));
        assert!(stream.counts().staging_buffers_created < 6, "{:?}", stream.counts());
    });
}

#[test]
fn wg4_a_callback_that_uses_the_stream_gets_elements_or_an_error() {
    let Some((stream, _quiet)) = devices() else { return };
    in_time(move || {
        let mut pool = Pool::<Wgpu>::new(stream.clone());
        let scope = pool.scope();
        let view = scope.acquire_filled(1_000, 7_u32);
        let (sender, receiver) = mpsc::channel();
        for _ in 0..10 {
            stream.submit().unwrap();
            let (inner, sender) = (stream.clone(), sender.clone());
            stream.queue().on_submitted_work_done(move || {
                let mut pool = Pool::<Wgpu>::new(inner);
                let scope = pool.scope();
                let found = scope.try_acquire_filled(10, 3_u32).ok().map(|view| view.copy_to_vec());
                sender.send(found).unwrap();
            });
            assert_eq!(view.copy_to_vec(), Ok(vec![7; 1_000]));
            stream.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        }
        drop(sender);
        let found: Vec<_> = receiver.iter().collect();
        assert_eq!(found.len(), 10);
        assert!(found.into_iter().flatten().all(|found| found == Ok(vec![3; 10])));
    });
}

#[test]
fn wg4_threads_that_submit_each_others_streams_from_closures_do_not_hang() {
    let Some((stream, _quiet)) = devices() else { return };
    in_time(move || {
        let other = Stream::new(stream.device().clone(), stream.queue().clone()).unwrap();
        let both = Barrier::new(2);
        let crossed = |own: &Stream, other: &Stream| {
            own.record(|_| {
                both.wait();
                let answer = (other.submit(), other.record(|_| ()));
                both.wait();
                answer
            })
        };
        thread::scope(|threads| {
            let first = threads.spawn(|| crossed(&stream, &other));
            let second = threads.spawn(|| crossed(&other, &stream));
            assert_eq!(first.join().unwrap(), Ok((Ok(()), Ok(()))));
            assert_eq!(second.join().unwrap(), Ok((Ok(()), Ok(()))));
        });
    });
}

#[test]
fn an_error_scope_that_a_closure_leaks_changes_nothing() {
    let Some((stream, _quiet)) = devices() else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let view = scope.acquire_filled(100, 7_u32);
    for filter in [wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory] {
        stream.record(|_| std::mem::forget(stream.device().push_error_scope(filter))).unwrap();
        assert_eq!(view.copy_to_vec(), Ok(vec![7; 100]));
    }
}
