//! Shared code of the tests: one test at a time, work with contents that are checked, and threads
//! that wait.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{JoinHandle, spawn};

use pool_facade::prelude::*;
use pool_facade::stats_all;

/// `true` if this system releases the pools of other threads at once.
pub(crate) const AT_ONCE: bool = cfg!(all(target_os = "linux", not(miri)));

/// Runs a test on a thread of its own, which has ended before the next one begins: the numbers are those of the process.
/// It starts
/// without pools.
pub(crate) fn alone(test: impl FnOnce() + Send) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|threads| {
        threads.spawn(test).join().unwrap_or_else(|panic| resume_unwind(panic));
    });
    // A scope of threads does not wait for the destructors of their thread-locals.
    while stats_all().pools > 0 {
        std::thread::yield_now();
    }
}

/// Opens `depth` nested blocks, each with an array of `length` numbers, and checks every number of each.
pub(crate) fn work(depth: usize, length: usize) {
    static STAMP: AtomicU64 = AtomicU64::new(1);
    let stamp = STAMP.fetch_add(1, Ordering::Relaxed);
    with_pool!(|scope| {
        let first = scope.acquire_filled(length, stamp);
        let second = scope.acquire_zeroed::<u64, _>(length / 2 + 1);
        assert!(second.iter().all(|&number| number == 0));
        second.fill(!stamp);
        if depth > 1 {
            work(depth - 1, length);
        }
        assert!(first.iter().all(|&number| number == stamp));
        assert!(second.iter().all(|&number| number == !stamp));
    });
}

/// The bytes that the blocks of all threads hold.
pub(crate) fn held() -> usize {
    stats_all().reserved_bytes
}

/// Forgets a value where leak checkers find it.
pub(crate) fn forget<T>(value: T) {
    static FORGOTTEN: Mutex<Vec<AtomicPtr<()>>> = Mutex::new(Vec::new());
    let place = AtomicPtr::new(Box::into_raw(Box::new(value)).cast());
    FORGOTTEN.lock().unwrap_or_else(PoisonError::into_inner).push(place);
}

/// Ends a thread that runs beside a test, even if the test panics.
pub(crate) struct Ending<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A job of a [`Worker`].
type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs jobs, and sleeps in a channel in between.
pub(crate) struct Worker {
    jobs: Option<Sender<Job>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn start() -> Self {
        let (jobs, to_do) = channel::<Job>();
        let (finished, done) = channel();
        let thread = spawn(move || {
            for job in to_do {
                job();
                let _ = finished.send(());
            }
        });
        Self { jobs: Some(jobs), done, thread: Some(thread) }
    }

    /// Runs `job` on the thread, and returns when it has ended.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.begin(job);
        self.wait();
    }

    /// Starts `job` on the thread.
    pub(crate) fn begin(&self, job: impl FnOnce() + Send + 'static) {
        self.jobs.as_ref().unwrap().send(Box::new(job)).unwrap();
    }

    /// Waits until the thread has finished its job.
    pub(crate) fn wait(&self) {
        self.done.recv().expect("the job did not panic");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}
