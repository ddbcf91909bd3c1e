//! Test cases for blocks and their views. Blocks must not overlap, and their addresses and lengths
//! must match the ledger's records. Each view must lie within its block and have the requested
//! length. Writing to one view must not change another view.

use pool_core::{DynamicPool, Pool, PoolBackend, PoolView};

use super::case::{Case, Outcome};
use super::initial_content::InitialContent;
use super::world::World;
use crate::element::{Sample, samples};
use crate::probe::{BackendProbe, Watching};

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("the ledger has every block of the pool, and no other", accounts),
        Case::lexical("views are aligned, and within blocks of their own", places),
        Case::lexical("empty views have an aligned address", empty),
        Case::lexical("views have the length asked for", lengths),
        Case::lexical("parts of a view are where they should be", parts),
        Case::dynamic("a shared view is where the exclusive one is", shared),
        Case::lexical("what fills a view leaves its neighbours alone", neighbours),
        Case::lexical("what fills a view stays in its block", stays),
    ]
}

fn accounts<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    if world.offered(world.probe.accounting()).is_none() {
        return Ok(());
    }
    let held = || world.probe.held().unwrap_or_default();
    let before = held();
    assert_eq!((before.blocks, before.bytes), (0, 0), "blocks left by somebody else");
    let scope = pool.scope();
    for blocks in 1..=4 {
        world.write(&mut scope.try_acquire::<f64, _>(100 * blocks)?, 1);
        let now = held();
        if P::HAS_SLOTS {
            assert_eq!(now.blocks, blocks, "blocks of {blocks} slots");
        }
        assert_eq!(now.bytes, scope.stats().reserved_bytes, "bytes of {blocks} slots");
        world.assert_economy(now.allocations - before.allocations, now.blocks, "allocations");
    }
    Ok(())
}

/// Byte lengths that are close to multiples of common block alignments.
const LENGTHS: &[usize] =
    if cfg!(miri) { &[1, 33] } else { &[1, 2, 7, 31, 33, 63, 65, 257, 1_025] };

fn places<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    let mut blocks = Vec::new();
    for &length in LENGTHS {
        blocks.push(place(world, &scope.try_acquire_zeroed::<u8, _>(length)?));
        blocks.push(place(world, &scope.try_acquire_zeroed::<bool, _>(length)?));
        blocks.push(place(world, &scope.try_acquire_zeroed::<[u8; 3], _>(length)?));
        blocks.push(place(world, &scope.try_acquire_zeroed::<f64, _>(length)?));
        blocks.push(place(world, &scope.try_acquire_zeroed::<[f32; 3], _>(length)?));
    }
    blocks.sort_unstable();
    for pair in blocks.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "two slots share memory: {pair:?}");
    }
    Ok(())
}

/// Returns a block's start and minimum length, given a view of the whole block. If the pool uses
/// the stack layout, the function returns the view's own start and length.
fn place<P: BackendProbe, T: Sample>(
    world: &World<'_, P>,
    view: &crate::probe::View<'_, P, T>,
) -> (usize, usize) {
    let (start, bytes) = (world.probe.address(view), view.len() * size_of::<T>());
    assert_eq!(start % P::Backend::ALIGN, 0, "a block that is not aligned, at {start:#x}");
    let Ok(_) = world.probe.accounting() else { return (start, bytes) };
    let (at, size) = world.probe.block_of(start).expect("a view outside of every block");
    if !P::HAS_SLOTS {
        assert!(start + bytes <= at + size, "a view of {bytes} bytes beyond its block of {size}");
        return (start, bytes);
    }
    assert_eq!(at, start, "a view that does not start where its block does");
    assert!(bytes <= size, "a view of {bytes} bytes in a block of {size}");
    (at, size)
}

fn empty<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let scope = pool.scope();
    for _ in 0..2 {
        let words = scope.try_acquire_zeroed::<f64, _>(0)?;
        let vectors = scope.try_acquire_filled(0, [1.0_f32; 3])?;
        let copied = scope.try_acquire_from::<u64>(&[])?;
        assert_eq!(world.probe.address(&words) % align_of::<f64>(), 0);
        assert_eq!(world.probe.address(&vectors) % align_of::<f32>(), 0);
        assert_eq!(world.probe.address(&copied) % align_of::<u64>(), 0);
        assert!(world.probe.read(&words).is_empty() && words.is_empty());
        assert!(world.read_later::<[f32; 3]>(&vectors)().is_empty());
        let (before, after) = copied.into_split_at(0)?;
        assert!(before.is_empty() && after.is_empty());
    }
    // The last acquire uses a slot whose block has been freed.
    drop(scope);
    world.write(&mut pool.scope().try_acquire::<f64, _>(10)?, 1);
    pool.trim();
    assert!(pool.scope().try_acquire_zeroed::<f64, _>(0)?.is_empty());
    assert_eq!(pool.stats().reserved_bytes, 0);
    Ok(())
}

fn lengths<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    for &length in LENGTHS {
        for given in InitialContent::ALL {
            let scope = pool.scope();
            let view = given.acquire::<P, u8>(world.probe, &scope, length, 1)?;
            assert_eq!((view.len(), world.probe.read(&view).len()), (length, length));
            let view = given.acquire::<P, [f32; 3]>(world.probe, &scope, length, 1)?;
            assert_eq!((view.len(), world.probe.read(&view).len()), (length, length));
            let (rows, columns) = (length, 3);
            let matrix = scope.try_acquire_zeroed::<u16, _>([rows, columns])?;
            assert_eq!(matrix.into_view().len(), rows * columns);
        }
    }
    Ok(())
}

fn parts<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    parts_of::<P, u8>(world, pool)?;
    parts_of::<P, u32>(world, pool)?;
    parts_of::<P, [u8; 3]>(world, pool)?;
    parts_of::<P, [f32; 3]>(world, pool)
}

fn parts_of<P: BackendProbe, T: Sample>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    let lengths: &[usize] = if cfg!(miri) { &[1, 5] } else { &[1, 5, 67] };
    for &length in lengths {
        for at in [0, 1, length / 2, length] {
            let scope = pool.scope();
            let view = InitialContent::Copy.acquire::<P, T>(world.probe, &scope, length, 1)?;
            let start = world.probe.address(&view);
            let (mut before, mut after) = view.into_split_at(at)?;
            assert_eq!((before.len(), after.len()), (at, length - at));
            assert_eq!(world.probe.address(&before), start, "the first part");
            assert_eq!(world.probe.address(&after), start + at * size_of::<T>(), "the rest");
            let right = samples::<T>(1, length);
            assert_eq!(world.probe.read(&before), right[..at], "the first part");
            assert_eq!(world.probe.read(&after), right[at..], "the rest");
            world.write_later(&mut after, 2);
            assert_eq!(world.probe.read(&before), right[..at], "what was written to the rest");
            world.write_later(&mut before, 3);
            world.assert_holds(&after, 2);
            assert!(after.into_split_at(length + 1).is_err(), "more than there is");
        }
    }
    Ok(())
}

fn shared<P: BackendProbe>(world: &World<'_, P>, pool: &mut DynamicPool<P::Backend>) -> Outcome<P> {
    shared_of::<P, u8>(world, pool)?;
    shared_of::<P, f64>(world, pool)?;
    shared_of::<P, [f32; 3]>(world, pool)
}

fn shared_of<P: BackendProbe, T: Sample>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    for &length in LENGTHS {
        let copied = samples::<T>(length as u64, length);
        let handle = pool.try_acquire_from(&copied)?;
        let address = world.probe.address(&pool.get_mut(handle)?);
        {
            let (one, other) = (pool.get(handle)?, pool.get(handle)?);
            assert_eq!((one.len(), other.len()), (length, length), "a shared view's length");
            assert_eq!(world.probe.shared_address(&one), address, "a shared view's address");
            assert_eq!(world.probe.read_shared(&one), copied, "a shared view's elements");
            assert_eq!(world.probe.read_shared(&other), copied);
            let (before, after) = one.into_split_at(length / 2)?;
            assert_eq!(world.probe.read_shared(&before), copied[..length / 2]);
            assert_eq!(world.probe.read_shared(&after), copied[length / 2..]);
        }
        world.write_later(&mut pool.get_mut(handle)?, 3);
        assert_eq!(world.probe.read_shared(&pool.get(handle)?), samples::<T>(3, length));
        pool.reset();
    }
    Ok(())
}

fn neighbours<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut scope = pool.scope();
    let mut left = scope.try_acquire::<u64, _>(40)?;
    world.write(&mut left, 1);
    for &length in LENGTHS {
        for given in InitialContent::ALL {
            let mut inner = scope.scope();
            // This line allocates the array's block first so that the round's later blocks can be
            // placed next to it.
            inner.scope().try_acquire::<u8, _>(length)?;
            let mut before = inner.try_acquire::<u8, _>(length)?;
            world.write(&mut before, 2);
            let mut after = {
                let middle = given.acquire::<P, u8>(world.probe, &inner, length, 3)?;
                let mut after = inner.try_acquire::<u8, _>(length)?;
                world.write_later(&mut after, 4);
                assert_eq!(world.probe.read(&middle), given.content(length, 3));
                world.assert_holds(&before, 2);
                after
            };
            let filled = given.acquire::<P, [u8; 3]>(world.probe, &inner, length, 5)?;
            world.assert_holds(&after, 4);
            world.write_later(&mut after, 6);
            assert_eq!(world.probe.read(&filled), given.content::<[u8; 3]>(length, 5));
            world.assert_holds(&before, 2);
        }
        world.assert_holds(&left, 1);
    }
    Ok(())
}

/// Checks arrays that nearly fill their blocks. Each block has room for one more element but not
/// for three more. In ordinary memory, only a sanitizer detects writes past the end of a block.
fn stays<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    type Large = [f64; 3];
    let size = size_of::<Large>();
    let is_full = |&length: &usize| {
        let block = ((length + 1) * size).next_multiple_of(P::Backend::ALIGN);
        (length + 3) * size > block
    };
    for length in (1..).filter(is_full).take(3) {
        for given in InitialContent::ALL {
            pool.trim();
            let scope = pool.scope();
            let view = given.acquire::<P, Large>(world.probe, &scope, length, 1)?;
            assert_eq!(world.probe.read(&view), given.content::<Large>(length, 1));
        }
    }
    Ok(())
}
