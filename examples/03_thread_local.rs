//! A thread's pools: no pool is passed to functions, and every thread has its own.
//!
//! ```text
//! cargo run --release --example 03_thread_local
//! ```

use std::error::Error;
use std::thread;

use pool_facade::CpuError;
use pool_facade::error_chain;
use pool_facade::prelude::*;

/// Returns the spread of the samples. `with_pool!` uses a pool of the calling thread, and `?`
/// returns the pool.
fn spread(samples: &[f64]) -> Option<f64> {
    with_pool!(|scope| {
        let sorted = scope.acquire_from(samples);
        sorted.sort_unstable_by(f64::total_cmp);
        Some(sorted.last()? - sorted.first()?)
    })
}

/// Like `spread`, but exceeding a limit returns an error instead of panicking.
fn try_spread(samples: &[f64]) -> Result<f64, PoolError<CpuError>> {
    try_with_pool!(|scope| {
        let sorted = scope.try_acquire_from(samples)?;
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.last().zip(sorted.first()).map_or(0.0, |(last, first)| last - first)
    })
}

/// Runs one thread's work, and returns the number of allocations that its pools made.
fn work(thread: u32) -> u64 {
    let samples: Vec<f64> = (0..1000).map(|sample| f64::from(sample * thread)).collect();
    for _ in 0..100 {
        assert_eq!(spread(&samples), Some(f64::from(999 * thread)));
    }
    local::<Cpu>().stats().growths
}

fn main() -> Result<(), Box<dyn Error>> {
    let allocations = thread::scope(|threads| {
        let started: Vec<_> = (1..=3).map(|thread| threads.spawn(move || work(thread))).collect();
        started.into_iter().map(thread::ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
    });
    let allocations = allocations.map_err(|_| "a thread panicked")?;
    println!("allocations for 100 calls, by thread: {allocations:?}");

    println!("an empty series has no spread: {:?}", spread(&[]));
    println!("the statistics of this thread: {}", local::<Cpu>().stats());

    // Settings apply to the thread's idle pools, and to the pools that the thread creates later.
    local::<Cpu>().configure(PoolConfig::new().name("limited").byte_limit(4096))?;
    let error = try_spread(&[0.0; 1000]).err().ok_or("it fits 4096 bytes")?;
    println!("{}", error_chain(&error));
    println!("the pool still works: {}", try_spread(&[1.0, 4.0])?);
    println!("`clear` freed {} bytes", local::<Cpu>().clear().bytes);
    Ok(())
}
