//! One pool per worker thread. The example bootstraps the median flow of the Nile: it resamples the
//! series 20,000 times, with replacement, on all cores. Each sample is a temporary from the
//! worker's own pool.
//!
//! ```text
//! cargo run --release --example 06_rayon
//! ```

#[path = "11_kalman/workload/nile.rs"]
mod nile;

use std::error::Error;

use pool_facade::prelude::*;
use rayon::prelude::*;

const DRAWS: u64 = 20_000;

/// Returns the median of one sample. `with_pool!` uses a pool of the calling thread.
fn median_of_draw(flows: &[f64], seed: u64) -> f64 {
    with_pool!(|scope| {
        let mut random = fastrand::Rng::with_seed(seed);
        let draw = scope.acquire_with(flows.len(), |_| flows[random.usize(..flows.len())]);
        *draw.select_nth_unstable_by(flows.len() / 2, f64::total_cmp).1
    })
}

/// Returns the medians of all samples in ascending order.
fn medians(flows: &[f64]) -> Vec<f64> {
    let mut medians: Vec<f64> =
        (0..DRAWS).into_par_iter().map(|seed| median_of_draw(flows, seed)).collect();
    medians.par_sort_unstable_by(f64::total_cmp);
    medians
}

fn main() -> Result<(), Box<dyn Error>> {
    let flows: Vec<f64> = nile::series()?.iter().map(|year| year.flow).collect();
    let medians = medians(&flows);

    // A sample depends only on its seed, not on the thread, so a single thread computes the same
    // result.
    let mut expected: Vec<f64> = (0..DRAWS).map(|seed| median_of_draw(&flows, seed)).collect();
    expected.sort_unstable_by(f64::total_cmp);
    if medians != expected {
        return Err("the results of the threads and of a single thread differ".into());
    }
    let (low, high) = (medians[medians.len() / 20], medians[medians.len() - medians.len() / 20]);
    println!("nine out of ten medians are between {low} and {high} × 10⁸ m³ per year\n");
    for (worker, stats) in rayon::broadcast(|_| local::<Cpu>().stats()).iter().enumerate() {
        println!("worker {worker}: {} pool, {} allocations", stats.pools, stats.growths);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// Tests that count allocations, or that release the pools of all threads, must not run at the
    /// same time.
    static ONE: Mutex<()> = Mutex::new(());

    fn flows() -> Vec<f64> {
        nile::series().unwrap().iter().map(|year| year.flow).collect()
    }

    #[test]
    fn threads_find_what_one_alone_finds() {
        let flows = flows();
        let mut expected: Vec<f64> = (0..DRAWS).map(|seed| median_of_draw(&flows, seed)).collect();
        expected.sort_unstable_by(f64::total_cmp);
        assert_eq!(medians(&flows), expected);
        let true_median = 893.5;
        assert!(expected[100] < true_median && true_median < expected[expected.len() - 100]);
    }

    #[test]
    fn a_worker_allocates_once_in_one_pool() {
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let flows = flows();
        let workers = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let found = workers.install(|| medians(&flows));
        assert_eq!(found.len() as u64, DRAWS);
        for stats in workers.broadcast(|_| local::<Cpu>().stats()) {
            assert_eq!(stats.pools, 1);
            assert!(stats.growths <= 1, "{stats}");
            assert_eq!(stats.active_slots, 0);
        }
    }

    /// Idle workers sleep. Their pools are still released, and the workers then continue with
    /// correct results.
    #[test]
    fn the_pools_of_idle_workers_are_released() {
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let flows = flows();
        let workers = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let expected = workers.install(|| medians(&flows));
        let held =
            |stats: &[PoolStats]| -> usize { stats.iter().map(|stats| stats.reserved_bytes).sum() };
        assert!(held(&workers.broadcast(|_| local::<Cpu>().stats())) > 0);
        let released = pool_facade::trim_all();
        let left = workers.broadcast(|_| local::<Cpu>().stats());
        if cfg!(target_os = "linux") {
            assert!(released.bytes > 0, "{released:?}");
            assert_eq!(held(&left), 0);
        }
        assert_eq!(workers.install(|| medians(&flows)), expected);
    }
}
