//! Each operation of a pool, with an allocator's hook that tries everything at every call. Calls
//! while the pool is in the middle of an operation are refused; calls after the step are served.

use std::cell::{Cell, RefCell};

use pool_facade::prelude::*;
use pool_facade::{Compaction, CpuError, Handle, Handles};

use crate::allocator::{Call, with_hook};
use crate::live::Live;
use crate::support::{endless_pool, endless_scope, leak, slots_per_table};

/// The observations of the hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    calls: usize,
    refused: usize,
    served: usize,
}

thread_local! {
    static SCOPE: Cell<Option<&'static Scope<'static, Cpu>>> = const { Cell::new(None) };
    static SEEN: Cell<Seen> = const { Cell::new(Seen { calls: 0, refused: 0, served: 0 }) };
    static LIVE: RefCell<Live> = RefCell::default();
}

/// Tries everything that a scope can do, once at a time: its own allocations do not call the hook.
fn try_everything(_: Call) -> bool {
    let Some(scope) = SCOPE.take() else { return true };
    with_hook(None, || {
        let active = scope.active_slots();
        let mut seen = SEEN.get();
        seen.calls += 1;
        let mut note = |acquired: Result<&'static mut [u8], PoolError<CpuError>>| match acquired {
            Ok(view) => {
                seen.served += 1;
                LIVE.with_borrow_mut(|live| live.take(view, 0));
            }
            Err(error) => {
                assert_eq!(error, PoolError::Reentered);
                seen.refused += 1;
            }
        };
        note(scope.try_acquire(1));
        note(scope.try_acquire(0));
        note(scope.try_acquire_zeroed(10));
        note(scope.try_acquire_filled(100, 7));
        note(scope.try_acquire_from(&[1; 1000]));
        note(scope.try_acquire_with(3, |_| 5));
        note(scope.try_acquire([2, 3]).map(NdView::into_view));
        note(scope.try_acquire(&[2_usize, 3][..]).map(NdView::into_view));
        let served = scope.active_slots() - active;
        assert!([0, 8].contains(&served), "all of them or none: {served}");
        if served == 0 {
            assert_eq!(scope.trim().slots, 0);
            assert_eq!(scope.compact(&Compaction::default()).slots, 0);
            scope.sample_lengths();
            assert_eq!(scope.try_acquire::<u8, _>(1), Err(PoolError::Reentered));
        }
        assert_eq!(scope.stats().active_slots, scope.active_slots());
        SEEN.set(seen);
    });
    SCOPE.set(Some(scope));
    true
}

/// Runs an operation with the hook, and compares its result with the calls that the hook served.
fn run(
    scope: &'static Scope<'static, Cpu>,
    operation: impl FnOnce() -> Option<&'static mut [u8]>,
) -> Seen {
    SEEN.set(Seen::default());
    LIVE.take();
    SCOPE.set(Some(scope));
    let view = with_hook(Some(try_everything), operation);
    SCOPE.set(None);
    if let Some(view) = view {
        LIVE.with_borrow_mut(|live| live.take(view, 0));
    }
    for length in [1, 50, 5000] {
        LIVE.with_borrow_mut(|live| live.take(scope.acquire(length), 0));
    }
    LIVE.with_borrow(Live::verify);
    SEEN.get()
}

/// The pool was in the middle of something at every call.
fn assert_refused(seen: Seen) {
    assert!(seen.calls > 0, "the operation calls the allocator");
    assert_eq!((seen.refused, seen.served), (8 * seen.calls, 0));
}

#[test]
fn growth_is_not_entered_again() {
    let scope = endless_scope(endless_pool(PoolConfig::new()));
    assert_refused(run(scope, || Some(scope.acquire_filled(64, 1))));
    // The slot has a block, which is too small: a smaller acquire would still fit it.
    let pool = endless_pool(PoolConfig::new());
    pool.scope().acquire::<u8, _>(100);
    let scope = endless_scope(pool);
    let seen = run(scope, || Some(scope.acquire_filled(1000, 1)));
    assert_refused(seen);
    assert_eq!(seen.calls, 2, "the new block, and the old one");
}

/// The vector's slot is below the cursor, and the one at the cursor has a block that an acquire would fit.
#[test]
fn the_first_use_of_a_vector_is_not_entered_again() {
    let pool = endless_pool(PoolConfig::new());
    {
        let scope = pool.scope();
        scope.acquire::<u8, _>(100);
        scope.acquire::<u8, _>(10_000);
    }
    let scope = endless_scope(pool);
    let mut vector = scope.acquire_vec::<u8>(0);
    let seen = run(scope, || {
        vector.extend_from_slice(&[7; 1_000]);
        None
    });
    assert_refused(seen);
    LIVE.with_borrow_mut(|live| live.take(vector.into_slice(), 7));
    LIVE.with_borrow(Live::verify);
}

#[test]
fn a_new_table_is_not_entered_again() {
    let pool = endless_pool(PoolConfig::new());
    let scope = endless_scope(pool);
    let (mut lists, per_table) = (0, slots_per_table());
    // The list of tables has room for four, then for eight.
    for table in 0..6 {
        while scope.active_slots() == 0 || scope.active_slots() % per_table != 0 {
            scope.acquire::<u8, _>(1);
        }
        let seen = run(scope, || Some(scope.acquire(0)));
        assert_refused(seen);
        lists += usize::from(seen.calls > 1);
        assert_eq!(seen.calls, if table == 3 { 3 } else { 1 }, "a table, and a longer list");
    }
    assert_eq!(lists, 1);
}

#[test]
fn a_shape_that_is_new_to_a_hot_slot_is_not_entered_again() {
    let pool = endless_pool(PoolConfig::new().ways(1));
    pool.scope().acquire::<u8, _>(1000);
    let scope = endless_scope(pool);
    let nd = |dims: &[usize]| Some(scope.acquire::<u8, _>(dims).into_view());
    let first = run(scope, || nd(&[2, 3]));
    assert_refused(first);
    assert_eq!(first.calls, 3, "the lengths, the list of ways, the set");

    // The same slot again, whose only way is taken: the old lengths are freed.
    let pool = endless_pool(PoolConfig::new().ways(1));
    pool.scope().acquire::<u8, _>(&[7, 8][..]);
    let scope = endless_scope(pool);
    let evicting = run(scope, || Some(scope.acquire::<u8, _>(&[2, 3][..]).into_view()));
    assert_refused(evicting);
    assert_eq!(evicting.calls, 2, "the lengths, and the old ones");
}

#[test]
fn a_header_is_made_after_the_step_and_is_served() {
    let pool = endless_pool(PoolConfig::new());
    pool.scope().acquire::<u8, _>(&[2, 3][..]);
    let scope = endless_scope(pool);
    let seen = run(scope, || scope.acquire_array_dyn::<u8>(&[2, 3]).as_slice_mut());
    assert_eq!(seen, Seen { calls: 1, refused: 0, served: 8 });
}

#[test]
fn trim_and_compact_are_not_entered_again() {
    let full = || {
        let pool = endless_pool(PoolConfig::new());
        {
            let scope = pool.scope();
            for _ in 0..5 {
                scope.acquire::<u8, _>(100);
                scope.acquire::<u8, _>(&[10, 10][..]);
            }
        }
        pool
    };
    let scope = endless_scope(full());
    let seen = run(scope, || {
        assert_eq!(scope.trim().slots, 10);
        None
    });
    assert_refused(seen);
    assert!(seen.calls >= 10, "each block, each set: {seen:?}");

    let pool = full();
    pool.sample_lengths();
    // Until each slot has been seen often enough, and is served without the cold function again.
    for _ in 0..=Compaction::SAMPLES {
        let scope = pool.scope();
        // The first slot, the later position of the cursor, keeps its block: it must not be handed
        // out either.
        scope.acquire::<u8, _>(100);
        for _ in 1..10 {
            scope.acquire::<u8, _>(1);
        }
    }
    let scope = endless_scope(pool);
    let compaction = Compaction { minimum_bytes: 0, ..Compaction::default() };
    let seen = run(scope, || {
        assert_eq!(scope.compact(&compaction).slots, 9);
        None
    });
    assert_refused(seen);
}

#[test]
fn handles_are_read_while_the_scope_beside_them_grows() {
    thread_local! {
        static HANDLES: Cell<Option<(&'static Handles<'static, Cpu>, Handle<u8>)>> =
            const { Cell::new(None) };
        static READS: Cell<usize> = const { Cell::new(0) };
    }
    fn read(_: Call) -> bool {
        let (handles, handle) = HANDLES.get().expect("set below");
        assert_eq!(handles.get(handle).unwrap(), [9; 40]);
        READS.set(READS.get() + 1);
        true
    }
    let pool = leak(DynamicPool::<Cpu>::new(()));
    let handle = pool.acquire_filled(40, 9_u8);
    let (handles, scope) = pool.split();
    HANDLES.set(Some((leak(handles), handle)));
    let acquires = 6 * slots_per_table();
    with_hook(Some(read), || {
        for _ in 0..acquires {
            scope.acquire_filled(10, 1_u8);
        }
        scope.acquire::<u8, _>(&[2, 2][..]);
        scope.trim();
    });
    assert!(READS.get() > acquires, "each block, table and list: {}", READS.get());
}

#[test]
fn work_on_idle_pools_ends_though_the_allocator_makes_more() {
    fn use_pools(_: Call) -> bool {
        with_hook(None, || {
            with_pool!(Cpu, Cpu, |one, other| {
                assert_eq!((one.active_slots(), other.active_slots()), (0, 0));
                one.acquire::<u8, _>(10);
            });
        });
        true
    }
    let work = || {
        let mut guards = vec![local::<Cpu>(), local::<Cpu>(), local::<Cpu>()];
        for guard in &mut guards {
            guard.scope().acquire::<u8, _>(100);
        }
        let mut guard = guards.remove(0);
        drop(guards);
        with_hook(Some(use_pools), || {
            assert_eq!(guard.trim().slots, 3);
            guard.configure(PoolConfig::new().ways(2)).unwrap();
            guard.compact(&Compaction::default());
            guard.clear();
        });
        assert!(guard.stats().pools >= 3);
    };
    std::thread::spawn(work).join().unwrap();
}

#[test]
fn nothing_is_in_flight_where_an_error_is_shown() {
    let scope = endless_scope(endless_pool(PoolConfig::new().byte_limit(1 << 10)));
    let caught = std::panic::catch_unwind(|| scope.acquire::<u8, _>(1 << 20).len());
    assert!(caught.is_err());
    let view = scope.acquire_filled(8, 1_u8);
    let message = scope.try_acquire::<u8, _>(1 << 20).unwrap_err().to_string();
    assert!(message.contains("1024"), "{message}");
    assert_eq!((&*view, scope.active_slots()), (&[1_u8; 8][..], 1));
}

#[test]
fn pools_that_are_made_while_others_are_configured_follow() {
    fn use_a_pool(_: Call) -> bool {
        with_hook(None, || {
            with_pool!(|scope| {
                scope.acquire_filled(8, 0x55_u8);
            });
        });
        true
    }
    let work = || {
        let mut guard = local::<Cpu>();
        local::<Cpu>().scope().acquire::<u8, _>(&[2, 3][..]);
        let poison = PoolConfig::new().poison(true);
        with_hook(Some(use_a_pool), || guard.configure(poison).unwrap());
        let mut guards = [(); 4].map(|()| local::<Cpu>());
        for guard in guards.iter_mut().chain([&mut guard]) {
            guard.scope().acquire_filled(8, 0x55_u8);
            assert_eq!(guard.scope().acquire::<u8, _>(8), [0xFF; 8]);
        }
    };
    std::thread::spawn(work).join().unwrap();
}
