//! Files that users reported as misread or refused, and one more file of each kind. They are in
//! `tests/data`, with the numbers that the command must print.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command::{data, scratch, solve};
use super::replay::{replay, run};

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn written(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let file = scratch(name);
    std::fs::write(&file, bytes).unwrap();
    file
}

/// Exports a file, and replays the exported file.
fn exported(file: &Path, form: &str) -> (Option<i32>, Value) {
    let name = format!("{}.{form}", file.file_name().unwrap().to_string_lossy());
    let out = scratch(&name);
    let output = run("export", file, &["--to", form, "--out", out.to_str().unwrap()]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{form}: {message}");
    replay(&out, &["--allocator", "bump"])
}

fn first(report: &Value) -> &Value {
    &report["devices"][0]["largest_at_peak"][0]
}

#[test]
fn f2_address_from_2_63_in_json_lines() {
    let file = case("F2_address_from_2_63.jsonl");
    for (code, report) in [replay(&file, &[]), exported(&file, "json")] {
        assert_eq!((code, &first(&report)["address"]), (Some(0), &Value::from(1_u64 << 63)));
    }
    for form in ["csv", "perfetto", "svg"] {
        assert_eq!(run("export", &file, &["--to", form]).status.code(), Some(0), "{form}");
    }
    // The viewer counts with 63 bits, so the command writes no file for it.
    let out = scratch("f2.viz");
    let output = run("export", &file, &["--to", "memory-viz", "--out", out.to_str().unwrap()]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("line 1: 512 bytes at 0x8000000000000000"), "{message}");
    assert_eq!((output.status.code(), out.exists()), (Some(2), false));
}

#[test]
fn f2_address_from_2_63_in_a_snapshot() {
    let file = case("F2_address_from_2_63.pickle");
    for (code, report) in [replay(&file, &[]), exported(&file, "json")] {
        let device = &report["devices"][0];
        assert_eq!((code, &first(&report)["address"]), (Some(0), &Value::from(1_u64 << 63)));
        assert_eq!((&device["peak_live"], &device["events"]), (&512.into(), &1.into()));
    }
}

/// Three streams remain three, with and without a sign, in each form that includes streams.
#[test]
fn f2_one_more_streams_from_2_63() {
    let streams = [1_u64 << 63, u64::MAX, 0];
    let line = |(number, stream): (usize, &u64)| {
        format!(
            "{{\"action\":\"alloc\",\"address\":{},\"bytes\":512,\"stream\":{stream}}}\n",
            number * 512
        )
    };
    let text: String = streams.iter().enumerate().map(line).collect();
    let file = written("streams_from_2_63.jsonl", text);
    let forms = [exported(&file, "memory-viz"), exported(&file, "json"), replay(&file, &[])];
    for (code, report) in forms {
        assert_eq!((code, &report["devices"][0]["streams"]), (Some(0), &3.into()));
        let all = report["devices"][0]["largest_at_peak"].as_array().unwrap();
        let mut read: Vec<u64> = all.iter().map(|one| one["stream"].as_u64().unwrap()).collect();
        read.sort_unstable();
        assert_eq!(read, [0, 1 << 63, u64::MAX]);
    }
}

#[test]
fn f4_rmm_0_14() {
    let (code, report) = replay(&case("F4_rmm_0_14.csv"), &[]);
    assert_eq!((code, &report["format"]), (Some(0), &"rmm".into()));
    assert_eq!((&report["events"], &report["devices"][0]["peak_live"]), (&2.into(), &1024.into()));
    assert_eq!(first(&report)["at"]["time"], 60_518_000_001_u64);
}

#[test]
fn f4_rmm_0_13_event_log() {
    let (code, report) = replay(&case("rmm_0_13_csv_log.csv"), &[]);
    assert_eq!((code, &report["format"]), (Some(0), &"rmm".into()));
    let device = &report["devices"][0];
    assert_eq!((&device["peak_live"], &device["buffers"]), (&726_040.into(), &2.into()));
    assert_eq!(device["live_at_end"]["bytes"], 5056);
}

#[test]
fn f4_one_more_columns_of_a_later_version() {
    let text =
        "Stream,Size,Pointer,Host,Action\n0x7,64,0x100,\"a,b\",allocate\n0x7,64,0x100,c,free\n";
    let (code, report) = replay(&written("columns.csv", text), &[]);
    assert_eq!((code, &report["devices"][0]["peak_live"]), (Some(0), &64.into()));
    assert_eq!(first(&report)["stream"], 7);
}

#[test]
fn f8_segments_of_one_pool() {
    let file = case("F8_segments_of_one_pool.pickle");
    let (code, report) = replay(&file, &[]);
    let device = &report["devices"][0];
    assert_eq!((code, &device["peak_live"]), (Some(0), &67_108_864.into()));
    assert!(device["held_by_log"].is_null() && device["curve"]["held_by_log"].is_null());
    let part = &device["held_in_part"];
    assert_eq!((&part["held"], &part["live"]), (&2_097_152.into(), &67_108_864.into()));
    let said = String::from_utf8(run("replay", &file, &[]).stdout).unwrap();
    assert!(said.contains("held 2097152 bytes while 67108864 bytes were live"), "{said}");
    assert!(!said.contains("the log's own  ") && !said.contains("log's own idle"), "{said}");
}

/// The same holds for a log of JSON lines. If no segments are missing, the figure is exact.
#[test]
fn f8_one_more_segments_that_lack_one() {
    let segment = "{\"action\":\"segment_alloc\",\"address\":0,\"bytes\":1024}\n";
    let allocate =
        |address: u64| format!("{{\"action\":\"alloc\",\"address\":{address},\"bytes\":1024}}\n");
    let whole = format!("{segment}{}", allocate(0));
    let part = format!("{whole}{}", allocate(1 << 20));
    let (_, report) = replay(&written("held_whole.jsonl", &whole), &[]);
    let device = &report["devices"][0];
    assert_eq!((&device["held_by_log"], &device["held_in_part"]), (&1024.into(), &Value::Null));
    let (_, report) = replay(&written("held_in_part.jsonl", &part), &[]);
    let device = &report["devices"][0];
    assert!(device["held_by_log"].is_null());
    assert_eq!(device["held_in_part"]["at"]["place"], "line 3");
}

#[test]
fn cupy_hook() {
    let (code, report) = replay(&case("cupy_hook.jsonl"), &[]);
    assert_eq!((code, &report["format"]), (Some(0), &"cupy".into()));
    let device = &report["devices"][0];
    assert_eq!((&device["peak_live"], &device["held_by_log"]), (&24.into(), &512.into()));
}

#[test]
fn cupy_hook_one_more_among_what_the_program_prints() {
    let text = std::fs::read_to_string(case("cupy_hook.jsonl")).unwrap();
    let text = format!("epoch 1\n{}epoch 2: {{\"loss\": 1}}\n", text.replace('\n', "\n\n"));
    let file = written("cupy_mixed.txt", text);
    let (code, report) = replay(&file, &["--from", "cupy"]);
    assert_eq!(
        (code, &report["events"], &report["skipped_lines"]),
        (Some(0), &3.into(), &2.into())
    );
    let said = String::from_utf8(run("replay", &file, &["--from", "cupy"]).stdout).unwrap();
    assert!(said.contains("skipped: 2 lines without an event"), "{said}");
}

#[test]
fn minimalloc_window() {
    let file = case("minimalloc_window.csv");
    let output = solve(&file, &["--json", "--rounds", "1"]);
    assert_eq!(output.status.code(), Some(0));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["peak"], 33);
    assert_eq!(replay(&file, &[]).1["devices"][0]["peak_live"], 33);
}

#[test]
fn minimalloc_one_more_unknown_columns() {
    let text = "id,begin,upper,size,dtype,hint\na,0,4,8,f32,\nb,2,6,8,\"f,16\",\n";
    let output = solve(&written("unknown_columns.csv", text), &["--json", "--rounds", "1"]);
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["peak"], 16, "{plan}");
}

#[test]
fn rmm_spark_mixed() {
    let file = case("rmm_spark_mixed.log");
    let (code, report) = replay(&file, &["--from", "rmm"]);
    assert_eq!(
        (code, &report["events"], &report["skipped_lines"]),
        (Some(0), &2.into(), &1.into())
    );
    assert_eq!(report["devices"][0]["peak_live"], 256);
    assert_eq!(replay(&file, &[]).0, Some(2), "no line is skipped without --from");
}

/// A compressed log or snapshot gives the same report as an uncompressed one.
#[test]
fn compressed_files_replay_alike() {
    for name in ["rmm.csv", "training.pickle", "capture.json", "training.csv"] {
        let out = scratch(&format!("{name}.gz"));
        let file = std::fs::File::create(&out).unwrap();
        let mut gzip = std::process::Command::new("gzip");
        if gzip.arg("-c").arg(data(name)).stdout(file).status().is_err() {
            println!("SKIPPED: gzip is not installed");
            return;
        }
        let (code, mut report) = replay(&out, &[]);
        let (expected_code, mut expected) = replay(&data(name), &[]);
        for one in [&mut report, &mut expected] {
            one["log"] = Value::Null;
        }
        assert_eq!((code, report), (expected_code, expected), "{name}");
    }
}

/// A part of a log has the peak of that part. The peak includes buffers that are live when the part
/// begins.
#[test]
fn parts_of_a_snapshot() {
    let file = data("training.pickle");
    let (_, whole) = replay(&file, &["--allocator", "bump"]);
    let peak = &whole["devices"][0]["peak_live"];
    let around = ["--from-event", "200", "--to-event", "230", "--allocator", "bump"];
    let (code, part) = replay(&file, &around);
    let device = &part["devices"][0];
    assert_eq!((code, &device["peak_live"]), (Some(0), peak));
    assert_eq!(device["peak_at"], whole["devices"][0]["peak_at"]);
    let time = device["peak_at"]["time"].as_i64().unwrap();
    let (from, to) = (time.to_string(), (time + 1).to_string());
    let times = ["--from-time", &from, "--to-time", &to, "--allocator", "bump"];
    assert_eq!(&replay(&file, &times).1["devices"][0]["peak_live"], peak);
    let output = run("replay", &data("capture.json"), &["--from-event", "10", "--rounds", "1"]);
    assert_eq!(output.status.code(), Some(0));
    let lines = written("no_times.jsonl", "{\"action\":\"alloc\",\"bytes\":8}\n");
    let (code, refused) = replay(&lines, &["--from-time", "5"]);
    assert_eq!(code, Some(2));
    assert!(refused["error"].as_str().unwrap().contains("have no times"), "{refused}");
}

/// The nouns in a report agree in number.
#[test]
fn one_of_a_thing_is_no_plural() {
    let file = written("one.jsonl", "{\"action\":\"alloc\",\"bytes\":1}\n");
    let said = String::from_utf8(run("replay", &file, &[]).stdout).unwrap();
    for words in ["1 event, 1 device", "1 event, 1 buffer, 1 stream", "peak: 1 byte live"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(said.contains("never freed: 1 buffer, 1 byte,"), "{said}");
    let plural = |word: &&str| said.contains(&format!(" 1 {word}s"));
    assert!(!["event", "device", "buffer", "stream", "byte"].iter().any(plural));
}

/// Every task refuses a missing file with the same message.
#[test]
fn files_that_do_not_exist() {
    let absent = scratch("absent.log");
    let message = |output: std::process::Output| String::from_utf8(output.stderr).unwrap();
    let expected = message(solve(&absent, &[]));
    assert!(expected.contains(absent.to_str().unwrap()) && expected.contains("No such file"));
    assert_eq!(message(run("replay", &absent, &[])), expected);
    assert_eq!(message(run("export", &absent, &["--to", "json"])), expected);
}
