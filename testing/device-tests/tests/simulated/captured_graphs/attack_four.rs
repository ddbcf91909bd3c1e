//! Regression tests for bugs that the fourth attack found in captured graphs, one test per bug. The
//! names state the present behaviour; the comments describe the bug.

use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use pool_core::PoolViewMut;
use pool_cuda::{Cuda, OnStream};
use pool_graph::{
    Capture, CaptureError, CaptureSession, GraphMemoryBlock, StagingConfig, StagingPool,
};
use pool_kernels::elementwise;

use crate::common::{BYTES, Made, NO_FLAGS, RELAXED, arena, pool, stream, without_a_report};
use crate::feeding::Fed;
use crate::support::{function, orders, start, start_anew};

const N: usize = 1000;

type Body<'b> =
    dyn Fn(&Capture<'_>, &GraphMemoryBlock, &CudaFunction) -> Result<(), CaptureError> + 'b;

/// Launches a fill of the argument, on the stream that was passed to `on`.
fn launch(fill: &CudaFunction, stream: &Arc<CudaStream>, arg: &OnStream<'_>) {
    let (value, count) = (5.0_f32, N as u64);
    let mut launch = stream.launch_builder(fill);
    launch.arg(arg).arg(&value).arg(&count);
    // SAFETY: the arguments match `FILL`, and the argument's view has `count` elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1000)) }.unwrap();
}

/// Checks that a body becomes a graph if its plan correctly reuses the bytes of dropped
/// temporaries.
fn shares_bytes(body: &Body<'_>) {
    let simulator = start();
    for other_answers in [false, true] {
        let settings = Settings { other_answers, ..Settings::default() };
        shares_bytes_under(simulator, settings, body);
    }
}

fn shares_bytes_under(simulator: Simulator, settings: Settings, body: &Body<'_>) {
    for seed in 0..orders() {
        start_anew(simulator, settings, seed);
        let (main, side, pool) = (stream(), stream(), pool());
        let fill = function(main.context(), elementwise::MODULE, elementwise::FILL.f32);
        let block = pool.allocate(BYTES).unwrap();
        let session = CaptureSession::new(&main).unwrap().branch(&side).unwrap();
        let session = session.lease(pool.lease(&[block.id()]).unwrap());
        let run = |capture: &Capture<'_>, (): &mut ()| body(capture, &block, &fill);
        let probe = session.probe::<_, CaptureError>(&mut (), run).unwrap();
        let planned = probe.footprint();
        assert!(planned.peak < planned.sum, "nothing is asked of the capture");
        let graph: Made = session.planned(&probe).unwrap().capture((), run);
        let mut graph = graph.unwrap();
        graph.replay().unwrap();
        graph.synchronize().unwrap();
        drop(graph);
        simulator.assert_clean();
    }
}

/// Uses a temporary and drops it.
fn use_bytes(capture: &Capture<'_>) -> Result<(), CaptureError> {
    let mut over = capture.acquire::<u8>(4096)?;
    capture.fill_bytes(capture.main(), &mut over, 2)
}

/// A scope took a block without using it, and no work followed. The last node of the scope's
/// stream, which preceded the block, counted as the block's last use, and the capture was refused.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_block_of_a_scope_that_is_never_used() {
    shares_bytes(&|capture, _, _| {
        use_bytes(capture)?;
        capture.scope(capture.main(), |scope| {
            scope.try_acquire::<u8, _>(4096)?;
            Ok::<(), CaptureError>(())
        })
    });
}

/// A body ends with a wait for its branch. The branch's last node, which has no relation to the
/// scope, counted as a use of the scope's block, and the capture was refused.
fn ends_with_a_wait(is_later: bool) {
    shares_bytes(&|capture, block, _| {
        let (main, side) = (capture.main(), capture.branch(0)?);
        let mut beside = capture.block::<u8>(block)?;
        capture.fill_bytes(side, &mut beside, 1)?;
        use_bytes(capture)?;
        capture.scope(main, |scope| {
            let mut second = scope.try_acquire::<u8, _>(4096)?;
            Ok::<(), CaptureError>(second.fill_with_value(3)?)
        })?;
        if is_later {
            capture.fill_bytes(side, &mut beside, 4)?;
        }
        capture.wait(main, side)
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_body_ends_with_a_wait_for_what_came_before_a_scope() {
    ends_with_a_wait(false);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_body_ends_with_a_wait_for_what_came_behind_a_scope() {
    ends_with_a_wait(true);
}

/// The same bug while a view is lent.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_wait_while_a_view_is_lent() {
    shares_bytes(&|capture, block, _| {
        let (main, side) = (capture.main(), capture.branch(0)?);
        let mut beside = capture.block::<u8>(block)?;
        capture.fill_bytes(side, &mut beside, 1)?;
        use_bytes(capture)?;
        let mut second = capture.acquire::<u8>(4096)?;
        let mut lent = capture.lend(main, &mut second)?;
        lent.view_mut()?.fill_with_value(3)?;
        capture.fill_bytes(side, &mut beside, 4)?;
        capture.wait(main, side)
    });
}

/// A view was lent, used on a branch and forgotten. The branch's earlier work counted as a use of
/// later blocks of a scope, and the capture was refused.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_scope_behind_a_forgotten_view_that_a_branch_has() {
    shares_bytes(&|capture, _, fill| {
        let (main, side) = (capture.main(), capture.branch(0)?);
        let mut first = capture.acquire::<f32>(N)?;
        let mut lent = capture.lend(main, &mut first)?;
        capture.scope(side, |inner| {
            let stream = inner.context().stream();
            launch(fill, stream, &lent.view_mut()?.on(stream)?);
            Ok::<(), CaptureError>(())
        })?;
        std::mem::forget(lent);
        use_bytes(capture)?;
        capture.scope(main, |scope| {
            let mut second = scope.try_acquire::<u8, _>(4096)?;
            Ok::<(), CaptureError>(second.fill_with_value(3)?)
        })
    });
}

/// A view was lent and forgotten, and a branch uses it until the end of the capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_branch_ends_with_a_forgotten_view() {
    // In a dry run, the driver may refuse cudarc's fill of an address without memory.
    let settings = Settings { other_answers: false, ..Settings::default() };
    shares_bytes_under(start(), settings, &|capture, _, _| {
        use_bytes(capture)?;
        let mut kept = capture.acquire::<u8>(4096)?;
        let mut lent = capture.lend(capture.main(), &mut kept)?;
        lent.view_mut()?.fill_with_value(3)?;
        capture.scope(capture.branch(0)?, |inner| {
            let stream = Arc::clone(inner.context().stream());
            stream.memset_zeros(&mut lent.view_mut()?).unwrap();
            Ok::<(), CaptureError>(())
        })?;
        std::mem::forget(lent);
        Ok(())
    });
}

/// A view is lent and ordered for a branch that then does not use the view. The branch's earlier
/// work counted as a use of the view.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_branch_that_is_given_a_view_and_does_nothing_with_it() {
    shares_bytes(&|capture, _, _| {
        let (main, side) = (capture.main(), capture.branch(0)?);
        capture.scope(side, |inner| {
            inner.try_acquire::<u8, _>(100)?.fill_with_value(1)?;
            use_bytes(capture)?;
            let mut second = capture.acquire::<u8>(4096)?;
            let mut lent = capture.lend(main, &mut second)?;
            lent.view_mut()?.fill_with_value(3)?;
            lent.view_mut()?.on(inner.context().stream())?;
            Ok::<(), CaptureError>(())
        })
    });
}

/// A lent view's work precedes the node for which the stream must wait. In this case, the driver
/// may list only the node that implies the other one.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_wait_for_what_comes_behind_a_lent_view() {
    shares_bytes(&|capture, block, _| {
        let (main, side) = (capture.main(), capture.branch(0)?);
        use_bytes(capture)?;
        let mut beside = capture.block::<u8>(block)?;
        let mut second = capture.acquire::<u8>(4096)?;
        let mut lent = capture.lend(main, &mut second)?;
        lent.view_mut()?.fill_with_value(3)?;
        capture.wait(side, main)?;
        capture.fill_bytes(side, &mut beside, 4)?;
        capture.wait(main, side)
    });
}

/// A branch's use of a scope's view stays within the view's region, even if the capture waited for
/// the branch before the scope ended.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_a_branch_does_with_a_view_is_before_its_end() {
    shares_bytes(&|capture, _, _| {
        let (main, side) = (capture.main(), capture.branch(0)?);
        use_bytes(capture)?;
        capture.scope(main, |scope| {
            capture.scope(side, |inner| {
                let second = scope.try_acquire_filled::<u8, _>(4096, 3)?;
                let mut copy = inner.try_acquire::<u8, _>(4096)?;
                copy.copy_from(second.as_view())?;
                capture.wait(main, side)
            })
        })
    });
}

/// B7, reversed: a branch is already part of the capture, and the driver fails to make the branch
/// wait for a scope's stream. The records ordered the branch after that stream, and after
/// everything before it. The branch therefore read memory that another branch was still writing.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_branch_that_was_to_wait_in_vain_is_made_to_wait() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let (main, writer, reader, pool) = (stream(), stream(), stream(), pool());
        let block = pool.allocate(BYTES).unwrap();
        let session = CaptureSession::new(&main).unwrap();
        let session = session.branch(&writer).unwrap().branch(&reader).unwrap();
        let session = session.lease(pool.lease(&[block.id()]).unwrap());
        let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            let [on_writer, on_reader] = [capture.branch(0)?, capture.branch(1)?];
            let mut view = capture.block::<u8>(&block)?;
            let mut copy = capture.acquire::<u8>((on_reader, 4096))?;
            capture.fill_bytes(on_reader, &mut copy, 1)?;
            capture.fill_bytes(on_writer, &mut view, 2)?;
            capture.wait(capture.main(), on_writer)?;
            let in_vain = capture.scope(capture.main(), |scope| {
                let mut view = scope.try_acquire::<u8, _>(100)?;
                simulator.fail_call("cuEventCreate", 1, 999);
                let refused = view.on(&reader).map(drop);
                simulator.forget_failures();
                assert!(refused.is_err());
                Ok::<(), CaptureError>(())
            });
            assert!(in_vain.is_err());
            capture.copy(on_reader, &mut copy, &view)
        });
        if let Ok(mut graph) = made {
            graph.replay().unwrap();
            graph.synchronize().unwrap();
        }
        simulator.assert_clean();
    }
}

/// A write that was refused because its stream was captured counted as a permanent write, and other
/// streams could no longer use the block.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_write_that_was_refused_is_none() {
    without_a_report(|| {
        let (one, two, pool) = (stream(), stream(), pool());
        let block = pool.allocate(BYTES).unwrap();
        let reads = |stream: &Arc<CudaStream>| -> Made {
            let session = CaptureSession::new(stream).unwrap();
            let session = session.lease(pool.lease(&[block.id()]).unwrap());
            session.prepare(arena()).unwrap().capture((), |capture, ()| {
                let mut copy = capture.acquire::<u8>(4096)?;
                capture.copy(capture.main(), &mut copy, &capture.block(&block)?)
            })
        };
        let mut graph = reads(&one).unwrap();
        let config = StagingConfig { buffers: 1, bytes: 4096 };
        let mut staging = StagingPool::with_config(one.context(), config).unwrap();
        one.begin_capture(RELAXED).unwrap();
        let operation = "be written to";
        let refused = graph.enqueue_write(&mut staging, &block, &[1_u8; 4096]);
        assert_eq!(refused, Err(CaptureError::Capturing { operation }));
        drop(one.end_capture(NO_FLAGS).unwrap());
        reads(&two).expect("nothing was written").replay().unwrap();
    });
}

/// The driver fails after a copy, and the staging pool is dropped during a capture. The pool waited
/// for the whole context, which invalidated the capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_staging_pool_is_dropped_beside_a_capture() {
    without_a_report(|| {
        let simulator = Simulator::attach().unwrap();
        let mut fed = Fed::on(&stream());
        let mut staging = fed.staging(2).unwrap();
        simulator.fail_call("cuEventRecord", 1, 999);
        assert!(fed.begin(&mut staging).is_err());
        simulator.forget_failures();
        let session = CaptureSession::new(&stream()).unwrap();
        let made: Made<_> =
            session.prepare(arena()).unwrap().capture(Some(staging), |capture, s| {
                let mut view = capture.acquire::<u8>(4096)?;
                capture.fill_bytes(capture.main(), &mut view, 1)?;
                drop(s.take());
                capture.fill_bytes(capture.main(), &mut view, 2)
            });
        made.unwrap().replay().unwrap();
        drop(fed);
        assert_eq!(Cuda::retry_deferred_frees(), 0);
    });
}
