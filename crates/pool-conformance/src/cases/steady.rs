//! Test cases that repeat the same acquires (the steady state). The same sequence of acquires must
//! always return the same addresses. After the first pass, no memory may be allocated, and every
//! acquire must take the hot path.

use pool_core::{DynamicPool, Pool, PoolConfig, Scope};

use super::case::{Case, Outcome};
use super::world::World;
use crate::element::Sample;
use crate::probe::{BackendProbe, Failure, Watching};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("the same sequence gets the same addresses", addresses),
        Case::dynamic("the same sequence of a dynamic pool", dynamic_addresses),
        Case::lexical("a size that fitted once is never cold again", sizes),
        Case::lexical("four shapes are all hits", shapes),
        Case::lexical("poison and fresh blocks go away with their configuration", modes),
    ]
}

/// The number of passes over the acquire sequence.
const TIMES: usize = if cfg!(miri) { 8 } else { 10_000 };

/// Acquires arrays of several types and shapes in nested scopes. Returns all arrays' addresses.
fn pass<P: BackendProbe>(
    world: &World<'_, P>,
    scope: &mut Scope<'_, P::Backend>,
) -> Result<[usize; 5], Failure<P>> {
    let probe = world.probe;
    let first = scope.try_acquire::<f64, _>(100)?;
    let (second, third) = {
        let mut inner = scope.scope();
        let second = inner.try_acquire::<u8, _>(1_000)?;
        let innermost = inner.scope();
        let third = innermost.try_acquire::<f32, _>(&[4, 5, 6][..])?.into_view();
        (probe.address(&second), probe.address(&third))
    };
    let fourth = scope.try_acquire::<[f32; 3], _>([7, 8])?.into_view();
    let fifth = scope.try_acquire::<u16, _>(3)?;
    Ok([probe.address(&first), second, third, probe.address(&fourth), probe.address(&fifth)])
}

fn addresses<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    // Two scopes use slot 1 in succession, so its block may grow in each of the first two passes.
    pass(world, &mut pool.scope())?;
    let right = pass(world, &mut pool.scope())?;
    let before = (pool.stats(), world.probe.held());
    for _ in 0..TIMES {
        let found = pass(world, &mut pool.scope())?;
        world.assert_economy(found, right, "addresses");
    }
    let after = pool.stats();
    world.assert_economy(after.growths, before.0.growths, "growths");
    world.assert_economy(after.cold_acquires, before.0.cold_acquires, "cold acquires");
    world.assert_economy(after.shape_misses, before.0.shape_misses, "shape misses");
    world.assert_economy(world.probe.held(), before.1, "what the backend holds");
    Ok(())
}

fn dynamic_addresses<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let probe = world.probe;
    let pass = |pool: &mut DynamicPool<P::Backend>| -> Result<[usize; 3], Failure<P>> {
        let depth = pool.try_checkpoint()?;
        let first = pool.try_acquire::<f64>(100)?;
        pool.try_checkpoint()?;
        let second = pool.try_acquire::<u8>(1_000)?;
        let first = probe.shared_address(&pool.get(first)?);
        let second = probe.shared_address(&pool.get(second)?);
        pool.rewind();
        let third = pool.try_acquire::<[f32; 3]>(56)?;
        let third = probe.shared_address(&pool.get(third)?);
        pool.rewind_to(depth)?;
        Ok([first, second, third])
    };
    pass(pool)?;
    let right = pass(pool)?;
    let before = pool.stats();
    for _ in 0..TIMES {
        world.assert_economy(pass(pool)?, right, "addresses");
    }
    let after = pool.stats();
    world.assert_economy(after.growths, before.growths, "growths");
    world.assert_economy(after.cold_acquires, before.cold_acquires, "cold acquires");
    assert_eq!((pool.active_slots(), pool.depth()), (0, 0));
    Ok(())
}

fn sizes<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    never_cold_again::<P, u8>(world, pool)?;
    never_cold_again::<P, u16>(world, pool)?;
    never_cold_again::<P, [u8; 3]>(world, pool)?;
    never_cold_again::<P, f32>(world, pool)?;
    never_cold_again::<P, [u16; 3]>(world, pool)?;
    never_cold_again::<P, f64>(world, pool)?;
    never_cold_again::<P, [f32; 3]>(world, pool)?;
    never_cold_again::<P, [f64; 3]>(world, pool)
}

fn never_cold_again<P: BackendProbe, T: Sample + pool_core::PodElement>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    let lengths: &[usize] = if cfg!(miri) { &[1, 8, 100] } else { &[1, 7, 8, 63, 64, 100, 1_000] };
    for &length in lengths {
        pool.trim();
        // A pool with the stack layout merges its chunks during the second pass.
        for _ in 0..if P::HAS_SLOTS { 1 } else { 2 } {
            pool.scope().try_acquire::<T, _>(length)?;
        }
        let before = pool.stats().cold_acquires;
        for shorter in [length, length / 2 + 1, 1, length] {
            pool.scope().try_acquire::<T, _>(shorter)?;
        }
        let size = size_of::<T>();
        let what = format!("cold acquires of {length} elements of {size} bytes");
        world.assert_economy(pool.stats().cold_acquires, before, &what);
    }
    Ok(())
}

fn shapes<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let shapes: [&[usize]; 4] = [&[10, 10], &[5, 20], &[2, 50], &[100]];
    for dims in shapes {
        pool.scope().try_acquire::<f64, _>(dims)?;
    }
    let before = pool.stats();
    let rounds = if cfg!(miri) { 4 } else { 100 };
    for _ in 0..rounds {
        for dims in shapes {
            let scope = pool.scope();
            assert_eq!(scope.try_acquire::<f64, _>(dims)?.shape(), dims);
        }
    }
    let after = pool.stats();
    world.assert_economy(after.shape_misses, before.shape_misses, "shape misses");
    world.assert_economy(after.shape_hits, before.shape_hits + 4 * rounds, "shape hits");
    world.assert_economy(after.growths, before.growths, "growths");
    Ok(())
}

fn modes<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    for poison in [true, false] {
        pool.configure(PoolConfig::new().poison(poison))?;
        for _ in 0..3 {
            let mut view = pool.scope().try_acquire::<f32, _>(10)?;
            let poisoned = world.probe.read(&view).iter().all(|element: &f32| element.is_nan());
            assert_eq!(poisoned, poison, "recycled contents");
            world.write(&mut view, 1);
        }
    }
    for fresh in [true, false] {
        pool.configure(PoolConfig::new().fresh(fresh))?;
        let before = pool.stats().growths;
        for _ in 0..3 {
            world.write(&mut pool.scope().try_acquire::<f32, _>(10)?, 1);
        }
        let growths = pool.stats().growths - before;
        world.assert_economy(growths, if fresh { 3 } else { 0 }, "growths");
    }
    Ok(())
}
