//! Test cases for the descriptor that a backend stores with a cached shape. The descriptor must
//! match its shape even if other shapes have been cached or evicted, or have lost their blocks, in
//! the meantime. A test case is skipped if the probe cannot inspect descriptors.

use pool_core::{DescribedBlock, PodElement, Pool, Scope};

use super::case::{Case, Outcome};
use super::world::World;
use crate::probe::{BackendProbe, Failure};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![Case::lexical("a descriptor is of its own shape", descriptors)]
}

fn descriptors<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let shapes: [&[usize]; 6] = [&[4, 5], &[5, 4], &[20], &[2, 2, 5], &[1, 20], &[20, 1]];
    for round in 0..3 {
        for dims in shapes.into_iter().chain(shapes) {
            if !describes::<P, f32>(world, &pool.scope(), dims)?
                || !describes::<P, u64>(world, &pool.scope(), dims)?
            {
                return Ok(());
            }
        }
        if round == 0 {
            pool.trim();
        } else {
            pool.scope().try_acquire::<f64, _>(1_000 * round)?;
        }
    }
    Ok(())
}

/// Acquires an array in the scope's next slot and checks the descriptor of the array's shape.
/// Returns `false` if the probe cannot inspect descriptors.
fn describes<P: BackendProbe, T: PodElement>(
    world: &World<'_, P>,
    scope: &Scope<'_, P::Backend>,
    dims: &[usize],
) -> Result<bool, Failure<P>> {
    // SAFETY: the test creates no view of the block and passes the descriptor only to the backend's
    // own probe.
    let block: DescribedBlock<'_, P::Backend> = unsafe { scope.try_acquire_described::<T>(dims) }?;
    let Some(kept) = world.offered(world.probe.kept_shape(block.descriptor, dims)) else {
        return Ok(false);
    };
    assert_eq!((kept.as_slice(), block.shape.dims()), (dims, dims), "a stale descriptor");
    Ok(true)
}
