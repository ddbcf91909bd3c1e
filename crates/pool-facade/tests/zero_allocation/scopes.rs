//! Slices: the whole family, in scopes of an owned pool and of the thread's pools.

use pool_facade::prelude::*;

use crate::counting::Calls;
use crate::steady::{PASSES, never_allocates, stays_warm};

/// Every member of the one-dimensional family.
fn family(scope: &Scope<'_, Cpu>, length: usize) -> u64 {
    let recycled = scope.acquire::<u64, _>(length);
    recycled.fill(1);
    let zeroed = scope.acquire_zeroed::<bool, _>(length);
    let filled = scope.acquire_filled(length, 2_u32);
    let copied = scope.acquire_from(&*filled);
    let like = scope.acquire::<u8, _>(copied.len());
    like.fill(3);
    let made = scope.acquire_with(length, |i| [i as f32, 1.0, 2.0]);
    let tried = scope.try_acquire::<u16, _>(length).map_or(0, |view| view.len());
    scope.acquire::<f64, _>(0);
    scope.acquire::<(), _>(length);
    zeroed[0] = true;
    recycled[0] + u64::from(copied[0]) + u64::from(like[0]) + made.len() as u64 + tried as u64
}

#[test]
fn slices() {
    let mut pool = Pool::<Cpu>::new(());
    never_allocates(|| {
        assert_eq!(family(&pool.scope(), 100), 206);
    });
    assert_eq!(pool.stats().growths, 7);
}

/// Every length up to the largest one that was seen.
#[test]
fn slices_of_changing_length() {
    let mut pool = Pool::<Cpu>::new(());
    family(&pool.scope(), 500);
    let mut length = 0;
    stays_warm(|| {
        length = (length * 7 + 13) % 500 + 1;
        family(&pool.scope(), length);
    });
    assert_eq!(pool.stats().growths, 7);
}

/// Mapped blocks do not come from the heap: for them the test checks the number of growths.
#[test]
fn large_slices() {
    let mib = if cfg!(miri) { 1 << 10 } else { 1 << 20 };
    let mut pool = Pool::<Cpu>::new(());
    never_allocates(|| {
        let scope = pool.scope();
        scope.acquire::<u8, _>(5 * mib)[mib] = 1;
        scope.acquire::<u64, _>(mib)[mib - 1] = 2;
        scope.acquire::<u8, _>(100)[0] = 3;
    });
    assert_eq!(pool.stats().growths, 3);
}

#[test]
fn nested_scopes() {
    fn nest(scope: &mut Scope<'_, Cpu>, depth: usize) -> usize {
        let kept = scope.acquire_filled(10, depth);
        let below = if depth > 0 { nest(&mut scope.scope(), depth - 1) } else { 0 };
        scope.scope().acquire::<u64, _>(30);
        kept[9] + below
    }
    let mut pool = Pool::<Cpu>::new(());
    // More levels than a table has slots.
    never_allocates(|| assert_eq!(nest(&mut pool.scope(), 70), 70 * 71 / 2));
}

#[test]
fn thread_local_scopes() {
    std::thread::spawn(|| {
        never_allocates(|| {
            assert_eq!(with_pool!(|scope| { family(&scope, 64) }), 134);
            assert_eq!(try_with_pool!(|scope| { family(&scope, 64) }), Ok(134));
            let mut guard = local::<Cpu>();
            assert_eq!(family(&guard.scope(), 64), 134);
        });
    })
    .join()
    .unwrap();
}

#[test]
fn nested_and_several_thread_local_scopes() {
    std::thread::spawn(|| {
        never_allocates(|| {
            with_pool!(Cpu, Cpu, |first, second| {
                let kept = first.acquire_filled(20, 1_u64);
                let inner = with_pool!(|third| {
                    let mut nested = third.scope();
                    family(&nested.scope(), 10) + with_pool!(|fourth| { family(&fourth, 20) })
                });
                let other = second.acquire_filled(20, inner);
                assert_eq!((kept[19], other[19]), (1, 26 + 46));
            });
        });
    })
    .join()
    .unwrap();
}

/// However the block is left.
#[test]
fn thread_local_scopes_that_are_left_early() {
    fn early(way: usize) -> Option<usize> {
        for turn in 0..3 {
            with_pool!(|scope| {
                let view = scope.acquire_filled(50, way);
                match way {
                    0 => return Some(view[0]),
                    1 => None?,
                    2 => break,
                    3 => continue,
                    _ => assert_eq!(view[turn], way),
                }
            });
        }
        Some(10)
    }
    std::thread::spawn(|| {
        let mut way = 0;
        never_allocates(|| {
            way = (way + 1) % 5;
            assert_eq!(early(way), [Some(0), None, Some(10), Some(10), Some(10)][way]);
        });
    })
    .join()
    .unwrap();
}

/// Errors are values: requesting too much allocates nothing either, after the idle blocks are
/// freed.
#[test]
fn refusals() {
    let config = PoolConfig::new().byte_limit(1 << 16);
    let mut pool = Pool::<Cpu>::with_config((), config).unwrap();
    never_allocates(|| {
        let scope = pool.scope();
        let kept = scope.acquire_filled(100, 1_u8);
        assert!(scope.try_acquire::<u64, _>(1 << 20).is_err());
        assert!(scope.try_acquire::<u64, _>(usize::MAX).is_err());
        assert!(scope.try_acquire::<u64, _>([usize::MAX, 2]).is_err());
        assert_eq!(kept[99], 1);
    });
}

/// A table of statistics is not made on the way.
#[test]
fn statistics_of_a_scope() {
    let mut pool = Pool::<Cpu>::new(());
    never_allocates(|| {
        let scope = pool.scope();
        scope.acquire_filled(30, 1_u8);
        assert_eq!((scope.stats().growths, scope.active_slots()), (1, 1));
        scope.sample_lengths();
    });
}

/// Poison costs a cold call and a fill, but no allocation; a fresh block for each acquire does.
#[test]
fn modes_for_finding_mistakes() {
    let mut pool = Pool::<Cpu>::with_config((), PoolConfig::new().poison(true)).unwrap();
    never_allocates(|| {
        let scope = pool.scope();
        assert!(scope.acquire::<f64, _>(40)[39].is_nan());
    });
    pool.configure(PoolConfig::new().fresh(true)).unwrap();
    let before = Calls::so_far();
    for _ in 0..PASSES {
        pool.scope().acquire::<f64, _>(40);
    }
    let passes = PASSES as u64;
    assert_eq!(Calls::since(before), Calls { allocations: passes, frees: passes });
}
