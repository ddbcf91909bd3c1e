//! Test cases for work that is invisible to the pool. A view arms its slot when it passes its
//! memory to work that the pool cannot see. `reuse` must ensure that work invisible to the pool
//! runs before the slot's block is reused or freed. A test case is skipped if all work on the
//! backend's views is visible to the pool.

use pool_core::{PodElement, Pool, PoolBackend};

use super::case::{Case, Outcome};
use super::initial_content::InitialContent;
use super::world::World;
use crate::element::{Sample, samples};
use crate::probe::{BackendProbe, SkipReason};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("a block comes back after work elsewhere", handed_out),
        Case::lexical("a block is freed after work elsewhere", freed),
        Case::lexical("work elsewhere leaves other slots alone", other_slots),
        Case::lexical(
            "every form orders an armed block once, before the first write",
            ordered_once,
        ),
    ]
}

/// Enqueues a write to a view on another queue. Returns `false` if the backend has no other queue.
fn elsewhere<P: BackendProbe, T: Sample + PodElement>(
    world: &World<'_, P>,
    view: &mut <P::Backend as PoolBackend>::View<'_, T>,
    seed: u64,
    length: usize,
) -> bool {
    let content = samples::<T>(seed, length);
    world.offered(world.probe.write_elsewhere(view, &content)).is_some()
}

fn handed_out<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    for given in InitialContent::ALL {
        for length in [1, 300] {
            let mut scope = pool.scope();
            {
                let inner = scope.scope();
                let mut view = inner.try_acquire_zeroed::<f64, _>(length)?;
                world.write_later(&mut view, 1);
                if !elsewhere::<P, f64>(world, &mut view, 2, length) {
                    return Ok(());
                }
            }
            let mut view = given.acquire::<P, f64>(world.probe, &scope, length, 3)?;
            let found = world.read_later(&view);
            world.write_later(&mut view, 4);
            world.assert_holds(&view, 4);
            assert_eq!(found(), given.content(length, 3), "{given:?} after work elsewhere");
        }
    }
    Ok(())
}

fn freed<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    for round in 0..3 {
        {
            let scope = pool.scope();
            let mut view = scope.try_acquire_zeroed::<f64, _>(200)?;
            if !elsewhere::<P, f64>(world, &mut view, round, 200) {
                return Ok(());
            }
        }
        match round {
            0 => drop(pool.trim()),
            1 => drop(pool.clear()),
            _ => drop(pool.scope().try_acquire_zeroed::<f64, _>(5_000)?),
        }
        let view =
            InitialContent::Value.acquire::<P, f64>(world.probe, &pool.scope(), 200, round)?;
        assert_eq!(world.probe.read(&view), InitialContent::Value.content(200, round));
    }
    Ok(())
}

fn other_slots<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut scope = pool.scope();
    let mut held = scope.try_acquire_zeroed::<f32, _>(50)?;
    if !elsewhere::<P, f32>(world, &mut held, 1, 50) {
        return Ok(());
    }
    for seed in 2..5 {
        let inner = scope.scope();
        let mut view = inner.try_acquire_zeroed::<f32, _>(50)?;
        world.write_later(&mut view, seed);
        world.assert_holds(&view, seed);
    }
    // When the view is used again, it contains the elements that the other queue wrote.
    world.assert_holds(&held, 1);
    Ok(())
}

/// Tests pools that wrap the backend under test in an `ArmingBackend`. An `ArmingBackend`'s views
/// arm their slots even if the tested backend's views do not.
fn ordered_once<P: BackendProbe>(world: &World<'_, P>, _: &mut Pool<P::Backend>) -> Outcome<P> {
    let forms = world.probe.host_forms().ok_or(NO_HOST_FORMS);
    match world.offered(forms) {
        Some(forms) => forms.check_reuse(&|| world.probe.context()),
        None => Ok(()),
    }
}

/// The reason for skipping a backend whose memory the host cannot write to.
pub const NO_HOST_FORMS: SkipReason =
    SkipReason("the backend has no forms of the host, which are called on armed slots");
