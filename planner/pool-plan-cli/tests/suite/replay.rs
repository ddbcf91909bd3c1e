//! Tests the commands `replay` and `export`: exit codes, JSON, tables, and the files that they
//! write.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::command::{data, scratch};

/// A budget that no plan with a limited number of rounds uses up, even on a busy machine.
pub(crate) const LONG: &str = "3600s";
const HEADER: &str = "Thread,Time,Action,Pointer,Size,Stream\n";

pub(crate) fn run(task: &str, file: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
    command.arg(task).arg(file).args(arguments).output().unwrap()
}

/// Returns the exit code and the report of a replay. The planned allocator's plan is reproducible,
/// because the rounds end long before the budget.
pub(crate) fn replay(file: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let given = ["--json", "--rounds", "2", "--budget", LONG];
    let output = run("replay", file, &[&given, arguments].concat());
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

fn log(name: &str, lines: &str) -> std::path::PathBuf {
    let file = scratch(name);
    std::fs::write(&file, format!("{HEADER}{lines}")).unwrap();
    file
}

fn held(report: &Value, allocator: &str) -> Option<u64> {
    let all = report["devices"][0]["allocators"].as_array().unwrap();
    all.iter().find(|one| one["allocator"] == allocator).unwrap()["held"].as_u64()
}

/// A script with an independent implementation of PyTorch's rules wrote the snapshot. Its segments
/// equal those of the simulator.
#[test]
fn snapshot_of_training_steps() {
    let (code, report) = replay(&data("training.pickle"), &[]);
    assert_eq!(code, Some(0));
    let device = &report["devices"][0];
    assert_eq!(report["format"], "pytorch");
    assert_eq!(
        (device["peak_live"].as_u64(), device["bound"].as_u64()),
        (Some(393_265_152), Some(393_265_152))
    );
    assert_eq!(device["held_by_log"].as_u64(), Some(434_110_464));
    assert_eq!(held(&report, "caching"), Some(434_110_464));
    assert_eq!(held(&report, "planned"), Some(393_265_152));
    assert_eq!(device["live_at_end"]["buffers"].as_u64(), Some(25));
    assert_eq!(device["failures"][0]["bytes"].as_u64(), Some(3 << 30));
    let frame = &device["largest_at_peak"][0]["frames"][0];
    assert_eq!(frame, "/home/user/net.py:63 backward");
    assert_eq!(device["freed_late"].as_u64(), Some(12));
}

/// PyTorch 2.11 itself wrote this snapshot, of two training steps on the host. The expected numbers
/// come from a script that follows the trace backwards from the blocks at its end.
#[test]
fn snapshot_by_pytorch_itself() {
    let (code, report) = replay(&data("torch_cpu.pickle"), &[]);
    assert_eq!((code, &report["format"]), (Some(0), &Value::from("pytorch")));
    let device = &report["devices"][0];
    assert_eq!(device["peak_live"].as_u64(), Some(129_736));
    assert_eq!(device["bound"], device["peak_live"]);
    let left = &device["live_at_end"];
    assert_eq!((left["buffers"].as_u64(), left["bytes"].as_u64()), (Some(33), Some(96_700)));
    let frame = device["largest_at_peak"][0]["frames"][0].as_str().unwrap();
    assert!(frame.starts_with("torch/optim/adam.py("), "{frame}");
    let recorded = report["events"].as_u64().unwrap();
    assert_eq!(
        recorded, 733,
        "258 allocations, 233 frees in two steps, 8 blocks and a segment before"
    );
}

/// With the plan's peak as the capacity, only the plan fits. With one byte less, nothing does.
#[test]
fn capacities() {
    let file = data("training.pickle");
    let (code, report) = replay(&file, &["--capacity", "393265152"]);
    assert_eq!(code, Some(0));
    let all = report["devices"][0]["allocators"].as_array().unwrap();
    let fails: Vec<bool> = all.iter().map(|one| one["fails_at"].is_object()).collect();
    assert_eq!(fails, [true, true, true, true, true, true, false]);
    assert_eq!(all[0]["fails_at"]["at"]["place"], "device_traces[0][65]");
    let only = ["--capacity", "393265152", "--allocator", "bump,caching"];
    assert_eq!(replay(&file, &only).0, Some(1));
    let (code, report) = replay(&file, &["--capacity", "393265151"]);
    assert_eq!(code, Some(1));
    let planned = &report["devices"][0]["allocators"][6];
    assert_eq!(planned["fails_at"]["at"]["place"], "device_traces[0][223]");
}

#[test]
fn inconsistent_logs_are_named() {
    let cases = [
        ("1,1:1:1.1,free,0x10,8,0\n", "line 2", "unknown-free"),
        ("1,1:1:1.1,allocate,0x10,8,0\n1,1:1:1.2,allocate,0x10,8,0\n", "line 3", "overlap"),
        ("1,1:1:1.1,allocate,0x10,8,0\n1,1:1:1.2,free,0x10,4,0\n", "line 3", "freed-bytes"),
        ("1,1:1:1.1,allocate,0xffffffffffffffff,8,0\n", "line 2", "overflow"),
    ];
    for (lines, place, fault) in cases {
        let file = log(&format!("{fault}.csv"), lines);
        let (code, report) = replay(&file, &[]);
        assert_eq!(code, Some(3), "{fault}");
        let named = &report["devices"][0]["faults"][0];
        assert_eq!(
            (&named["fault"], &named["at"]["place"]),
            (&Value::from(fault), &Value::from(place))
        );
        let output = run("replay", &file, &["--rounds", "0"]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(place) && said.contains("impossible events: 1"), "{said}");
        let output = run("export", &file, &["--to", "json"]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
        assert!(String::from_utf8(output.stderr).unwrap().contains(place));
    }
}

#[test]
fn bad_logs() {
    let file = log("bad-log.csv", "1,1:1:1.1,grow,0x10,8,0\n");
    let (code, report) = replay(&file, &[]);
    assert_eq!(code, Some(2));
    assert!(report["error"].as_str().unwrap().contains("line 2: Action: \"grow\""), "{report}");
    assert_eq!(replay(&scratch("absent.csv"), &[]).0, Some(2));
    let nothing = scratch("nothing.csv");
    std::fs::write(&nothing, "").unwrap();
    assert_eq!(replay(&nothing, &[]).0, Some(2));
    let (code, report) = replay(&nothing, &["--from", "rmm"]);
    assert_eq!((code, report["events"].as_u64()), (Some(0), Some(0)));
    let pickle = scratch("runs.pickle");
    std::fs::write(&pickle, b"\x80\x02cos\nsystem\n(X\x02\x00\x00\x00idtR.").unwrap();
    let (code, report) = replay(&pickle, &[]);
    assert_eq!(code, Some(2));
    assert!(report["error"].as_str().unwrap().contains("opcode GLOBAL"), "{report}");
}

/// Each of two devices has its own report. A problem or picture shows only one device.
#[test]
fn devices_apart() {
    let file = scratch("devices.jsonl");
    let lines =
        "{\"action\":\"alloc\",\"bytes\":8}\n{\"action\":\"alloc\",\"bytes\":16,\"device\":3}\n";
    std::fs::write(&file, lines).unwrap();
    let (code, report) = replay(&file, &[]);
    let peaks: Vec<_> =
        report["devices"].as_array().unwrap().iter().map(|one| &one["peak_live"]).collect();
    assert_eq!((code, peaks), (Some(0), vec![&Value::from(8), &Value::from(16)]));
    let output = run("export", &file, &["--to", "svg"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("the log has several devices: select one with --device (0, 3)")
    );
    let output = run("export", &file, &["--to", "csv", "--device", "3"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "id,lower,upper,size\n0,1,2,16\n");
}

/// Every form that can be read back has the same peak as its source.
#[test]
fn exports_replay_alike() {
    for name in ["rmm.csv", "training.pickle", "torch_cpu.pickle", "capture.json"] {
        let peak = replay(&data(name), &[]).1["devices"][0]["peak_live"].clone();
        for form in ["memory-viz", "csv", "json"] {
            let file = scratch(&format!("{name}.{form}"));
            let output =
                run("export", &data(name), &["--to", form, "--out", file.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(0), "{name} {form}");
            let (code, report) = replay(&file, &["--allocator", "planned"]);
            assert_eq!(
                (code, &report["devices"][0]["peak_live"]),
                (Some(0), &peak),
                "{name} {form}"
            );
        }
    }
}
