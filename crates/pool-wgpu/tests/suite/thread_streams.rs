//! The streams of threads.

use std::thread;

use pool_core::{Pool, PoolView};
use pool_wgpu::{Stream, Wgpu, WgpuError, wgpu};

use crate::support::{keep, one_at_a_time, own_stream};

/// Returns the result of a thread that first uses its own stream.
fn in_a_thread<R: Send>(code: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(code).join().unwrap())
}

#[test]
fn a_thread_has_one_stream_and_threads_share_a_device() {
    let of_a_thread = || {
        in_a_thread(|| {
            let stream = one_at_a_time(Stream::for_thread)?;
            assert!(stream.is_for_thread());
            assert!(Stream::for_thread()?.is_for_thread());
            let mut pool = Pool::<Wgpu>::new(stream.clone());
            // No kernel: of a device that it opens itself, a debug build hands the driver source texts, which
            // validation layers of 2023 do not know.
            assert_eq!(pool.scope().acquire_from(&[7_u32; 3]).copy_to_vec()?, [7; 3]);
            Ok::<_, WgpuError>(stream)
        })
    };
    let one = match of_a_thread() {
        Err(why @ WgpuError::NoAdapter { .. }) => return println!("SKIPPED: {why}"),
        one => one.unwrap(),
    };
    keep(one.device());
    let two = of_a_thread().unwrap();
    assert!(!one.is_for_thread() && !two.is_for_thread(), "this thread has asked for none");
    assert_eq!(one.device(), two.device());
    // The device of the process is lost: the next thread gets another.
    one.device().destroy();
    assert_eq!(one.submit(), Err(WgpuError::DeviceLost));
    let three = of_a_thread().unwrap();
    assert!(!three.is_lost() && in_a_thread(|| three.pending()) == Ok(0));
}

#[test]
fn a_thread_chooses_its_stream() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    in_a_thread(|| {
        stream.set_for_thread();
        assert!(stream.is_for_thread() && stream.clone().is_for_thread());
        assert_eq!(Stream::for_thread().unwrap().device(), stream.device());
        let other = Stream::new(stream.device().clone(), stream.queue().clone()).unwrap();
        assert!(!other.is_for_thread(), "another stream of the same device");
        other.set_for_thread();
        assert!(other.is_for_thread() && !stream.is_for_thread());
    });
}
