//! Checks the output of `export --to perfetto` against the specification of the Trace Event Format.
//! Each phase contains its required fields, with the right types, and no others. This check shares
//! no code with the writer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::command::{data, scratch};
use super::replay::{replay, run};

/// The largest integer that is exact in the viewers, which use JavaScript numbers.
const EXACT: u64 = 1 << 53;

/// The type of a field.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Number,
    Object,
}

/// The fields of a phase: complete events, counters or metadata.
fn fields(phase: &str) -> Option<&'static [(&'static str, Kind)]> {
    use Kind::{Number, Object, Text};
    Some(match phase {
        "X" => &[
            ("name", Text),
            ("cat", Text),
            ("ph", Text),
            ("ts", Number),
            ("dur", Number),
            ("pid", Number),
            ("tid", Number),
            ("args", Object),
        ],
        // A complete event may refer to a stack, see `check_stacks`.
        "C" => &[("name", Text), ("ph", Text), ("ts", Number), ("pid", Number), ("args", Object)],
        "M" => &[("name", Text), ("ph", Text), ("pid", Number), ("args", Object)],
        _ => return None,
    })
}

fn has(event: &Map<String, Value>, field: &str, kind: Kind) -> bool {
    match (kind, event.get(field)) {
        (Kind::Text, Some(Value::String(_))) | (Kind::Object, Some(Value::Object(_))) => true,
        (Kind::Number, Some(number)) => number.as_u64().is_some_and(|number| number <= EXACT),
        _ => false,
    }
}

/// The only key in the arguments of a metadata event. Metadata of a thread contains the number of
/// the thread in addition to the number of the process.
fn metadata(name: &str) -> Option<(&'static str, Kind, bool)> {
    Some(match name {
        "process_name" => ("name", Kind::Text, false),
        "thread_name" => ("name", Kind::Text, true),
        _ => return None,
    })
}

/// The events of a trace, each with its phase.
type Events = Vec<(String, Map<String, Value>)>;

/// Returns the events of a trace that conforms to the specification, or the first mistake.
fn events(trace: &Value) -> Result<Events, String> {
    let trace = trace.as_object().ok_or("the trace is not an object")?;
    let unit = trace.get("displayTimeUnit").and_then(Value::as_str);
    if !matches!(unit, Some("ms" | "ns")) {
        return Err(format!("displayTimeUnit {unit:?}"));
    }
    let mut all = Events::new();
    for event in trace.get("traceEvents").and_then(Value::as_array).ok_or("no traceEvents")? {
        let wrong = |what: &str| Err(format!("{what}: {event}"));
        let Some(event) = event.as_object() else { return wrong("not an object") };
        let phase = event.get("ph").and_then(Value::as_str).unwrap_or_default();
        let Some(needed) = fields(phase) else { return wrong("phase") };
        let mut allowed: BTreeSet<&str> = needed.iter().map(|&(field, _)| field).collect();
        if let Some((field, kind)) = needed.iter().find(|(field, kind)| !has(event, field, *kind)) {
            return wrong(&format!("{field} is not a {kind:?}"));
        }
        let args = event["args"].as_object().ok_or("no args")?;
        match phase {
            "C" if args.is_empty() || !args.keys().all(|key| has(args, key, Kind::Number)) => {
                return wrong("a series of the counter");
            }
            "M" => {
                let name = event["name"].as_str().unwrap_or_default();
                let Some((key, kind, of_thread)) = metadata(name) else { return wrong("metadata") };
                if args.len() != 1 || !has(args, key, kind) {
                    return wrong("metadata's args");
                }
                if of_thread {
                    allowed.insert("tid");
                }
                if of_thread != has(event, "tid", Kind::Number) {
                    return wrong("metadata's tid");
                }
            }
            "X" if event.contains_key("sf") => {
                allowed.insert("sf");
                check_stack(trace, &event["sf"])?;
            }
            _ => {}
        }
        if let Some(key) = event.keys().find(|key| !allowed.contains(key.as_str())) {
            return wrong(&format!("the phase does not have a field {key:?}"));
        }
        all.push((phase.to_owned(), event.clone()));
    }
    Ok(all)
}

/// A stack refers to a frame of `stackFrames`. Each frame refers to its caller, except the
/// outermost one.
fn check_stack(trace: &Map<String, Value>, number: &Value) -> Result<(), String> {
    let frames = trace.get("stackFrames").and_then(Value::as_object).ok_or("no stackFrames")?;
    let mut number = number.to_string();
    for _ in 0..=frames.len() {
        let frame = frames.get(&number).and_then(Value::as_object);
        let frame = frame.filter(|frame| frame.get("name").is_some_and(Value::is_string));
        let frame = frame.ok_or_else(|| format!("stack frame {number} is missing"))?;
        match frame.get("parent") {
            None => return Ok(()),
            Some(Value::String(parent)) => parent.clone_into(&mut number),
            Some(other) => return Err(format!("the stack frame has the invalid parent {other}")),
        }
    }
    Err("the stack frames form a cycle".to_owned())
}

fn number(event: &Map<String, Value>, key: &str) -> u64 {
    event[key].as_u64().unwrap()
}

/// Complete events of one thread are nested or disjoint. Each thread and process with events has a
/// name, and the name of a thread contains the stream of its buffers.
fn check_tracks(events: &Events) {
    let mut tracks: HashMap<(u64, u64), Vec<(u64, u64)>> = HashMap::new();
    let (mut named, mut streams) = (BTreeSet::new(), HashMap::new());
    for (phase, event) in events {
        let pid = number(event, "pid");
        match (phase.as_str(), event["name"].as_str().unwrap()) {
            ("M", "thread_name") => {
                let thread = (pid, number(event, "tid"));
                assert!(named.insert(thread));
                streams.insert(thread, event["args"]["name"].as_str().unwrap().to_owned());
            }
            ("M", "process_name") => assert!(named.insert((pid, 0))),
            ("X", _) => {
                let (tid, ts) = (number(event, "tid"), number(event, "ts"));
                assert!(named.contains(&(pid, 0)) && named.contains(&(pid, tid)), "{event:?}");
                let stream = format!("stream {},", event["args"]["stream"].as_str().unwrap());
                assert!(streams[&(pid, tid)].starts_with(&stream), "{event:?}");
                tracks.entry((pid, tid)).or_default().push((ts, ts + number(event, "dur")));
            }
            _ => {}
        }
    }
    for spans in tracks.values_mut() {
        spans.sort_unstable_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
        let mut open: Vec<u64> = Vec::new();
        for &mut (start, end) in spans {
            while open.last().is_some_and(|&until| until <= start) {
                open.pop();
            }
            assert!(open.last().is_none_or(|&until| end <= until), "{start} to {end} crosses");
            open.push(end);
        }
    }
}

/// Returns the maximum of each counter of each process. The times of a counter must never decrease.
fn most(events: &Events) -> BTreeMap<(u64, String), u64> {
    let mut most: BTreeMap<(u64, String), (u64, u64)> = BTreeMap::new();
    for (_, event) in events.iter().filter(|(phase, _)| phase == "C") {
        let name = event["name"].as_str().unwrap().to_owned();
        let known = most.entry((number(event, "pid"), name)).or_default();
        assert!(number(event, "ts") >= known.0, "{event:?} goes back");
        *known = (number(event, "ts"), known.1.max(event["args"]["bytes"].as_u64().unwrap()));
    }
    most.into_iter().map(|(counter, (_, bytes))| (counter, bytes)).collect()
}

#[test]
fn perfetto_files_are_of_the_trace_event_format() {
    let devices = scratch("trace-devices.jsonl");
    let line = |device: u32, address: u64, stream: u64| {
        format!(
            "{{\"action\":\"alloc\",\"address\":{address},\"bytes\":{},\"device\":{device},\"stream\":{stream}}}\n",
            1_u64 << 52
        )
    };
    // There are two devices with distant numbers, a stream and an address that JavaScript numbers
    // cannot represent exactly.
    std::fs::write(&devices, line(0, u64::MAX >> 1, u64::MAX) + &line(u32::MAX, 0, 1)).unwrap();
    let names = [
        "training.pickle",
        "torch_cpu.pickle",
        "rmm.csv",
        "capture.json",
        "A.1048576.csv",
        "resnet50.csv",
    ];
    for file in names.map(data).into_iter().chain([devices]) {
        let output = run("export", &file, &["--to", "perfetto"]);
        let trace = serde_json::from_slice(&output.stdout).unwrap();
        let events = events(&trace).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        check_tracks(&events);
        let (_, report) = replay(&file, &["--allocator", "bump"]);
        let devices = report["devices"].as_array().unwrap();
        let spans = events.iter().filter(|(phase, _)| phase == "X").count() as u64;
        let buffers = devices.iter().map(|device| device["buffers"].as_u64().unwrap());
        assert_eq!(spans, buffers.sum::<u64>());
        let live: Vec<u64> = most(&events)
            .into_iter()
            .filter_map(|((_, name), bytes)| (name == "live").then_some(bytes))
            .collect();
        let peaks = devices.iter().map(|device| device["peak_live"].as_u64().unwrap());
        assert_eq!(live, peaks.collect::<Vec<_>>(), "{}", file.display());
    }
}

/// The check can fail.
#[test]
fn traces_of_another_form_are_noticed() {
    let output = run("export", &data("training.pickle"), &["--to", "perfetto"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for (from, to) in [
        ("\"ph\":\"X\"", "\"ph\":\"Y\""),
        ("\"dur\":", "\"duration\":"),
        ("\"ts\":", "\"ts\":-"),
        ("\"displayTimeUnit\":\"ms\"", "\"displayTimeUnit\":\"us\""),
        ("\"process_name\"", "\"process\""),
        ("\"bytes\":", "\"bytes\":1.5,\"was\":"),
        ("\"stackFrames\":{", "\"stackFrames\":{}, \"was\":{"),
    ] {
        let trace = serde_json::from_str(&text.replacen(from, to, 400)).unwrap();
        assert!(text.contains(from) && events(&trace).is_err(), "{from}");
    }
}
