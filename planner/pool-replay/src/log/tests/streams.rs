//! Compares snapshots whose entries are passed on one by one with the same snapshots whose entries
//! are stored, and tests the private pools of snapshots.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::sample::select;

use super::super::snapshot;
use super::pickles::Pickler;
use super::*;

/// An event, and the frames of its stack.
type Named = (Event, Vec<String>);
type Outcome = Result<Vec<Named>, String>;
type Read = fn(&mut Cursor<Vec<u8>>, &mut Frames, &mut dyn FnMut(Event)) -> Result<(), LogError>;

/// Returns the events of a snapshot with their frames, or the error.
fn outcome(bytes: &[u8], read: Read) -> Outcome {
    let (mut events, mut frames) = (Vec::new(), Frames::new());
    let done = read(&mut Cursor::new(bytes.to_vec()), &mut frames, &mut |event| events.push(event));
    done.map_err(|error| pool_plan::error_chain(&error))?;
    let named = |event: Event| {
        let stack = frames.frames(event.stack).map(|frame| format!("{frame:?}")).collect();
        // The numbers of stacks depend on the order in which they are first used.
        (Event { stack: Stack::default(), ..event }, stack)
    };
    Ok(events.into_iter().map(named).collect())
}

fn both(bytes: &[u8]) -> (Outcome, Outcome) {
    let streamed = outcome(bytes, |source, frames, sink| {
        snapshot::read(source, DeviceOrder::Merged, frames, sink)
    });
    (streamed, outcome(bytes, snapshot::read_stored))
}

/// Returns the events of each device.
fn by_device(outcome: Outcome) -> Result<BTreeMap<u32, Vec<Named>>, String> {
    let mut devices: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for one in outcome? {
        devices.entry(one.0.device).or_default().push(one);
    }
    Ok(devices)
}

/// The opcodes with which entries are appended to a trace.
#[derive(Clone, Copy, Debug)]
enum Style {
    /// Python appends a single item, or a batch of items.
    Batches(usize),
    /// `PyTorch`'s own pickler appends all items at once.
    AtOnce,
    /// The entries become a new list or tuple, with a list below their mark.
    New(u8),
}

/// An entry of a trace: an index into `ACTIONS`, an address, a size and a time.
type Row = (usize, i64, i64, Option<i64>);

const ACTIONS: [&str; 8] = [
    "alloc",
    "free_completed",
    "free_requested",
    "segment_alloc",
    "segment_free",
    "segment_unmap",
    "oom",
    "snapshot",
];

fn row(pickler: Pickler, (action, address, size, time): Row) -> Pickler {
    let entry = pickler.op(b'}').op(b'(').text("action").text(ACTIONS[action]);
    let entry = entry.text("addr").int(address).text("size").int(size);
    let entry = match time {
        Some(time) => entry.text("time_us").int(time),
        None => entry,
    };
    // This key is not stored, and its value is a list.
    entry.text("compile_context").op(b']').op(b'u')
}

fn trace(pickler: Pickler, style: Style, rows: &[Row]) -> Pickler {
    let batch = |pickler: Pickler, rows: &[Row]| {
        rows.iter().fold(pickler.op(b'('), |pickler, &one| row(pickler, one))
    };
    match style {
        Style::Batches(size) => rows.chunks(size).fold(pickler.op(b']'), |pickler, rows| {
            if let [one] = rows {
                row(pickler, *one).op(b'a')
            } else {
                batch(pickler, rows).op(b'e')
            }
        }),
        Style::AtOnce => batch(pickler.op(b']'), rows).op(b'e'),
        // The list below the mark is dropped afterwards, so it is not the trace.
        Style::New(opcode) => batch(pickler, rows).op(opcode),
    }
}

/// A segment: its address, size, private pool, and the size of its first block if that is active.
type Segment = (i64, i64, Pool, Option<i64>);

fn segment(pickler: Pickler, (address, size, pool, active): Segment) -> Pickler {
    let head = pickler.op(b'}').op(b'(').text("address").int(address).text("total_size").int(size);
    let head = head.text("segment_pool_id");
    let number = |number: u64| i64::try_from(number).unwrap();
    let head = head.int(number(pool.0)).int(number(pool.1)).op(0x86);
    let blocks = head.text("blocks").op(b']');
    let blocks = match active {
        Some(size) => {
            let block = blocks.op(b'}').op(b'(').text("size").int(size);
            block.text("state").text("active_allocated").op(b'u').op(b'a')
        }
        None => blocks,
    };
    blocks.op(b'u')
}

fn made(segments: &[Segment], traces: &[(Style, Vec<Row>)], are_first: bool) -> Vec<u8> {
    let of_segments = |pickler: Pickler| {
        let all = segments
            .iter()
            .fold(pickler.text("segments").op(b']').op(b'('), |all, &one| segment(all, one));
        all.op(b'e')
    };
    let of_traces = |pickler: Pickler| {
        let all = pickler.text("device_traces").op(b']').op(b'(');
        traces.iter().fold(all, |all, (style, rows)| trace(all, *style, rows)).op(b'e')
    };
    let new = Pickler::new(4).op(b'}').op(b'(');
    let both = if are_first { of_traces(of_segments(new)) } else { of_segments(of_traces(new)) };
    both.op(b'u').op(b'.').0
}

fn snapshots() -> impl Strategy<Value = Vec<u8>> {
    let style = prop_oneof![
        3 => (1..6_usize).prop_map(Style::Batches),
        3 => Just(Style::AtOnce),
        1 => select(vec![b't', b'l']).prop_map(Style::New),
    ];
    let row = (
        0..8_usize,
        0..12_i64,
        1..4_i64,
        prop_oneof![9 => (0..50_i64).prop_map(Some), 1 => Just(None)],
    )
        .prop_map(|(action, address, size, time)| (action, address * 64, size * 64, time));
    let rows =
        (vec(row, 0..16), any::<bool>()).prop_map(|(mut rows, is_sorted): (Vec<Row>, bool)| {
            if is_sorted {
                rows.sort_by_key(|row| row.3);
            }
            rows
        });
    let segment = (0..4_i64, 1..4_i64, 0..3_u64, prop::option::of(Just(64)))
        .prop_map(|(at, size, pool, active)| (at * 256, size * 64, Pool(0, pool), active));
    (vec(segment, 0..4), vec((style, rows), 0..4), any::<bool>())
        .prop_map(|(segments, traces, are_first)| made(&segments, &traces, are_first))
}

fn cases(most: u32) -> Config {
    let cases = std::env::var("POOL_TEST_CASES").ok().and_then(|text| text.parse().ok());
    let cases = if cfg!(miri) { 4 } else { cases.unwrap_or(most) };
    Config { failure_persistence: None, ..Config::with_cases(cases) }
}

/// For every snapshot, and for every mutation of its bytes, both readers return the same events or
/// the same error.
#[test]
fn streamed_and_stored_entries_agree() {
    for bytes in [
        &include_bytes!("../../../../data/training.pickle")[..],
        include_bytes!("../../../../data/torch_cpu.pickle"),
        &snapshot(),
    ] {
        let (streamed, stored) = both(bytes);
        assert!(streamed.is_ok());
        assert_eq!(streamed, stored);
    }
    let edits = vec((any::<u16>(), any::<u8>(), 0..4_u8), 0..3);
    let outcome = TestRunner::new(cases(2000)).run(&(snapshots(), edits), |(mut bytes, edits)| {
        for (at, byte, edit) in edits {
            let at = usize::from(at) % bytes.len().max(1);
            match edit {
                0 => bytes.insert(at, byte),
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                2 => bytes.insert(at, b'0'),
                _ if !bytes.is_empty() => bytes[at] = byte,
                _ => {}
            }
        }
        let (streamed, stored) = both(&bytes);
        prop_assert_eq!(&streamed, &stored);
        let any = outcome(&bytes, |source, frames, sink| {
            snapshot::read(source, DeviceOrder::Any, frames, sink)
        });
        prop_assert_eq!(by_device(any), by_device(stored));
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// An entry to which several references exist, a trace of two devices, and entries mixed with other
/// values are read in the same way as by the reader that stores entries.
#[test]
fn irregular_snapshots() {
    let start = || Pickler::new(4).op(b'}').text("device_traces").op(b']');
    let end = |pickler: Pickler| pickler.op(b's').op(b'.').0;
    let one = |pickler: Pickler, address| row(pickler, (0, address, 8, None));
    let cases = [
        // The second item of the trace is the same entry as the first.
        ("shared entry", end(one(start().op(b']'), 0).put(9).op(b'a').get(9).op(b'a').op(b'a')), 2),
        // Both devices have the same trace.
        ("shared trace", end(one(start().op(b']').put(9), 0).op(b'a').op(b'a').get(9).op(b'a')), 2),
        // The traces occur in the opposite order of their devices.
        (
            "reversed traces",
            {
                let first = one(start().op(b']'), 0).op(b'a').put(8).op(b'0');
                let second = one(first.op(b']'), 64).op(b'a').put(9).op(b'0');
                end(second.get(9).op(b'a').get(8).op(b'a'))
            },
            2,
        ),
        // The trace becomes shared after its entry was passed on.
        (
            "late shared trace",
            {
                let late = one(start().op(b']'), 0).op(b'a').put(9).op(b'a');
                end(late.get(9).op(b'a'))
            },
            2,
        ),
        // The list of the first entry is not the trace.
        (
            "list below the mark",
            end([0, 8, 16, 24]
                .iter()
                .fold(start().op(b']').op(b'('), |all, &at| one(all, at))
                .op(b't')
                .op(b'a')
                .op(b'0')
                .op(b']')
                .op(b'a')),
            0,
        ),
    ];
    for (name, bytes, count) in cases {
        let (streamed, stored) = both(&bytes);
        assert_eq!(streamed, stored, "{name}");
        if let Ok(events) = streamed {
            assert_eq!(events.len(), count, "{name}: {events:?}");
        }
    }
    // A list after the entries is not an entry.
    let mixed = end(one(start().op(b']'), 0).op(b'a').op(b']').op(b'a').op(b'a'));
    let expected = "device_traces[0][1]: the action is missing";
    assert_eq!(both(&mixed), (Err(expected.to_owned()), Err(expected.to_owned())));
    // An entry gets another key after a value above it was popped.
    let all = start().op(b']').op(b'(');
    let rows = [0, 8, 16, 24, 32, 40].iter().fold(all, |all, &at| one(all, at));
    let late = end(rows.op(b'N').op(b'0').text("size").int(99).op(b's').op(b'e').op(b'a'));
    let (streamed, stored) = both(&late);
    assert_eq!(streamed, stored);
    assert_eq!(streamed.unwrap()[5].0.bytes, 99);
}

/// The number of lists and dictionaries is limited only for those that are stored. Here, each entry
/// is a dictionary with a list.
#[test]
fn entries_that_are_passed_on_are_not_limited() {
    let entries = if cfg!(miri) { 10 } else { 20_000 };
    let rows: Vec<Row> = (0..entries).map(|at| (0, at * 64, 64, Some(at))).collect();
    let bytes = made(&[], &[(Style::Batches(1000), rows)], true);
    let (streamed, stored) = both(&bytes);
    assert_eq!(streamed.map(|events| i64::try_from(events.len()).unwrap()), Ok(entries));
    if !cfg!(miri) {
        let error = stored.unwrap_err();
        assert!(error.ends_with("more than 16384 lists and dictionaries"), "{error}");
    }
}

/// Returns the pool of each allocation in a snapshot, by address and place.
fn pools(bytes: &[u8]) -> BTreeMap<(u64, String), Pool> {
    let (events, _) = events_from(bytes, None).unwrap();
    let allocated = events.iter().filter(|event| event.action == Action::Allocate);
    allocated.map(|one| ((one.address, one.place.to_string()), one.pool)).collect()
}

/// A buffer belongs to the pool of the segment that contains it at the end. The pool of a segment
/// that was returned during the trace is unknown.
#[test]
fn pools_of_segments() {
    let graph = Pool(0, 1);
    let segments = [(0, 256, Pool::DEFAULT, Some(64)), (1024, 256, graph, Some(64))];
    let rows = vec![
        // The first segment of the graph was returned, and taken again from address 1024.
        (0, 1088, 64, Some(1)),
        (1, 1088, 64, Some(2)),
        (4, 1024, 256, Some(3)),
        (3, 1024, 256, Some(4)),
        (0, 1152, 64, Some(5)),
        (0, 64, 64, Some(6)),
        (0, 1280, 64, Some(7)),
    ];
    let pools = pools(&made(&segments, &[(Style::Batches(2), rows)], true));
    let expected = [
        (0, "before the recording", Pool::DEFAULT),
        (64, "device_traces[0][5]", Pool::DEFAULT),
        (1024, "before the recording", graph),
        (1088, "device_traces[0][0]", Pool::DEFAULT),
        (1152, "device_traces[0][4]", graph),
        (1280, "device_traces[0][6]", Pool::DEFAULT),
    ];
    let expected = expected.map(|(address, place, pool)| ((address, place.to_owned()), pool));
    assert_eq!(pools, BTreeMap::from(expected));
    let broken = Pickler::new(4).op(b']').op(b'}').op(b'(').text("address").int(0);
    let broken = broken.text("total_size").int(8).text("segment_pool_id").int(5);
    assert_eq!(
        message(&broken.op(b'u').op(b'a').op(b'.').0),
        "segments[0]: segment_pool_id is not a pair of integers"
    );
}
