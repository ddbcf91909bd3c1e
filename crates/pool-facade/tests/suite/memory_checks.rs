//! Poison and fresh blocks for the whole process, by a call and by the environment.

use std::process::Command;

use pool_facade::prelude::*;
use pool_facade::{MemoryChecks, check_memory};

/// Set in the child process: the modes that it should find.
const TASK: &str = "POOL_TEST_MEMORY_CHECKS";

/// Returns `true` if this thread's pool poisons, and whether its blocks are fresh.
fn found() -> (bool, bool) {
    with_pool!(|scope| {
        let scope = scope.scope();
        scope.acquire::<u64, _>(100).fill(1);
    });
    let growths = local::<Cpu>().stats().growths;
    let poisoned = with_pool!(|scope| {
        let array = scope.acquire::<u64, _>(100);
        assert!(array.iter().all(|&number| number == u64::MAX || number <= 1));
        array[99] == u64::MAX
    });
    (poisoned, local::<Cpu>().stats().growths > growths)
}

fn on_another_thread() -> (bool, bool) {
    std::thread::spawn(found).join().unwrap()
}

/// The child of the tests below; nothing without its task.
#[test]
fn child() {
    let on = MemoryChecks::new().poison(true).fresh(true);
    match std::env::var(TASK).as_deref() {
        Ok("none") => assert_eq!((found(), on_another_thread()), ((false, false), (false, false))),
        Ok("poison") => assert_eq!((found(), on_another_thread()), ((true, false), (true, false))),
        Ok("fresh") => assert_eq!(found(), (false, true)),
        Ok("both") => {
            assert_eq!(found(), (true, true));
            // Also if a pool is configured without them, and for explicit pools.
            local::<Cpu>().configure(PoolConfig::new().name("mine")).unwrap();
            assert_eq!(found(), (true, true));
            let mut pool = Pool::<Cpu>::new(());
            assert_eq!(pool.scope().acquire::<u8, _>(1), [0xFF]);
        }
        Ok("call") => {
            check_memory(on);
            assert_eq!(found(), (true, true));
            check_memory(MemoryChecks::new());
            assert_eq!(found(), (true, true), "a pool keeps its modes");
            assert_eq!(on_another_thread(), (false, false));
            check_memory(on);
            local::<Cpu>().configure(PoolConfig::new()).unwrap();
            assert_eq!(found(), (true, true));
        }
        Ok("precedence") => {
            check_memory(MemoryChecks::new().fresh(true));
            assert_eq!(found(), (false, true));
        }
        _ => {}
    }
}

fn run(task: &str, environment: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory_checks::child"])
        .env_remove("POOL_POISON")
        .env_remove("POOL_FRESH")
        .env(TASK, task)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{task} {environment:?}: {said}");
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no processes")]
fn the_environment_turns_modes_on() {
    run("none", &[]);
    run("none", &[("POOL_POISON", "0"), ("POOL_FRESH", "")]);
    run("poison", &[("POOL_POISON", "1")]);
    run("fresh", &[("POOL_FRESH", "yes")]);
    run("both", &[("POOL_POISON", "1"), ("POOL_FRESH", "1")]);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no processes")]
fn a_call_turns_modes_on_and_takes_precedence() {
    run("call", &[]);
    run("precedence", &[("POOL_POISON", "1")]);
}
