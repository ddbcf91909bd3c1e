//! Threads, each with its own pools: they keep their data.

use pool_core::Pool;
use pool_cuda::{Cuda, DeviceStream};

use crate::support::in_many_orders;

const THREADS: u32 = 8;
const SCOPES: u32 = 100;

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn eight_threads_keep_their_data() {
    in_many_orders(|_| {
        std::thread::scope(|threads| {
            for thread in 0..THREADS {
                threads.spawn(move || work(thread));
            }
        });
    });
}

fn work(thread: u32) {
    let mut pool = Pool::<Cuda>::new(DeviceStream::of_thread().unwrap());
    let mut scope = pool.scope();
    let kept = scope.acquire_filled(64, thread);
    for round in 0..SCOPES {
        let inner = scope.scope();
        let view = inner.acquire_filled(32 + round as usize % 7, thread * 1000 + round);
        if round % 10 == 0 {
            assert!(view.to_vec().unwrap().iter().all(|found| *found == thread * 1000 + round));
        }
    }
    assert_eq!(kept.to_vec().unwrap(), [thread; 64]);
}
