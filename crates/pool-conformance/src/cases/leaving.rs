//! Test cases for leaving a scope. A scope can end with a panic, an early return, `?`, or a `break`
//! out of two nested scopes. A scope can also be forgotten with `mem::forget`. No matter how a
//! scope ends, the outer scope's cursor must be restored.

use std::mem::forget;

use pool_core::{Pool, PoolError, Scope};

use super::case::{BackendError, Case, Outcome};
use super::world::World;
use crate::panics::{catch_planned, panic_as_planned};
use crate::probe::{BackendProbe, Failure};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("panics, returns, `?` and breaks restore the outer scope", every_way),
        Case::lexical("scopes and views are forgotten at every level", forgotten),
        Case::lexical("a view outlives the scope value", outlives),
    ]
}

fn every_way<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut outer = pool.scope();
    let mut held = outer.try_acquire::<u8, _>(50)?;
    world.write(&mut held, 1);
    let before = outer.active_slots();

    let caught = catch_planned(|| take_two_levels(world, &mut outer, || panic_as_planned()));
    if let Some(outcome) = caught {
        outcome?;
    }
    world.assert_active(outer.active_slots(), before, "after a panic");

    returns_early(world, &mut outer)?;
    world.assert_active(outer.active_slots(), before, "after an early return");

    let refused = question_mark(world, &mut outer);
    assert!(matches!(
        refused,
        Err(PoolError::<BackendError<P>>::SizeOverflow { .. } | PoolError::OutOfMemory { .. })
    ));
    world.assert_active(outer.active_slots(), before, "after `?`");

    'levels: for round in 0..3 {
        let mut inner = outer.scope();
        inner.try_acquire::<u8, _>(60)?;
        for deeper in 0..3 {
            let innermost = inner.scope();
            innermost.try_acquire::<u16, _>(70)?;
            if (round, deeper) == (1, 1) {
                break 'levels;
            }
        }
    }
    world.assert_active(outer.active_slots(), before, "after a break through two levels");

    let mut again = outer.try_acquire::<u8, _>(50)?;
    world.write(&mut again, 2);
    world.assert_apart::<u8, u8>(&held, &again);
    world.assert_holds(&held, 1);
    Ok(())
}

/// Acquires one array in a scope and another in a nested scope, then calls `end`.
fn take_two_levels<P: BackendProbe>(
    world: &World<'_, P>,
    scope: &mut Scope<'_, P::Backend>,
    end: impl FnOnce(),
) -> Outcome<P> {
    let mut inner = scope.scope();
    let mut view = inner.try_acquire::<f64, _>(8)?;
    world.write(&mut view, 3);
    let innermost = inner.scope();
    let mut deepest = innermost.try_acquire::<f64, _>(9)?;
    world.write(&mut deepest, 4);
    end();
    world.assert_holds(&view, 3);
    Ok(())
}

fn returns_early<P: BackendProbe>(
    world: &World<'_, P>,
    scope: &mut Scope<'_, P::Backend>,
) -> Result<usize, Failure<P>> {
    let mut inner = scope.scope();
    inner.try_acquire::<f32, _>(11)?;
    for depth in 0..4 {
        take_two_levels(world, &mut inner, || ())?;
        if depth == 2 {
            return Ok(inner.active_slots());
        }
    }
    Ok(0)
}

fn question_mark<P: BackendProbe>(
    world: &World<'_, P>,
    scope: &mut Scope<'_, P::Backend>,
) -> Outcome<P> {
    let mut inner = scope.scope();
    take_two_levels(world, &mut inner, || ())?;
    inner.try_acquire::<f64, _>(5)?;
    inner.try_acquire::<f64, _>(usize::MAX)?;
    panic!("more bytes than an address space were given")
}

fn forgotten<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    for _ in 0..3 {
        let mut outer = pool.scope();
        let mut held = outer.try_acquire::<f32, _>(20)?;
        world.write(&mut held, 5);
        {
            let mut inner = outer.scope();
            forget(inner.try_acquire::<f32, _>(21)?);
            let innermost = inner.scope();
            forget(innermost.try_acquire::<f32, _>(22)?);
            forget(innermost);
            world.assert_active(inner.active_slots(), 2, "slots that are handed out");
            forget(inner);
        }
        world.assert_active(outer.active_slots(), 1, "slots that are handed out");
        let mut next = outer.try_acquire::<f32, _>(23)?;
        world.write(&mut next, 6);
        world.assert_holds(&held, 5);
        forget(outer);
    }
    Ok(())
}

fn outlives<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut outer = pool.scope();
    let mut held = outer.try_acquire::<u16, _>(4)?;
    world.write(&mut held, 1);
    {
        // The scope value is dropped when the call returns, but the returned view still borrows
        // from the outer scope.
        let mut returned = outer.scope().try_acquire::<u16, _>(4)?;
        world.write(&mut returned, 2);
        world.assert_apart::<u16, u16>(&held, &returned);
        world.assert_holds(&returned, 2);
    }
    world.assert_holds(&held, 1);
    world.assert_active(outer.active_slots(), 1, "slots that are handed out");
    Ok(())
}
