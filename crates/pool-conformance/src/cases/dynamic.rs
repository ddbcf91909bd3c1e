//! Test cases for dynamic pools. The test cases cover checkpoints, rewinds at the root, nonexistent
//! depths, stale handles, and handles from other pools. The test cases also cover scopes that are
//! used together with handles.

use pool_core::{DynamicPool, PoolError};

use super::case::{Case, Outcome};
use super::world::World;
use crate::element::samples;
use crate::panics::{catch_planned, panic_as_planned};
use crate::probe::{BackendProbe, Failure};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::dynamic("dynamic counters go 1 2 3 2 1 0", counters),
        Case::dynamic("rewinding at the root is a reset, as often as one likes", at_the_root),
        Case::dynamic("rewind_to pops every checkpoint from the depth on", rewind_to),
        Case::dynamic("rewinding never raises the count", never_raises),
        Case::dynamic("a value survives checkpoints, acquires and rewinds", value_survives),
        Case::dynamic("stale and foreign handles are typed errors", refused_handles),
        Case::dynamic("arrays are borrowed together unless they are the same", disjoint),
        Case::dynamic("zero length takes a slot and no block in a dynamic pool", zero_length),
        Case::dynamic("a scope beside the handles", split),
    ]
}

fn counters<P: BackendProbe>(_: &World<'_, P>, pool: &mut DynamicPool<P::Backend>) -> Outcome<P> {
    for expected in 1..=3 {
        assert_eq!(pool.try_checkpoint()?, expected);
        pool.try_acquire::<u8>(expected)?;
        assert_eq!((pool.active_slots(), pool.depth()), (expected, expected));
    }
    for expected in [2, 1, 0] {
        pool.rewind();
        assert_eq!((pool.active_slots(), pool.depth()), (expected, expected));
    }
    Ok(())
}

fn at_the_root<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    for round in 0..3 {
        let handle = pool.try_acquire::<f64>(10)?;
        world.write(&mut pool.get_mut(handle)?, round);
        for _ in 0..3 {
            pool.rewind();
            assert_eq!((pool.active_slots(), pool.depth()), (0, 0));
        }
        assert!(pool.get(handle).is_err());
        pool.rewind_to(0)?;
        pool.reset();
        assert_eq!((pool.active_slots(), pool.depth()), (0, 0));
    }
    // If the checkpoint stack's root entry is intact, the next checkpoint has depth 1 and records
    // no active slots.
    assert_eq!(pool.try_checkpoint()?, 1);
    pool.try_acquire::<f64>(1)?;
    pool.rewind();
    assert_eq!((pool.active_slots(), pool.depth()), (0, 0));
    Ok(())
}

fn rewind_to<P: BackendProbe>(_: &World<'_, P>, pool: &mut DynamicPool<P::Backend>) -> Outcome<P> {
    let fill = |pool: &mut DynamicPool<P::Backend>| -> Outcome<P> {
        for length in 1..=5 {
            pool.try_checkpoint()?;
            pool.try_acquire::<f32>(length)?;
        }
        Ok(())
    };
    for (depth, active) in [(5, 4), (3, 2), (1, 0), (0, 0)] {
        fill(pool)?;
        pool.rewind_to(depth)?;
        assert_eq!((pool.active_slots(), pool.depth()), (active, depth.max(1) - 1));
        pool.reset();
    }
    fill(pool)?;
    for asked in [6, 7, usize::MAX] {
        match pool.rewind_to(asked) {
            Err(PoolError::NoSuchCheckpoint { asked: reported, top: 5 }) => {
                assert_eq!(reported, asked);
            }
            other => panic!("a depth that there is not: {:?}", other.is_ok()),
        }
        assert_eq!(
            (pool.active_slots(), pool.depth()),
            (5, 5),
            "a refused rewind changed the pool"
        );
    }
    Ok(())
}

/// Checks that a rewind never raises the number of active slots. A reset, or a rewind past a
/// checkpoint, can leave fewer slots active than the checkpoint recorded. The reset or rewind also
/// pops that checkpoint.
fn never_raises<P: BackendProbe>(
    _: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    for _ in 0..4 {
        pool.try_acquire::<u8>(9)?;
    }
    pool.try_checkpoint()?;
    pool.reset();
    pool.trim();
    for _ in 0..3 {
        pool.rewind();
        assert_eq!((pool.active_slots(), pool.depth()), (0, 0));
    }
    pool.try_checkpoint()?;
    for _ in 0..4 {
        pool.try_acquire::<u8>(9)?;
    }
    pool.try_checkpoint()?;
    pool.rewind_to(1)?;
    pool.rewind();
    assert_eq!((pool.active_slots(), pool.depth()), (0, 0));
    Ok(())
}

fn value_survives<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let value = pool.try_acquire::<f64>(4)?;
    world.write(&mut pool.get_mut(value)?, 42);
    let lengths: &[usize] = if cfg!(miri) { &[0, 9] } else { &[0, 1, 64, 1_000, 3] };
    for &length in lengths {
        let depth = pool.try_checkpoint()?;
        // The acquires need more slots than one slot table provides.
        for _ in 0..40 {
            let handle = pool.try_acquire::<f32>(length)?;
            world.write(&mut pool.get_mut(handle)?, 7);
        }
        let flags = pool.try_acquire_zeroed::<bool>(length)?;
        world.write(&mut pool.get_mut(flags)?, 8);
        pool.rewind_to(depth)?;
        assert_eq!(pool.active_slots(), 1);
        assert_eq!(world.probe.read_shared(&pool.get(value)?), samples::<f64>(42, 4));
    }
    Ok(())
}

fn refused_handles<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let first = pool.try_acquire_zeroed::<u16>(5)?;
    pool.reset();
    expect_stale::<P>(pool.get(first).err(), 0, 0);
    let second = pool.try_acquire_zeroed::<u16>(6)?;
    expect_stale::<P>(pool.get(first).err(), 0, 1);
    expect_stale::<P>(pool.get_mut(first).err(), 0, 1);
    assert_eq!(world.probe.read_shared(&pool.get(second)?), [0; 6]);
    pool.clear();
    let third = pool.try_acquire_zeroed::<u16>(6)?;
    expect_stale::<P>(pool.get(second).err(), 0, 1);

    let mut other = DynamicPool::<P::Backend>::new(world.probe.context());
    let foreign = other.try_acquire_zeroed::<u16>(6)?;
    for error in [pool.get(foreign).err(), pool.get_mut(foreign).err()] {
        let Some(PoolError::ForeignHandle { pool, made_by }) = error else {
            panic!("a foreign handle was not refused as such");
        };
        assert_ne!(pool, made_by);
    }
    assert!(matches!(other.get(third), Err(PoolError::ForeignHandle { .. })));
    assert_eq!(world.probe.read_shared(&other.get(foreign)?), [0; 6]);
    Ok(())
}

fn expect_stale<P: BackendProbe>(error: Option<Failure<P>>, slot: usize, active: usize) {
    match error {
        Some(PoolError::StaleHandle { slot: reported, active: reported_active }) => {
            assert_eq!((reported, reported_active), (slot, active));
        }
        Some(other) => panic!("the wrong error: {other}"),
        None => panic!("a stale handle was accepted"),
    }
}

fn disjoint<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let [a, b, c] = [3, 4, 5].map(|length| pool.try_acquire::<f32>(length));
    let (a, b, c) = (a?, b?, c?);
    {
        let [mut first, mut second, mut third] = pool.get_disjoint_mut([c, a, b])?;
        for (view, seed) in [(&mut first, 1), (&mut second, 2), (&mut third, 3)] {
            world.write(view, seed);
        }
        world.assert_apart::<f32, f32>(&first, &second);
        world.assert_apart::<f32, f32>(&second, &third);
        world.assert_apart::<f32, f32>(&first, &third);
    }
    assert_eq!(world.probe.read_shared(&pool.get(c)?), samples::<f32>(1, 5));
    assert_eq!(world.probe.read_shared(&pool.get(a)?), samples::<f32>(2, 3));
    assert!(matches!(pool.get_disjoint_mut([a, b, a]), Err(PoolError::RepeatedHandle { slot: 0 })));
    Ok(())
}

fn zero_length<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let none = pool.try_acquire::<f64>(0)?;
    let also = pool.try_acquire_zeroed::<bool>(0)?;
    assert_eq!((pool.active_slots(), pool.stats().reserved_bytes), (2, 0));
    assert!(world.probe.read_shared(&pool.get(none)?).is_empty());
    assert!(world.probe.read_shared(&pool.get(also)?).is_empty());
    Ok(())
}

fn split<P: BackendProbe>(world: &World<'_, P>, pool: &mut DynamicPool<P::Backend>) -> Outcome<P> {
    let below = pool.try_acquire::<f64>(30)?;
    world.write(&mut pool.get_mut(below)?, 1);
    let caught = catch_planned(|| -> Outcome<P> {
        let (mut handles, mut scope) = pool.split();
        let mut above = scope.try_acquire::<f64, _>(30)?;
        world.write(&mut above, 2);
        {
            let mut array = handles.get_mut(below)?;
            world.assert_apart::<f64, f64>(&array, &above);
            world.write(&mut array, 3);
        }
        let inner = scope.scope();
        let mut large = inner.try_acquire::<u8, _>(5_000)?;
        world.write(&mut large, 4);
        world.assert_holds(&above, 2);
        assert_eq!(world.probe.read_shared(&handles.get(below)?), samples::<f64>(3, 30));
        panic_as_planned()
    });
    if let Some(outcome) = caught {
        outcome?;
    }
    assert_eq!(pool.active_slots(), 1);
    assert_eq!(world.probe.read_shared(&pool.get(below)?), samples::<f64>(3, 30));
    let next = pool.try_acquire_zeroed::<f64>(30)?;
    assert_eq!(world.probe.read_shared(&pool.get(next)?), [0.0; 30]);
    Ok(())
}
