//! Scopes between replays: eager work in the memory of a graph's temporaries, ordered after the last replay and before the
//! next one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::{CudaStream, LaunchConfig, PushKernelArg};
use pool_core::{PoolView, PoolViewMut};
use pool_cuda::{CudaError, Launch};
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph, GraphMemoryBlock,
};
use pool_kernels::elementwise;

use crate::common::{BYTES, byte, pool, stream};
use crate::support::{function, orders, start, start_anew};

/// Elements of a block and of each temporary.
const N: usize = 1024;

type Result<T = ()> = std::result::Result<T, CaptureError>;

/// Fills a block through temporaries on two streams.
fn body(capture: &Capture<'_>, block: &GraphMemoryBlock, value: u8) -> Result {
    let (main, side) = (capture.main(), capture.branch(0)?);
    let mut first = capture.acquire::<f32>(N)?;
    capture.fill_bytes(main, &mut first, value)?;
    let mut second = capture.acquire::<f32>((side, N))?;
    capture.copy(side, &mut second, &first)?;
    let mut third = capture.acquire::<f32>(4 * N)?;
    capture.fill_bytes(main, &mut third, value)?;
    capture.copy(main, &mut capture.block::<f32>(block)?, &second)
}

/// Two graphs of one arena, which write a block each.
struct Graphs {
    graphs: [CapturedGraph<()>; 2],
    blocks: [GraphMemoryBlock; 2],
    streams: [Arc<CudaStream>; 2],
    pool: CUDAGraphMemoryPool,
}

impl Graphs {
    fn new() -> Self {
        let (streams, pool) = ([stream(), stream()], pool());
        let blocks = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        let session = |block: &GraphMemoryBlock| {
            let session = CaptureSession::new(&streams[0]).unwrap().branch(&streams[1]).unwrap();
            session.lease(pool.lease(&[block.id()]).unwrap())
        };
        let run = |number: usize| {
            let block = blocks[number];
            move |capture: &Capture<'_>, (): &mut ()| body(capture, &block, byte(number) + 1)
        };
        let first_session = session(&blocks[0]);
        let probe = first_session.probe(&mut (), run(0)).unwrap();
        let first = first_session.planned(&probe).unwrap().capture((), run(0)).unwrap();
        let second_session = session(&blocks[1]);
        let probe = second_session.probe(&mut (), run(1)).unwrap();
        let second = second_session.beside(&first, &probe).unwrap().capture((), run(1)).unwrap();
        Self { graphs: [first, second], blocks, streams, pool }
    }

    fn check(&mut self) {
        for number in 0..2 {
            self.graphs[number].replay().unwrap();
            let mut found = [0_u8; 4 * N];
            self.graphs[number].read(&self.blocks[number], &mut found).unwrap();
            assert_eq!(found, [byte(number) + 1; 4 * N]);
        }
    }

    fn drop(self) {
        let Self { graphs, streams, pool, .. } = self;
        drop((graphs, pool, streams));
    }
}

/// Eager work on the graph's stream and on another one, which ends when the scope does.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn eager_work_comes_after_the_last_replay_and_before_the_next() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let mut graphs = Graphs::new();
        let other = stream();
        let axpy = function(other.context(), elementwise::MODULE, elementwise::AXPY.f32);
        let before = cudarc::driver::result::mem_get_info().unwrap().0;
        for _ in 0..3 {
            graphs.graphs[0].replay().unwrap();
            let result = graphs.graphs[1].scope(|scope| {
                let mut input = scope.try_acquire_from(&[2.0_f32; N])?;
                let mut sum = scope.try_acquire_zeroed::<f32, _>(N)?;
                // On another stream, for which nothing waits here.
                let count = N as u64;
                {
                    let (x, y) = (input.address(), sum.address());
                    let (_from, _to) = (input.on(&other)?, sum.on(&other)?);
                    let mut launch = other.launch_builder(&axpy);
                    launch.arg(&1.0_f32).arg(&x).arg(&y).arg(&count);
                    // SAFETY: the parameters are those of `AXPY`, and both have `count` elements.
                    unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }?;
                }
                let inner = scope.scope();
                let mut copy = inner.try_acquire::<f32, _>(N)?;
                copy.copy_from(input.as_view())?;
                let mut launch = inner.launch(&axpy);
                launch.arg(&1.0_f32).arg(&input).arg(&mut copy).arg(&count);
                // SAFETY: as above.
                unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }?;
                assert_eq!(copy.copy_to_vec()?, [4.0; N]);
                Ok::<_, CaptureError>(input.copy_to_vec()?)
            });
            assert_eq!(result.unwrap(), [2.0; N]);
            graphs.check();
        }
        let after = cudarc::driver::result::mem_get_info().unwrap().0;
        assert_eq!(before, after, "no memory of the device is taken");
        graphs.drop();
        drop((other, axpy));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// If a body unwinds or fails, the graphs stay usable, and run after all work that it has enqueued.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_body_that_fails_or_unwinds_ends_the_loan() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let mut graphs = Graphs::new();
        let other = stream();
        let work = |scope: &mut pool_core::Scope<'_, pool_cuda::Cuda>| {
            let mut view = scope.try_acquire_zeroed::<f32, _>(4 * N)?;
            other.memset_zeros(&mut view)?;
            Ok::<(), CaptureError>(())
        };
        let failed = graphs.graphs[0].scope(|scope| {
            work(scope)?;
            Err::<(), _>(CaptureError::ForeignView)
        });
        assert_eq!(failed, Err(CaptureError::ForeignView));
        graphs.check();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            graphs.graphs[0].scope(|scope| -> Result {
                work(scope)?;
                std::panic::resume_unwind(Box::new(()))
            })
        }));
        assert!(unwound.is_err());
        graphs.check();
        graphs.drop();
        drop(other);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn graphs_of_lent_memory_are_refused() {
    let simulator = start();
    let mut graphs = Graphs::new();
    let [first, second] = &mut graphs.graphs;
    let block = graphs.blocks[1];
    let bytes = first.idle_bytes();
    let done = first.scope(|scope| {
        assert!(matches!(second.replay(), Err(CaptureError::Lent { .. })));
        assert!(matches!(second.upload(), Err(CaptureError::Lent { .. })));
        let update = second.update(|capture, (): &mut ()| body(capture, &block, 2));
        assert!(matches!(update, Err(CaptureError::Lent { .. })));
        let nested = second.scope(|_| Ok::<(), CaptureError>(()));
        assert!(matches!(nested, Err(CaptureError::Lent { .. })));
        // All of the memory is one block, except for the word that a pool requests in addition.
        let most = usize::try_from(bytes).unwrap() - 8;
        scope.try_acquire::<u8, _>(most)?;
        Ok::<(), CaptureError>(())
    });
    assert_eq!(done, Ok(()));
    let too_much = first.scope(|scope| {
        let asked = usize::try_from(bytes).unwrap();
        scope.try_acquire::<u8, _>(asked)?;
        Ok::<(), CaptureError>(())
    });
    let error = too_much.unwrap_err();
    let found = pool_core::error_chain(&error).to_string();
    assert!(found.contains("idle_bytes"), "{found}");
    // The stream is captured by hand.
    graphs.streams[0].begin_capture(crate::common::RELAXED).unwrap();
    let captured = graphs.graphs[0].scope(|_| Ok::<(), CaptureError>(()));
    assert!(matches!(captured, Err(CaptureError::Capturing { .. })), "{captured:?}");
    assert!(graphs.streams[0].end_capture(crate::common::NO_FLAGS).is_ok());
    graphs.check();
    graphs.drop();
    simulator.assert_clean();
}

/// Every call of the driver in a scope between replays fails in turn. The graphs run afterwards, or fail because their
/// memory is lent, and nothing races.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_scope_stays_ordered_whichever_call_fails() {
    let simulator = start();
    let mut failed = 0;
    for nth in 1.. {
        start_anew(simulator, Settings::default(), nth);
        let mut graphs = Graphs::new();
        let other = stream();
        graphs.graphs[0].replay().unwrap();
        let before = simulator.all_calls();
        simulator.fail_any_call(nth, 999);
        let done: Result = graphs.graphs[0].scope(|scope| {
            let mut view = scope.try_acquire_zeroed::<f32, _>(4 * N)?;
            other.memset_zeros(&mut view)?;
            Ok(view.fill_with_value(1.0)?)
        });
        let calls = simulator.all_calls() - before;
        simulator.forget_failures();
        failed += usize::from(done.is_err());
        match graphs.graphs[1].replay() {
            Ok(()) => graphs.check(),
            Err(CaptureError::Lent { .. } | CaptureError::Driver(CudaError::Call { .. })) => {}
            Err(error) => panic!("call {nth}: {error}"),
        }
        graphs.drop();
        drop(other);
        simulator.assert_clean();
        if calls < nth {
            break;
        }
    }
    println!("FIGURE: a scope between replays: {failed} calls of the driver failed in turn");
    assert!(failed >= 5, "{failed}");
}
