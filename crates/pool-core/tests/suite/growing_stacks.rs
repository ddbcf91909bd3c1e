//! The warning of debug builds that a stack grew in each of many passes: once a pool, with the
//! call.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use pool_conformance::{HeapBackend, Ledger};
use pool_core::{
    DynamicPool, Pool, PoolConfig, PoolError, PoolWarning, Stacked, WarningHook, set_warning_hook,
};

use crate::nested_support::Stacks;

type StackedHeap = Stacked<HeapBackend>;

const PASSES: usize = PoolConfig::REPORTED_PASSES;

thread_local! {
    /// The warnings of this thread's pools.
    static REPORTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// The action of the hook.
    static INSIDE: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };
}

static HOOK: WarningHook = |warning: &PoolWarning| {
    REPORTED.with_borrow_mut(|reported| reported.push(warning.to_string()));
    if let Some(inside) = INSIDE.take() {
        inside();
    }
};

/// The warnings during `body`, on this thread.
fn warnings(body: impl FnOnce()) -> Vec<String> {
    static SET: Once = Once::new();
    SET.call_once(|| set_warning_hook(&HOOK));
    REPORTED.take();
    body();
    REPORTED.take()
}

fn pool(config: PoolConfig) -> Pool<StackedHeap> {
    Pool::with_config(Ledger::new(), config).unwrap()
}

/// The length of a pass that is longer than all before it, beyond any slack.
fn length(pass: usize) -> usize {
    (0..pass).fold(400, |length, _| length + length / 20)
}

/// Runs passes that are each longer than the previous one; returns the line of the acquire.
fn grow(pool: &mut Pool<StackedHeap>, passes: std::ops::Range<usize>) -> u32 {
    for pass in passes {
        pool.scope().acquire::<u64, _>(length(pass));
    }
    line!() - 2
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn the_64th_pass_that_grows_warns_once() {
    let mut pool = pool(PoolConfig::new().name("leaky"));
    assert_eq!(warnings(|| _ = grow(&mut pool, 0..PASSES - 1)), [""; 0]);
    let mut line = 0;
    let reported = warnings(|| line = grow(&mut pool, PASSES - 1..PASSES));
    let [reported] = reported.as_slice() else { panic!("{reported:?}") };
    let held = pool.stats().reserved_bytes;
    let start = format!(
        "the stack \"leaky\" has grown in each of the last 64 passes and holds {held} bytes; the \
         stack last grew at "
    );
    assert!(reported.starts_with(&start), "{reported}");
    assert!(reported.contains(&format!("growing_stacks.rs:{line}:")), "{reported}");
    assert!(reported.contains("PoolConfig::warnings(false)"), "{reported}");
    assert_eq!(warnings(|| _ = grow(&mut pool, PASSES..2 * PASSES)), [""; 0]);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn a_pass_that_does_not_grow_begins_the_count_anew() {
    let mut pool = pool(PoolConfig::new());
    let reported = warnings(|| {
        for round in 0..2 {
            let first = round * (PASSES - 1);
            grow(&mut pool, first..first + PASSES - 1);
            // The pass after growth merges the chunks, the next one has room.
            grow(&mut pool, 0..2);
        }
    });
    assert_eq!(reported, [""; 0]);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn several_growths_of_one_pass_count_once() {
    let mut pool = pool(PoolConfig::new());
    let reported = warnings(|| {
        let scope = pool.scope();
        for pass in 0..10 {
            scope.acquire::<u64, _>(400 << pass);
        }
    });
    assert_eq!(reported, [""; 0]);
    assert!(pool.stats().growths > 5);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn equal_passes_of_every_kind_never_warn() {
    for config in [
        PoolConfig::new(),
        PoolConfig::new().fresh(true),
        PoolConfig::new().poison(true),
        PoolConfig::new().measure_live_bytes(true),
    ] {
        let mut pool = pool(config);
        let reported = warnings(|| (0..2 * PASSES).for_each(|_| _ = grow(&mut pool, 3..4)));
        assert_eq!(reported, [""; 0], "{config:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn the_configuration_disables_the_warning() {
    let mut pool = pool(PoolConfig::new().warnings(false));
    assert_eq!(warnings(|| _ = grow(&mut pool, 0..2 * PASSES)), [""; 0]);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn a_method_that_returns_errors_is_not_named() {
    let mut pool = pool(PoolConfig::new());
    let reported = warnings(|| {
        for pass in 0..PASSES {
            let scope = pool.scope();
            scope.acquire::<u64, _>(1);
            scope.try_acquire::<u64, _>(length(pass)).unwrap();
        }
    });
    let [reported] = reported.as_slice() else { panic!("{reported:?}") };
    assert!(reported.contains("64 passes") && !reported.contains("last grew at"), "{reported}");
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn dynamic_pools_warn_as_well() {
    let mut pool = DynamicPool::<StackedHeap>::new(Ledger::new());
    let reported = warnings(|| {
        for pass in 0..PASSES {
            pool.acquire::<u64>(length(pass));
            pool.reset();
        }
    });
    assert_eq!(reported.len(), 1, "{reported:?}");
}

/// A guard whose use has several scopes is one pass.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn each_use_by_a_guard_of_a_thread_is_a_pass() {
    let stacks = Stacks::new();
    let enter = |pass: usize| {
        let mut guard = stacks.guard();
        guard.scope().acquire::<u64, _>(1);
        guard.scope().acquire::<u64, _>(length(pass));
        guard.scope().acquire::<u64, _>(2);
    };
    assert_eq!(warnings(|| (0..PASSES - 1).for_each(enter)), [""; 0]);
    let reported = warnings(|| (PASSES - 1..2 * PASSES).for_each(enter));
    let [reported] = reported.as_slice() else { panic!("{reported:?}") };
    assert!(reported.contains("has grown in each of the last 64 passes"), "{reported}");
}

/// Also inside a scope of another guard, and a use without growth begins the count anew.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn uses_by_a_nested_guard_are_passes_of_its_own_pool() {
    let stacks = Stacks::new();
    let mut outer = stacks.guard();
    let scope = outer.scope();
    scope.acquire::<u64, _>(1);
    let enter = |pass: usize| {
        let mut inner = stacks.guard();
        inner.scope().acquire::<u64, _>(1);
        inner.scope().acquire::<u64, _>(length(pass));
        inner.scope().acquire::<u64, _>(2);
    };
    for _ in 0..2 {
        let reported = warnings(|| {
            (0..PASSES - 1).for_each(enter);
            (0..3).for_each(|_| enter(0));
        });
        assert_eq!(reported, [""; 0]);
        scope.trim();
        stacks.trim_all();
    }
    assert_eq!(warnings(|| (0..2 * PASSES).for_each(enter)).len(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: counts passes, of which Miri takes long for so many")]
fn the_hook_may_acquire_and_panic() {
    let raw = Box::into_raw(Box::new(pool(PoolConfig::new())));
    // SAFETY: just made, and given up to no one else until it is dropped below.
    let pool: &'static mut Pool<StackedHeap> = unsafe { &mut *raw };
    grow(pool, 0..PASSES - 1);
    let scope = pool.scope();
    let below = scope.acquire_filled(3, 5_u64);
    let inside = std::ptr::from_ref(&scope);
    let reported = warnings(|| {
        INSIDE.set(Some(Box::new(move || {
            // SAFETY: the scope lives; only shared references to it are used.
            let scope = unsafe { &*inside };
            assert!(matches!(scope.try_acquire::<u64, _>(1), Err(PoolError::Reentered)));
            assert_eq!(scope.trim().bytes, 0);
            panic!("a hook that panics");
        })));
        let acquire = AssertUnwindSafe(|| scope.acquire::<u64, _>(length(PASSES)).len());
        assert!(catch_unwind(acquire).is_err());
    });
    assert_eq!(reported.len(), 1, "{reported:?}");
    let after = scope.acquire_filled(length(PASSES), 6_u64);
    assert_eq!((&*below, after[0]), (&[5; 3][..], 6));
    // SAFETY: made by `Box::into_raw`, and the scope and its views are not used any more.
    drop(unsafe { Box::from_raw(raw) });
}
