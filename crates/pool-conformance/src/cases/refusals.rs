//! Test cases for allocations refused by the ledger. If an acquire is refused, the error must
//! contain the requested and reserved sizes, and no slot may be consumed. If freeing idle blocks
//! makes enough room, the acquire must succeed. During a sweep, the test cases do not inject
//! failures of their own. Only the sweep decides which allocations fail.

use pool_core::{Pool, PoolError, error_chain};

use super::case::{Case, Outcome};
use super::world::World;
use crate::ledger::{Ledger, Refusal};
use crate::panics::{catch_quietly, is_in_allocation};
use crate::probe::{BackendProbe, Watching};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("a refused allocation is an error, and takes nothing", refused),
        Case::lexical("a refusal that can be made up for is", made_up_for),
        Case::lexical("memory that runs out is an error at the same point", out_of_memory),
        Case::lexical("a panic in an allocation leaves the pool usable", panics),
    ]
}

/// Returns the ledger that can refuse allocations. Returns `None` if the probe provides no ledger
/// that can refuse allocations, or if a sweep already makes allocations fail.
fn ledger<'p, P: BackendProbe>(world: &World<'p, P>) -> Option<&'p Ledger> {
    world.offered(world.probe.refusal()).filter(|_| !world.is_swept())
}

/// The length of an array that does not fit in the slot's current block and therefore requires a
/// new allocation.
const MORE: usize = if cfg!(miri) { 600 } else { 10_000 };

fn refused<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let Some(ledger) = ledger(world) else { return Ok(()) };
    let scope = pool.scope();
    let mut held = scope.try_acquire::<f64, _>(100)?;
    world.write_later(&mut held, 1);
    let before = (ledger.live_blocks(), ledger.live_bytes(), scope.stats().reserved_bytes);
    let refused = ledger.refused();
    ledger.refuse(Refusal::From(0));
    // With the stack layout, a one-element array still fits in the current chunk.
    let lengths = [1, 1_000, 100_000];
    for &length in &lengths[usize::from(!P::HAS_SLOTS)..] {
        match scope.try_acquire_zeroed::<u64, _>(length) {
            Ok(_) => panic!("{length} elements were given, though the allocation was refused"),
            Err(PoolError::OutOfMemory { requested, reserved, .. }) => {
                assert!(requested >= 8 * length, "{requested} bytes asked for");
                assert_eq!(reserved, scope.stats().reserved_bytes);
            }
            Err(error) => panic!("the wrong error: {}", error_chain(&error)),
        }
        world.assert_active(scope.active_slots(), 1, "a refused acquire took a slot");
    }
    assert!(ledger.refused() > refused, "the ledger refused no allocation");
    let after = (ledger.live_blocks(), ledger.live_bytes(), scope.stats().reserved_bytes);
    assert_eq!(after, before, "what is held after a refusal");
    ledger.refuse(Refusal::Never);
    let mut view = scope.try_acquire_zeroed::<u64, _>(1_000)?;
    world.write_later(&mut view, 2);
    world.assert_holds(&view, 2);
    world.assert_holds(&held, 1);
    Ok(())
}

fn made_up_for<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let Some(ledger) = ledger(world) else { return Ok(()) };
    let scope = pool.scope();
    for length in [10, 100, MORE] {
        ledger.refuse(Refusal::Once(0));
        let refused = ledger.refused();
        let mut view = scope.try_acquire_filled(length, 0.5_f64)?;
        assert_eq!(ledger.refused(), refused + 1, "refusals of one acquire");
        assert_eq!(world.probe.read(&view), vec![0.5; length]);
        world.write_later(&mut view, 3);
        world.assert_holds(&view, 3);
    }
    Ok(())
}

fn out_of_memory<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let Some(ledger) = ledger(world) else { return Ok(()) };
    // The limit leaves room for two blocks of 8,000 bytes. There is room for another block only
    // after idle blocks have been freed.
    ledger.refuse(Refusal::Above(ledger.live_bytes() + 20_000));
    for _ in 0..2 {
        let scope = pool.scope();
        let mut first = scope.try_acquire_zeroed::<u8, _>(8_000)?;
        let mut second = scope.try_acquire_zeroed::<f64, _>(1_000)?;
        world.write_later(&mut first, 1);
        world.write_later(&mut second, 2);
        let third = scope.try_acquire_zeroed::<u8, _>(8_000);
        assert!(matches!(third, Err(PoolError::OutOfMemory { .. })), "more than there is");
        world.assert_holds(&first, 1);
        world.assert_holds(&second, 2);
    }
    let scope = pool.scope();
    let large = scope.try_acquire_zeroed::<u8, _>(16_000)?;
    assert_eq!(world.probe.read(&large), [0; 16_000]);
    assert!(ledger.peak_bytes() >= 16_000);
    Ok(())
}

fn panics<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let Some(ledger) = ledger(world) else { return Ok(()) };
    let mut scope = pool.scope();
    let mut held = scope.try_acquire::<f64, _>(100)?;
    world.write_later(&mut held, 1);
    let lengths = [10, MORE];
    for &length in &lengths[usize::from(!P::HAS_SLOTS)..] {
        ledger.refuse(Refusal::PanicOnce(0));
        let inner = scope.scope();
        match catch_quietly(|| inner.try_acquire_zeroed::<f64, _>(length).map(drop)) {
            Ok(_) => panic!("the backend did not panic on demand"),
            Err(payload) => assert!(is_in_allocation(payload.as_ref()), "another panic"),
        }
        world.assert_active(inner.active_slots(), 1, "an acquire that panicked took a slot");
        let mut view = inner.try_acquire_zeroed::<f64, _>(length)?;
        world.write_later(&mut view, 2);
        world.assert_holds(&view, 2);
        world.assert_holds(&held, 1);
    }
    Ok(())
}
