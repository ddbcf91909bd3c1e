//! Tests problems with several memories: JSON and CSV, capacities on the command line, reading
//! plans back, and refused input.

use std::path::PathBuf;

use serde_json::Value;

use super::command::{scratch, solve};

const JSON: &str = r#"{"memories": [{"name": "sram", "capacity": 64, "traffic_cost": 1},
                {"name": "psram", "traffic_cost": 10}],
  "buffers": [{"id": "weights", "lower": 0, "upper": 4, "size": 96},
              {"id": "input", "lower": 0, "upper": 2, "size": 64, "traffic": 128},
              {"id": "output", "lower": 2, "upper": 4, "size": 64, "memories": ["psram", "sram"]}]}"#;
const CSV: &str = "id,lower,upper,size,traffic,memories\n\
    weights,0,4,96,,\ninput,0,2,64,128,\noutput,2,4,64,,psram sram\n";
const MEMORIES: [&str; 4] = ["--memory", "sram:64::1", "--memory", "psram:::10"];
/// The held bytes, the traffic of the weights in PSRAM, and the traffic of the other buffers in
/// SRAM.
const COST: u64 = 64 + 96 + 128 + 64 + 960;

fn file(name: &str, text: &str) -> PathBuf {
    let path = scratch(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn solved(file: &std::path::Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = solve(file, &[arguments, &["--json", "--rounds", "4"]].concat());
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn json_and_csv_give_one_plan_which_reads_back() {
    let json = file("memories.json", JSON);
    let csv = file("memories.csv", CSV);
    for (problem, own) in [(&json, &[][..]), (&csv, &MEMORIES)] {
        for name in ["memories_out.json", "memories_out.csv"] {
            let out = scratch(name);
            let (code, plan) = solved(problem, &[own, &["--out", out.to_str().unwrap()]].concat());
            assert_eq!((code, plan["cost"].as_u64()), (Some(0), Some(COST)), "{plan}");
            assert_eq!(plan["optimal"], Value::Bool(true));
            assert_eq!(plan["memories"][1]["peak"].as_u64(), Some(96));
            let own = if name.ends_with("csv") { &MEMORIES[..] } else { &[] };
            let (code, again) = solved(&out, &[own, &["--fixed"]].concat());
            assert_eq!((code, &again["offsets"]), (Some(0), &plan["offsets"]), "{again}");
        }
    }
}

#[test]
fn a_cap_on_one_memory_moves_buffers() {
    let json = file("memories_cap.json", JSON);
    let (code, plan) = solved(&json, &["--memory", "sram:0:1:1"]);
    assert_eq!(code, Some(0), "{plan}");
    assert_eq!(plan["memories"][0]["peak"].as_u64(), Some(0));
    assert_eq!(plan["memories"][1]["peak"].as_u64(), Some(160));
    let (code, refused) = solved(&json, &["--memory", "sram:0", "--memory", "psram:100"]);
    assert_eq!((code, refused["witness"].as_array().unwrap().len()), (Some(1), 2), "{refused}");
}

#[test]
fn tables_and_a_picture_name_the_memories() {
    let json = file("memories_table.json", JSON);
    let picture = scratch("memories.svg");
    let output = solve(&json, &["--rounds", "4", "--svg", picture.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("psram") && text.contains("capacity") && text.contains(&COST.to_string())
    );
    let picture = std::fs::read_to_string(&picture).unwrap();
    assert_eq!(picture.matches("<title>").count(), 3);
    assert!(picture.contains("<title>psram: weights: 96 bytes at 0"));
}

#[test]
fn arguments_and_files_that_cannot_be_are_refused() {
    let (json, csv) = (file("memories_bad.json", JSON), file("memories_bad.csv", CSV));
    let plain =
        file("memories_none.json", r#"{"buffers":[{"id":"a","lower":0,"upper":1,"size":8}]}"#);
    for (problem, arguments, text) in [
        (&json, &["--capacity", "9"][..], "--capacity cannot be used with several memories"),
        (&json, &["--memory", "dram:9"], "no memory \"dram\""),
        (&csv, &["--memory", "sram:64"], "line 4, column 16: there is no memory \"psram\""),
        (&csv, &["--memory", "a", "--memory", "a"], "there is no memory"),
        (&csv, &["--memory", "a:x"], "bytes: \"x\""),
        (&csv, &["--memory", "a:1:1:1:1"], "is not expected"),
        (&csv, &["--memory", ":1"], "the name of a memory"),
        (&plain, &["--memory", "a"], "requires memories in the JSON file"),
    ] {
        let output = solve(problem, arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(text), "{arguments:?}: {said}");
    }
}
