//! Regression tests for bugs that the third attack found in the device code, one test per bug. The
//! names state the present behaviour; the comments describe the bug.
//!
//! Each test needs its own process: `cargo xtask sim-test` runs them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "captured_graphs/common.rs"]
mod common;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "backend/support.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::thread;

use common::{BYTES, Made, NO_FLAGS, RELAXED, arena, pool, stream, without_a_report};
use cuda_sim_control::Settings;
use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg};
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{BlockWatch, Cuda, OnStream};
use pool_graph::{Capture, CaptureError, CaptureSession, CapturedGraph, CudaArena, HostArgument};
use pool_kernels::elementwise;
use support::{function, in_many_orders, orders, pool as cuda_pool, start, start_anew};

const N: usize = 1000;
const BLOCK: LaunchConfig =
    LaunchConfig { grid_dim: (2, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };

/// Launches a fill of the argument, on the stream that was passed to `on`.
fn launch(fill: &CudaFunction, stream: &Arc<CudaStream>, arg: &OnStream<'_>) {
    let (value, count) = (5.0_f32, N as u64);
    let mut launch = stream.launch_builder(fill);
    launch.arg(arg).arg(&value).arg(&count);
    // SAFETY: the arguments match `FILL`, and the argument's view has `count` elements.
    unsafe { launch.launch(BLOCK) }.unwrap();
}

/// B1: each `default_stream()` is a new `Arc` of the same stream. The pool assumed that its own
/// `Arc` was the last one, waited once, and forgot a stream that was in use.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_default_stream_is_waited_for_again() {
    in_many_orders(|device| {
        let fill = function(device.context(), elementwise::MODULE, elementwise::FILL.f32);
        let mut pool = cuda_pool(device);
        for round in 0..4_u8 {
            let scope = pool.scope();
            let (mut a, b) =
                scope.acquire_filled(2 * N, f32::from(round)).into_split_at(N).unwrap();
            let arg = a.on(&device.context().default_stream()).unwrap();
            let _ = b.copy_to_vec().unwrap();
            launch(&fill, &device.context().default_stream(), &arg);
        }
        drop(pool);
        device.context().synchronize().unwrap();
    });
}

/// B2: the same bug, if a `Weak` of the stream is upgraded to an `Arc` between the check and the
/// event.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stream_that_comes_back_from_a_weak_reference_is_waited_for() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let device = Cuda::device(0).unwrap();
        let fill = function(device.context(), elementwise::MODULE, elementwise::FILL.f32);
        let mut pool = cuda_pool(&device);
        for round in 0..2_u8 {
            let scope = pool.scope();
            let (mut a, b) =
                scope.acquire_filled(2 * N, f32::from(round)).into_split_at(N).unwrap();
            let other = device.context().new_stream().unwrap();
            let arg = a.on(&other).unwrap();
            let weak = Arc::downgrade(&other);
            drop(other);
            let kept = Arc::new(Mutex::new(None));
            let place = Arc::clone(&kept);
            simulator.before_call("cuEventRecord", 1, move || {
                let another = move || *place.lock().unwrap() = weak.upgrade();
                thread::spawn(another).join().unwrap();
            });
            let _ = b.copy_to_vec().unwrap();
            let stream = kept.lock().unwrap().take();
            if let Some(stream) = stream {
                launch(&fill, &stream, &arg);
            }
        }
        drop(pool);
        device.context().synchronize().unwrap();
        drop((fill, device));
        simulator.assert_clean();
    }
}

/// B3: an argument may be sent to a thread whose per-thread default stream is a different one.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_argument_for_the_per_thread_stream_is_ordered_on_another_thread() {
    in_many_orders(|device| {
        let fill = function(device.context(), elementwise::MODULE, elementwise::FILL.f32);
        let mut pool = cuda_pool(device);
        let stream = device.context().per_thread_stream();
        let scope = pool.scope();
        let mut a = scope.acquire_filled(N, 1.0_f32);
        let arg = a.on(&stream).unwrap();
        thread::scope(|threads| {
            threads.spawn(|| {
                stream.context().bind_to_thread().unwrap();
                launch(&fill, &stream, &arg);
            });
        });
    });
}

/// B4: `beside` reused a live region of an arena in a session without a reset, although a manual
/// capture with that region still held a valid lease.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_region_that_lives_stays_beside_a_graph() {
    without_a_report(|| {
        let (main, by_hand) = (stream(), stream());
        let arena = arena();
        arena.install(&main).unwrap();
        let second = CudaArena::on(&main).unwrap();
        second.clear(&main).unwrap();
        let (living, lease) = (second.allocate(4096).unwrap(), second.lease());
        by_hand.begin_capture(RELAXED).unwrap();
        let (address, stream) = (living.address(), by_hand.cu_stream());
        // SAFETY: this is a region of the arena, whose lease outlives the graph.
        unsafe { cudarc::driver::result::memset_d8_async(address, 7, 4096, stream) }.unwrap();
        let hand_made = by_hand.end_capture(NO_FLAGS).unwrap().unwrap();
        let body = |capture: &Capture<'_>, (): &mut ()| {
            capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(4096)?, 1)
        };
        let session = || CaptureSession::new(&main).unwrap();
        let graph: Made = session().prepare(arena).unwrap().capture((), body);
        let graph = graph.unwrap();
        let probe = session().probe::<_, CaptureError>(&mut (), body).unwrap();
        let beside: Made = session().beside(&graph, &probe).unwrap().capture((), body);
        let mut beside = beside.unwrap();
        lease.check().unwrap();
        hand_made.launch().unwrap();
        beside.replay().unwrap();
        beside.synchronize().unwrap();
        by_hand.synchronize().unwrap();
    });
}

/// B4, reversed: once the last of its graphs is dropped, an arena returns to its owner, with the
/// policy `Monotone`.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_arena_comes_back_with_its_own_policy() {
    without_a_report(|| {
        let main = stream();
        let arena = arena();
        arena.install(&main).unwrap();
        let second = CudaArena::on(&main).unwrap();
        second.clear(&main).unwrap();
        let body = |capture: &Capture<'_>, (): &mut ()| {
            capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(4096)?, 1)
        };
        let session = || CaptureSession::new(&main).unwrap();
        let graph: Made = session().prepare(arena).unwrap().capture((), body);
        let graph = graph.unwrap();
        let probe = session().probe::<_, CaptureError>(&mut (), body).unwrap();
        let beside: Made = session().beside(&graph, &probe).unwrap().capture((), body);
        drop((graph, beside));
        second.allocate(4096).expect("it is its owner's again");
    });
}

/// Returns a graph whose only kernel writes the graph's state, which is freed in the order of
/// another stream.
fn with_state(main: &Arc<CudaStream>, other: &Arc<CudaStream>) -> CapturedGraph<CudaSlice<f32>> {
    let fill = function(main.context(), elementwise::MODULE, elementwise::FILL.f32);
    let state = other.alloc_zeros::<f32>(N).unwrap();
    other.synchronize().unwrap();
    let prepared = CaptureSession::new(main).unwrap().prepare(arena()).unwrap();
    let made: Made<CudaSlice<f32>> = prepared.capture(state, |capture, state| {
        let address = state.device_ptr(other).0;
        let work = |stream: &Arc<CudaStream>| {
            let (value, count) = (5.0_f32, N as u64);
            let mut launch = stream.launch_builder(&fill);
            launch.arg(&address).arg(&value).arg(&count);
            // SAFETY: the arguments match `FILL`, and the slice has `count` elements.
            unsafe { launch.launch(BLOCK) }.unwrap();
            Ok(())
        };
        capture.keep(fill.clone())?;
        // SAFETY: the slice is the graph's state, and the graph keeps the kernel's module.
        unsafe { capture.enqueue(capture.main(), &[], work) }
    });
    made.unwrap()
}

/// B5: `come_to_rest` assumed that a stream is idle if waiting for it fails. In this test, another
/// thread captures the stream explicitly, exactly between the two calls.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_state_stays_while_its_run_is_pending() {
    end_where_another_thread_captures(drop);
}

/// B5, when the state is taken.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_state_is_not_given_back_while_its_run_is_pending() {
    end_where_another_thread_captures(|graph| {
        let kept = graph.into_state();
        assert!(kept.is_err());
        drop(kept);
    });
}

/// Drops a graph whose run is pending while another thread begins to capture the graph's stream.
fn end_where_another_thread_captures(end: impl FnOnce(CapturedGraph<CudaSlice<f32>>)) {
    let simulator = start();
    let (main, other) = (stream(), stream());
    let mut graph = with_state(&main, &other);
    graph.replay().unwrap();
    let by_hand = Arc::clone(&main);
    simulator.before_call("cuStreamSynchronize", 1, move || {
        thread::spawn(move || by_hand.begin_capture(RELAXED).unwrap()).join().unwrap();
    });
    end(graph);
    let _ = main.end_capture(NO_FLAGS);
    main.synchronize().unwrap();
    drop((main, other));
    simulator.assert_clean();
}

/// B5, with a failing driver: the block of a running graph was passed to a graph on another stream.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_lease_stays_while_a_run_is_pending() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let (one, two, pool) = (stream(), stream(), pool());
        let block = pool.allocate(BYTES).unwrap();
        let with = |stream: &Arc<CudaStream>| {
            CaptureSession::new(stream).unwrap().lease(pool.lease(&[block.id()]).unwrap())
        };
        let body = |capture: &Capture<'_>, (): &mut ()| {
            capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&block)?, 1)
        };
        // This graph keeps the arena, because dropping the arena would wait for the device.
        let session = CaptureSession::new(&one).unwrap();
        let keeper: Made = session.prepare(arena()).unwrap().capture((), |_, ()| Ok(()));
        let keeper = keeper.unwrap();
        let probe = with(&one).probe::<_, CaptureError>(&mut (), body).unwrap();
        let first: Made = with(&one).beside(&keeper, &probe).unwrap().capture((), body);
        let mut first = first.unwrap();
        first.replay().unwrap();
        simulator.fail_call("cuStreamSynchronize", 1, 999);
        simulator.before_call("cuStreamIsCapturing", 2, move || {
            simulator.fail_call("cuStreamSynchronize", 1, 999);
        });
        drop(first);
        simulator.forget_failures();
        let second: Made = with(&two).prepare(arena()).unwrap().capture((), body);
        second.unwrap().replay().unwrap();
        two.synchronize().unwrap();
        one.synchronize().unwrap();
        simulator.assert_clean();
    }
}

/// B6: `read` returned an error, but the bytes arrived later, in memory that was no longer
/// borrowed.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_read_that_failed_writes_nothing_later() {
    let simulator = start();
    for (seed, by_hand) in [(0, false), (1, true)] {
        start_anew(simulator, Settings::default(), seed);
        let (main, pool) = (stream(), pool());
        let block = pool.allocate(BYTES).unwrap();
        let session = CaptureSession::new(&main).unwrap();
        let session = session.lease(pool.lease(&[block.id()]).unwrap());
        let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&block)?, 1)
        });
        let mut graph = made.unwrap();
        graph.replay().unwrap();
        // SAFETY: the elements are bytes, which are written before they are read.
        let mut host = unsafe { main.context().alloc_pinned::<u8>(4096) }.unwrap();
        host.as_mut_slice().unwrap().fill(7);
        if by_hand {
            let other = Arc::clone(&main);
            simulator.before_call("cuStreamSynchronize", 1, move || {
                thread::spawn(move || other.begin_capture(RELAXED).unwrap()).join().unwrap();
            });
        } else {
            simulator.fail_call("cuStreamSynchronize", 1, 999);
        }
        assert!(graph.read(&block, host.as_mut_slice().unwrap()).is_err());
        simulator.forget_failures();
        host.as_mut_slice().unwrap().fill(8);
        let _ = main.end_capture(NO_FLAGS);
        main.synchronize().unwrap();
        assert_eq!(host.as_slice().unwrap(), [8; 4096], "by hand: {by_hand}");
        // The destination of the bytes has not been freed either.
        drop(graph);
        simulator.assert_clean();
    }
}

/// B6, reversed: `write` returned an error, but later copied the caller's new bytes. In the
/// meantime a graph on another stream read the block.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_write_that_failed_reads_nothing_later() {
    let simulator = start();
    let (main, other, pool) = (stream(), stream(), pool());
    let block = pool.allocate(BYTES).unwrap();
    let on = |stream: &Arc<CudaStream>| {
        let session = CaptureSession::new(stream).unwrap();
        session.lease(pool.lease(&[block.id()]).unwrap())
    };
    // The capture only reads the block, so a graph on another stream may also use it.
    let made: Made = on(&main).prepare(arena()).unwrap().capture((), |capture, ()| {
        let mut copy = capture.acquire::<u8>(4096)?;
        capture.copy(capture.main(), &mut copy, &capture.block::<u8>(&block)?)
    });
    let mut graph = made.unwrap();
    // SAFETY: the elements are bytes, which are written before they are read.
    let mut host = unsafe { main.context().alloc_pinned::<u8>(4096) }.unwrap();
    host.as_mut_slice().unwrap().fill(7);
    simulator.fail_call("cuStreamSynchronize", 1, 999);
    assert!(graph.write(&block, host.as_slice().unwrap()).is_err());
    simulator.forget_failures();
    host.as_mut_slice().unwrap().fill(8);
    let reader: Made = on(&other).prepare(arena()).unwrap().capture((), |capture, ()| {
        let mut copy = capture.acquire::<u8>(4096)?;
        capture.copy(capture.main(), &mut copy, &capture.block::<u8>(&block)?)
    });
    assert!(matches!(reader, Err(CaptureError::SharedBlock { .. })));
    let mut written = [0_u8; 4096];
    graph.read(&block, &mut written).unwrap();
    assert_eq!(written, [7; 4096]);
    drop(graph);
    simulator.assert_clean();
}

/// B7: the records admit a stream to a capture, and the driver then fails to join the stream. The
/// capture's work on that stream executed immediately, on memory of the arena, while a graph was
/// using the memory.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stream_that_was_admitted_in_vain_runs_nothing() {
    let simulator = start();
    for (seed, call) in [(0, "cuEventRecord"), (1, "cuStreamWaitEvent"), (2, "cuEventCreate")] {
        start_anew(simulator, Settings::default(), seed);
        let (main, side) = (stream(), stream());
        let session = CaptureSession::new(&main).unwrap().branch(&side).unwrap();
        let prepared = session.prepare(arena()).unwrap();
        let first: Made = prepared.capture((), |capture, ()| {
            capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(8192)?, 1)
        });
        let mut first = first.unwrap();
        let failed: Made = prepared.capture((), |capture, ()| {
            let mut own = capture.acquire::<u8>(100)?;
            let mut lent = capture.lend(capture.main(), &mut own)?;
            simulator.fail_call(call, 1, 999);
            assert!(lent.view_mut()?.on(&side).is_err());
            simulator.forget_failures();
            drop(lent);
            let mut view = capture.acquire::<u8>((capture.branch(0)?, 4096))?;
            capture.fill_bytes(capture.branch(0)?, &mut view, 9)
        });
        assert!(failed.is_err());
        first.replay().unwrap();
        first.synchronize().unwrap();
        side.synchronize().unwrap();
        simulator.assert_clean();
    }
}

/// B8: host arguments were numbered in call order, including the arguments of fills in scopes,
/// which are not steps. An update with the same steps therefore numbered them differently.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_argument_names_its_buffer_after_an_update() {
    without_a_report(|| {
        let (main, pool) = (stream(), pool());
        let [x, y] = [(); 2].map(|()| pool.allocate(256).unwrap());
        let session = CaptureSession::new(&main).unwrap();
        let session = session.lease(pool.lease(&[x.id(), y.id()]).unwrap());
        let body = |capture: &Capture<'_>, state: &mut (bool, Vec<HostArgument>)| {
            let (mut a, mut b) = (capture.block::<f64>(&x)?, capture.block::<f64>(&y)?);
            let mut lent = capture.lend(capture.main(), &mut b)?;
            if state.0 {
                lent.view_mut()?.fill_with_value(1.1)?;
            }
            state.1.push(capture.copy_from_host(capture.main(), &mut a, &[2.2; 32])?);
            if !state.0 {
                lent.view_mut()?.fill_with_value(1.1)?;
            }
            Ok::<(), CaptureError>(())
        };
        let mut graph =
            session.prepare(arena()).unwrap().capture((true, Vec::new()), body).unwrap();
        let argument = graph.state().unwrap().1[0];
        graph.state().unwrap().0 = false;
        if graph.update(body).is_err() {
            return;
        }
        graph.set_argument(argument, &[3.3_f64; 32]).unwrap();
        graph.replay().unwrap();
        let (mut copied, mut filled) = ([0.0_f64], [0.0_f64]);
        graph.read(&x, &mut copied).unwrap();
        graph.read(&y, &mut filled).unwrap();
        assert_eq!((copied[0], filled[0]), (3.3, 1.1));
    });
}

/// B9: a lent view is forgotten, and the body fails. The view's record was never removed, and
/// graphs on other streams could not use the block.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_failed_capture_keeps_nothing_for_a_lent_view_that_was_forgotten() {
    let simulator = start();
    let (one, two, pool) = (stream(), stream(), pool());
    let block = pool.allocate(BYTES).unwrap();
    let on = |stream: &Arc<CudaStream>, fails: bool| {
        let session = CaptureSession::new(stream).unwrap();
        let session = session.lease(pool.lease(&[block.id()]).unwrap());
        let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            let mut view = capture.block::<u8>(&block)?;
            if fails {
                capture.copy_from_host(capture.main(), &mut view, &[1; 4096])?;
                std::mem::forget(capture.lend(capture.main(), &mut view)?);
                return Err(CaptureError::ForeignView);
            }
            capture.fill_bytes(capture.main(), &mut view, 1)
        });
        made.map(drop)
    };
    assert!(on(&one, true).is_err());
    let other = on(&two, false);
    drop((one, two, pool));
    let leaks = simulator.leaks();
    let memory: Vec<_> = leaks.iter().filter(|leak| leak.contains("allocation")).collect();
    assert!(other.is_ok() && memory.is_empty(), "{other:?} {memory:?}");
}

/// B10: a graph is dropped, and a new graph is created with the same block on another stream. This
/// was refused while any other thread captured.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_dropped_graph_gives_its_blocks_back_beside_a_capture_of_another_thread() {
    without_a_report(|| {
        let (one, two, unrelated, pool) = (stream(), stream(), stream(), pool());
        let block = pool.allocate(BYTES).unwrap();
        let on = |stream: &Arc<CudaStream>| {
            let session = CaptureSession::new(stream).unwrap();
            let session = session.lease(pool.lease(&[block.id()]).unwrap());
            let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&block)?, 1)
            });
            made
        };
        let first = on(&one).unwrap();
        let beside = CaptureSession::new(&unrelated).unwrap().prepare(arena()).unwrap();
        let made: Made = beside.capture((), |_, ()| {
            let program = || {
                drop(first);
                on(&two).map(drop)
            };
            let made = thread::scope(|threads| threads.spawn(program).join().unwrap());
            assert_eq!(made, Ok(()));
            Ok(())
        });
        drop(made);
    });
}

/// B10, with an arena.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_dropped_graph_gives_its_arena_back_beside_a_capture_of_another_thread() {
    without_a_report(|| {
        let (main, unrelated) = (stream(), stream());
        let arena = arena();
        arena.install(&main).unwrap();
        let second = CudaArena::on(&main).unwrap();
        second.clear(&main).unwrap();
        let prepared = CaptureSession::new(&main).unwrap().prepare(arena).unwrap();
        let made: Made = prepared.capture((), |capture, ()| {
            capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(4096)?, 1)
        });
        let mut graph = made.unwrap();
        graph.replay().unwrap();
        drop(prepared);
        let beside = CaptureSession::new(&unrelated).unwrap().prepare(common::arena()).unwrap();
        let made: Made = beside.capture((), |_, ()| {
            let program = || {
                assert!(second.allocate(64).is_err());
                drop(graph);
                second.allocate(64).unwrap();
            };
            thread::scope(|threads| threads.spawn(program).join().unwrap());
            Ok(())
        });
        drop(made);
    });
}

struct Panics(Mutex<u32>);

impl BlockWatch for Panics {
    fn admit(&self, _: usize) -> bool {
        true
    }

    fn allocated(&self, _: u64, _: usize) {
        let mut left = self.0.lock().unwrap();
        *left -= 1;
        let is_over = *left == 0;
        drop(left);
        assert!(!is_over, "told of a block");
    }

    fn freed(&self, _: u64, _: usize) {}
}

/// B11: when an observer of a block panicked, the block was leaked.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_block_is_freed_where_its_watch_panics() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let context = device.new_stream().unwrap().watched(Panics(Mutex::new(2)));
    let mut pool = Pool::<Cuda>::new(context);
    let run = || {
        let scope = pool.scope();
        let (a, b) = (scope.acquire::<u8, _>(N), scope.acquire::<u8, _>(N));
        (a.len(), b.len())
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    drop((pool, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
