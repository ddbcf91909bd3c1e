//! Backends whose memory each thread releases itself: a request is served when the thread next takes a pool.

use pool_facade::prelude::*;
use pool_facade::trim_all;

use crate::shelf::{Place, Shelf};
use crate::support::{Worker, alone};

pool_facade::local_pools! {
    Shelf, context: Place::for_thread, is_for_thread: Place::is_chosen
}

fn reserved() -> usize {
    local::<Shelf>().stats().reserved_bytes
}

fn fill() {
    with_pool!(Shelf, Shelf, |outer, inner| {
        outer.acquire_filled(100, 1_u64);
        inner.acquire_filled(100, 2_u64);
    });
}

#[test]
fn requests_are_served_at_the_next_take() {
    alone(|| {
        let worker = Worker::start();
        worker.run(|| {
            fill();
            assert!(reserved() >= 2 * 800);
        });
        fill();
        let before = reserved();
        assert_eq!(trim_all().bytes, 0, "the pools of no backend that this crate knows");
        assert_eq!((before >= 1_600, reserved()), (true, 0), "this thread's own");
        worker.run(|| {
            // A pool that is held when the request is served keeps its memory.
            let mut guard = local::<Shelf>();
            assert_eq!(guard.stats().reserved_bytes, 0);
            guard.scope().acquire_filled(100, 3_u64);
            trim_all();
            drop(local::<Shelf>());
            assert_eq!(guard.scope().acquire::<u64, _>(100), [3; 100]);
        });
        // Once a request, and not again.
        worker.run(|| {
            fill();
            assert!(reserved() > 0 && reserved() > 0);
        });
    });
}
