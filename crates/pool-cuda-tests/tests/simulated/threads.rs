//! Threads, each with its own pools: they keep their data.

use pool_core::Pool;
use pool_cuda::{Cuda, DeviceStream};

use crate::support::in_many_orders;

const SCOPES: u32 = 100;

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn eight_threads_keep_their_data() {
    in_many_orders(|_| {
        // Not scoped threads, whose end is not waited for to the last destructor.
        let threads =
            [0, 1, 2, 3, 4, 5, 6, 7].map(|number| std::thread::spawn(move || work(number)));
        for thread in threads {
            thread.join().unwrap();
        }
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
