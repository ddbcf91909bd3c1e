//! Test cases for counters and disjoint memory. The test cases use nested scopes and functions that
//! only pass a scope on to another function. The test cases also use helper functions that acquire
//! arrays while an outer scope contains other arrays.

use pool_core::{Pool, Scope};

use super::case::{Case, Outcome};
use super::world::World;
use crate::panics::{catch_planned, panic_as_planned};
use crate::probe::{BackendProbe, Failure, View};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("counters go 1 2 3 2 1 0", counters),
        Case::lexical("counters over several slot tables", counters_over_tables),
        Case::lexical("an inner helper acquires what the outer scope holds", inner_helper),
        Case::lexical("a middle scope catches an inner panic", caught_in_the_middle),
        Case::lexical("a value survives every acquire of inner scopes", value_survives),
        Case::lexical("scope, plain function, scope", plain_function),
    ]
}

fn counters<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut one = pool.scope();
    one.try_acquire::<u8, _>(1)?;
    world.assert_active(one.active_slots(), 1, "slots that are handed out");
    {
        let mut two = one.scope();
        two.try_acquire::<f64, _>(2)?;
        world.assert_active(two.active_slots(), 2, "slots that are handed out");
        {
            let three = two.scope();
            world.assert_active(three.active_slots(), 2, "slots that are handed out");
            three.try_acquire::<u16, _>(3)?;
            world.assert_active(three.active_slots(), 3, "slots that are handed out");
            world.assert_active(three.stats().active_slots, 3, "slots that are handed out");
        }
        world.assert_active(two.active_slots(), 2, "slots that are handed out");
    }
    world.assert_active(one.active_slots(), 1, "slots that are handed out");
    world.assert_active(one.stats().active_slots, 1, "slots that are handed out");
    assert_eq!(pool.stats().active_slots, 0);
    world.assert_active(pool.stats().high_water_slots, 3, "slots at most");
    Ok(())
}

/// Checks the counters of outer and inner scopes whose slots extend into additional slot tables.
fn counters_over_tables<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    let ends: &[u64] = if cfg!(miri) { &[30] } else { &[0, 29, 30, 31, 32, 61, 62, 63] };
    for &taken in ends {
        let mut outer = pool.scope();
        let mut kept = Vec::new();
        for index in 0..taken {
            let mut view = outer.try_acquire::<u16, _>(2)?;
            world.write(&mut view, index);
            kept.push(view);
        }
        let before = usize::try_from(taken).expect("a few slots");
        world.assert_active(outer.active_slots(), before, "slots that are handed out");
        for _ in 0..2 {
            let inner = outer.scope();
            for more in 1..=40 {
                let mut view = inner.try_acquire::<[u16; 3], _>(3)?;
                world.write(&mut view, 1_000);
                world.assert_active(
                    inner.active_slots(),
                    before + more,
                    "slots that are handed out",
                );
            }
        }
        world.assert_active(outer.active_slots(), before, "slots that are handed out");
        let mut last = outer.try_acquire::<u16, _>(2)?;
        world.write(&mut last, 2_000);
        for (index, view) in (0_u64..).zip(&kept) {
            world.assert_holds(view, index);
            world.assert_apart::<u16, u16>(view, &last);
        }
    }
    Ok(())
}

/// Acquires an array and writes to it, without access to the caller's arrays.
fn helper<'s, P: BackendProbe>(
    world: &World<'_, P>,
    scope: &Scope<'s, P::Backend>,
    seed: u64,
) -> Result<View<'s, P, f32>, Failure<P>> {
    let mut view = scope.try_acquire::<f32, _>(10)?;
    world.write(&mut view, seed);
    Ok(view)
}

fn inner_helper<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    for _ in 0..3 {
        let mut outer = pool.scope();
        let held = helper(world, &outer, 1)?;
        {
            let inner = outer.scope();
            let found = helper(world, &inner, 2)?;
            world.assert_apart::<f32, f32>(&held, &found);
        }
        let again = helper(world, &outer, 3)?;
        world.assert_apart::<f32, f32>(&held, &again);
        world.assert_holds(&held, 1);
        world.assert_holds(&again, 3);
    }
    Ok(())
}

fn caught_in_the_middle<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    let mut outer = pool.scope();
    let held = helper(world, &outer, 1)?;
    {
        let mut middle = outer.scope();
        let middle_held = helper(world, &middle, 2)?;
        let caught = catch_planned(|| -> Outcome<P> {
            let inner = middle.scope();
            helper(world, &inner, 3)?;
            inner.try_acquire::<u8, _>(100)?;
            panic_as_planned()
        });
        if let Some(outcome) = caught {
            outcome?;
        }
        world.assert_active(middle.active_slots(), 2, "slots that are handed out");
        let again = helper(world, &middle, 4)?;
        world.assert_apart::<f32, f32>(&again, &middle_held);
        world.assert_apart::<f32, f32>(&again, &held);
        world.assert_holds(&middle_held, 2);
    }
    world.assert_active(outer.active_slots(), 1, "slots that are handed out");
    let again = helper(world, &outer, 5)?;
    world.assert_apart::<f32, f32>(&again, &held);
    world.assert_holds(&held, 1);
    Ok(())
}

fn value_survives<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    let mut outer = pool.scope();
    let mut value = outer.try_acquire::<f64, _>(1)?;
    world.write(&mut value, 42);
    for length in [0, 1, 2, 64, 65, 1_000, 3] {
        let inner = outer.scope();
        let mut floats = inner.try_acquire::<f64, _>(length)?;
        world.write(&mut floats, 1);
        let mut flags = inner.try_acquire_zeroed::<bool, _>(length)?;
        world.write(&mut flags, 2);
        let mut vectors = inner.try_acquire::<[f32; 3], _>([length, 2])?.into_view();
        world.write(&mut vectors, 3);
        world.assert_holds(&value, 42);
    }
    // An outer scope's array can be written even while an inner scope is open.
    {
        let inner = outer.scope();
        let mut scratch = inner.try_acquire::<f64, _>(1)?;
        world.write(&mut value, 43);
        world.write(&mut scratch, 44);
    }
    world.assert_holds(&value, 43);
    Ok(())
}

/// Opens an inner scope in a function that is two calls deeper than the function that opened the
/// outer scope.
fn opens_its_own<P: BackendProbe>(
    world: &World<'_, P>,
    scope: &mut Scope<'_, P::Backend>,
) -> Result<Vec<f32>, Failure<P>> {
    let inner = scope.scope();
    let view = helper(world, &inner, 7)?;
    Ok(world.probe.read(&view))
}

fn plain_function<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    fn plain<P: BackendProbe>(
        world: &World<'_, P>,
        scope: &mut Scope<'_, P::Backend>,
    ) -> Result<usize, Failure<P>> {
        let first = opens_its_own(world, scope)?;
        let second = opens_its_own(world, scope)?;
        assert_eq!(first, second);
        Ok(first.len())
    }
    let mut scope = pool.scope();
    let held = helper(world, &scope, 1)?;
    assert_eq!(plain(world, &mut scope)?, 10);
    world.assert_active(scope.active_slots(), 1, "slots that are handed out");
    world.assert_holds(&held, 1);
    Ok(())
}
