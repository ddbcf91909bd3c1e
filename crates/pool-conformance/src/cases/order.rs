//! Test cases for the order of work. An acquire must not fill a block until all work enqueued
//! through the block's earlier views has run. Any work that is enqueued through a later view must
//! run after the fill. A test case waits only at its end, so that the work on the queue is still
//! pending when a view is first read.

use pool_core::{DynamicPool, Pool, PoolConfig, PoolView};

use super::case::{Case, Outcome};
use super::initial_content::InitialContent;
use super::world::World;
use crate::element::{Sample, samples};
use crate::probe::{BackendProbe, Later};
use crate::sources::Source;

pub(super) fn cases<P: BackendProbe>() -> Vec<Case<P>> {
    vec![
        Case::lexical("zeroing comes after the work of former views", |world, pool| {
            after_former::<P>(world, pool, InitialContent::Zeros)
        }),
        Case::lexical("a fill comes after the work of former views", |world, pool| {
            after_former::<P>(world, pool, InitialContent::Value)
        }),
        Case::lexical("an upload comes after the work of former views", |world, pool| {
            after_former::<P>(world, pool, InitialContent::Copy)
        }),
        Case::lexical(
            "elements from the host come after the work of former views",
            |world, pool| after_former::<P>(world, pool, InitialContent::EachByHost),
        ),
        Case::lexical("zeroing comes before the work of later views", |world, pool| {
            before_later::<P>(world, pool, InitialContent::Zeros)
        }),
        Case::lexical("a fill comes before the work of later views", |world, pool| {
            before_later::<P>(world, pool, InitialContent::Value)
        }),
        Case::lexical("an upload comes before the work of later views", |world, pool| {
            before_later::<P>(world, pool, InitialContent::Copy)
        }),
        Case::lexical(
            "elements from the host come before the work of later views",
            |world, pool| before_later::<P>(world, pool, InitialContent::EachByHost),
        ),
        Case::lexical("poison comes after former work and before later work", poison),
        Case::lexical("an upload has left its source when it returns", source_is_left),
        Case::lexical("a slot keeps its order through many types and scopes", history),
        Case::lexical("a queue that grows long keeps its order", long_queue),
        Case::dynamic("a dynamic pool keeps the order of its slots", dynamic_history),
        Case::lexical("two pools of a probe do not disturb each other", beside),
    ]
}

/// Lengths in elements, from one element to more than one page.
const LENGTHS: &[usize] = if cfg!(miri) { &[33] } else { &[1, 33, 1_000, 5_000] };

/// Enqueues work that writes and reads a block through a view, then drops the view. After the view
/// has been dropped, an acquire with a different element type fills the block.
fn after_former<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
    given: InitialContent,
) -> Outcome<P> {
    for &length in LENGTHS {
        after_work_of::<P, f64, f64>(world, pool, given, length)?;
        after_work_of::<P, f64, u16>(world, pool, given, length)?;
        after_work_of::<P, u8, [f32; 3]>(world, pool, given, length)?;
        after_work_of::<P, [f64; 3], u8>(world, pool, given, length)?;
    }
    Ok(())
}

fn after_work_of<P: BackendProbe, T: Sample, U: Sample>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
    given: InitialContent,
    length: usize,
) -> Outcome<P> {
    // Both views use the same block, which is large enough for either view.
    let most = length * size_of::<T>().max(size_of::<U>());
    pool.scope().try_acquire_zeroed::<u8, _>(most)?;
    let mut scope = pool.scope();
    let (before, after) = {
        let inner = scope.scope();
        let mut former = inner.try_acquire_zeroed::<T, _>(length)?;
        world.write_later(&mut former, 1);
        let before = world.read_later(&former);
        world.write_later(&mut former, 2);
        (before, world.read_later(&former))
    };
    let view = given.acquire::<P, U>(world.probe, &scope, length, 3)?;
    assert_eq!(world.probe.read(&view), given.content(length, 3), "{given:?} over former work");
    assert_eq!(before(), samples::<T>(1, length), "a read that came before {given:?}");
    assert_eq!(after(), samples::<T>(2, length), "the last read that came before {given:?}");
    Ok(())
}

/// Checks that work can read and write a view immediately after an acquire has filled it.
fn before_later<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
    given: InitialContent,
) -> Outcome<P> {
    for &length in LENGTHS {
        before_work_of::<P, u8>(world, pool, given, length)?;
        before_work_of::<P, f64>(world, pool, given, length)?;
        before_work_of::<P, [f32; 3]>(world, pool, given, length)?;
    }
    Ok(())
}

fn before_work_of<P: BackendProbe, T: Sample>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
    given: InitialContent,
    length: usize,
) -> Outcome<P> {
    for round in 0..2 {
        let scope = pool.scope();
        let mut view = given.acquire::<P, T>(world.probe, &scope, length, round)?;
        let first = world.read_later(&view);
        world.write_later(&mut view, 8);
        let second = world.read_later(&view);
        world.write_later(&mut view, 9);
        world.assert_holds(&view, 9);
        assert_eq!(first(), given.content(length, round), "{given:?} before later work");
        assert_eq!(second(), samples::<T>(8, length));
    }
    Ok(())
}

fn poison<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    pool.configure(PoolConfig::new().poison(true))?;
    let read = {
        let scope = pool.scope();
        let mut view = scope.try_acquire::<f32, _>(100)?;
        world.write_later(&mut view, 1);
        world.read_later(&view)
    };
    let scope = pool.scope();
    let mut view = scope.try_acquire::<f32, _>(100)?;
    let poisoned = world.read_later(&view);
    world.write_later(&mut view, 2);
    world.assert_holds(&view, 2);
    assert!(poisoned().into_iter().all(f32::is_nan), "poison came too early or too late");
    assert_eq!(read(), samples::<f32>(1, 100));
    Ok(())
}

fn source_is_left<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut Pool<P::Backend>,
) -> Outcome<P> {
    let lengths: &[usize] = if cfg!(miri) { &[1, 100] } else { &[1, 100, 3_000] };
    for &length in lengths {
        let content = samples::<u8>(1, length);
        let source = Source::new(&content);
        let scope = pool.scope();
        let view = source.lend(|elements| scope.try_acquire_from(elements))?;
        source.overwrite(0xA5);
        assert_eq!(world.probe.read(&view), content, "what was written to the source afterwards");
        drop(view);
        let mut elements = samples::<f64>(2, length);
        let view = scope.try_acquire_from(&elements)?;
        elements.fill(0.5);
        drop(elements);
        world.assert_holds(&view, 2);
    }
    Ok(())
}

/// The reads that a test case has enqueued, with their expected results.
struct Reads<'p>(Vec<Box<dyn FnOnce() + 'p>>);

impl<'p> Reads<'p> {
    fn expect<T: Sample>(&mut self, found: Later<'p, T>, right: Vec<T>, what: String) {
        self.0.push(Box::new(move || assert!(found() == right, "{what}")));
    }

    fn check(self) {
        self.0.into_iter().for_each(|check| check());
    }
}

/// The number of rounds that a test case runs before it waits for the queue.
const ROUNDS: usize = if cfg!(miri) { 3 } else { 40 };

fn history<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut reads = Reads(Vec::new());
    for round in 0..ROUNDS {
        let mut scope = pool.scope();
        enter::<P, f64>(world, &mut scope, round, &mut reads)?;
        let mut inner = scope.scope();
        enter::<P, u8>(world, &mut inner, round + 1, &mut reads)?;
        enter::<P, [u16; 3]>(world, &mut inner, round + 2, &mut reads)?;
        enter::<P, [f32; 3]>(world, &mut scope, round + 3, &mut reads)?;
    }
    reads.check();
    Ok(())
}

/// Acquires two slots and enqueues work on one slot while the other slot is being filled. In some
/// rounds, the slots receive longer arrays than in the previous round.
fn enter<'p, P: BackendProbe, T: Sample>(
    world: &World<'p, P>,
    scope: &mut pool_core::Scope<'_, P::Backend>,
    round: usize,
    reads: &mut Reads<'p>,
) -> Outcome<P> {
    let (given, seed) =
        (InitialContent::OF_BACKEND[round % InitialContent::OF_BACKEND.len()], round as u64);
    let length = 1 + (round * 7) % 50 + if round % 11 == 10 { 900 } else { 0 };
    let inner = scope.scope();
    let mut first = given.acquire::<P, T>(world.probe, &inner, length, seed)?;
    let what = |which: &str| format!("round {round}: {which} of {given:?}");
    reads.expect(world.read_later(&first), given.content(length, seed), what("the content"));
    world.write_later(&mut first, seed + 100);
    let second = given.acquire::<P, T>(world.probe, &inner, length, seed + 1)?;
    let right = given.content(length, seed + 1);
    reads.expect(world.read_later(&second), right, what("the neighbour's content"));
    let right = samples(seed + 100, length);
    reads.expect(world.read_later(&first), right, what("later work"));
    assert_eq!(first.len(), second.len());
    Ok(())
}

/// The number of commands that a test case enqueues before it waits for the queue. A backend is
/// unlikely to buffer this many commands.
const LONG: usize = if cfg!(miri) { 12 } else { 4_000 };

fn long_queue<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    pool.scope().try_acquire_zeroed::<u32, _>(64)?;
    let mut reads = Reads(Vec::new());
    for round in 0..LONG {
        let (given, seed) =
            (InitialContent::OF_BACKEND[round % InitialContent::OF_BACKEND.len()], round as u64);
        let length = 1 + round % 40;
        let scope = pool.scope();
        let view = given.acquire::<P, u32>(world.probe, &scope, length, seed)?;
        if round % 97 == 0 || round + 3 >= LONG {
            let right = given.content(length, seed);
            reads.expect(world.read_later(&view), right, format!("round {round}: {given:?}"));
        }
    }
    reads.check();
    Ok(())
}

fn dynamic_history<P: BackendProbe>(
    world: &World<'_, P>,
    pool: &mut DynamicPool<P::Backend>,
) -> Outcome<P> {
    let mut reads = Reads(Vec::new());
    for round in 0..ROUNDS {
        let (length, seed) = (1 + round % 9, round as u64);
        pool.try_checkpoint()?;
        let zeros = pool.try_acquire_zeroed::<f64>(length)?;
        let filled = pool.try_acquire_filled(length, f64::sample(seed, 0))?;
        let copied = pool.try_acquire_from(&samples::<f64>(seed, length))?;
        for (given, handle) in InitialContent::OF_BACKEND.into_iter().zip([zeros, filled, copied]) {
            let mut view = pool.get_mut(handle)?;
            let what = format!("round {round}: {given:?}");
            reads.expect(world.read_later(&view), given.content(length, seed), what.clone());
            world.write_later(&mut view, seed + 7);
            reads.expect(world.read_later(&view), samples(seed + 7, length), what);
        }
        if round % 3 > 0 {
            pool.rewind();
        } else {
            pool.reset();
        }
    }
    reads.check();
    Ok(())
}

/// Checks that waiting for one pool's work does not lose another pool's work or run it too early.
fn beside<P: BackendProbe>(world: &World<'_, P>, pool: &mut Pool<P::Backend>) -> Outcome<P> {
    let mut other: Pool<P::Backend> = Pool::new(world.probe.context());
    for round in 0..3 {
        let (scope, beside) = (pool.scope(), other.scope());
        let mut view = scope.try_acquire_zeroed::<f64, _>(200)?;
        let mut neighbour = beside.try_acquire_filled(300, 0.5_f64)?;
        world.assert_apart::<f64, f64>(&view, &neighbour);
        let zeros = world.read_later(&view);
        world.write_later(&mut view, round);
        world.write_later(&mut neighbour, round + 1);
        world.assert_holds(&neighbour, round + 1);
        world.assert_holds(&view, round);
        assert_eq!(zeros(), [0.0; 200]);
    }
    Ok(())
}
