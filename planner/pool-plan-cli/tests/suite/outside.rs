//! Findings of an external reviewer of the command: outputs that cannot be written, endless names,
//! buffers of size 0, and threads that cannot be started.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{data, scratch, solve};

fn run(task: &str, file: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
    command.arg(task).arg(file).args(arguments).output().unwrap()
}

fn written(name: &str, text: &str) -> std::path::PathBuf {
    let file = scratch(name);
    std::fs::write(&file, text).unwrap();
    file
}

fn message(output: &std::process::Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A full disk causes an error, not a panic, for every output.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let (full, absent) = (|| File::options().write(true).open("/dev/full").unwrap(), "/absent.csv");
    let (problem, log) = (data("A.1048576.csv"), data("rmm.csv"));
    let fast: &[&str] = &["--rounds", "1"];
    for (task, file, options) in [
        ("solve", problem.to_str().unwrap(), fast),
        ("solve", problem.to_str().unwrap(), &["--rounds", "1", "--json"]),
        ("solve", absent, &["--json"]),
        ("replay", log.to_str().unwrap(), fast),
        ("replay", absent, &["--json"]),
        ("export", log.to_str().unwrap(), &["--to", "json"]),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
        command.args([task, file]).args(options).stdout(full());
        let output = command.output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(2),
            "{task} {file} {options:?}: {}",
            message(&output)
        );
        assert!(!message(&output).contains("panicked"), "{}", message(&output));
        let status = command.stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{task} {file} {options:?}: the error has no position");
    }
}

#[test]
fn names_without_end_are_cut_off() {
    let name = "x".repeat(1 << 19);
    let lines: Vec<String> = (0..24_u64)
        .map(|number| {
            format!(
                r#"{{"action":"alloc","address":{},"bytes":512,"frames":[{{"filename":"{name}","line":3,"name":"f"}}]}}"#,
                4096 * number
            )
        })
        .collect();
    let output = run("replay", &written("long_names.jsonl", &lines.join("\n")), &["--rounds", "0"]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert!(output.stdout.len() < 1 << 15, "{} bytes", output.stdout.len());
    let file = written("long_name.csv", &format!("id,lower,upper,size\n{name},2,1,5\n"));
    let refused = solve(&file, &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(message(&refused).len() < 1 << 14, "{} bytes", refused.stderr.len());
}

/// A problem that `solve` accepts and writes is a consistent log.
#[test]
fn a_problem_is_a_log_without_contradictions() {
    let plan = scratch("without_bytes.csv");
    let intervals = written("intervals.csv", "id,lower,upper,size\na,0,5,10\nb,1,3,0\nc,6,9,10\n");
    let solved = solve(&intervals, &["--out", plan.to_str().unwrap()]);
    assert_eq!(solved.status.code(), Some(0));
    let graph = written(
        "without_order.json",
        r#"{"operations":3,"edges":[{"from":0,"to":2}],"buffers":[
            {"id":"a","size":5,"allocated_by":1,"freed_by":[0]},
            {"id":"b","size":7,"allocated_by":0,"freed_by":[2]},
            {"id":"c","size":0,"allocated_by":0,"freed_by":[0]}]}"#,
    );
    assert_eq!(solve(&graph, &[]).status.code(), Some(0));
    let log = written(
        "empty.jsonl",
        "{\"action\":\"alloc\",\"address\":16,\"bytes\":0}\n{\"action\":\"free\",\"address\":16}\n",
    );
    for file in [&intervals, &plan, &graph, &log] {
        let output = run("replay", file, &["--rounds", "0"]);
        assert_eq!(output.status.code(), Some(0), "{}: {output:?}", file.display());
    }
    assert_eq!(run("export", &graph, &["--to", "csv"]).status.code(), Some(0));
    // A second free of the same buffer is a fault.
    let twice = written(
        "empty_twice.jsonl",
        "{\"action\":\"alloc\",\"address\":16,\"bytes\":0}\n{\"action\":\"free\",\"address\":16}\n{\"action\":\"free\",\"address\":16}\n",
    );
    assert_eq!(run("replay", &twice, &["--rounds", "0"]).status.code(), Some(3));
}

#[test]
fn what_a_file_says_is_taken_or_refused() {
    let zero = written("alignment_0.csv", "id,lower,upper,size,alignment\na,0,10,5,0\n");
    let output = solve(&zero, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("line 2, column 10: alignment 0"), "{}", message(&output));
    std::fs::write(&zero, b"id,lower,upper,size\n\xff,0,10,5\n").unwrap();
    assert!(message(&solve(&zero, &[])).contains("at byte 20"));
    // The offsets of an older plan do not matter unless `--fixed` is given.
    let old = r#"{"buffers":[{"id":"a","lower":0,"upper":2,"size":5,"offset":0},
        {"id":"b","lower":1,"upper":3,"size":5,"offset":4}]}"#;
    let graph = r#"{"operations":1,"edges":[],"buffers":[
        {"id":"a","size":5,"allocated_by":0,"offset":0},{"id":"b","size":5,"allocated_by":0,"offset":4}]}"#;
    for (name, text) in [("old.json", old), ("old_graph.json", graph)] {
        let file = written(name, text);
        assert_eq!(solve(&file, &[]).status.code(), Some(0), "{name}");
        let fixed = solve(&file, &["--fixed"]);
        assert_eq!(fixed.status.code(), Some(2), "{name}");
        assert!(message(&fixed).contains("collide"), "{}", message(&fixed));
    }
    // A pipe has no name that reveals its format.
    let unnamed = written("old_without_an_ending", old);
    assert_eq!(solve(&unnamed, &[]).status.code(), Some(0));
    let picture = unnamed.to_str().unwrap();
    assert_eq!(solve(&unnamed, &["--svg", picture]).status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&unnamed).unwrap(), old, "the file is unchanged");
    let device = run("export", &data("rmm.csv"), &["--to", "json", "--device", "7"]);
    assert_eq!(device.status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn a_snapshot_from_a_pipe_is_refused_by_name() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
    let snapshot = std::fs::read(data("training.pickle")).unwrap();
    command.args(["replay", "/dev/stdin"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The command reads only the beginning, so the pipe may break.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), &snapshot);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("from a pipe"), "{}", message(&output));
}

/// If the system grants fewer threads than requested, these do all the work.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_had_are_done_without() {
    let mut graph = r#"{"operations":2200,"edges":["#.to_owned();
    let edges = (1..2200).map(|to| format!(r#"{{"from":{},"to":{to}}}"#, to - 1));
    graph += &edges.collect::<Vec<_>>().join(",");
    graph += r#"],"buffers":["#;
    let buffers = (0..2200).map(|one| {
        let last = (one + one % 7).min(2199);
        format!(
            r#"{{"id":"{one}","size":{},"allocated_by":{one},"freed_by":[{last}]}}"#,
            1 + one % 9
        )
    });
    graph += &buffers.collect::<Vec<_>>().join(",");
    graph += "]}";
    let file = written("for_threads.json", &graph);
    let options = ["--rounds", "1", "--json"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
    command.arg("solve").arg(&file).args(options).args(["--threads", "8"]);
    let with_threads = command.output().unwrap();
    // The stacks need more bytes than the address space contains, so no thread can start.
    command.env("RUST_MIN_STACK", (1_u64 << 45).to_string());
    let without = command.output().unwrap();
    for output in [&with_threads, &without] {
        assert_eq!(output.status.code(), Some(0), "{}", message(output));
    }
    let offsets = |output: &std::process::Output| {
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        object["offsets"].clone()
    };
    assert_eq!(offsets(&with_threads), offsets(&without));
}
