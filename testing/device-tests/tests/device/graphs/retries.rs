//! The next capture uses the same memory after a body that failed or panicked, and after a body
//! that succeeded.

use pool_core::error_chain;
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CapturedGraph, CudaArena, GraphMemoryError,
};

use crate::graphs::{BYTES, arena, pool, prepared, runs, stream, through};
use crate::{memory, require_device};

#[test]
#[ignore = "needs a CUDA device"]
fn a_body_that_failed_is_tried_again_with_the_same_memory_and_state() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (prepared, blocks) = prepared(&stream, &pool);
    let free = || Cuda::device(0).unwrap().memory().unwrap().free;
    let before = free();
    // Each attempt records the address of its temporary.
    let body = |fails: bool| {
        move |capture: &Capture<'_>, seen: &mut Vec<u64>| {
            let first = capture.acquire::<u8>(BYTES)?;
            seen.push(first.address());
            assert_ne!(seen.len(), 3, "as it should");
            drop(first);
            if fails { Err(CaptureError::ForeignView) } else { through(capture, blocks) }
        }
    };
    let failed = prepared.capture_keeping_state(Vec::new(), body(true)).unwrap_err();
    assert_eq!((&failed.error, failed.state.len()), (&CaptureError::ForeignView, 1));
    assert_eq!(failed.to_string(), CaptureError::ForeignView.to_string());
    let failed = prepared.capture_keeping_state(failed.state, body(true)).unwrap_err();
    let panics = || prepared.capture(failed.state.clone(), body(false)).map(drop);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    let mut seen = failed.state;
    seen.push(0);
    let mut graph = prepared.capture_keeping_state(seen, body(false)).unwrap();
    assert_eq!(free(), before, "nothing was allocated, nothing given back");
    drop(prepared);
    let seen = graph.state().unwrap();
    assert_eq!(seen.len(), 4);
    assert!(seen[1] == seen[0] && seen[3] == seen[0], "{seen:?}");
    runs(&mut graph, blocks, 7);
}

#[test]
#[ignore = "needs a CUDA device"]
fn graphs_of_one_prepared_capture_share_its_arena() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (prepared, blocks) = prepared(&stream, &pool);
    let mut graphs: Vec<CapturedGraph<u64>> = Vec::new();
    for _ in 0..3 {
        let graph = prepared.capture(0, |capture, at: &mut u64| {
            *at = capture.acquire::<u8>(BYTES)?.address();
            through(capture, blocks)
        });
        graphs.push(graph.unwrap_or_else(|error: CaptureError| panic!("{}", error_chain(&error))));
    }
    let refused = pool.deallocate(blocks[0].id());
    assert!(matches!(refused, Err(GraphMemoryError::LeasedBlock { .. })));
    drop(prepared);
    for value in 0..30 {
        runs(&mut graphs[usize::from(value) % 3], blocks, value);
    }
    let mut places = graphs.into_iter().map(|graph| graph.into_state().unwrap());
    let first = places.next().unwrap();
    assert!(places.all(|place| place == first));
    // Once the last graph has been dropped, no block is leased.
    pool.deallocate(blocks[0].id()).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_lives_in_an_arena_before_it_is_given_away_stays() {
    let _present = require_device();
    let stream = stream();
    for policy in [ArenaPolicy::Monotone, ArenaPolicy::Linear] {
        let arena = CudaArena::new(memory(), 1 << 16, policy).unwrap();
        let kept = arena.allocate(BYTES as u64).unwrap();
        let prepared = CaptureSession::new(&stream).unwrap().prepare(arena).unwrap();
        let mut places = Vec::new();
        for fails in [true, false] {
            let made: Result<CapturedGraph, CaptureError> = prepared.capture((), |capture, ()| {
                let mut view = capture.acquire::<u8>(BYTES)?;
                places.push(view.address());
                capture.fill_bytes(capture.main(), &mut view, 1)?;
                if fails { Err(CaptureError::ForeignView) } else { Ok(()) }
            });
            assert_eq!(made.is_err(), fails);
        }
        assert_eq!(places, [kept.address() + BYTES as u64; 2]);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_arena_that_is_reset_before_or_in_a_capture_is_refused() {
    let _present = require_device();
    let stream = stream();
    for in_the_body in [false, true] {
        let arena = arena();
        arena.install(&stream).unwrap();
        let second = CudaArena::on(&stream).unwrap();
        second.clear(&stream).unwrap();
        let prepared = CaptureSession::new(&stream).unwrap().prepare(arena).unwrap();
        if !in_the_body {
            second.reset();
        }
        let made: Result<CapturedGraph, CaptureError> = prepared.capture((), |_, ()| {
            assert!(in_the_body, "it is refused before");
            second.reset();
            Ok(())
        });
        let stale = GraphMemoryError::StaleLease { leased: 0, current: 1 };
        assert_eq!(made.map(drop), Err(CaptureError::Memory(stale)));
    }
}
