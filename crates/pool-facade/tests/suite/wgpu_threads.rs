//! The pools of a thread on wgpu, whose buffers the thread gives up while it ends.

use std::cell::RefCell;
use std::thread;

use pool_facade::prelude::*;
use pool_facade::{LocalGuard, PoolView, WgpuError};

#[test]
fn a_thread_that_ends_gives_up_its_buffers_in_any_order() {
    thread_local! {
        /// A guard whose pool is returned while the thread ends.
        static KEPT: RefCell<Option<LocalGuard<Wgpu>>> = const { RefCell::new(None) };
    }
    for keeps_first in [true, false] {
        let answer = thread::spawn(move || {
            if keeps_first {
                KEPT.set(Some(try_local::<Wgpu>()?));
            }
            let found = try_with_pool!(Wgpu, |scope| {
                scope.try_acquire_from(&[1_u32, 2, 3])?.copy_to_vec().unwrap()
            })?;
            if !keeps_first {
                KEPT.set(Some(try_local::<Wgpu>()?));
            }
            Ok::<_, PoolError<WgpuError>>(found)
        });
        match answer.join().unwrap() {
            Ok(found) => assert_eq!(found, [1, 2, 3]),
            Err(PoolError::Backend { source: why @ WgpuError::NoAdapter { .. }, .. }) => {
                return println!("SKIPPED: {why}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    // The next thread that uses a stream drops their remaining values.
    assert_eq!(with_pool!(Wgpu, |scope| { scope.acquire_zeroed::<u8, _>(5).len() }), 5);
}
