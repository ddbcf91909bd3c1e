//! Tests records of captures. A written record can be read back, and the command's result for a
//! record equals the library's result for its problem.

use std::path::Path;

use pool_plan::{Caller, GraphRecord, Options};
use serde_json::Value;

use super::capture::{Capture, settings};
use super::command::{scratch, solve};
use super::replay::{replay, run};

/// Captures of 200 operations with their streams and made-up callers, planned by one greedy round.
fn records(count: usize) -> impl Iterator<Item = GraphRecord> {
    settings(count, false).map(|setting| {
        let setting = Capture { operations: 200, ..setting };
        let graph = setting.make().unwrap().graph;
        let options = Options { rounds: Some(0), threads: 1, ..Options::default() };
        let plan = graph.solve(&options).unwrap();
        let callers = (0..graph.buffers().len() as u32).map(|number| match number % 3 {
            0 => Caller::default(),
            line => Caller { filename: "a \"b\" <ü>.rs".to_owned(), line, name: "漢".to_owned() },
        });
        let streams = setting.operations().iter().map(|one| one.stream as u32).collect();
        let capacity = plan.certificate.peak + 256;
        let record =
            GraphRecord::new(graph).with_capacity(capacity).with_callers(callers.collect());
        record.unwrap().with_streams(streams).unwrap().with_offsets(&plan.offsets).unwrap()
    })
}

fn write(record: &GraphRecord, file: &Path) {
    record.write_to(std::fs::File::create(file).unwrap()).unwrap();
}

#[test]
fn records_are_read_back() {
    for record in records((super::cases() as usize / 20).max(16)) {
        let mut file = Vec::new();
        record.write_to(&mut file).unwrap();
        let text = std::str::from_utf8(&file).unwrap();
        assert_eq!(GraphRecord::from_json(text).as_ref(), Ok(&record));
        // A single line that is truncated anywhere is not a record.
        for end in [0, 1, text.len() / 3, text.len() - 2] {
            assert!(GraphRecord::from_json(&text[..end]).is_err(), "{end} of {}", text.len());
        }
    }
}

#[test]
fn replay_and_solve_say_of_a_record_what_its_problem_says() {
    let (file, again) = (scratch("record.json"), scratch("record-again.json"));
    for record in records((super::cases() as usize / 125).max(8)) {
        write(&record, &file);
        let bound = record.problem().clone().without_offsets().lower_bound().bytes;
        let offsets = record.offsets().unwrap();
        let peak = record.problem().validate(&offsets).unwrap();

        let (code, report) = replay(&file, &["--allocator", "planned,pool"]);
        let device = &report["devices"][0];
        assert_eq!((code, &report["format"]), (Some(0), &Value::from("problem")));
        assert_eq!(
            device["bound"].as_u64(),
            Some(bound),
            "the bound of the graph, not of the sequence"
        );
        assert!(device["peak_live"].as_u64().unwrap() <= bound);
        assert_eq!(device["held_by_log"].as_u64(), record.capacity());
        assert_eq!(device["buffers"].as_u64(), Some(offsets.len() as u64));
        assert_eq!(device["fault_count"].as_u64(), Some(0), "the recorded offsets do not collide");
        assert_eq!(device["live_at_end"]["buffers"].as_u64(), Some(0), "the graph is over");

        let out = again.to_str().unwrap();
        let output = solve(&file, &["--json", "--rounds", "2", "--out", out]);
        let solved: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(solved["bound"].as_u64(), Some(bound));
        assert_eq!(solved["peak"], device["allocators"][1]["held"], "one planner, one plan");
        assert!(solved["peak"].as_u64().unwrap() <= peak);
        let output = solve(&file, &["--json", "--fixed"]);
        let fixed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(fixed["peak"].as_u64(), Some(peak), "the recorded plan");

        let replanned = GraphRecord::from_json(&std::fs::read_to_string(&again).unwrap()).unwrap();
        assert_eq!(replanned.capacity(), solved["peak"].as_u64());
        assert_eq!(replanned.caller(1), record.caller(1));
        let (_, report) = replay(&again, &[]);
        assert_eq!(report["devices"][0]["held_by_log"], solved["peak"]);
    }
}

#[test]
fn records_are_exported() {
    let file = scratch("exported-record.json");
    let record = records(2).nth(1).unwrap();
    write(&record, &file);
    for (form, holds) in [
        ("svg", "a &quot;b&quot; &lt;ü&gt;.rs:1 漢"),
        ("perfetto", "stream 1, track 1"),
        ("memory-viz", "device_traces"),
        ("csv", "id,lower,upper,size"),
        ("json", "\"action\":\"segment_alloc\""),
    ] {
        let output = run("export", &file, &["--to", form]);
        assert_eq!(output.status.code(), Some(0), "{form}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains(holds) || holds.contains("&quot;") && text.contains("&lt;ü&gt;.rs:1 漢"),
            "{form}"
        );
    }
}

/// Buffers that code outside the graph uses exist before and after the graph. All others end with
/// their last use.
#[test]
fn a_graph_in_another_order_than_its_numbers() {
    let file = scratch("backwards.json");
    let graph = r#"{"edges": [{"from": 9, "to": 4}, {"from": 4, "to": 2, "kind": "programmatic"}], "operations": 10,
        "buffers": [{"id": "a", "size": 8, "allocated_by": 9, "freed_by": [9]},
                    {"id": "b", "size": 16, "allocated_by": 4, "freed_by": [2]},
                    {"id": "kept", "size": 32, "allocated_by": 2, "role": "live_out"}]}"#;
    std::fs::write(&file, graph).unwrap();
    let output = run("export", &file, &["--to", "json"]);
    let lines = String::from_utf8(output.stdout).unwrap();
    let said: Vec<(String, u64, u64, i64)> = lines
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let number = |key: &str| line[key].as_u64().unwrap();
            let action = line["action"].as_str().unwrap().to_owned();
            (action, number("address"), number("bytes"), line["time"].as_i64().unwrap())
        })
        .collect();
    let line = |action: &str, address, bytes, time| (action.to_owned(), address, bytes, time);
    let expected = [
        line("alloc", 0, 8, 0),
        line("alloc", 24, 32, 0),
        line("free", 0, 8, 1),
        line("alloc", 8, 16, 1),
        line("free", 8, 16, 3),
        line("free", 24, 32, 4),
    ];
    assert_eq!(said, expected);
    let intervals = r#" {"buffers": [{"id": "a", "lower": -1, "upper": 3, "size": 8}]}"#;
    std::fs::write(&file, intervals).unwrap();
    let (code, report) = replay(&file, &[]);
    assert_eq!((code, report["devices"][0]["bound"].as_u64()), (Some(0), Some(8)));
}
