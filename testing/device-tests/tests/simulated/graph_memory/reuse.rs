//! Bytes that are allocated twice within one graph. This is correct in a chain of nodes, but a race
//! if the graph forks.

use std::sync::Arc;

use cuda_sim_control::Simulator;
use cudarc::driver::CudaStream;
use cudarc::driver::result::DriverError;
use cudarc::driver::sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureStatus_enum};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, CudaArena, Deallocation, DeviceMemory, GraphMemoryError,
    GraphPoolConfig,
};

use crate::support::{in_many_orders, races_in_every_order};
use crate::{MIB, capture, copy, fill};

/// Fills a scratch region and copies it, on each of these streams in turn. Each region is
/// deallocated before the next one is allocated.
fn through_scratch(
    arena: &CudaArena,
    streams: &[&Arc<CudaStream>],
    kept: &[u64],
) -> Result<(), DriverError> {
    for ((stream, &kept), value) in streams.iter().zip(kept).zip(1..) {
        let scratch = arena.allocate(4096).unwrap().address();
        fill(stream, scratch, value)?;
        copy(stream, kept, scratch)?;
        assert_eq!(arena.deallocate(scratch), Deallocation::Region { bytes: 4096 });
    }
    Ok(())
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_linear_arena_in_one_row() {
    in_many_orders(|device| {
        let stream = device.context().new_stream().unwrap();
        let arena = CudaArena::new(DeviceMemory::new(device), MIB, ArenaPolicy::Linear).unwrap();
        let kept = [(); 3].map(|()| arena.allocate(4096).unwrap().address());
        arena.install(&stream).unwrap();
        let body = || {
            through_scratch(&arena, &[&stream; 3], &kept)?;
            assert_eq!(arena.clear(&stream), Ok(()));
            Ok(())
        };
        let ((), graph) = capture(&stream, body).unwrap();
        assert_eq!(arena.check_graph(&graph), Ok(()));
        assert_eq!(arena.stats().high_water_bytes, 4 * 4096, "one scratch region for all");
        let lease = arena.lease();
        drop(arena);
        for _ in 0..3 {
            graph.launch().unwrap();
        }
        stream.synchronize().unwrap();
        drop((graph, lease));
    });
}

/// Replays the capture that `Linear` refuses.
fn forked(device: &pool_cuda::CudaDevice, policy: ArenaPolicy) {
    let [stream, branch] = [(); 2].map(|()| device.context().new_stream().unwrap());
    let refuses = policy == ArenaPolicy::Linear;
    let arena = CudaArena::new(DeviceMemory::new(device), MIB, policy).unwrap();
    let kept = [(); 2].map(|()| arena.allocate(4096).unwrap().address());
    arena.install(&stream).unwrap();
    let body = || {
        branch.join(&stream)?;
        through_scratch(&arena, &[&branch, &stream], &kept)?;
        stream.join(&branch)?;
        assert_eq!(arena.clear(&stream), Ok(()));
        Ok(())
    };
    let ((), graph) = capture(&stream, body).unwrap();
    let checked = arena.check_graph(&graph);
    let refused = matches!(checked, Err(GraphMemoryError::ForkedCapture { .. }));
    assert_eq!((refused, checked.is_ok()), (refuses, !refuses), "{checked:?}");
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    drop((graph, arena));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_linear_arena_in_a_fork_is_refused_and_would_race() {
    races_in_every_order(|device| forked(device, ArenaPolicy::Linear));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_monotone_arena_in_a_fork() {
    in_many_orders(|device| forked(device, ArenaPolicy::Monotone));
}

/// A graph may write its leased block at any time, and no other allocation ever receives that
/// block.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn replays_beside_other_uses_of_the_pool() {
    in_many_orders(|device| {
        let [replays, other] = [(); 2].map(|()| device.context().new_stream().unwrap());
        let config = GraphPoolConfig { initial: 16 * MIB, maximum: 32 * MIB };
        let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(device), config);
        let blocks = [(); 2].map(|()| pool.allocate(4096).unwrap());
        let [from, to] = blocks.map(|block| block.address());
        let body = || fill(&replays, from, 1).and_then(|()| copy(&replays, to, from));
        let ((), graph) = capture(&replays, body).unwrap();
        let lease = pool.lease(&blocks.map(|block| block.id())).unwrap();
        for _ in 0..10 {
            graph.launch().unwrap();
            pool.reset().unwrap();
            for _ in 0..3 {
                let block = pool.allocate(4096).unwrap();
                fill(&other, block.address(), 2).unwrap();
            }
            pool.trim().unwrap();
        }
        // The graph does not own the memory that `other` writes, so that work must end before the
        // pool is dropped.
        other.synchronize().unwrap();
        drop(pool);
        graph.launch().unwrap();
        replays.synchronize().unwrap();
        drop((graph, lease));
    });
}

/// Code that holds the stream may end a capture that began in relaxed mode, and drop its graph,
/// while another thread clears the arena. The clear must not read that graph.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_arena_is_cleared_while_another_thread_ends_the_capture() {
    in_many_orders(|device| {
        let stream = device.context().new_stream().unwrap();
        let arena = CudaArena::new(DeviceMemory::new(device), MIB, ArenaPolicy::Linear).unwrap();
        let kept = [(); 3].map(|()| arena.allocate(4096).unwrap().address());
        arena.install(&stream).unwrap();
        stream.begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        through_scratch(&arena, &[&stream; 3], &kept).unwrap();
        let end = |stream: &Arc<CudaStream>| {
            drop(stream.end_capture(CUgraphInstantiate_flags(0)).unwrap());
        };
        // This runs immediately before the graph is read, if it is read. The waiting thread does
        // not keep the stream alive.
        let waiting = Arc::downgrade(&stream);
        let in_between = move || {
            let by_another = move || waiting.upgrade().iter().for_each(end);
            std::thread::spawn(by_another).join().unwrap();
        };
        Simulator::attach().unwrap().before_call("cuGraphGetNodes", 1, in_between);
        assert_eq!(arena.clear(&stream), Ok(()));
        assert!(is_capturing(&stream), "it is ended while its graph is read");
        end(&stream);
    });
}

fn is_capturing(stream: &CudaStream) -> bool {
    stream.capture_status() != Ok(CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE)
}
