//! Scopes that are held over an `.await`: however the futures are interleaved, dropped or forgotten,
//! each has a pool of its own. The executor is written out here, so that the order is the test's.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use pool_facade::prelude::*;

use crate::support::{forget, idle_pools, on_fresh_thread};

type Task = Pin<Box<dyn Future<Output = usize>>>;

/// Counts how often it was woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls tasks one step at a time, in the order given by its user.
struct Executor {
    wakes: Arc<Wakes>,
    waker: Waker,
    steps: usize,
}

impl Executor {
    fn new() -> Self {
        let wakes = Arc::new(Wakes::default());
        Self { waker: Waker::from(Arc::clone(&wakes)), wakes, steps: 0 }
    }

    /// One step of a task; its value when it is done. A task that is not done has woken us.
    fn step<F: Future + ?Sized>(&mut self, task: Pin<&mut F>) -> Option<F::Output> {
        self.steps += 1;
        let before = self.wakes.0.load(Ordering::Relaxed);
        match task.poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => {
                assert_eq!(self.wakes.0.load(Ordering::Relaxed), before + 1);
                None
            }
        }
    }
}

/// Is pending once, and requests another poll.
async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Holds an outer and an inner scope over many pauses, and finds its data as it left it.
async fn work(id: usize, turns: usize) -> usize {
    with_pool!(|scope| {
        let kept = scope.acquire_filled(20 + id, id);
        for turn in 0..turns {
            let mut inner = scope.scope();
            let scratch = inner.acquire_filled(10 * turn + id, turn);
            pause().await;
            assert!(scratch.iter().all(|&value| value == turn), "task {id}, turn {turn}");
            inner.scope().acquire_filled(30, usize::MAX);
            with_pool!(|other| {
                let copy = other.acquire_from(&*scratch);
                pause().await;
                assert!(copy.iter().all(|&value| value == turn), "task {id}, turn {turn}");
            });
        }
        assert!(kept.iter().all(|&value| value == id), "task {id}");
        kept.len()
    })
}

/// Runs tasks with random events.
fn interleave(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut executor = Executor::new();
    let mut tasks: Vec<(usize, Task)> =
        (0..12).map(|id| (id, Box::pin(work(id, 1 + id % 4)) as Task)).collect();
    let (mut done, mut dropped, mut forgotten) = (0, 0, 0);
    while !tasks.is_empty() {
        let chosen = random.usize(..tasks.len());
        match random.u8(..40) {
            0 => {
                drop(tasks.swap_remove(chosen));
                dropped += 1;
            }
            1 => {
                forget(tasks.swap_remove(chosen));
                forgotten += 1;
            }
            2 => {
                with_pool!(|scope| {
                    scope.acquire_filled(50, usize::MAX);
                });
            }
            _ => {
                let (id, task) = &mut tasks[chosen];
                if let Some(length) = executor.step(task.as_mut()) {
                    assert_eq!(length, 20 + *id);
                    drop(tasks.swap_remove(chosen));
                    done += 1;
                }
            }
        }
    }
    assert_eq!(done + dropped + forgotten, 12);
    assert!(executor.steps >= done);
}

#[test]
fn async_interleaved_dropped_forgotten() {
    on_fresh_thread(|| {
        let seeds = if cfg!(miri) { 2 } else { 200 };
        for seed in 0..seeds {
            interleave(seed);
        }
        // Never more than one outer and one inner pool for each of twelve tasks, and one beside.
        assert!((1..=25).contains(&idle_pools()), "{}", idle_pools());
    });
}

/// The steps one by one: which pool is whose while two futures overlap.
#[test]
fn overlapping_futures_have_distinct_pools() {
    async fn block(at: &Cell<usize>) {
        with_pool!(|scope| {
            let view = scope.acquire_filled(4, 1_u64);
            at.set(view.as_ptr().addr());
            pause().await;
            view[0] += 1;
            assert_eq!(view, [2, 1, 1, 1]);
        });
    }
    on_fresh_thread(|| {
        let mut executor = Executor::new();
        let places = [const { Cell::new(0) }; 3];
        {
            let mut first = pin!(block(&places[0]));
            let mut second = pin!(block(&places[1]));
            assert!(executor.step(first.as_mut()).is_none());
            assert!(executor.step(second.as_mut()).is_none());
            assert_ne!(places[0], places[1]);
            assert!(executor.step(first).is_some());
            // The first is done, and its pool goes to the next who asks.
            let mut third = pin!(block(&places[2]));
            assert!(executor.step(third.as_mut()).is_none());
            assert_eq!(places[2], places[0]);
            assert!(executor.step(second).is_some());
            assert_eq!(idle_pools(), 1, "the third has the other");
        }
        assert_eq!(idle_pools(), 2, "the third was dropped at its pause");
    });
}

/// A future that is dropped after its thread's list has changed gives its pool to that list.
#[test]
fn a_dropped_future_returns_its_pool() {
    on_fresh_thread(|| {
        let mut executor = Executor::new();
        let mut task: Task = Box::pin(work(1, 3));
        assert!(executor.step(task.as_mut()).is_none());
        local::<Cpu>().clear();
        assert_eq!(idle_pools(), 1);
        drop(task);
        assert_eq!(idle_pools(), 2);
        // Never polled: it took nothing.
        drop(work(2, 3));
        assert_eq!(idle_pools(), 2);
    });
}

/// A task that owns its pool and opens scopes between its pauses alone can go to another thread.
#[test]
fn a_task_that_owns_its_pool_is_send() {
    async fn own(mut pool: Pool<Cpu>, turns: u64) -> (u64, Pool<Cpu>) {
        let mut sum = 0;
        for turn in 0..turns {
            sum += pool.scope().acquire_filled(10, turn).iter().sum::<u64>();
            pause().await;
        }
        (sum, pool)
    }
    fn to_another_thread<F: Future<Output: Send> + Send>(mut task: Pin<Box<F>>) -> F::Output {
        let mut executor = Executor::new();
        for _ in 0..3 {
            assert!(executor.step(task.as_mut()).is_none());
        }
        on_fresh_thread(move || {
            let mut executor = Executor::new();
            loop {
                if let Some(value) = executor.step(task.as_mut()) {
                    return value;
                }
            }
        })
    }
    let (sum, pool) = to_another_thread(Box::pin(own(Pool::new(()), 10)));
    assert_eq!((sum, pool.stats().growths), (450, 1));
}

/// A future may hold its guard in an `Rc`, and be dropped by another task's step.
#[test]
fn a_future_that_drops_another() {
    on_fresh_thread(|| {
        let mut executor = Executor::new();
        let victim: Rc<Cell<Option<Task>>> = Rc::new(Cell::new(None));
        let mut other: Task = Box::pin(work(3, 4));
        assert!(executor.step(other.as_mut()).is_none());
        victim.set(Some(other));
        let taken = Rc::clone(&victim);
        let mut killer = pin!(async move {
            with_pool!(|scope| {
                let kept = scope.acquire_filled(23, 5_usize);
                drop(taken.take());
                pause().await;
                with_pool!(|other| {
                    other.acquire_filled(23, 6_usize);
                });
                kept.iter().sum::<usize>()
            })
        });
        assert!(executor.step(killer.as_mut()).is_none());
        assert_eq!(executor.step(killer), Some(115));
        assert_eq!(idle_pools(), 2);
    });
}
