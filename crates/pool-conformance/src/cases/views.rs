//! Test cases for views in generic code. The test cases cover pointers to views, parts of views,
//! and operations that fill, zero, copy, or read a view. All operations on a view must run in queue
//! order.

use std::ops::Range;

use pool_core::{LendView, PodElement, Pool, PoolView, PoolViewMut, ShapeError};

use super::case::{Case, Outcome};
use super::world::World;
use crate::element::{Sample, samples};
use crate::probe::{BackendProbe, View};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("a view is lent, in whole and in parts", lent),
        Case::lexical("parts that are not within a view are refused", not_within),
        Case::lexical("what a view is given stays within it", |world, pool| {
            stays_within::<P, u8>(world, pool)?;
            stays_within::<P, u16>(world, pool)?;
            stays_within::<P, f64>(world, pool)
        }),
        Case::lexical("what a view is given comes after older work, before newer", in_order),
        Case::lexical("a copy has what its source held when it was asked for", copied),
        Case::lexical("a copy from another pool has what its source held", copied_across),
        Case::lexical("copies of other lengths are refused, and change nothing", other_lengths),
        Case::lexical("a read gives what was enqueued before", read_back),
    ]
}

/// The number of elements in each view.
const LENGTH: usize = 40;

/// The parts of a view that are tested. A part is either the whole view, a range at one end, or a
/// range in the middle. Some parts are empty. Most offsets and lengths are not multiples of the
/// word size.
const PARTS: [Range<usize>; 6] = [0..LENGTH, 0..7, 33..LENGTH, 3..8, 5..6, 11..11];

fn lent<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    let mut view = scope.try_acquire::<u32, _>(LENGTH)?;
    world.write(&mut view, 1);
    let content = samples::<u32>(1, LENGTH);
    let start = world.probe.address(&view);
    for part in PARTS {
        let shared = view.part(part.clone()).expect("the part is within the view");
        // Several shared parts of a view, including parts of parts, may be in use at the same time.
        let (again, inner) = (shared, shared.part(..part.len() / 2).expect("half of it"));
        assert_eq!(world.probe.read_shared(&again), content[part.clone()]);
        assert_eq!(world.probe.read_shared(&inner), content[part.start..][..part.len() / 2]);
        if !part.is_empty() {
            assert_eq!(world.probe.shared_address(&shared), start + 4 * part.start);
        }
        let exclusive = view.part_mut(part.clone()).expect("as above");
        assert_eq!((exclusive.len(), exclusive.is_empty()), (part.len(), part.is_empty()));
        assert_eq!(world.probe.read(&exclusive), content[part]);
    }
    {
        let (left, mut right) = view.reborrow().into_split_at(15).expect("15 of 40");
        world.write(&mut right, 2);
        assert_eq!(world.probe.read(&left), content[..15]);
    }
    // All borrows of the parts have ended, so the whole view is usable again.
    let last = view.into_part(LENGTH - 5..).expect("the last five");
    assert_eq!(world.probe.read(&last), samples::<u32>(2, 25)[20..]);
    Ok(())
}

fn not_within<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    let mut view = scope.try_acquire::<f32, _>(LENGTH)?;
    world.write(&mut view, 1);
    let refused = |start, end| Some(ShapeError::PartOutOfRange { start, end, extent: LENGTH });
    assert_eq!(view.part(..LENGTH + 1).err(), refused(0, LENGTH + 1));
    assert_eq!(view.part_mut(LENGTH + 1..).err(), refused(LENGTH + 1, LENGTH));
    #[expect(clippy::reversed_empty_ranges, reason = "it is to be refused")]
    let reversed = view.part(8..3).err();
    assert_eq!(reversed, refused(8, 3));
    assert_eq!(view.as_view().part(..=usize::MAX).err(), refused(0, usize::MAX));
    let split = Some(ShapeError::SplitOutOfRange { asked: LENGTH + 1, extent: LENGTH });
    assert_eq!(view.as_view().into_split_at(LENGTH + 1).err(), split);
    assert_eq!(view.reborrow().into_split_at(LENGTH + 1).err(), split);
    world.assert_holds(&view, 1);
    Ok(())
}

/// The contents that a test writes to a view.
#[derive(Clone, Copy, Debug)]
enum Given {
    Value,
    Zeros,
    FromHost,
    Copy,
}

const ALL_GIVEN: [Given; 4] = [Given::Value, Given::Zeros, Given::FromHost, Given::Copy];

impl Given {
    /// Writes the contents to a view. If the contents must be copied from a view, `source` is that
    /// view.
    fn give<P: BackendProbe, T: Sample>(
        self,
        view: &mut View<'_, P, T>,
        source: &mut View<'_, P, T>,
        world: &World<'_, P>,
    ) -> Vec<T> {
        let length = view.len();
        let (given, content) = match self {
            Self::Value => {
                let value = T::sample(77, 3);
                (view.fill_with_value(value), vec![value; length])
            }
            Self::Zeros => (view.fill_with_zeros(), vec![T::zeroed(); length]),
            Self::FromHost => {
                let mut content = samples::<T>(78, length);
                let given = view.copy_from_host(&content);
                let arrives = content.clone();
                content.fill(T::zeroed());
                (given, arrives)
            }
            Self::Copy => {
                world.write_later(source, 79);
                let part = source.part(..length).expect("the source is as long");
                let given = view.copy_from(part);
                (given, samples::<T>(79, source.len())[..length].to_vec())
            }
        };
        given.unwrap_or_else(|error| panic!("{self:?}: {error}"));
        content
    }
}

fn stays_within<P: BackendProbe, T: Sample>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    let scope = pool.scope();
    let mut view = scope.try_acquire_zeroed::<T, _>(LENGTH)?;
    let mut source = scope.try_acquire_zeroed::<T, _>(LENGTH)?;
    for given in ALL_GIVEN {
        for part in PARTS {
            world.write(&mut view, 1);
            let mut whole = samples::<T>(1, LENGTH);
            let content = {
                let mut to = view.part_mut(part.clone()).expect("the part is within the view");
                given.give(&mut to, &mut source, world)
            };
            whole[part.clone()].copy_from_slice(&content);
            assert_eq!(world.probe.read(&view), whole, "{given:?} at {part:?}");
        }
    }
    Ok(())
}

fn in_order<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    let mut source = scope.try_acquire_zeroed::<f64, _>(LENGTH)?;
    let mut reads = Vec::new();
    for given in ALL_GIVEN {
        let mut view = scope.try_acquire::<f64, _>(LENGTH)?;
        world.write_later(&mut view, 1);
        let before = world.read_later(&view);
        let content = given.give(&mut view, &mut source, world);
        let between = world.read_later(&view);
        world.write_later(&mut view, 2);
        reads.push((given, before, between, content, world.read_later(&view)));
    }
    // No earlier call waits for the queue.
    for (given, before, between, content, after) in reads {
        assert_eq!(before(), samples::<f64>(1, LENGTH), "{given:?} before older work");
        assert_eq!(between(), content, "{given:?}");
        assert_eq!(after(), samples::<f64>(2, LENGTH), "{given:?} after newer work");
    }
    Ok(())
}

fn copied<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    let mut source = scope.try_acquire::<u16, _>(LENGTH)?;
    let mut copy = scope.try_acquire::<u16, _>(LENGTH)?;
    world.write_later(&mut source, 1);
    copy.copy_from(source.as_view()).unwrap_or_else(|error| panic!("{error}"));
    world.write_later(&mut source, 2);
    let held = world.read_later(&copy);
    world.assert_holds(&source, 2);
    assert_eq!(held(), samples::<u16>(1, LENGTH));
    // Elements can be copied between two parts of the same array.
    {
        let (mut left, right) = source.reborrow().into_split_at(LENGTH / 2).expect("half of it");
        left.copy_from(right.as_view()).unwrap_or_else(|error| panic!("{error}"));
    }
    let content = samples::<u16>(2, LENGTH);
    assert_eq!(world.probe.read(&source), [&content[LENGTH / 2..]; 2].concat());
    Ok(())
}

fn copied_across<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut other = Pool::<P::Backend>::with_config(world.probe.context(), pool.config())?;
    let (scope, elsewhere) = (pool.scope(), other.scope());
    let mut source = elsewhere.try_acquire::<f32, _>(LENGTH)?;
    let mut copy = scope.try_acquire::<f32, _>(LENGTH)?;
    world.write_later(&mut copy, 3);
    world.write_later(&mut source, 1);
    copy.copy_from(source.as_view()).unwrap_or_else(|error| panic!("{error}"));
    world.write_later(&mut source, 2);
    world.assert_holds(&copy, 1);
    world.assert_holds(&source, 2);
    Ok(())
}

fn other_lengths<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    let mut view = scope.try_acquire::<u32, _>(LENGTH)?;
    let source = scope.try_acquire_zeroed::<u32, _>(LENGTH + 1)?;
    world.write(&mut view, 1);
    assert!(view.copy_from(source.as_view()).is_err(), "from a longer view");
    assert!(view.copy_from_host(&[7; LENGTH - 1]).is_err(), "from fewer elements");
    assert!(view.copy_to_host(&mut [7; LENGTH + 1]).is_err(), "to more elements");
    world.assert_holds(&view, 1);
    Ok(())
}

fn read_back<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    read_back_as::<P, u8>(world, pool)?;
    read_back_as::<P, f64>(world, pool)
}

fn read_back_as<P: BackendProbe, T: Sample + PodElement>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    let scope = pool.scope();
    let mut view = scope.try_acquire::<T, _>(LENGTH)?;
    for (seed, part) in (1..).zip(PARTS) {
        world.write_later(&mut view, seed);
        let shared = view.part(part.clone()).expect("the part is within the view");
        let expected = &samples::<T>(seed, LENGTH)[part.clone()];
        assert_eq!(shared.copy_to_vec().unwrap_or_else(|error| panic!("{error}")), expected);
        let mut found = vec![T::sample(99, 0); part.len()];
        shared.copy_to_host(&mut found).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found, expected);
    }
    Ok(())
}
