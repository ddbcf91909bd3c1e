//! Tests text logs and problems: the meaning of each line, and the line of each error.

use super::*;

pub(super) const RMM: &str = "Thread,Time,Action,Pointer,Size,Stream\r\n\
    1,16:48:38.000002,allocate,0x7f00,256,0\r\n\
    1,16:48:38:000003,allocate failure,(nil),18446744073709551615,7f01\r\n\
    Thread,Time,Action,Pointer,Size,Stream\n\n\
    2,00:00:00.999999,free,0X7f00,256,2";

pub(super) const JSON: &str = "{\"action\":\"alloc\",\"address\":64,\"bytes\":512,\"requested\":500,\"device\":1,\
    \"stream\":2,\"time\":-5,\"frames\":[{\"filename\":\"ä.rs\",\"line\":3,\"name\":\"f\"}]}\n\
    {\"action\":\"free\",\"address\":64,\"device\":1}\n{\"action\":\"alloc_failed\",\"bytes\":9}\n";

pub(super) const MINIMALLOC: &str =
    "id,lower,upper,size,offset\na,0,3,8,0\nb,3,5,8,0\nc,1,4,16,8\n";

#[test]
fn rmm_log() {
    let day = |seconds: i64| Some(((16 * 60 + 48) * 60 + 38) * 1_000_000 + seconds);
    let event =
        |action, line, address, bytes| Event::new(action, Place::Line(line), address, bytes);
    let expected = vec![
        Event { time: day(2), ..event(Action::Allocate, 2, 0x7f00, 256) },
        Event { time: day(3), stream: 0x7f01, ..event(Action::Fail, 3, 0, u64::MAX) },
        Event { time: Some(999_999), stream: 2, ..event(Action::Free, 6, 0x7f00, 256) },
    ];
    assert_eq!(events(RMM.as_bytes()), expected);
}

#[test]
fn rmm_errors_name_the_line() {
    let cases = [
        ("1,16:48:38.1,realloc,0x1,1,0", "line 2: Action: \"realloc\" is not one of"),
        ("1,16:48:38.1,free,0x1,18446744073709551616,0", "line 2: Size: \"18446744073709551616\""),
        ("1,16:48:38.1,free,0x1,-1,0", "line 2: Size: \"-1\""),
        ("1,16:48:38.1,free,0x10000000000000000,1,0", "line 2: Pointer: "),
        ("1,16:48:38.1,free,0x+1,1,0", "line 2: Pointer: "),
        ("1,16:48:38.1,free,0x1,1,x", "line 2: Stream: \"x\""),
        ("1,16:48,free,0x1,1,0", "line 2: Time: \"16:48\""),
        ("1,99999999999:1:1.1,free,0x1,1,0", "line 2: Time: "),
        ("1,3709551615:0:0.4,free,0x1,1,0", "line 2: Time: "),
        ("1,4294967295:4294967295:4294967295.4,free,0x1,1,0", "line 2: Time: "),
        ("1,16:48:38.1,free", "line 2: there is no column \"Pointer\""),
        ("1,16:48:38.1,free,0x1,1,0,", "line 2: the line has more fields"),
        ("1,16:48:38.1,free,0x1,\"1", "line 2: there is no column \"Stream\""),
    ];
    for (line, expected) in cases {
        let text = format!("Thread,Time,Action,Pointer,Size,Stream\n{line}\n");
        let message = message(text.as_bytes());
        assert!(message.starts_with(expected), "{line}: {message}");
    }
    let latin = b"Thread,Time,Action,Pointer,Size,Stream\n1,16:48:38.1,fr\xe9e,0x1,1,0\n";
    assert!(message(latin).starts_with("line 2: the line is not UTF-8"));
    let mut long = b"Thread,Time,Action,Pointer,Size,Stream\n".to_vec();
    long.resize(3 << 20, b'1');
    assert_eq!(message(&long), "line 2: the line has more than 1048576 bytes");
}

#[test]
fn json_log() {
    let (events, frames) = events_from(JSON.as_bytes(), None).unwrap();
    let [first, second, third] = events[..] else { panic!("{events:?}") };
    let Event { action, address, bytes, requested, device, stream, time, .. } = first;
    assert_eq!((action, address, bytes, requested), (Action::Allocate, 64, 512, Some(500)));
    assert_eq!((device, stream, time, first.place), (1, 2, Some(-5), Place::Line(1)));
    assert!(frames.frames(first.stack).eq([("ä.rs", 3, "f")]));
    let free = Event::new(Action::Free, Place::Line(2), 64, 0);
    assert_eq!(second, Event { device: 1, ..free });
    assert_eq!(third, Event::new(Action::Fail, Place::Line(3), 0, 9));
    // The output equals the input, except for the lines that number a frame and a stack.
    let mut written = Vec::new();
    let mut writer = JsonWriter::new(&mut written, &frames);
    [first, second, third].iter().for_each(|event| writer.event(event).unwrap());
    writer.end().unwrap();
    let (again, frames) = events_from(&written, None).unwrap();
    assert!(frames.frames(again[0].stack).eq([("ä.rs", 3, "f")]));
    let moved = |event: Event, line| Event { place: Place::Line(line), ..event };
    assert_eq!(again, [moved(first, 3), moved(second, 4), moved(third, 5)]);
}

#[test]
fn json_errors_name_the_line() {
    let cases = [
        ("{\"action\":\"grow\"}", "line 2: column 16: unknown variant `grow`"),
        ("{\"action\":\"free\",\"adress\":1}", "line 2: column 25: unknown field `adress`"),
        ("{\"action\":\"free\",\"bytes\":-1}", "line 2: column 27: invalid value"),
        ("{\"action\":\"free\"", "line 2: column 16: EOF"),
        ("{\"action\":\"free\",\"device\":4294967296}", "line 2: device 4294967296 does not fit"),
        (
            "{\"action\":\"alloc\",\"bytes\":1,\"requested\":2}",
            "line 2: the requested bytes exceed",
        ),
        ("{\"stack\":0,\"of\":[7]}", "line 2: no line above defines frame 7"),
        ("{\"action\":\"free\",\"stack\":9}", "line 2: no line above defines stack 9"),
        ("{\"frame\":18446744073709551616}", "line 2: column 29: "),
        ("{\"frame\":0,\"lines\":1}", "line 2: column 18: unknown field `lines`"),
        (
            "{\"action\":\"free\",\"stack\":9,\"frames\":[{}]}",
            "line 2: the object has both frames and a stack: keep only one of the two",
        ),
    ];
    for (line, expected) in cases {
        let message = message(format!("{{\"action\":\"free\"}}\n{line}").as_bytes());
        assert!(message.starts_with(expected), "{line}: {message}");
    }
    let deep = format!("{}{}", "{\"frames\":".repeat(10_000), "}".repeat(10_000));
    assert!(message(deep.as_bytes()).starts_with("line 1: "));
}

#[test]
fn minimalloc_problem() {
    let told: Vec<_> = events(MINIMALLOC.as_bytes())
        .iter()
        .map(|one| (one.action, one.address, one.time))
        .collect();
    let (allocate, free) = (Action::Allocate, Action::Free);
    let expected = [
        (allocate, 0, Some(0)),
        (allocate, 8, Some(1)),
        (free, 0, Some(3)),
        (allocate, 0, Some(3)),
        (free, 8, Some(4)),
        (free, 0, Some(5)),
    ];
    assert_eq!(told, expected);
    let collision = MINIMALLOC.replace("16,8", "16,4");
    assert!(
        message(collision.as_bytes()).contains("line 4, column 10"),
        "{}",
        message(collision.as_bytes())
    );
    assert_eq!(message(b"hello\n").split(':').next(), Some("the format of the log is unknown"));
}

pub(super) const PROBLEM: &str = r#"{"operations": 9, "edges": [{"from": 2, "to": 1}, {"from": 1, "to": 8, "kind": "programmatic"}],
  "buffers": [{"id": "a", "size": 512, "alignment": 256, "offset": 0, "allocated_by": 2, "freed_by": [2, 1]},
              {"id": "b", "size": 256, "offset": 512, "allocated_by": 1, "freed_by": [8, 1], "role": "pinned"}],
  "capacity": 1024, "streams": [0, 1, 0, 0, 0, 0, 0, 0, 2],
  "callers": [{"filename": "net.rs", "line": 7, "name": "acquire"}, {}]}"#;

#[test]
fn problem_of_a_graph() {
    let (events, frames) = events_from(PROBLEM.as_bytes(), None).unwrap();
    let told = |event: &Event| (event.action, event.place.to_string(), event.address, event.stream);
    let told: Vec<_> = events.iter().map(told).collect();
    let at = |action, place: &str, address, stream| (action, place.to_owned(), address, stream);
    let (allocate, free) = (Action::Allocate, Action::Free);
    let expected = [
        at(Action::Reserve, "the arena of the graph", 0, 0),
        at(allocate, "operation 2", 0, 0),
        at(allocate, "operation 2", 512, 0),
        at(free, "operation 1", 0, 1),
        at(free, "the end of the graph", 512, 1),
    ];
    assert_eq!(told, expected);
    let callers = frames.frames(events[1].stack).collect::<Vec<_>>();
    assert_eq!(callers, [("net.rs", 7, "acquire")]);
    assert_eq!(frames.frames(events[2].stack).count(), 0);
}
