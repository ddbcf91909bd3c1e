//! Scopes, shown with a merge sort whose temporaries live as long as the call that needs them.
//!
//! A function that acquires memory for its caller takes `&Scope`. A function whose temporaries end
//! with the call takes its own scope by value, or `&mut Scope` if it opens several scopes. Arrays
//! borrow from their scope, so the compiler rejects code in which a temporary would outlive the
//! call.
//!
//! ```text
//! cargo run --release --example 02_scopes
//! ```

use std::error::Error;

use pool_facade::CpuError;
use pool_facade::error_chain;
use pool_facade::prelude::*;

type Refused = PoolError<CpuError>;

/// Sorts the numbers. The scopes nest with the recursion: each call copies one half, and frees the
/// copy when the call returns.
fn sort(scope: &mut Scope<'_, Cpu>, numbers: &mut [f64]) -> Result<(), Refused> {
    let middle = numbers.len() / 2;
    if middle == 0 {
        return Ok(());
    }
    let (left, right) = numbers.split_at_mut(middle);
    sort(scope, left)?;
    sort(scope, right)?;
    let inner = scope.scope();
    let left = inner.try_acquire_from(left)?;
    merge(left, middle, numbers);
    Ok(())
} // `left` is freed here, even if `?` returned early

/// Merges the sorted copy with the sorted second half of `numbers`, which starts at `right`.
fn merge(left: &[f64], mut right: usize, numbers: &mut [f64]) {
    let (mut next, mut place) = (0, 0);
    while next < left.len() {
        if right < numbers.len() && numbers[right] < left[next] {
            numbers[place] = numbers[right];
            right += 1;
        } else {
            numbers[place] = left[next];
            next += 1;
        }
        place += 1;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut pool = Pool::<Cpu>::new(());
    let mut random = fastrand::Rng::with_seed(1);
    for round in 1..=3 {
        let mut numbers: Vec<f64> = (0..100_000).map(|_| random.f64()).collect();
        sort(&mut pool.scope(), &mut numbers)?;
        if !numbers.is_sorted() {
            return Err("the numbers are not sorted".into());
        }
        // Consecutive calls share one slot. The slot grows to the longest half so far, and only in
        // the first round.
        println!("round {round}: {} allocations in total", pool.stats().growths);
    }
    println!("{}", pool.stats());

    // Exceeding a limit returns an error with advice, and the pool stays usable.
    let config = PoolConfig::new().name("sort").byte_limit(4096);
    let mut small = Pool::<Cpu>::with_config((), config)?;
    let error = sort(&mut small.scope(), &mut [1.0; 10_000]).err().ok_or("it fits 4096 bytes")?;
    println!("{}", error_chain(&error));
    sort(&mut small.scope(), &mut [2.0, 1.0])?;
    Ok(())
}
