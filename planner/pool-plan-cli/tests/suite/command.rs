//! Tests the command: its exit codes, its JSON, and the files that it writes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The path of a log in this workspace, or of a trace in the solver's tests.
pub(crate) fn data(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = here.join("../data").join(name);
    if own.exists() { own } else { here.join("../../crates/pool-plan/tests/data").join(name) }
}

pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub(crate) fn solve(file: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
    command.arg("solve").arg(file).args(arguments).output().unwrap()
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn plan_within_the_capacity() {
    let output = solve(&data("non_existent.csv"), &["--capacity", "26", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let object = object(&output);
    assert_eq!((object["peak"].as_u64(), object["bound"].as_u64()), (Some(26), Some(26)));
    assert_eq!(object["optimal"], Value::Bool(true));
    assert_eq!(
        (object["proof"].as_str(), object["stopped"].as_str()),
        (Some("witness"), Some("optimal"))
    );
}

#[test]
fn no_plan_within_the_capacity() {
    let output = solve(&data("non_existent.csv"), &["--capacity", "25", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let refused = object(&output);
    assert!(refused["error"].as_str().unwrap().contains("need 26 bytes"));
    assert_eq!(refused["witness"].as_array().unwrap().len(), 3);
}

#[test]
fn bad_input() {
    let file = scratch("bad.csv");
    std::fs::write(&file, "id,lower,upper,size\na,0,x,1\n").unwrap();
    let output = solve(&file, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("line 2, column 5"));
    assert_eq!(solve(&scratch("absent.csv"), &[]).status.code(), Some(2));
    assert_eq!(solve(&data("A.1048576.csv"), &["--tolerance", "0.9"]).status.code(), Some(2));
    assert_eq!(solve(&data("A.1048576.csv"), &["--budget", "soon"]).status.code(), Some(2));
    assert_eq!(solve(&data("A.1048576.csv"), &["--align", "24"]).status.code(), Some(2));
    std::fs::write(&file, "id,lower,upper,size\na,0,1,1\nb,3,2,1\n").unwrap();
    let output = solve(&file, &["--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        object(&output)["error"]
            .as_str()
            .unwrap()
            .contains("line 3, column 5: the lifetime [3, 2) of buffer b")
    );
}

#[test]
fn plan_and_picture_are_written() {
    let (plan, picture) = (scratch("plan.csv"), scratch("plan.svg"));
    let paths = [plan.to_str().unwrap(), picture.to_str().unwrap()];
    let options = ["--align", "512", "--budget", "100ms", "--out", paths[0], "--svg", paths[1]];
    let output = solve(&data("iree_mobilebert.csv"), &options);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("ratio"));
    let again = solve(&plan, &["--fixed", "--json", "--align", "512"]);
    assert_eq!(again.status.code(), Some(0));
    let picture = std::fs::read_to_string(&picture).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("peak ") && picture.contains("bound "));
    assert_eq!(picture.matches("<title>").count(), 315 + 1);
}

/// An empty name counts as no name and may occur several times. A message then uses the index of
/// the row.
#[test]
fn names_may_be_empty() {
    let file = scratch("unnamed.csv");
    std::fs::write(&file, "id,lower,upper,size\n,0,2,8\n,0,2,8\na,1,3,8\n").unwrap();
    assert_eq!(object(&solve(&file, &["--json"]))["peak"].as_u64(), Some(24));
    std::fs::write(&file, "id,lower,upper,size\n,0,2,8\na,0,2,8\n,3,3,8\n").unwrap();
    let output = solve(&file, &["--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        object(&output)["error"]
            .as_str()
            .unwrap()
            .contains("line 4, column 4: the lifetime [3, 3) of buffer #2")
    );
}

#[test]
fn graph_in_json() {
    let file = scratch("graph.json");
    let graph = r#"{"operations": 3, "edges": [{"from": 0, "to": 1}, {"from": 1, "to": 2}],
        "buffers": [{"id": "a", "size": 8, "allocated_by": 0, "freed_by": [1]},
                    {"id": "b", "size": 8, "allocated_by": 2, "freed_by": [2]}]}"#;
    std::fs::write(&file, graph).unwrap();
    let output = solve(&file, &["--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(object(&output)["peak"].as_u64(), Some(8));
}
