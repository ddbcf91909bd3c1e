//! Reads unusual but valid logs, and refuses logs that cannot be right with a typed error. There is
//! one test for each kind of file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command::{scratch, solve};
use super::replay::{replay, run};

/// The forms in which a log with any number of events can be exported.
const FORMS: [&str; 6] = ["html", "memory-viz", "perfetto", "csv", "json", "svg"];

fn written(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let file = scratch(name);
    std::fs::write(&file, bytes).unwrap();
    file
}

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Returns the parts of a report that do not depend on the name of the file and its line ends.
fn essence(file: &Path) -> (Option<i32>, Value) {
    let (code, mut report) = replay(file, &[]);
    report["log"] = Value::Null;
    (code, report)
}

/// Returns the exit code, and the text on both outputs.
fn said(task: &str, file: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(task, file, arguments);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(!text.contains("panicked"), "{task}: {text}");
    (output.status.code(), text)
}

const RMM: [&str; 6] = [
    "Thread,Time,Action,Pointer,Size,Stream",
    "1,10:00:00.000001,allocate,0x1000,256,0",
    "1,10:00:00.000002,allocate,0x2000,512,0",
    "",
    "1,10:00:00.000003,free,0x1000,256,0",
    "1,10:00:00.000004,allocate failure,0x0,99999,0",
];
const JSON: [&str; 4] = [
    r#"{"action":"alloc","address":4096,"bytes":256,"frames":[{"filename":"a.rs","line":1,"name":"f"}]}"#,
    "",
    r#"{"action":"alloc","address":8192,"bytes":512}"#,
    r#"{"action":"free","address":4096}"#,
];
const BUFFERS: [&str; 4] =
    ["id,lower,upper,size,gaps", "a,0,9,256,2-3", "\"b, \"\"c\"\"\",1,5,512,", "d,5,9,128,"];

/// Each file yields the same report, whatever ends its lines. Line ends may differ within a file.
#[test]
fn mixed_line_ends() {
    for (name, lines) in
        [("mixed.csv", &RMM[..]), ("mixed.jsonl", &JSON), ("mixed_b.csv", &BUFFERS)]
    {
        let expected = essence(&written(name, lines.join("\n")));
        assert_eq!(expected.0, Some(0), "{name}: {}", expected.1);
        for ends in [["\r\n", "\n", "\r"], ["\r", "\r", "\r\n"], ["\n", "\r\n", "\n"]] {
            let text: String = lines
                .iter()
                .zip(ends.iter().cycle())
                .map(|(line, end)| format!("{line}{end}"))
                .collect();
            assert_eq!(essence(&written(name, text)), expected, "{name}, {ends:?}");
        }
    }
    // The number of a line counts all kinds of line ends.
    let text = format!("{}\r\n{}\r{}\nwrong\n", RMM[0], RMM[1], RMM[2]);
    let (code, text) = said("replay", &written("mixed_wrong.csv", text), &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("line 4: "), "{text}");
}

#[test]
fn a_byte_order_mark() {
    let graph = r#"{"operations":2,"edges":[],"buffers":[{"id":"a","size":8,"allocated_by":0,"freed_by":[1]}]}"#;
    let files = [
        ("mark.csv", RMM.join("\n")),
        ("mark.jsonl", JSON.join("\n")),
        ("mark_b.csv", BUFFERS.join("\n")),
        ("mark.json", graph.to_owned()),
        ("mark_cupy.jsonl", std::fs::read_to_string(case("cupy_hook.jsonl")).unwrap()),
    ];
    for (name, text) in files {
        let expected = essence(&written(name, &text));
        assert_eq!(essence(&written(name, format!("\u{feff}{text}"))), expected, "{name}");
    }
    // A mark of UTF-16 is refused with a hint.
    let utf16: Vec<u8> =
        "\u{feff}id,lower,upper,size\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (code, text) = said("replay", &written("utf16.csv", utf16), &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("convert the file to UTF-8"), "{text}");
}

#[test]
fn quoted_commas() {
    let header = "\"Thread\",\"Time\",\"Action\",\"Pointer\",\"Size\",\"Stream\",\"Note\"";
    let rows = [
        header,
        "\"1\",\"10:00:00.000001\",\"allocate\",\"0x1000\",\"256\",\"0\",\"a, b\"",
        "1,10:00:00.000002,free,0x1000,256,0,\"say \"\"c, d\"\"\"",
    ];
    let (code, report) = replay(&written("quoted.csv", rows.join("\n")), &[]);
    assert_eq!((code, report["format"].as_str()), (Some(0), Some("rmm")), "{report}");
    let device = &report["devices"][0];
    assert_eq!((&device["peak_live"], &device["buffers"]), (&256.into(), &1.into()));
    let out = scratch("quoted_out.csv");
    let file = written("quoted_b.csv", BUFFERS.join("\n"));
    let output = solve(&file, &["--rounds", "0", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.contains("\"b, \"\"c\"\"\",1,5,512"), "{text}");
    assert_eq!(replay(&out, &[]).0, Some(0));
}

/// The extremes of all numbers are read, and every form either contains them or refuses them.
#[test]
fn extreme_numbers() {
    let most = u64::MAX;
    let lines = [
        format!(
            "{{\"action\":\"alloc\",\"address\":0,\"bytes\":{},\"requested\":1,\"stream\":{most},\"time\":{}}}",
            1_u64 << 63,
            i64::MIN
        ),
        format!(
            "{{\"action\":\"alloc\",\"address\":{},\"bytes\":1,\"device\":{}}}",
            most - 1,
            u32::MAX
        ),
        format!("{{\"action\":\"alloc_failed\",\"bytes\":{most},\"time\":{}}}", i64::MAX),
        format!("{{\"action\":\"alloc\",\"address\":{most},\"bytes\":0,\"time\":{}}}", i64::MAX),
        format!("{{\"action\":\"segment_alloc\",\"address\":{most},\"bytes\":{most},\"time\":0}}"),
        format!(
            "{{\"action\":\"segment_alloc\",\"address\":{most},\"bytes\":{most},\"pool\":[{most},{most}]}}"
        ),
        format!("{{\"action\":\"free\",\"address\":0,\"time\":{}}}", i64::MIN),
    ];
    let file = written("extreme.jsonl", lines.join("\n"));
    let (code, report) = replay(&file, &[]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["devices"][0]["peak_live"], Value::from(1));
    assert_eq!(report["devices"][0]["failures"][0]["bytes"], Value::from(most));
    assert_eq!(report["devices"][1]["device"], Value::from(u32::MAX));
    for form in FORMS {
        let (code, text) = said("export", &file, &["--to", form]);
        let is_refused = code == Some(2) && text.contains("error");
        assert!(code == Some(0) || is_refused, "{form}: {code:?} {}", &text[..text.len().min(300)]);
    }
    let part = ["--from-time", "-9223372036854775808", "--to-time", "9223372036854775807"];
    assert_eq!(said("replay", &file, &part).0, Some(0));
    // One more is an error with its position.
    for (key, number) in [
        ("bytes", "18446744073709551616"),
        ("time", "9223372036854775808"),
        ("device", "4294967296"),
    ] {
        let text = format!("{{\"action\":\"free\",\"{key}\":{number}}}");
        let (code, text) = said("replay", &written("extreme_one.jsonl", text), &[]);
        assert_eq!(code, Some(2), "{key}: {text}");
        assert!(text.contains("line 1: "), "{key}: {text}");
    }
    let rmm =
        format!("{}\n1,23:59:59.999999,allocate,0xffffffffffffffff,0,ffffffffffffffff\n", RMM[0]);
    assert_eq!(replay(&written("extreme.csv", rmm), &[]).0, Some(0));
    let buffers = format!("id,lower,upper,size\na,{},{},9223372036854775807\n", i64::MIN, i64::MAX);
    let file = written("extreme_b.csv", buffers);
    assert_eq!(replay(&file, &[]).0, Some(0));
    for form in FORMS {
        let (code, text) = said("export", &file, &["--to", form]);
        assert!(matches!(code, Some(0 | 2)), "{form}: {code:?} {}", &text[..text.len().min(300)]);
    }
}

/// A log without events is read, and exported in each form that allows it.
#[test]
fn no_events() {
    let files = [
        ("no_events.csv", RMM[0].as_bytes()),
        ("no_traces.pickle", b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces](]]e\x8c\x01xNu."),
        ("no_devices.pickle", b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces]u."),
        ("no_segments.pickle", b"\x80\x04]."),
    ];
    for (name, bytes) in files {
        let file = written(name, bytes);
        let (code, report) = replay(&file, &[]);
        assert_eq!((code, report["events"].as_u64()), (Some(0), Some(0)), "{name}: {report}");
        assert_eq!(said("replay", &file, &[]).0, Some(0), "{name}");
        for form in FORMS {
            let (code, text) = said("export", &file, &["--to", form]);
            assert!(matches!(code, Some(0 | 2)), "{name} as {form}: {code:?} {text}");
        }
    }
}

/// In a snapshot, the freed buffers were live before the trace. In other logs, each free of an
/// unknown buffer is an impossible event.
#[test]
fn only_frees() {
    let text: String =
        (1..100).map(|at| format!("{{\"action\":\"free\",\"address\":{}}}\n", at * 16)).collect();
    let file = written("frees.jsonl", text);
    let (code, report) = replay(&file, &[]);
    let device = &report["devices"][0];
    assert_eq!((code, &device["fault_count"]), (Some(3), &99.into()));
    assert_eq!((&device["peak_live"], &device["buffers"]), (&0.into(), &0.into()));
    assert_eq!(said("export", &file, &["--to", "json"]).0, Some(3));
    let mut pickle = b"\x80\x04}\x8c\x0ddevice_traces]](".to_vec();
    for at in 1..100_u8 {
        pickle.extend(b"}(\x8c\x06action\x8c\x0efree_completed\x8c\x04addrM");
        pickle.extend([at, 1]);
        pickle.extend(b"\x8c\x04sizeK\x01u");
    }
    pickle.extend(b"eas.");
    let (code, report) = replay(&written("frees.pickle", pickle), &[]);
    let device = &report["devices"][0];
    assert_eq!((code, &device["fault_count"]), (Some(0), &0.into()), "{report}");
    assert_eq!((&device["peak_live"], &device["buffers"]), (&99.into(), &99.into()));
}

/// Repeated lines are impossible events that name the first of them, and a repeated header is not
/// an event.
#[test]
fn duplicates() {
    let file = written("twice.csv", [RMM[0], RMM[0], RMM[1], RMM[1], RMM[4], RMM[4]].join("\n"));
    let (code, report) = replay(&file, &[]);
    let faults = report["devices"][0]["faults"].as_array().unwrap();
    let messages: Vec<&str> = faults.iter().map(|one| one["message"].as_str().unwrap()).collect();
    assert_eq!((code, report["events"].as_u64(), messages.len()), (Some(3), Some(4), 2));
    assert!(messages[0].contains("line 3"), "{messages:?}");
    assert_eq!(faults[1]["at"]["place"], "line 6");
    // A segment that occurs twice would be counted twice.
    let segment = b"}(\x8c\x07addressK\0\x8c\x0atotal_sizeK\x08u";
    let pickle = [&b"\x80\x04]("[..], segment, segment, b"e."].concat();
    let (code, text) = said("replay", &written("twice.pickle", pickle), &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("segments[1]: "), "{text}");
}

/// Returns bytes as a gzip file, whose blocks are stored without compression.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let blocks = bytes.chunks(40_000);
    let last = blocks.len() - 1;
    for (at, block) in blocks.enumerate() {
        let length = u16::try_from(block.len()).unwrap();
        file.push(u8::from(at == last));
        file.extend([length.to_le_bytes(), (!length).to_le_bytes()].concat());
        file.extend(block);
    }
    let crc = bytes.iter().fold(!0_u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    });
    file.extend((!crc).to_le_bytes());
    file.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
    file
}

/// A compressed file that ends too early is an error, and never a shorter log.
#[test]
fn a_truncated_compressed_file() {
    let whole = scratch("cut.jsonl.gz");
    let lines: String = (0..5000)
        .map(|at| format!("{{\"action\":\"alloc\",\"address\":{},\"bytes\":16}}\n", at * 16))
        .collect();
    let bytes = gzip(lines.as_bytes());
    std::fs::write(&whole, &bytes).unwrap();
    assert_eq!(replay(&whole, &[]).1["events"].as_u64(), Some(5000));
    for length in [1, 2, 9, 10, 11, bytes.len() / 2, bytes.len() - 8, bytes.len() - 1] {
        let file = written("cut.gz", &bytes[..length]);
        for task in [&["replay"][..], &["export", "--to", "json"]] {
            let (code, text) = said(task[0], &file, &task[1..]);
            assert_eq!(code, Some(2), "{task:?}, {length} bytes: {text}");
            assert!(text.contains("error"), "{text}");
        }
    }
}

/// Python's pickles of the oldest and the newest supported protocol contain the same snapshot, with
/// a private pool.
#[test]
fn protocols_2_and_5() {
    let reports =
        [2, 5].map(|protocol| essence(&case(&format!("pools_protocol_{protocol}.pickle"))));
    assert_eq!(reports[0], reports[1]);
    let (code, report) = &reports[0];
    assert_eq!(*code, Some(0));
    let device = &report["devices"][0];
    assert_eq!(device["held_by_log"].as_u64(), Some(4 << 20));
    let expected = serde_json::json!([
        {"pool": [0, 0], "buffers": 2, "peak_live": 2548, "held": [["caching", 2 << 20], ["expandable", 2 << 20]]},
        {"pool": [0, 1], "buffers": 2, "peak_live": 5096, "held": [["caching", 2 << 20], ["expandable", 2 << 20]]},
    ]);
    assert_eq!(device["pools"], expected);
    let (_, text) = said("replay", &case("pools_protocol_5.pickle"), &[]);
    assert!(text.contains("held by caching") && text.contains("(0, 1)"), "{text}");
}

/// A private pool in JSON lines, which is released before its last buffer is freed. Exports that
/// contain pools preserve them.
#[test]
fn private_pools_in_json_lines() {
    let lines = [
        r#"{"action":"alloc","address":0,"bytes":1000}"#,
        r#"{"action":"alloc","address":4194304,"bytes":1000,"pool":[0,1],"stream":3}"#,
        r#"{"action":"alloc","address":8388608,"bytes":3000000,"pool":[0,1],"stream":3}"#,
        r#"{"action":"pool_free","pool":[0,1]}"#,
        r#"{"action":"free","address":8388608}"#,
        r#"{"action":"free","address":4194304}"#,
        r#"{"action":"alloc","address":16777216,"bytes":25000000}"#,
    ];
    let file = written("pools.jsonl", lines.join("\n"));
    // Without the release of the pool, the last buffer would not fit.
    let (code, report) = replay(&file, &["--capacity", "30000000", "--allocator", "caching"]);
    assert_eq!(code, Some(0), "{report}");
    let report = replay(&file, &[]).1;
    let device = &report["devices"][0];
    assert_eq!(device["pools"][1]["peak_live"].as_u64(), Some(3_001_000));
    assert_eq!(device["pools"][1]["held"][0][1].as_u64(), Some(22 << 20));
    let kept = lines.iter().filter(|line| !line.contains("pool_free")).copied();
    let kept = written("pools_kept.jsonl", kept.collect::<Vec<_>>().join("\n"));
    let (code, report) = replay(&kept, &["--capacity", "30000000", "--allocator", "caching"]);
    assert_eq!(code, Some(1), "{report}");
    for form in ["json", "memory-viz"] {
        let out = scratch(&format!("pools.{form}"));
        let (code, text) = said("export", &file, &["--to", form, "--out", out.to_str().unwrap()]);
        assert_eq!(code, Some(0), "{text}");
        let (code, again) = replay(&out, &[]);
        assert_eq!((code, &again["devices"][0]["pools"]), (Some(0), &device["pools"]), "{form}");
    }
    for (line, expected) in [
        (r#"{"action":"pool_free"}"#, "pool_free must name a private pool"),
        (r#"{"action":"pool_free","pool":[0,0]}"#, "pool_free must name a private pool"),
        (r#"{"action":"alloc","pool":[1]}"#, "invalid length 1"),
        (r#"{"action":"alloc","pool":5}"#, "invalid type"),
    ] {
        let (code, text) = said("replay", &written("pools_bad.jsonl", line), &[]);
        assert_eq!(code, Some(2), "{line}");
        assert!(text.contains("line 1: ") && text.contains(expected), "{line}: {text}");
    }
}

/// A plan for several memories is replayed with one device for each memory. A memory without bytes
/// holds only buffers without bytes.
#[test]
fn several_memories_and_no_capacity() {
    let problem = r#"{"memories": [{"name": "none", "capacity": 0}, {"name": "sram", "capacity": 64}, {"name": "psram", "traffic_cost": 10}],
        "buffers": [{"id": "a", "lower": 0, "upper": 4, "size": 96},
                    {"id": "b", "lower": 0, "upper": 2, "size": 64},
                    {"id": "c", "lower": 2, "upper": 4, "size": 64},
                    {"id": "d", "lower": 0, "upper": 4, "size": 0, "memories": ["none"]}]}"#;
    let file = written("several.json", problem);
    let (code, text) = said("replay", &file, &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("buffer a: the buffer may be placed in any of 3 memories"), "{text}");
    let plan = scratch("several_plan.json");
    let output = solve(&file, &["--rounds", "4", "--out", plan.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let (code, report) = replay(&plan, &[]);
    assert_eq!(code, Some(0), "{report}");
    let peaks: Vec<_> = report["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["device"].as_u64(), one["peak_live"].as_u64()))
        .collect();
    assert_eq!(peaks, [(Some(1), Some(64)), (Some(2), Some(96))]);
    for form in FORMS {
        let (code, text) = said("export", &plan, &["--to", form, "--device", "1"]);
        assert!(matches!(code, Some(0 | 2)), "{form}: {text}");
    }
    // A buffer that fits nowhere is refused with the numbers.
    let full = problem.replace("\"size\": 0", "\"size\": 1");
    let output = solve(&written("several_full.json", full), &["--rounds", "1", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
}
