//! Temporaries that a body uses only through device views. The capture sees no use of them, but
//! their bytes are reserved from the beginning of the loan to its end.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::{CudaStream, LaunchConfig, PushKernelArg, sys};
use pool_core::PoolViewMut;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CudaArena, UnverifiedCapture,
};
use pool_kernels::elementwise;

use crate::common::{BYTES, Made, arena, memory, pool, stream, without_a_report};
use crate::support::{function, orders, start, start_anew};

/// D6: no other temporary shares memory that a lent view fills.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_lent_temporary_that_is_filled_through_its_view_alone() {
    without_a_report(|| {
        let (main, side, pool) = (stream(), stream(), pool());
        let output = pool.allocate(BYTES).unwrap();
        for after in [false, true] {
            let session = CaptureSession::new(&main).unwrap().branch(&side).unwrap();
            let session = session.lease(pool.lease(&[output.id()]).unwrap());
            let graph: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                let mut view = capture.acquire::<u8>(4096)?;
                capture.lend(capture.main(), &mut view)?.view_mut()?.fill_with_value(1)?;
                let mut other = capture.acquire::<u8>(4096)?;
                capture.lend(capture.branch(0)?, &mut other)?.view_mut()?.fill_with_value(2)?;
                if after {
                    capture.copy(capture.main(), &mut capture.block(&output)?, &other)?;
                }
                Ok(())
            });
            let mut graph = graph.unwrap();
            assert_eq!(graph.verified().accesses, if after { 3 } else { 2 });
            graph.replay().unwrap();
            let mut byte = [0_u8];
            graph.read(&output, &mut byte).unwrap();
            assert!(!after || byte == [2]);
        }
    });
}

/// Blocks of a scope's pool, and views lent to a forgotten guard, are used until the end of their
/// own stream. An earlier branch does not use them, and their bytes may have belonged to another
/// temporary.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_is_kept_to_the_end_may_have_the_bytes_of_what_was_over() {
    let simulator = start();
    for (seed, is_forgotten) in (0..orders()).flat_map(|seed| [(seed, false), (seed, true)]) {
        start_anew(simulator, Settings::default(), seed);
        let (main, side, pool) = (stream(), stream(), pool());
        let blocks = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        let body = |capture: &Capture<'_>, (): &mut ()| {
            let (main, side) = (capture.main(), capture.branch(0)?);
            let mut beside = capture.block::<u8>(&blocks[0])?;
            capture.fill_bytes(side, &mut beside, 1)?;
            let mut first = capture.acquire::<u8>(4096)?;
            capture.fill_bytes(main, &mut first, 2)?;
            capture.copy(main, &mut capture.block(&blocks[1])?, &first)?;
            drop(first);
            if is_forgotten {
                let mut second = capture.acquire::<u8>(4096)?;
                let mut lent = capture.lend(main, &mut second)?;
                lent.view_mut()?.fill_with_value(3)?;
                std::mem::forget(lent);
            } else {
                capture.scope(main, |scope| {
                    let mut second = scope.try_acquire_zeroed::<u8, _>(4096)?;
                    Ok::<(), CaptureError>(second.fill_with_value(3)?)
                })?;
            }
            capture.fill_bytes(side, &mut beside, 4)
        };
        let session = CaptureSession::new(&main).unwrap().branch(&side).unwrap();
        let session = session.lease(pool.lease(&blocks.map(|block| block.id())).unwrap());
        let probe = session.probe::<_, CaptureError>(&mut (), body).unwrap();
        assert!(probe.footprint().peak < 2 * 4096, "forgotten: {is_forgotten}");
        let graph: Made = session.planned(&probe).unwrap().capture((), body);
        let mut graph = graph.unwrap();
        assert_eq!(graph.verified().sharing, 1);
        graph.replay().unwrap();
        let mut bytes = [0_u8; 2];
        graph.read(&blocks[0], &mut bytes[..1]).unwrap();
        graph.read(&blocks[1], &mut bytes[1..]).unwrap();
        assert_eq!(bytes, [4, 2]);
        drop(graph);
        simulator.assert_clean();
    }
}

/// Two views share the same bytes, and kernels fill them in sequence. Without the edge between the
/// kernels this is a race, and the verifier refuses it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn lent_temporaries_that_share_bytes_without_an_order() {
    without_a_report(|| {
        let main = stream();
        let fill = function(main.context(), elementwise::MODULE, elementwise::FILL.f32);
        let launch = |stream: &Arc<CudaStream>, address: u64| {
            let (value, count) = (1.0_f32, 1024_u64);
            let mut launch = stream.launch_builder(&fill);
            launch.arg(&address).arg(&value).arg(&count);
            // SAFETY: the kernel writes 1024 elements of the lent view.
            unsafe { launch.launch(LaunchConfig::for_num_elems(1024)) }.unwrap();
        };
        let body = |capture: &Capture<'_>, (): &mut ()| {
            let mut addresses = [0, 1];
            for place in &mut addresses {
                let mut view = capture.acquire::<f32>(1024)?;
                let mut lent = capture.lend(capture.main(), &mut view)?;
                *place = lent.view_mut()?.address();
                launch(&main, *place);
            }
            assert_eq!(addresses[0], addresses[1]);
            Ok(())
        };
        let arena = CudaArena::new(memory(), 1 << 16, ArenaPolicy::Linear).unwrap();
        let prepared = CaptureSession::new(&main).unwrap().prepare(arena).unwrap();
        let unverified: Result<_, CaptureError> = prepared.capture_unverified(&mut (), body);
        let unverified = unverified.unwrap();
        assert_eq!(unverified.verify().unwrap().sharing, 1);
        remove_the_edge(&unverified);
        let Err(error @ CaptureError::Unordered { first, second }) = unverified.verify() else {
            panic!("an edge is gone: {:?}", unverified.verify());
        };
        assert_eq!((first.number, second.number), (0, 1));
        // Both temporaries come from the same line of the body.
        let (function, line) = first.taken_by.unwrap();
        assert_eq!(function, "acquire");
        assert!(line.file().ends_with("lent.rs"), "{line}");
        let text = error.to_string();
        assert_eq!(text.matches(&format!("(`acquire` at {line})")).count(), 2, "{text}");
    });
}

/// Removes the only edge of a graph.
fn remove_the_edge(unverified: &UnverifiedCapture) {
    let none = std::ptr::null_mut();
    let (mut from, mut to, mut count) = (none, none, 1);
    let mut data = sys::CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
    // SAFETY: the graph is live, and each array has one entry.
    let read = unsafe {
        let (from, to, data) = (&raw mut from, &raw mut to, &raw mut data);
        sys::cuGraphGetEdges_v2(unverified.graph(), from, to, data, &raw mut count)
    };
    read.result().unwrap();
    // SAFETY: the edge belongs to the graph.
    let removed = unsafe {
        let (from, to, data) = (&raw const from, &raw const to, &raw const data);
        sys::cuGraphRemoveDependencies_v2(unverified.graph(), from, to, data, 1)
    };
    removed.result().unwrap();
}
