//! Temporaries from a pool: a scope allocates memory and frees all of it when it ends.
//!
//! ```text
//! cargo run --release --example 01_quickstart
//! ```

use pool_facade::prelude::*;

/// Spreads heat on a ring for one step. The copy comes from an inner scope, so every call gets the
/// same memory, and only the first one allocates.
fn spread(scope: &mut Scope<'_, Cpu>, heat: &mut [f64]) {
    let inner = scope.scope();
    let before = inner.acquire_from(heat);
    let size = before.len();
    for here in 0..size {
        let around = before[(here + 1) % size] + before[(here + size - 1) % size];
        heat[here] += 0.25 * (around - 2.0 * before[here]);
    }
}

fn main() {
    let warmest = with_pool!(|scope| {
        let heat = scope.acquire_zeroed::<f64, _>(64);
        heat[32] = 100.0;
        for _ in 0..1_000 {
            spread(&mut scope, heat);
        }
        print!("{}", scope.stats());
        heat.iter().copied().fold(0.0, f64::max)
    });
    println!("warmest after 1,000 steps: {warmest:.3}");
}
