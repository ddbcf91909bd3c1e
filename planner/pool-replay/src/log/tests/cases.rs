//! Tests numbers from 2^63 on, compressed files, archives, and parts of logs.

use std::io::Write as _;

use super::*;
use crate::Replay;

/// Creates a snapshot with one entry, whose keys and integers are given as opcodes.
fn entry(numbers: &[(&str, &[u8])]) -> Vec<u8> {
    let text =
        |text: &str| [&[0x8c, u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    let mut pickle = b"\x80\x04}".to_vec();
    pickle.extend(text("device_traces"));
    pickle.extend(b"]]}(");
    pickle.extend([text("action"), text("alloc")].concat());
    for (key, number) in numbers {
        pickle.extend(text(key));
        pickle.extend(*number);
    }
    pickle.extend(b"uaas.");
    pickle
}

/// An integer of nine bytes, the form in which Python writes integers from 2^63 on.
fn nine(number: u64, last: u8) -> Vec<u8> {
    [&[0x8a, 9][..], &number.to_le_bytes(), &[last]].concat()
}

/// All 64 bits of addresses and streams are preserved.
#[test]
fn numbers_from_2_63_on_are_read() {
    let high = nine(1 << 63, 0);
    let pickle = entry(&[("addr", &high), ("size", b"M\0\x02"), ("stream", &high)]);
    let read = events(&pickle);
    assert_eq!((read[0].address, read[0].bytes, read[0].stream), (1 << 63, 512, 1 << 63));
    // A signed stream denotes the same handle.
    let signed = [&[0x8a, 8][..], &i64::MIN.to_le_bytes()].concat();
    let pickle = entry(&[("addr", b"K\0"), ("size", b"K\x01"), ("stream", &signed)]);
    assert_eq!(events(&pickle)[0].stream, 1 << 63);
}

/// A number that does not fit is an error with its place and its key, and is never treated as
/// missing.
#[test]
fn numbers_that_do_not_fit_are_errors() {
    let (huge, negative) = (nine(0, 1), [&[0x8a, 1][..], &[0xff]].concat());
    let large = nine(1 << 63, 0);
    let float = b"G\0\0\0\0\0\0\0\0";
    let cases: [(&str, &[u8], &str); 9] = [
        ("addr", &huge, "addr is an integer of more than 64 bits"),
        ("size", &huge, "size is an integer of more than 64 bits"),
        ("stream", &huge, "stream is an integer of more than 64 bits"),
        ("time_us", &huge, "time_us is an integer of more than 63 bits"),
        ("time_us", &large, "time_us is an integer of more than 63 bits"),
        ("addr", &negative, "addr is -1, which is negative"),
        ("stream", float, "stream is not an integer"),
        ("time_us", float, "time_us is not an integer"),
        ("size", float, "size is not an integer"),
    ];
    for (key, number, expected) in cases {
        let numbers: [(&str, &[u8]); 4] =
            [("addr", b"K\x08"), ("size", b"K\x08"), ("stream", b"K\0"), (key, number)];
        assert_eq!(message(&entry(&numbers)), format!("device_traces[0][0]: {expected}"));
    }
    assert_eq!(message(&entry(&[("size", b"K\x08")])), "device_traces[0][0]: addr is missing");
    // The line of a frame and a segment are treated in the same way.
    let frame =
        [b"](}(\x8c\x08filename\x8c\x01f\x8c\x04name\x8c\x01g\x8c\x04line", &huge[..], b"ue"];
    let frames = frame.concat();
    let message_of = message(&entry(&[("frames", &frames)]));
    assert!(message_of.ends_with("the line of a frame is an integer of more than 63 bits"));
    let segment = [
        &b"\x80\x04](}(\x8c\x07address"[..],
        &nine(1 << 63, 0),
        b"\x8c\x0atotal_sizeK\x08\x8c\x06stream",
        &huge,
        b"ue.",
    ]
    .concat();
    assert_eq!(message(&segment), "segments[0]: stream is an integer of more than 64 bits");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Creates an archive whose files are stored, or claim to be compressed.
fn archive(files: &[(&str, &[u8])], method: u16) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let offset = u32::try_from(bytes.len()).unwrap();
        let [name_length, length] =
            [name.len(), content.len()].map(|one| u32::try_from(one).unwrap());
        let short = |number: u32| u16::try_from(number).unwrap().to_le_bytes();
        let shared = |to: &mut Vec<u8>| {
            to.extend([&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0; 8]].concat());
            to.extend([length.to_le_bytes(), length.to_le_bytes()].concat());
            to.extend(short(name_length));
        };
        bytes.extend(b"PK\x03\x04");
        shared(&mut bytes);
        // PyTorch pads the header of a file with an extra field, so that tensors are aligned.
        bytes.extend([&short(7)[..], name.as_bytes(), b"FB\x03\0ZZZ", content].concat());
        directory.extend(b"PK\x01\x02\x14\0");
        shared(&mut directory);
        directory.extend([0; 12]);
        directory.extend([&offset.to_le_bytes()[..], name.as_bytes()].concat());
    }
    let [at, size] = [bytes.len(), directory.len()].map(|one| u32::try_from(one).unwrap());
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend([size.to_le_bytes(), at.to_le_bytes()].concat());
    bytes.extend([0, 0]);
    bytes
}

fn opened(bytes: Vec<u8>) -> Result<Vec<Event>, LogError> {
    let mut source = Source::new(Cursor::new(bytes))?;
    let format = Format::of(&mut source)?;
    let mut events = Vec::new();
    let whole = Selection::default();
    read(&mut source, format, &whole, &mut Frames::new(), &mut |event| events.push(event))?;
    Ok(events)
}

#[test]
fn compressed_files() {
    for (format, sample) in samples() {
        let expected = events_from(&sample, Some(format)).unwrap().0;
        assert_eq!(opened(sample.clone()).unwrap(), expected, "{format:?}");
        assert_eq!(opened(gzip(&sample)).unwrap(), expected, "{format:?}, compressed");
        // Two consecutive gzip members form a single file.
        let (first, second) = sample.split_at(sample.len() / 2);
        let both = [gzip(first), gzip(second)].concat();
        assert_eq!(opened(both).unwrap(), expected, "{format:?}, in two members");
        let cut = gzip(&sample);
        // The pickle ends before the checksum.
        let all = if format == Format::Pytorch { cut.len() / 2 } else { cut.len() };
        for length in 2..all {
            assert!(opened(cut[..length].to_vec()).is_err(), "{format:?}, {length} bytes");
        }
    }
}

#[test]
fn archives_of_torch_save() {
    let expected = events(&snapshot());
    let (data, version) = (snapshot(), b"3\n");
    let files: [(&str, &[u8]); 2] = [("snap/data.pkl", &data), ("snap/version", version)];
    let saved = archive(&files, 0);
    assert_eq!(opened(saved.clone()).unwrap(), expected);
    let report = Replay::default().read("saved", &mut Source::new(Cursor::new(&saved)).unwrap());
    assert_eq!(report.unwrap().format, Format::Pytorch);
    for length in 4..saved.len() {
        assert!(opened(saved[..length].to_vec()).is_err(), "{length} bytes");
    }
    let message = |bytes| opened(bytes).unwrap_err().to_string();
    assert!(
        message(archive(&[("a.txt", version)], 0)).contains("no data.pkl of torch.save, but a.txt")
    );
    assert!(message(archive(&files, 8)).contains("data.pkl is compressed"));
    // Before `torch.save` used archives, it wrote three pickles of its own before the data.
    let magic = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let legacy = [&magic[..], b"\x80\x02M\xe9\x03.", b"\x80\x02}q\0.", &data].concat();
    assert_eq!(opened(legacy).unwrap(), expected);
}

/// The owner of a buffer is a line in a program. If there is none, the owner is an operator, or
/// else the innermost frame.
#[test]
fn owners_of_buffers() {
    let owner = |frames: &[(&str, i64, &str)]| {
        let mut all = Frames::new();
        let frame = |&(file, line, name): &(&str, i64, &str)| {
            format!("{{\"filename\":\"{file}\",\"line\":{line},\"name\":\"{name}\"}}")
        };
        let text = frames.iter().map(frame).collect::<Vec<_>>().join(",");
        let text = format!("{{\"action\":\"alloc\",\"bytes\":8,\"frames\":[{text}]}}");
        let mut source = Cursor::new(text.as_bytes());
        let mut stack = Stack::default();
        let whole = Selection::default();
        read(&mut source, Format::Json, &whole, &mut all, &mut |event| stack = event.stack)
            .unwrap();
        all.owner(stack).map(|(_, _, name)| name.to_owned())
    };
    let unwind = ("??", 0, "torch::unwind::unwind()");
    let operator = ("??", 0, "at::_ops::neg::call(at::Tensor const&)");
    let line = ("net.py", 3, "forward");
    assert_eq!(owner(&[unwind, operator, line]).unwrap(), "forward");
    assert_eq!(owner(&[unwind, operator, unwind]).unwrap(), operator.2);
    assert_eq!(owner(&[unwind]).unwrap(), unwind.2);
    assert_eq!(owner(&[]), None);
}

/// Returns the events of a part, and the buffers that are live when the part begins.
fn part(text: &str, selection: &Selection) -> Vec<(Action, Place, u64)> {
    let mut events = Vec::new();
    let mut source = Cursor::new(text.as_bytes());
    read(&mut source, Format::Json, selection, &mut Frames::new(), &mut |event| {
        events.push((event.action, event.place, event.address));
    })
    .unwrap();
    events
}

/// Parts of a log are compared with a naive reader of the whole log. At the end of each part, the
/// live buffers must be the same.
#[test]
fn parts_of_a_log() {
    let mut text = String::new();
    let (mut live, mut states) = (Vec::<u64>::new(), vec![Vec::new()]);
    for number in 0..60_u64 {
        if number % 3 == 2 {
            let address = live.remove(usize::try_from(number * 7).unwrap() % live.len());
            text += &format!(
                "{{\"action\":\"free\",\"address\":{address},\"time\":{}}}\n",
                number * 10
            );
        } else {
            live.push(number * 64);
            let address = number * 64;
            text += &format!(
                "{{\"action\":\"alloc\",\"address\":{address},\"bytes\":64,\"time\":{}}}\n",
                number * 10
            );
        }
        states.push(live.clone());
    }
    for (from, to) in [(0, 60), (0, 1), (7, 8), (20, 45), (59, 60), (3, 1000)] {
        let by_number = Selection { events: from..to, ..Selection::default() };
        let i64 = |number: u64| i64::try_from(number).unwrap();
        let by_time = Selection { times: i64(from * 10)..i64(to * 10), ..Selection::default() };
        let events = part(&text, &by_number);
        assert_eq!(events, part(&text, &by_time), "{from}..{to}");
        let mut live: Vec<u64> = Vec::new();
        for (action, place, address) in &events {
            if *place == Place::Before {
                assert!(states[usize::try_from(from).unwrap()].contains(address));
            }
            match action {
                Action::Allocate => live.push(*address),
                _ => live.retain(|one| one != address),
            }
        }
        let mut expected = states[usize::try_from(to.min(60)).unwrap()].clone();
        live.sort_unstable();
        expected.sort_unstable();
        assert_eq!(live, expected, "{from}..{to}");
        let recorded = events.iter().filter(|(_, place, _)| *place != Place::Before).count();
        assert_eq!(recorded as u64, to.min(60) - from);
    }
    assert!(part(&text, &Selection { events: 70..80, ..Selection::default() }).is_empty());
    let without = "{\"action\":\"alloc\",\"bytes\":8}\n";
    let selection = Selection { times: 5..9, ..Selection::default() };
    let mut source = Cursor::new(without.as_bytes());
    let outcome = read(&mut source, Format::Json, &selection, &mut Frames::new(), &mut |_| {});
    assert!(matches!(outcome, Err(LogError::NoTimes)), "{outcome:?}");
}
