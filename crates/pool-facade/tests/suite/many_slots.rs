//! A loop without a scope of its own is reported in debug builds, once a pool, with the call in the loop. So is a stack
//! that grows in each pass.

use std::process::Command;

use pool_facade::prelude::*;

/// Set in the child process, whose standard error is read: its task.
const TASK: &str = "POOL_TEST_MANY_SLOTS";

/// The text that is looked for.
const TEXT: &str = "Is a scope missing around a loop body?";

const MOST: usize = PoolConfig::REPORTED_SLOTS;

/// Acts as a callback of the `Fn` type: it has its scope shared, so its passes take new slots.
fn grow(passes: usize) -> u32 {
    with_pool!(|scope| {
        let callback = |x: f64| scope.acquire_filled(8, x)[0];
        assert_eq!((0..passes).map(|_| callback(1.0)).sum::<f64>(), passes as f64);
    });
    line!() - 3
}

/// Grows a pool of its own by one method, and prints the line of the call.
fn grow_by(method: &str) {
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    let mut line = 0;
    for _ in 0..MOST {
        line = line!() + 1;
        match method {
            "acquire" => drop(scope.acquire::<u8, _>(1)),
            "rank" => drop(scope.acquire::<u8, _>([1, 1])),
            "dynamic" => drop(scope.acquire::<u8, _>(&[1][..])),
            "zeroed" => drop(scope.acquire_zeroed::<bool, _>(1)),
            "from" => drop(scope.acquire_from(&[1_u8])),
            "with" => drop(scope.acquire_with(1, |_| 1_u8)),
            "vec" => drop(scope.acquire_vec::<u8>(1)),
            "uninit" => drop(scope.acquire_uninit::<u8, _>(1)),
            _ => drop(scope.try_acquire::<u8, _>(1).unwrap()),
        }
    }
    eprintln!("lines {line} to {}", line + 10);
}

/// Grows a stack of the thread in each pass, and prints the line of the call.
fn grow_stack(config: PoolConfig) {
    local::<Stacked<Cpu>>().configure(config).unwrap();
    for pass in 1..=2 * PoolConfig::REPORTED_PASSES {
        with_pool!(Stacked<Cpu>, |scope| {
            assert_eq!(scope.acquire_filled(1_000 * pass, 1.0)[0], 1.0);
        });
    }
    eprintln!("lines {0} to {0}", line!() - 3);
}

/// The child of the tests below; nothing without its task.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    match task.as_str() {
        "few" => {
            grow(MOST - 1);
        }
        "many" => {
            let line = grow(MOST);
            eprintln!("lines {line} to {line}");
            grow(3 * MOST);
        }
        "off" => {
            local::<Cpu>().configure(PoolConfig::new().warnings(false)).unwrap();
            grow(MOST);
        }
        "stack" => grow_stack(PoolConfig::new()),
        "stack, off" => grow_stack(PoolConfig::new().warnings(false)),
        "without a hook" => grow_by("acquire"),
        method => {
            // The first thread-local pool has warnings printed.
            drop(local::<Cpu>());
            grow_by(method);
        }
    }
}

/// Returns the standard error of a child process.
fn said(task: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "many_slots::child", "--nocapture"])
        .env(TASK, task)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no processes")]
fn debug_builds_say_it_once_a_pool() {
    let times = |task: &str| said(task).matches(TEXT).count();
    let once = usize::from(cfg!(debug_assertions));
    assert_eq!((times("few"), times("many"), times("off")), (0, once, 0));
    assert_eq!((times("stack"), times("stack, off")), (once, 0));
    assert_eq!(times("without a hook"), 0);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no processes")]
#[cfg(debug_assertions)]
fn the_warning_names_the_call() {
    let methods = ["acquire", "rank", "dynamic", "zeroed", "from", "with", "vec", "uninit"];
    for task in methods.into_iter().chain(["many", "stack"]) {
        let text = said(task);
        let (_, lines) = text.rsplit_once("lines ").unwrap();
        let (first, last) = lines.trim().split_once(" to ").unwrap();
        let lines = first.parse::<u32>().unwrap()..=last.parse().unwrap();
        let (_, place) = text.split_once("many_slots.rs:").expect(task);
        let line = place.split(':').next().unwrap().parse::<u32>().unwrap();
        assert!(lines.contains(&line), "{task}: line {line} and not {lines:?}");
        let number = if task == "stack" { "64 passes" } else { "4096 slots" };
        assert!(text.contains(number), "{text}");
    }
    let text = said("a method that returns errors");
    assert!(text.contains(TEXT) && !text.contains("the last slot was acquired at"), "{text}");
}
