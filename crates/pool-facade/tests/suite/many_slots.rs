//! A loop without a scope of its own is noticed in debug builds, once a pool, also without the feature `tracing`.

use std::process::Command;

use pool_facade::prelude::*;

/// Set in the child process, whose standard error is read: to what it should do.
const TASK: &str = "POOL_TEST_MANY_SLOTS";

/// The text that is looked for.
const TEXT: &str = "is a scope missing around a loop body?";

/// What a callback of the type `Fn` does: it has its scope shared, so its passes take new slots.
fn grow(passes: usize) {
    with_pool!(|scope| {
        let callback = |x: f64| scope.acquire_filled(8, x)[0];
        assert_eq!((0..passes).map(|_| callback(1.0)).sum::<f64>(), passes as f64);
    });
}

/// The child of the test below; nothing without its task.
#[test]
fn child() {
    match std::env::var(TASK).as_deref() {
        Ok("few") => grow(PoolConfig::WARNING_SLOTS - 1),
        Ok("many") => {
            grow(PoolConfig::WARNING_SLOTS);
            grow(3 * PoolConfig::WARNING_SLOTS);
        }
        Ok("off") => {
            pool_facade::warn_of_many_slots(false);
            grow(PoolConfig::WARNING_SLOTS);
        }
        _ => {}
    }
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no processes")]
fn debug_builds_say_it_once_a_pool() {
    let said = |task: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "many_slots::child", "--nocapture"])
            .env(TASK, task)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).matches(TEXT).count()
    };
    let once = usize::from(cfg!(debug_assertions) && !cfg!(feature = "tracing"));
    assert_eq!((said("few"), said("many"), said("off")), (0, once, 0));
}
