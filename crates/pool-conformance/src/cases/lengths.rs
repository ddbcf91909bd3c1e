//! Test cases for long arrays. Filling, zeroing, copying, writing, and reading must reach the last
//! element of a long array. The array sizes are close to powers of two, and the longest array is
//! one element larger than a mebibyte. The size of each array element is 1, 2, 4, 8, 12, or 16
//! bytes.

use pool_core::Pool;

use super::case::{Case, Outcome};
use super::initial_content::InitialContent;
use super::world::World;
use crate::element::{Sample, samples};
use crate::probe::BackendProbe;

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::long("zeroing reaches the last of a mebibyte", |world, pool| {
            of_all_sizes::<P>(world, pool, InitialContent::Zeros)
        }),
        Case::long("a fill reaches the last of a mebibyte", |world, pool| {
            of_all_sizes::<P>(world, pool, InitialContent::Value)
        }),
        Case::long("an upload reaches the last of a mebibyte", |world, pool| {
            of_all_sizes::<P>(world, pool, InitialContent::Copy)
        }),
    ]
}

/// The base-2 logarithm of the size of the longest array in bytes, not counting the array's last
/// element.
const MOST: u32 = if cfg!(miri) { 9 } else { 20 };

/// The value that replaces `MOST` if a test case runs once for each allocation that can fail.
const MOST_SWEPT: u32 = 8;

fn of_all_sizes<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
    given: InitialContent,
) -> Outcome<P> {
    of_size::<P, u8>(world, pool, given)?;
    of_size::<P, [u32; 3]>(world, pool, given)?;
    of_size::<P, u64>(world, pool, given)?;
    if cfg!(miri) {
        return Ok(());
    }
    of_size::<P, u16>(world, pool, given)?;
    of_size::<P, u32>(world, pool, given)?;
    of_size::<P, [u64; 2]>(world, pool, given)
}

fn of_size<P: BackendProbe, T: Sample>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
    given: InitialContent,
) -> Outcome<P> {
    let most = if world.is_swept() { MOST_SWEPT } else { MOST };
    let size = size_of::<T>();
    let longest = (1 << most) / size + 1;
    // All views in this test case use the same block. The block's previous contents differ from
    // everything that the test case writes to it.
    pool.scope().try_acquire_zeroed::<T, _>(longest)?;
    let junk = samples::<T>(1, longest);
    for length in lengths(most, size) {
        {
            let scope = pool.scope();
            let mut view = T::recycle(&scope, length)?;
            world.probe.write_later(&mut view, &junk[..length]);
            let found = world.probe.read(&view);
            assert!(found == junk[..length], "written and read: {}", wrong(&found, &junk));
        }
        let scope = pool.scope();
        let view = given.acquire::<P, T>(world.probe, &scope, length, 2)?;
        let (found, right) = (world.probe.read(&view), given.content::<T>(length, 2));
        assert!(found == right, "{given:?}: {}", wrong(&found, &right));
    }
    Ok(())
}

/// Returns the element counts for which the array's size in bytes is closest to each power of two.
fn lengths(most: u32, size: usize) -> Vec<usize> {
    let around = |power: u32| {
        let length = (1_usize << power) / size;
        [length.saturating_sub(1), length, length + 1]
    };
    let mut lengths: Vec<usize> =
        (0..=most).flat_map(around).filter(|&length| length > 0).collect();
    lengths.dedup();
    lengths
}

/// Returns a description of the first difference between two arrays.
fn wrong<T: Sample>(found: &[T], right: &[T]) -> String {
    let length = found.len();
    let at = found.iter().zip(right).position(|(found, right)| found != right);
    let size = size_of::<T>();
    format!("element {at:?} of {length}, of {size} bytes each, is the first that is wrong")
}
