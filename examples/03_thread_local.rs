//! The pools of a thread: no pool is passed around, and every thread has its own.
//!
//! ```text
//! cargo run --release --example 03_thread_local
//! ```

use std::error::Error;
use std::thread;

use pool_facade::CpuError;
use pool_facade::error_chain;
use pool_facade::prelude::*;

/// Returns the spread of some samples. `with_pool!` takes a pool of the calling thread; `?` gives
/// it back.
fn spread(samples: &[f64]) -> Option<f64> {
    with_pool!(|scope| {
        let sorted = scope.acquire_from(samples);
        sorted.sort_unstable_by(f64::total_cmp);
        Some(sorted.last()? - sorted.first()?)
    })
}

/// Does the same, but exceeding a limit is an error instead of a panic.
fn try_spread(samples: &[f64]) -> Result<f64, PoolError<CpuError>> {
    try_with_pool!(|scope| {
        let sorted = scope.try_acquire_from(samples)?;
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.last().zip(sorted.first()).map_or(0.0, |(last, first)| last - first)
    })
}

/// One thread's work, and the allocations of its pools.
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
    println!("allocations of 100 calls, by thread: {allocations:?}");

    println!("an empty series has no spread: {:?}", spread(&[]));
    println!("this thread after it: {}", local::<Cpu>().stats());

    // Settings apply to the thread's idle pools, and to those that it makes later.
    local::<Cpu>().configure(PoolConfig::new().name("limited").byte_limit(4096))?;
    let error = try_spread(&[0.0; 1000]).err().ok_or("it fits 4096 bytes")?;
    println!("{}", error_chain(&error));
    println!("and the pool goes on: {}", try_spread(&[1.0, 4.0])?);
    println!("given back by `clear`: {} bytes", local::<Cpu>().clear().bytes);
    Ok(())
}
