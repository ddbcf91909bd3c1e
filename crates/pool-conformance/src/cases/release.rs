//! Test cases for releasing memory. `trim` must free only idle memory, and `compact` must replace
//! oversized blocks. `clear` must return a pool to its initial state.

use pool_core::{Compaction, DynamicPool, Pool, ReleaseReport};

use super::case::{Case, Outcome};
use super::world::World;
use crate::probe::{BackendProbe, Watching};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("trim with two active and two inactive slots frees two", trim),
        Case::dynamic("trim of a dynamic pool with two active and two inactive", trim_dynamic),
        Case::lexical("compact swaps a block of a million for one of 150", compact),
        Case::lexical("compact leaves blocks in use, however oversized", compact_in_use),
        Case::dynamic("compact of a dynamic pool", compact_dynamic),
        Case::lexical("clear leaves a pool as new", clear),
    ]
}

/// Returns the number of blocks that the backend has allocated for this test case, if blocks are
/// counted.
fn blocks<P: BackendProbe>(world: &World<'_, P>) -> Option<usize> {
    world.probe.held().map(|held| held.blocks)
}

/// Checks the number of blocks that were freed, if blocks are counted.
fn assert_freed<P: BackendProbe>(world: &World<'_, P>, before: Option<usize>, freed: usize) {
    assert_eq!(blocks(world), before.map(|before| before - freed), "blocks that were freed");
}

fn trim<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut scope = pool.scope();
    let mut first = scope.try_acquire::<f32, _>(100)?;
    let mut second = scope.try_acquire::<u8, _>(100)?;
    world.write(&mut first, 1);
    world.write(&mut second, 2);
    {
        let inner = scope.scope();
        inner.try_acquire::<f64, _>(100)?;
        inner.try_acquire::<f64, _>(200)?;
    }
    let (before, reserved) = (blocks(world), scope.stats().reserved_bytes);
    let released = scope.trim();
    if P::HAS_SLOTS {
        assert_eq!(released.slots, 2);
        assert!(released.bytes >= 300 * 8);
    }
    assert_eq!(scope.stats().reserved_bytes, reserved - released.bytes);
    assert_freed(world, before, released.slots);
    world.assert_active(scope.active_slots(), 2, "slots that are handed out");
    assert_eq!(scope.trim(), ReleaseReport::default());
    world.assert_holds(&first, 1);
    world.assert_holds(&second, 2);
    let mut third = scope.try_acquire::<f64, _>(200)?;
    world.write(&mut third, 3);
    world.assert_holds(&first, 1);
    drop((first, second, third));
    world.assert_active(pool.trim().slots, 3, "slots that were trimmed");
    assert_eq!(pool.stats().reserved_bytes, 0);
    Ok(())
}

fn trim_dynamic<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let first = pool.try_acquire::<f32>(100)?;
    let second = pool.try_acquire::<u8>(100)?;
    world.write(&mut pool.get_mut(first)?, 1);
    world.write(&mut pool.get_mut(second)?, 2);
    pool.try_checkpoint()?;
    let third = pool.try_acquire::<f64>(100)?;
    pool.try_acquire::<f64>(200)?;
    pool.rewind();
    let before = blocks(world);
    let released = pool.trim();
    world.assert_active(released.slots, 2, "slots that were trimmed");
    assert_freed(world, before, released.slots);
    assert_eq!(pool.active_slots(), 2);
    assert!(pool.get(third).is_err());
    world.assert_holds(&pool.get_mut(first)?, 1);
    world.assert_holds(&pool.get_mut(second)?, 2);
    // If a freed slot is handed out again, the old handle must still be stale.
    let again = pool.try_acquire_zeroed::<f64>(100)?;
    assert!(pool.get(third).is_err() && pool.get(again).is_ok());
    Ok(())
}

/// The number of elements in an oversized block.
const MANY: usize = if cfg!(miri) { 200_000 } else { 1_000_000 };

fn compact<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut scope = pool.scope();
    let mut held = scope.try_acquire::<f64, _>(10)?;
    world.write(&mut held, 1);
    scope.scope().try_acquire::<f64, _>(MANY)?;
    scope.sample_lengths();
    for _ in 0..3 {
        let inner = scope.scope();
        let mut view = inner.try_acquire::<f64, _>(150)?;
        world.write(&mut view, 2);
    }
    let before = scope.stats().reserved_bytes;
    let released = scope.compact(&Compaction::default());
    assert!(released.bytes >= 8 * (MANY - 1_000), "the block was not swapped: {released:?}");
    assert_eq!((released.slots, scope.stats().reserved_bytes), (1, before - released.bytes));
    world.assert_active(scope.active_slots(), 1, "slots that are handed out");
    world.assert_holds(&held, 1);

    let growths = scope.stats().growths;
    let mut view = scope.try_acquire::<f64, _>(150)?;
    world.write(&mut view, 3);
    world.assert_economy(scope.stats().growths, growths, "what was used does not fit any more");
    // After the first call to `compact`, no block is oversized. `compact` never replaces a block
    // that is in use.
    assert_eq!(scope.compact(&Compaction::default()), ReleaseReport::default());
    world.assert_holds(&held, 1);
    world.assert_holds(&view, 3);
    Ok(())
}

fn compact_in_use<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    pool.scope().try_acquire::<f64, _>(MANY)?;
    pool.sample_lengths();
    let mut scope = pool.scope();
    let mut held = scope.try_acquire::<f64, _>(150)?;
    world.write(&mut held, 1);
    let address = world.probe.address(&held);
    {
        let inner = scope.scope();
        inner.try_acquire::<f64, _>(10)?;
        assert_eq!(inner.compact(&Compaction::default()), ReleaseReport::default());
    }
    assert_eq!(scope.compact(&Compaction::default()), ReleaseReport::default());
    assert_eq!(world.probe.address(&held), address);
    world.assert_holds(&held, 1);
    Ok(())
}

fn compact_dynamic<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let held = pool.try_acquire::<f64>(10)?;
    world.write(&mut pool.get_mut(held)?, 1);
    for length in [MANY, 150, 150] {
        pool.try_checkpoint()?;
        let handle = pool.try_acquire::<f64>(length)?;
        if length == 150 {
            world.write(&mut pool.get_mut(handle)?, 2);
        }
        pool.rewind();
        if length == MANY {
            pool.sample_lengths();
        }
    }
    let released = pool.compact(&Compaction::default());
    assert!(released.bytes >= 8 * (MANY - 1_000), "the block was not swapped: {released:?}");
    world.assert_holds(&pool.get_mut(held)?, 1);
    let again = pool.try_acquire::<f64>(150)?;
    world.write(&mut pool.get_mut(again)?, 3);
    world.assert_holds(&pool.get_mut(held)?, 1);
    Ok(())
}

fn clear<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    {
        let scope = pool.scope();
        for length in 1..40 {
            world.write(&mut scope.try_acquire::<u16, _>(length)?, 1);
        }
    }
    let reserved = pool.stats().reserved_bytes;
    let released = pool.clear();
    world.assert_active(released.slots, 39, "slots that were cleared");
    assert_eq!(released.bytes, reserved);
    let stats = pool.stats();
    assert_eq!(
        (stats.reserved_bytes, stats.peak_reserved_bytes, stats.high_water_slots),
        (0, 0, 0)
    );
    if let Some(held) = world.probe.held() {
        assert_eq!(held.blocks, 0);
    }
    Ok(())
}
