//! The statements of docs/cookbook.md that no recipe shows.

use std::time::Duration;

use cookbook::allocations;
use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};
use pool_facade::ndarray::linalg::general_mat_mul;
use pool_facade::prelude::*;

/// Returns a pool whose recycled contents are NaN.
fn poisoned() -> Pool<Cpu> {
    Pool::with_config((), PoolConfig::new().poison(true)).unwrap()
}

#[test]
fn products_with_a_beta_of_zero_do_not_read() {
    let mut pool = poisoned();
    for n in [1, 3, 20] {
        let scope = pool.scope();
        let ones = DMatrix::<f64>::from_element(n, n, 1.0);
        let mut product = DMatrixViewMut::from_slice(scope.acquire(n * n), n, n);
        product.gemm(1.0, &ones, &ones, 0.0);
        assert!(product.iter().all(|&entry| entry == n as f64), "nalgebra, {n}");

        let ones = scope.acquire_filled((n, n), 1.0).into_ndarray();
        let mut product = scope.acquire_array((n, n));
        general_mat_mul(1.0, &ones, &ones, 0.0, &mut product);
        assert!(product.iter().all(|&entry| entry == n as f64), "ndarray, {n}");
    }
}

#[test]
fn factorisations_and_products_of_nalgebra_allocate() {
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    let ones = DMatrix::<f64>::from_element(20, 20, 1.0);
    let mut product = DMatrixViewMut::from_slice(scope.acquire(400), 20, 20);
    assert_eq!(allocations(|| product.gemm(1.0, &ones, &ones, 0.0)), 1);
    let identity = scope.acquire_with(9, |i| f64::from(u8::from(i % 4 == 0)));
    let view = DMatrixView::from_slice(identity, 3, 3);
    let count = allocations(|| assert_eq!(view.clone_owned().lu().determinant(), 1.0));
    assert!(count > 0);
}

/// A refusal frees idle blocks, so that the next pass allocates again.
#[test]
fn a_limit_alone_does_not_keep_the_allocator_out() {
    let mut pool = Pool::<Cpu>::new(());
    pool.scope().acquire::<f32, _>(512);
    let held = pool.stats().reserved_bytes;
    pool.configure(PoolConfig::new().byte_limit(held)).unwrap();
    assert_eq!(allocations(|| assert_eq!(pool.scope().acquire::<f32, _>(512).len(), 512)), 0);
    assert!(pool.scope().try_acquire::<f32, _>(5120).is_err());
    assert!(allocations(|| assert_eq!(pool.scope().acquire::<f32, _>(512).len(), 512)) > 0);
}

#[test]
fn tasks_of_one_thread_may_hold_a_scope_over_an_await() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let tasks = tokio::task::LocalSet::new();
    let task = tasks.spawn_local(async {
        with_pool!(|scope| {
            let samples = scope.acquire_zeroed::<f64, _>(100);
            tokio::time::sleep(Duration::ZERO).await;
            samples.len()
        })
    });
    runtime.block_on(tasks);
    assert_eq!(runtime.block_on(task).unwrap(), 100);
}

const TOKENS: usize = 1 << 14;

/// Acquires three arrays at once, and then one array that is four times as long.
fn layer(pool: &mut Pool<Cpu>) {
    let mut scope = pool.scope();
    {
        let attention = scope.scope();
        let [_queries, _keys, _values] = [(); 3].map(|()| attention.acquire::<f32, _>(TOKENS));
    }
    {
        let mlp = scope.scope();
        let _hidden = mlp.acquire::<f32, _>(4 * TOKENS);
    }
}

/// Does the same, but acquires the three arrays as one array and splits it.
fn ordered_layer(pool: &mut Pool<Cpu>) {
    let mut scope = pool.scope();
    {
        let attention = scope.scope();
        let (_queries, rest) = attention.acquire::<f32, _>(3 * TOKENS).split_at_mut(TOKENS);
        let (_keys, _values) = rest.split_at_mut(TOKENS);
    }
    {
        let mlp = scope.scope();
        let _hidden = mlp.acquire::<f32, _>(4 * TOKENS);
    }
}

/// Returns the pool's size after the work, as a multiple of the peak live bytes.
fn held(work: fn(&mut Pool<Cpu>)) -> f64 {
    let mut pool = Pool::<Cpu>::new(());
    work(&mut pool);
    let most_alive = 4 * TOKENS * size_of::<f32>();
    pool.stats().reserved_bytes as f64 / most_alive as f64
}

#[test]
fn the_order_of_acquires_determines_what_a_pool_holds() {
    assert!((held(layer) - 1.5).abs() < 0.01);
    assert!((held(ordered_layer) - 1.0).abs() < 0.01);
}
