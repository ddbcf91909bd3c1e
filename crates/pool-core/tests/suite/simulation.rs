//! A long simulation with helpers, inner scopes and trims that fire in between: bit for bit what plain
//! vectors give.

use pool_conformance::HeapBackend;
use pool_core::Scope;

use crate::counting::allocations_in;
use crate::support::{heap_pool, rounds};

const SITES: usize = 40;
const STEP: f64 = 0.01;

/// The Lorenz 96 model: each site is driven by its neighbours.
fn rate(site: usize, state: &[f64]) -> f64 {
    let at = |offset: usize| state[(site + offset) % SITES];
    (at(1) - at(SITES - 2)) * at(SITES - 1) - at(0) + 8.0
}

fn start() -> [f64; SITES] {
    std::array::from_fn(|site| if site == 3 { 8.01 } else { 8.0 })
}

/// One step of the classic Runge-Kutta method, with a vector for every intermediate state.
fn step_with_vectors(state: &mut [f64]) {
    let shifted = |state: &[f64], slope: &[f64], by: f64| -> Vec<f64> {
        state.iter().zip(slope).map(|(value, slope)| value + by * slope).collect()
    };
    let slope = |state: &[f64]| (0..SITES).map(|site| rate(site, state)).collect::<Vec<_>>();
    let first = slope(state);
    let second = slope(&shifted(state, &first, STEP / 2.0));
    let third = slope(&shifted(state, &second, STEP / 2.0));
    let fourth = slope(&shifted(state, &third, STEP));
    for (site, value) in state.iter_mut().enumerate() {
        *value +=
            STEP / 6.0 * (first[site] + 2.0 * second[site] + 2.0 * third[site] + fourth[site]);
    }
}

/// The slope at a shifted state; the shifted state is a temporary of this helper.
fn slope<'s>(
    scope: &'s mut Scope<'_, HeapBackend>,
    state: &[f64],
    towards: Option<(&[f64], f64)>,
    slope: &mut [f64],
) {
    let inner: Scope<'s, _> = scope.scope();
    let shifted = inner.acquire_from(state);
    if let Some((direction, by)) = towards {
        shifted.iter_mut().zip(direction).for_each(|(value, slope)| *value += by * slope);
    }
    let exact = inner.acquire_with(SITES, |site| rate(site, shifted));
    slope.copy_from_slice(exact);
}

/// Does the same step with temporaries of a pool.
fn step_with_pool(scope: &mut Scope<'_, HeapBackend>, state: &mut [f64]) {
    let mut scope = scope.scope();
    let [first, second, third, fourth] = [0; 4].map(|_| scope.acquire::<f64, _>(SITES));
    slope(&mut scope, state, None, first);
    slope(&mut scope, state, Some((first, STEP / 2.0)), second);
    slope(&mut scope, state, Some((second, STEP / 2.0)), third);
    slope(&mut scope, state, Some((third, STEP)), fourth);
    for (site, value) in state.iter_mut().enumerate() {
        *value +=
            STEP / 6.0 * (first[site] + 2.0 * second[site] + 2.0 * third[site] + fourth[site]);
    }
}

fn bits(state: &[f64]) -> Vec<u64> {
    state.iter().map(|value| value.to_bits()).collect()
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares results; the random programs run this code")]
fn four_thousand_steps_with_trims_firing_are_bit_identical() {
    let steps = rounds(4_000, 12);
    let mut plain = start();
    let (mut pool, ledger) = heap_pool();
    let mut scope = pool.scope();
    let pooled = scope.acquire_from(&start());
    let mut trims = 0;
    for step in 0..steps {
        step_with_vectors(&mut plain);
        step_with_pool(&mut scope, pooled);
        // A trim between steps, and one in the middle of other acquires.
        if step % 7 == 3 {
            assert_eq!(scope.trim().slots, 6);
            trims += 1;
        }
        if step % 11 == 5 {
            let inner = scope.scope();
            inner.acquire_filled(3 * SITES, f64::NAN);
            inner.trim();
        }
        if step % 100 == 0 || step + 1 == steps {
            assert_eq!(bits(pooled), bits(&plain), "step {step}");
        }
    }
    assert!(trims > 0);
    assert!(plain.iter().all(|value| value.is_finite()));
    assert_ne!(bits(&plain), bits(&start()));
    assert!(ledger.live_blocks() <= 7);
}

#[test]
fn without_trims_the_steps_allocate_nothing() {
    let (mut pool, ledger) = heap_pool();
    let mut state = start();
    step_with_pool(&mut pool.scope(), &mut state);
    let blocks = ledger.allocations();
    let host = allocations_in(|| {
        for _ in 0..rounds(1_000, 10) {
            step_with_pool(&mut pool.scope(), &mut state);
        }
    });
    assert_eq!((blocks, host, ledger.allocations()), (6, 0, 6));
}
