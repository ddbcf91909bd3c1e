//! Records of probes and captured graphs. Their problem and plan are those of the capture, and
//! survive writing and reading the file.

use std::path::Path;

use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CaptureStream, CaptureView, Footprint,
    GraphRecord,
};

use crate::common::{BYTES, stream};
use crate::programs::session;
use crate::random::{in_random_orders, options, with_policy};
use crate::support::start;

/// Writes a record and reads it back.
pub(crate) fn round_trip(record: &GraphRecord) -> GraphRecord {
    let mut file = Vec::new();
    record.write_to(&mut file).unwrap();
    let read = GraphRecord::from_json(std::str::from_utf8(&file).unwrap()).unwrap();
    assert_eq!(&read, record);
    read
}

/// Checks that a record contains the same numbers as the capture's footprint, and that its offsets
/// are a valid plan of its problem.
fn check(record: &GraphRecord, footprint: Footprint, streams: usize) {
    let problem = record.problem();
    let sum: u64 = problem.buffers().iter().map(|buffer| buffer.size).sum();
    let bound = problem.clone().without_offsets().lower_bound().bytes;
    assert_eq!((sum, bound), (footprint.sum, footprint.lower_bound));
    let offsets = record.offsets().expect("what the capture knows of orders them");
    assert_eq!(problem.validate(&offsets), Ok(footprint.peak));
    assert!(record.capacity().unwrap() >= footprint.peak);
    let on = |operation| usize::try_from(record.stream(operation).unwrap()).unwrap();
    assert!((0..problem.operations()).map(on).all(|stream| stream < streams));
    assert!(streams == 1 || (0..problem.operations()).any(|operation| on(operation) > 0));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_captures_record_their_problem_and_plan() {
    in_random_orders(|memory, program| {
        let (session, kept) = session(memory, program);
        let body = |capture: &Capture<'_>, (): &mut ()| program.body(capture, &kept);
        let probe = session.probe_with::<_, CaptureError>(&options(), &mut (), body).unwrap();
        let graph = session.planned(&probe).unwrap().capture((), body).unwrap();
        let [foreseen, found] =
            [probe.record(), graph.record()].map(|one| round_trip(&one.unwrap()));
        check(&found, graph.footprint(), program.streams);
        assert_eq!(foreseen, found, "a dry run predicts all of it");
        assert_eq!(found.problem().buffers().len(), program.sizes.len());
        for buffer in 0..program.sizes.len() {
            let caller = found.caller(buffer).unwrap();
            assert!(caller.filename.ends_with("programs.rs") && caller.name == "acquire");
        }
        drop(graph);
        for policy in [ArenaPolicy::Monotone, ArenaPolicy::Linear] {
            let (graph, _kept) = with_policy(memory, program, policy);
            // A linear arena refuses a fork.
            let Ok(graph) = graph else { continue };
            let record = graph.record().unwrap();
            check(&round_trip(&record), graph.footprint(), program.streams);
            assert_eq!(record.problem().edges(), found.problem().edges());
        }
    });
}

/// The number of elements in an encoder's vector.
const WIDTH: usize = 4096;

/// Adds encoder layers on one stream. Their temporaries are like those of a network's encoder, and
/// are filled.
fn encode<'c>(
    capture: &'c Capture<'_>,
    stream: CaptureStream,
    layers: usize,
) -> Result<CaptureView<'c, f32>, CaptureError> {
    let filled = |factor: usize, mut view: CaptureView<'c, f32>| {
        assert_eq!(view.len(), factor * WIDTH);
        capture.fill_bytes(stream, &mut view, 1)?;
        Ok::<_, CaptureError>(view)
    };
    let mut hidden = filled(1, capture.acquire::<f32>((stream, WIDTH))?)?;
    for _ in 0..layers {
        let query_key_value = filled(3, capture.acquire::<f32>((stream, 3 * WIDTH))?)?;
        let scores = filled(2, capture.acquire::<f32>((stream, 2 * WIDTH))?)?;
        drop(query_key_value);
        let mut attended = filled(1, capture.acquire::<f32>((stream, WIDTH))?)?;
        capture.copy(stream, &mut attended, &hidden)?;
        drop(scores);
        let wide = filled(4, capture.acquire::<f32>((stream, 4 * WIDTH))?)?;
        let mut next = filled(1, capture.acquire::<f32>((stream, WIDTH))?)?;
        capture.copy(stream, &mut next, &attended)?;
        drop((wide, attended));
        hidden = next;
    }
    Ok(hidden)
}

/// Runs an image encoder and a text encoder in parallel. A scope combines their results.
fn two_encoders(capture: &Capture<'_>) -> Result<(), CaptureError> {
    let (main, branch) = (capture.main(), capture.branch(0)?);
    let mut logits = capture.acquire::<f32>(2 * WIDTH)?;
    capture.fill_bytes(main, &mut logits, 0)?;
    let text = encode(capture, branch, 4)?;
    let mut image = encode(capture, main, 3)?;
    capture.copy(main, &mut image, &text)?;
    let image = capture.lend(main, &mut image)?;
    capture.scope(main, |scope| {
        let mut sum = scope.try_acquire_zeroed::<f32, _>(WIDTH)?;
        Ok::<(), CaptureError>(pool_core::PoolViewMut::copy_from(&mut sum, image.view()?)?)
    })
}

/// The file in the tests of `pool-plan` and in `docs/replay.md` is the record of this capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn two_encoders_are_the_record_in_the_repository() {
    start();
    let session = CaptureSession::new(&stream()).unwrap().branch(&stream()).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| two_encoders(capture);
    let probe = session.probe(&mut (), body).unwrap();
    let graph = session.planned(&probe).unwrap().capture((), body).unwrap();
    let record = graph.record().unwrap();
    check(&round_trip(&record), graph.footprint(), 2);
    assert_eq!(probe.record().as_ref(), Some(&record));
    let scopes = (0..record.problem().buffers().len())
        .filter(|&buffer| record.caller(buffer).unwrap().name == "scope");
    assert_eq!(scopes.count(), 1);

    let path = "../../planner/data/capture.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("POOL_WRITE_RECORD").is_some() {
        record.write_to(std::fs::File::create(&path).unwrap()).unwrap();
    }
    let kept = GraphRecord::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(without_lines(&kept) == without_lines(&record), "POOL_WRITE_RECORD=1 rewrites it");
}

/// Returns a record's text without the lines of its callers, which each change of this file moves.
fn without_lines(record: &GraphRecord) -> String {
    let mut json = Vec::new();
    record.write_to(&mut json).unwrap();
    let json = String::from_utf8(json).unwrap();
    let parts = json.split("\"line\":");
    let digits =
        |part: &str| part.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    parts.map(digits).collect()
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_body_without_temporaries_has_no_record() {
    start();
    let session = CaptureSession::new(&stream()).unwrap();
    let probe = session.probe::<_, CaptureError>(&mut (), |_, ()| Ok(())).unwrap();
    assert!(probe.record().is_none());
    let graph = session.planned(&probe).unwrap();
    let graph = graph.capture::<_, CaptureError>((), |_, ()| Ok(())).unwrap();
    assert!(graph.record().is_none() && graph.footprint().sum < BYTES);
}
