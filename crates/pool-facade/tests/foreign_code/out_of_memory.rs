//! Memory that runs out from the n-th allocation on, or only at the n-th, for n = 1, 2, 3 … until
//! an operation passes. Each failure is a typed error, never an abort, and the pool is usable after
//! it.

use std::cell::{Cell, RefCell};

use pool_facade::prelude::*;
use pool_facade::{Compaction, CpuError, LocalGuard};

use crate::allocator::{Call, with_hook};
use crate::support::slots_per_table;

#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    left: usize,
    for_good: bool,
    refused: usize,
}

thread_local! {
    static PLAN: Cell<Plan> = const { Cell::new(Plan { left: 0, for_good: false, refused: 0 }) };
}

fn refuse(call: Call) -> bool {
    let mut plan = PLAN.get();
    if matches!(call, Call::Free) {
        return true;
    }
    let refused = plan.left == 0 && (plan.for_good || plan.refused == 0);
    plan.refused += usize::from(refused);
    plan.left = plan.left.saturating_sub(1);
    PLAN.set(plan);
    !refused
}

type Failure = PoolError<CpuError>;

/// Runs the operation on a fresh ground for every n, in both ways. Its first result is the
/// operation's own. Its second is the ground's result afterwards, with memory available.
fn sweep<G>(
    name: &str,
    ground: impl Fn() -> G,
    operation: impl Fn(&mut G) -> Result<(), Failure>,
    after: impl Fn(&mut G),
) {
    for for_good in [false, true] {
        let mut passed = false;
        for n in 0..200 {
            let mut on = ground();
            PLAN.set(Plan { left: n, for_good, refused: 0 });
            let result = with_hook(Some(refuse), || operation(&mut on));
            let refused = PLAN.get().refused;
            match &result {
                Ok(()) => {}
                Err(
                    PoolError::Bookkeeping { requested } | PoolError::OutOfMemory { requested, .. },
                ) => {
                    assert!(refused > 0 && *requested > 0, "{name}, {n}: {result:?}");
                }
                Err(error) => panic!("{name}, allocation {n}: {error}"),
            }
            after(&mut on);
            if refused == 0 {
                assert!(result.is_ok(), "{name}: {result:?}");
                passed = true;
                break;
            }
        }
        assert!(passed, "{name} never passes");
    }
}

fn use_pool(pool: &mut Pool<Cpu>) {
    let scope = pool.scope();
    let (left, right) = (scope.acquire_filled(50, 1_u8), scope.acquire_filled(50, 2_u8));
    assert_eq!((&*left, &*right), (&[1; 50][..], &[2; 50][..]));
}

#[test]
fn acquires() {
    let pool = || Pool::<Cpu>::new(());
    let tables = if cfg!(miri) { 2 } else { 5 } * slots_per_table();
    let many = |pool: &mut Pool<Cpu>| {
        let scope = pool.scope();
        (0..tables).try_for_each(|_| scope.try_acquire_zeroed::<u8, _>(0).map(drop))
    };
    sweep("tables and their list", pool, many, use_pool);
    let lengths = |pool: &mut Pool<Cpu>| {
        let scope = pool.scope();
        (1..4).try_for_each(|n| scope.try_acquire_filled(50 * n, 1_u8).map(drop))?;
        scope.try_acquire_from(&[1_u64; 10]).map(drop)
    };
    sweep("blocks", pool, lengths, use_pool);
    let shapes = |pool: &mut Pool<Cpu>| {
        for dims in [&[2, 3][..], &[1, 2, 3, 4, 5], &[], &[6], &[3, 2], &[2, 3]] {
            pool.scope().try_acquire::<u8, _>(dims).map(drop)?;
        }
        Ok(())
    };
    sweep("shapes", pool, shapes, use_pool);
}

#[test]
fn arrays_of_ndarray_up_to_four_axes() {
    let arrays = |pool: &mut Pool<Cpu>| {
        for dims in [&[2, 3][..], &[1, 2, 3, 4], &[], &[2, 3]] {
            let scope = pool.scope();
            let active = scope.active_slots();
            let array = scope.try_acquire_array_dyn::<u8>(dims).map(drop);
            assert_eq!(scope.active_slots(), active + usize::from(array.is_ok()));
            array?;
        }
        Ok(())
    };
    sweep("arrays", || Pool::<Cpu>::new(()), arrays, use_pool);
}

#[test]
fn dynamic_pools() {
    let make = |slot: &mut Option<DynamicPool<Cpu>>| {
        *slot = Some(DynamicPool::with_config((), PoolConfig::new())?);
        let Some(pool) = slot else { return Ok(()) };
        for number in 0..if cfg!(miri) { 6 } else { 40 } {
            pool.try_checkpoint()?;
            let handle = pool.try_acquire_filled(number, 1_u32)?;
            assert_eq!(pool.get(handle)?.len(), number);
        }
        Ok(())
    };
    let after = |pool: &mut Option<DynamicPool<Cpu>>| {
        let Some(pool) = pool else { return };
        pool.reset();
        let handle = pool.acquire_filled(9, 3_u8);
        assert_eq!(pool.get(handle).unwrap(), [3; 9]);
    };
    sweep("dynamic pool", || None, make, after);
}

#[test]
fn first_pools_of_a_thread() {
    thread_local! {
        static KEPT: RefCell<Vec<LocalGuard<Cpu>>> = const { RefCell::new(Vec::new()) };
    }
    let fresh = || {
        std::thread::spawn(|| {
            let take = |guard: &mut Option<LocalGuard<Cpu>>| {
                *guard = Some(try_local()?);
                Ok(())
            };
            let after = |guard: &mut Option<LocalGuard<Cpu>>| {
                // Kept, so that the next try finds no idle pool either.
                KEPT.with_borrow_mut(|kept| kept.extend(guard.take()));
            };
            sweep("try_local", || None, take, after);
        })
    };
    fresh().join().unwrap();
}

/// Code that runs when memory is out takes no memory.
#[test]
fn work_on_idle_pools_takes_no_memory() {
    let work = || {
        let ground = || {
            let mut guards = [(); 3].map(|()| local::<Cpu>());
            for guard in &mut guards {
                guard.scope().acquire::<u8, _>(100);
            }
            local::<Cpu>()
        };
        let operation = |guard: &mut LocalGuard<Cpu>| {
            let stats = guard.stats();
            let released = guard.trim();
            assert!(stats.pools >= 4 && released.slots >= 3, "{stats} {released:?}");
            guard.compact(&Compaction::default());
            guard.configure(PoolConfig::new())?;
            guard.clear();
            assert_eq!(PLAN.get().left, 0, "nothing was allocated");
            Ok(())
        };
        PLAN.set(Plan { left: 0, for_good: true, refused: 0 });
        let mut guard = ground();
        let result: Result<(), Failure> = with_hook(Some(refuse), || operation(&mut guard));
        assert_eq!((result, PLAN.get().refused), (Ok(()), 0));
        assert_eq!(guard.scope().acquire_filled(3, 1_u8), [1; 3]);
    };
    std::thread::spawn(work).join().unwrap();
}
