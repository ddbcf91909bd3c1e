//! Pools and views on several threads: types are `Send` exactly if they may be, and a view that
//! another thread writes is untouched by its pool's operations meanwhile.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;

use pool_conformance::{HeapBackend, Ledger};
use pool_core::{DynamicPool, FreeList, Handles, Pool, PoolConfig, Scope};

use crate::backends::{Arming, Logged, logged_pool};
use crate::support::{assert_stamped, heap_pool, is_send, is_sync, rounds, slots_per_table, stamp};

#[test]
fn backend_thread_affine_not_send() {
    // `Logged` has a context with a reference count that is not atomic.
    assert!(!is_send!(Pool<Logged>) && !is_send!(DynamicPool<Logged>));
    assert!(is_send!(Pool<HeapBackend>) && is_send!(DynamicPool<HeapBackend>));
    assert!(is_send!(Pool<Arming>));
    // The macro distinguishes these types, as it must.
    assert!(is_send!(Cell<u8>) && !is_send!(Rc<u8>) && !is_sync!(Cell<u8>) && is_sync!(u8));
    let (mut pool, _) = logged_pool(PoolConfig::new());
    assert_eq!(pool.scope().acquire_filled(3, 1_u64), [1; 3]);
}

#[test]
fn nothing_of_a_pool_is_shared_and_scopes_stay_on_their_thread() {
    assert!(!is_sync!(Pool<HeapBackend>) && !is_sync!(DynamicPool<HeapBackend>));
    assert!(!is_send!(Scope<'static, HeapBackend>) && !is_sync!(Scope<'static, HeapBackend>));
    assert!(!is_send!(Handles<'static, HeapBackend>) && !is_sync!(Handles<'static, HeapBackend>));
    assert!(!is_send!(FreeList<HeapBackend>) && !is_sync!(FreeList<HeapBackend>));
}

#[test]
fn view_on_scoped_thread_while_parent_grows() {
    let count = rounds(20, 1) * slots_per_table();
    let (mut pool, _) = heap_pool();
    let mut outer = pool.scope();
    let view = outer.acquire::<u64, _>(64);
    let array = outer.acquire::<u64, _>(&[8, 8][..]);
    thread::scope(|threads| {
        let (started, wait) = mpsc::channel();
        let writer = threads.spawn(move || {
            let mut array = array;
            for round in 0..rounds(500, 4) as u64 {
                stamp(view, round);
                stamp(array.as_mut_slice(), round + 1);
                assert_stamped(view, round);
                if round == 0 {
                    started.send(()).unwrap();
                }
            }
            assert_eq!(array.shape(), [8, 8]);
            (view[3], array[[0, 3]])
        });
        wait.recv().unwrap();
        for round in 0..3 {
            let mut inner = outer.scope();
            for length in 0..count {
                stamp(inner.acquire(length % rounds(50, 5)), 7);
            }
            assert_eq!(inner.active_slots(), 2 + count);
            inner.scope().acquire::<u64, _>(&[round + 1, 8][..]);
            drop(inner);
            outer.sample_lengths();
            outer.trim();
            assert_eq!(outer.stats().active_slots, 2);
        }
        let last = rounds(500, 4) as u64 - 1;
        assert_eq!(writer.join().unwrap(), (last << 32 | 3, (last + 1) << 32 | 3));
    });
}

#[test]
fn views_split_over_threads() {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let view = scope.acquire::<u64, _>(100);
    thread::scope(|threads| {
        for (owner, part) in (0..).zip(view.chunks_mut(25)) {
            threads.spawn(move || stamp(part, owner));
        }
    });
    (0..).zip(view.chunks(25)).for_each(|(owner, part)| assert_stamped(part, owner));
}

#[test]
fn a_pool_moves_from_thread_to_thread() {
    let (mut pool, ledger) = heap_pool();
    for _ in 0..3 {
        pool = thread::spawn(move || {
            {
                let mut scope = pool.scope();
                let own = scope.acquire::<u64, _>(20);
                stamp(own, 1);
                stamp(scope.scope().acquire(30), 2);
                assert_stamped(own, 1);
            }
            pool
        })
        .join()
        .unwrap();
    }
    assert_eq!(ledger.allocations(), 2);
    thread::spawn(move || drop(pool)).join().unwrap();
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn eight_threads_keep_their_data() {
    let ledger = Ledger::new();
    thread::scope(|threads| {
        for thread in 0..8 {
            let ledger = ledger.clone();
            threads.spawn(move || {
                let mut pool = Pool::<HeapBackend>::new(ledger);
                for round in 0..rounds(10_000, 4) {
                    let owner = thread << 16 | round as u64;
                    let mut outer = pool.scope();
                    let own = outer.acquire::<u64, _>(16);
                    stamp(own, owner);
                    {
                        let inner = outer.scope();
                        stamp(inner.acquire(1 + round % 40), thread);
                    }
                    assert_stamped(own, owner);
                }
            });
        }
    });
    assert_eq!(ledger.live_blocks(), 0);
    assert!(ledger.allocations() <= 8 * 8, "{} blocks for 8 threads", ledger.allocations());
}

/// Pending once.
struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        Poll::Pending
    }
}

/// Owns its pool, and has scopes only between its awaits.
async fn running_sums(ledger: Ledger) -> u64 {
    let mut pool = Pool::<HeapBackend>::new(ledger);
    let mut total = 0;
    for round in 1..=3 {
        {
            let mut scope = pool.scope();
            let values = scope.acquire_with(10, |index| index as u64 * round);
            let inner = scope.scope();
            total += inner.acquire_from(values).iter().sum::<u64>();
        }
        YieldOnce(false).await;
    }
    total
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn task_owned_pool_future_is_send() {
    fn sendable<F: Future + Send>(future: F) -> F {
        future
    }
    let ledger = Ledger::new();
    let mut task = Box::pin(sendable(running_sums(ledger.clone())));
    assert!(poll_once(task.as_mut()).is_pending());
    assert_eq!(ledger.live_blocks(), 2);
    // It continues on another thread, as the tasks of an executor do.
    let total = thread::spawn(move || {
        assert!(poll_once(task.as_mut()).is_pending());
        assert!(poll_once(task.as_mut()).is_pending());
        poll_once(task.as_mut())
    });
    assert_eq!(total.join().unwrap(), Poll::Ready(45 * (1 + 2 + 3)));
    assert_eq!(ledger.live_blocks(), 0);

    // A task that is dropped half way gives everything back.
    {
        let mut dropped = pin!(running_sums(ledger.clone()));
        assert!(poll_once(dropped.as_mut()).is_pending());
        assert_eq!(ledger.live_blocks(), 2);
    }
    assert_eq!((ledger.live_blocks(), ledger.allocations()), (0, 4));
}
