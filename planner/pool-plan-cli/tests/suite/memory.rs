//! Tests how much memory a file can make the command use. Each command runs with a limited address
//! space, and an allocation beyond the limit ends it with a signal.

use std::path::Path;
use std::process::{Command, Output};

use super::command::scratch;

/// Plans a file in an address space of `mebibytes` MiB, which includes code, stacks and mapped
/// files.
fn solve_within(mebibytes: u32, file: &Path, options: &[&str]) -> Output {
    let shell = format!("ulimit -v {} && exec \"$@\"", mebibytes * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &shell, "sh", env!("CARGO_BIN_EXE_pool-plan"), "solve"]);
    command.arg(file).args(options).env("MALLOC_ARENA_MAX", "1").output().unwrap()
}

/// Returns `true` if this system supports such a limit. Otherwise, prints a message.
fn is_limited() -> bool {
    let limited = cfg!(target_os = "linux");
    if !limited {
        println!("SKIPPED: address space can be limited only on Linux");
    }
    limited
}

fn plan(name: &str, text: &str, mebibytes: u32, code: i32) -> String {
    let file = scratch(name);
    std::fs::write(&file, text).unwrap();
    let options = ["--rounds", "0", "--json"];
    let output = solve_within(mebibytes, &file, &options);
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let start = said.chars().take(300).collect::<String>();
    assert_eq!(output.status.code(), Some(code), "{name}: {start} {errors}");
    assert!(!errors.contains("panicked"), "{name}: {errors}");
    said.into_owned()
}

/// Creates a graph in JSON. Each operation has one buffer, which no other operation uses.
fn graph(operations: usize, edges: impl Iterator<Item = (usize, usize)>) -> String {
    let edges: Vec<String> =
        edges.map(|(from, to)| format!("{{\"from\":{from},\"to\":{to}}}")).collect();
    let buffers: Vec<String> = (0..operations)
        .map(|one| {
            let size = 1 + one * 7919 % 1000;
            format!(
                "{{\"id\":\"{one}\",\"size\":{size},\"allocated_by\":{one},\"freed_by\":[{one}]}}"
            )
        })
        .collect();
    format!(
        "{{\"operations\":{operations},\"edges\":[{}],\"buffers\":[{}]}}",
        edges.join(","),
        buffers.join(",")
    )
}

#[test]
fn operations_that_nothing_names_take_no_memory() {
    if !is_limited() {
        return;
    }
    for operations in ["500000000", "18446744073709551615"] {
        let text = format!(
            "{{\"operations\": {operations}, \"edges\": [], \
             \"buffers\": [{{\"id\":\"a\",\"size\":1,\"allocated_by\":0}}]}}"
        );
        let said = plan("operations.json", &text, 100, 0);
        assert!(said.contains("\"peak\":1"), "{said}");
    }
}

/// Returns `true` if many cases are requested. The tests then also run cases that take a debug
/// build a minute.
pub(crate) fn is_thorough() -> bool {
    super::cases() >= 20_000
}

#[test]
fn a_line_of_operations_and_buffers_fits() {
    if !is_limited() {
        return;
    }
    // The order of 20,000 buffers is a matrix of 50 MB. Each buffer comes after the previous one.
    let (operations, mebibytes) = if is_thorough() { (20_000, 300) } else { (4_000, 120) };
    plan("line.json", &graph(operations, (1..operations).map(|to| (to - 1, to))), mebibytes, 0);
}

#[test]
fn all_pairs_of_a_relation_take_no_memory() {
    if !is_limited() {
        return;
    }
    // Half of the buffers come before one operation, and half of them after it. The edges therefore
    // order four million pairs, or a hundred.
    let (hub, mebibytes) = if is_thorough() { (10_000, 300) } else { (2_000, 150) };
    let edges = (0..2 * hub + 1).filter(|&one| one != hub);
    let edges = edges.map(|one| if one < hub { (one, hub) } else { (hub, one) });
    plan("hub.json", &graph(2 * hub + 1, edges), mebibytes, 0);
}

#[test]
fn more_than_is_planned_is_refused_before_it_is_kept() {
    if !is_limited() {
        return;
    }
    let many = |one: &str, count: usize| vec![one; count].join(",");
    if is_thorough() {
        let edges = many("{\"from\":0,\"to\":1}", 5_000_000);
        let text = format!("{{\"operations\":2,\"edges\":[{edges}],\"buffers\":[]}}");
        // The text itself takes 90 MB, and the stored part of its edges takes 100 to 200 MB.
        let said = plan("edges.json", &text, 450, 2);
        let numbers = format!(
            "{} bytes: the problem has 5000000 edges, but the planner accepts at most 4194304",
            text.len()
        );
        assert!(said.contains(&numbers), "{said}");
    }
    let rows = "a,0,1,1\n".repeat(1_100_000);
    let text = format!("id,lower,upper,size\n{rows}");
    let said = plan("rows.csv", &text, 450, 2);
    let numbers = format!(
        "{} bytes: the problem has 1100000 buffers and gaps, but the planner accepts at most \
         1048576",
        text.len()
    );
    assert!(said.contains(&numbers), "{said}");
    let buffers = many("{\"id\":\"a\",\"size\":1,\"allocated_by\":0}", 500_000);
    let text = format!("{{\"operations\":1,\"edges\":[],\"buffers\":[{buffers}]}}");
    // The text takes 19 MB, 92,672 buffers take 14 MB, and all of them would take 75 MB.
    let said = plan("buffers.json", &text, 90, 2);
    assert!(said.contains("500000 buffers, but the planner accepts at most 92672"), "{said}");
    let output = solve_within(700, Path::new("/dev/zero"), &["--json"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("268435457 bytes of text, but the planner accepts at most 268435456"),
        "{said}"
    );
}

#[test]
fn nonsense_is_refused_in_little_memory() {
    if !is_limited() {
        return;
    }
    let deep = "[".repeat(1_000_000);
    let huge = "9".repeat(1_000_000);
    let commas = ",".repeat(10_000_000);
    let texts = [
        ("deep.json", deep.clone()),
        ("deep_inside.json", format!("{{\"operations\":1,\"edges\":{deep}")),
        ("deep_unknown.json", format!("{{\"operations\":{deep}")),
        ("array.json", format!("[{}]", vec!["0"; 3_000_000].join(","))),
        ("unknown.json", format!("{{\"a\":[{}]}}", vec!["{\"\":0}"; 1_000_000].join(","))),
        ("nan.json", "{\"buffers\":[{\"id\":\"a\",\"lower\":0,\"upper\":NaN,\"size\":1}]}".into()),
        (
            "float.json",
            "{\"buffers\":[{\"id\":\"a\",\"lower\":0,\"upper\":1e99,\"size\":1}]}".into(),
        ),
        ("huge.json", format!("{{\"operations\":{huge},\"edges\":[],\"buffers\":[]}}")),
        ("empty.json", String::new()),
        ("commas.csv", commas.clone()),
        ("more_commas.csv", format!("id,lower,upper,size\n{commas}\n")),
        ("huge.csv", format!("id,lower,upper,size\na,0,{huge},1\n")),
        ("nan.csv", "id,lower,upper,size\na,0,NaN,1\n".into()),
        ("quote.csv", format!("id,lower,upper,size\n\"{commas}")),
        ("gaps.csv", format!("id,lower,upper,size,gaps\na,0,9,1,{}\n", "1-2 ".repeat(2_000_000))),
        ("blank.csv", "\n \r\n\t\n".repeat(1_000_000)),
        ("empty.csv", String::new()),
    ];
    for (name, text) in texts {
        plan(name, &text, 200, 2);
    }
}
