//! Test cases for blocks that are freed while work on them is still enqueued. A block may be freed
//! when it grows, when `trim`, `compact`, or `clear` runs, or when its pool is dropped. The
//! enqueued work must still be able to access the block's memory. The memory must not be handed out
//! again until the work has run.

use pool_core::{Compaction, DynamicPool, Pool, PoolView};

use super::case::{Case, Outcome};
use super::world::World;
use crate::element::samples;
use crate::probe::{BackendProbe, Failure, Later, Watching};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("a block that grows is freed after its work", growth),
        Case::lexical("a block that is trimmed is freed after its work", trim),
        Case::lexical("a block that is compacted is freed after its work", compact),
        Case::lexical("a block that is cleared is freed after its work", clear),
        Case::lexical("the blocks of a dropped pool are freed after their work", drop_pool),
        Case::dynamic("blocks of a dynamic pool are freed after their work", dynamic),
        Case::lexical("memory is back when trim, compact and clear return", is_back),
    ]
}

/// The number of elements in each freed block.
const LENGTH: usize = if cfg!(miri) { 50 } else { 3_000 };

/// Enqueues work that uses the blocks of three slots, then leaves the scope. Returns the most
/// recently enqueued reads.
fn work<'p, P: BackendProbe>(
    world: &World<'p, P>,
    pool: &mut Pool<P::Backend>,
    seed: u64,
) -> Result<Vec<Later<'p, f64>>, Failure<P>> {
    let scope = pool.scope();
    let mut reads = Vec::new();
    for slot in 0..3 {
        let mut view = scope.try_acquire_zeroed::<f64, _>(LENGTH)?;
        world.write_later(&mut view, 1_000);
        world.write_later(&mut view, seed + slot);
        reads.push(world.read_later(&view));
    }
    Ok(reads)
}

/// Reacquires all memory that was returned to the backend, and overwrites it.
fn scribble<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    for seed in 0..4 {
        let mut view = scope.try_acquire_filled(LENGTH, -1.0_f64)?;
        world.write_later(&mut view, 2_000 + seed);
    }
    Ok(())
}

#[track_caller]
fn check(reads: Vec<Later<'_, f64>>, seed: u64) {
    for (slot, read) in (0..).zip(reads) {
        assert_eq!(read(), samples::<f64>(seed + slot, LENGTH), "work on a block freed afterwards");
    }
}

fn growth<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let reads = work(world, pool, 10)?;
    {
        let scope = pool.scope();
        for slot in 0..3 {
            let mut view = scope.try_acquire_zeroed::<u16, _>(LENGTH * 16)?;
            let zeros = world.read_later(&view);
            world.write_later(&mut view, slot);
            world.assert_holds(&view, slot);
            assert!(zeros().iter().all(|&element| element == 0), "work of a former block");
        }
    }
    scribble(world, pool)?;
    check(reads, 10);
    Ok(())
}

fn trim<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let reads = work(world, pool, 20)?;
    {
        let mut scope = pool.scope();
        let mut held = scope.try_acquire::<f64, _>(LENGTH)?;
        world.write_later(&mut held, 5);
        world.assert_active(scope.trim().slots, 2, "slots that were trimmed");
        let inner = scope.scope();
        let mut view = inner.try_acquire_filled(LENGTH, 0.25_f64)?;
        world.write_later(&mut view, 6);
        world.assert_holds(&view, 6);
        world.assert_holds(&held, 5);
    }
    pool.trim();
    scribble(world, pool)?;
    check(reads, 20);
    Ok(())
}

fn compact<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let many = LENGTH * 40;
    pool.scope().try_acquire::<f64, _>(many)?;
    pool.sample_lengths();
    for _ in 0..3 {
        pool.scope().try_acquire::<f64, _>(LENGTH)?;
    }
    let read = {
        let scope = pool.scope();
        let mut view = scope.try_acquire::<f64, _>(LENGTH)?;
        world.write_later(&mut view, 30);
        world.read_later(&view)
    };
    let compaction = Compaction { minimum_bytes: 0, ..Compaction::default() };
    let released = pool.compact(&compaction);
    assert_eq!(released.slots, 1, "nothing was compacted: {released:?}");
    scribble(world, pool)?;
    assert_eq!(read(), samples::<f64>(30, LENGTH));
    Ok(())
}

fn clear<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let reads = work(world, pool, 40)?;
    let blocks = world.probe.held().map_or(3, |held| held.blocks);
    assert_eq!(pool.clear().slots, blocks);
    world.assert_active(blocks, 3, "blocks of three slots");
    scribble(world, pool)?;
    check(reads, 40);
    Ok(())
}

fn drop_pool<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut other: Pool<P::Backend> = Pool::new(world.probe.context());
    let reads = work(world, &mut other, 50)?;
    drop(other);
    scribble(world, pool)?;
    check(reads, 50);
    Ok(())
}

fn dynamic<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let mut reads = Vec::new();
    for seed in 60..63 {
        let handle = pool.try_acquire_zeroed::<f64>(LENGTH)?;
        let mut view = pool.get_mut(handle)?;
        world.write_later(&mut view, seed);
        reads.push(world.read_later(&view));
    }
    pool.reset();
    let handle = pool.try_acquire_filled(LENGTH * 8, 7_u16)?;
    assert!(pool.get_mut(handle)?.len() == LENGTH * 8);
    pool.trim();
    let handle = pool.try_acquire_zeroed::<f64>(LENGTH)?;
    world.write_later(&mut pool.get_mut(handle)?, 64);
    check(reads, 60);
    let view = pool.get(handle)?;
    assert_eq!(world.probe.read_shared(&view), samples::<f64>(64, LENGTH));
    Ok(())
}

/// Checks that a block reported as freed really was freed, even if work on it was still enqueued.
/// The pool calls `settle` to wait for this work.
fn is_back<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    if world.offered(world.probe.accounting()).is_none() {
        return Ok(());
    }
    let blocks = || world.probe.held().map_or((0, 0), |held| (held.blocks, held.returning));
    work(world, pool, 70)?;
    let (held, returning) = blocks();
    world.assert_active(held, 3, "blocks that the ledger has of three slots");
    assert_eq!(returning, 0, "blocks whose memory is not back");
    assert_eq!(pool.trim().slots, held);
    assert_eq!(blocks(), (0, 0), "blocks held, and blocks whose memory is not back, after trim");
    work(world, pool, 71)?;
    let (held, _) = blocks();
    assert_eq!(pool.clear().slots, held);
    world.assert_active(held, 3, "slots that were cleared");
    assert_eq!(blocks(), (0, 0), "blocks held, and blocks whose memory is not back, after clear");
    pool.scope().try_acquire::<f64, _>(LENGTH * 40)?;
    pool.sample_lengths();
    for _ in 0..3 {
        world.write_later(&mut pool.scope().try_acquire::<f64, _>(LENGTH)?, 1);
    }
    let compaction = Compaction { minimum_bytes: 0, ..Compaction::default() };
    assert_eq!(pool.compact(&compaction).slots, 1);
    assert_eq!(blocks().1, 0, "blocks whose memory is not back after compact");
    let bytes = world.probe.held().map(|held| held.bytes);
    assert_eq!(bytes, Some(pool.stats().reserved_bytes), "bytes after compact");
    Ok(())
}
