//! Test cases for constants, which are arrays that a dynamic pool stores below its scopes. Scopes
//! can read constants, and constants can be created from a scope's contents.

use pool_core::{
    Compaction, DynamicPool, Handle, Handles, LendView, PoolBackend, PoolView, PoolViewMut,
};

use super::case::{Case, Outcome};
use super::world::World;
use crate::element::samples;
use crate::probe::{BackendProbe, Failure};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::dynamic("constants stay where and what they are beside scopes", stay),
        Case::dynamic("constants are read in parts and copied beside scopes", read_beside),
        Case::dynamic("a constant is made of a scope's temporaries", made_of_temporaries),
    ]
}

/// The length of each constant and of each temporary array.
const LENGTH: usize = 40;

/// The constants of a test: weights, a table of a different type, and an empty array.
#[derive(Clone, Copy)]
struct Constants {
    weights: Handle<f32>,
    table: Handle<u16>,
    nothing: Handle<f64>,
}

impl Constants {
    fn upload<P: BackendProbe>(pool: &mut DynamicPool<P::Backend>) -> Result<Self, Failure<P>> {
        Ok(Self {
            weights: pool.try_acquire_from(&samples::<f32>(1, LENGTH))?,
            table: pool.try_acquire_from(&samples::<u16>(2, LENGTH))?,
            nothing: pool.try_acquire_from(&[])?,
        })
    }

    /// Checks the contents of the constants and returns their addresses.
    fn check<P: BackendProbe>(
        &self,
        world: &World<'_, P>,
        constants: &Handles<'_, P::Backend>,
    ) -> Result<[usize; 2], Failure<P>> {
        // Several shared views of constants may be in use at the same time.
        let (weights, table) = (constants.get(self.weights)?, constants.get(self.table)?);
        assert_eq!(world.probe.read_shared(&table), samples::<u16>(2, LENGTH));
        assert_eq!(world.probe.read_shared(&weights), samples::<f32>(1, LENGTH));
        assert!(constants.get(self.nothing)?.is_empty());
        Ok([world.probe.shared_address(&weights), world.probe.shared_address(&table)])
    }
}

fn stay<P: BackendProbe>(world: &World<'_, P>, pool: &mut DynamicPool<P::Backend>) -> Outcome<P> {
    let handles = Constants::upload::<P>(pool)?;
    let mut places = Vec::new();
    let mut growths = Vec::new();
    for _ in 0..3 {
        let (constants, mut scope) = pool.split();
        let mut outer = scope.try_acquire::<f32, _>(LENGTH)?;
        world.write_later(&mut outer, 3);
        {
            let inner = scope.scope();
            let mut large = inner.try_acquire::<u8, _>(9_000)?;
            world.write_later(&mut large, 4);
            places.push(handles.check(world, &constants)?);
        }
        world.assert_holds(&outer, 3);
        growths.push(scope.stats().growths);
        // A scope can free and replace only its own blocks.
        scope.trim();
        scope.compact(&Compaction::default());
        places.push(handles.check(world, &constants)?);
    }
    pool.trim();
    assert!(places.iter().all(|place| *place == places[0]), "a constant has moved: {places:?}");
    let grown = [growths[1] - growths[0], growths[2] - growths[1]];
    // Trimming the scope freed only the large temporary.
    world.assert_economy(grown, [1, 1], "blocks for what was there");
    Ok(())
}

fn read_beside<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let weights = pool.try_acquire::<f32>(LENGTH)?;
    let mut reads = Vec::new();
    for seed in 1..4 {
        // The constant's new value is written before any work of the scope is enqueued.
        world.write_later(&mut pool.get_mut(weights)?, seed);
        let (constants, scope) = pool.split();
        let shared = constants.get(weights)?;
        let mut copy = scope.try_acquire::<f32, _>(LENGTH)?;
        let mut part = scope.try_acquire::<f32, _>(7)?;
        let copied = copy.copy_from(shared);
        copied.unwrap_or_else(|error| panic!("{error}"));
        let copied = part.copy_from(shared.part(3..10).expect("7 of 40"));
        copied.unwrap_or_else(|error| panic!("{error}"));
        reads.push((seed, world.read_later(&copy), world.read_later(&part)));
        world.write_later(&mut copy, 9);
    }
    // No earlier call has waited for the queue.
    for (seed, copy, part) in reads {
        let content = samples::<f32>(seed, LENGTH);
        assert_eq!((copy(), part()), (content.clone(), content[3..10].to_vec()));
    }
    assert_eq!(world.probe.read_shared(&pool.get(weights)?), samples::<f32>(3, LENGTH));
    Ok(())
}

fn made_of_temporaries<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let first = pool.try_acquire_zeroed::<u32>(LENGTH)?;
    let second = pool.try_acquire_zeroed::<u32>(LENGTH)?;
    {
        let (mut constants, scope) = pool.split();
        let mut temporary = scope.try_acquire::<u32, _>(LENGTH)?;
        world.write_later(&mut temporary, 5);
        copy::<P>(&mut constants, first, temporary.as_view())?;
        world.write_later(&mut temporary, 6);
        copy::<P>(&mut constants, second, temporary.as_view())?;
    }
    // The slot that previously contained the temporary now contains a different array.
    let third = pool.try_acquire_zeroed::<u32>(LENGTH)?;
    for (handle, content) in [
        (first, samples::<u32>(5, LENGTH)),
        (second, samples::<u32>(6, LENGTH)),
        (third, vec![0; LENGTH]),
    ] {
        assert_eq!(world.probe.read_shared(&pool.get(handle)?), content);
    }
    Ok(())
}

fn copy<P: BackendProbe>(
    constants: &mut Handles<'_, P::Backend>,
    to: Handle<u32>,
    from: <P::Backend as PoolBackend>::ViewRef<'_, u32>,
) -> Outcome<P> {
    let mut view = constants.get_mut(to)?;
    let copied = view.copy_from(from.as_view());
    copied.unwrap_or_else(|error| panic!("{error}"));
    Ok(())
}
