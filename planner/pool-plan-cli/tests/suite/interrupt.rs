//! Ctrl-C quickly ends the search, with the best plan so far.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The maximum delay that other work on the machine can cause.
const MOST_LATE: Duration = Duration::from_secs(2);

/// Returns the file of a problem whose search takes longer than any test: a packing without free
/// space, and buffers that are live almost all the time.
fn text() -> String {
    let packed = super::held_out::pinwheels(1_000, 60_001).unwrap();
    let lower = packed.buffers().iter().map(|buffer| buffer.lower).min().unwrap();
    let upper = packed.buffers().iter().map(|buffer| buffer.upper).max().unwrap();
    let mut text = String::from("id,lower,upper,size\n");
    for (number, buffer) in packed.buffers().iter().enumerate() {
        text.push_str(&format!("p{number},{},{},{}\n", buffer.lower, buffer.upper, buffer.size));
    }
    for number in 0..850_u64 {
        let size = 1 + number * 7919 % 9;
        text.push_str(&format!("l{number},{lower},{},{size}\n", upper - number as i64 % 5));
    }
    text
}

/// With `POOL_TEST_CASES=100000`, this test interrupts the command 200 times and prints the time of
/// each run.
#[test]
fn an_interrupt_ends_with_the_best_plan() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("interrupted_search.csv");
    std::fs::write(&file, text()).unwrap();
    let mut late = Vec::new();
    for number in 0..(super::cases() / 500).max(1) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
        command.args(["solve", "--budget", "300s", "--json"]).arg(&file);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300 + u64::from(number) * 37 % 400));
        let start = Instant::now();
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success(), "the search ended before the signal");
        let output = child.wait_with_output().unwrap();
        late.push(start.elapsed());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(plan["peak"].as_u64() >= plan["bound"].as_u64(), "{plan}");
    }
    late.sort();
    println!(
        "{} interrupts: median {:?}, worst {:?}",
        late.len(),
        late[late.len() / 2],
        late.last()
    );
    assert!(late.last() <= Some(&MOST_LATE), "late by {:?}", late.last());
}
