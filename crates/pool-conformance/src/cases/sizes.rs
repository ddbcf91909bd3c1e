//! Test cases for sizes. The test cases cover empty acquires, acquires that exceed any available
//! memory, blocks that grow, and blocks that retain their capacity.

use pool_core::{Pool, PoolBackend, PoolConfig, PoolError, PoolView, ShapeError};

use super::case::{Case, Outcome};
use super::world::World;
use crate::probe::{BackendProbe, Failure, View, Watching};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("products and bytes that overflow are refused", overflow),
        Case::lexical("growing slot 1 leaves slot 2 intact", growth),
        Case::lexical("capacity is kept on shrink, and across a zero length", shrink),
        Case::lexical("zero length takes a slot and no block", zero_length),
        Case::lexical("elements of no size take a slot and no block", zero_size),
        Case::lexical("the byte limit holds, and idle blocks make room", limit),
        Case::lexical("arrays of every rank", ranks),
    ]
}

fn overflow<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let most = isize::MAX as usize;
    let scope = pool.scope();
    let mut held = scope.try_acquire::<f64, _>(4)?;
    world.write(&mut held, 1);

    for length in [most / 8 + 1, most, most + 1, usize::MAX / 8 + 1, usize::MAX] {
        match expect_error::<P, _>(scope.try_acquire::<f64, _>(length)) {
            PoolError::SizeOverflow { elements, element_size: 8 } => assert_eq!(elements, length),
            other => panic!("the wrong error: {other}"),
        }
    }
    let shape_error = |error: Failure<P>| match error {
        PoolError::Shape(error @ ShapeError::Overflow { .. }) => error,
        other => panic!("the wrong error: {other}"),
    };
    let dims: [[usize; 3]; 6] = [
        [usize::MAX, 2, 2],
        [most, 1, 2],
        [most / 8 + 1, 1, 1],
        // If the product of two lengths overflows, the shape is invalid, even if a third length is
        // zero.
        [usize::MAX, 2, 0],
        [0, usize::MAX, 2],
        [2, 0, usize::MAX],
    ];
    for dims in dims {
        let wrong = ShapeError::Overflow { rank: 3, element_size: 8 };
        let fixed = expect_error::<P, _>(scope.try_acquire::<f64, _>(dims));
        assert_eq!(shape_error(fixed), wrong);
        let dynamic = expect_error::<P, _>(scope.try_acquire_zeroed::<f64, _>(&dims[..]));
        assert_eq!(shape_error(dynamic), wrong);
    }
    world.assert_active(scope.active_slots(), 1, "a refused acquire took a slot");
    world.assert_holds(&held, 1);
    assert!(scope.try_acquire::<f64, _>([0, usize::MAX >> 8, 3])?.is_empty());
    Ok(())
}

fn expect_error<P: BackendProbe, V>(outcome: Result<V, Failure<P>>) -> Failure<P> {
    match outcome {
        Ok(_) => panic!("what cannot be was given"),
        Err(error) => error,
    }
}

/// The number of elements that a block can hold after growing.
const LONG: usize = if cfg!(miri) { 1_600 } else { 40_000 };

fn growth<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    for (first, second) in [(10, 10), (1_000, 10), (LONG / 8, 11)] {
        let scope = pool.scope();
        let mut one = scope.try_acquire::<f32, _>(first)?;
        world.write(&mut one, 1);
        let mut two = scope.try_acquire::<f32, _>(second)?;
        world.write(&mut two, 2);
        let mut three = scope.try_acquire::<f32, _>(first)?;
        world.write(&mut three, 3);
        world.assert_holds(&one, 1);
        world.assert_holds(&two, 2);
        world.assert_apart::<f32, f32>(&one, &two);
        world.assert_apart::<f32, f32>(&two, &three);
    }
    // Slot 1 grows while slot 0 is in use. Slot 2 is idle while slot 1 grows, and its block is then
    // reused unchanged.
    let mut scope = pool.scope();
    let mut one = scope.try_acquire::<f32, _>(10)?;
    world.write(&mut one, 4);
    for length in [20, LONG] {
        let inner = scope.scope();
        let mut grown = inner.try_acquire::<f32, _>(length)?;
        world.write(&mut grown, 5);
        let mut next = inner.try_acquire::<f32, _>(LONG / 8)?;
        world.write(&mut next, 6);
        world.assert_apart::<f32, f32>(&grown, &next);
        world.assert_holds(&grown, 5);
    }
    world.assert_holds(&one, 4);
    Ok(())
}

fn shrink<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let address = world.probe.address::<f64>(&pool.scope().try_acquire::<f64, _>(1_000)?);
    let reserved = pool.stats().reserved_bytes;
    assert!(reserved >= 8_000);
    for length in [1_000, 0, 200, 1, 999, 0, 1_000] {
        let view: View<'_, P, f64> = pool.scope().try_acquire::<f64, _>(length)?;
        assert_eq!(view.len(), length);
        if length > 0 {
            world.assert_economy(world.probe.address::<f64>(&view), address, "the block moved");
        }
    }
    world.assert_economy(pool.stats().reserved_bytes, reserved, "capacity was not kept");
    world.assert_economy(pool.stats().growths, 1, "a length that fitted was allocated again");
    Ok(())
}

fn zero_length<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    let none = scope.try_acquire::<f64, _>(0)?;
    let neither = scope.try_acquire::<f32, _>([3, 0])?;
    assert_eq!((scope.stats().reserved_bytes, scope.stats().growths), (0, 0));
    let nothing = scope.try_acquire_zeroed::<u8, _>(&[0, 4][..])?;
    assert_eq!((none.len(), neither.len(), nothing.len()), (0, 0, 0));
    assert_eq!((neither.shape(), nothing.shape()), (&[3, 0][..], &[0, 4][..]));
    world.assert_active(scope.active_slots(), 3, "slots that are handed out");
    if P::HAS_SLOTS {
        // With the stack layout, even an empty array of dynamic rank occupies a cache line. The
        // pool uses the array's address to find the array's shape.
        assert_eq!((scope.stats().reserved_bytes, scope.stats().growths), (0, 0));
    }
    let mut some = scope.try_acquire::<f64, _>(1)?;
    world.write(&mut some, 1);
    // An empty acquire must also work if the cursor is at the end of a slot table.
    for taken in 5..70 {
        assert!(scope.try_acquire_zeroed::<bool, _>(0)?.is_empty());
        world.assert_active(scope.active_slots(), taken, "slots that are handed out");
    }
    assert!(world.probe.read(&none).is_empty());
    world.assert_holds(&some, 1);
    if P::HAS_SLOTS || world.is_undisturbed() {
        assert_eq!(scope.stats().growths, 1);
    }
    Ok(())
}

fn zero_size<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    for length in [0, 1, 1_000, isize::MAX as usize] {
        let scope = pool.scope();
        assert_eq!(scope.try_acquire::<(), _>(length)?.len(), length);
        assert_eq!(scope.try_acquire::<[u64; 0], _>([length, 1])?.len(), length);
        world.assert_active(scope.active_slots(), 2, "slots that are handed out");
    }
    assert_eq!((pool.stats().reserved_bytes, pool.stats().growths), (0, 0));
    Ok(())
}

fn limit<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    // The limit must leave room for one large block and two small blocks, but not for two large
    // blocks. Rounding the sizes up to the alignment must not change whether the blocks fit. With
    // the stack layout, the first chunk has more room than the small blocks require.
    let least = if P::HAS_SLOTS { 8_000 } else { 80_000 };
    let bytes = (16 * P::Backend::ALIGN).max(least);
    let limit = bytes + bytes / 2;
    pool.configure(PoolConfig::new().byte_limit(limit))?;
    let mut scope = pool.scope();
    let mut small = scope.try_acquire::<f64, _>(100)?;
    world.write(&mut small, 1);
    {
        let inner = scope.scope();
        let mut tiny = inner.try_acquire::<u8, _>(10)?;
        world.write(&mut tiny, 2);
        let mut large = inner.try_acquire::<u8, _>(bytes)?;
        world.write(&mut large, 3);
        match inner.try_acquire::<u8, _>(bytes) {
            Ok(_) => panic!("more than the limit was given"),
            Err(PoolError::LimitExceeded { requested, reserved, limit: reported }) => {
                assert!(requested >= bytes && requested + reserved > reported);
                assert_eq!((reserved, reported), (inner.stats().reserved_bytes, limit));
            }
            Err(error) => return Err(error),
        }
        world.assert_active(inner.active_slots(), 3, "slots that are handed out");
        world.assert_holds(&tiny, 2);
        world.assert_holds(&large, 3);
    }
    // The large block is idle, and its slot lies above the slot whose block must grow. Freeing the
    // large block makes room for the growing block.
    let mut grown = scope.try_acquire::<u8, _>(bytes)?;
    world.write(&mut grown, 4);
    world.assert_holds(&small, 1);
    assert!(scope.stats().peak_reserved_bytes <= limit);
    Ok(())
}

fn ranks<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    let dims = [3, 2, 1, 2, 2, 3];
    let mut views = vec![
        scope.try_acquire::<u16, _>([3])?.into_view(),
        scope.try_acquire::<u16, _>((3, 2))?.into_view(),
        scope.try_acquire::<u16, _>([3, 2, 1])?.into_view(),
        scope.try_acquire::<u16, _>((3, 2, 1, 2))?.into_view(),
        scope.try_acquire::<u16, _>([3, 2, 1, 2, 2])?.into_view(),
        scope.try_acquire::<u16, _>([3, 2, 1, 2, 2, 3])?.into_view(),
    ];
    for rank in 0..=6 {
        let array = scope.try_acquire::<u16, _>(&dims[..rank])?;
        assert_eq!((array.rank(), array.shape()), (rank, &dims[..rank]));
        views.push(array.into_view());
    }
    let lengths = [3, 6, 6, 12, 24, 72, 1, 3, 6, 6, 12, 24, 72];
    for ((seed, view), length) in (0..).zip(&mut views).zip(lengths) {
        assert_eq!(view.len(), length);
        world.write(view, seed);
    }
    for (seed, view) in (0..).zip(&views) {
        world.assert_holds(view, seed);
    }
    Ok(())
}
