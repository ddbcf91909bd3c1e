//! Runs a list of tasks on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// Runs the tasks `0..count` and returns their results in task order. The tasks run on up to
/// `threads` threads. Whenever a thread finishes a task, it starts the next one. If some threads
/// cannot be started, the other threads run all tasks.
pub(crate) fn run<T: Send>(
    threads: usize,
    count: usize,
    task: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).map(task).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = results.get(index) else { return };
            let made = task(index);
            if let Ok(mut place) = result.lock() {
                *place = Some(made);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            if Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    results.into_iter().filter_map(|result| result.into_inner().ok().flatten()).collect()
}

/// Runs two functions, concurrently if a second thread can be started.
pub(crate) fn both(one: impl FnOnce() + Send, other: impl FnOnce() + Send) {
    let (one, other) = (Mutex::new(Some(one)), Mutex::new(Some(other)));
    run(2, 2, |index| match index {
        0 => once(&one),
        _ => once(&other),
    });
}

fn once(task: &Mutex<Option<impl FnOnce()>>) {
    let task = task.lock().ok().and_then(|mut task| task.take());
    task.into_iter().for_each(|task| task());
}
